"""The five uncertainty measures of objects that were found in several passes.

Every function takes the rows of many objects at once, one object after the other, and `counts`,
the number of rows of each. `None` means that all rows are of one object. More is always worse.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from scoring.hull import CORNERS as CORNERS
from scoring.hull import corner_perimeters

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]

EPSILON = 1e-15
"""Added to a probability before its logarithm."""
_FEW_ROWS = 64


def normalise(probs: Floats) -> Floats:
    """Return each row of class probabilities divided by its sum; NaN or infinite where that is 0.

    Args:
        probs: (N, C) class-probability vectors, softmax or sigmoid.

    Example:
        >>> normalise(np.array([[0.2, 0.6]]))
        array([[0.25, 0.75]])
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(probs / probs.sum(axis=1, keepdims=True), dtype=np.float64)


def negative_entropy(rows: Floats, epsilon: float = EPSILON, base: float = 2) -> Floats:
    """Return e(q) = sum_c q_c log2(q_c + 1e-15) of each row, in bits (not above 0 but for NaN).

    Args:
        rows: (N, C) normalised class vectors.
        epsilon: Added to a probability before its logarithm.
        base: Base of the logarithm.

    Example:
        >>> negative_entropy(np.array([[0.5, 0.5]])).round(9)
        array([-1.])
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        bits = (rows * np.log2(rows + epsilon)).sum(axis=1)
    return np.asarray(bits if base == 2 else bits / math.log2(base), dtype=np.float64)


def entropy(rows: Floats, epsilon: float = EPSILON, base: float = 2) -> Floats:
    """Return H(q) of each row: Shannon entropy in bits, rounded to 5 decimals, not below 0.

    Args:
        rows: (N, C) normalised class vectors.
        epsilon: Added to a probability before its logarithm.
        base: Base of the logarithm.

    Source: scoring.md, section 2.

    Example:
        >>> entropy(np.array([[0.5, 0.25, 0.25], [1.0, 0.0, 0.0]])).tolist()
        [1.5, 0.0]
    """
    return _rounded(negative_entropy(rows, epsilon, base))


def _rounded(negative: Floats) -> Floats:
    rounded = np.round(-negative, 5)
    return np.where(rounded < 0, 0.0, rounded) + 0.0  # no -0.0


def _starts(counts: Counts) -> Counts:
    return np.cumsum(counts) - counts


def _counts(rows: npt.NDArray[np.float64], counts: Counts | None) -> Counts:
    return np.array([len(rows)]) if counts is None else counts


def mean_rows(rows: Floats, counts: Counts | None = None) -> Floats:
    """Return the mean class vector of each object.

    Args:
        rows: (N, C) normalised class vectors, object by object.
        counts: (K,) rows of each object, at least 1.

    Example:
        >>> mean_rows(np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]), np.array([2, 1])).tolist()
        [[0.5, 0.5], [0.5, 0.5]]
    """
    counts = _counts(rows, counts)
    if not len(counts):
        return np.empty((0, rows.shape[1]))
    with np.errstate(invalid="ignore"):
        return np.asarray(_sums_of_rows(rows, counts) / counts[:, None], dtype=np.float64)


def _sums_of_rows(rows: Floats, counts: Counts) -> Floats:
    """Return the sum of each object's rows, whatever other objects there are, to the last bit.

    `np.add.reduceat` is slow where objects have few rows each.
    """
    starts = _starts(counts)
    total = rows[starts]
    is_short = counts <= _FEW_ROWS
    for place in range(1, min(int(counts.max()), _FEW_ROWS)):
        longer = np.flatnonzero(is_short & (counts > place))
        total[longer] += rows[starts[longer] + place]
    for k in np.flatnonzero(~is_short):
        total[k] = rows[starts[k] : starts[k] + counts[k]].sum(axis=0)
    return total


def variation_ratio(rows: Floats, counts: Counts | None = None) -> Floats:
    """Return VR: the share of an object's rows that do not vote for its most frequent class.

    A row votes for its largest entry in single precision, the first of equals; a NaN counts as the
    largest.

    Args:
        rows: (N, C) normalised class vectors, object by object.
        counts: (K,) rows of each object, at least 1.

    Returns:
        (K,) 0 to 1.

    Source: scoring.md, section 2.

    Example:
        >>> votes = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.6, 0.4]])
        >>> variation_ratio(votes)
        array([0.25])
    """
    counts = _counts(rows, counts)
    n_classes = rows.shape[1]
    if not n_classes:
        return np.zeros(len(counts))
    return vote_dispersion(np.argmax(rows.astype(np.float32), axis=1), counts, n_classes)


def vote_dispersion(votes: npt.NDArray[np.int64], counts: Counts, n_classes: int) -> Floats:
    """Return the share of each object's votes that are not for its most frequent class.

    Args:
        votes: (N,) class voted for, 0 to n_classes - 1, object by object.
        counts: (K,) votes of each object, at least 1.
        n_classes: C, at least 1.
    """
    if not len(counts):
        return np.zeros(0)
    cell = np.repeat(np.arange(len(counts)), counts) * n_classes + votes
    of_class = np.bincount(cell, minlength=len(counts) * n_classes).reshape(-1, n_classes)
    return np.asarray(1 - of_class.max(axis=1) / counts, dtype=np.float64)


def mutual_information(
    rows: Floats,
    counts: Counts | None = None,
    *,
    epsilon: float = EPSILON,
    base: float = 2,
    of_mean: Floats | None = None,
) -> Floats:
    """Return MI = H(mean row) - mean entropy of the rows, in bits; a negative value becomes 0.

    Args:
        rows: (N, C) normalised class vectors, object by object.
        counts: (K,) rows of each object, at least 1.
        epsilon: Added to a probability before its logarithm.
        base: Base of the logarithm.
        of_mean: (K,) `entropy` of `mean_rows`, where the caller has it already.

    Returns:
        (K,) NaN where a vector is NaN.

    Source: scoring.md, section 2.

    Example:
        >>> mutual_information(np.array([[1.0, 0.0], [0.0, 1.0]])).round(9)
        array([1.])
    """
    counts = _counts(rows, counts)
    if not len(counts):
        return np.empty(0)
    negative = negative_entropy(rows, epsilon, base)
    mean_negative = np.add.reduceat(negative, _starts(counts)) / counts
    if of_mean is None:
        of_mean = entropy(mean_rows(rows, counts), epsilon, base)
    information = of_mean + mean_negative
    return np.where(information < 0, 0.0, information)


def total_variance(boxes: Floats, counts: Counts | None = None) -> Floats:
    """Return TV: the sample variances of the four coordinates, added up, in square pixels.

    Args:
        boxes: (N, 4) x1, y1, x2, y2 in pixels, object by object.
        counts: (K,) rows of each object.

    Returns:
        (K,) 0 where an object has fewer than 2 boxes.

    Source: scoring.md, section 2.

    Example:
        >>> total_variance(np.array([[0.0, 0, 4, 4], [2, 0, 4, 4]]))
        array([2.])
    """
    counts = _counts(boxes, counts)
    if not len(counts):
        return np.empty(0)
    starts = _starts(counts)
    with np.errstate(invalid="ignore"):
        mean = np.add.reduceat(boxes, starts, axis=0) / counts[:, None]
        squares = (boxes - np.repeat(mean, counts, axis=0)) ** 2
        total = np.add.reduceat(squares, starts, axis=0) / np.maximum(counts - 1, 1)[:, None]
    return np.where(counts > 1, total.sum(axis=1), 0.0)


def prediction_surface(boxes: Floats, counts: Counts | None = None) -> Floats:
    """Return PS: the hull perimeters of the four corners' positions, added up, in pixels.

    A corner whose positions lie on a line adds 0; where Qhull refuses any of the four, as it does
    for almost flat sets, PS is 0.

    Args:
        boxes: (N, 4) x1, y1, x2, y2 in pixels, object by object.
        counts: (K,) rows of each object.

    Returns:
        (K,) 0 where an object has fewer than 3 boxes.

    Source: scoring.md, section 2; the reference reads Qhull's 2-D `area`, which is the perimeter.

    Example:
        >>> xy = np.array([[0, 0], [4, 0], [4, 3], [0, 3]])
        >>> prediction_surface(np.hstack([xy, xy + 10]).astype(float))
        array([56.])
    """
    counts = _counts(boxes, counts)
    surface = np.zeros(len(counts))
    many = counts > 2
    if many.any():
        first, second, third, fourth = corner_perimeters(
            boxes[np.repeat(many, counts)], counts[many]
        ).T
        # NaN where Qhull refuses any of them.
        total = first + second + third + fourth
        surface[many] = np.where(np.isnan(total), 0.0, total)
    return surface
