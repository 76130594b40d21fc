"""Standings: suites beside each other, and how far each stays behind the strongest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from scoring.rules import DEEPLUQ, Rules
from scoring.suites import SuiteScores, kill_share_difference
from scoring.summary import VERDICT_KIND, rankings, summarise, verdict_rule

STANDINGS_NAME = "ua_ms_standings.csv"


def standings(suites: Sequence[SuiteScores], rules: Rules = DEEPLUQ) -> pd.DataFrame:
    """Return the rows of `summarise`, and below them those by which suites are ranked.

    Ranked are the suites over all models, as `scoring.summary.rankings` does, or those of each
    model by themselves where models share none. Columns beside the summary's: `rank`, 1 for the
    largest kill share of a ranking and empty in rows that are not ranked; `rule`, by which
    kills count there; `behind`, how much larger the kill share of the first of the ranking is,
    with its 95 % bootstrap interval over images (empty where a suite has fewer than 4).

    Args:
        suites: Rows of each model and suite, as the rules judge them.
        rules: Holds alpha and the kill rule.

    Raises:
        DataError: There is no suite.

    Source: scoring.md, section 4, number 1.
    """
    groups = rankings(suites, rules)
    ranked = [suite for group in groups for suite in group]
    of_models = [suite for suite in suites if not _is_among(suite, ranked)]
    table = summarise([*of_models, *ranked], rules)
    rule = verdict_rule(rules, suites)
    unranked = len(of_models)
    ranks: list[int | None] = [None] * unranked
    numbers = {name: [np.nan] * unranked for name in ("behind", "behind_low", "behind_high")}
    for group in groups:
        first = group[0]
        for place, suite in enumerate(group, 1):
            gap = kill_share_difference(first, suite, VERDICT_KIND, rule, rules)
            ranks.append(place)
            for name, value in zip(numbers, (gap.value, gap.low, gap.high), strict=True):
                numbers[name].append(np.nan if suite is first else value)
    table["rank"] = pd.array(ranks, dtype="Int64")
    table["rule"] = [None] * unranked + [rule] * len(ranked)
    for name, values in numbers.items():
        table[name] = values
    return table


def _is_among(suite: SuiteScores, ranked: Sequence[SuiteScores]) -> bool:
    return any((suite.model, suite.suite) == (other.model, other.suite) for other in ranked)
