"""All passes and mutants at once give what scipy gives, pass by pass, ties included."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from scoring import assignment, overlaps
from scoring.assignment import can_match_together, match_together
from scoring.identity import clusters
from scoring.kill import binomial_test
from scoring.levels import (
    changed_passes,
    image_levels,
    object_levels,
    object_ratios,
    pass_counts,
)
from scoring.matching import match_passes
from scoring.overlaps import clusters_within, overlap_of_pairs, overlapping_pairs
from scoring.passes import Passes
from scoring.rows import score_image
from scoring.rules import DEEPLUQ, STRICT, Rules
from scoring.tracks import track, track_all
from tests.scoring.scenes import Box, found, passes, random_base, random_passes

Rounding = Callable[[Passes], Passes]


def on_grid(step: float) -> Rounding:
    """Boxes on a grid overlap alike, or fully, and leave a solver many equal choices."""

    def rounded(one: Passes) -> Passes:
        boxes = np.round(one.detections.boxes / step) * step
        return Passes(replace(one.detections, boxes=boxes), one.counts)

    return rounded


def assert_same(original: Passes, mutants: list[Passes], threshold: float) -> None:
    together = match_together(original, mutants, threshold)
    for got, mutant in zip(together, mutants, strict=True):
        expected = match_passes(original, mutant, DEEPLUQ.with_(iou_threshold=threshold))
        for column, wanted in zip(got, expected, strict=True):
            assert column.dtype == wanted.dtype
            np.testing.assert_array_equal(column, wanted)


@pytest.mark.parametrize("threshold", [0.0, 0.3, 0.5])
@pytest.mark.parametrize("rounding", [lambda one: one, on_grid(2.0), on_grid(20.0)])
def test_random_scenes_match_as_scipy_pass_by_pass(rounding: Rounding, threshold: float) -> None:
    random = np.random.default_rng(7)
    for _ in range(40):
        base = random_base(random, int(random.integers(0, 30)))
        n_passes = int(random.integers(1, 5))
        sides = [rounding(random_passes(random, n_passes, base, 3)) for _ in range(4)]
        assert_same(sides[0], sides[1:], threshold)


A: Box = (0, 0, 10, 10)


@pytest.mark.parametrize(
    ("originals", "mutants"),
    [
        ([A], [A, A]),
        ([A, A], [A, A]),
        ([A, A, A], [A]),
        ([A, (2, 0, 12, 10)], [(1, 0, 11, 10)]),
        ([(1, 0, 11, 10)], [A, (2, 0, 12, 10)]),
        ([A, (3, 0, 13, 10)], [(3, 0, 13, 10), A]),
        ([A, (2, 0, 12, 10)], [(2, 0, 12, 10), (4, 0, 14, 10)]),
        ([(5, 5, 5, 5)], [(5, 5, 5, 5)]),
        ([(9, 9, 1, 1)], [(1, 1, 9, 9)]),
    ],
)
def test_ties_and_chains_match_as_scipy(originals: list[Box], mutants: list[Box]) -> None:
    assert_same(passes(originals), [passes(mutants), passes(mutants[::-1])], 0.5)


def test_a_chain_pairs_as_a_whole_though_single_pairs_overlap_more() -> None:
    # The best single pair (IoU .9) would leave two weak ones; together .82 and .82 are more.
    original = passes([(0, 0, 100, 100), (15, 0, 115, 100)])
    mutant = passes([(10, 0, 110, 100), (25, 0, 125, 100)])
    assert_same(original, [mutant], 0.5)
    (matched,) = match_together(original, [mutant], 0.5)
    assert matched.mutant_rows.tolist() == [0, 1]


def test_plain_passes_are_not_solved(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(cost: object) -> None:
        pytest.fail("a plain pass was solved")

    monkeypatch.setattr(assignment, "linear_sum_assignment", refuse)
    # Two neighbours overlap by a third, and one of them is missed.
    original = passes([(0, 0, 10, 10), (5, 0, 15, 10)])
    (matched,) = match_together(original, [passes([(0, 0, 10, 9)])], 0.5)
    assert (matched.original_rows.tolist(), matched.missed_rows.tolist()) == ([0], [1])


def test_labels_of_two_kinds_are_compared_by_value() -> None:
    original = Passes.from_list([found([A, (50, 50, 60, 60)], ["cat", "dog"])])
    mutants = [
        Passes.from_list([found([A, (50, 50, 60, 60)], labels)])
        for labels in (["cat", "cat"], [1, 2])
    ]
    assert_same(original, mutants, 0.5)
    assert [len(m.original_rows) for m in match_together(original, mutants, 0.5)] == [1, 0]


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e200])
def test_boxes_that_are_no_ordinary_numbers_go_pass_by_pass(value: float) -> None:
    broken = passes([(0, 0, value, 10)])
    assert not can_match_together(broken, [passes([A])])
    assert not can_match_together(passes([A]), [broken])
    assert not can_match_together(passes([A]), [passes([A], [A])])


def test_overlaps_and_their_pairs_equal_the_definition() -> None:
    random = np.random.default_rng(3)
    from scoring.boxes import pairwise_iou

    boxes, others = random_base(random, 400).T, random_base(random, 900).T
    rows, columns = overlapping_pairs(boxes, others)
    dense = np.zeros((400, 900))
    dense[rows, columns] = overlap_of_pairs(boxes, others, rows, columns)
    np.testing.assert_array_equal(dense, pairwise_iou(boxes.T, others.T))


@pytest.mark.parametrize("threshold", [0.0, 0.5, 1.0])
def test_clusters_of_many_blocks_equal_those_of_each(threshold: float) -> None:
    random = np.random.default_rng(5)
    counts = [0, 9, 1, 30, 0]
    boxes = np.round(random_base(random, 40) / 10) * 10
    got = clusters_within(boxes, counts, threshold)
    ends = np.cumsum(counts)
    for count, end in zip(counts, ends, strict=True):
        expected = clusters(boxes[end - count : end], threshold)
        mine = got[end - count : end]
        np.testing.assert_array_equal(mine[:, None] == mine, expected[:, None] == expected)
    assert not set(got[:9]) & set(got[9:])


@pytest.mark.parametrize("rules", [DEEPLUQ, STRICT])
def test_rows_do_not_depend_on_how_many_pairs_are_held(
    monkeypatch: pytest.MonkeyPatch, rules: Rules
) -> None:
    random = np.random.default_rng(13)
    base = random_base(random, 8)
    original, *mutants = (random_passes(random, 6, base, 3) for _ in range(9))
    mutants[3] = passes(*[()] * 6)
    together = score_image(original, mutants, rules)
    monkeypatch.setattr(overlaps, "_PAIRS_HELD", 300)
    np.testing.assert_array_equal(score_image(original, mutants, rules), together)
    alone = [score_image(original, [mutant], rules)[0] for mutant in mutants]
    np.testing.assert_array_equal(alone, together)


@pytest.mark.parametrize("n_passes", [1, 3, 10, 20])
@pytest.mark.parametrize("rules", [DEEPLUQ, STRICT, DEEPLUQ.with_(binomial_n=10)])
def test_levels_of_all_mutants_equal_those_of_each(n_passes: int, rules: Rules) -> None:
    random = np.random.default_rng(11)
    base = random_base(random, 1)
    original = random_passes(random, n_passes, base, 3)
    mutants = [random_passes(random, n_passes, base, 3) for _ in range(20)]
    counts = pass_counts(track_all(original, mutants))
    assert (counts.sum(axis=2) == 0).any() or n_passes == 1
    objects, images = object_levels(counts, rules), image_levels(counts, rules)
    n = rules.binomial_n or n_passes
    for number, mutant in enumerate(mutants):
        alone = track(original, mutant).counts()
        np.testing.assert_array_equal(counts[number], alone)
        np.testing.assert_array_equal(objects[number], object_ratios(alone, rules))
        tests = [binomial_test(changed, n) for changed in changed_passes(alone)]
        expected = [(t.p_value, t.cohens_h, t.power, t.count) for t in tests]
        np.testing.assert_array_equal(images[number], np.ravel(expected))
