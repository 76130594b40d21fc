"""Rows equal scenes worked by hand and a plain scorer, and do not depend on their neighbours."""

from __future__ import annotations

import math

import numpy as np
import pytest

from scoring.detections import Detections
from scoring.errors import DataError
from scoring.passes import Passes
from scoring.rows import COLUMNS, mean_per_mutant, score_image
from scoring.rules import DEEPLUQ
from tests.scoring.plain_scorer import plain_row
from tests.scoring.scenes import Box, found, passes, random_base, random_passes

A: Box = (0, 0, 10, 10)
B: Box = (100, 0, 110, 10)
FAR: Box = (500, 500, 510, 510)
OTHER_BOX: Box = (0, 0, 10, 8)  # overlap .8 with A


def named(original: Passes, mutant: Passes) -> dict[str, float]:
    return dict(zip(COLUMNS, score_image(original, [mutant])[0].tolist(), strict=True))


def group(row: dict[str, float], name: str) -> list[float]:
    return [value for column, value in row.items() if column.startswith(f"[{name}]")]


def test_the_columns_are_the_37_published_ones_in_order() -> None:
    assert len(COLUMNS) == 37
    assert COLUMNS[0] == "[img_level] iskill_miss_p_value"
    assert COLUMNS[11] == "[img_level] iskill_miss_ghost_count"
    assert COLUMNS[12] == "[obj_level] kill_rate_miss_mean"
    assert COLUMNS[17] == "[obj_level] kill_rate_miss_ghost_std"
    assert [c.split("] ")[1] for c in COLUMNS[18:25]] == [
        *("iou_mean", "match_rate", "vr_diff", "ie_diff", "mi_diff", "var_diff", "ps_diff")
    ]
    assert COLUMNS[25] == "[miss] miss_rate"
    assert COLUMNS[31] == "[ghost] ghost_rate"
    assert COLUMNS[36] == "[ghost] ps_diff"


def test_an_object_found_unchanged_in_half_of_the_passes() -> None:
    row = named(passes(*[[A]] * 10), passes(*[[A]] * 5, *[[]] * 5))
    assert row["[img_level] iskill_miss_count"] == 5
    # P(Bin(10, .01) >= 5) = 252 * .01^5 * .99^5 + ...
    tail = sum(math.comb(10, k) * 0.01**k * 0.99 ** (10 - k) for k in range(5, 11))
    assert row["[img_level] iskill_miss_p_value"] == pytest.approx(tail, rel=1e-9)
    # q = .5: 2 asin sqrt(.5) = pi / 2; power is 1 - P(0) - P(1) = 1 - 11 / 1024
    assert row["[img_level] iskill_miss_cohens_h"] == pytest.approx(
        math.pi / 2 - 2 * math.asin(0.1), abs=1e-12
    )
    assert row["[img_level] iskill_miss_power"] == pytest.approx(1 - 11 / 1024, abs=1e-12)
    assert row["[img_level] iskill_ghost_count"] == 0
    assert row["[img_level] iskill_ghost_p_value"] == 1
    assert row["[img_level] iskill_ghost_power"] == 0
    assert row["[img_level] iskill_miss_ghost_count"] == 5
    assert group(row, "obj_level") == [0.5, 0.5, 0, 0, 0.5, 0.5]
    # r = .5 and no uncertainty: |0 - (.5 * 0 + .5)| = .5; IoU 1: 1 - .5
    assert group(row, "match") == pytest.approx([0.5] * 7, abs=1e-14)
    assert group(row, "miss") == pytest.approx([0.5] * 6, abs=1e-14)
    assert group(row, "ghost") == [0] * 6


def test_nothing_changes_under_a_mutant_that_changes_nothing() -> None:
    row = named(passes(*[[A, B]] * 10), passes(*[[B, A]] * 10))
    assert group(row, "img_level") == pytest.approx([1, -0.2003, 0, 0] * 3, abs=5e-5)
    assert group(row, "obj_level") == [0] * 6
    assert group(row, "match") == pytest.approx([0, 1, 0, 0, 0, 0, 0], abs=1e-14)
    assert group(row, "miss") == [0] * 6
    assert group(row, "ghost") == [0] * 6


def test_moved_boxes_are_ghosts_and_misses_at_once() -> None:
    row = named(passes(*[[A]] * 10), passes(*[[FAR]] * 10))
    for kind in ("miss", "ghost", "miss_ghost"):
        assert row[f"[img_level] iskill_{kind}_count"] == 10
    # miss 1 / (0 + 1); ghost 1 / (0 + 1 + 1); both 2 / 2
    assert group(row, "obj_level") == [1, 0, 0.5, 0, 1, 0]
    assert group(row, "match") == [0] * 7
    assert group(row, "miss") == pytest.approx([1] * 6, abs=1e-14)
    assert group(row, "ghost") == pytest.approx([1] * 6, abs=1e-13)


def test_overlap_and_rate_weigh_the_overlap_column() -> None:
    row = named(passes(*[[A]] * 4), passes([A], [OTHER_BOX], [OTHER_BOX], []))
    # r = 3/4, mean IoU (1 + .8 + .8) / 3
    assert row["[match] iou_mean"] == pytest.approx(1 - 0.75 * 2.6 / 3)
    assert row["[match] match_rate"] == 0.75
    # y2: 10, 8, 8 has sample variance 4/3; squashed 4/7; |0 - (.75 * 4/7 + .25)|
    assert row["[match] var_diff"] == pytest.approx(0.75 * 4 / 7 + 0.25)


def test_an_uncertain_miss_weighs_less() -> None:
    """(.5, .5) has one bit: r / (1 + 1) at r = 1/2, while vr, var and ps stay at r."""
    half = Passes.from_list([found([A], probs=[[0.5, 0.5]])] * 2)
    row = named(half, Passes.from_list([half[0], Detections.empty()]))
    assert group(row, "miss") == pytest.approx([0.5, 0.5, 0.25, 0.5, 0.5, 0.5], abs=1e-9)


def test_ghost_entropy_is_a_sum_over_detections() -> None:
    ghost = found([FAR], probs=[[0.5, 0.5, 0.0]])
    row = named(passes(*[[]] * 10), Passes.from_list([ghost] * 10))
    # ten times one bit: r / (1 + 10)
    assert row["[ghost] ie_diff"] == pytest.approx(1 / 11, abs=1e-9)
    assert row["[ghost] ghost_rate"] == 1
    # A original without objects: no miss ratio; ghosts are everything that there is.
    np.testing.assert_equal(group(row, "obj_level"), [math.nan, math.nan, 1, 0, 1, 0])


def test_two_overlapping_ghosts_of_a_pass_are_one_object_of_rate_two() -> None:
    row = named(passes(*[[]] * 3), passes(*[[A, OTHER_BOX]] * 3))
    assert row["[ghost] ghost_rate"] == 2
    assert row["[img_level] iskill_ghost_count"] == 3


def test_one_box_with_two_labels_is_one_object() -> None:
    """The label is no part of an original object's identity: six pairs in three passes."""
    both = Passes.from_list([found([A, A], [1, 2])] * 3)
    swapped = Passes.from_list([found([A, A], [1, 2])] * 2 + [found([A], [2])])
    row = named(both, both)
    assert row["[match] match_rate"] == 2
    assert row["[match] iou_mean"] == -1
    row = named(both, swapped)
    # Ties in the third pass: the one partner has label 2, and the first row of equals takes it.
    assert row["[match] match_rate"] + row["[miss] miss_rate"] == 2
    assert row["[miss] miss_rate"] in (1 / 3, 2 / 3)


def test_passes_without_anything_have_no_ratio_and_are_skipped() -> None:
    row = named(passes([A], [], [], [A]), passes([A], [], [], []))
    assert group(row, "obj_level") == [0.5, 0.5, 0, 0, 0.5, 0.5]
    assert row["[match] match_rate"] == 0.25
    assert row["[img_level] iskill_miss_count"] == 1


def test_an_image_without_anything_at_all_has_a_row() -> None:
    row = named(passes(*[[]] * 10), passes(*[[]] * 10))
    assert np.isnan(group(row, "obj_level")).all()
    assert row["[img_level] iskill_miss_ghost_p_value"] == 1
    for name in ("match", "miss", "ghost"):
        assert set(group(row, name)) == {0}


def test_everything_missed_has_zero_where_nothing_matched() -> None:
    row = named(passes(*[[A]] * 3), passes(*[[]] * 3))
    assert group(row, "match") == [0] * 7
    assert group(row, "obj_level") == [1, 0, 0, 0, 1, 0]


@pytest.mark.parametrize("n_passes", [1, 3, 10, 20, 100])
def test_random_scenes_equal_a_plain_scorer(n_passes: int) -> None:
    random = np.random.default_rng(n_passes)
    for scene in range(4 if n_passes == 100 else 12):
        base = random_base(random, int(random.integers(1, 6)))
        n_classes = int(random.choice([2, 3, 91]))
        steady = random_passes(random, 1, base, n_classes)[0]
        # A deterministic original, as in the study, and one that flickers.
        still = Passes.from_list([steady] * n_passes)
        original = still if scene % 2 else random_passes(random, n_passes, base, n_classes)
        mutant = random_passes(random, n_passes, base, n_classes)
        np.testing.assert_allclose(
            score_image(original, [mutant])[0],
            plain_row(list(original), list(mutant)),
            rtol=1e-9,
            atol=1e-9,
        )


@pytest.mark.parametrize("n_passes", [1, 5, 10, 40])
def test_a_row_does_not_depend_on_the_other_mutants(n_passes: int) -> None:
    """To the last bit: else the order of a sweep would be part of its numbers."""
    random = np.random.default_rng(n_passes + 1)
    for n_classes in (2, 3, 9, 91):
        base = random_base(random, 5)
        original = random_passes(random, n_passes, base, n_classes)
        empty = Passes.from_list([Detections.empty()] * n_passes)
        mutants = [random_passes(random, n_passes, base, n_classes) for _ in range(6)]
        mutants = [*mutants[:3], original, empty, *mutants[3:]]
        together = score_image(original, mutants)
        alone = np.vstack([score_image(original, [mutant]) for mutant in mutants])
        np.testing.assert_array_equal(together, alone)
        np.testing.assert_array_equal(score_image(original, mutants[::-1])[::-1], alone)


def test_the_order_of_detections_in_a_pass_does_not_matter_where_nothing_ties() -> None:
    random = np.random.default_rng(7)
    base = random_base(random, 5)
    original = random_passes(random, 8, base, 3)
    mutant = random_passes(random, 8, base, 3)
    shuffled = Passes.from_list([p.take(random.permutation(len(p))) for p in mutant])
    np.testing.assert_allclose(
        score_image(original, [shuffled]), score_image(original, [mutant]), rtol=0, atol=1e-9
    )


def test_the_reference_tests_ten_trials_whatever_the_number_of_passes() -> None:
    original, mutant = passes(*[[A]] * 12), passes(*[[]] * 12)
    row = dict(
        zip(COLUMNS, score_image(original, [mutant], DEEPLUQ.with_(binomial_n=10))[0], strict=True)
    )
    assert row["[img_level] iskill_miss_count"] == 12
    assert np.isnan(row["[img_level] iskill_miss_cohens_h"])
    assert np.isnan(row["[img_level] iskill_miss_power"])
    assert named(original, mutant)["[img_level] iskill_miss_power"] == 1


def test_without_mutants_there_is_no_row() -> None:
    assert score_image(passes([A]), []).shape == (0, 37)


def test_mutants_with_vectors_of_different_lengths_are_refused() -> None:
    """Also where the original found nothing, so that no side of it can tell."""
    two = Passes.from_list([found([A], probs=[[0.5, 0.5]])])
    with pytest.raises(DataError, match="vectors of one length"):
        score_image(passes([]), [passes([A]), two])


def test_means_skip_nan_and_are_zero_without_an_object() -> None:
    values = np.array([[1.0, 2.0], [np.nan, 4.0], [np.nan, np.nan]])
    means = mean_per_mutant(values, np.array([0, 0, 1]), 3)
    np.testing.assert_equal(means.tolist(), [[1.0, 3.0], [math.nan, math.nan], [0.0, 0.0]])
