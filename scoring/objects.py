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

from scoring.boxes import area_px2
from scoring.identity import OriginalObjects, original_objects, tracked_over_passes
from scoring.measures import MEASURES, ghost_entropies, measure, measure_repeated
from scoring.overlaps import clusters_within
from scoring.passes import Passes
from scoring.rules import DEEPLUQ, Rules
from scoring.tracks import Tracks

__all__ = [
    "MEASURES",
    "ObjectTable",
    "ghost_ids",
    "ghost_objects",
    "match_objects",
    "miss_objects",
    "original_measures",
    "rate_weighted",
    "squash",
]

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class ObjectTable:
    """Objects of one kind, of M mutants of an image, in the order in which they were first seen.

    Args:
        mutant: (K,) number of the mutant that each object belongs to.
        labels: (K,) class of the first detection of each object.
        rate: (K,) occurrences / T, or under `strict` of the passes that contain the object;
            `deepluq` can exceed 1, where one pass holds two detections of an object.
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


def match_objects(
    tracks: Sequence[Tracks], rules: Rules = DEEPLUQ, objects: OriginalObjects | None = None
) -> ObjectTable:
    """Return the matched objects of several mutants of one image.

    Args:
        tracks: One per mutant, all of the same original, at least one.
        rules: Which definition each number follows.
        objects: Those of the original, where the caller has them already.

    Source: scoring.md, section 2, "match object", and section 3, rows 2, 6, 8 to 10.
    """
    original = tracks[0].original
    if objects is None:
        objects = original_objects(original, rules)
    matched = [track.matched for track in tracks]
    mutant = _mutant_of([m.original_rows for m in matched])
    original_rows = np.concatenate([m.original_rows for m in matched])
    overlap = np.concatenate([m.iou for m in matched])
    boxes = np.concatenate([t.mutant.detections.boxes[t.matched.mutant_rows] for t in tracks])
    probs = _stacked_probs(tracks, [m.mutant_rows for m in matched], original)

    groups = _Groups.of(mutant * max(1, len(objects)) + objects.ids[original_rows])
    reference = original_rows[groups.first]
    of_object = objects.ids[reference]
    rate = groups.counts / objects.n_passes[of_object]
    area = _unit_area(original.detections.boxes[objects.first[of_object]], rules)
    order = groups.order
    after = measure(probs[order], boxes[order], groups.counts, area, rules)
    if rules.original_uncertainty == "own_passes":
        rows = original_rows[order]
        before = measure(*_rows_of(original, rows), groups.counts, area, rules)
    else:
        before = measure_repeated(original.detections.probs[reference], rules)
    base, mutated = squash(before), rate_weighted(rate, after)
    compared = squash(after) if rules.difference == "measures" else mutated
    summed = np.bincount(np.repeat(np.arange(len(rate)), groups.counts), overlap[order], len(rate))
    return ObjectTable(
        mutant=mutant[groups.first],
        labels=original.detections.labels[reference],
        rate=rate,
        original=base,
        mutated=mutated,
        difference=np.abs(base - compared),
        iou=rate * (summed / groups.counts),
    )


def miss_objects(
    tracks: Sequence[Tracks], rules: Rules = DEEPLUQ, objects: OriginalObjects | None = None
) -> ObjectTable:
    """Return the missed objects of several mutants of one image.

    Args:
        tracks: One per mutant, all of the same original, at least one.
        rules: Which definition each number follows.
        objects: Those of the original, where the caller has them already.

    Source: scoring.md, section 2, "miss object", and section 3, rows 2, 8 to 10.
    """
    original = tracks[0].original
    if objects is None:
        objects = original_objects(original, rules)
    missed = [track.matched.missed_rows for track in tracks]
    mutant, rows = _mutant_of(missed), np.concatenate(missed)
    groups = _Groups.of(mutant * max(1, len(objects)) + objects.ids[rows])
    reference = rows[groups.first]
    of_object = objects.ids[reference]
    rate = groups.counts / objects.n_passes[of_object]
    if rules.original_uncertainty == "own_passes":
        base = original_measures(original, objects, rules)[of_object]
    else:
        base = measure_repeated(original.detections.probs[reference], rules)
    return ObjectTable(
        mutant=mutant[groups.first],
        labels=original.detections.labels[reference],
        rate=rate,
        original=squash(base),
        mutated=rate_weighted(rate, base),
        difference=rate[:, None] / (1 + base),
        iou=np.zeros(len(rate)),
    )


def original_measures(original: Passes, objects: OriginalObjects, rules: Rules) -> Floats:
    """Return (n, 5) the measures of the original's own objects, unsquashed.

    Args:
        original: The original's T passes.
        objects: Their objects.
        rules: Whether that is of an object's first vector as if repeated, or of all its detections.

    Source: scoring.md, section 2, "Original side", and section 3, row 9.
    """
    found = original.detections
    if rules.original_uncertainty != "own_passes":
        return measure_repeated(found.probs[objects.first], rules)
    area = _unit_area(found.boxes[objects.first], rules)
    order = np.argsort(objects.ids, kind="stable")
    seen = np.bincount(objects.ids, minlength=len(objects))
    return measure(*_rows_of(original, order), seen, area, rules)


def ghost_objects(
    tracks: Sequence[Tracks], iou_threshold: float = 0.5, rules: Rules = DEEPLUQ
) -> ObjectTable:
    """Return the ghost objects of several mutants of one image.

    Under `deepluq` ghosts of all passes are joined where their overlap is at least the threshold,
    labels ignored, and an object is a connected component. Under `strict` they are tracked over
    the passes.

    Args:
        tracks: One per mutant, all of the same original, at least one.
        iou_threshold: Least overlap of a cluster's edge, inclusive.
        rules: Which definition each number follows; tracking takes its threshold.

    Source: scoring.md, section 2, "ghost object", and section 3, rows 3, 4 and 8.
    """
    n_passes = tracks[0].n_passes
    ghosts = [track.matched.ghost_rows for track in tracks]
    mutant = _mutant_of(ghosts)
    boxes = np.concatenate([t.mutant.detections.boxes[t.matched.ghost_rows] for t in tracks])
    probs = _stacked_probs(tracks, ghosts, tracks[0].original)
    labels = np.concatenate([t.mutant.detections.labels[t.matched.ghost_rows] for t in tracks])
    ids = ghost_ids(tracks, rules, iou_threshold)
    groups = _Groups.of(ids)
    rate = groups.counts / n_passes
    area = _unit_area(boxes[groups.first], rules)
    probs, ordered = probs[groups.order], boxes[groups.order]
    measures = measure(probs, ordered, groups.counts, area, rules)
    if rules.ghost_entropy == "sum":
        measures[:, 1] = ghost_entropies(probs, groups.counts, rules)
    return ObjectTable(
        mutant=mutant[groups.first],
        labels=labels[groups.first],
        rate=rate,
        original=np.zeros_like(measures),
        mutated=rate_weighted(rate, measures),
        difference=rate[:, None] / (1 + measures),
        iou=np.zeros(len(rate)),
    )


def ghost_ids(tracks: Sequence[Tracks], rules: Rules = DEEPLUQ, iou_threshold: float = 0.5) -> Rows:
    """Return which object each ghost is, mutant by mutant and pass by pass.

    Args:
        tracks: As `ghost_objects` takes them.
        rules: As `ghost_objects` takes them.
        iou_threshold: As `ghost_objects` takes it.

    Returns:
        (G,) numbers that are equal where ghosts are one object.
    """
    ghosts = [track.matched.ghost_rows for track in tracks]
    per_mutant = [t.mutant.detections.boxes[t.matched.ghost_rows] for t in tracks]
    boxes = np.concatenate(per_mutant)
    if rules.ghost_objects == "clusters":
        return clusters_within(boxes, [len(b) for b in per_mutant], iou_threshold)
    labels = np.concatenate([t.mutant.detections.labels[t.matched.ghost_rows] for t in tracks])
    pass_of_row = np.concatenate([t.mutant.pass_of_row[t.matched.ghost_rows] for t in tracks])
    mutant = _mutant_of(ghosts)
    return tracked_over_passes(boxes, labels, mutant, pass_of_row, rules.iou_threshold)


def _mutant_of(rows_per_mutant: Sequence[Rows]) -> Rows:
    return np.repeat(np.arange(len(rows_per_mutant)), [len(rows) for rows in rows_per_mutant])


def _unit_area(boxes: Floats, rules: Rules) -> Floats | None:
    """Return what box measures are in units of: None, for pixels, or the area of these boxes."""
    return area_px2(boxes) if rules.box_scale == "object_area" else None


def _rows_of(passes: Passes, rows: Rows) -> tuple[Floats, Floats]:
    return passes.detections.probs[rows], passes.detections.boxes[rows]


def _stacked_probs(tracks: Sequence[Tracks], rows: Sequence[Rows], original: Passes) -> Floats:
    """Return the class vectors of these rows of every mutant, one mutant after the other."""
    parts = [
        track.mutant.detections.probs[chosen]
        for track, chosen in zip(tracks, rows, strict=True)
        if len(chosen)
    ]
    return np.concatenate(parts) if parts else np.empty((0, original.detections.n_classes))
