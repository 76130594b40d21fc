"""Suite tables: every aggregate of a study under the name of its file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import pandas as pd

from scoring.aggregates import MutantMeans, mutant_means, ua_ms, ua_ms_model, ua_ms_n_used
from scoring.errors import ConfigError
from scoring.files import write_atomic
from scoring.kill_table import kill_shares, kill_table
from scoring.ratios import mean_per_parameter, mutation_ratio
from scoring.results import ModelResults
from scoring.rules import DEEPLUQ, Rules
from scoring.suite_kills import SuiteKills, suite_kills

DROPOUT, DROPBLOCK = "mc_dropout", "mc_dropblock"

Tables = dict[PurePosixPath, pd.DataFrame]
"""Tables by their path below the folder of results."""


@dataclass(frozen=True, slots=True, eq=False)
class ModelAggregates:
    """Means and kills of every suite of a model."""

    results: ModelResults
    means: tuple[MutantMeans, ...]
    kills: tuple[SuiteKills, ...]

    @property
    def key(self) -> tuple[str, str]:
        """Return case study and model."""
        return self.results.case_study, self.results.model

    @property
    def suites(self) -> tuple[str, ...]:
        """Return the names of the suites, in their order."""
        return tuple(suite.scores.suite for suite in self.results.suites)

    def model_table(self, operator: str | None = None) -> pd.DataFrame:
        """Return `ua_ms_model.csv`, or the one of an operator's mutants."""
        return ua_ms_model(
            [
                (name, means.of_operator(operator) if operator else means)
                for name, means in zip(self.suites, self.means, strict=True)
            ]
        )

    def kill_shares(self) -> pd.DataFrame:
        """Return `ua_ms_kill_shares.csv`."""
        return kill_shares(self.kills, self.results.equivalent)


def aggregate(
    models: Sequence[ModelResults], passes: int | None = None, rules: Rules = DEEPLUQ
) -> list[ModelAggregates]:
    """Return means and kills of every model.

    Args:
        models: As `read_results` returns them.
        passes: T where no facts stand beside the tables; None means by their p values.
        rules: Holds alpha and the least p0.
    """
    return [
        ModelAggregates(
            model,
            tuple(
                mutant_means(suite.scores, equivalent=model.equivalent, rules=rules)
                for suite in model.suites
            ),
            tuple(suite_kills(suite, passes, rules) for suite in model.suites),
        )
        for model in models
    ]


def model_folder(model: ModelAggregates) -> PurePosixPath:
    """Return the folder of a model's tables below the folder of results."""
    return PurePosixPath(*model.key)


def suite_tables(models: Sequence[ModelAggregates]) -> Tables:
    """Return every table of scoring.md, section 4, numbers 1 to 4, and those of the kill rules.

    A model without DropBlock (or Dropout) has no table of it and no row in its ratios.

    Source: scoring.md, section 4.
    """
    tables: Tables = {}
    for model in models:
        folder = model_folder(model)
        for name, means, kills in zip(model.suites, model.means, model.kills, strict=True):
            tables[folder / name / "ua_ms.csv"] = ua_ms(means)
            tables[folder / name / "ua_ms_kills.csv"] = kill_table(kills)
            tables[folder / name / "ua_ms_n_used.csv"] = ua_ms_n_used(means)
        tables[folder / "ua_ms_model.csv"] = model.model_table()
        for operator in (DROPOUT, DROPBLOCK):
            if operator in model.results.operators:
                file = f"ua_ms_model_{operator.removeprefix('mc_')}.csv"
                tables[folder / file] = model.model_table(operator)
        tables[folder / "ua_ms_kill_shares.csv"] = model.kill_shares()
    return tables | ratio_tables(models)


def ratio_tables(models: Sequence[ModelAggregates]) -> Tables:
    """Return the mutation ratios of all models, and the DropBlock ones by either parameter."""
    means = {model.key: model.means for model in models}
    tables: Tables = {}
    for operator in (DROPOUT, DROPBLOCK):
        if any(operator in model.results.operators for model in models):
            tables[PurePosixPath(f"{operator}_mutation_ratio.csv")] = mutation_ratio(
                means, operator
            )
    dropblock = tables.get(PurePosixPath(f"{DROPBLOCK}_mutation_ratio.csv"))
    if dropblock is not None:
        tables[PurePosixPath("mcb_block_size.csv")] = mean_per_parameter(dropblock, "block_size")
        tables[PurePosixPath("mcb_dropout_rate.csv")] = mean_per_parameter(
            dropblock, "dropout_rate"
        )
    return tables


_OURS = "ua_ms_kill_shares.csv"
"""A table that the study's own scripts do not write."""


def write_tables(out: Path, tables: Tables) -> list[Path]:
    """Write tables atomically, numbers in full precision, NaN as an empty cell.

    Tables of suites have the names of the study's own. Where those lie in `out` and nothing there
    is of this project yet, nothing is written.

    Args:
        out: Folder of results.
        tables: What to write.

    Raises:
        ConfigError: That is so, and a table there would become another.
    """
    texts = {
        path: table.to_csv(index=False, lineterminator="\n").encode()
        for path, table in tables.items()
    }
    ours = [path for path in texts if path.name == _OURS]
    if ours and not any((out / path).exists() for path in ours):
        _refuse_to_replace(out, texts)
    # The table by which the next call knows that all are ours comes first.
    for path in sorted(texts, key=lambda path: path.name != _OURS):
        write_atomic(out / path, texts[path])
    return [out / path for path in texts]


def _refuse_to_replace(out: Path, texts: Mapping[PurePosixPath, bytes]) -> None:
    others = [
        out / path
        for path, text in texts.items()
        if (out / path).is_file() and (out / path).read_bytes() != text
    ]
    if others:
        more = f" and {len(others) - 1} more" if len(others) > 1 else ""
        raise ConfigError(
            f"{others[0]}{more}: would be replaced, and uamt did not write it; name another folder "
            f"for the tables with --out ('uamt suites') or --tables ('uamt report')"
        )
