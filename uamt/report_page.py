"""The page of a report: everything that it shows, put into its template."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

import pandas as pd

from scoring.kill_counts import CHANGED_NAME
from scoring.objects import MEASURES
from scoring.suite_tables import DROPBLOCK, DROPOUT
from scoring.summary import HOW, VERDICT_KIND
from uamt.drawing import STYLES
from uamt.mutant_strength import RateAdvice, advise_rates
from uamt.object_names import COUNTS_TWICE, MEASURE_NAMES, counts_twice, measure_units
from uamt.report_cases import (
    OBJECTS_NAME,
    PASSES_NAME,
    Case,
    Gallery,
    changed_number,
)
from uamt.report_charts import has_bands, score_charts, suite_marks
from uamt.report_numbers import Number
from uamt.report_pictures import Box, Frame
from uamt.report_provenance import Facts
from uamt.report_tables import ReportTables
from uamt.report_tags import Tag, numbers_of, tags_of
from uamt.report_verdict import Verdict, judge
from uamt.report_views import (
    SCORE_COLUMNS,
    STATE_WORDS,
    Shown,
    View,
    build_views,
    mutant_name,
)
from uamt.report_words import RULE_NAMES, TERMS, score_name

_TEMPLATES = Path(__file__).parent / "templates"
_MOST_BARS = 13
_ENDS = (0.02, 0.05, *(tenth / 10 for tenth in range(1, 11)))
"""Where a scale of shares may end."""
_KINDS = tuple(STYLES)
_WHOLE_PIXELS_DO = 400
"""Longest side of an image, in pixels, from which boxes are drawn to whole ones."""


def render(
    tables: ReportTables,
    gallery: Gallery,
    *,
    facts: Sequence[Facts],
    command: str,
    shown: Shown | None,
) -> str:
    """Return the page as HTML; every text that comes from elsewhere is escaped.

    Args:
        tables: What the numbers come from.
        gallery: Pictures.
        facts: Provenance of every model.
        command: What remakes the page.
        shown: What commands that show more read; None where there are no predictions.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    verdict = judge(tables)
    advice = _advice(tables, verdict, shown)
    sums_ghosts = tables.rules.ghost_entropy == "sum"
    environment.filters |= {"outline": outline, "score_name": score_name}
    raster_ids = {key: f"image-{number + 1}" for number, key in enumerate(gallery.rasters)}
    views = build_views(tables, gallery, raster_ids, shown)
    cases = _Cases(tables, gallery, raster_ids)
    script = (_TEMPLATES / "report.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    changed, end = _changed(tables)
    ratios = [
        tables.tables.get(PurePosixPath(f"{operator}_mutation_ratio.csv"))
        for operator in (DROPOUT, DROPBLOCK)
    ]
    return environment.get_template("report.html").render(
        verdict=verdict,
        extreme=verdict.strength,
        rate_flags=advice.texts if advice.saved else (),
        rate_words=() if advice.saved else advice.texts,
        sums_ghosts=sums_ghosts,
        twice=COUNTS_TWICE,
        rule=tables.rule,
        rule_names=RULE_NAMES,
        how=HOW[tables.rule],
        terms=TERMS,
        styles=STYLES,
        words=STATE_WORDS,
        views=views,
        labels=list(dict.fromkeys(view.model for view in views)),
        suites=list(dict.fromkeys(view.suite for view in views)),
        score_columns=SCORE_COLUMNS,
        drawn=_drawn(tables, gallery),
        measures={k: (MEASURE_NAMES[k], unit) for k, unit in measure_units(tables.rules).items()},
        rasters=[(raster_ids[key], raster) for key, raster in gallery.rasters.items()],
        cases=cases,
        charts=score_charts(ratios[0], ratios[1], tables.models),
        has_bands=has_bands(tables.models),
        marks=suite_marks(tables.models),
        changed=changed,
        changed_end=end,
        facts=facts,
        notes=gallery.notes,
        command=command,
        style=(_TEMPLATES / "report.css").read_text(encoding="utf-8"),
        script=script,
        script_sha256=digest,
        data=_data(views, cases, gallery.cases) | {"sumsGhosts": sums_ghosts},
    )


def _advice(tables: ReportTables, verdict: Verdict, shown: Shown | None) -> RateAdvice:
    """Return what to run where mutants are too strong or too mild to judge suites."""
    if not verdict.strength:
        return RateAdvice((), ())
    root = None if shown is None else shown.experiment
    return advise_rates(tables.suites, root, is_milder=verdict.strength == "strong")


def _drawn(tables: ReportTables, gallery: Gallery) -> str:
    """Return whether all pairs of an image and a mutant are drawn, or a part; empty if none is."""
    n_pairs = sum(int(kills.scores.has_row.sum()) for m in tables.models for kills in m.kills)
    if not gallery.cases:
        return ""
    return "all" if len(gallery.cases) == n_pairs else "part"


def _data(views: Sequence[View], cases: _Cases, shown: Sequence[Case]) -> dict[str, Any]:
    """Return what the script needs of all views and cases."""
    labels: dict[str, int] = {}
    tags = {case.id: cases.data(case, labels) for case in shown}
    largest = [
        max(
            (row[k] for view in views for row in view.data["scores"] if row[k] is not None),
            default=0.0,
        )
        for k in range(len(SCORE_COLUMNS))
    ]
    return {
        "scoreColumns": SCORE_COLUMNS,
        "largest": largest,
        "views": {view.id: view.data for view in views},
        "kinds": _KINDS,
        "labels": list(labels),
        "tags": tags,
    }


class _Cases:
    """What the template asks of a case."""

    def __init__(
        self,
        tables: ReportTables,
        gallery: Gallery,
        raster_ids: Mapping[tuple[str, str], str],
    ) -> None:
        self._tables, self._gallery, self._raster_ids = tables, gallery, raster_ids
        self._objects = gallery.table(OBJECTS_NAME)
        self._passes = gallery.table(PASSES_NAME)
        # Asked for in every pass of a case.
        self._lengths = {case.id: self._beside_lengths(case) for case in gallery.cases}

    def _scores(self, case: Case) -> Any:
        return self._tables.models[case.model].results.suites[case.suite].scores

    def mutant(self, case: Case) -> str:
        return mutant_name(*self._scores(case).mutants[case.mutant])

    def tag(self, case: Case) -> str:
        return " ".join(self._scores(case).mutants[case.mutant])

    def stem(self, case: Case) -> str:
        return str(self._scores(case).stems[case.image])

    def is_kill(self, case: Case) -> bool:
        killed = self._scores(case).killed(VERDICT_KIND, self._tables.rule, self._tables.rules)
        return bool(killed[case.image, case.mutant])

    def changed(self, case: Case) -> Number:
        return changed_number(self._tables, case)

    def raster_id(self, case: Case) -> str:
        return self._raster_ids[self._scores(case).suite, self.stem(case)]

    def raster(self, case: Case) -> Any:
        return self._gallery.rasters[self._scores(case).suite, self.stem(case)]

    def tags(self, case: Case, boxes: Sequence[Box], is_mutant: bool = False) -> tuple[Tag, ...]:
        raster = self.raster(case)
        if is_mutant:
            beside = self._lengths[case.id]
        else:
            # The script may say of each that another pass misses it.
            beside = {box.number: len(" miss") for box in boxes if box.kind == "match"}
        return tags_of(boxes, raster.width, raster.height, beside)

    def numbers(self, case: Case, boxes: Sequence[Box]) -> tuple[Tag, ...]:
        raster = self.raster(case)
        return numbers_of(boxes, raster.width, raster.height)

    def _beside_lengths(self, case: Case) -> dict[str, int]:
        """Return how many characters the longest uncertainty of each object has, with its sign."""
        frame, number = self._objects.frame, self._objects.number
        sums_ghosts = self._tables.rules.ghost_entropy == "sum"
        return {
            str(frame["object"].iloc[row]): max(
                len(f" {name}{' sum' if is_sum else ''} {number(row, name, 'two').text}")
                for name in MEASURES
                for is_sum in [sums_ghosts and name == "ie" and frame["is_ghost"].iloc[row]]
            )
            for row in case.objects
        }

    def data(self, case: Case, labels: dict[str, int]) -> list[list[list[Any]]]:
        """Return the tags of every pass of the mutant, for the script that shows it large.

        Args:
            case: Which one.
            labels: Numbers of the names of classes, to which new ones are added.
        """
        return [
            [
                [
                    _KINDS.index(box.kind),
                    box.number,
                    labels.setdefault(box.label, len(labels)),
                    round(box.score, 2),
                    round(tag.x),
                    round(tag.y),
                    *_unusual(tag),
                ]
                for tag in self.tags(case, frame.mutant, is_mutant=True)
                for box in [tag.box]
            ]
            for frame in case.frames
        ]

    def has_own_original(self, case: Case, frame: Frame) -> bool:
        """Return whether the original found something else in this pass than in the shown one."""
        return [replace(box, kind="match") for box in frame.original] != [
            replace(box, kind="match") for box in case.frames[case.shown].original
        ]

    def passes(self, case: Case) -> list[dict[str, Number]]:
        columns = ("pass", "matches", "misses", "ghosts")
        return [
            {name: self._passes.number(case.passes_row + t, name, "whole") for name in columns}
            for t in range(len(case.frames))
        ]

    def objects(self, case: Case) -> list[dict[str, Any]]:
        frame, number = self._objects.frame, self._objects.number
        return [
            {
                "row": row,
                "object": number(row, "object", "text"),
                "label": number(row, "label", "text"),
                "is_ghost": bool(frame["is_ghost"].iloc[row]),
                "n_found": number(row, "n_found", "whole"),
                "n_missed": number(row, "n_missed", "whole"),
                "n_passes": number(row, "n_passes", "whole"),
                "counts_twice": counts_twice(
                    *(int(frame[name].iloc[row]) for name in ("n_found", "n_missed", "n_passes"))
                ),
                "ie_original": number(row, "ie_original", "two"),
                "measures": [(name, number(row, name, "two")) for name in MEASURES],
            }
            for row in case.objects
        ]

    def beside(self, case: Case) -> dict[str, Number]:
        """Return the entropy of each object by its number, for the tag of its box."""
        frame = self._objects.frame
        return {
            str(frame["object"].iloc[row]): self._objects.number(row, "ie", "two")
            for row in case.objects
        }


def _unusual(tag: Tag) -> list[Any]:
    """Return what most tags lack, and nothing of those that do."""
    found = [tag.level, int(tag.is_end), tag.leader]
    while found and not found[-1]:
        found.pop()
    return found


def outline(boxes: Sequence[Box], kind: str = "", side_px: int = 0) -> str:
    """Return boxes as the data of one SVG path; those of a kind, or all of them.

    Args:
        boxes: Detections of a pass.
        kind: match, miss or ghost; empty for all.
        side_px: Longest side of the image, where whole pixels may do.

    Example:
        >>> outline([Box("match", "1", 2, 3.25, 10, 5, "cat", 0.9)])
        'M2 3.2h10v5h-10z'
    """
    digits = 0 if side_px >= _WHOLE_PIXELS_DO else 1
    drawn = []
    for box in boxes:
        if kind in ("", box.kind):
            x, y, wide, high = (
                f"{round(value, digits):g}" for value in (box.x, box.y, box.width, box.height)
            )
            drawn.append(f"M{x} {y}h{wide}v{high}h{'-' if wide != '0' else ''}{wide}z")
    return "".join(drawn)


def _changed(tables: ReportTables) -> tuple[list[dict[str, Any]], float]:
    """Return how many pairs of every suite differ in how many passes, and where their scale ends.

    Bars are shares of the suite's pairs, on one scale for all. Where there are too many numbers of
    passes to write each, only bars are drawn.
    """
    found: list[dict[str, Any]] = []
    for label, model in zip(tables.labels, tables.models, strict=True):
        table = tables.of_model(model, CHANGED_NAME)
        shares = tables.of_model(model, "ua_ms_kill_shares.csv")
        for suite in model.suites:
            rows: pd.Index[Any] = table.frame.index[table.frame["test_suite"] == suite]
            counts = [table.number(int(row), "n_pairs", "whole") for row in rows]
            n_pairs = sum(count.exact for count in counts) or 1.0
            share = shares.row_of(test_suite=suite, kind=VERDICT_KIND)
            found.append(
                {
                    "model": label,
                    "suite": suite,
                    "bars": [(count, count.exact / n_pairs) for count in counts],
                    "is_written": len(counts) <= _MOST_BARS,
                    "at_none": shares.number(share, "share_at_0", "percent"),
                    "at_all": shares.number(share, "share_at_T", "percent"),
                }
            )
    largest = max((share for suite in found for _, share in suite["bars"]), default=0.0)
    return found, next(end for end in _ENDS if largest <= end)
