"""Gathering results for `suites` and `study`: options they share, and what they say of gaps."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from scoring.errors import ConfigError

if TYPE_CHECKING:
    from scoring.suite_tables import ModelAggregates


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options by which results are gathered into suites."""
    parser.add_argument(
        "results", metavar="RESULTS", help="folder of the mutants' CSVs, as 'uamt score' wrote it"
    )
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


def gather(arguments: argparse.Namespace) -> list[ModelAggregates]:
    """Return means and kills of every model below RESULTS.

    Raises:
        ConfigError: An option does not fit.
        DataError: Tables are missing, broken, or do not fit their suites.
    """
    from scoring.membership import parse_members
    from scoring.results import read_results
    from scoring.suite_tables import aggregate

    if arguments.passes is not None and arguments.passes < 1:
        raise ConfigError(f"--passes: expected 1 or more, got {arguments.passes}")
    order = [name for name in (arguments.order or "").split(",") if name]
    models = read_results(Path(arguments.results), parse_members(arguments.suite), order)
    return aggregate(models, arguments.passes)


def gaps(models: Sequence[ModelAggregates]) -> list[str]:
    """Return what is left out of the tables, one sentence each."""
    from scoring.suite_tables import DROPBLOCK, DROPOUT

    said = []
    for model in models:
        name = f"model '{model.results.model}' of '{model.results.case_study}'"
        said += [
            f"{name} has no {operator} results: ua_ms_model_{operator.removeprefix('mc_')}.csv "
            f"and its rows of the {operator} ratios are left out"
            for operator in (DROPOUT, DROPBLOCK)
            if operator not in model.results.operators
        ]
        for kills in model.kills:
            missing = kills.scores.n_crashed
            if missing:
                said.append(
                    f"{name}, suite '{kills.scores.suite}': {missing} image x mutant pairs have "
                    f"no row (the mutant crashed there, or was not scored); they kill nothing"
                )
    return said


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
