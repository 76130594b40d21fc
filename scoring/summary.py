"""Summaries: one row per suite, and the sentence that says which suite is stronger."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan
from typing import Any

import pandas as pd

from scoring.errors import DataError
from scoring.intervals import Interval
from scoring.rules import DEEPLUQ, Rules
from scoring.suites import KILL_RULES, KillRule, SuiteScores, collect, kill_share_difference

VERDICT_KIND = "miss_ghost"
"""A kill counts here whether it shows as a miss or as a ghost."""


def summarise(
    suites: Sequence[SuiteScores],
    rules: Rules = DEEPLUQ,
    strict: Sequence[SuiteScores] = (),
) -> pd.DataFrame:
    """Return one row per model and suite.

    A kill is a miss or a ghost; `kill_share_miss_*` and `kill_share_ghost_*` count either alone.
    All kill rules are given: `any` counts one changed pass, `significant` asks for a p value below
    alpha, `holm` corrects that for the number of images. The objects' miss-or-ghost ratio, the
    overlap score and the strongest of the 15 uncertainty-aware scores are means over images, then
    over mutants; `strongest_ua_ms_is_rate` says that the latter holds no uncertainty.

    Args:
        suites: Rows of each model and suite.
        rules: Holds alpha.
        strict: The same suites as `strict` judges them, whose Img-MS and kill share (by `holm`)
            then stand in two more columns.
    """
    table = pd.DataFrame([_summary_row(suite, rules) for suite in suites])
    if strict:
        table["img_ms_strict"] = [s.image_score(VERDICT_KIND, "holm", rules) for s in strict]
        shares = [s.kill_share_per_image(VERDICT_KIND, "holm", rules).mean() for s in strict]
        table["kill_share_strict"] = shares
    return table


def _summary_row(suite: SuiteScores, rules: Rules) -> dict[str, Any]:
    row: dict[str, Any] = {
        "model": suite.model,
        "suite": suite.suite,
        "images": len(suite.stems),
        "mutants": len(suite.mutants),
        "equivalent": int((~suite.is_counted).sum()),
        "crashed": suite.n_crashed,
    }
    for rule in KILL_RULES:
        share = suite.kill_share(VERDICT_KIND, rule, rules)
        row[f"img_ms_{rule}"] = suite.image_score(VERDICT_KIND, rule, rules)
        row[f"kill_share_{rule}"] = share.value
        row[f"kill_share_{rule}_low"] = share.low
        row[f"kill_share_{rule}_high"] = share.high
        row[f"mildest_rate_{rule}"] = suite.mildest_kill(VERDICT_KIND, rule, rules)
        for kind in ("miss", "ghost"):
            row[f"kill_share_{kind}_{rule}"] = suite.kill_share(kind, rule, rules).value
    name, value = suite.strongest_uncertainty()
    row["obj_ms"] = suite.mean(f"[obj_level] kill_rate_{VERDICT_KIND}_mean")
    row["ms_iou"] = suite.mean("[match] iou_mean")
    row["strongest_ua_ms"] = name
    row["strongest_ua_ms_value"] = value
    row["strongest_ua_ms_is_rate"] = value > 0 and suite.is_rate(name)
    return row


def join_models(suites: Sequence[SuiteScores]) -> list[SuiteScores]:
    """Return one `SuiteScores` per suite with the mutants of all models side by side.

    A suite is left out that not all models ran, or on different images, or that only some ran with
    curtailed passes or by other rules of it.
    """
    joined = []
    models = {suite.model for suite in suites}
    for name in dict.fromkeys(suite.suite for suite in suites):
        parts = [suite for suite in suites if suite.suite == name]
        curtailments = {part.curtailed and part.curtailed.how for part in parts}
        is_of_all = {part.model for part in parts} == models
        is_same = all(part.stems == parts[0].stems for part in parts)
        if is_of_all and is_same and len(curtailments) == 1:
            joined.append(collect(" and ".join(part.model for part in parts), name, parts))
    return joined


def verdict_rule(rules: Rules, suites: Sequence[SuiteScores] = ()) -> KillRule:
    """Return the kill rule by which suites are ranked: that of curtailed passes, if any were."""
    curtailed = next((suite.curtailed for suite in suites if suite.curtailed is not None), None)
    if curtailed is not None:
        return curtailed.rule
    return "holm" if rules.kill == "holm" else "significant"


def rankings(suites: Sequence[SuiteScores], rules: Rules = DEEPLUQ) -> list[list[SuiteScores]]:
    """Return suites that can be compared, that with the largest kill share first.

    Suites that all models ran, on the same images, are one ranking. Where there is none there is
    one ranking of each model: shares under the mutants of different models say nothing beside each
    other. Suites that kill alike keep their order, and one whose share is not settled comes last.

    Args:
        suites: Rows of each model and suite.
        rules: Holds alpha and the kill rule.
    """
    rule = verdict_rule(rules, suites)

    def order(suite: SuiteScores) -> float:
        share = suite.kill_share(VERDICT_KIND, rule, rules).value
        return -1.0 if isnan(share) else share

    joined = join_models(suites)
    models = dict.fromkeys(suite.model for suite in suites)
    groups = [joined] if joined else [[s for s in suites if s.model == name] for name in models]
    return [sorted(group, key=order, reverse=True) for group in groups]


def rank(suites: Sequence[SuiteScores], rules: Rules = DEEPLUQ) -> list[SuiteScores]:
    """Return the suites of all `rankings`, one ranking behind the other."""
    return [suite for ranking in rankings(suites, rules) for suite in ranking]


def verdict(suites: Sequence[SuiteScores], rules: Rules = DEEPLUQ) -> str:
    """Return in words which suite is stronger, by how much, and how sure that is.

    The strongest suite is compared with the next one by the share of image x mutant pairs that
    are significant kills, over all models; under `strict` those that Holm's correction leaves;
    with curtailed passes, by the rule by which they stopped. One sentence per ranking.

    Args:
        suites: Rows of each model and suite.
        rules: Holds alpha and the kill rule.

    Raises:
        DataError: There is no suite.
    """
    if not suites:
        raise DataError("expected the scores of at least one suite, got none")
    rule = verdict_rule(rules, suites)
    said = [_verdict(ranking, rule, rules) for ranking in rankings(suites, rules)]
    ranked = {suite.suite for suite in rank(suites, rules)}
    others = dict.fromkeys(suite.suite for suite in suites if suite.suite not in ranked)
    if others:
        names = ", ".join(f"'{name}'" for name in others)
        said.append(f"Not compared, for not all models ran on the same images of them: {names}.")
    return " ".join(said)


def _verdict(ranked: Sequence[SuiteScores], rule: KillRule, rules: Rules) -> str:
    best = ranked[0]
    share = best.kill_share(VERDICT_KIND, rule, rules)
    if isnan(share.value):
        return (
            f"On {best.model}, no suite can be called the strongest: kills by miss or ghost are "
            f"not settled on every image, for passes were curtailed; 'uamt suites' shows what is."
        )
    found = (
        f"kills {share.value:.0%} of its image x mutant pairs {HOW[rule]} "
        f"({_interval_text(share, f'{share.low:.0%} to {share.high:.0%}')})"
    )
    name = f"suite '{best.suite}'"
    if len(ranked) == 1:
        return f"On {best.model}, {name} {found}."
    second = ranked[1]
    gap = kill_share_difference(best, second, rule=rule, rules=rules)
    if isnan(gap.value):
        return f"On {best.model}, {name} {found}; the kills of '{second.suite}' are not settled."
    more = f"{100 * gap.value:.1f}".removesuffix(".0")
    points = (
        f"{more} points more than '{second.suite}'" if gap.value else f"as many as '{second.suite}'"
    )
    interval = f"({_interval_text(gap, f'{100 * gap.low:.0f} to {100 * gap.high:.0f}')})"
    if gap.low > 0:
        return f"On {best.model}, {name} is the strongest: it {found}, {points} {interval}."
    no_difference = ", which includes no difference" if gap.has_ends else ""
    return (
        f"On {best.model}, no suite is clearly the strongest: {name} {found}, {points} "
        f"{interval}{no_difference}."
    )


_MOST_NAMED = 4


def kinds_of_kills(suites: Sequence[SuiteScores], rules: Rules = DEEPLUQ) -> str:
    """Return one sentence that says how many pairs show misses and how many show ghosts.

    Of the suites of `verdict`, in its order. Empty where none kills, or a share is not settled.

    Args:
        suites: Rows of each model and suite.
        rules: Holds alpha and the kill rule.
    """
    rule = verdict_rule(rules, suites)
    ranked = rank(suites, rules)
    is_apart = len(rankings(suites, rules)) > 1
    shares = [
        [suite.kill_share(kind, rule, rules).value for kind in ("miss", "ghost")]
        for suite in ranked[:_MOST_NAMED]
    ]
    if any(isnan(share) for both in shares for share in both) or not any(map(any, shares)):
        return ""
    listed = ", ".join(
        f"{miss:.0%} and {ghost:.0%} on '{suite.suite}'{f' of {suite.model}' if is_apart else ''}"
        for suite, (miss, ghost) in zip(ranked, shares, strict=False)
    )
    more = " and so on" if len(ranked) > _MOST_NAMED else ""
    return (
        f"A kill says that something changed, not that it got worse: the original may have been "
        f"wrong. Kill shares by misses alone and by ghosts alone: {listed}{more}."
    )


def _interval_text(share: Interval, ends: str) -> str:
    """Return an interval in words, or why there is none."""
    if share.has_ends:
        return f"95% interval {ends}"
    images = "1 image" if share.n_images == 1 else f"{share.n_images} images"
    return f"{images}: too few for an interval"


HOW: dict[KillRule, str] = {
    "any": "in at least one pass",
    "significant": "significantly",
    "holm": "significantly after Holm's correction",
}
"""How a rule says that an image kills."""
