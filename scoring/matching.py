"""Matching: which detection of a mutant is which detection of the original."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

from scoring.boxes import iou, pairwise_iou
from scoring.errors import DataError
from scoring.pairing import Blocks, pair_allowed, pairs_within
from scoring.passes import Passes
from scoring.rules import Rules

__all__ = ["Matched", "iou", "match_passes", "pairwise_iou"]

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]


class Matched(NamedTuple):
    """The sets of every pass, as rows of the two tables, ordered by pass, then by row."""

    original_rows: Rows
    """(P,) rows of the matched originals"""
    mutant_rows: Rows
    """(P,) rows of their partners"""
    iou: Floats
    """(P,) overlap of each pair"""
    missed_rows: Rows
    """(S,) originals without a partner"""
    ghost_rows: Rows
    """(G,) mutant detections without a partner"""


def match_passes(original: Passes, mutant: Passes, rules: Rules) -> Matched:
    """Return the matches, misses and ghosts of every pass.

    Under `deepluq` the assignment of each pass minimises the sum of 1 - IoU over all pairs, blind
    to labels; a pair is then kept iff its IoU exceeds the threshold and its labels are equal.
    Under `strict` only such pairs compete (`scoring.pairing`). The overlaps of all passes are
    computed at once.

    Args:
        original: The original's T passes.
        mutant: The mutant's T passes.
        rules: The threshold, and how pairs are chosen.

    Raises:
        DataError: The numbers of passes differ, or the overlaps of a pass are not numbers.

    Source: scoring.md, section 2, "Sets of repetition t", and section 3, row 1.
    """
    if original.n_passes != mutant.n_passes:
        raise DataError(
            f"expected as many passes of the mutant as of the original, "
            f"got {mutant.n_passes} and {original.n_passes}"
        )
    chosen = _allowed if rules.matching == "allowed_pairs" else _by_overlap
    rows, partners, overlap = chosen(original, mutant, rules.iou_threshold)
    is_missed = np.ones(len(original), dtype=bool)
    is_missed[rows] = False
    is_ghost = np.ones(len(mutant), dtype=bool)
    is_ghost[partners] = False
    return Matched(rows, partners, overlap, np.flatnonzero(is_missed), np.flatnonzero(is_ghost))


def _by_overlap(
    original: Passes, mutant: Passes, iou_threshold: float
) -> tuple[Rows, Rows, Floats]:
    """Return the pairs of a label-blind assignment that pass the filter, with their overlaps."""
    pair_o, pair_m = pairs_within(original.counts, mutant.counts)
    overlap = iou(original.detections.boxes[pair_o], mutant.detections.boxes[pair_m])
    cost = 1.0 - overlap
    chosen: list[Rows] = []
    sizes = original.counts * mutant.counts
    begins = np.cumsum(sizes) - sizes
    for t in np.flatnonzero(sizes):
        n, m = int(original.counts[t]), int(mutant.counts[t])
        block = cost[begins[t] : begins[t] + sizes[t]].reshape(n, m)
        try:
            rows, columns = linear_sum_assignment(block)
        except ValueError as error:
            raise DataError(f"pass {t}: the overlaps cannot be assigned ({error})") from error
        chosen.append(begins[t] + rows * m + columns)
    pairs = np.concatenate(chosen) if chosen else np.empty(0, np.int64)
    same = original.detections.labels[pair_o[pairs]] == mutant.detections.labels[pair_m[pairs]]
    pairs = pairs[(overlap[pairs] > iou_threshold) & same.astype(bool)]
    return pair_o[pairs], pair_m[pairs], overlap[pairs]


def _allowed(original: Passes, mutant: Passes, iou_threshold: float) -> tuple[Rows, Rows, Floats]:
    """Return the best pairs among those of one label and enough overlap, with their overlaps."""
    first, second = (
        Blocks(side.detections.boxes, side.detections.labels, side.counts)
        for side in (original, mutant)
    )
    return pair_allowed(first, second, iou_threshold)
