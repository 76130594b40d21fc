"""Strict rows of any number of passes, and of images where nothing is found."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from scoring.detections import Detections
from scoring.errors import DataError
from scoring.kill import binomial_test
from scoring.passes import Passes
from scoring.rows import COLUMNS, score_image
from scoring.rules import DEEPLUQ, STRICT, Rules
from tests.scoring.plain_strict import strict_row
from tests.scoring.scenes import Box, found, random_base, random_passes

A: Box = (0, 0, 10, 10)
NONE = Detections.empty()
SEEN = found([A])
MATCH = tuple(name for name in COLUMNS if name.startswith("[match]"))
MISS = tuple(name for name in COLUMNS if name.startswith("[miss]"))
GHOST = tuple(name for name in COLUMNS if name.startswith("[ghost]"))


def cells(original: Sequence[Detections], mutant: Sequence[Detections]) -> dict[str, float]:
    row = score_image(Passes.from_list(original), [Passes.from_list(mutant)], STRICT)[0]
    return dict(zip(COLUMNS, row.tolist(), strict=True))


def unknown(row: dict[str, float]) -> set[str]:
    return {name for name, value in row.items() if np.isnan(value)}


@pytest.mark.parametrize("n_passes", [1, 3, 10, 20, 100])
def test_any_number_of_passes_is_scored(n_passes: int) -> None:
    random = np.random.default_rng(n_passes)
    base = random_base(random, 4)
    original = random_passes(random, n_passes, base, 3)
    mutant = random_passes(random, n_passes, base, 3)
    (row,) = score_image(original, [mutant], STRICT)
    listed = [[side[t] for t in range(n_passes)] for side in (original, mutant)]
    assert row == pytest.approx(strict_row(*listed), abs=1e-9, nan_ok=True)
    named = dict(zip(COLUMNS, row.tolist(), strict=True))
    for kind in ("miss", "ghost", "miss_ghost"):
        count = int(named[f"[img_level] iskill_{kind}_count"])
        p_value = named[f"[img_level] iskill_{kind}_p_value"]
        assert p_value == binomial_test(count, n_passes).p_value


def test_one_pass_has_no_variance_and_no_surface() -> None:
    row = cells([SEEN], [SEEN])
    assert unknown(row) == {
        "[match] var_diff",
        "[match] ps_diff",
    }
    assert unknown(cells([SEEN], [NONE])) == {
        *(set(MATCH) - {"[match] match_rate"}),
        "[miss] var_diff",
        "[miss] ps_diff",
        "[obj_level] kill_rate_ghost_mean",
        "[obj_level] kill_rate_ghost_std",
    }


def test_two_passes_have_a_variance_but_no_surface() -> None:
    assert unknown(cells([SEEN] * 2, [SEEN] * 2)) == {"[match] ps_diff"}


def test_an_original_without_an_object_has_ghosts_only() -> None:
    row = cells([NONE] * 3, [SEEN] * 3)
    assert unknown(row) == {
        *MATCH,
        *MISS,
        "[obj_level] kill_rate_miss_mean",
        "[obj_level] kill_rate_miss_std",
    }
    assert row["[ghost] ghost_rate"] == 1
    assert row["[img_level] iskill_ghost_count"] == 3
    assert row["[obj_level] kill_rate_ghost_mean"] == 1


def test_a_mutant_that_finds_nothing_misses_everything() -> None:
    row = cells([SEEN] * 3, [NONE] * 3)
    assert unknown(row) == {
        *(set(MATCH) - {"[match] match_rate"}),
        "[obj_level] kill_rate_ghost_mean",
        "[obj_level] kill_rate_ghost_std",
    }
    assert (row["[match] match_rate"], row["[miss] miss_rate"]) == (0, 1)
    assert {row[name] for name in GHOST} == {0.0}


def test_an_image_where_neither_side_finds_anything() -> None:
    row = cells([NONE] * 3, [NONE] * 3)
    levels = {name for name in COLUMNS if name.startswith("[obj_level]")}
    assert unknown(row) == {*MATCH, *MISS, *levels}
    assert {row[name] for name in GHOST} == {0.0}
    assert {v for k, v in row.items() if k.endswith("_count")} == {0.0}


def test_objects_that_are_there_in_some_passes_only() -> None:
    """Original in passes 0 and 1, mutant in 1 and 2: a miss, a match and a ghost."""
    row = cells([SEEN, SEEN, NONE], [NONE, SEEN, SEEN])
    counts = [row[f"[img_level] iskill_{kind}_count"] for kind in ("miss", "ghost", "miss_ghost")]
    assert counts == [1, 1, 2]
    assert (row["[match] match_rate"], row["[miss] miss_rate"]) == (0.5, 0.5)
    assert row["[ghost] ghost_rate"] == pytest.approx(1 / 3)
    # Pass 2 has no original, pass 0 nothing found: (1 + 0) / 2 and (0 + 1) / 2.
    assert row["[obj_level] kill_rate_miss_mean"] == 0.5
    assert row["[obj_level] kill_rate_ghost_mean"] == 0.5


def test_boxes_without_area_leave_an_image_empty() -> None:
    flat = found([(3, 3, 3, 9)])
    assert unknown(cells([flat] * 3, [flat] * 3)) == unknown(cells([NONE] * 3, [NONE] * 3))


def test_mutants_of_one_image_do_not_disturb_each_other() -> None:
    random = np.random.default_rng(4)
    base = random_base(random, 5)
    original = random_passes(random, 6, base, 3)
    mutants = [random_passes(random, 6, base, 3) for _ in range(5)]
    mutants.insert(2, Passes.from_list([NONE] * 6))
    together = score_image(original, mutants, STRICT)
    for row, mutant in zip(together, mutants, strict=True):
        alone = score_image(original, [mutant], STRICT)[0]
        assert row == pytest.approx(alone, abs=1e-12, nan_ok=True)


BROKEN = found([(0, 0, float("nan"), 10)])
ENDLESS = Detections([A], [1], [1.0], [[0.0, float("inf"), 0.0]])


@pytest.mark.parametrize("broken", [BROKEN, ENDLESS])
@pytest.mark.parametrize("rules", [DEEPLUQ, STRICT])
def test_a_pass_that_is_not_finite_leaves_both_sides(broken: Detections, rules: Rules) -> None:
    """In the mutant's pass 1 or the original's pass 2: what is left is scored with T - 1."""
    skipping = rules.with_(nonfinite="skip")
    original = Passes.from_list([SEEN, SEEN, SEEN, NONE])
    mutants = [
        Passes.from_list([SEEN, broken, NONE, NONE]),
        Passes.from_list([SEEN, NONE, NONE, NONE]),
    ]
    got = score_image(original, mutants, skipping)
    fewer = [[SEEN, SEEN, NONE], [SEEN, NONE, NONE]]
    expected = score_image(*_as_image(fewer), rules)
    assert np.array_equal(got[0], expected[0], equal_nan=True)
    assert np.array_equal(got[1:], score_image(original, mutants[1:], rules), equal_nan=True)
    turned = score_image(Passes.from_list([SEEN, SEEN, broken, NONE]), mutants[1:], skipping)
    assert np.array_equal(turned, expected, equal_nan=True)


def _as_image(sides: Sequence[Sequence[Detections]]) -> tuple[Passes, list[Passes]]:
    original, mutant = (Passes.from_list(side) for side in sides)
    return original, [mutant]


def test_an_image_without_a_finite_pass_has_no_row() -> None:
    rules = STRICT.with_(nonfinite="skip")
    both = score_image(
        Passes.from_list([SEEN]), [Passes.from_list([BROKEN]), Passes.from_list([SEEN])], rules
    )
    assert np.isnan(both[0]).all()
    assert not np.isnan(both[1, 0])


def test_sides_of_different_passes_are_refused_however_broken_ones_are_treated() -> None:
    for rules in (STRICT, STRICT.with_(nonfinite="skip")):
        with pytest.raises(DataError, match="passes"):
            score_image(Passes.from_list([SEEN] * 2), [Passes.from_list([SEEN])], rules)
