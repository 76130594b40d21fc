"""Loops that a compiler makes fast; plain Python, in which each is slow but the same.

Each gives, to the last bit, what the arrays of numpy give that it stands in for: the same sums in
the same order, and no fused operations. `scoring.fast` compiles them.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

_LARGEST = 1e100
"""Squares of larger coordinates are not numbers."""


def walk_corners(
    boxes: Floats,
    counts: Rows,
    largest_walk: int,
    plain_ratio: float,
    plain_width: float,
    twin_distance: float,
) -> tuple[Floats, Flags]:
    """Return the hull perimeters of the four corners of each object, where the hull is plain.

    Args:
        boxes: (N, 4) x1, y1, x2, y2 in pixels, object by object.
        counts: (K,) boxes of each object, at least 1.
        largest_walk: Objects with more boxes are left undecided.
        plain_ratio: As in `scoring.hull`; sets within twice the bounds are left undecided.
        plain_width: Likewise.
        twin_distance: Likewise, taken exactly.

    Returns:
        (K, 4) perimeters, and (K, 4) False where `scoring.hull` must decide.
    """
    n_objects = len(counts)
    perimeters = np.zeros((n_objects, 4))
    is_decided = np.zeros((n_objects, 4), dtype=np.bool_)
    xs, ys = np.empty(largest_walk), np.empty(largest_walk)
    px, py = np.empty(largest_walk), np.empty(largest_walk)
    begin = 0
    for k in range(n_objects):
        n = counts[k]
        start = begin
        begin += n
        if n > largest_walk:
            continue
        for corner in range(4):
            column_x, column_y = 2 * (corner % 2), 1 + 2 * (corner // 2)
            # Sorted by x, then y, by insertion.
            for i in range(n):
                x, y = boxes[start + i, column_x], boxes[start + i, column_y]
                j = i
                while j > 0 and (xs[j - 1] > x or (xs[j - 1] == x and ys[j - 1] > y)):
                    xs[j], ys[j] = xs[j - 1], ys[j - 1]
                    j -= 1
                xs[j], ys[j] = x, y
            reach = 0.0
            for i in range(n):
                reach = max(reach, abs(xs[i]), abs(ys[i]))
            if not reach < _LARGEST:
                continue
            mean_x, mean_y = 0.0, 0.0
            for i in range(n):
                mean_x += xs[i]
                mean_y += ys[i]
            mean_x /= n
            mean_y /= n
            xx, yy, xy = 0.0, 0.0, 0.0
            for i in range(n):
                dx, dy = xs[i] - mean_x, ys[i] - mean_y
                xx += dx * dx
                yy += dy * dy
                xy += dx * dy
            xx, yy, xy = xx / n, yy / n, xy / n
            largest = (xx + yy + math.sqrt((xx - yy) * (xx - yy) + 4 * xy * xy)) / 2
            if not largest > 0:
                continue
            smallest = (xx * yy - xy * xy) / largest
            width = plain_width * reach
            if not (smallest > 2 * plain_ratio * largest and smallest > 2 * width * width):
                continue
            has_twins = False
            for i in range(1, n):
                gap = xs[i] - xs[i - 1]
                if not gap > 0:
                    gap = abs(ys[i] - ys[i - 1])
                if 0 < gap < twin_distance * reach:
                    has_twins = True
            if has_twins:
                continue
            total = 0.0
            for side in range(2):
                # The upper chain is the lower one of the set turned by half a circle.
                size = 0
                for step in range(n):
                    if side:
                        x, y = -xs[n - 1 - step], -ys[n - 1 - step]
                    else:
                        x, y = xs[step], ys[step]
                    while size >= 2:
                        below_x, below_y = px[size - 2], py[size - 2]
                        turn = (px[size - 1] - below_x) * (y - below_y) - (
                            py[size - 1] - below_y
                        ) * (x - below_x)
                        if turn > 0:
                            break
                        size -= 1
                    px[size], py[size] = x, y
                    size += 1
                half = 0.0
                for i in range(1, size):
                    dx, dy = px[i] - px[i - 1], py[i] - py[i - 1]
                    half += math.sqrt(dx * dx + dy * dy)
                total += half
            perimeters[k, corner] = total
            is_decided[k, corner] = True
    return perimeters, is_decided
