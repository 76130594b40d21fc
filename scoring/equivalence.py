"""Equivalent mutants: those that change nothing, and what is left of a score without them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

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


def image_mutation_score(
    is_killed: npt.NDArray[np.bool_], is_equivalent: npt.NDArray[np.bool_]
) -> float:
    """Return Img-MS: killed mutants over those that are not equivalent; NaN if all are.

    Args:
        is_killed: (M,) mutants that at least one image kills.
        is_equivalent: (M,) mutants that change nothing; all False under rule set `deepluq`.

    Source: scoring.md, section 4, point 2.

    Example:
        >>> image_mutation_score(np.array([True, False, False]), np.array([False, False, True]))
        0.5
    """
    counted = ~np.asarray(is_equivalent, dtype=bool)
    if not counted.any():
        return float("nan")
    return float(np.asarray(is_killed, dtype=bool)[counted].mean())
