"""Results: the mutants' tables of every model, gathered into suites of images."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from scoring.branch_facts import FACTS_NAME, BranchFacts, read_facts
from scoring.curtailed_rows import read_curtailed
from scoring.errors import ConfigError, DataError
from scoring.foreign_rows import refuse_disjoint_operators, refuse_foreign_rows
from scoring.layout import Table, expect_folder, find_tables
from scoring.membership import Members
from scoring.noise_floor import IDENTITY
from scoring.rows import COLUMNS
from scoring.suites import SuiteScores
from scoring.tables import STEM_COLUMN, read_table
from scoring.tags import plain_tag, tag_order

OPERATOR_ORDER = ("mc_dropout", "mc_dropblock")
"""The study lists MC-Dropout first; further operators follow by name."""

Mutant = tuple[str, str]
"""Operator and tag."""


@dataclass(frozen=True, slots=True, eq=False)
class SuiteResults:
    """One suite of a model: its rows, and what stands beside them.

    Args:
        scores: Rows of all mutants but the identity mutant.
        facts: By operator; none beside tables that another tool wrote.
        identity: (I, 37) rows of the identity mutant, NaN where it has none; None without one.
    """

    scores: SuiteScores
    facts: Mapping[str, BranchFacts] = field(default_factory=dict)
    identity: npt.NDArray[np.float64] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class ModelResults:
    """The suites of one model in one case study, in their order."""

    case_study: str
    model: str
    suites: tuple[SuiteResults, ...]

    @property
    def operators(self) -> tuple[str, ...]:
        """Operators of which some suite has a mutant, in their order."""
        mutants = {mutant for suite in self.suites for mutant in suite.scores.mutants}
        return tuple(dict.fromkeys(name for name, _ in sorted(mutants, key=mutant_order)))

    @property
    def equivalent(self) -> frozenset[Mutant]:
        """Mutants that equal the original on every image of all suites that have them.

        Source: scoring.md, section 3, row 18.
        """
        alike: set[Mutant] = set()
        differing: set[Mutant] = set()
        for suite in self.suites:
            for operator, tag in suite.scores.mutants:
                facts = suite.facts.get(operator)
                is_alike = facts is not None and tag in facts.equivalent
                (alike if is_alike else differing).add((operator, tag))
        return frozenset(alike - differing)


def mutant_order(mutant: Mutant) -> tuple[object, ...]:
    """Return a sort key: MC-Dropout, then DropBlock by rate and block size, then the others.

    Example:
        >>> mutants = [("mc_dropblock", "0.1_9"), ("mc_dropblock", "0.1_3"), ("mc_dropout", "0.5")]
        >>> [tag for _, tag in sorted(mutants, key=mutant_order)]
        ['0.5', '0.1_3', '0.1_9']
    """
    operator, tag = mutant
    known = operator in OPERATOR_ORDER
    rank = OPERATOR_ORDER.index(operator) if known else len(OPERATOR_ORDER)
    return rank, operator, tag_order(tag)


def read_results(
    results: Path,
    members: Sequence[Members] = (),
    order: Sequence[str] = (),
    *,
    on_table: Callable[[Path], None] | None = None,
) -> list[ModelResults]:
    """Return the suites of every model that a folder of results holds.

    Args:
        results: Folder of `{case}/{model}[/{suite}]/{operator}/mutant_{tag}.csv`.
        members: Suites by their images. A model whose tables stand in folders of these suites is
            checked against them; one whose tables stand in no suite's folder is divided into them.
        order: Suites in the order of rows and pairs; those not named follow by name. Without it,
            `members` give the order.
        on_table: Called with the path of each table that was read.

    Raises:
        ConfigError: `order` names a suite that is not there.
        DataError: There is no such folder, it holds no tables, a table is broken, or its rows do
            not fit the suite.
    """
    expect_folder(results)
    by_model: dict[tuple[str, str], dict[str, list[Table]]] = defaultdict(lambda: defaultdict(list))
    for table in find_tables(results):
        in_folder = len(table.path.relative_to(results).parts) == 5
        suite = table.branch.suite if in_folder or not members else ""
        by_model[table.case_study, table.branch.model][suite].append(table)
    if not by_model:
        raise DataError(
            f"{results}: expected tables '<case>/<model>/<suite>/<operator>/mutant_<tag>.csv', "
            f"found none; name the experiment's folder (--out of 'uamt run') once 'uamt score' has "
            f"scored it, or the folder of the tables"
        )
    folders = {suite for suites in by_model.values() for suite in suites}
    unused = [listed.suite for listed in members if listed.suite not in folders]
    if unused and "" not in folders:
        raise DataError(
            f"{results}: expected tables in folders of the suites {unused}, or in no suite's "
            f"folder; found them in the folders {sorted(folders)}"
        )
    names = (folders - {""}) | {listed.suite for listed in members}
    unknown = [name for name in order if name not in names]
    if unknown:
        raise ConfigError(f"suites: expected some of {sorted(names)}, got {unknown}")
    ranks = dict.fromkeys([*order, *(listed.suite for listed in members), *sorted(names)])
    models = [
        ModelResults(
            case_study, model, _model_suites(model, tables, members, list(ranks), on_table)
        )
        for (case_study, model), tables in sorted(by_model.items())
    ]
    _refuse_mixed_rules(results, models)
    return models


def _refuse_mixed_rules(results: Path, models: Sequence[ModelResults]) -> None:
    """Raise if the tables follow more than one rule set: their numbers cannot be compared."""
    named = {
        facts.rules for model in models for suite in model.suites for facts in suite.facts.values()
    }
    if len(named) > 1:
        raise DataError(
            f"{results}: expected tables of one rule set, found {sorted(named)} side by side; "
            f"score all of them again by one"
        )


def _model_suites(
    model: str,
    tables: Mapping[str, Sequence[Table]],
    members: Sequence[Members],
    order: Sequence[str],
    on_table: Callable[[Path], None] | None,
) -> tuple[SuiteResults, ...]:
    listed = {members_.suite: members_ for members_ in members}
    frames = {suite: _read_all(found, on_table) for suite, found in tables.items()}
    suites = []
    for name in order:
        if name in frames:
            refuse_foreign_rows(model, name, frames, listed.get(name))
            suites.append(_to_scores(model, name, frames[name]))
        elif name in listed and "" in frames:
            suites.append(_select(model, listed[name], frames[""]))
    return tuple(suites)


def _read_all(
    tables: Sequence[Table], on_table: Callable[[Path], None] | None
) -> dict[Table, pd.DataFrame]:
    frames = {}
    for table in tables:
        frame = read_table(table.path)
        twice = frame[STEM_COLUMN][frame[STEM_COLUMN].duplicated()]
        if len(twice):
            raise DataError(f"{table.path}: image '{twice.iloc[0]}' has more than one row")
        frames[table] = frame
        if on_table:
            on_table(table.path)
    return frames


def _to_scores(model: str, suite: str, frames: Mapping[Table, pd.DataFrame]) -> SuiteResults:
    """Return the rows of all mutants side by side; NaN where a mutant has no row of an image."""
    by_mutant: dict[Mutant, pd.DataFrame] = {}
    for table, frame in frames.items():
        mutant = (table.branch.operator, plain_tag(table.tag))
        if mutant in by_mutant:
            raise DataError(f"{table.path}: mutant '{mutant[1]}' has another table beside this one")
        if table.branch.operator != IDENTITY:
            by_mutant[mutant] = frame
    mutants = sorted(by_mutant, key=mutant_order)
    stems = list(
        dict.fromkeys(stem for mutant in mutants for stem in by_mutant[mutant][STEM_COLUMN])
    )
    if not stems:
        raise DataError(f"suite '{suite}' of '{model}': its tables have no row")
    refuse_disjoint_operators(model, suite, frames)
    position = {stem: i for i, stem in enumerate(stems)}
    values: npt.NDArray[np.float64] = np.full((len(stems), len(mutants), len(COLUMNS)), np.nan)
    for m, mutant in enumerate(mutants):
        frame = by_mutant[mutant]
        rows = [position[stem] for stem in frame[STEM_COLUMN]]
        values[rows, m] = frame[list(COLUMNS)].to_numpy(np.float64)
    facts = {
        folder.name: read
        for folder in dict.fromkeys(table.path.parent for table in frames)
        if (read := read_facts(folder / FACTS_NAME)) is not None
    }
    curtailed = read_curtailed(facts, stems, mutants, f"suite '{suite}' of '{model}'")
    return SuiteResults(
        SuiteScores(model, suite, tuple(stems), tuple(mutants), values, curtailed=curtailed),
        facts,
        _identity_rows(frames, position),
    )


def _identity_rows(
    frames: Mapping[Table, pd.DataFrame], position: Mapping[str, int]
) -> npt.NDArray[np.float64] | None:
    for table, frame in frames.items():
        if table.branch.operator == IDENTITY:
            values: npt.NDArray[np.float64] = np.full((len(position), len(COLUMNS)), np.nan)
            there = frame[frame[STEM_COLUMN].isin(list(position))]
            rows = [position[stem] for stem in there[STEM_COLUMN]]
            values[rows] = there[list(COLUMNS)].to_numpy(np.float64)
            return values
    return None


def _select(model: str, members: Members, frames: Mapping[Table, pd.DataFrame]) -> SuiteResults:
    chosen = {
        table: frame[[stem in members for stem in frame[STEM_COLUMN]]]
        for table, frame in frames.items()
    }
    if not any(len(frame) for frame in chosen.values()):
        raise DataError(
            f"suite '{members.suite}' of '{model}': {members.source} and the model's tables have "
            f"no image in common"
        )
    return _to_scores(model, members.suite, chosen)
