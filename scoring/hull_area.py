"""Areas of the convex hulls of many small point sets, flat ones included."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from scoring.hull import convex_chains, sorted_sets

Floats = npt.NDArray[np.float64]


def hull_areas(points: Floats, counts: npt.NDArray[np.int64]) -> Floats:
    """Return the area of the convex hull of each of many sets.

    Args:
        points: (N, 2) in pixels, set by set.
        counts: (K,) points of each set, at least 1.

    Returns:
        (K,) in square pixels; 0 for points on a line, up to rounding for a slanted one.

    Source: A. M. Andrew, Another efficient algorithm for convex hulls in two dimensions, 1979;
        scoring.md, section 3, row 7.

    Example:
        >>> corners = np.array([[0.0, 0], [4, 0], [4, 3], [0, 3], [0, 0], [1, 1], [2, 2]])
        >>> hull_areas(corners, np.array([4, 3])).tolist()
        [12.0, 0.0]
    """
    if not len(counts):
        return np.empty(0)
    starts = np.cumsum(counts) - counts
    # Far from the origin the products of coordinates would lose the digits that matter.
    moved = points - np.repeat(points[starts], counts, axis=0)
    stack, size = convex_chains(sorted_sets(moved, counts, starts))
    # Both chains run against the clock about the hull, a turn by half a circle included.
    doubled = (np.conj(stack[:, :-1]) * stack[:, 1:]).imag
    doubled[np.arange(doubled.shape[1]) >= size[:, None] - 1] = 0
    halves = np.zeros(len(stack))
    for edge in doubled.T:
        halves += edge
    n_sets = len(counts)
    return np.asarray(np.maximum((halves[:n_sets] + halves[n_sets:]) / 2, 0.0))
