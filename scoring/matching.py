"""Matching: which detection of a mutant is which detection of the original."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

from scoring.errors import DataError
from scoring.passes import Passes
from scoring.rules import Rules

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]


def _smaller(first: Floats, second: Floats) -> Floats:
    """Return the smaller value; the first where a comparison with NaN fails."""
    return np.where(second < first, second, first)


def _larger(first: Floats | float, second: Floats) -> Floats:
    """Return the larger value; the first where a comparison with NaN fails."""
    return np.where(second > first, second, first)


def iou(boxes: Floats, others: Floats) -> Floats:
    """Return the intersection over union of boxes that broadcast against each other.

    Where a coordinate is NaN, a minimum or maximum keeps its first argument, as Python's builtins
    do; the result may then exceed 1.

    Args:
        boxes: (..., 4) x1, y1, x2, y2 in pixels.
        others: (..., 4), likewise; the leading shapes broadcast.

    Returns:
        (...) intersection / union, 0 where the union is 0.

    Source: scoring.md, section 2.

    Example:
        >>> iou(np.array([0.0, 0, 4, 2]), np.array([[2.0, 0, 6, 2], [9, 9, 9, 9]]))
        array([0.33333333, 0.        ])
    """
    ax1, ay1, ax2, ay2 = np.moveaxis(boxes, -1, 0)
    bx1, by1, bx2, by2 = np.moveaxis(others, -1, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        width = _larger(0.0, _smaller(ax2, bx2) - _larger(ax1, bx1))
        height = _larger(0.0, _smaller(ay2, by2) - _larger(ay1, by1))
        shared = width * height
        area_a = _larger(0.0, ax2 - ax1) * _larger(0.0, ay2 - ay1)
        area_b = _larger(0.0, bx2 - bx1) * _larger(0.0, by2 - by1)
        union = area_a + area_b - shared
        return np.where(union == 0, 0.0, shared / np.where(union == 0, 1.0, union))


def pairwise_iou(boxes: Floats, others: Floats) -> Floats:
    """Return the (N, M) intersection over union of every box with every other.

    Args:
        boxes: (N, 4) x1, y1, x2, y2 in pixels.
        others: (M, 4), likewise.

    Example:
        >>> pairwise_iou(np.array([[0.0, 0, 4, 2]]), np.array([[2.0, 0, 6, 2], [0, 0, 4, 2]]))
        array([[0.33333333, 1.        ]])
    """
    return iou(boxes[:, None, :], others[None, :, :])


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

    In each pass the assignment minimises the sum of 1 - IoU over all pairs, blind to labels; a
    pair is then kept iff its IoU exceeds the threshold and its labels are equal. The overlaps of
    all passes are computed at once.

    Args:
        original: The original's T passes.
        mutant: The mutant's T passes.
        rules: The threshold.

    Raises:
        DataError: The numbers of passes differ, or the overlaps of a pass are not numbers.

    Source: scoring.md, section 2, "Sets of repetition t".
    """
    if original.n_passes != mutant.n_passes:
        raise DataError(
            f"expected as many passes of the mutant as of the original, "
            f"got {mutant.n_passes} and {original.n_passes}"
        )
    o_start, m_start = original.starts, mutant.starts
    # One row per (pass, original, mutant) triple, pass by pass and row by row.
    sizes = original.counts * mutant.counts
    m_of_row = np.repeat(mutant.counts, original.counts)
    pair_o = np.repeat(np.arange(len(original)), m_of_row)
    first_of_row = np.cumsum(m_of_row) - m_of_row
    within_row = np.arange(len(pair_o)) - np.repeat(first_of_row, m_of_row)
    pair_m = within_row + np.repeat(np.repeat(m_start[:-1], original.counts), m_of_row)
    overlap = iou(original.detections.boxes[pair_o], mutant.detections.boxes[pair_m])
    cost = 1.0 - overlap

    chosen: list[Rows] = []
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
    pairs = pairs[(overlap[pairs] > rules.iou_threshold) & same.astype(bool)]
    is_missed = np.ones(o_start[-1], dtype=bool)
    is_missed[pair_o[pairs]] = False
    is_ghost = np.ones(m_start[-1], dtype=bool)
    is_ghost[pair_m[pairs]] = False
    return Matched(
        pair_o[pairs],
        pair_m[pairs],
        overlap[pairs],
        np.flatnonzero(is_missed),
        np.flatnonzero(is_ghost),
    )
