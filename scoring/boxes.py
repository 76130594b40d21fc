"""Boxes: overlap and area."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


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
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
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


def area_px2(boxes: Floats) -> Floats:
    """Return the area of each box; 0 where x2 <= x1 or y2 <= y1.

    Args:
        boxes: (..., 4) x1, y1, x2, y2 in pixels.

    Example:
        >>> area_px2(np.array([[0.0, 0, 4, 2], [4, 0, 0, 2]])).tolist()
        [8.0, 0.0]
    """
    sides = np.maximum(boxes[..., 2:] - boxes[..., :2], 0.0)
    return np.asarray(sides[..., 0] * sides[..., 1], dtype=np.float64)
