"""Perimeters of the convex hulls of many small point sets.

`hull_perimeter` is the definition, by Qhull. `hull_perimeters` walks all plainly two-dimensional
sets at once and leaves every set that Qhull might find flat to `hull_perimeter`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from scoring.fast import kernel

Floats = npt.NDArray[np.float64]
Complexes = npt.NDArray[np.complex128]

CORNERS = ((0, 1), (2, 1), (0, 3), (2, 3))
"""The columns of a box that are its corners."""
_LARGEST_WALK = 64
"""Sets with more points than this go to Qhull one by one."""
_PLAIN_RATIO = 1e-10
"""Least ratio of the covariance's eigenvalues of a set that is surely not flat: Qhull and
matrix_rank give up at about 1e-30."""
_PLAIN_WIDTH = 1e-9
"""Least standard deviation across, relative to the largest coordinate, likewise."""
_TWIN_DISTANCE = 1e-11
"""Sets with points nearer than this, relative to the largest coordinate, yet not equal, go to
Qhull: at about 1e-16 the direction of a turn is noise, and the walk may keep an inner point."""


def hull_perimeter(points: Floats) -> float:
    """Return the perimeter of the convex hull of one set, by Qhull.

    Args:
        points: (N, 2) in pixels.

    Returns:
        0 for fewer than 3 distinct points or for points on a line (numpy `matrix_rank` of the
        distinct points minus their mean below 2); NaN where Qhull or `matrix_rank` raises.

    Source: scoring.md, section 2, PS.

    Example:
        >>> hull_perimeter(np.array([[0.0, 0], [4, 0], [4, 3], [0, 3], [1, 1]]))
        14.0
    """
    from scipy.spatial import ConvexHull, QhullError

    distinct = np.unique(points, axis=0)
    if len(distinct) < 3:
        return 0.0
    try:
        # Infinities end in NaN, which matrix_rank refuses.
        with np.errstate(invalid="ignore", over="ignore"):
            rank = np.linalg.matrix_rank(distinct - distinct.mean(axis=0))
        return float(ConvexHull(distinct).area) if rank == 2 else 0.0
    except (QhullError, np.linalg.LinAlgError, ValueError):
        return float("nan")


def hull_perimeters(points: Floats, counts: npt.NDArray[np.int64]) -> Floats:
    """Return the hull perimeter of each of many sets.

    Args:
        points: (N, 2) in pixels, set by set.
        counts: (K,) points of each set, at least 1.

    Returns:
        (K,) as `hull_perimeter`.

    Example:
        >>> corner = np.array([[0.0, 0], [4, 0], [4, 3]])
        >>> hull_perimeters(np.vstack([corner, corner[:2]]), np.array([3, 2])).tolist()
        [12.0, 0.0]
    """
    starts = np.cumsum(counts) - counts
    result = np.zeros(len(counts))
    is_still = _is_still(points, starts)
    is_plain = _is_plain(points, counts, starts) & (counts <= _LARGEST_WALK)
    for k in np.flatnonzero(~is_still & ~is_plain):
        result[k] = hull_perimeter(points[starts[k] : starts[k] + counts[k]])
    walked = np.flatnonzero(is_plain & ~is_still)
    if not len(walked):
        return result
    ordered = sorted_sets(points, counts[walked], starts[walked])
    has_twins = _has_twins(ordered)
    result[walked[~has_twins]] = _walk(ordered[~has_twins])
    for k in walked[has_twins]:
        result[k] = hull_perimeter(points[starts[k] : starts[k] + counts[k]])
    return result


def corner_perimeters(boxes: Floats, counts: npt.NDArray[np.int64]) -> Floats:
    """Return the hull perimeters of the positions of each object's four corners.

    Args:
        boxes: (N, 4) x1, y1, x2, y2 in pixels, object by object.
        counts: (K,) boxes of each object, at least 1.

    Returns:
        (K, 4) of (x1, y1), (x2, y1), (x1, y2), (x2, y2), as `hull_perimeter`.
    """
    loops = kernel()
    if loops is None:
        return _corner_perimeters(boxes, counts)
    perimeters, is_decided = loops.walk_corners(
        np.ascontiguousarray(boxes),
        counts,
        _LARGEST_WALK,
        _PLAIN_RATIO,
        _PLAIN_WIDTH,
        _TWIN_DISTANCE,
    )
    is_left = ~is_decided.all(axis=1)
    if is_left.any():
        left = boxes[np.repeat(is_left, counts)]
        perimeters[is_left] = _corner_perimeters(left, counts[is_left])
    return np.asarray(perimeters, dtype=np.float64)


def _corner_perimeters(boxes: Floats, counts: npt.NDArray[np.int64]) -> Floats:
    corners = np.concatenate([boxes[:, list(corner)] for corner in CORNERS])
    return hull_perimeters(corners, np.tile(counts, 4)).reshape(4, -1).T


def _is_still(points: Floats, starts: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Return True where all points are one, or vary along one axis while the other is exact.

    Such sets have rank below 2 beyond doubt: a coordinate in steps of 1/64 px, constant over the
    set, has an exact mean. They are the still objects and the boxes clipped at the image's edge.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        low = np.minimum.reduceat(points, starts, axis=0)
        high = np.maximum.reduceat(points, starts, axis=0)
        same = low == high
        exact = same & (np.round(low * 64) == low * 64) & (np.abs(low) < 2**30)
        finite = np.isfinite(low + high).all(axis=1)
    return np.asarray(finite & (same.all(axis=1) | exact.any(axis=1)), dtype=np.bool_)


def _is_plain(
    points: Floats, counts: npt.NDArray[np.int64], starts: npt.NDArray[np.int64]
) -> npt.NDArray[np.bool_]:
    """Return True where the set is two-dimensional by a wide margin."""
    with np.errstate(invalid="ignore", over="ignore"):
        mean = np.add.reduceat(points, starts, axis=0) / counts[:, None]
        x, y = (points - np.repeat(mean, counts, axis=0)).T
        moments = np.stack([x * x, y * y, x * y], axis=1)
        xx, yy, xy = (np.add.reduceat(moments, starts, axis=0) / counts[:, None]).T
        largest = (xx + yy + np.hypot(xx - yy, 2 * xy)) / 2
        determinant = xx * yy - xy * xy
        smallest = determinant / np.where(largest > 0, largest, 1)
        reach = np.maximum.reduceat(np.abs(points).max(axis=1), starts)
        return np.asarray(
            (smallest > _PLAIN_RATIO * largest) & (smallest > (_PLAIN_WIDTH * reach) ** 2),
            dtype=np.bool_,
        )


def sorted_sets(
    points: Floats, counts: npt.NDArray[np.int64], starts: npt.NDArray[np.int64]
) -> Complexes:
    """Return (K, most) the points of every set as x + iy, sorted by x, then y.

    Sets of fewer points repeat their last one, which adds no edge.
    """
    place = np.minimum(np.arange(counts.max()), counts[:, None] - 1)
    padded = points[starts[:, None] + place]
    return np.sort(padded[..., 0] + 1j * padded[..., 1], axis=1)


def _has_twins(ordered: Complexes) -> npt.NDArray[np.bool_]:
    """Return True at least where two points of a set are almost, but not quite, the same.

    Points that differ that little in x, with others between them or not, leave such a gap between
    neighbours in the order; points of one x are neighbours in the order of y.
    """
    step = np.diff(ordered, axis=1)
    gap = np.where(step.real > 0, step.real, np.abs(step.imag))
    reach = np.maximum(np.abs(ordered.real), np.abs(ordered.imag)).max(axis=1)
    return np.asarray(((gap > 0) & (gap < _TWIN_DISTANCE * reach[:, None])).any(axis=1))


def convex_chains(ordered: Complexes) -> tuple[Complexes, npt.NDArray[np.int64]]:
    """Return the corners of every set's hull, by a monotone chain that advances in all together.

    Args:
        ordered: (K, most) points x + iy of each set, sorted by x, then y.

    Returns:
        (2 K, most) the lower chains, then the upper ones turned by half a circle, each from left
        to right, and (2 K,) how many corners each has; the cells beyond hold anything.
    """
    most = ordered.shape[1]
    # The upper chain of a set is the lower chain of the set turned by half a circle.
    both = np.concatenate([ordered, -ordered[:, ::-1]])
    sets = np.arange(len(both))
    stack = np.zeros_like(both)
    stack[:, 0] = both[:, 0]
    size = np.ones(len(both), dtype=np.int64)
    for i in range(1, most):
        point = both[:, i]
        turning = sets
        while True:
            turning = turning[size[turning] >= 2]
            top = stack[turning, size[turning] - 1]
            below = stack[turning, size[turning] - 2]
            edge, chord = top - below, point[turning] - below
            # In parts: a product of complex numbers may be fused, or not, as the processor can.
            turn = edge.real * chord.imag - edge.imag * chord.real
            turning = turning[turn <= 0]
            if not len(turning):
                break
            size[turning] -= 1
        stack[sets, size] = point
        size += 1
    return stack, size


def _walk(ordered: Complexes) -> Floats:
    """Return the perimeters by the convex chains of all sets."""
    n_sets, most = ordered.shape
    stack, size = convex_chains(ordered)
    steps = np.diff(stack, axis=1)
    edges = np.sqrt(steps.real**2 + steps.imag**2)
    edges[np.arange(most - 1) >= size[:, None] - 1] = 0
    # Added one by one: the grouping of np.sum would let the width of the table, and so the other
    # sets, decide the last bit.
    halves = np.zeros(len(stack))
    for edge in edges.T:
        halves += edge
    return np.asarray(halves[:n_sets] + halves[n_sets:], dtype=np.float64)
