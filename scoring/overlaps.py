"""Overlaps: the pairs of boxes that overlap at all, among the many that do not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from scoring.boxes import area_px2
from scoring.identity import clusters
from scoring.limits import MAX_COORDINATE

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]

_PAIRS_AT_ONCE = 2**18
"""So many comparisons stay in a core's cache."""
_PAIRS_HELD = 2**21
"""So many pairs take some 200 MB, even if all overlap."""


def is_ordinary(boxes: Floats) -> bool:
    """Return whether all overlaps of these boxes are numbers from 0 to 1.

    Args:
        boxes: (N, 4) x1, y1, x2, y2 in pixels.

    Example:
        >>> is_ordinary(np.array([[0.0, 0, 1, 1]])), is_ordinary(np.array([[0.0, 0, 1, np.nan]]))
        (True, False)
    """
    # A comparison with NaN fails.
    return bool((np.abs(boxes) < MAX_COORDINATE).all())


def overlapping_pairs(boxes: Floats, others: Floats) -> tuple[Rows, Rows]:
    """Return the pairs whose interiors may meet; every other pair has an overlap of exactly 0.

    Args:
        boxes: (4, N) x1, y1, x2, y2 in pixels, ordinary; one row per coordinate.
        others: (4, M) likewise.

    Returns:
        (P,) numbers of boxes and of others, by box, then by other.

    Example:
        >>> first = np.array([[0.0, 0, 4, 2], [5, 5, 9, 9]]).T
        >>> rows, columns = overlapping_pairs(first, np.array([[2.0, 0, 6, 2], [4, 0, 8, 2]]).T)
        >>> rows.tolist(), columns.tolist()
        ([0], [0])
    """
    n, m = boxes.shape[1], others.shape[1]
    if not n or not m:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    x1, y1, x2, y2 = boxes[:, :, None]
    ox1, oy1, ox2, oy2 = others
    found = []
    step = max(1, _PAIRS_AT_ONCE // m)
    for start in range(0, n, step):
        some = slice(start, start + step)
        meets = x1[some] < ox2
        meets &= ox1 < x2[some]
        meets &= y1[some] < oy2
        meets &= oy1 < y2[some]
        found.append(np.flatnonzero(meets) + start * m)
    places = np.concatenate(found)
    rows = places // m
    return rows, places - rows * m


def _pairs_in_blocks(boxes: Floats, counts: Rows) -> tuple[Rows, Rows]:
    """Return each pair of boxes (4, N) of one block whose interiors may meet, once."""
    starts = np.cumsum(counts) - counts
    most = int(counts.max())
    step = max(1, _PAIRS_AT_ONCE // most**2)
    found = [np.empty((2, 0), np.int64)]
    for first in range(0, len(counts), step):
        some = slice(first, first + step)
        place = np.arange(most)
        # Comparisons with the NaN behind a block's last box fail.
        filled = place < counts[some, None]
        blocks = np.full((4, *filled.shape), np.nan)
        begin = int(starts[first])
        blocks[:, filled] = boxes[:, begin : begin + int(counts[some].sum())]
        x1, y1, x2, y2 = blocks
        meets = x1[:, :, None] < x2[:, None, :]
        meets &= x1[:, None, :] < x2[:, :, None]
        meets &= y1[:, :, None] < y2[:, None, :]
        meets &= y1[:, None, :] < y2[:, :, None]
        meets &= place[:, None] < place
        block, row, partner = np.nonzero(meets)
        found.append(np.stack([row, partner]) + starts[some][block])
    rows, partners = np.concatenate(found, axis=1)
    return rows, partners


def overlap_of_pairs(boxes: Floats, others: Floats, rows: Rows, columns: Rows) -> Floats:
    """Return the intersection over union of pairs of boxes, as `scoring.boxes.iou` does.

    Args:
        boxes: (4, N) x1, y1, x2, y2 in pixels, ordinary; one row per coordinate.
        others: (4, M) likewise.
        rows: (P,) numbers of boxes.
        columns: (P,) numbers of others.

    Example:
        >>> one = np.array([[0.0, 0, 4, 2], [4, 0, 4, 2]]).T
        >>> overlap_of_pairs(one, np.array([[2.0, 0, 6, 2]]).T, np.array([0, 1]), np.array([0, 0]))
        array([0.33333333, 0.        ])
    """
    x1, y1, x2, y2 = boxes
    ox1, oy1, ox2, oy2 = others
    width = np.minimum(x2.take(rows), ox2.take(columns))
    width -= np.maximum(x1.take(rows), ox1.take(columns))
    height = np.minimum(y2.take(rows), oy2.take(columns))
    height -= np.maximum(y1.take(rows), oy1.take(columns))
    shared = np.maximum(width, 0.0, out=width)
    shared *= np.maximum(height, 0.0, out=height)
    union = area_px2(boxes.T).take(rows)
    union += area_px2(others.T).take(columns)
    union -= shared
    union[union == 0] = 1.0
    return np.asarray(shared / union, dtype=np.float64)


def clusters_within(
    boxes: Floats, counts: Sequence[int] | Rows, iou_threshold: float = 0.5
) -> Rows:
    """Return (N,) the component of each box in the graph whose edges are overlaps within blocks.

    Args:
        boxes: (N, 4) x1, y1, x2, y2 in pixels, block by block.
        counts: (B,) boxes of each block; boxes of two blocks never meet.
        iou_threshold: An edge joins two boxes iff 1 - IoU <= 1 - threshold.

    Example:
        >>> chain = np.array([[0.0, 0, 4, 1], [1, 0, 5, 1], [2, 0, 6, 1], [2, 0, 6, 1]])
        >>> clusters_within(chain, [3, 1]).tolist()
        [0, 0, 0, 1]
    """
    n = len(boxes)
    if not n:
        return np.empty(0, np.int64)
    if iou_threshold <= 0 or not is_ordinary(boxes):
        ends = np.cumsum(counts)
        blocks = np.split(boxes, ends[:-1])
        return np.concatenate(
            [clusters(b, iou_threshold) + end - len(b) for b, end in zip(blocks, ends, strict=True)]
        )
    sizes = np.asarray(counts)
    columns = np.ascontiguousarray(boxes.T)
    found, begin = np.empty(n, np.int64), 0
    for start, stop in in_portions(sizes**2):
        end = begin + int(sizes[start:stop].sum())
        if end > begin:
            part = columns[:, begin:end]
            found[begin:end] = _clusters_of(part, sizes[start:stop], iou_threshold) + begin
        begin = end
    return found


def _clusters_of(columns: Floats, counts: Rows, iou_threshold: float) -> Rows:
    """Return the components of boxes (4, N) within blocks."""
    rows, partners = _pairs_in_blocks(columns, counts)
    joined = 1 - overlap_of_pairs(columns, columns, rows, partners) <= 1 - iou_threshold
    rows, partners = rows[joined], partners[joined]
    n = columns.shape[1]
    edges = coo_array((np.ones(len(rows), np.int8), (rows, partners)), shape=(n, n))
    return np.asarray(connected_components(edges, directed=False)[1], dtype=np.int64)


def in_portions(sizes: npt.NDArray[np.int64]) -> list[tuple[int, int]]:
    """Return ranges (start, stop) of neighbours that have few enough pairs to be held at once.

    Args:
        sizes: Pairs of each neighbour; a larger one stands alone.

    Example:
        >>> in_portions(np.array([10, 3_000_000, 10, 20]))
        [(0, 1), (1, 2), (2, 4)]
    """
    portions, start, held = [], 0, 0
    for stop, size in enumerate(sizes.tolist()):
        if stop > start and held + size > _PAIRS_HELD:
            portions.append((start, stop))
            start, held = stop, 0
        held += size
    return [*portions, (start, len(sizes))]
