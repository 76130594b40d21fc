"""The five measures of objects, by the rules: which vectors, which logarithm, which scale."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import xlogy

from scoring import uncertainty
from scoring.hull_area import hull_areas
from scoring.rules import Rules
from scoring.vectors import read_vectors

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]

MEASURES = ("vr", "ie", "mi", "var", "ps")
"""Variation ratio, entropy, mutual information, total variance, prediction surface."""


def measure(
    probs: Floats, boxes: Floats, counts: Counts, area_px2: Floats | None, rules: Rules
) -> Floats:
    """Return the five measures of objects that were seen in these detections.

    Args:
        probs: (N, C) raw class vectors, object by object.
        boxes: (N, 4) x1, y1, x2, y2 in pixels, likewise.
        counts: (K,) detections of each object, at least 1.
        area_px2: (K,) what the box measures are in units of; None where the rules want pixels.
        rules: Which definition each number follows.

    Returns:
        (K, 5) in the order of `MEASURES`; NaN where a number cannot be computed.

    Source: scoring.md, section 2, and section 3, rows 7, 8 and 11 to 13.
    """
    vectors = read_vectors(probs, rules)
    variation = (
        uncertainty.vote_dispersion(vectors.votes, counts, vectors.n_classes)
        if vectors.n_classes
        else np.zeros(len(counts))
    )
    of_mean = entropies(uncertainty.mean_rows(vectors.rows, counts), rules)
    if rules.entropy == "exact":
        information = np.maximum(of_mean - _means(entropies(vectors.rows, rules), counts), 0.0)
    else:
        information = uncertainty.mutual_information(vectors.rows, counts, of_mean=of_mean)
    if vectors.is_broken.any():
        # Entropy and information are NaN by the vector itself; a vote always is a number.
        variation[_sums(vectors.is_broken, counts) > 0] = np.nan
    return np.column_stack(
        [variation, of_mean, information, *_box_measures(boxes, counts, area_px2, rules)]
    )


def measure_repeated(probs: Floats, rules: Rules) -> Floats:
    """Return the measures of single vectors, each as if seen alike in every pass.

    Copies of one vector have neither variation ratio nor box measures; their mutual information is
    what rounding the entropy leaves.

    Args:
        probs: (K, C) raw class vectors.
        rules: Which definition each number follows.

    Source: scoring.md, section 2, "Original side".
    """
    vectors = read_vectors(probs, rules)
    measures = np.zeros((len(probs), 5))
    measures[:, 1] = entropies(vectors.rows, rules)
    if rules.entropy == "rounded":
        information = measures[:, 1] + uncertainty.negative_entropy(vectors.rows)
        measures[:, 2] = np.where(information < 0, 0.0, information)
    measures[vectors.is_broken, :3] = np.nan
    return measures


def entropies(rows: Floats, rules: Rules) -> Floats:
    """Return (N,) the Shannon entropy of normalised class vectors in bits, as the rules want it."""
    return exact_entropy(rows) if rules.entropy == "exact" else uncertainty.entropy(rows)


def exact_entropy(rows: Floats) -> Floats:
    """Return the Shannon entropy of each row in bits, without a guard added and unrounded.

    Args:
        rows: (N, C) normalised class vectors; NaN gives NaN.

    Source: scoring.md, section 3, row 11.

    Example:
        >>> exact_entropy(np.array([[0.5, 0.25, 0.25], [1.0, 0.0, 0.0]])).tolist()
        [1.5, 0.0]
    """
    return np.asarray(-xlogy(rows, rows).sum(axis=1) / np.log(2) + 0.0, dtype=np.float64)


def ghost_entropies(probs: Floats, counts: Counts, rules: Rules) -> Floats:
    """Return (K,) the entropies of each ghost's detections, summed."""
    rows = read_vectors(probs, rules).rows
    if rules.entropy == "exact":
        return _sums(exact_entropy(rows), counts)
    return np.round(-_sums(uncertainty.negative_entropy(rows), counts), 5)


def prediction_area(boxes: Floats, counts: Counts) -> Floats:
    """Return PS as an area: the hulls of the four corners' positions, added up.

    Args:
        boxes: (N, 4) x1, y1, x2, y2 in pixels, object by object.
        counts: (K,) boxes of each object.

    Returns:
        (K,) square pixels; NaN where an object has fewer than 3 boxes.

    Source: scoring.md, section 3, row 7.

    Example:
        >>> xy = np.array([[0, 0], [4, 0], [4, 3], [0, 3]])
        >>> prediction_area(np.hstack([xy, xy + 10]).astype(float), np.array([4]))
        array([48.])
    """
    surface = np.full(len(counts), np.nan)
    many = counts > 2
    if many.any():
        kept = boxes[np.repeat(many, counts)]
        corners = np.concatenate([kept[:, list(corner)] for corner in uncertainty.CORNERS])
        surface[many] = hull_areas(corners, np.tile(counts[many], 4)).reshape(4, -1).sum(axis=0)
    return surface


def _box_measures(
    boxes: Floats, counts: Counts, area_px2: Floats | None, rules: Rules
) -> tuple[Floats, Floats]:
    """Return total variance and prediction surface."""
    variance = uncertainty.total_variance(boxes, counts)
    if rules.surface == "area":
        surface = prediction_area(boxes, counts)
    else:
        surface = uncertainty.prediction_surface(boxes, counts)
    if area_px2 is None:
        return variance, surface
    unit = np.where(area_px2 > 0, area_px2, np.nan)
    return np.where(counts > 1, variance, np.nan) / unit, surface / unit


def _sums(values: npt.NDArray[np.generic], counts: Counts) -> Floats:
    if not len(counts):
        return np.empty(0)
    starts = np.cumsum(counts) - counts
    return np.asarray(np.add.reduceat(values.astype(np.float64), starts), dtype=np.float64)


def _means(values: Floats, counts: Counts) -> Floats:
    return _sums(values, counts) / counts
