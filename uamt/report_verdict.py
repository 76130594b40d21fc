"""The verdict of a report: suites in their order, what tells them apart, where rules differ."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from scoring.aggregates import mutant_id
from scoring.kill_rules import KILL_RULES
from scoring.standings import STANDINGS_NAME
from scoring.states import COUNTS_NAME, STATES, STATES_NAME
from uamt.report_numbers import Number, TableFile
from uamt.report_tables import ReportTables
from uamt.report_views import mutant_name

Finding = Literal["unsettled", "alone", "clear", "unclear", "apart"]

Strength = Literal["", "strong", "mild"]

_SHARES = tuple(f"kill_share_{rule}{end}" for rule in KILL_RULES for end in ("", "_low", "_high"))


@dataclass(frozen=True, slots=True, eq=False)
class Standing:
    """One suite, of one model or of all of them.

    Args:
        model: What the page calls the model, or all of them.
        suite: Name of the suite.
        numbers: Columns of `scoring.standings.standings`.
        ua_ms_is_rate: Whether nothing of its strongest UA-MS is uncertainty.
    """

    model: str
    suite: str
    numbers: dict[str, Number]
    ua_ms_is_rate: bool


@dataclass(frozen=True, slots=True, eq=False)
class Disagreement:
    """A mutant about which rules disagree: by rule, `killed`, `survived`, or nothing where open."""

    model: str
    suite: str
    mutant: str
    said: dict[str, str]


@dataclass(frozen=True, slots=True, eq=False)
class ImgMs:
    """Img-MS of suites, by one rule: those that are written out, and what all others have.

    Args:
        column: Of the numbers of a standing.
        named: The suites that are written out; none where all have the same, as it is shown.
        others: What most of them have; None where no two have the same.
        is_settled: Whether curtailed passes leave none of them open.
    """

    column: str
    named: tuple[Standing, ...]
    others: Number | None
    is_settled: bool


@dataclass(frozen=True, slots=True, eq=False)
class Verdict:
    """What the page says first.

    Args:
        finding: No share is settled; there is one suite; the first is clearly ahead, or is not;
            models share no suite, so that each has a ranking of its own.
        strength: What all mutants are too much of to judge suites by: `strong` where every image
            kills each of them, `mild` where none kills any; else nothing.
        ranked: Suites of every ranking, the strongest first.
        rankings: How each ranking ends, and its suites: one over all models, or one of each.
        of_models: Suites of each model; those that are ranked, where there is one model.
        img_ms: By rule: the Img-MS of `of_models`.
        kill_share_ranks: Whether their kill shares do, by the rule of the verdict.
        counts: Mutants by state, over all models and suites.
        disagreements: Mutants about which rules disagree.
        knows_strict: Whether it is known of every model what `strict` says.
    """

    finding: Finding
    strength: Strength
    ranked: tuple[Standing, ...]
    rankings: tuple[tuple[Finding, tuple[Standing, ...]], ...]
    of_models: tuple[Standing, ...]
    img_ms: dict[str, ImgMs]
    kill_share_ranks: bool
    counts: dict[str, Number]
    disagreements: tuple[Disagreement, ...]
    knows_strict: bool


def judge(tables: ReportTables) -> Verdict:
    """Return what the page says first, from the tables."""
    table = tables.table(STANDINGS_NAME)
    standings = [_standing(table, row) for row in range(len(table.frame))]
    ranks = table.frame["rank"]
    ranked = [s for s, is_ranked in zip(standings, ranks.notna(), strict=True) if is_ranked]
    of_models = [
        standing
        for label, model in zip(tables.labels, tables.models, strict=True)
        for suite in model.suites
        for standing in [next(s for s in standings if (s.model, s.suite) == (label, suite))]
    ]
    starts = [place for place, s in enumerate(ranked) if s.numbers["rank"].exact == 1]
    groups = [ranked[a:b] for a, b in pairwise([*starts, len(ranked)])]
    rankings = tuple((_finding(group, tables.rule), tuple(group)) for group in groups)
    counts = tables.table(COUNTS_NAME)
    total = len(counts.frame) - 1
    columns = ("mutants", *STATES, "rules_differ", "strict_differs")
    return Verdict(
        finding=rankings[0][0] if len(rankings) == 1 else "apart",
        strength=_strength(of_models, tables.rule),
        ranked=tuple(ranked),
        rankings=rankings,
        of_models=tuple(of_models),
        img_ms={rule: _img_ms(of_models, f"img_ms_{rule}") for rule in KILL_RULES},
        kill_share_ranks=len({s.numbers[f"kill_share_{tables.rule}"].text for s in of_models}) > 1,
        counts={column: counts.number(total, column, "whole") for column in columns},
        disagreements=tuple(_disagreements(tables)),
        knows_strict=all(tables.strict),
    )


def _standing(table: TableFile, row: int) -> Standing:
    numbers = {name: table.number(row, name, "percent") for name in _SHARES}
    for name, form in (("behind", "tenths"), ("behind_low", "points"), ("behind_high", "points")):
        numbers[name] = table.number(row, name, form)
    for name in ("images", "mutants", "equivalent", "crashed", "rank"):
        numbers[name] = table.number(row, name, "whole")
    for name in (*(f"img_ms_{rule}" for rule in KILL_RULES), "obj_ms", "ms_iou"):
        numbers[name] = table.number(row, name)
    numbers["strongest_ua_ms_value"] = table.number(row, "strongest_ua_ms_value")
    for rule in KILL_RULES:
        numbers[f"mildest_rate_{rule}"] = table.number(row, f"mildest_rate_{rule}", "text")
    numbers["strongest_ua_ms"] = table.number(row, "strongest_ua_ms", "text")
    frame = table.frame
    return Standing(
        str(frame["model"].iloc[row]),
        str(frame["suite"].iloc[row]),
        numbers,
        bool(frame["strongest_ua_ms_is_rate"].iloc[row]),
    )


def _finding(ranked: list[Standing], rule: str) -> Finding:
    if not ranked[0].numbers[f"kill_share_{rule}"].value:
        return "unsettled"
    if len(ranked) == 1:
        return "alone"
    return "clear" if ranked[1].numbers["behind_low"].exact > 0 else "unclear"


def _strength(of_models: list[Standing], rule: str) -> Strength:
    shares = {standing.numbers[f"kill_share_{rule}"].exact for standing in of_models}
    if shares == {1.0}:
        return "strong"
    return "mild" if shares == {0.0} else ""


def _img_ms(of_models: list[Standing], column: str) -> ImgMs:
    numbers = [standing.numbers[column] for standing in of_models]
    texts = [number.text for number in numbers]
    most = max(dict.fromkeys(texts), key=texts.count)
    is_settled = all(number.value for number in numbers)
    if texts.count(most) == 1:
        return ImgMs(column, tuple(of_models), None, is_settled)
    named = (s for s, text in zip(of_models, texts, strict=True) if text != most)
    return ImgMs(column, tuple(named), numbers[texts.index(most)], is_settled)


def _disagreements(tables: ReportTables) -> list[Disagreement]:
    found = []
    for label, model in zip(tables.labels, tables.models, strict=True):
        names = {
            (suite.scores.suite, mutant_id(mutant)): mutant_name(*mutant)
            for suite in model.kills
            for mutant in suite.scores.mutants
        }
        for row in tables.of_model(model, STATES_NAME).frame.to_dict("records"):
            if not row["rules_differ"] and not row["strict_differs"]:
                continue
            said = {
                rule: "" if row[rule] is None else ("killed" if row[rule] else "survived")
                for rule in (*KILL_RULES, "strict")
            }
            suite = row["test_suite"]
            found.append(Disagreement(label, suite, names[suite, row["mutant_id"]], said))
    return found
