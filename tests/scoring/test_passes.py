"""Passes hold T lists of detections in one table and give them back."""

from __future__ import annotations

import numpy as np
import pytest

from scoring.detections import Detections
from scoring.errors import DataError
from scoring.passes import Passes
from scoring.tracks import track
from tests.scoring.scenes import found, passes

A, B = (0.0, 0, 4, 4), (9.0, 9, 12, 12)


def test_every_pass_comes_back_as_it_was_given() -> None:
    given = [found([A, B], [1, 2]), Detections.empty(), found([B], [3]), Detections.empty(3)]
    together = Passes.from_list(given)
    assert (together.n_passes, len(together)) == (4, 3)
    assert together.counts.tolist() == [2, 0, 1, 0]
    assert together.starts.tolist() == [0, 2, 2, 3, 3]
    assert together.pass_of_row.tolist() == [0, 0, 2]
    for t, detections in enumerate(given):
        assert together[t].boxes.tolist() == detections.boxes.tolist()
        assert together[t].labels.tolist() == detections.labels.tolist()


@pytest.mark.parametrize("t", [-1, 2, 10])
def test_a_pass_that_is_not_there_cannot_be_had(t: int) -> None:
    with pytest.raises(IndexError, match=f"pass {t}: expected 0 to 1"):
        passes([A], [B])[t]


def test_passes_can_be_gone_through() -> None:
    assert [len(detections) for detections in passes([A], [], [A, B])] == [1, 0, 2]


def test_empty_passes_alone_have_shapes() -> None:
    none = passes([], [])
    assert (none.n_passes, len(none), none.detections.boxes.shape) == (2, 0, (0, 4))
    assert len(none[1]) == 0
    assert Passes.from_list([]).n_passes == 0


def test_empty_passes_fit_any_length_of_vectors() -> None:
    together = Passes.from_list([Detections.empty(91), found([A])])
    assert together.detections.n_classes == 3


def test_vectors_of_two_lengths_are_refused() -> None:
    with pytest.raises(DataError, match=r"vectors of one length, got \[2, 3\]"):
        Passes.from_list([found([A]), found([A], probs=[[0.5, 0.5]])])


def test_labels_of_two_kinds_keep_their_kind() -> None:
    together = Passes.from_list([found([A], [1]), found([A], ["1"])])
    assert together.detections.labels.tolist() == [1, "1"]


@pytest.mark.parametrize("counts", [[1], [3], [1, 0], [-1, 3], [[2]]])
def test_counts_must_add_up(counts: list[int]) -> None:
    with pytest.raises(DataError, match="add up to 2 detections"):
        Passes(found([A, B]), np.array(counts))


def test_tracks_count_matches_misses_and_ghosts_per_pass() -> None:
    original, mutant = passes([A, B], [A], [], []), passes([B], [B], [A, B], [])
    tracks = track(original, mutant)
    assert tracks.counts().tolist() == [[1, 1, 0], [0, 1, 1], [0, 0, 2], [0, 0, 0]]
    assert tracks.n_passes == 4


def test_tracks_refuse_vectors_of_two_lengths() -> None:
    other = Passes.from_list([found([A], probs=[[0.5, 0.5]])])
    with pytest.raises(DataError, match="got 3 in the original and 2 in the mutant"):
        track(passes([A]), other)
