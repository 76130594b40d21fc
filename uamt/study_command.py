"""`uamt study`: tables and charts of the three research questions."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from scoring.errors import ConfigError, DataError
from uamt.gathered import add_options, gaps, gather, unused
from uamt.presentation import count_of

if TYPE_CHECKING:
    import pandas as pd

    from scoring.study.charts import ImageFormat
    from scoring.suite_tables import ModelAggregates, Tables

ABOUT = "tables and charts of the study: scores, comparisons of suites, trends"
EXAMPLE = "uamt study experiment/scores --holm --friedman"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `uamt study`."""
    add_options(parser)
    parser.add_argument("--out", help="folder of tables and charts; default: RESULTS/study")
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
        "--charts", choices=("png", "svg", "none"), default="png", help="default: png"
    )


def run(arguments: argparse.Namespace) -> int:
    """Write tables and charts, print what a reader must know, and where everything lies."""
    from scoring.files import write_atomic
    from scoring.study.tables import (
        StudyOptions,
        caveats,
        comparison_tables,
        score_texts,
        trend_tables,
    )
    from scoring.suite_tables import write_tables

    labels = parse_labels(arguments.label)
    options = StudyOptions(arguments.holm, arguments.friedman, labels)
    models = gather(arguments)
    _refuse_curtailed(models)
    out = Path(arguments.out) if arguments.out else Path(arguments.results) / "study"
    texts = score_texts(models, options)
    for relative, text in texts.items():
        write_atomic(out / relative, text.encode())
    compared, trends = comparison_tables(models, options), trend_tables(models)
    tables = write_tables(out, compared | trends)
    n_charts = 0
    if arguments.charts != "none":
        for relative, content in charts(models, labels, arguments.charts):
            write_atomic(out / relative, content)
            n_charts += 1
    _print_tables(compared, trends)
    for caveat in caveats(models, options):
        print(f"caution: {caveat}")
    for note in unused(models):
        print(f"note: {note}", file=sys.stderr)
    left_out = gaps(models)
    for gap in left_out:
        print(f"note: {gap}", file=sys.stderr)
    print(
        f"{count_of(len(texts) + len(tables), 'table')} and {count_of(n_charts, 'chart')} of "
        f"{count_of(len(models), 'model')}: {out.resolve()}. Next: docs/study.md says how to read "
        f"them"
    )
    return 4 if left_out else 0


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


def charts(
    models: Sequence[ModelAggregates], labels: Mapping[str, str], image_format: ImageFormat
) -> Iterator[tuple[PurePosixPath, bytes]]:
    """Yield the RQ3 charts of every case study: a line and a surface per score."""
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


def _print_tables(compared: Tables, trends: Tables) -> None:
    """Print the tables of tests without their many digits."""
    for relative, table in (compared | trends).items():
        if relative.name != "rq2_pairs.csv":
            print(f"{relative.stem}\n{_rounded(table)}\n")


def _rounded(table: pd.DataFrame) -> str:
    return table.drop(columns="case_study").to_string(index=False, float_format="{:.4g}".format)
