"""Gathering results for `suites` and `study`: options they share, and what they say of gaps."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from scoring.errors import ConfigError

if TYPE_CHECKING:
    import pandas as pd

    from scoring.suite_tables import ModelAggregates, Tables


def add_options(
    parser: argparse.ArgumentParser,
    results: str = "folder of a scored experiment, or of its scores",
) -> None:
    """Add the options by which results are gathered into suites.

    Args:
        parser: Takes them.
        results: What RESULTS is.
    """
    parser.add_argument("results", metavar="RESULTS", help=results)
    parser.add_argument(
        "--suite",
        action="append",
        default=[],
        metavar="NAME=FILE",
        help="a suite by its images: a folder, a text or JSON list of names, or a study's pickle; "
        "divides tables that stand in no suite's folder, and checks those that do",
    )
    parser.add_argument(
        "--order",
        metavar="A,B,C",
        help="suites in the order of rows and pairs; default: as --suite names them, then by name",
    )
    parser.add_argument(
        "--passes",
        type=int,
        metavar="N",
        help="T, where no facts.json stands beside the tables; default: by their p values",
    )


@dataclass(frozen=True, slots=True)
class Gathering:
    """Which results are gathered, and how they are divided into suites.

    Args:
        results: Folder of the mutants' CSVs.
        suites: `NAME=FILE` of each suite that is known by its images.
        order: Suites in the order of rows and pairs.
        passes: T, where no facts stand beside the tables; None means by their p values.
    """

    results: Path
    suites: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    passes: int | None = None

    @classmethod
    def of(cls, arguments: argparse.Namespace) -> Gathering:
        """Return what the options of a command say."""
        order = tuple(name for name in (arguments.order or "").split(",") if name)
        results = scores_folder(Path(arguments.results))
        return cls(results, tuple(arguments.suite), order, arguments.passes)


def scores_folder(given: Path) -> Path:
    """Return the folder of the mutants' CSVs: an experiment's `scores`, or the folder itself.

    Example:
        >>> scores_folder(Path("nothing/there")).as_posix()
        'nothing/there'
    """
    from scoring.layout import find_branches, find_tables

    scores = given / "scores"
    if scores.is_dir() and (find_branches(given) or not find_tables(given)):
        return scores
    return given


def gather(gathering: Gathering) -> list[ModelAggregates]:
    """Return means and kills of every model, with a bar on a terminal.

    Raises:
        ConfigError: An option does not fit.
        DataError: Tables are missing, broken, or do not fit their suites.
    """
    from scoring.layout import find_tables
    from scoring.membership import parse_members
    from scoring.results import read_results
    from scoring.suite_tables import aggregate
    from uamt.progress import step_progress

    passes = gathering.passes
    if passes is not None and passes < 1:
        raise ConfigError(f"--passes: expected 1 or more, got {passes}")
    members = parse_members(gathering.suites)
    with step_progress(len(find_tables(gathering.results)), "reading", "table") as on_step:
        models = read_results(
            gathering.results, members, gathering.order, on_table=lambda path: on_step()
        )
    return aggregate(models, passes)


def suites(
    results: str | Path,
    *,
    suites: Mapping[str, str | Path] | None = None,
    order: Sequence[str] = (),
    passes: int | None = None,
    out: str | Path | None = None,
) -> pd.DataFrame:
    """Write the tables of suites and models, and return the kill shares of all of them.

    Args:
        results: Folder of a scored experiment, or of its scores.
        suites: Suites by their images: a folder, a list of names or a study's pickle each; divides
            tables that stand in no suite's folder, and checks those that do.
        order: Suites in the order of rows and pairs; None means as `suites` names them, then by
            name.
        passes: T, where no facts stand beside the tables; None means by their p values.
        out: Folder of the tables; None means that of the scores.

    Returns:
        A row per case study, model, suite and kind of kill, as `ua_ms_kill_shares.csv` holds it:
        Img-MS, kill share with its 95 % interval, mildest rate and trivial mutants by every rule.

    Raises:
        ConfigError: A suite cannot be named so, or `passes` is below 1.
        DataError: Tables are missing, broken, or do not fit their suites.
    """
    from scoring.suite_tables import suite_tables, write_tables

    named = tuple(f"{name}={path}" for name, path in (suites or {}).items())
    folder = scores_folder(Path(results))
    models = gather(Gathering(folder, named, tuple(order), passes))
    tables = suite_tables(models)
    write_tables(Path(out) if out else folder, tables)
    return kill_shares(models, tables)


def kill_shares(models: Sequence[ModelAggregates], tables: Tables) -> pd.DataFrame:
    """Return the kill shares of all models: a row per case study, model, suite and kind.

    Args:
        models: What was gathered.
        tables: As `suite_tables` returns them, of the same models.
    """
    import pandas as pd

    from scoring.suite_tables import model_folder

    shares = []
    for model in models:
        table = tables[model_folder(model) / "ua_ms_kill_shares.csv"].copy()
        table.insert(0, "case_study", model.results.case_study)
        table.insert(1, "model", model.results.model)
        shares.append(table)
    return pd.concat(shares, ignore_index=True)


def gaps(models: Sequence[ModelAggregates], results: Path) -> list[str]:
    """Return what is left out of the tables, one sentence each.

    Args:
        models: What the tables are of.
        results: Folder of the scores, which may be older than what they are of.
    """
    from scoring.suite_tables import DROPBLOCK, DROPOUT
    from uamt.freshness import stale_note

    said = [note] if (note := stale_note(results)) else []
    for model in models:
        said += [
            f"{_name(model)} has no {operator} results: "
            f"ua_ms_model_{operator.removeprefix('mc_')}.csv and its rows of the {operator} ratios "
            f"are left out"
            for operator in (DROPOUT, DROPBLOCK)
            if operator not in model.results.operators
        ]
        said += missing_rows([model])
    return said


def missing_rows(models: Sequence[ModelAggregates]) -> list[str]:
    """Return which suites have pairs of image and mutant without a row, one sentence each."""
    return [
        f"{_name(model)}, suite '{kills.scores.suite}': {kills.scores.n_crashed} image x mutant "
        f"pairs have no row (the mutant crashed there, or was not scored); they kill nothing"
        for model in models
        for kills in model.kills
        if kills.scores.n_crashed
    ]


def _name(model: ModelAggregates) -> str:
    return f"model '{model.results.model}' of '{model.results.case_study}'"


def unused(models: Sequence[ModelAggregates]) -> list[str]:
    """Return which mutants have no value of some score, and so leave means, tests and charts."""
    said = []
    for model in models:
        for name, means in zip(model.suites, model.means, strict=True):
            empty = means.n_used == 0
            if empty.any():
                said.append(
                    f"model '{model.results.model}', suite '{name}': "
                    f"{int(empty.any(axis=1).sum())} of {len(means.mutants)} mutants have no value "
                    f"of up to {int(empty.any(axis=0).sum())} scores (0 in ua_ms_n_used.csv); "
                    f"means, tests and charts of those scores go without them"
                )
            if means.equivalent.any():
                said.append(
                    f"model '{model.results.model}', suite '{name}': "
                    f"{int(means.equivalent.sum())} equivalent mutants are left out of every score"
                )
    return said
