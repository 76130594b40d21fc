"""Suites: would these images notice a worse detector, and by how much more than those."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from scoring.curtailed_rows import CurtailedRows, beside
from scoring.curtailment import KILLED, OPEN, SURVIVED
from scoring.errors import DataError
from scoring.intervals import Interval, interval_of_difference, interval_over_images
from scoring.kill_rules import KILL_RULES, KillRule, killing_images
from scoring.rows import COLUMNS, GHOST_COLUMNS, MATCH_COLUMNS, MISS_COLUMNS
from scoring.rules import DEEPLUQ, Rules
from scoring.tags import tag_order

__all__ = [
    "KILL_RULES",
    "UA_MS_COLUMNS",
    "Interval",
    "KillRule",
    "SuiteScores",
    "collect",
    "interval_over_images",
    "kill_share_difference",
]

UA_MS_COLUMNS = tuple(
    column
    for group in (MATCH_COLUMNS, MISS_COLUMNS, GHOST_COLUMNS)
    for column in group
    if column.endswith("_diff")
)
"""The 15 uncertainty-aware scores."""

_COUNTS = [COLUMNS.index(column) for column in COLUMNS if column.endswith("_count")]


@dataclass(frozen=True, slots=True, eq=False)
class SuiteScores:
    """All rows of one model on one suite.

    Args:
        model: The model's folder name.
        suite: The suite's name.
        stems: I images.
        mutants: M pairs of operator and tag.
        values: (I, M, 37) in the order of `COLUMNS`; a row of NaN where the mutant crashed on the
            image, which is no kill and is counted.
        is_equivalent: (M,) True where a mutant does what the original does, which counts for no
            score; None means that none is.
        curtailed: What stands behind the rows if passes were curtailed: these hold the counts of
            settled kinds and nothing else. None means that all T passes were run.

    Raises:
        DataError: The shape does not fit, or a side is empty.
    """

    model: str
    suite: str
    stems: tuple[str, ...]
    mutants: tuple[tuple[str, str], ...]
    values: npt.NDArray[np.float64]
    is_equivalent: npt.NDArray[np.bool_] | None = None
    curtailed: CurtailedRows | None = None

    def __post_init__(self) -> None:
        expected = (len(self.stems), len(self.mutants), len(COLUMNS))
        if self.values.shape != expected or 0 in expected:
            raise DataError(
                f"suite '{self.suite}' of '{self.model}': expected at least one image and mutant "
                f"and values of shape {expected}, got {self.values.shape}"
            )

    @property
    def has_row(self) -> npt.NDArray[np.bool_]:
        """(I, M) False where a mutant crashed on an image."""
        there = ~np.isnan(self.values[:, :, _COUNTS]).all(axis=2)
        if self.curtailed is not None:
            there |= self.curtailed.n_run < self.curtailed.passes
        return np.asarray(there)

    @property
    def n_crashed(self) -> int:
        """Pairs of image and mutant that have no scores because the mutant crashed."""
        return int((~self.has_row).sum())

    def column(self, name: str) -> npt.NDArray[np.float64]:
        """Return (I, M) one column of all rows."""
        return np.asarray(self.values[:, :, COLUMNS.index(name)], dtype=np.float64)

    def verdicts(self, kind: str, rule: KillRule, rules: Rules = DEEPLUQ) -> npt.NDArray[np.int8]:
        """Return (I, M) what each row says of a kind: KILLED, SURVIVED, or OPEN.

        A verdict is open only where passes were curtailed before it was settled.

        Args:
            kind: miss, ghost or miss_ghost.
            rule: `any`: at least one pass changed; `significant`: p value below alpha; `holm`:
                the same after correction for the number of images.
            rules: Holds alpha.
        """
        counts, p_values = (
            self.column(f"[img_level] iskill_{kind}_{number}") for number in ("count", "p_value")
        )
        if self.curtailed is not None:
            return self.curtailed.verdicts(counts, rule)
        killed = killing_images(counts, p_values, rule, rules.alpha)
        return np.where(killed, KILLED, SURVIVED).astype(np.int8)

    def killed(self, kind: str, rule: KillRule, rules: Rules = DEEPLUQ) -> npt.NDArray[np.bool_]:
        """Return (I, M) True where an image is known to kill a mutant; arguments of `verdicts`."""
        return np.asarray(self.verdicts(kind, rule, rules) == KILLED)

    def is_open(self, kind: str, rule: KillRule, rules: Rules = DEEPLUQ) -> npt.NDArray[np.bool_]:
        """Return (M,) True where a mutant may be killed or not; arguments of `verdicts`.

        No image is known to kill it, and some image was left before it had settled.
        """
        found = self.verdicts(kind, rule, rules)
        return np.asarray((found == OPEN).any(axis=0) & ~(found == KILLED).any(axis=0))

    @property
    def is_counted(self) -> npt.NDArray[np.bool_]:
        """(M,) False where a mutant is equivalent."""
        if self.is_equivalent is None:
            return np.ones(len(self.mutants), dtype=bool)
        return np.asarray(~self.is_equivalent)

    def image_score(self, kind: str, rule: KillRule, rules: Rules = DEEPLUQ) -> float:
        """Return Img-MS: the share of mutants that at least one image kills.

        Equivalent mutants are left out; NaN if all are, or if one is not settled.
        """
        if self.is_open(kind, rule, rules)[self.is_counted].any():
            return float("nan")
        killed = self.killed(kind, rule, rules)[:, self.is_counted]
        return float(killed.any(axis=0).mean()) if killed.shape[1] else float("nan")

    def kill_share_per_image(
        self, kind: str, rule: KillRule, rules: Rules = DEEPLUQ
    ) -> npt.NDArray[np.float64]:
        """Return (I,) the share of mutants that each image kills.

        NaN if all are equivalent, or where one is not settled on the image.
        """
        found = self.verdicts(kind, rule, rules)[:, self.is_counted]
        if not found.shape[1]:
            return np.full(len(found), np.nan)
        shares = (found == KILLED).mean(axis=1)
        return np.where((found == OPEN).any(axis=1), np.nan, shares)

    def kill_share(self, kind: str, rule: KillRule, rules: Rules = DEEPLUQ) -> Interval:
        """Return the share of image x mutant pairs that are kills, with its interval.

        Img-MS saturates at 1 on most suites; this share still tells them apart. Fewer than 4
        images are too few for an interval.
        """
        return interval_over_images(self._shares(kind, rule, rules))

    def _shares(self, kind: str, rule: KillRule, rules: Rules) -> npt.NDArray[np.float64]:
        """Return the kill shares of the images on which not every mutant crashed."""
        has_any = self.has_row[:, self.is_counted].any(axis=1) | ~self.is_counted.any()
        return self.kill_share_per_image(kind, rule, rules)[has_any]

    def mildest_kill(self, kind: str, rule: KillRule, rules: Rules = DEEPLUQ) -> str | None:
        """Return the smallest rate at which a mutant is killed, as its tag writes it.

        None if no mutant is, or if one is not settled.
        """
        if self.is_open(kind, rule, rules).any():
            return None
        killed = np.flatnonzero(self.killed(kind, rule, rules).any(axis=0))
        rates = [self.mutants[k][1].split("_")[0] for k in killed]
        return min(rates, key=tag_order, default=None)

    def mean(self, name: str) -> float:
        """Return the mean of a column: over images, then over mutants; NaN is skipped.

        Equivalent mutants are left out.
        """
        column = self.column(name)[:, self.is_counted]
        known = ~np.isnan(column)
        totals = np.where(known, column, 0).sum(axis=0)
        numbers = known.sum(axis=0)
        if not numbers.any():
            return float("nan")
        return float((totals[numbers > 0] / numbers[numbers > 0]).mean())

    def strongest_uncertainty(self) -> tuple[str, float]:
        """Return the largest of the 15 uncertainty-aware scores: its column and its mean."""
        means = {name: self.mean(name) for name in UA_MS_COLUMNS}
        known = {name: mean for name, mean in means.items() if not np.isnan(mean)}
        if not known:
            return UA_MS_COLUMNS[0], float("nan")
        best = max(known, key=lambda name: known[name])
        return best, known[best]

    def is_rate(self, score: str) -> bool:
        """Return whether an uncertainty-aware score is nothing but the rate of its group.

        So it is where no measure of uncertainty differs from 0: r / (1 + 0) of misses and ghosts
        is r, | 0 - (0 + 1 - r) | of matches is 1 - r.

        Args:
            score: One of the 15.

        Source: scoring.md, section 3.
        """
        group = score[1:].partition("]")[0]
        rates = self.column(f"[{group}] {group}_rate")
        expected = 1 - rates if group == "match" else rates
        return np.allclose(self.column(score), expected, rtol=0, atol=1e-12, equal_nan=True)


def kill_share_difference(
    stronger: SuiteScores,
    weaker: SuiteScores,
    kind: str = "miss_ghost",
    rule: KillRule = "significant",
    rules: Rules = DEEPLUQ,
) -> Interval:
    """Return how much larger one suite's kill share is, with its interval.

    The images of the two suites are resampled independently; fewer than 4 in either are too few
    for an interval.
    """
    first, second = (suite._shares(kind, rule, rules) for suite in (stronger, weaker))
    return interval_of_difference(first, second)


def collect(model: str, suite: str, sweeps: Sequence[SuiteScores]) -> SuiteScores:
    """Return the rows of several operators or models on one suite, side by side.

    Raises:
        DataError: They were run on different images, or to different rules of curtailed passes.
    """
    stems = sweeps[0].stems
    for sweep in sweeps[1:]:
        if sweep.stems != stems:
            differing = sorted(set(stems) ^ set(sweep.stems))
            found = f"only some have {differing[:5]}" if differing else "their order differs"
            raise DataError(
                f"suite '{suite}' of '{model}': expected the same images for every operator; "
                f"{found}"
            )
    return SuiteScores(
        model,
        suite,
        stems,
        tuple(mutant for sweep in sweeps for mutant in sweep.mutants),
        np.concatenate([sweep.values for sweep in sweeps], axis=1),
        ~np.concatenate([sweep.is_counted for sweep in sweeps]),
        beside([sweep.curtailed for sweep in sweeps], f"suite '{suite}' of '{model}'"),
    )
