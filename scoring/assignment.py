"""Assignment: the matches of all mutants and passes of an image at once.

The definition is the assignment of scipy, pass by pass (`scoring.matching.match_passes`). Most of
its answers are plain to see, because boxes that belong together overlap much and others little.
Only the passes whose answer is not plain are solved.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

from scoring.matching import Matched
from scoring.overlaps import is_ordinary
from scoring.pairing import best_of_allowed
from scoring.passes import Passes
from scoring.together import Pairs, Together

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

_MARGIN = 1e-6
"""A pair must be plain by more than the rounding of a solver can hide: in an assignment of n rows
that is n**3 units in the last place at the very most."""
_LARGEST_PASS = 1000
"""Detections of a pass, up to which the margin holds."""


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
    table = Together.of(original, mutants)
    pairs = table.pairs
    is_plain, is_open = _plain_pairs(
        pairs, table.row_of, len(original) * len(mutants), len(table.mutant_of), iou_threshold
    )
    if is_open.any():
        block = table.block_of[pairs.mutant_rows]
        unsolved = np.zeros(table.counts.size, dtype=bool)
        unsolved[block[is_open]] = True
        of_unsolved = np.flatnonzero(unsolved[block])
        is_plain[of_unsolved] = False
        for chosen in _solved(of_unsolved, block, pairs, original, table.counts):
            is_plain[chosen] = pairs.overlap[chosen] > iou_threshold
    kept = np.flatnonzero(is_plain)
    return table.matched(kept[table.has_one_label(kept)])


def match_allowed_together(
    original: Passes, mutants: Sequence[Passes], iou_threshold: float
) -> list[Matched]:
    """Return the matches, misses and ghosts of every pass of each mutant by `strict`.

    Args:
        original: The original's T passes.
        mutants: The T passes of each of M mutants, at least one; `can_match_together`.
        iou_threshold: A pair is allowed only above it, strictly.

    Returns:
        As `scoring.matching.match_passes` of each mutant, bit for bit.

    Source: scoring.md, section 3, row 1.
    """
    table = Together.of(original, mutants)
    allowed = np.flatnonzero(table.pairs.overlap > iou_threshold)
    allowed = allowed[table.has_one_label(allowed)]
    allowed = allowed[np.argsort(table.row_of[allowed], kind="stable")]
    kept = best_of_allowed(
        table.row_of[allowed],
        table.pairs.mutant_rows[allowed],
        table.pairs.overlap[allowed],
        np.tile(original.counts, len(mutants)),
        table.counts.reshape(-1),
    )
    return table.matched(allowed[kept])


def _plain_pairs(
    pairs: Pairs, row_of: Rows, n_rows: int, n_columns: int, iou_threshold: float
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
    of_unsolved: Rows, block: Rows, pairs: Pairs, original: Passes, counts: Rows
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
