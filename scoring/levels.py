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
    missed, ghosts = counts[:, :, 1] > 0, counts[:, :, 2] > 0
    changed = np.stack([kind.sum(axis=1) for kind in (missed, ghosts, missed | ghosts)], axis=1)
    table = np.full((counts.shape[1] + 1, 4), np.nan)
    for count in np.unique(changed).tolist():
        test = binomial_test(count, n, rules.null_rate, rules.alpha)
        table[count] = test.p_value, test.cohens_h, test.power, test.count
    return np.asarray(table[changed].reshape(len(counts), 12), dtype=np.float64)


def object_levels(counts: Counts, rules: Rules = DEEPLUQ) -> Floats:
    """Return (M, 6): `object_ratios` of each mutant.

    Args:
        counts: (M, T, 3) matches, misses and ghosts of every pass.
        rules: As in `object_ratios`.
    """
    levels = np.empty((len(counts), 6))
    for number, (part, whole) in enumerate(_ratios(counts, rules)):
        # A row's mean adds in the same order in a table as alone.
        ratio = part / np.maximum(whole, 1)
        levels[:, 2 * number] = ratio.mean(axis=1)
        levels[:, 2 * number + 1] = ratio.std(axis=1)
        for gap in np.flatnonzero((whole == 0).any(axis=1)):
            levels[gap, 2 * number : 2 * number + 2] = _mean_and_std(part[gap], whole[gap])
    return levels


def _ratios(counts: Counts, rules: Rules) -> tuple[tuple[Counts, Counts], ...]:
    """Return numerator and denominator of the miss, ghost and joint ratio of (..., 3) counts."""
    matched, missed, ghosts = np.moveaxis(counts, -1, 0)
    found = matched + ghosts
    return (
        (missed, matched + missed),
        (ghosts, found if rules.ghost_ratio == "of_found" else found + missed),
        (missed + ghosts, found + missed),
    )


def _mean_and_std(part: Counts, whole: Counts) -> list[float]:
    ratio = part[whole > 0] / whole[whole > 0]
    return [float(ratio.mean()), float(ratio.std())] if len(ratio) else [np.nan, np.nan]


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
    return [x for ratio in _ratios(counts, rules) for x in _mean_and_std(*ratio)]
