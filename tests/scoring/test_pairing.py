"""Strict matching: the most allowed pairs, then the largest overlap, whatever a file's order."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from scoring.assignment import match_allowed_together
from scoring.detections import Detections
from scoring.matching import match_passes
from scoring.pairing import prepared
from scoring.passes import Passes
from scoring.rules import DEEPLUQ, STRICT
from scoring.tracks import track
from tests.scoring.plain_scorer import listed, overlap
from tests.scoring.scenes import Box, found, passes, random_base

A: Box = (0, 0, 10, 10)


def best_by_enumeration(weight: np.ndarray) -> tuple[int, float]:
    """Return the most allowed pairs of any assignment, and the largest overlap among those."""
    if weight.shape[0] > weight.shape[1]:
        weight = weight.T
    n, m = weight.shape
    best = (0, 0.0)
    for columns in permutations(range(m), n):
        chosen = [weight[i, j] for i, j in enumerate(columns) if weight[i, j] > 0]
        best = max(best, (len(chosen), sum(chosen)), key=lambda b: (b[0], b[1]))
    return best


def crowd(random: np.random.Generator, n: int, n_classes: int) -> Detections:
    """Return up to n boxes in a small room, so that many overlap many."""
    corner = random.random((n, 2)) * 12
    boxes = np.hstack([corner, corner + random.uniform(18, 30, (n, 2))])
    probs = random.dirichlet(np.ones(3), n)
    return Detections(boxes, random.integers(1, n_classes + 1, n), random.random(n), probs)


def test_no_assignment_pairs_more_or_overlaps_more() -> None:
    """2,000 scenes of up to 6 boxes a side, all assignments enumerated."""
    random = np.random.default_rng(5)
    n_contested = 0
    for number in range(2000):
        # Two of three scenes are small: there are 720 assignments of 6 to 6.
        most = 6 if number % 3 == 0 else 4
        sides = [crowd(random, int(random.integers(0, most + 1)), 1 + number % 3) for _ in "om"]
        first, second = (listed(side) for side in sides)
        allowed = np.array(
            [
                [
                    overlap(a, b) if a.label == b.label and overlap(a, b) > 0.5 else 0.0
                    for b in second
                ]
                for a in first
            ]
        ).reshape(len(first), len(second))
        matched = match_passes(*(Passes.from_list([side]) for side in sides), STRICT)
        n_pairs, total = best_by_enumeration(allowed)
        assert len(matched.iou) == n_pairs
        assert matched.iou.sum() == pytest.approx(total, abs=1e-12)
        pairs = zip(matched.original_rows, matched.mutant_rows, matched.iou, strict=True)
        assert all(allowed[i, j] == pytest.approx(value) for i, j, value in pairs)
        assert len(set(matched.original_rows)) == len(set(matched.mutant_rows)) == n_pairs
        n_contested += bool((np.sort((allowed > 0).sum(axis=0)) > 1).any())
    assert n_contested > 300


def test_pairs_that_cannot_match_do_not_compete() -> None:
    """IoU [[.6, .4706], [.3793, 0]]: 0 match, 2 miss, 2 ghost against 1, 1, 1."""
    original = passes([(0, 0, 10, 10), (7, 0, 17, 10)])
    mutant = passes([(2.5, 0, 12.5, 10), (-3.6, 0, 6.4, 10)])
    counts = [track(original, mutant, rules).counts().tolist()[0] for rules in (DEEPLUQ, STRICT)]
    assert counts == [[0, 2, 2], [1, 1, 1]]


def test_more_pairs_come_before_more_overlap() -> None:
    """One pair of overlap 1 gives way to two of .6."""
    original = passes([(0, 0, 10, 10), (2.5, 0, 12.5, 10)])
    mutant = passes([(0, 0, 10, 10), (-2.5, 0, 7.5, 10)])
    matched = track(original, mutant, STRICT).matched
    assert matched.iou.tolist() == pytest.approx([0.6, 0.6])


def test_a_box_of_another_class_does_not_take_the_partner_away() -> None:
    """A vs {other label, IoU 1; same label, IoU .961}: 0/1/2 by overlap, 1/0/1 by allowed pairs."""
    original = Passes.from_list([found([A], [1])])
    mutant = Passes.from_list([found([A, (0, 0, 10, 9.61)], [2, 1])])
    counts = [track(original, mutant, rules).counts().tolist()[0] for rules in (DEEPLUQ, STRICT)]
    assert counts == [[0, 1, 2], [1, 0, 1]]


def test_boxes_without_area_are_left_out_on_both_sides() -> None:
    flat: Box = (5, 5, 5, 9)
    turned: Box = (9, 0, 3, 4)
    side = passes([A, flat], [turned])
    assert prepared(side).counts.tolist() == [1, 0]
    assert track(side, side, STRICT).counts().tolist() == [[1, 0, 0], [0, 0, 0]]
    assert track(side, side, DEEPLUQ).counts().tolist() == [[1, 1, 1], [0, 1, 1]]


def test_detections_are_sorted_by_text_of_label_then_box_then_score_then_vector() -> None:
    boxes = [A, A, A, A, (0, 0, 9, 9)]
    labels = np.array([2, 2, 2, 10, 2], dtype=object)
    scores = np.array([0.5, 0.5, 0.4, 0.9, 0.9])
    probs = np.array([[0.3, 0.7], [0.2, 0.8], [0.5, 0.5], [0.5, 0.5], [0.5, 0.5]])
    ordered = prepared(Passes.from_list([Detections(boxes, labels, scores, probs)])).detections
    assert ordered.labels.tolist() == [10, 2, 2, 2, 2]
    assert ordered.boxes[:, 2].tolist() == [10, 9, 10, 10, 10]
    assert ordered.scores.tolist() == [0.9, 0.9, 0.4, 0.5, 0.5]
    assert ordered.probs[3:, 0].tolist() == [0.2, 0.3]


def test_an_overlap_of_exactly_the_threshold_is_no_pair() -> None:
    counts = track(passes([A]), passes([(0, 0, 10, 5)]), STRICT).counts()
    assert counts.tolist() == [[0, 1, 1]]


def test_labels_of_text_and_numbers_stand_beside_each_other() -> None:
    original = Passes.from_list([found([A, (50, 0, 60, 10)], np.array(["cat", 3], dtype=object))])
    mutant = Passes.from_list([found([(50, 0, 60, 10), A], np.array([3, "dog"], dtype=object))])
    assert track(original, mutant, STRICT).counts().tolist() == [[1, 1, 1]]


def test_a_busy_pass_does_not_disturb_a_quiet_one() -> None:
    random = np.random.default_rng(8)
    sides = [[crowd(random, 5, 1), found(random_base(random, 4))] for _ in "om"]
    together = match_passes(*(Passes.from_list(side) for side in sides), STRICT)
    alone = [
        match_passes(*(Passes.from_list([side[t]]) for side in sides), STRICT) for t in range(2)
    ]
    assert len(together.iou) == sum(len(m.iou) for m in alone)
    assert together.iou.tolist() == [*alone[0].iou.tolist(), *alone[1].iou.tolist()]


def test_mutants_and_passes_together_match_as_each_alone() -> None:
    """To the last bit, also where several pairs compete or tie."""
    random = np.random.default_rng(21)
    for number in range(60):
        n_passes = int(random.integers(1, 5))

        def side(n_passes: int = n_passes, most: int = 7 - number % 3) -> Passes:
            each = [crowd(random, int(random.integers(0, most)), 2) for _ in range(n_passes)]
            twins = [d.take(np.r_[np.arange(len(d)), np.arange(len(d) // 3)]) for d in each]
            return prepared(Passes.from_list(twins))

        original, mutants = side(), [side() for _ in range(3)]
        together = match_allowed_together(original, mutants, 0.5)
        for got, mutant in zip(together, mutants, strict=True):
            for column, alone in zip(got, match_passes(original, mutant, STRICT), strict=True):
                assert column.tolist() == alone.tolist()
