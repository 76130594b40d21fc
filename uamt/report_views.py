"""Views of a report: the mutants of one model on one suite as a grid, and the images' power."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from scoring.aggregates import MEAN_COLUMNS, mutant_id
from scoring.curtailment import KILLED, OPEN
from scoring.kill_counts import COUNT_COLUMN, IMAGES_NAME
from scoring.results import OPERATOR_ORDER
from scoring.states import STATES_NAME
from scoring.suites import SuiteScores
from scoring.summary import VERDICT_KIND
from scoring.tags import tag_order
from uamt.report_cases import Case, Gallery
from uamt.report_numbers import Number
from uamt.report_tables import ReportTables

SCORE_COLUMNS = tuple(column for column in MEAN_COLUMNS if not column.endswith("_std"))

OPERATOR_NAMES = {"mc_dropout": "MC-Dropout", "mc_dropblock": "MC-DropBlock"}

STATE_WORDS = {
    "trivial": "killed by all",
    "killed": "killed",
    "disputed": "any only",
    "survived": "survived",
    "equivalent": "equivalent",
    "crashed": "crashed",
    "open": "open",
}

_FIRST, _LAST = 12, 6
"""Images of a ranking that are shown with thumbnails."""
_MOST_LISTED = 200
_MOST_NAMED = 6


@dataclass(frozen=True, slots=True)
class Shown:
    """What `uamt show` reads.

    Args:
        experiment: Holds the predictions.
        images: Where the images of a suite are now; those of all others under the empty name.
        label_names: File of what labels are called; None means as the detectors told.
    """

    experiment: Path
    images: Mapping[str, Path]
    label_names: Path | None

    def options(self, suite: str) -> list[str]:
        """Return options of `uamt show` that find images of a suite, and name their classes."""
        folder = self.images.get(suite, self.images.get(""))
        return [
            *([] if folder is None else ["--images", str(folder)]),
            *([] if self.label_names is None else ["--label-names", str(self.label_names)]),
        ]


@dataclass(frozen=True, slots=True, eq=False)
class Mutant:
    """One mutant in a grid.

    Args:
        id: Names its entry on the page.
        number: Its place among the suite's mutants.
        name: In words.
        operator: As folders name it.
        tag: Likewise.
        state: One of `scoring.states.STATES`.
        killing: Images that kill it.
        images: Images with a row.
        shade: How strongly the cell is coloured, 0 to 1.
        names: The first images that kill it; for a survivor none.
        has_more: Whether there are more.
        case: Id of its first picture; empty without one.
    """

    id: str
    number: int
    name: str
    operator: str
    tag: str
    state: str
    killing: Number
    images: Number
    shade: float
    names: tuple[str, ...]
    has_more: bool
    case: str


@dataclass(frozen=True, slots=True, eq=False)
class RankedImage:
    """One image in the ranking of a view.

    Args:
        stem: Its name.
        killed: Mutants that it kills.
        mutants: Mutants with a row.
        raster: Id of its pixels; empty without.
        case: Id of its first picture; empty without one.
    """

    stem: str
    killed: Number
    mutants: Number
    raster: str
    case: str


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """One model on one suite.

    Args:
        id: Names it on the page.
        model: What the page calls the model.
        suite: Name of the suite.
        columns: Headings of the grid: an operator and a block size.
        rows: A rate, and the mutant of each column; None where there is none.
        mutants: All of them.
        strongest: The images that kill most.
        weakest: Those that kill least; none where all are among the strongest.
        rest: Those between, without thumbnails.
        n_more: Images that are in no list.
        cases: Its pictures.
        kills: The table behind the grid.
        powers: The table behind the ranking.
        data: What the page's script needs.
    """

    id: str
    model: str
    suite: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Mutant | None, ...]], ...]
    mutants: tuple[Mutant, ...]
    strongest: tuple[RankedImage, ...]
    weakest: tuple[RankedImage, ...]
    rest: tuple[RankedImage, ...]
    n_more: int
    cases: tuple[Case, ...]
    kills: str
    powers: str
    data: Mapping[str, Any]


def mutant_name(operator: str, tag: str) -> str:
    """Return a mutant in words.

    Example:
        >>> mutant_name("mc_dropblock", "0.1_3"), mutant_name("mc_dropout", "0.5")
        ('MC-DropBlock 0.1, block 3', 'MC-Dropout 0.5')
    """
    rate, _, block = tag.partition("_")
    return f"{OPERATOR_NAMES.get(operator, operator)} {rate}{f', block {block}' if block else ''}"


def build_views(
    tables: ReportTables,
    gallery: Gallery,
    raster_ids: Mapping[tuple[str, str], str],
    shown: Shown | None = None,
) -> list[View]:
    """Return a view per model and suite, in the order of the tables.

    Args:
        tables: What the numbers come from.
        gallery: Pictures.
        raster_ids: Names of pixels on the page, by suite and stem.
        shown: What `uamt show` shows more of; None where there are no predictions.
    """
    views: list[View] = []
    for m, model in enumerate(tables.models):
        for s in range(len(model.suites)):
            number = len(views)
            view = _view(tables, (m, s), f"view-{number + 1}", gallery, raster_ids)
            command = "" if shown is None else _show_command(shown, tables, (m, s))
            views.append(replace(view, data={**view.data, "show": command}))
    return views


def _show_command(shown: Shown, tables: ReportTables, place: tuple[int, int]) -> str:
    """Return what shows an image of a view, up to the mutant."""
    scores = tables.models[place[0]].kills[place[1]].scores
    names = ["--root", str(shown.experiment), "--model", scores.model, "--suite", scores.suite]
    return shlex.join(["uamt", "show", "IMAGE", *names, *shown.options(scores.suite)])


def _view(
    tables: ReportTables,
    place: tuple[int, int],
    name: str,
    gallery: Gallery,
    raster_ids: Mapping[tuple[str, str], str],
) -> View:
    m, s = place
    model = tables.models[m]
    scores = model.kills[s].scores
    cases = tuple(case for case in gallery.cases if (case.model, case.suite) == place)
    mutants = _mutants(tables, place, name, cases)
    columns, rows = _grid(mutants)
    ranked = _ranked_images(tables, place, cases, raster_ids)
    first, last = ranked, []
    if len(ranked) > _FIRST + _LAST:
        first, last = ranked[:_FIRST], ranked[-_LAST:]
    between = ranked[len(first) : len(ranked) - len(last)]
    return View(
        id=name,
        model=tables.labels[m],
        suite=scores.suite,
        columns=columns,
        rows=rows,
        mutants=mutants,
        strongest=tuple(first),
        weakest=tuple(last),
        rest=tuple(between[:_MOST_LISTED]),
        n_more=max(0, len(between) - _MOST_LISTED),
        cases=cases,
        kills=mutants[0].killing.table,
        powers=ranked[0].killed.table,
        data=_data(tables, place, cases, raster_ids),
    )


def _mutants(
    tables: ReportTables, place: tuple[int, int], view: str, cases: Sequence[Case]
) -> tuple[Mutant, ...]:
    m, s = place
    model = tables.models[m]
    scores = model.kills[s].scores
    kills = tables.of_model(model, scores.suite, "ua_ms_kills.csv")
    states = tables.of_model(model, STATES_NAME)
    killed = scores.killed(VERDICT_KIND, tables.rule, tables.rules)
    power = killed.sum(axis=1)
    found = []
    for number, (operator, tag) in enumerate(scores.mutants):
        key = mutant_id((operator, tag))
        row = kills.row_of(mutant_id=key, kind=VERDICT_KIND)
        state = states.frame["state"].iloc[states.row_of(test_suite=scores.suite, mutant_id=key)]
        killing = kills.number(row, f"n_killing_{tables.rule}", "whole")
        images = kills.number(row, "n_images", "whole")
        names = [scores.stems[i] for i in np.argsort(-power, kind="stable") if killed[i, number]]
        case = next((case.id for case in cases if case.mutant == number), "")
        found.append(
            Mutant(
                id=f"{view}-mutant-{number + 1}",
                number=number,
                name=mutant_name(operator, tag),
                operator=operator,
                tag=tag,
                state=str(state),
                killing=killing,
                images=images,
                shade=killing.exact / images.exact if images.exact else 0.0,
                names=tuple(names[:_MOST_NAMED]),
                has_more=len(names) > _MOST_NAMED,
                case=case,
            )
        )
    return tuple(found)


def _grid(
    mutants: Sequence[Mutant],
) -> tuple[tuple[str, ...], tuple[tuple[str, tuple[Mutant | None, ...]], ...]]:
    """Return the headings of the columns, and the rows: rates, mildest first."""
    cells: dict[str, dict[tuple[str, str], Mutant]] = {}
    for mutant in mutants:
        rate, _, block = mutant.tag.partition("_")
        cells.setdefault(rate, {})[mutant.operator, block] = mutant
    places = sorted(
        {place for row in cells.values() for place in row},
        key=lambda place: (_rank(place[0]), place[0], tag_order(place[1] or "0")),
    )
    headings = tuple(
        f"{OPERATOR_NAMES.get(operator, operator)}{f' block {block}' if block else ''}"
        for operator, block in places
    )
    rows = tuple(
        (rate, tuple(cells[rate].get(place) for place in places))
        for rate in sorted(cells, key=tag_order)
    )
    return headings, rows


def _rank(operator: str) -> int:
    return OPERATOR_ORDER.index(operator) if operator in OPERATOR_ORDER else len(OPERATOR_ORDER)


def _ranked_images(
    tables: ReportTables,
    place: tuple[int, int],
    cases: Sequence[Case],
    raster_ids: Mapping[tuple[str, str], str],
) -> list[RankedImage]:
    model = tables.models[place[0]]
    scores = model.kills[place[1]].scores
    table = tables.of_model(model, scores.suite, IMAGES_NAME)
    killed = [table.number(i, f"n_killed_{tables.rule}", "whole") for i in range(len(table.frame))]
    changed = table.frame["n_changed_passes"].to_numpy(np.float64)
    power = np.nan_to_num([number.exact for number in killed], nan=-1.0)
    pictured = {case.image: case.id for case in reversed(cases)}
    return [
        RankedImage(
            stem=scores.stems[i],
            killed=killed[i],
            mutants=table.number(i, "n_mutants", "whole"),
            raster=raster_ids.get((scores.suite, scores.stems[i]), ""),
            case=pictured.get(i, ""),
        )
        for i in np.lexsort((-changed, -power)).tolist()
    ]


def _data(
    tables: ReportTables,
    place: tuple[int, int],
    cases: Sequence[Case],
    raster_ids: Mapping[tuple[str, str], str],
) -> dict[str, Any]:
    """Return what the script needs: scores of mutants, and which images kill them how."""
    model = tables.models[place[0]]
    scores = model.kills[place[1]].scores
    means = tables.of_model(model, scores.suite, "ua_ms.csv")
    values = means.frame[list(SCORE_COLUMNS)].to_numpy(np.float64)
    counts = scores.column(COUNT_COLUMN)
    return {
        "table": means.path.as_posix(),
        "tables": [tables.mutant_path(model, scores, mutant) for mutant in scores.mutants],
        "scores": [[None if np.isnan(v) else v for v in row] for row in values.tolist()],
        "images": list(scores.stems),
        "thumbs": [raster_ids.get((scores.suite, stem), "") for stem in scores.stems],
        "levels": _levels(scores, tables),
        "changed": [
            [-1 if np.isnan(count) else int(count) for count in column]
            for column in counts.T.tolist()
        ],
        "cases": {f"{case.mutant},{case.image}": case.id for case in cases},
    }


def _levels(scores: SuiteScores, tables: ReportTables) -> list[str]:
    """Return a letter per mutant and image: `k` a kill by the rule of the verdict, `a` by one
    changed pass only, `.` none, `?` not settled, `x` without a row.
    """
    found = scores.verdicts(VERDICT_KIND, tables.rule, tables.rules)
    letters = np.where(scores.killed(VERDICT_KIND, "any", tables.rules), "a", ".")
    letters[found == OPEN] = "?"
    letters[found == KILLED] = "k"
    letters[~scores.has_row] = "x"
    return ["".join(column) for column in letters.T.tolist()]
