"""States: what became of every mutant of a suite, and where rules disagree about it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from scoring.aggregates import MUTANT_COLUMN, mutant_id
from scoring.kill_rules import KILL_RULES, KillRule
from scoring.results import ModelResults
from scoring.suite_kills import SuiteKills
from scoring.summary import VERDICT_KIND
from scoring.tables import STEM_COLUMN

STATES_NAME = "ua_ms_states.csv"
COUNTS_NAME = "ua_ms_state_counts.csv"

STATES = ("trivial", "killed", "disputed", "survived", "equivalent", "crashed", "open")
"""Killed by every image; by some; by one changed pass only, which the rule of the verdict does not
count; by none; the same as the original; without any row; not settled by curtailed passes."""


def mutant_states(
    model: ModelResults,
    kills: Sequence[SuiteKills],
    rule: KillRule,
    strict: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Return a model's table `ua_ms_states.csv`: one row per suite and mutant.

    Columns: the suite, the mutant, its state, whether each kill rule calls it killed (empty where
    open), what `strict` says, whether the rules disagree, and whether `strict` disagrees with the
    published rule `any`. A kill is a miss or a ghost.

    Args:
        model: Names the equivalent mutants.
        kills: Kills of each suite, in the order of the rows.
        rule: Kill rule behind the state.
        strict: As `scoring.judgement.strict_table` returns it; None where nobody knows.

    Source: scoring.md, section 3, rows 16 to 18, and section 4, number 1.
    """
    by_strict = {} if strict is None else _by_mutant(strict)
    rows = []
    for suite in kills:
        for mutant in suite.scores.mutants:
            name = mutant_id(mutant)
            said = by_strict.get((suite.scores.suite, name), {})
            decision = suite.decision(mutant, VERDICT_KIND)
            killed = dict(zip(KILL_RULES, decision.is_killed, strict=True))
            known = {verdict for verdict in killed.values() if verdict is not None}
            equivalent = mutant in model.equivalent or bool(said.get("equivalent", False))
            n_killing = decision.n_killing[KILL_RULES.index(rule)]
            if not decision.n_images:
                state = "crashed"
            elif equivalent:
                state = "equivalent"
            elif killed[rule] is None:
                state = "open"
            elif killed[rule]:
                state = "trivial" if n_killing == decision.n_images else "killed"
            else:
                state = "disputed" if killed["any"] else "survived"
            strict_killed = said.get("killed")
            rows.append(
                {STEM_COLUMN: suite.scores.suite, MUTANT_COLUMN: name, "state": state}
                | killed
                | {
                    "strict": strict_killed,
                    "rules_differ": len(known) > 1,
                    "strict_differs": not equivalent
                    and strict_killed is not None
                    and killed["any"] is not None
                    and strict_killed != killed["any"],
                }
            )
    return pd.DataFrame(rows)


def _by_mutant(strict: pd.DataFrame) -> dict[tuple[str, str], dict[str, Any]]:
    return {
        (str(row[STEM_COLUMN]), str(row[MUTANT_COLUMN])): {
            "killed": bool(row["killed"]),
            "equivalent": bool(row["equivalent"]),
        }
        for row in strict.to_dict("records")
    }


def state_counts(models: Sequence[tuple[str, str, pd.DataFrame]]) -> pd.DataFrame:
    """Return the table `ua_ms_state_counts.csv`: mutants by state, one row per model and suite.

    The last row adds up all others; it names neither model nor suite.

    Args:
        models: Case study, model and its `mutant_states`.
    """
    rows = []
    for case_study, model, states in models:
        for suite, of_suite in states.groupby(STEM_COLUMN, sort=False):
            rows.append(
                {"case_study": case_study, "model": model, STEM_COLUMN: suite}
                | {"mutants": len(of_suite)}
                | {state: int((of_suite["state"] == state).sum()) for state in STATES}
                | {name: int(of_suite[name].sum()) for name in ("rules_differ", "strict_differs")}
            )
    table = pd.DataFrame(rows)
    total = {"case_study": "", "model": "", STEM_COLUMN: ""}
    numbers = [column for column in table.columns if column not in total]
    table.loc[len(table)] = total | table[numbers].sum().to_dict()
    return table.astype(dict.fromkeys(numbers, int))
