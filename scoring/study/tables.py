"""The study's tables: RQ1 to RQ3 of every case study and model, under the names of their files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

import numpy as np
import pandas as pd

from scoring.ratios import MODEL_KEYS
from scoring.study.comparisons import (
    MUTANT_CAVEAT,
    POOLED_CAVEAT,
    SUITES_CAVEAT,
    UNCORRECTED_CAVEAT,
    Level,
    Samples,
    compare_all,
    compare_pairs,
    samples_of_model,
)
from scoring.study.scores import score_grids
from scoring.study.trends import plane_table, spearman_table
from scoring.suite_tables import (
    DROPBLOCK,
    DROPOUT,
    ModelAggregates,
    Tables,
    ratio_tables,
)

Texts = dict[PurePosixPath, str]


@dataclass(frozen=True, slots=True)
class StudyOptions:
    """What may be added to the published tests, and what models are called.

    Args:
        holm: Corrects pairwise p values by Holm, over the pairs of each metric.
        friedman: Adds Friedman's test, which knows that the same mutants recur in every suite.
        labels: What to call a model; its own name where missing.
    """

    holm: bool = False
    friedman: bool = False
    labels: Mapping[str, str] | None = None


def score_texts(models: Sequence[ModelAggregates], options: StudyOptions) -> Texts:
    """Return the RQ1 tables of every case study as CSV, LaTeX and Markdown."""
    texts: Texts = {}
    for case_study in dict.fromkeys(model.results.case_study for model in models):
        tables = {
            model.results.model: model.model_table()
            for model in models
            if model.results.case_study == case_study
        }
        for name, grid in score_grids(tables, options.labels).items():
            stem = PurePosixPath("rq1", case_study)
            texts[stem / f"{name}.csv"] = grid.to_csv()
            texts[stem / f"{name}.tex"] = grid.to_latex()
            texts[stem / f"{name}.md"] = grid.to_markdown()
    return texts


def comparison_tables(models: Sequence[ModelAggregates], options: StudyOptions) -> Tables:
    """Return the RQ2 tables of the models that have two suites or more.

    `rq2_mutants.csv` and `rq2_rows.csv` say whether suites differ, on mutants and on pooled rows;
    `rq2_pairs.csv` compares them pair by pair, on mutants.
    """
    compared = [model for model in models if len(model.suites) >= 2]
    if not compared:
        return {}
    return {
        PurePosixPath("rq2_mutants.csv"): _of_models(
            {
                model.key: compare_all(_samples(model, "mutants"), with_friedman=options.friedman)
                for model in compared
            }
        ),
        PurePosixPath("rq2_rows.csv"): _of_models(
            {model.key: compare_all(_samples(model, "rows")) for model in compared}
        ),
        PurePosixPath("rq2_pairs.csv"): _of_models(
            {
                model.key: compare_pairs(_samples(model, "mutants"), holm=options.holm)
                for model in compared
            }
        ),
    }


def _samples(model: ModelAggregates, level: Level) -> Mapping[str, Samples]:
    suites = [suite.scores for suite in model.results.suites]
    return samples_of_model(list(zip(suites, model.means, strict=True)), level)


def _of_models(tables: Mapping[tuple[str, str], pd.DataFrame]) -> pd.DataFrame:
    """Return the tables of all models below each other, with case study and model in front."""
    parts = []
    for key, table in tables.items():
        part = table.copy()
        for position, (name, value) in enumerate(zip(MODEL_KEYS, key, strict=True)):
            part.insert(position, name, value)
        parts.append(part)
    return pd.concat(parts, ignore_index=True)


def trend_tables(models: Sequence[ModelAggregates]) -> Tables:
    """Return the RQ3 tables, `rq3_spearman.csv` of MC-Dropout and `rq3_planes.csv` of DropBlock."""
    ratios = ratio_tables(models)
    tables: Tables = {}
    dropout = ratios.get(PurePosixPath(f"{DROPOUT}_mutation_ratio.csv"))
    if dropout is not None:
        tables[PurePosixPath("rq3_spearman.csv")] = spearman_table(dropout)
    dropblock = ratios.get(PurePosixPath(f"{DROPBLOCK}_mutation_ratio.csv"))
    if dropblock is not None:
        tables[PurePosixPath("rq3_planes.csv")] = plane_table(dropblock)
    return tables


def caveats(models: Sequence[ModelAggregates], options: StudyOptions) -> list[str]:
    """Return what a reader of the tables must know, one sentence each.

    Source: scoring.md, section 4, number 5.
    """
    said = []
    if any(len(model.suites) >= 2 for model in models):
        said += [
            f"rq2_rows.csv: {POOLED_CAVEAT}.",
            f"rq2_mutants.csv, rq2_pairs.csv: {MUTANT_CAVEAT} "
            f"({'its columns are friedman*' if options.friedman else '--friedman'}).",
        ]
        said += [] if options.holm else [f"rq2_pairs.csv: {UNCORRECTED_CAVEAT}."]
    said.append(f"Intervals over suites: {SUITES_CAVEAT}.")
    if models and all(_miss_scores_are_the_rate(model) for model in models):
        said.append(
            "the miss scores of vr, var and ps equal the miss rate in every row, so they are one "
            "finding and not three; rule set strict tells them apart."
        )
    return said


def _miss_scores_are_the_rate(model: ModelAggregates) -> bool:
    """Return whether no row says more by these scores than by the rate, as under `deepluq`."""
    for suite in model.results.suites:
        rate = suite.scores.column("[miss] miss_rate")
        for measure in ("vr", "var", "ps"):
            score = suite.scores.column(f"[miss] {measure}_diff")
            if not np.allclose(score, rate, rtol=0, atol=1e-9, equal_nan=True):
                return False
    return True
