"""Together: the overlaps of an image under all mutants in one table, and its matches back again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from scoring.matching import Matched
from scoring.overlaps import overlap_of_pairs, overlapping_pairs
from scoring.passes import Passes

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


class Pairs(NamedTuple):
    """Pairs of an original and a mutant detection of one pass that overlap."""

    original_rows: Rows
    """(P,) rows of the original's table"""
    mutant_rows: Rows
    """(P,) rows of the table of all mutants, one after the other"""
    overlap: Floats
    """(P,) above 0"""


@dataclass(frozen=True, slots=True, eq=False)
class Together:
    """The detections of M mutants beside their original.

    Args:
        original: The original's T passes.
        counts: (M, T) detections of each mutant's passes.
        labels: (N,) labels of all mutants' detections, one mutant after the other.
        mutant_of: (N,) the mutant of each of them.
        block_of: (N,) mutant x T + pass of each of them.
        pairs: Those that overlap at all, by pass and original row.
        row_of: (P,) mutant x number of originals + original row of each pair.
    """

    original: Passes
    counts: Rows
    labels: npt.NDArray[Any]
    mutant_of: Rows
    block_of: Rows
    pairs: Pairs
    row_of: Rows

    @classmethod
    def of(cls, original: Passes, mutants: Sequence[Passes]) -> Self:
        """Return the table of an image.

        Args:
            original: The original's T passes, with ordinary boxes (`scoring.overlaps`).
            mutants: The T passes of each of M mutants, likewise, at least one.
        """
        n_mutants, n_passes = len(mutants), original.n_passes
        counts = np.stack([mutant.counts for mutant in mutants])
        boxes = np.concatenate([mutant.detections.boxes for mutant in mutants])
        mutant_of = np.repeat(np.arange(n_mutants), counts.sum(axis=1))
        pass_of = np.repeat(np.tile(np.arange(n_passes), n_mutants), counts.reshape(-1))
        pairs = _overlapping(original, boxes, pass_of)
        return cls(
            original,
            counts,
            _joined([mutant.detections.labels for mutant in mutants]),
            mutant_of,
            mutant_of * n_passes + pass_of,
            pairs,
            (mutant_of * len(original))[pairs.mutant_rows] + pairs.original_rows,
        )

    def has_one_label(self, chosen: Rows) -> Flags:
        """Return True for each of these pairs whose two labels are equal."""
        originals = self.original.detections.labels[self.pairs.original_rows[chosen]]
        same = originals == self.labels[self.pairs.mutant_rows[chosen]]
        return np.asarray(same.astype(bool), dtype=np.bool_)

    def matched(self, kept: Rows) -> list[Matched]:
        """Return the sets of each mutant, if these pairs are its matches."""
        kept = kept[np.argsort(self.row_of[kept])]
        n_mutants, n_original = len(self.counts), len(self.original)
        is_missed = np.ones(n_mutants * n_original, dtype=bool)
        is_missed[self.row_of[kept]] = False
        is_ghost = np.ones(len(self.mutant_of), dtype=bool)
        is_ghost[self.pairs.mutant_rows[kept]] = False
        of_mutant = self.mutant_of[self.pairs.mutant_rows[kept]]
        starts = np.searchsorted(self.mutant_of, np.arange(n_mutants))
        mutant_of_miss, missed = np.nonzero(is_missed.reshape(n_mutants, -1))
        ghosts = np.flatnonzero(is_ghost)
        columns = (
            (self.pairs.original_rows[kept], of_mutant),
            (self.pairs.mutant_rows[kept] - starts[of_mutant], of_mutant),
            (self.pairs.overlap[kept], of_mutant),
            (missed, mutant_of_miss),
            (ghosts - starts[self.mutant_of[ghosts]], self.mutant_of[ghosts]),
        )
        parts = [
            np.split(column, np.searchsorted(of, np.arange(1, n_mutants))) for column, of in columns
        ]
        return [Matched(*one) for one in zip(*parts, strict=True)]


def _overlapping(original: Passes, boxes: Floats, pass_of: Rows) -> Pairs:
    """Return the overlapping pairs of all mutants, by pass and original row."""
    order = np.argsort(pass_of, kind="stable")
    columns = np.ascontiguousarray(boxes[order].T)
    ends = np.cumsum(np.bincount(pass_of, minlength=original.n_passes))
    original_columns = np.ascontiguousarray(original.detections.boxes.T)
    starts = original.starts
    rows, places, begin = [], [], 0
    for t, end in enumerate(ends):
        row, partner = overlapping_pairs(
            original_columns[:, starts[t] : starts[t + 1]], columns[:, begin:end]
        )
        rows.append(row + starts[t])
        places.append(partner + begin)
        begin = end
    original_rows, place = np.concatenate(rows), np.concatenate(places)
    overlap = overlap_of_pairs(original_columns, columns, original_rows, place)
    return Pairs(original_rows, order.take(place), overlap)


def _joined(labels: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Return the labels of all mutants, one mutant after the other."""
    if len({column.dtype.kind for column in labels}) > 1:
        labels = [column.astype(object) for column in labels]
    return np.concatenate(labels)
