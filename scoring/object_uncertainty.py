"""Object uncertainty: what the passes of one mutant say of every object of an image, unsquashed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from scoring.boxes import area_px2
from scoring.identity import original_objects
from scoring.measures import ghost_entropies, measure
from scoring.objects import MEASURES, ghost_ids, original_measures
from scoring.rules import DEEPLUQ, Rules
from scoring.tracks import Tracks

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class ObjectUncertainty:
    """The K objects of an image under a mutant: first the original's, then the ghosts.

    Args:
        of_original: (N,) object of each row of the original's passes.
        of_mutant: (M,) object of each row of the mutant's passes: that of its partner, or a ghost.
        n_originals: How many of the objects are the original's.
        n_passes: (K,) passes that `rate` is a share of.
        n_found: (K,) the mutant's detections of each object.
        n_missed: (K,) the original's detections of it without a partner; 0 for a ghost.
        measures: (K, 5) `MEASURES` of the mutant's detections, in bits and pixels as the rules
            say; NaN where there is none.
        original_measures: (n_originals, 5) the same of the original's detections.
    """

    of_original: Rows
    of_mutant: Rows
    n_originals: int
    n_passes: Rows
    n_found: Rows
    n_missed: Rows
    measures: Floats
    original_measures: Floats

    def __len__(self) -> int:
        return len(self.n_passes)

    def is_ghost(self, number: int) -> bool:
        """Return whether an object is none of the original's."""
        return number >= self.n_originals

    def rate(self, number: int) -> float:
        """Return the share of passes in which the mutant finds an object.

        Under `deepluq` it can exceed 1, where one pass holds two detections of an object.
        """
        return float(self.n_found[number] / self.n_passes[number])

    def measure(self, number: int, name: str) -> float:
        """Return one measure of an object by its name in `MEASURES`; NaN if it was never found."""
        return float(self.measures[number, MEASURES.index(name)])

    def original_measure(self, number: int, name: str) -> float:
        """Return one measure of what the original found of an object; NaN of a ghost."""
        if self.is_ghost(number):
            return float("nan")
        return float(self.original_measures[number, MEASURES.index(name)])


def object_uncertainty(tracks: Tracks, rules: Rules = DEEPLUQ) -> ObjectUncertainty:
    """Return every object of an image under one mutant, with the five measures over the passes.

    The measures are those that the scores are made of, before they are squashed to x / (x + 1).

    Args:
        tracks: One image under one mutant.
        rules: Which definition each number follows.

    Source: scoring.md, section 2, "Objects" and "Five measures".

    Example:
        >>> from scoring.detections import Detections
        >>> from scoring.passes import Passes
        >>> from scoring.tracks import track
        >>> one = Detections([[0, 0, 10, 5]], [1], [0.9], [[0.5, 0.5]])
        >>> gone = Detections.empty()
        >>> seen = object_uncertainty(track(Passes.from_list([one, one]),
        ...                                 Passes.from_list([one, gone])))
        >>> seen.rate(0), seen.n_missed.tolist()
        (0.5, [1])
        >>> seen.measure(0, "ie"), seen.original_measure(0, "ie")
        (1.0, 1.0)
    """
    original, mutant, matched = tracks.original, tracks.mutant, tracks.matched
    objects = original_objects(original, rules)
    ghosts, n = matched.ghost_rows, len(objects)
    _, of_ghost = np.unique(ghost_ids([tracks], rules), return_inverse=True)
    of_mutant = np.full(len(mutant), -1, dtype=np.int64)
    of_mutant[matched.mutant_rows] = objects.ids[matched.original_rows]
    of_mutant[ghosts] = n + of_ghost.reshape(-1)
    k = int(max(n, of_mutant.max(initial=-1) + 1))
    n_passes = np.full(k, tracks.n_passes, dtype=np.int64)
    n_passes[:n] = objects.n_passes
    n_found = np.bincount(of_mutant, minlength=k)
    return ObjectUncertainty(
        original_measures=original_measures(original, objects, rules),
        of_original=objects.ids,
        of_mutant=of_mutant,
        n_originals=n,
        n_passes=n_passes,
        n_found=n_found,
        n_missed=np.bincount(objects.ids[matched.missed_rows], minlength=k),
        measures=_measures(tracks, of_mutant, objects.first, n_found, rules),
    )


def _measures(
    tracks: Tracks, of_mutant: Rows, first_of_original: Rows, n_found: Rows, rules: Rules
) -> Floats:
    found = tracks.mutant.detections
    order = np.argsort(of_mutant, kind="stable")
    there = np.flatnonzero(n_found)
    counts = n_found[there]
    probs, boxes = found.probs[order], found.boxes[order]
    first = boxes[np.cumsum(counts) - counts]
    is_original = there < len(first_of_original)
    first[is_original] = tracks.original.detections.boxes[first_of_original[there[is_original]]]
    area = area_px2(first) if rules.box_scale == "object_area" else None
    measures = np.full((len(n_found), len(MEASURES)), np.nan)
    measures[there] = measure(probs, boxes, counts, area, rules)
    if rules.ghost_entropy == "sum" and not is_original.all():
        summed = ghost_entropies(probs, counts, rules)
        measures[there[~is_original], MEASURES.index("ie")] = summed[~is_original]
    return measures
