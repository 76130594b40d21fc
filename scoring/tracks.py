"""Tracks: what became of every original object in each pass of one mutant, and the ghosts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from scoring.assignment import can_match_together, match_allowed_together, match_together
from scoring.errors import DataError
from scoring.matching import Matched, match_passes
from scoring.overlaps import in_portions
from scoring.pairing import prepared
from scoring.passes import Passes
from scoring.rules import DEEPLUQ, Rules


@dataclass(frozen=True, slots=True, eq=False)
class Tracks:
    """One image under one mutant; every analysis is a pure function of it.

    Args:
        original: The original's T passes.
        mutant: The mutant's T passes.
        matched: The matches, misses and ghosts of every pass, as rows of these two tables.
    """

    original: Passes
    mutant: Passes
    matched: Matched

    @property
    def n_passes(self) -> int:
        """T, the number of passes."""
        return self.original.n_passes

    def counts(self) -> npt.NDArray[np.int64]:
        """Return (T, 3): how many matches, misses and ghosts each pass has."""
        of_original, of_mutant = self.original.pass_of_row, self.mutant.pass_of_row
        per_kind = (
            of_original[self.matched.original_rows],
            of_original[self.matched.missed_rows],
            of_mutant[self.matched.ghost_rows],
        )
        return np.stack([np.bincount(p, minlength=self.n_passes) for p in per_kind], axis=1)


def track(original: Passes, mutant: Passes, rules: Rules = DEEPLUQ) -> Tracks:
    """Return what became of the original's detections under the mutant.

    Raises:
        DataError: The numbers of passes or the lengths of the class vectors differ.

    Example:
        >>> from scoring.detections import Detections
        >>> one = Detections([[0, 0, 10, 5]], [1], [0.9], [[0.1, 0.9]])
        >>> gone = Detections.empty()
        >>> track(Passes.from_list([one, one]), Passes.from_list([one, gone])).counts().tolist()
        [[1, 0, 0], [0, 1, 0]]
    """
    return track_all(original, [mutant], rules)[0]


def track_all(original: Passes, mutants: Sequence[Passes], rules: Rules = DEEPLUQ) -> list[Tracks]:
    """Return what became of the original's detections under each of several mutants.

    Raises:
        DataError: The numbers of passes or the lengths of the class vectors differ.
    """
    for mutant in mutants:
        lengths = [side.detections.n_classes for side in (original, mutant) if len(side)]
        if len(set(lengths)) > 1:
            raise DataError(
                f"expected class vectors of one length, got {lengths[0]} in the original "
                f"and {lengths[1]} in the mutant"
            )
    is_strict = rules.matching == "allowed_pairs"
    if is_strict:
        original, mutants = prepared(original), [prepared(mutant) for mutant in mutants]
    if can_match_together(original, mutants):
        match = match_allowed_together if is_strict else match_together
        pairs = np.array([(original.counts * mutant.counts).sum() for mutant in mutants])
        matched = [
            one
            for start, stop in in_portions(pairs)
            for one in match(original, mutants[start:stop], rules.iou_threshold)
        ]
    else:
        matched = [match_passes(original, mutant, rules) for mutant in mutants]
    return [Tracks(original, *one) for one in zip(mutants, matched, strict=True)]
