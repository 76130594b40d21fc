"""Equality: mutants that change nothing, and originals that never change."""

from __future__ import annotations

import numpy as np

from scoring.pairing import prepared
from scoring.passes import Passes
from scoring.tracks import Tracks

BOX_TOLERANCE_PX = 1e-3
VALUE_TOLERANCE = 1e-4
"""Largest difference of a score or of an entry of a class vector."""


def is_same(tracks: Tracks) -> bool:
    """Return whether the mutant's passes equal the original's on this image.

    Nothing is missed or ghosted in any pass, boxes agree within 1e-3 px, and scores and class
    vectors within 1e-4. A mutant is equivalent iff this holds on every image of all suites of the
    model.

    Args:
        tracks: Of rules that pair label by label, as `strict` does.

    Source: scoring.md, section 3, row 18.
    """
    pairs = tracks.matched
    if len(pairs.missed_rows) or len(pairs.ghost_rows):
        return False
    original, mutant = tracks.original.detections, tracks.mutant.detections
    o, m = pairs.original_rows, pairs.mutant_rows
    # Without a pair there is nothing to compare, and an empty pass has no length of vectors.
    return not len(o) or bool(
        (np.abs(original.boxes[o] - mutant.boxes[m]) <= BOX_TOLERANCE_PX).all()
        and (np.abs(original.scores[o] - mutant.scores[m]) <= VALUE_TOLERANCE).all()
        and (np.abs(original.probs[o] - mutant.probs[m]) <= VALUE_TOLERANCE).all()
    )


def passes_are_alike(original: Passes) -> bool:
    """Return whether all passes found the same, to the last bit, whatever their order.

    Example:
        >>> from scoring.detections import Detections
        >>> one = Detections([[0, 0, 9, 9]], [1], [0.9], [[0.0, 1.0]])
        >>> passes_are_alike(Passes.from_list([one, one, one]))
        True
        >>> passes_are_alike(Passes.from_list([one, Detections.empty(), one]))
        False
    """
    if len(set(original.counts.tolist())) > 1:
        return False
    found, n_passes = prepared(original).detections, original.n_passes
    if len(found) % n_passes:
        return False
    columns = (found.boxes, found.labels, found.scores, found.probs)
    by_pass = (column.reshape(n_passes, -1) for column in columns)
    return all(bool((column == column[0]).all()) for column in by_pass)
