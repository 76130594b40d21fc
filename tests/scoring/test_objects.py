"""Objects: who is one, in which order, and which detection speaks for it."""

from __future__ import annotations

import numpy as np
import pytest

from scoring.detections import Detections
from scoring.identity import clusters, original_objects
from scoring.objects import (
    ghost_objects,
    match_objects,
    miss_objects,
    rate_weighted,
    squash,
)
from scoring.passes import Passes
from scoring.tracks import track
from tests.scoring.plain_scorer import One, overlap
from tests.scoring.scenes import Box, found, passes, random_base

A: Box = (0, 0, 10, 10)
B: Box = (100, 0, 110, 10)
C: Box = (200, 0, 210, 10)


def test_an_object_is_its_box_to_four_decimals() -> None:
    near = (0.00004, 0, 10, 10)
    apart = (0.00006, 0, 10, 10)
    keys = original_objects(passes([A, B], [near, apart], [B])).ids.tolist()
    assert keys[0] == keys[2]
    assert keys[0] != keys[3]
    assert keys[1] == keys[4]
    assert len(set(keys)) == 3


def test_no_detection_is_no_object() -> None:
    nothing = passes([], [])
    assert original_objects(nothing).ids.shape == (0,)
    tracks = [track(nothing, nothing)]
    for table in (match_objects(tracks), miss_objects(tracks), ghost_objects(tracks)):
        assert len(table) == 0
        assert table.difference.shape == (0, 5)


def test_objects_come_in_the_order_in_which_they_were_first_seen() -> None:
    original = Passes.from_list([found([B, A], [2, 1]), found([C, A], [3, 1])])
    matched = match_objects([track(original, original)])
    assert matched.labels.tolist() == [2, 1, 3]
    assert matched.rate.tolist() == [0.5, 1.0, 0.5]
    nothing = passes([], [])
    assert miss_objects([track(original, nothing)]).labels.tolist() == [2, 1, 3]
    ghosts = ghost_objects([track(nothing, original)])
    assert ghosts.labels.tolist() == [2, 1, 3]
    assert ghosts.rate.tolist() == [0.5, 1.0, 0.5]


def test_objects_of_several_mutants_stay_apart() -> None:
    original = passes([A], [A])
    tracks = [track(original, mutant) for mutant in (passes([A], []), passes([], []), original)]
    matched, missed = match_objects(tracks), miss_objects(tracks)
    assert matched.mutant.tolist() == [0, 2]
    assert matched.rate.tolist() == [0.5, 1.0]
    assert missed.mutant.tolist() == [0, 1]
    assert missed.rate.tolist() == [0.5, 1.0]
    ghosts = ghost_objects([track(passes([], []), m) for m in (original, passes([], [A]))])
    assert ghosts.mutant.tolist() == [0, 1]
    assert ghosts.rate.tolist() == [1.0, 0.5]


def test_the_reference_is_the_first_of_the_set_it_belongs_to() -> None:
    """Missed in pass 0 and matched in pass 1: each set has its own first vector."""
    certain, torn = found([A], [7], [[1.0, 0.0]]), found([A], [8], [[0.5, 0.5]])
    original = Passes.from_list([certain, torn])
    tracks = [track(original, Passes.from_list([Detections.empty(), torn]))]
    missed, matched = miss_objects(tracks), match_objects(tracks)
    assert (missed.labels.tolist(), matched.labels.tolist()) == ([7], [8])
    # ie: 0 bits for the miss, 1 bit (squashed 1/2) for the match
    assert missed.original[0, 1] == 0
    assert matched.original[0, 1] == 0.5


def test_squashing_and_weighing_by_hand() -> None:
    assert squash(np.array([0.0, 1.0, 3.0])).tolist() == [0, 0.5, 0.75]
    # .5 * 3/4 + .5, and at rate 2: 2 * 3/4 - 1
    weighted = rate_weighted(np.array([0.5, 2.0]), np.array([[3.0], [3.0]]))
    assert weighted.tolist() == [[0.875], [0.5]]


def test_a_ghost_edge_includes_the_threshold() -> None:
    """1 - IoU <= .5, where a match asks for more than .5."""
    half = np.array([[0.0, 0, 10, 10], [0, 0, 10, 5]])
    assert clusters(half).tolist() == [0, 0]
    less = np.array([[0.0, 0, 10, 10], [0, 0, 10, 4.999]])
    assert clusters(less).tolist() == [0, 1]


@pytest.mark.parametrize("threshold", [0.3, 0.5, 0.75])
def test_clusters_are_the_components_of_a_graph_search(threshold: float) -> None:
    random = np.random.default_rng(3)
    for _ in range(60):
        base = random_base(random, 3)
        boxes = base[random.integers(0, 3, 15)] + random.normal(size=(15, 4)) * 12
        ones = [One(box, 1, []) for box in boxes.tolist()]
        group = list(range(15))
        for i in range(15):
            for j in range(15):
                if 1 - overlap(ones[i], ones[j]) <= 1 - threshold:
                    group = [group[i] if g == group[j] else g for g in group]
        got = clusters(boxes, threshold).tolist()
        assert len(set(got)) == len(set(group))
        assert len(set(zip(got, group, strict=True))) == len(set(group))


def test_ghosts_of_different_labels_are_one_object_of_the_first_label() -> None:
    mutant = Passes.from_list([found([A], [2]), found([A], [1])])
    ghosts = ghost_objects([track(passes([], []), mutant)])
    assert (ghosts.labels.tolist(), ghosts.rate.tolist()) == ([2], [1.0])


def test_uncertain_vectors_show_in_each_measure_by_hand() -> None:
    """Two passes, votes for two classes, x2 at 10 and 12."""
    original = Passes.from_list([found([A], probs=[[1.0, 0.0]])] * 2)
    mutant = Passes.from_list(
        [found([A], probs=[[1.0, 0.0]]), found([(0, 0, 12, 10)], probs=[[0.0, 1.0]])]
    )
    table = match_objects([track(original, mutant)])
    # vr 1/2, ie and mi 1 bit, variance 2, and too few boxes for a surface; rate 1
    assert table.mutated[0] == pytest.approx([1 / 3, 1 / 2, 1 / 2, 2 / 3, 0], abs=1e-9)
    assert table.difference[0] == pytest.approx(table.mutated[0], abs=1e-9)
    assert table.iou[0] == pytest.approx((1 + 100 / 120) / 2)
