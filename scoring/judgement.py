"""Judgement: which kills and equivalent mutants the rules see, and what `strict` would change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from scoring.kill_rules import KillRule
from scoring.results import ModelResults
from scoring.rules import DEEPLUQ, STRICT, Rules
from scoring.suite_kills import suite_kills
from scoring.suites import SuiteScores
from scoring.summary import VERDICT_KIND, rank


def judged(model: ModelResults, rules: Rules = DEEPLUQ) -> list[SuiteScores]:
    """Return the suites of a model as the rules judge them.

    Under `strict` p values are those at the noise floor that holds, and equivalent mutants are
    marked. Under `deepluq` the suites are as they were scored.

    Source: scoring.md, section 3, rows 17 and 18.
    """
    suites, equivalent = [], model.equivalent
    for suite in model.suites:
        scores = suite.scores
        if rules.noise_floor == "measured":
            scores = suite_kills(suite, rules=rules).scores
        if rules.equivalence == "compared":
            is_equivalent = [mutant in equivalent for mutant in scores.mutants]
            scores = replace(scores, is_equivalent=np.array(is_equivalent, dtype=bool))
        suites.append(scores)
    return suites


def changed_verdicts(
    suites: Sequence[SuiteScores], strict: Sequence[SuiteScores], rules: Rules = DEEPLUQ
) -> list[str]:
    """Return a sentence for each verdict that `strict` would change; empty if it would change none.

    Suites are named whose mutants die by the published rule `any` but not by `strict`, or the
    other way round, and the order of suites, if it is another one.

    Args:
        suites: As `rules` judge them.
        strict: The same suites as `strict` judges them.
        rules: Those of the first.

    Example:
        >>> changed_verdicts([], [])
        []
    """
    changes = []
    for published, corrected in zip(suites, strict, strict=True):
        before = _killed(published, "any", rules)
        after = _killed(corrected, "holm", rules)
        counted = corrected.is_counted
        survive = int((before & ~after & counted).sum())
        die = int((after & ~before & counted).sum())
        parts = [
            f"{survive} of {len(before)} mutants that 'any' kills survive" if survive else "",
            f"{die} that survive are killed" if die else "",
            f"{int((~counted).sum())} equivalent" if not counted.all() else "",
        ]
        if any(parts):
            said = ", ".join(part for part in parts if part)
            changes.append(f"suite '{published.suite}' of {published.model}: {said}")
    if len(suites) > 1:
        names = [
            [suite.suite for suite in rank(some, by)]
            for some, by in ((suites, rules), (strict, STRICT.with_(alpha=rules.alpha)))
        ]
        if names[0] != names[1]:
            changes.append(f"by kill share the suites rank {', '.join(names[1])}")
    return changes


def strict_remark(
    suites: Sequence[SuiteScores], strict: Sequence[SuiteScores], rules: Rules = DEEPLUQ
) -> str:
    """Return the verdicts that `strict` would change as a sentence; empty if there are none.

    Args:
        suites: As `rules` judge them.
        strict: The same suites as `strict` judges them; empty where it would refuse the passes.
        rules: Those of the first.
    """
    if rules.name == STRICT.name or not strict:
        return ""
    changes = changed_verdicts(suites, strict, rules)
    return f"Rule set strict would say otherwise: {'; '.join(changes)}." if changes else ""


def _killed(suite: SuiteScores, rule: KillRule, rules: Rules) -> npt.NDArray[np.bool_]:
    """Return (M,) True where some image kills the mutant."""
    return np.asarray(suite.killed(VERDICT_KIND, rule, rules).any(axis=0), dtype=np.bool_)
