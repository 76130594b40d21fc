"""Judgement: which kills and equivalent mutants the rules see, and what `strict` would change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from scoring.aggregates import MUTANT_COLUMN, mutant_id
from scoring.kill_rules import KillRule
from scoring.results import ModelResults
from scoring.rules import DEEPLUQ, STRICT, Rules
from scoring.suite_kills import suite_kills
from scoring.suites import SuiteScores
from scoring.summary import VERDICT_KIND, rank
from scoring.tables import STEM_COLUMN

STRICT_NAME = "ua_ms_strict.csv"


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


def strict_remark(
    suites: Sequence[SuiteScores], strict: Sequence[SuiteScores], rules: Rules = DEEPLUQ
) -> str:
    """Return what `strict` would say otherwise, in words; empty if nothing.

    Named are suites whose mutants die by the published rule `any` but not by `strict`, or the
    other way round, and whether the order of suites changes.

    Args:
        suites: As `rules` judge them.
        strict: The same suites as `strict` judges them; empty where it would refuse the passes.
        rules: Those of the first.
    """
    if rules.name == STRICT.name or not strict:
        return ""
    changes, n_changed = [], 0
    for published, corrected in zip(suites, strict, strict=True):
        before = _killed(published, "any", rules)
        after = _killed(corrected, "holm", rules)
        counted = corrected.is_counted
        survive = int((before & ~after & counted).sum())
        die = int((after & ~before & counted).sum())
        equivalent = int((~counted).sum())
        parts = [
            f"rule 'any' kills {survive} that 'strict' does not" if survive else "",
            f"'strict' kills {die} that rule 'any' does not" if die else "",
            f"{equivalent} change{'s' if equivalent == 1 else ''} nothing on any image"
            if equivalent
            else "",
        ]
        if any(parts):
            said = ", ".join(part for part in parts if part)
            changes.append(f"on suite '{published.suite}' of {published.model}, {said}")
            n_changed += survive + die + equivalent
    orders = [
        [(suite.model, suite.suite) for suite in rank(some, by)]
        for some, by in ((suites, rules), (strict, STRICT.with_(alpha=rules.alpha)))
    ]
    is_other_order = orders[0] != orders[1]
    if not changes and not is_other_order:
        return ""
    names = ", ".join(suite for _, suite in orders[1])
    order = (
        f"by kill share the suites then rank {names}"
        if is_other_order
        else "the suites keep their order"
    )
    sizes = [len(suite.mutants) for suite in suites]
    of_each = ""
    if len(sizes) > 1:
        models = " of each model" if len({suite.model for suite in suites}) > 1 else ""
        is_even = len(set(sizes)) == 1
        of_each = f" ({sizes[0]} on each suite{models})" if is_even else " (each on every suite)"
    count = "counts" if n_changed == 1 else "count"
    changed = f"{n_changed} of {sum(sizes)} mutants{of_each} {count} otherwise"
    listed = f": {'; '.join(changes)}" if changes else ""
    return (
        f"By the stricter rule set 'strict' (docs/rules.md), {changed}{listed}"
        f"{f'; {order}' if len(orders[0]) > 1 else ''}."
    )


def strict_table(suites: Sequence[SuiteScores], rules: Rules = DEEPLUQ) -> pd.DataFrame:
    """Return a model's table `ua_ms_strict.csv`: what `strict` says, one row per suite and mutant.

    Columns: the suite, the mutant, whether `strict` calls it killed (by Holm's correction) and
    whether it is equivalent, that is, changes nothing on any image of the model. It needs the
    predictions, so that scoring writes it.

    Args:
        suites: The suites of one model, as `strict` judges them.
        rules: Holds alpha.

    Source: scoring.md, section 3, rows 16 and 18.
    """
    rows = []
    for suite in suites:
        killed, counted = _killed(suite, "holm", rules), suite.is_counted
        for mutant, is_killed, is_counted in zip(suite.mutants, killed, counted, strict=True):
            rows.append(
                {
                    STEM_COLUMN: suite.suite,
                    MUTANT_COLUMN: mutant_id(mutant),
                    "killed": bool(is_killed),
                    "equivalent": not is_counted,
                }
            )
    return pd.DataFrame(rows, columns=[STEM_COLUMN, MUTANT_COLUMN, "killed", "equivalent"])


def _killed(suite: SuiteScores, rule: KillRule, rules: Rules) -> npt.NDArray[np.bool_]:
    """Return (M,) True where some image kills the mutant."""
    return np.asarray(suite.killed(VERDICT_KIND, rule, rules).any(axis=0), dtype=np.bool_)
