"""Pairing: the most pairs of one class that overlap enough, and of those the best overlap.

The matching of rule set `strict`, for a mutant against its original and for objects over passes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

from scoring.boxes import iou
from scoring.passes import Passes

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]


class Blocks(NamedTuple):
    """Detections that compete block by block, as those of one pass do."""

    boxes: Floats
    """(N, 4) x1, y1, x2, y2 in pixels, block by block"""
    labels: npt.NDArray[Any]
    """(N,)"""
    counts: Rows
    """(B,) rows of each block"""


def pairs_within(counts: Rows, other_counts: Rows) -> tuple[Rows, Rows]:
    """Return every pair of a row of one table with a row of another in the same block.

    Args:
        counts: (B,) rows of each block of the first table; blocks lie one after the other.
        other_counts: (B,) likewise for the second table.

    Returns:
        (P,) rows of the first and of the second table: block by block, then row by row.

    Example:
        >>> first, second = pairs_within(np.array([1, 0, 2]), np.array([2, 1, 1]))
        >>> first.tolist(), second.tolist()
        ([0, 0, 1, 2], [0, 1, 3, 3])
    """
    partners = np.repeat(other_counts, counts)
    first = np.repeat(np.arange(len(partners)), partners)
    within = np.arange(len(first)) - np.repeat(np.cumsum(partners) - partners, partners)
    starts = np.cumsum(other_counts) - other_counts
    return first, within + np.repeat(np.repeat(starts, counts), partners)


def has_no_area(boxes: Floats) -> npt.NDArray[np.bool_]:
    """Return (N,) True where x2 <= x1 or y2 <= y1."""
    return np.asarray((boxes[:, 2:] <= boxes[:, :2]).any(axis=1))


def prepared(passes: Passes) -> Passes:
    """Return the passes as `strict` compares them, so that no order of a file matters.

    Boxes without area are left out; the detections of each pass are sorted by the text of their
    label, then box, score and class vector.

    Source: scoring.md, section 3, row 1.

    Example:
        >>> from scoring.detections import Detections
        >>> boxes = [[5, 0, 9, 9], [0, 0, 9, 9], [3, 3, 3, 8]]
        >>> seen = Detections(boxes, [1, 1, 1], [0.9, 0.8, 0.7], [[0.0, 1.0]] * 3)
        >>> prepared(Passes.from_list([seen])).detections.scores.tolist()
        [0.8, 0.9]
    """
    detections, pass_of_row = passes.detections, passes.pass_of_row
    flat = has_no_area(detections.boxes)
    if flat.any():
        kept = np.flatnonzero(~flat)
        detections, pass_of_row = detections.take(kept), pass_of_row[kept]
    if not len(detections):
        return Passes(detections, np.zeros(passes.n_passes, np.int64))
    rank = _rank_of_texts(detections.labels)
    group = pass_of_row * (int(rank.max()) + 1) + rank
    left = detections.boxes[:, 0]
    order = np.lexsort((left, group))
    is_tied = (np.diff(group[order]) == 0) & (np.diff(left[order]) == 0)
    if is_tied.any():
        # Only then do the other columns decide, of which the class vectors may be long.
        others = (detections.boxes[:, 1:], detections.scores, detections.probs)
        order = np.lexsort(np.column_stack([group, left, *others]).T[::-1])
    counts = np.bincount(pass_of_row, minlength=passes.n_passes)
    return Passes(detections.take(order), counts)


def _rank_of_texts(labels: npt.NDArray[Any]) -> Rows:
    """Return (N,) the rank of each label among all, sorted as text."""
    if labels.dtype.kind in "iu":
        unique, inverse = np.unique(labels, return_inverse=True)
        texts = [str(label) for label in unique.tolist()]
        return np.argsort(sorted(range(len(texts)), key=texts.__getitem__))[inverse]
    texts = [str(label) for label in labels.tolist()]
    place = {text: number for number, text in enumerate(sorted(set(texts)))}
    return np.array([place[text] for text in texts])


def pair_allowed(first: Blocks, second: Blocks, iou_threshold: float) -> tuple[Rows, Rows, Floats]:
    """Return the best pairs of every block.

    Only detections of one label whose overlap exceeds the threshold may pair: in each block first
    as many as possible, then with the largest total overlap. The weight of an allowed pair is
    K + IoU, K one more than the smaller side has rows, and 0 of any other.

    Args:
        first: One side, whose rows are the assignment's rows.
        second: The other side, in the same blocks.
        iou_threshold: A pair is allowed only above it, strictly.

    Returns:
        (P,) rows of the first side in ascending order, their partners, and their overlaps.

    Source: scoring.md, section 3, row 1.

    Example:
        >>> one = Blocks(np.array([[0.0, 0, 10, 10]]), np.array([1]), np.array([1]))
        >>> boxes = np.array([[0.0, 0, 10, 10], [0, 0, 10, 8]])
        >>> rows, partners, overlap = pair_allowed(
        ...     one, Blocks(boxes, np.array([2, 1]), np.array([2])), 0.5
        ... )
        >>> rows.tolist(), partners.tolist(), overlap.tolist()
        ([0], [1], [0.8])
    """
    rows, partners = pairs_within(first.counts, second.counts)
    same = (first.labels[rows] == second.labels[partners]).astype(bool)
    rows, partners = rows[same], partners[same]
    overlap = iou(first.boxes[rows], second.boxes[partners])
    allowed = overlap > iou_threshold
    rows, partners, overlap = rows[allowed], partners[allowed], overlap[allowed]

    kept = best_of_allowed(rows, partners, overlap, first.counts, second.counts)
    return rows[kept], partners[kept], overlap[kept]


def best_of_allowed(
    rows: Rows, partners: Rows, overlap: Floats, counts: Rows, other_counts: Rows
) -> npt.NDArray[np.bool_]:
    """Return which allowed pairs stand.

    Args:
        rows: (P,) rows of the first side, in ascending order.
        partners: (P,) rows of the second side.
        overlap: (P,) of each pair.
        counts: (B,) rows of each block of the first side.
        other_counts: (B,) rows of each block of the second side.
    """
    kept = np.ones(len(rows), dtype=bool)
    contested = (np.bincount(rows, minlength=1)[rows] > 1) | (
        np.bincount(partners, minlength=1)[partners] > 1
    )
    if not contested.any():
        # Nothing competes, so every allowed pair stands.
        return kept
    starts, other_starts = _starts(counts), _starts(other_counts)
    block_of_pair = np.searchsorted(np.cumsum(counts), rows, side="right")
    for block in np.unique(block_of_pair[contested]):
        first, last = np.searchsorted(block_of_pair, [block, block + 1])
        shape = (int(counts[block]), int(other_counts[block]))
        pairs = slice(first, last)
        place = (rows[pairs] - starts[block], partners[pairs] - other_starts[block])
        weight = np.zeros(shape)
        weight[place] = min(shape) + 1 + overlap[pairs]
        assigned = np.zeros(shape, dtype=bool)
        assigned[linear_sum_assignment(-weight)] = True
        kept[pairs] = assigned[place]
    return kept


def _starts(counts: Rows) -> Rows:
    return np.cumsum(counts) - counts
