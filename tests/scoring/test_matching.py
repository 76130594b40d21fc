"""Matching equals plain loops and brute force, and obeys its two rules."""

from __future__ import annotations

import itertools
import random as python_random
from typing import Any

import numpy as np
import pytest

from scoring import matching
from scoring.errors import DataError
from scoring.matching import Matched, iou, match_passes, pairwise_iou
from scoring.passes import Passes
from scoring.rules import DEEPLUQ, STRICT
from tests.scoring.scenes import Box, found, passes

A: Box = (0, 0, 10, 10)
B: Box = (100, 0, 110, 10)
NAN = float("nan")


def plain_iou(a: Box, b: Box) -> float:
    width = max(0.0, min(a[2], b[2]) - max(a[0], b[0]))
    height = max(0.0, min(a[3], b[3]) - max(a[1], b[1]))
    shared = width * height
    area_a = max(0.0, a[2] - a[0]) * max(0.0, a[3] - a[1])
    area_b = max(0.0, b[2] - b[0]) * max(0.0, b[3] - b[1])
    union = area_a + area_b - shared
    return shared / union if union else 0.0


def match(original: Passes, mutant: Passes, threshold: float = 0.5) -> Matched:
    return match_passes(original, mutant, DEEPLUQ.with_(iou_threshold=threshold))


def sets_of(matched: Matched) -> tuple[list[int], list[int], list[int], list[int]]:
    columns = (
        matched.original_rows,
        matched.mutant_rows,
        matched.missed_rows,
        matched.ghost_rows,
    )
    a, b, c, d = (column.tolist() for column in columns)
    return a, b, c, d


def test_overlap_of_half_covered_boxes_by_hand() -> None:
    # 5 x 10 shared of 100 + 100 - 50
    assert iou(np.array(A, float), np.array([5.0, 0, 15, 10])) == 50 / 150


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (A, (10, 0, 20, 10)),  # touching
        (A, (20, 20, 30, 30)),
        ((3, 3, 3, 3), (3, 3, 3, 3)),  # no area at all: union 0
        ((10, 10, 0, 0), A),  # turned inside out
    ],
)
def test_boxes_without_shared_area_have_overlap_zero(a: Box, b: Box) -> None:
    assert iou(np.array(a, float), np.array(b, float)) == 0


def test_overlap_equals_a_plain_loop() -> None:
    random = np.random.default_rng(1)
    boxes, others = random.integers(0, 12, (40, 4)) / 2, random.integers(0, 12, (50, 4)) / 2
    expected = [[plain_iou(a, b) for b in others.tolist()] for a in boxes.tolist()]
    assert pairwise_iou(boxes, others).tolist() == expected


def test_overlap_with_nan_coordinates_keeps_the_first_argument_as_python_does() -> None:
    random = python_random.Random(2)
    exceeding = 0
    for _ in range(3000):
        a, b = ([float(random.randint(0, 8)) for _ in range(4)] for _ in "ab")
        for box in (a, b):
            for i in range(4):
                if random.random() < 0.2:
                    box[i] = NAN
        expected = plain_iou(a, b)
        exceeding += expected > 1
        np.testing.assert_equal(float(iou(np.array(a), np.array(b))), expected)
    assert exceeding


def test_matches_equal_the_best_of_all_assignments() -> None:
    """Wherever one assignment is better than all others by more than rounding."""
    random = np.random.default_rng(3)
    compared = 0
    for _ in range(400):
        n, m = random.integers(1, 6, 2).tolist()
        base = random.integers(0, 25, (max(n, m), 2)).astype(float)
        boxes = np.hstack([base, base + random.integers(5, 25, base.shape)])
        o = boxes[:n] + random.normal(size=(n, 4))
        g = boxes[random.permutation(max(n, m))[:m]] + random.normal(size=(m, 4)) * 2
        labels_o, labels_g = random.integers(1, 3, n).tolist(), random.integers(1, 3, m).tolist()
        overlap = [[plain_iou(a, b) for b in g.tolist()] for a in o.tolist()]
        assignments = assignments_of(n, m)
        costs = [sum(1 - overlap[i][j] for i, j in pairs) for pairs in assignments]
        ranked = sorted(costs)
        if len(ranked) > 1 and ranked[1] - ranked[0] < 1e-9:
            continue
        compared += 1
        best = assignments[costs.index(ranked[0])]
        kept = sorted((i, j) for i, j in best if overlap[i][j] > 0.5 and labels_o[i] == labels_g[j])
        got = match(
            Passes.from_list([found(o.tolist(), labels_o)]),
            Passes.from_list([found(g.tolist(), labels_g)]),
        )
        assert list(zip(got.original_rows, got.mutant_rows, strict=True)) == kept
        assert got.missed_rows.tolist() == sorted(set(range(n)) - {i for i, _ in kept})
        assert got.ghost_rows.tolist() == sorted(set(range(m)) - {j for _, j in kept})
        assert got.iou.tolist() == [overlap[i][j] for i, j in kept]
    assert compared > 200


def assignments_of(n: int, m: int) -> list[list[tuple[int, int]]]:
    if n <= m:
        return [list(enumerate(chosen)) for chosen in itertools.permutations(range(m), n)]
    return [
        [(i, j) for j, i in enumerate(chosen)] for chosen in itertools.permutations(range(n), m)
    ]


def test_an_overlap_of_exactly_the_threshold_does_not_match() -> None:
    half, more = (0, 0, 10, 5), (0, 0, 10, 5.001)
    assert sets_of(match(passes([A]), passes([half]))) == ([], [], [0], [0])
    assert sets_of(match(passes([A]), passes([more]))) == ([0], [0], [], [])


def test_the_threshold_is_the_one_of_the_rules() -> None:
    assert sets_of(match(passes([A]), passes([(0, 0, 10, 5)]), 0.49)) == ([0], [0], [], [])


def test_labels_are_blind_to_the_assignment_and_checked_after_it() -> None:
    """The exact box of another label takes the partner that the same label would have."""
    original = Passes.from_list([found([A], [1])])
    mutant = Passes.from_list([found([A, (0, 0, 10, 9.8)], [2, 1])])
    assert sets_of(match(original, mutant)) == ([], [], [0], [0, 1])


@pytest.mark.parametrize(
    ("original", "mutant", "expected"),
    [
        ([], [], ([], [], [], [])),
        ([], [A], ([], [], [], [0])),
        ([A], [], ([], [], [0], [])),
        ([A], [A], ([0], [0], [], [])),
    ],
)
def test_empty_sides(original: list[Box], mutant: list[Box], expected: Any) -> None:
    assert sets_of(match(passes(original), passes(mutant))) == expected


def test_passes_of_all_kinds_beside_each_other_keep_their_rows() -> None:
    original = passes([], [], [A], [A, B], [B])
    mutant = passes([], [A], [], [B, A], [A, B])
    # original rows: 0 | 1 2 | 3; mutant rows: 0 | 1 2 | 3 4
    assert sets_of(match(original, mutant)) == ([1, 2, 3], [2, 1, 4], [0], [0, 3])


def test_pairs_are_ordered_by_pass_then_by_original() -> None:
    original = passes([A, B], [A, B])
    mutant = passes([B, A], [B, A])
    assert sets_of(match(original, mutant))[:2] == ([0, 1, 2, 3], [1, 0, 3, 2])


def test_swapped_roles_exchange_misses_and_ghosts() -> None:
    random = np.random.default_rng(5)
    for _ in range(50):
        # Boxes apart by more than their jitter: the assignment of overlapping ones is unique.
        slots = np.array([[100.0 * i, 0, 100.0 * i + 50, 50] for i in range(5)])
        sides = []
        for _side in range(2):
            chosen = random.permutation(5)[: random.integers(1, 6)]
            boxes = slots[chosen] + random.normal(size=(len(chosen), 4)) * 12
            sides.append(
                Passes.from_list([found(boxes.tolist(), random.integers(1, 3, len(boxes)))])
            )
        there, back = match(*sides), match(*sides[::-1])
        pairs = set(zip(there.original_rows, there.mutant_rows, strict=True))
        assert pairs == set(zip(back.mutant_rows, back.original_rows, strict=True))
        assert there.missed_rows.tolist() == back.ghost_rows.tolist()
        assert there.ghost_rows.tolist() == back.missed_rows.tolist()


@pytest.mark.parametrize(
    ("labels", "others", "matches"),
    [
        (["cat"], ["cat"], 1),
        (["cat"], ["dog"], 0),
        ([1], ["1"], 0),
        ([1], np.array([1.0], dtype=object), 1),
        ([1], np.array([1], dtype=object), 1),
        (["1"], np.array([1], dtype=object), 0),
    ],
)
def test_labels_compare_by_equality_across_kinds(labels: Any, others: Any, matches: int) -> None:
    original = Passes.from_list([found([A], labels)])
    mutant = Passes.from_list([found([A], others)])
    assert len(match(original, mutant).iou) == matches


def test_only_pairs_of_one_pass_are_ever_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    evaluated = []

    def counting(boxes: Any, others: Any) -> Any:
        result = iou(boxes, others)
        evaluated.append(result.size)
        return result

    monkeypatch.setattr(matching, "iou", counting)
    sizes = [(2, 3), (0, 4), (5, 0), (1, 1)] * 25
    original = passes(*[[A] * n for n, _ in sizes])
    mutant = passes(*[[B] * m for _, m in sizes])
    match(original, mutant)
    assert sum(evaluated) == sum(n * m for n, m in sizes)


@pytest.mark.parametrize(("n", "m"), [(1, 2), (2, 1)])
def test_unequal_numbers_of_passes_are_refused(n: int, m: int) -> None:
    with pytest.raises(DataError, match=f"got {m} and {n}"):
        match(passes(*[[]] * n), passes(*[[]] * m))


def test_an_overlap_that_is_no_number_is_refused_with_its_pass() -> None:
    infinite = (0.0, 0.0, float("inf"), 10.0)
    with pytest.raises(DataError, match="pass 1: the overlaps cannot be assigned"):
        match(passes([A], [infinite]), passes([A], [infinite]))


def test_many_objects_in_many_passes_are_matched_each_in_its_own() -> None:
    """Three against three: the second pass begins behind nine overlaps, the third behind 18."""
    boxes = [[0.0, 0, 10, 10], [20, 0, 30, 10], [40, 0, 50, 10]]
    turned = [boxes[1], boxes[2], boxes[0]]
    matched = match(passes(boxes, boxes, boxes, boxes), passes(turned, boxes, turned[::-1], turned))
    assert matched.original_rows.tolist() == list(range(12))
    assert matched.mutant_rows.tolist() == [2, 0, 1, 3, 4, 5, 6, 8, 7, 11, 9, 10]
    assert matched.iou.tolist() == [1.0] * 12


def test_strict_lets_only_pairs_that_may_match_compete() -> None:
    """The best overlap is with a box of another class, which then matches nothing."""
    one = Passes.from_list([found([[0.0, 0, 10, 10]], labels=[1])])
    both = Passes.from_list([found([[0.0, 0, 10, 10], [1, 0, 11, 10]], labels=[2, 1])])
    assert match_passes(one, both, DEEPLUQ).mutant_rows.tolist() == []
    assert match_passes(one, both, STRICT).mutant_rows.tolist() == [1]


def test_any_number_of_passes_is_as_many_as_any_other() -> None:
    many = passes(*[[]] * 300)
    assert match(many, passes(*[[]] * 300)).original_rows.tolist() == []
