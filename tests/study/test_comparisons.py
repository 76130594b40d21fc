"""RQ2: tests of small samples, by formula, by hand, and by permutation."""

from __future__ import annotations

import math
from itertools import combinations, permutations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from scoring.aggregates import MEAN_COLUMNS, MutantMeans
from scoring.study.comparisons import (
    compare_all,
    compare_pairs,
    effect_size,
    friedman,
    kruskal_wallis,
    mann_whitney,
    mutant_samples,
)

NAN = float("nan")


def plain_kruskal(samples: list[np.ndarray]) -> tuple[float, float]:
    """Return H with tie correction and its p value, from the definition."""
    pooled = np.concatenate(samples)
    ranks = np.array([(pooled < x).sum() + ((pooled == x).sum() + 1) / 2 for x in pooled])
    n, start, total = len(pooled), 0, 0.0
    for sample in samples:
        total += ranks[start : start + len(sample)].sum() ** 2 / len(sample)
        start += len(sample)
    _, ties = np.unique(pooled, return_counts=True)
    h = 12 / (n * (n + 1)) * total - 3 * (n + 1)
    h /= 1 - (ties**3 - ties).sum() / (n**3 - n)
    return h, stats.chi2.sf(h, len(samples) - 1)


def test_kruskal_wallis_is_the_formula_with_ties() -> None:
    random = np.random.default_rng(0)
    for sizes in ((5, 5), (4, 7, 9), (10, 10, 10, 3)):
        samples = [random.integers(0, 6, size).astype(float) for size in sizes]
        found = kruskal_wallis(samples)
        h, p_value = plain_kruskal(samples)
        assert found.statistic == pytest.approx(h, rel=1e-12)
        assert found.p_value == pytest.approx(p_value, rel=1e-12)
        k, n = len(sizes), sum(sizes)
        assert found.eta_squared == pytest.approx(max(0, (h - k + 1) / (n - k)))
        assert found.n == n


def test_eta_squared_is_never_negative() -> None:
    """Both samples have the same ranks: H = 0 and (0 - 1) / 2 < 0."""
    found = kruskal_wallis([np.array([1.0, 2.0]), np.array([1.0, 2.0])])
    assert (found.statistic, found.eta_squared) == (0, 0)
    assert found.effect_size == "negligible"


def test_effects_have_names() -> None:
    names = [effect_size(eta) for eta in (0, 0.00999, 0.01, 0.0599, 0.06, 0.1399, 0.14, 1, NAN)]
    assert names == [
        *["negligible"] * 2,
        *["small"] * 2,
        *["medium"] * 2,
        *["large"] * 2,
        "",
    ]


@pytest.mark.parametrize(
    "samples", [[[1.0, 1.0], [1.0]], [[NAN], [1.0, 2.0]], [[], [1.0, 2.0]], [[1.0, 2.0]]]
)
def test_what_cannot_be_tested_is_nan(samples: list[list[float]]) -> None:
    found = kruskal_wallis([np.array(sample) for sample in samples])
    assert math.isnan(found.statistic)
    assert math.isnan(found.p_value)
    assert found.effect_size == ""


def test_nan_is_left_out() -> None:
    first, second = np.array([1.0, NAN, 3.0]), np.array([2.0, 5.0, 7.0])
    assert kruskal_wallis([first, second]).n == 5
    assert mann_whitney(first, second) == mann_whitney(np.array([1.0, 3.0]), second)


def test_a12_counts_pairs() -> None:
    first, second = np.array([1.0, 2.0, 2.0, 5.0]), np.array([2.0, 3.0])
    wins = sum(a > b for a in first for b in second)
    ties = sum(a == b for a in first for b in second)
    u, _, a12 = mann_whitney(first, second)
    assert u == wins + ties / 2 == 3
    assert a12 == 3 / 8
    assert mann_whitney(second, first)[2] == pytest.approx(1 - a12)


def test_mann_whitney_is_the_normal_approximation_with_both_corrections() -> None:
    first, second = np.array([1.0, 2, 2, 3, 8]), np.array([2.0, 4, 5, 6, 7, 9])
    u, p_value, _ = mann_whitney(first, second)
    n1, n2 = len(first), len(second)
    n = n1 + n2
    _, ties = np.unique(np.concatenate([first, second]), return_counts=True)
    variance = n1 * n2 / 12 * (n + 1 - (ties**3 - ties).sum() / (n * (n - 1)))
    z = (abs(u - n1 * n2 / 2) - 0.5) / math.sqrt(variance)
    assert p_value == pytest.approx(2 * stats.norm.sf(z), rel=1e-12)


def test_mann_whitney_is_near_the_permutation_test() -> None:
    """Of all 924 ways to split 12 values, so many are at least as uneven."""
    values = np.array([1.0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
    first = np.array([1.0, 2, 3, 5, 6, 9])
    u, p_value, _ = mann_whitney(first, np.array(sorted(set(values) - set(first))))
    centre = 18
    extreme = 0
    for chosen in combinations(range(12), 6):
        part = values[list(chosen)]
        rest = np.delete(values, chosen)
        extreme += abs(sum((part[:, None] > rest).ravel()) - centre) >= abs(u - centre)
    assert p_value == pytest.approx(extreme / math.comb(12, 6), abs=0.01)


def test_equal_values_give_no_p_value() -> None:
    u, p_value, a12 = mann_whitney(np.ones(3), np.ones(2))
    assert (u, a12) == (3, 0.5)
    assert math.isnan(p_value)
    assert all(map(math.isnan, mann_whitney(np.array([]), np.ones(2))))


def test_friedman_is_the_formula_and_knows_the_mutants() -> None:
    """Every mutant scores least in the first suite and most in the third: k = 3, 4 blocks."""
    samples = [
        np.array([1.0, 10, 100, 7]),
        np.array([2.0, 11, 101, 8]),
        np.array([3.0, 12, 102, 9]),
    ]
    statistic, p_value, n = friedman(samples)
    # 12 / (4 * 3 * 4) * (4^2 + 8^2 + 12^2) - 3 * 4 * 4
    assert statistic == pytest.approx(8)
    assert p_value == pytest.approx(stats.chi2.sf(8, 2))
    assert n == 4
    # the mutants differ far more than the suites, which Kruskal-Wallis cannot see past
    assert kruskal_wallis(samples).p_value > 0.5


def test_friedman_leaves_out_mutants_with_a_gap() -> None:
    samples = [np.array([1.0, NAN, 3]), np.array([2.0, 1, 4]), np.array([3.0, 1, 5])]
    assert friedman(samples)[2] == 2
    for too_few in (samples[:2], [sample[:2] for sample in samples], [np.ones(3)] * 3):
        assert math.isnan(friedman(too_few)[0])


SAMPLES = {
    "score": {"a": np.array([1.0, 2, 3]), "b": np.array([4.0, 5, 6]), "c": np.array([2.0, 3, 9])}
}


def test_tables_name_metric_and_pairs() -> None:
    table = compare_all(SAMPLES)
    assert list(table) == ["metric", "H", "p_value", "eta_squared", "effect_size", "n"]
    with_friedman = compare_all(SAMPLES, with_friedman=True)
    assert list(with_friedman)[-3:] == ["friedman", "friedman_p_value", "friedman_n"]
    pairs = compare_pairs(SAMPLES)
    assert list(pairs) == ["metric", "test_suite_1", "test_suite_2", "U", "p_value", "A12"]
    named = pairs[["test_suite_1", "test_suite_2"]].to_numpy().tolist()
    assert named == [["a", "b"], ["a", "c"], ["b", "c"]]
    assert pairs["A12"].tolist() == pytest.approx([0, 2.0 / 9, 6 / 9])


def test_holm_corrects_over_the_pairs_of_a_metric() -> None:
    equal = {name: np.ones(3) for name in "abc"}
    pairs = compare_pairs(SAMPLES | {"equal": equal}, holm=True)
    raw = pairs["p_value"][:3].to_numpy()
    _, expected, _, _ = multipletests(raw, method="holm")
    assert pairs["p_value_holm"][:3].tolist() == pytest.approx(expected.tolist())
    assert pairs["p_value_holm"][3:].isna().all()


def test_the_order_of_suites_only_turns_pairs() -> None:
    for order in permutations("abc"):
        turned = {"score": {name: SAMPLES["score"][name] for name in order}}
        assert compare_all(turned)["H"][0] == pytest.approx(compare_all(SAMPLES)["H"][0])


def test_mutants_stand_side_by_side_and_equivalent_ones_are_out() -> None:
    def means(mutants: list[str], values: list[float], equivalent: list[bool]) -> MutantMeans:
        table = np.zeros((len(mutants), len(MEAN_COLUMNS)))
        table[:, MEAN_COLUMNS.index("[match] iou_mean")] = values
        return MutantMeans(
            tuple(("op", tag) for tag in mutants),
            np.array(equivalent),
            np.zeros((len(mutants), 3), bool),
            table,
            np.ones(table.shape, np.int64),
        )

    samples = mutant_samples(
        {
            "x": means(["1", "2"], [0.1, 0.2], [False, True]),
            "y": means(["2", "3"], [0.4, 0.5], [False, False]),
        },
        "[match] iou_mean",
    )
    expected = pd.DataFrame({"x": [0.1, NAN, NAN], "y": [NAN, 0.4, 0.5]})
    pd.testing.assert_frame_equal(pd.DataFrame(samples), expected)
