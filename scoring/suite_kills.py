"""Kills of a suite: passes, noise floors and p values behind what its images kill."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.special import betainc

from scoring.curtailment import KILLED, OPEN
from scoring.kill_rules import KILL_RULES, KillDecision, decide
from scoring.noise_floor import NoiseFloor, noise_floor, p_values_at
from scoring.results import Mutant, SuiteResults
from scoring.rows import COLUMNS, KINDS
from scoring.rules import DEEPLUQ, Rules
from scoring.suites import SuiteScores

Floats = npt.NDArray[np.float64]

_MOST_PASSES = 1000


def _column(kind: str, number: str) -> int:
    return COLUMNS.index(f"[img_level] iskill_{kind}_{number}")


def passes_behind(counts: Floats, p_values: Floats, null_rate: float = 0.01) -> int | None:
    """Return T, of which tables of other tools say nothing, from the p values that they hold.

    Args:
        counts: Changed passes.
        p_values: P(Bin(T, p0) >= count), of the same shape.
        null_rate: p0.

    Returns:
        The T that gives every p value; None where there is none, or no pass changed.

    Example:
        >>> passes_behind(np.array([0.0, 2.0]), np.array([1.0, 0.0042662002]))
        10
    """
    changed = counts > 0
    pairs = np.unique(np.column_stack([counts[changed], p_values[changed]]), axis=0)
    if not len(pairs):
        return None
    count, p_value = pairs.T
    for n in range(int(count.max()), _MOST_PASSES + 1):
        if np.allclose(betainc(count, n - count + 1, null_rate), p_value, rtol=1e-6, atol=0):
            return n
    return None


@dataclass(frozen=True, slots=True, eq=False)
class SuiteKills:
    """What decides over the kills of a suite.

    Args:
        scores: Rows whose p values are those at the noise floor that holds.
        n_passes: (I, M) T of every image and mutant; -1 where nothing tells.
        is_reliable: (M,) False where the original is not deterministic and no identity mutant sets
            the floor; None where no facts stand beside the tables.
        alpha: Level of the tests.
    """

    scores: SuiteScores
    n_passes: npt.NDArray[np.int64]
    is_reliable: tuple[bool | None, ...]
    alpha: float

    def decision(self, mutant: Mutant, kind: str) -> KillDecision:
        """Return what all kill rules say about one mutant, for one kind of change."""
        m = self.scores.mutants.index(mutant)
        if self.scores.curtailed is not None:
            return self._curtailed_decision(m, kind)
        n_passes = self.n_passes[:, m]
        decision = decide(
            self.scores.values[:, m, _column(kind, "count")],
            self.scores.values[:, m, _column(kind, "p_value")],
            n_passes,
            alpha=self.alpha,
            is_reliable=self.is_reliable[m] is not False,
        )
        return decision if (n_passes >= 0).all() else replace(decision, share_at_all=np.nan)

    def _curtailed_decision(self, m: int, kind: str) -> KillDecision:
        """Return what is settled about one mutant; the rest is None or NaN."""
        found = [self.scores.verdicts(kind, rule)[:, m] for rule in KILL_RULES]
        killing = [int((of_rule == KILLED).sum()) for of_rule in found]
        is_open = [bool((of_rule == OPEN).any()) for of_rule in found]
        first, second, third = (
            True if number else None if may_be else False
            for number, may_be in zip(killing, is_open, strict=True)
        )
        return KillDecision(
            (first, second, third),
            (killing[0], killing[1], killing[2]),
            int(self.scores.has_row[:, m].sum()),
            *(np.nan, np.nan, np.nan),
            self.is_reliable[m] is not False,
        )


def passes_per_row(
    suite: SuiteResults, passes: int | None = None, rules: Rules = DEEPLUQ
) -> npt.NDArray[np.int64]:
    """Return (I, M) T of every image and mutant; -1 where nothing tells.

    Args:
        suite: Rows and facts.
        passes: T where no facts stand beside the tables; None means by `passes_behind`.
        rules: Holds p0.
    """
    scores = suite.scores
    found = np.full(scores.values.shape[:2], -1, dtype=np.int64)
    unknown = [m for m, (operator, _) in enumerate(scores.mutants) if operator not in suite.facts]
    if unknown:
        numbers = [
            scores.values[:, unknown][:, :, [_column(kind, number) for kind in KINDS]]
            for number in ("count", "p_value")
        ]
        told = passes or passes_behind(numbers[0], numbers[1], rules.null_rate)
        if told is not None:
            found[:, unknown] = told
    for m, (operator, tag) in enumerate(scores.mutants):
        if operator in suite.facts:
            facts = suite.facts[operator]
            found[:, m] = [facts.passes_of(tag, stem) for stem in scores.stems]
    return found


def suite_kills(
    suite: SuiteResults, passes: int | None = None, rules: Rules = DEEPLUQ
) -> SuiteKills:
    """Return what decides over the kills of a suite.

    Under rule set `deepluq`, and for tables without facts, p values are those of the rows. Under
    `strict` an original that is not deterministic has its own noise floor.

    Args:
        suite: Rows and facts.
        passes: T where no facts stand beside the tables.
        rules: Holds alpha and the least p0.

    Source: scoring.md, section 3, row 17.
    """
    scores = suite.scores
    n_passes = passes_per_row(suite, passes, rules)
    values = scores.values.copy()
    reliable: list[bool | None] = []
    for m, (operator, _) in enumerate(scores.mutants):
        facts = suite.facts.get(operator)
        if facts is None:
            reliable.append(None)
            continue
        is_reliable = facts.original_is_deterministic
        if not is_reliable and facts.rules != DEEPLUQ.name:
            floors = [_floor(suite, kind, n_passes[:, m], rules) for kind in KINDS]
            is_reliable = all(floor.is_reliable for floor in floors)
            for kind, floor in zip(KINDS, floors, strict=True):
                values[:, m, _column(kind, "p_value")] = p_values_at(
                    values[:, m, _column(kind, "count")], n_passes[:, m], floor.rates
                )
        reliable.append(is_reliable)
    return SuiteKills(replace(scores, values=values), n_passes, tuple(reliable), rules.alpha)


def _floor(
    suite: SuiteResults, kind: str, n_passes: npt.NDArray[np.int64], rules: Rules
) -> NoiseFloor:
    counts = None if suite.identity is None else suite.identity[:, _column(kind, "count")]
    return noise_floor(
        len(suite.scores.stems),
        counts,
        n_passes,
        is_deterministic=False,
        null_rate=rules.null_rate,
    )
