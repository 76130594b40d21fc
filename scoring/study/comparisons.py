"""Comparisons (RQ2): do suites differ, by how much, and which from which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from scoring.aggregates import MEAN_COLUMNS, MutantMeans
from scoring.kill_rules import holm_adjusted
from scoring.ratios import RATIO_COLUMNS
from scoring.rows import COLUMNS
from scoring.suites import SuiteScores

Floats = npt.NDArray[np.float64]
Samples = Mapping[str, Floats]
"""Values of one metric per suite, in the order of the suites."""

MUTANT_CAVEAT = (
    "the same mutants recur in every suite, so the samples of Kruskal-Wallis and Mann-Whitney are "
    "not independent; Friedman's test fits better"
)
POOLED_CAVEAT = (
    "pooled rows are pseudo-replicates: every image stands there once per mutant, so n is not the "
    "number of independent observations and p values are far too small"
)
SUITES_CAVEAT = "the suites were chosen, they are no random sample of suites"
UNCORRECTED_CAVEAT = "pairwise p values are not corrected for the number of pairs (--holm)"

_EFFECTS = ((0.01, "negligible"), (0.06, "small"), (0.14, "medium"), (np.inf, "large"))


@dataclass(frozen=True, slots=True)
class Difference:
    """Whether samples differ, and how much of the variance the suite explains."""

    statistic: float
    p_value: float
    eta_squared: float
    n: int

    @property
    def effect_size(self) -> str:
        """Return negligible, small, medium or large; empty where eta squared is not known."""
        return effect_size(self.eta_squared)


def effect_size(eta_squared: float) -> str:
    """Return the name of an effect: below .01 negligible, .06 small, .14 medium, else large.

    Example:
        >>> [effect_size(eta) for eta in (0.009, 0.01, 0.06, 0.14)]
        ['negligible', 'small', 'medium', 'large']
    """
    if np.isnan(eta_squared):
        return ""
    return next(name for bound, name in _EFFECTS if eta_squared < bound)


def kruskal_wallis(samples: Sequence[Floats]) -> Difference:
    """Return the Kruskal-Wallis test with tie correction, and eta squared.

    Args:
        samples: k >= 2 arrays; NaN is left out.

    Returns:
        H, its p value, eta^2 = max(0, (H - k + 1) / (n - k)) and n. NaN where all values are equal,
        or a sample is empty.

    Source: scoring.md, section 4, number 5.

    Example:
        >>> found = kruskal_wallis([np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0])])
        >>> round(found.statistic, 4), round(found.eta_squared, 4), found.n
        (3.8571, 0.7143, 6)
    """
    from scipy.stats import kruskal

    known = [sample[~np.isnan(sample)] for sample in samples]
    n, k = sum(map(len, known)), len(known)
    if k < 2 or min(map(len, known)) == 0 or _all_equal(known):
        return Difference(np.nan, np.nan, np.nan, n)
    statistic, p_value = kruskal(*known)
    eta_squared = max(0.0, (statistic - k + 1) / (n - k)) if n > k else np.nan
    return Difference(float(statistic), float(p_value), float(eta_squared), n)


def friedman(samples: Sequence[Floats]) -> tuple[float, float, int]:
    """Return Friedman's statistic, its p value and the number of blocks.

    Args:
        samples: At least 3 arrays of one length; position i is the same mutant in all. A mutant
            with a NaN anywhere is left out.

    Returns:
        NaN where there are fewer than 3 samples or 2 blocks, or no block tells samples apart.

    Source: scoring.md, section 4, number 5, caveats.
    """
    from scipy.stats import friedmanchisquare

    stacked = np.stack(samples)
    stacked = stacked[:, ~np.isnan(stacked).any(axis=0)]
    k, blocks = stacked.shape
    if k < 3 or blocks < 2 or bool((stacked == stacked[0]).all()):
        return np.nan, np.nan, blocks
    statistic, p_value = friedmanchisquare(*stacked)
    return float(statistic), float(p_value), blocks


def mann_whitney(first: Floats, second: Floats) -> tuple[float, float, float]:
    """Return U of the first sample, its two-sided p value, and A12.

    The p value is the normal approximation with continuity and tie correction. A12 is the chance
    that a value of the first sample exceeds one of the second, ties counted half.

    Args:
        first: Values; NaN is left out.
        second: Values; NaN is left out.

    Returns:
        NaN where a sample is empty; p is NaN where all values are equal.

    Source: scoring.md, section 4, number 5.

    Example:
        >>> u, _, a12 = mann_whitney(np.array([1.0, 2.0]), np.array([2.0, 3.0]))
        >>> u, a12
        (0.5, 0.125)
    """
    from scipy.stats import mannwhitneyu

    first, second = first[~np.isnan(first)], second[~np.isnan(second)]
    if len(first) == 0 or len(second) == 0:
        return np.nan, np.nan, np.nan
    pairs = len(first) * len(second)
    if _all_equal([first, second]):
        return pairs / 2, np.nan, 0.5
    u, p_value = mannwhitneyu(first, second, alternative="two-sided", method="asymptotic")
    return float(u), float(p_value), float(u) / pairs


def _all_equal(samples: Sequence[Floats]) -> bool:
    return all(bool((sample == samples[0][0]).all()) for sample in samples)


def mutant_samples(suites: Mapping[str, MutantMeans], column: str) -> Samples:
    """Return a metric's value of every mutant, per suite.

    Position i is the same mutant in all suites; NaN where it is equivalent or a suite lacks it.
    """
    number = MEAN_COLUMNS.index(column)
    mutants = dict.fromkeys(mutant for means in suites.values() for mutant in means.mutants)
    position = {mutant: i for i, mutant in enumerate(mutants)}
    samples = {}
    for name, means in suites.items():
        sample = np.full(len(mutants), np.nan)
        places = [position[mutant] for mutant in means.mutants]
        sample[places] = np.where(means.equivalent, np.nan, means.means[:, number])
        samples[name] = sample
    return samples


def row_samples(suites: Sequence[SuiteScores], column: str) -> Samples:
    """Return a metric's value of every image x mutant pair, per suite."""
    number = COLUMNS.index(column)
    return {suite.suite: suite.values[:, :, number].ravel() for suite in suites}


def compare_all(samples_of: Mapping[str, Samples], *, with_friedman: bool = False) -> pd.DataFrame:
    """Return one row per metric: do the suites differ at all.

    Args:
        samples_of: Samples by metric.
        with_friedman: Adds Friedman's test; the samples must then be of the same mutants.
    """
    rows = []
    for metric, samples in samples_of.items():
        found = kruskal_wallis(list(samples.values()))
        row: dict[str, object] = {
            "metric": metric,
            "H": found.statistic,
            "p_value": found.p_value,
            "eta_squared": found.eta_squared,
            "effect_size": found.effect_size,
            "n": found.n,
        }
        if with_friedman:
            row |= dict(
                zip(
                    ("friedman", "friedman_p_value", "friedman_n"),
                    friedman(list(samples.values())),
                    strict=True,
                )
            )
        rows.append(row)
    return pd.DataFrame(rows)


def compare_pairs(samples_of: Mapping[str, Samples], *, holm: bool = False) -> pd.DataFrame:
    """Return one row per metric and pair of suites, both for the first suite.

    Args:
        samples_of: Samples by metric.
        holm: Adds p values corrected by Holm over the pairs of each metric.
    """
    rows = []
    for metric, samples in samples_of.items():
        pairs = list(combinations(samples, 2))
        found = [mann_whitney(samples[one], samples[two]) for one, two in pairs]
        corrected = holm_adjusted(np.array([p_value for _, p_value, _ in found]))
        for (one, two), (u, p_value, a12), p_holm in zip(pairs, found, corrected, strict=True):
            row: dict[str, object] = {"metric": metric, "test_suite_1": one, "test_suite_2": two}
            row |= {"U": u, "p_value": p_value, "A12": a12}
            rows.append(row | ({"p_value_holm": float(p_holm)} if holm else {}))
    return pd.DataFrame(rows)


Level = Literal["mutants", "rows"]


def samples_of_model(
    suites: Sequence[tuple[SuiteScores, MutantMeans]], level: Level
) -> dict[str, Samples]:
    """Return the samples of the 19 scores over a model's suites.

    Args:
        suites: Rows and mutants of each suite.
        level: `mutants`: one value per mutant; `rows`: one per image and mutant, pooled.
    """
    if level == "mutants":
        means = {scores.suite: mutants for scores, mutants in suites}
        return {column: mutant_samples(means, column) for column in RATIO_COLUMNS}
    rows = [scores for scores, _ in suites]
    return {column: row_samples(rows, column) for column in RATIO_COLUMNS}
