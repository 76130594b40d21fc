"""Assignment: the matches of `deepluq` of all mutants and passes of an image at once.

The definition is the assignment of scipy, pass by pass (`scoring.matching.match_passes`). Most
of its answers are plain to see, because boxes that belong together overlap much and others little.
Only the passes whose answer is not plain are solved.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

from scoring.matching import Matched
from scoring.overlaps import is_ordinary, overlap_of_pairs, overlapping_pairs
from scoring.passes import Passes

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

_MARGIN = 1e-6
"""A pair must be plain by more than the rounding of a solver can hide: in an assignment of n rows
that is n**3 units in the last place at the very most."""
_LARGEST_PASS = 1000
"""Detections of a pass, up to which the margin holds."""


class _Pairs(NamedTuple):
    """Pairs of an original and a mutant detection of one pass that overlap."""

    original_rows: Rows
    """(P,) rows of the original's table"""
    mutant_rows: Rows
    """(P,) rows of the table of all mutants, one after the other"""
    overlap: Floats
    """(P,) above 0"""


def can_match_together(original: Passes, mutants: Sequence[Passes]) -> bool:
    """Return whether the conditions of `match_together` hold: equal T, ordinary boxes, not many."""
    sides = (original, *mutants)
    return bool(mutants) and all(
        side.n_passes == original.n_passes
        and is_ordinary(side.detections.boxes)
        and side.counts.max(initial=0) <= _LARGEST_PASS
        for side in sides
    )


def match_together(
    original: Passes, mutants: Sequence[Passes], iou_threshold: float
) -> list[Matched]:
    """Return the matches, misses and ghosts of every pass of each mutant.

    Args:
        original: The original's T passes.
        mutants: The T passes of each of M mutants, at least one; `can_match_together`.
        iou_threshold: A pair matches only above it, strictly.

    Returns:
        As `scoring.matching.match_passes` of each mutant, bit for bit.

    Source: scoring.md, section 2, "Sets of repetition t".

    A couple is a pair above the threshold that overlaps more than any other pair of its two boxes.
    Its overlap is split into a share of each of its boxes, at least what the box overlaps any box
    that is in no couple; a box of no couple has share 0. If each pair that is no couple but holds
    a box of one overlaps by less than the sum of its two shares, every best assignment holds all
    couples. For let an assignment lack some. Couples and assigned pairs that differ form paths and
    cycles in which they alternate. In one that holds a couple, each assigned pair holds a box of a
    couple, and no box is in two of them: together they overlap by less than all shares, which is
    what the couples overlap, and the couples in their place are better. (Boxes left over pair
    anyhow, at no loss.) A pair above the threshold is then kept iff it is a couple, provided that
    each holds a box of one. Passes where a condition fails, or holds by less than a margin, are
    solved.
    """
    n_original, n_mutants, n_passes = len(original), len(mutants), original.n_passes
    counts = np.stack([mutant.counts for mutant in mutants])
    boxes = np.concatenate([mutant.detections.boxes for mutant in mutants])
    mutant_of = np.repeat(np.arange(n_mutants), counts.sum(axis=1))
    pass_of = np.repeat(np.tile(np.arange(n_passes), n_mutants), counts.reshape(-1))
    pairs = _overlapping(original, boxes, pass_of)
    row_of = (mutant_of * n_original)[pairs.mutant_rows] + pairs.original_rows

    is_plain, is_open = _plain_pairs(
        pairs, row_of, n_original * n_mutants, len(boxes), iou_threshold
    )
    if is_open.any():
        block = (mutant_of * n_passes + pass_of)[pairs.mutant_rows]
        unsolved = np.zeros(n_mutants * n_passes, dtype=bool)
        unsolved[block[is_open]] = True
        of_unsolved = np.flatnonzero(unsolved[block])
        is_plain[of_unsolved] = False
        for chosen in _solved(of_unsolved, block, pairs, original, counts):
            is_plain[chosen] = pairs.overlap[chosen] > iou_threshold

    kept = np.flatnonzero(is_plain)
    labels = _joined([mutant.detections.labels for mutant in mutants])
    same = original.detections.labels[pairs.original_rows[kept]] == labels[pairs.mutant_rows[kept]]
    kept = kept[same.astype(bool)]
    kept = kept[np.argsort(row_of[kept])]
    is_missed = np.ones(n_mutants * n_original, dtype=bool)
    is_missed[row_of[kept]] = False
    is_ghost = np.ones(len(boxes), dtype=bool)
    is_ghost[pairs.mutant_rows[kept]] = False
    return _split(pairs, kept, mutant_of, is_missed.reshape(n_mutants, -1), is_ghost)


def _overlapping(original: Passes, boxes: Floats, pass_of: Rows) -> _Pairs:
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
    return _Pairs(original_rows, order.take(place), overlap)


def _plain_pairs(
    pairs: _Pairs, row_of: Rows, n_rows: int, n_columns: int, iou_threshold: float
) -> tuple[Flags, Flags]:
    """Return the couples, and the pairs that leave their pass open."""
    strong = np.flatnonzero(pairs.overlap > max(iou_threshold, 2 * _MARGIN))
    overlap = pairs.overlap[strong]
    is_best = np.ones(len(strong), dtype=bool)
    sides = ((row_of, n_rows), (pairs.mutant_rows, n_columns))
    for ids, length in sides:
        largest = np.zeros(length)
        np.maximum.at(largest, ids[strong], overlap)
        is_best &= overlap == largest[ids[strong]]
    couples = strong[is_best]
    together = pairs.overlap[couples]
    is_couple, is_open = np.zeros((2, len(row_of)), dtype=bool)
    is_couple[couples] = True
    has_couple = []
    for ids, length in sides:
        of_couples = np.bincount(ids[couples], minlength=length)
        # Two couples of one box overlap alike: the solver's choice.
        is_open[couples[of_couples[ids[couples]] > 1]] = True
        has_couple.append(of_couples[ids] > 0)
    needs = []
    for (ids, length), here, there in zip(sides, has_couple, has_couple[::-1], strict=True):
        largest = np.zeros(length)
        single = np.flatnonzero(here & ~there)
        np.maximum.at(largest, ids[single], pairs.overlap[single])
        needs.append(largest[ids[couples]])
    slack = together - needs[0] - needs[1]
    is_open[couples[slack <= 2 * _MARGIN]] = True
    bound = np.zeros(len(row_of))
    for (ids, length), need in zip(sides, needs, strict=True):
        share = np.zeros(length)
        share[ids[couples]] = need + slack / 2
        bound += share[ids]
    touches = has_couple[0] | has_couple[1]
    is_rival = touches & (pairs.overlap >= bound - _MARGIN) & ~is_couple
    is_loose = ~touches & (pairs.overlap > iou_threshold)
    return is_couple, is_open | is_rival | is_loose


def _solved(
    of_unsolved: Rows, block: Rows, pairs: _Pairs, original: Passes, counts: Rows
) -> Iterator[Rows]:
    """Yield the pairs that scipy assigns in each pass that is not plain."""
    of_unsolved = of_unsolved[np.argsort(block[of_unsolved], kind="stable")]
    numbers = block[of_unsolved]
    mutant_starts = np.cumsum(counts.reshape(-1)) - counts.reshape(-1)
    for some in np.split(of_unsolved, np.flatnonzero(np.diff(numbers)) + 1):
        number = int(block[some[0]])
        t = number % original.n_passes
        rows = pairs.original_rows[some] - original.starts[t]
        columns = pairs.mutant_rows[some] - mutant_starts[number]
        cost = np.ones((int(original.counts[t]), int(counts.reshape(-1)[number])))
        cost[rows, columns] = 1.0 - pairs.overlap[some]
        assigned = np.zeros(cost.shape, dtype=bool)
        assigned[linear_sum_assignment(cost)] = True
        yield some[assigned[rows, columns]]


def _joined(labels: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    if len({column.dtype.kind for column in labels}) > 1:
        labels = [column.astype(object) for column in labels]
    return np.concatenate(labels)


def _split(
    pairs: _Pairs,
    kept: Rows,
    mutant_of: Rows,
    is_missed: Flags,
    is_ghost: Flags,
) -> list[Matched]:
    n_mutants = len(is_missed)
    of_mutant = mutant_of[pairs.mutant_rows[kept]]
    starts = np.searchsorted(mutant_of, np.arange(n_mutants))
    partners = pairs.mutant_rows[kept] - starts[of_mutant]
    mutant_of_miss, missed = np.nonzero(is_missed)
    ghosts = np.flatnonzero(is_ghost)
    columns = (
        (pairs.original_rows[kept], of_mutant),
        (partners, of_mutant),
        (pairs.overlap[kept], of_mutant),
        (missed, mutant_of_miss),
        (ghosts - starts[mutant_of[ghosts]], mutant_of[ghosts]),
    )
    parts = [
        np.split(column, np.searchsorted(of, np.arange(1, n_mutants))) for column, of in columns
    ]
    return [Matched(*one) for one in zip(*parts, strict=True)]
