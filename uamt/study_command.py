"""`uamt study`: tables and charts of the three research questions."""

from __future__ import annotations

import argparse
import math
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from scoring.errors import ConfigError, DataError
from uamt.gathered import Gathering, add_options, gaps, gather, unused
from uamt.outcome import DONE, INCOMPLETE, Notes, Outcome
from uamt.presentation import aligned, count_of, paragraph

if TYPE_CHECKING:
    import pandas as pd

    from scoring.study.charts import ImageFormat
    from scoring.suite_tables import ModelAggregates, Tables

ABOUT = "tables and charts of the study: scores, comparisons of suites, trends"
EXAMPLES = ("uamt study experiment --holm --friedman",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `uamt study`."""
    add_options(parser)
    parser.add_argument(
        "--out", metavar="FOLDER", help="of tables and charts; default: study beside the scores"
    )
    parser.add_argument(
        "--holm", action="store_true", help="correct pairwise p values, over the pairs of a metric"
    )
    parser.add_argument(
        "--friedman",
        action="store_true",
        help="add Friedman's test, for the same mutants recur in every suite",
    )
    parser.add_argument(
        "--label",
        action="append",
        default=[],
        metavar="MODEL=TEXT",
        help="what tables and charts call a model",
    )
    parser.add_argument(
        "--charts",
        choices=("png", "svg", "none"),
        default="png",
        help="format of the charts, or none; default: png",
    )


def run(arguments: argparse.Namespace) -> Outcome:
    """Write tables and charts; say what a reader must know, and where everything lies."""
    from scoring.files import write_atomic
    from scoring.study.tables import (
        StudyOptions,
        caveats,
        comparison_tables,
        score_texts,
        trend_tables,
    )
    from scoring.suite_tables import write_tables
    from uamt.progress import step_progress

    labels = parse_labels(arguments.label)
    options = StudyOptions(arguments.holm, arguments.friedman, labels)
    gathering = Gathering.of(arguments)
    models = gather(gathering)
    _refuse_curtailed(models)
    out = Path(arguments.out) if arguments.out else gathering.results / "study"
    texts = score_texts(models, options)
    for relative, text in texts.items():
        write_atomic(out / relative, text.encode())
    compared, trends = comparison_tables(models, options), trend_tables(models)
    tables = write_tables(out, compared | trends)
    n_charts = 0
    if arguments.charts != "none":
        with step_progress(n_of_charts(models), "drawing", "chart") as on_step:
            for relative, content in charts(models, labels, arguments.charts, on_step):
                write_atomic(out / relative, content)
                n_charts += 1
    notes = Notes()
    for note in unused(models):
        notes.say(note)
    left_out = gaps(models, gathering.results)
    for gap in left_out:
        notes.say(gap)
    cautions = caveats(models, options)
    said = "\n".join(paragraph(f"caution: {caution}") for caution in cautions)
    return Outcome(
        f"{count_of(len(texts) + len(tables), 'table')} and {count_of(n_charts, 'chart')} of "
        f"{count_of(len(models), 'model')} written; docs/study.md says how to read them.",
        INCOMPLETE if left_out else DONE,
        f"{_tables_text(compared | trends)}\n\n{said}",
        {"study": out.resolve()},
        f"uamt report {shlex.quote(arguments.results)}",
        "one page of it all, with pictures",
        counts={"tables": len(texts) + len(tables), "charts": n_charts, "models": len(models)},
        tables={relative.stem: table for relative, table in (compared | trends).items()},
        facts={"cautions": cautions},
        notes=notes.all(),
    )


def _refuse_curtailed(models: Sequence[ModelAggregates]) -> None:
    """Refuse tables of curtailed passes, which hold none of the scores that a study compares.

    Raises:
        DataError: A model's passes were curtailed.
    """
    for model in models:
        if any(kills.scores.curtailed is not None for kills in model.kills):
            raise DataError(
                f"model '{model.results.model}' of '{model.results.case_study}': its passes were "
                f"curtailed, so that its tables hold kills and none of the scores that a study "
                f"compares; 'uamt suites' shows them, and a study needs a run without --curtail"
            )


def parse_labels(options: Sequence[str]) -> dict[str, str]:
    """Return labels by model.

    Raises:
        ConfigError: An option is not of the form MODEL=TEXT.
    """
    labels = {}
    for option in options:
        model, equals, label = option.partition("=")
        if not equals or not model or not label:
            raise ConfigError(f"--label: expected MODEL=TEXT, got {option!r}")
        labels[model] = label
    return labels


def n_of_charts(models: Sequence[ModelAggregates]) -> int:
    """Return how many charts are looked at, which is how many there are if all have values."""
    from scoring.ratios import RATIO_COLUMNS
    from scoring.suite_tables import DROPBLOCK, DROPOUT

    drawn = {
        (model.results.case_study, operator)
        for model in models
        for operator in model.results.operators
        if operator in (DROPOUT, DROPBLOCK)
    }
    return len(drawn) * len(RATIO_COLUMNS)


def charts(
    models: Sequence[ModelAggregates],
    labels: Mapping[str, str],
    image_format: ImageFormat,
    on_chart: Callable[[], None] = lambda: None,
) -> Iterator[tuple[PurePosixPath, bytes]]:
    """Yield the RQ3 charts of every case study: a line and a surface per score.

    Args:
        models: What was gathered.
        labels: What charts call a model, where it is not its name.
        image_format: Of the files.
        on_chart: Called for each chart, also for one without values.
    """
    from scoring.ratios import RATIO_COLUMNS
    from scoring.study.charts import file_stem, line_chart, surface_chart
    from scoring.suite_tables import DROPBLOCK, DROPOUT, ratio_tables

    ratios = ratio_tables(models)
    for operator, kind, draw in (
        (DROPOUT, "rate", line_chart),
        (DROPBLOCK, "surface", surface_chart),
    ):
        table = ratios.get(PurePosixPath(f"{operator}_mutation_ratio.csv"))
        if table is None:
            continue
        for case_study, of_case in table.groupby("case_study", sort=False):
            by_label = {
                labels.get(str(model), str(model)): rows
                for model, rows in of_case.groupby("model", sort=False)
            }
            for metric in RATIO_COLUMNS:
                content = draw(by_label, metric, image_format)
                if content is not None:
                    name = f"{kind}_{file_stem(metric)}.{image_format}"
                    yield PurePosixPath("rq3", str(case_study), name), content
                on_chart()


def _tables_text(tables: Tables) -> str:
    """Return the tables of tests without their many digits; the pairs are in their file alone."""
    shown = {path: table for path, table in tables.items() if path.name != "rq2_pairs.csv"}
    return "\n\n".join(f"{path.stem}\n{_rounded(table)}" for path, table in shown.items())


def _in_few_digits(value: object) -> str:
    if not isinstance(value, float):
        return str(value)
    return "-" if math.isnan(value) else f"{value:.4g}"


def _rounded(table: pd.DataFrame) -> str:
    texts = table.drop(columns="case_study").map(_in_few_digits)
    keys = [name for name in ("model", "metric", "parameter") if name in texts]
    return aligned(texts, keys)
