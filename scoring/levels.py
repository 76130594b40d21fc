"""Levels: the numbers that need only how many matches, misses and ghosts each pass has."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from scoring.kill import binomial_test
from scoring.rules import DEEPLUQ, Rules
from scoring.tracks import Tracks

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]


def pass_counts(tracks: Sequence[Tracks]) -> Counts:
    """Return (M, T, 3): the matches, misses and ghosts of every pass under each mutant.

    Args:
        tracks: One per mutant, all of the same original, at least one.
    """
    n_passes = tracks[0].n_passes
    of_original = tracks[0].original.pass_of_row
    places = []
    for kind in range(3):
        for number, track in enumerate(tracks):
            rows = (
                track.matched.original_rows,
                track.matched.missed_rows,
                track.matched.ghost_rows,
            )
            of = track.mutant.pass_of_row if kind == 2 else of_original
            places.append(of[rows[kind]] + n_passes * (number + len(tracks) * kind))
    counts = np.bincount(np.concatenate(places), minlength=3 * len(tracks) * n_passes)
    return np.ascontiguousarray(counts.reshape(3, len(tracks), n_passes).transpose(1, 2, 0))


def changed_passes(counts: npt.NDArray[np.int64]) -> tuple[int, int, int]:
    """Return how many passes have a miss, a ghost, or either.

    Args:
        counts: (T, 3) matches, misses and ghosts of every pass.

    Example:
        >>> changed_passes(np.array([[2, 0, 0], [1, 1, 0], [1, 1, 1]]))
        (2, 1, 2)
    """
    _, missed, ghosts = counts.T
    either = (missed > 0) | (ghosts > 0)
    return int((missed > 0).sum()), int((ghosts > 0).sum()), int(either.sum())


def image_levels(counts: Counts, rules: Rules = DEEPLUQ) -> Floats:
    """Return (M, 12): p value, Cohen's h, power and count for miss, ghost and either.

    Args:
        counts: (M, T, 3) matches, misses and ghosts of every pass.
        rules: Trials, noise floor and alpha of the test.

    Source: scoring.md, section 2, "Image level".
    """
    n = rules.binomial_n or counts.shape[1]
    rows = []
    for of_mutant in counts:
        tests = [
            binomial_test(changed, n, rules.null_rate, rules.alpha)
            for changed in changed_passes(of_mutant)
        ]
        rows.append(
            [x for test in tests for x in (test.p_value, test.cohens_h, test.power, test.count)]
        )
    return np.array(rows, dtype=np.float64).reshape(len(counts), 12)


def object_levels(counts: Counts, rules: Rules = DEEPLUQ) -> Floats:
    """Return (M, 6): `object_ratios` of each mutant.

    Args:
        counts: (M, T, 3) matches, misses and ghosts of every pass.
        rules: As in `object_ratios`.
    """
    return np.array([object_ratios(of_mutant, rules) for of_mutant in counts]).reshape(-1, 6)


def object_ratios(counts: npt.NDArray[np.int64], rules: Rules = DEEPLUQ) -> list[float]:
    """Return mean and population std over the passes of the miss, ghost and joint ratio.

    A pass whose ratio has denominator 0 is NaN and is skipped; without any other the result is NaN.

    Args:
        counts: (T, 3) matches, misses and ghosts of every pass.
        rules: Ghosts are a share of all three (`deepluq`), or of what the mutant found (`strict`).

    Source: scoring.md, section 2, "Object level", and section 3, row 5.

    Example:
        >>> object_ratios(np.array([[1, 1, 0], [2, 0, 2]]))
        [0.25, 0.25, 0.25, 0.25, 0.5, 0.0]
    """
    matched, missed, ghosts = counts.T
    found = matched + ghosts
    values: list[float] = []
    for part, whole in (
        (missed, matched + missed),
        (ghosts, found if rules.ghost_ratio == "of_found" else found + missed),
        (missed + ghosts, matched + missed + ghosts),
    ):
        ratio = part[whole > 0] / whole[whole > 0]
        values += [float(ratio.mean()), float(ratio.std())] if len(ratio) else [np.nan, np.nan]
    return values
