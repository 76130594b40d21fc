"""Standings: suites beside each other, and how far each stays behind the strongest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from scoring.rules import DEEPLUQ, Rules
from scoring.suites import SuiteScores, kill_share_difference
from scoring.summary import VERDICT_KIND, rank, summarise, verdict_rule

STANDINGS_NAME = "ua_ms_standings.csv"


def standings(suites: Sequence[SuiteScores], rules: Rules = DEEPLUQ) -> pd.DataFrame:
    """Return the rows of `summarise`, and below them those by which suites are ranked.

    Ranked are the suites over all models, as `scoring.summary.verdict` does; those of one model
    are their own ranking. Columns beside the summary's: `rank`, 1 for the largest kill share and
    empty in rows that are not ranked; `rule`, by which kills count there; `behind`, how much
    larger the kill share of the first is, with its 95 % bootstrap interval over images (empty
    where a suite has fewer than 4).

    Args:
        suites: Rows of each model and suite, as the rules judge them.
        rules: Holds alpha and the kill rule.

    Raises:
        DataError: There is no suite.

    Source: scoring.md, section 4, number 1.
    """
    ranked = rank(suites, rules)
    of_models = [suite for suite in suites if not _is_among(suite, ranked)]
    # Models that ran on different images have no common ranking: each suite stands for itself.
    table = summarise([*of_models, *ranked], rules)
    rule = verdict_rule(rules, suites)
    first = ranked[0]
    numbers: dict[str, list[float]] = {"behind": [], "behind_low": [], "behind_high": []}
    for suite in ranked:
        gap = kill_share_difference(first, suite, VERDICT_KIND, rule, rules)
        for name, value in zip(numbers, (gap.value, gap.low, gap.high), strict=True):
            numbers[name].append(np.nan if suite is first else value)
    unranked = len(of_models)
    table["rank"] = pd.array([None] * unranked + list(range(1, len(ranked) + 1)), dtype="Int64")
    table["rule"] = [None] * unranked + [rule] * len(ranked)
    for name, values in numbers.items():
        table[name] = [np.nan] * unranked + values
    return table


def _is_among(suite: SuiteScores, ranked: Sequence[SuiteScores]) -> bool:
    return any((suite.model, suite.suite) == (other.model, other.suite) for other in ranked)
