"""Objects: matches, misses and ghosts of all passes, gathered into one value per object.

Each table holds the objects of many mutants of one image, so that the uncertainty measures run
once over all of them. `squashed` values are before they become differences, as the reference's
per-object tables hold them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse.csgraph import connected_components

from scoring import uncertainty
from scoring.matching import pairwise_iou
from scoring.passes import Passes
from scoring.tracks import Tracks

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]

MEASURES = ("vr", "ie", "mi", "var", "ps")
"""Variation ratio, entropy, mutual information, total variance, prediction surface."""


@dataclass(frozen=True, slots=True, eq=False)
class ObjectTable:
    """Objects of one kind, of M mutants of an image, in the order in which they were first seen.

    Args:
        mutant: (K,) number of the mutant that each object belongs to.
        labels: (K,) class of the first detection of each object.
        rate: (K,) occurrences / T; two detections of one pass can make it exceed 1.
        original: (K, 5) squashed measures of the original side, x / (x + 1); misses and matches.
        mutated: (K, 5) squashed and rate-weighted measures, r * x / (x + 1) + 1 - r.
        difference: (K, 5) what the mutation score is made of.
        iou: (K,) rate times the mean overlap of the pairs; matches only, else 0.
    """

    mutant: Rows
    labels: npt.NDArray[Any]
    rate: Floats
    original: Floats
    mutated: Floats
    difference: Floats
    iou: Floats

    def __len__(self) -> int:
        return len(self.rate)


def squash(value: Floats) -> Floats:
    """Return x / (x + 1), which maps 0..infinity to 0..1."""
    return value / (value + 1)


def rate_weighted(rate: Floats, value: Floats) -> Floats:
    """Return r * x / (x + 1) + (1 - r) for rates (K,) and measures (K, 5)."""
    return rate[:, None] * squash(value) + (1 - rate)[:, None]


def object_keys(original: Passes) -> Rows:
    """Return (N,) which object each original detection is: its box rounded to 4 decimals.

    The label is no part of the key.
    """
    if not len(original):
        return np.empty(0, np.int64)
    _, key = np.unique(np.round(original.detections.boxes, 4), axis=0, return_inverse=True)
    return np.asarray(key.reshape(-1), dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class _Groups:
    """Rows gathered by object; objects in the order of their first row."""

    order: Rows
    """(N,) rows, object by object"""
    counts: Rows
    """(K,) rows of each object"""

    @property
    def first(self) -> Rows:
        """(K,) first row of each object."""
        return np.asarray(self.order[np.cumsum(self.counts) - self.counts], dtype=np.int64)

    @classmethod
    def of(cls, ids: Rows) -> _Groups:
        if not len(ids):
            return cls(np.empty(0, np.int64), np.empty(0, np.int64))
        _, first, inverse = np.unique(ids, return_index=True, return_inverse=True)
        rank = np.empty(len(first), np.int64)
        rank[np.argsort(first)] = np.arange(len(first))
        group = rank[inverse.reshape(-1)]
        return cls(np.argsort(group, kind="stable"), np.bincount(group))


def _measures(rows: Floats, boxes: Floats, counts: Rows) -> Floats:
    """Return (K, 5) the measures of objects seen in these rows."""
    return np.stack(
        [
            uncertainty.variation_ratio(rows, counts),
            uncertainty.entropy(uncertainty.mean_rows(rows, counts)),
            uncertainty.mutual_information(rows, counts),
            uncertainty.total_variance(boxes, counts),
            uncertainty.prediction_surface(boxes, counts),
        ],
        axis=1,
    )


def _reference_measures(rows: Floats) -> Floats:
    """Return (K, 5) the measures of the original: its one vector, as if seen in every pass.

    Copies of one vector have no variation ratio; their mutual information is what rounding the
    entropy leaves.
    """
    measures = np.zeros((len(rows), 5))
    measures[:, 1] = uncertainty.entropy(rows)
    information = measures[:, 1] + uncertainty.negative_entropy(rows)
    measures[:, 2] = np.where(information < 0, 0.0, information)
    return measures


def _mutant_of(rows_per_mutant: Sequence[Rows]) -> Rows:
    return np.repeat(np.arange(len(rows_per_mutant)), [len(rows) for rows in rows_per_mutant])


def match_objects(tracks: Sequence[Tracks]) -> ObjectTable:
    """Return the matched objects of several mutants of one image.

    Args:
        tracks: One per mutant, all of the same original, at least one.

    Source: scoring.md, section 2, "match object".
    """
    original, n_passes = tracks[0].original, tracks[0].n_passes
    matched = [track.matched for track in tracks]
    mutant = _mutant_of([m.original_rows for m in matched])
    original_rows = np.concatenate([m.original_rows for m in matched])
    overlap = np.concatenate([m.iou for m in matched])
    boxes = np.concatenate([t.mutant.detections.boxes[t.matched.mutant_rows] for t in tracks])
    probs = _stacked_probs(tracks, [m.mutant_rows for m in matched], original)

    groups = _Groups.of(mutant * max(1, len(original)) + object_keys(original)[original_rows])
    rate = groups.counts / n_passes
    rows = uncertainty.normalise(probs[groups.order])
    mutated = rate_weighted(rate, _measures(rows, boxes[groups.order], groups.counts))
    reference = original_rows[groups.first]
    base = squash(_reference_measures(uncertainty.normalise(original.detections.probs[reference])))
    summed = np.bincount(
        np.repeat(np.arange(len(rate)), groups.counts), overlap[groups.order], len(rate)
    )
    return ObjectTable(
        mutant=mutant[groups.first],
        labels=original.detections.labels[reference],
        rate=rate,
        original=base,
        mutated=mutated,
        difference=np.abs(base - mutated),
        iou=rate * (summed / groups.counts),
    )


def miss_objects(tracks: Sequence[Tracks]) -> ObjectTable:
    """Return the missed objects of several mutants of one image.

    Args:
        tracks: One per mutant, all of the same original, at least one.

    Source: scoring.md, section 2, "miss object".
    """
    original, n_passes = tracks[0].original, tracks[0].n_passes
    missed = [track.matched.missed_rows for track in tracks]
    mutant, rows = _mutant_of(missed), np.concatenate(missed)
    groups = _Groups.of(mutant * max(1, len(original)) + object_keys(original)[rows])
    rate = groups.counts / n_passes
    reference = rows[groups.first]
    base = _reference_measures(uncertainty.normalise(original.detections.probs[reference]))
    return ObjectTable(
        mutant=mutant[groups.first],
        labels=original.detections.labels[reference],
        rate=rate,
        original=squash(base),
        mutated=rate_weighted(rate, base),
        difference=rate[:, None] / (1 + base),
        iou=np.zeros(len(rate)),
    )


def ghost_objects(tracks: Sequence[Tracks], iou_threshold: float = 0.5) -> ObjectTable:
    """Return the ghost objects of several mutants of one image: clusters of overlapping ghosts.

    Ghosts of all passes are joined where their overlap is at least the threshold, labels ignored;
    an object is a connected component.

    Args:
        tracks: One per mutant, all of the same original, at least one.
        iou_threshold: Least overlap, inclusive.

    Source: scoring.md, section 2, "ghost object".
    """
    n_passes = tracks[0].n_passes
    ghosts = [track.matched.ghost_rows for track in tracks]
    mutant = _mutant_of(ghosts)
    per_mutant = [t.mutant.detections.boxes[t.matched.ghost_rows] for t in tracks]
    boxes = np.concatenate(per_mutant)
    probs = _stacked_probs(tracks, ghosts, tracks[0].original)
    labels = np.concatenate([t.mutant.detections.labels[t.matched.ghost_rows] for t in tracks])

    offsets = np.cumsum([0, *(len(b) for b in per_mutant)])
    components = [clusters(b, iou_threshold) + o for b, o in zip(per_mutant, offsets, strict=False)]
    groups = _Groups.of(np.concatenate(components))
    rate = groups.counts / n_passes
    rows = uncertainty.normalise(probs[groups.order])
    measures = _measures(rows, boxes[groups.order], groups.counts)
    if len(rate):
        # The sum over the detections, not the entropy of their mean.
        summed = np.add.reduceat(
            uncertainty.negative_entropy(rows), np.cumsum(groups.counts) - groups.counts
        )
        measures[:, 1] = np.round(-summed, 5)
    return ObjectTable(
        mutant=mutant[groups.first],
        labels=labels[groups.first],
        rate=rate,
        original=np.zeros_like(measures),
        mutated=rate_weighted(rate, measures),
        difference=rate[:, None] / (1 + measures),
        iou=np.zeros(len(rate)),
    )


def clusters(boxes: Floats, iou_threshold: float = 0.5) -> Rows:
    """Return (N,) the component of each box in the graph whose edges are overlaps.

    Args:
        boxes: (N, 4) x1, y1, x2, y2 in pixels.
        iou_threshold: An edge joins two boxes iff 1 - IoU <= 1 - threshold.

    Example:
        >>> chain = np.array([[0.0, 0, 4, 1], [1, 0, 5, 1], [2, 0, 6, 1], [9, 9, 10, 10]])
        >>> clusters(chain).tolist()
        [0, 0, 0, 1]
    """
    if not len(boxes):
        return np.empty(0, np.int64)
    edges = 1 - pairwise_iou(boxes, boxes) <= 1 - iou_threshold
    return np.asarray(connected_components(edges)[1], dtype=np.int64)


def _stacked_probs(tracks: Sequence[Tracks], rows: Sequence[Rows], original: Passes) -> Floats:
    """Return the class vectors of these rows of every mutant, one mutant after the other."""
    parts = [
        track.mutant.detections.probs[chosen]
        for track, chosen in zip(tracks, rows, strict=True)
        if len(chosen)
    ]
    return np.concatenate(parts) if parts else np.empty((0, original.detections.n_classes))
