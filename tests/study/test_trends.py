"""RQ3: correlations and planes, by formula and by least squares of numpy."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from scoring.ratios import HALF_WIDTH_COLUMNS, RATIO_COLUMNS
from scoring.study.trends import (
    correlation_band,
    plane_fit,
    plane_table,
    spearman,
    spearman_table,
)

NAN = float("nan")
RATES, BLOCKS = (
    grid.ravel() for grid in np.meshgrid(np.arange(0.1, 0.55, 0.05), [1.0, 3, 5, 7, 9])
)


def test_spearman_is_the_formula() -> None:
    """Ranks 1..5 against 2 1 4 3 5: 1 - 6 * 4 / (5 * 24) = .8."""
    rho, p_value, n = spearman(np.arange(5.0), np.array([0.2, 0.1, 0.4, 0.3, 0.5]))
    assert (rho, n) == (pytest.approx(0.8), 5)
    t = 0.8 * math.sqrt(3 / (1 - 0.64))
    assert p_value == pytest.approx(2 * stats.t.sf(t, 3))


def test_spearman_sees_ranks_only() -> None:
    x = np.arange(1.0, 10)
    assert spearman(x, np.exp(x))[:2] == pytest.approx((1, 0))
    assert spearman(x, -(x**3))[0] == pytest.approx(-1)


def test_what_has_no_correlation_is_nan() -> None:
    x = np.arange(4.0)
    for y in (np.ones(4), np.array([NAN, NAN, 1.0, 2.0])):
        rho, p_value, _ = spearman(x, y)
        assert math.isnan(rho)
        assert math.isnan(p_value)
    assert spearman(x, np.array([1.0, NAN, 2, 3]))[::2] == (1, 3)
    assert correlation_band(NAN) == ""


def test_a_plane_is_found_again() -> None:
    noise = np.random.default_rng(0).normal(0, 0.01, len(RATES))
    values = 0.2 + 0.5 * RATES - 0.03 * BLOCKS + noise
    fit = plane_fit(RATES, BLOCKS, values)
    design = np.column_stack([np.ones(45), RATES, BLOCKS])
    beta, *_ = np.linalg.lstsq(design, values, rcond=None)
    names = ("b0", "b_dropout_rate", "b_block_size")
    assert [fit[name] for name in names] == pytest.approx(beta.tolist())
    rest = ((values - design @ beta) ** 2).sum()
    r_squared = 1 - rest / ((values - values.mean()) ** 2).sum()
    f = r_squared / 2 / ((1 - r_squared) / 42)
    assert fit["R"] == pytest.approx(math.sqrt(r_squared))
    assert fit["F"] == pytest.approx(f)
    assert fit["p_value"] == pytest.approx(stats.f.sf(f, 2, 42))
    assert fit["n"] == 45


@pytest.mark.parametrize("case", ["constant", "one_block", "few", "unknown"])
def test_what_has_no_plane_is_nan(case: str) -> None:
    blocks, values = BLOCKS.copy(), RATES + 0.01 * BLOCKS
    if case == "constant":
        values = np.ones(45)
    elif case == "one_block":
        blocks = np.ones(45)
    elif case == "few":
        values = np.where(np.arange(45) < 3, values, NAN)
    else:
        values = np.full(45, NAN)
    fit = plane_fit(RATES, blocks, values)
    assert all(math.isnan(value) for name, value in fit.items() if name != "n")
    assert fit["n"] == np.isfinite(values).sum()


def test_points_in_a_plane_leave_no_error() -> None:
    fit = plane_fit(RATES, BLOCKS, 2 * BLOCKS)
    assert fit["R"] == pytest.approx(1)
    assert fit["F"] > 1e20
    assert fit["p_value"] == pytest.approx(0)


def test_rows_with_a_gap_are_left_out() -> None:
    values = RATES**2 + 0.01 * BLOCKS
    gapped = np.where(np.arange(45) % 5 == 0, NAN, values)
    known = ~np.isnan(gapped)
    expected = plane_fit(RATES[known], BLOCKS[known], values[known])
    assert plane_fit(RATES, BLOCKS, gapped) == expected
    assert expected["n"] == 36


def ratios(dropblock: bool) -> pd.DataFrame:
    keys = {"case_study": "case", "model": ["one"] * 45 + ["two"] * 45}
    keys |= {"dropout_rate": [*RATES] * 2} | ({"block_size": [*BLOCKS] * 2} if dropblock else {})
    table = pd.DataFrame(keys)
    for number, name in enumerate([*RATIO_COLUMNS, *HALF_WIDTH_COLUMNS]):
        table[name] = table["dropout_rate"] * (number + 1) + np.tile(BLOCKS**2, 2) * 0.001
    return table


def test_tables_have_a_row_per_model_and_score() -> None:
    correlations, planes = spearman_table(ratios(False)), plane_table(ratios(True))
    for table in (correlations, planes):
        assert table["model"].tolist() == ["one"] * 19 + ["two"] * 19
        assert table["metric"].tolist() == [*RATIO_COLUMNS] * 2
    assert list(correlations)[-4:] == ["rho", "p_value", "band", "n"]
    assert set(correlations["band"]) == {"very high"}
    assert list(planes)[3:] == [
        *("R", "F", "p_value", "b0", "b_dropout_rate", "b_block_size", "n"),
    ]
