"""The tables behind a report: those of `uamt suites`, and those of verdicts and images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

import pandas as pd

from scoring.errors import DataError
from scoring.judgement import STRICT_NAME, judged
from scoring.kill_counts import CHANGED_NAME, IMAGES_NAME, changed_passes, image_table
from scoring.kill_rules import KillRule
from scoring.layout import Branch, find_tables
from scoring.results import Mutant
from scoring.rules import DEEPLUQ, Rules, rules_named
from scoring.standings import STANDINGS_NAME, standings
from scoring.states import COUNTS_NAME, STATES_NAME, mutant_states, state_counts
from scoring.suite_tables import ModelAggregates, Tables, suite_tables
from scoring.suites import SuiteScores
from scoring.summary import verdict_rule
from scoring.tags import tag_order
from uamt.report_numbers import TableFile


@dataclass(frozen=True, slots=True, eq=False)
class ReportTables:
    """The results of all models, and the tables whose cells are the numbers of the page.

    Args:
        models: Means and kills of every model.
        labels: What the page calls each of them: the name, behind that of its case study where
            there are several.
        suites: All of them, as the rules judge them.
        rules: The rule set behind the scores.
        rule: Kill rule of the verdict.
        tables: By path below the folder of results.
        strict: By model: whether it is known what rule set `strict` says.
        mutant_tables: The mutants' own tables, below the folder of results.
    """

    models: tuple[ModelAggregates, ...]
    labels: tuple[str, ...]
    suites: tuple[SuiteScores, ...]
    rules: Rules
    rule: KillRule
    tables: Tables
    strict: tuple[bool, ...]
    mutant_tables: Mapping[tuple[object, ...], str]

    def table(self, *parts: str) -> TableFile:
        """Return a table by the parts of its path."""
        path = PurePosixPath(*parts)
        return TableFile(path, self.tables[path])

    def of_model(self, model: ModelAggregates, *parts: str) -> TableFile:
        """Return a table of a model by the parts of its path in the model's folder."""
        return self.table(*model.key, *parts)

    def mutant_path(self, model: ModelAggregates, scores: SuiteScores, mutant: Mutant) -> str:
        """Return the table of a mutant; suites that are lists of images share those of one."""
        operator, tag = mutant
        for suite in (scores.suite, Branch(operator, scores.model).suite):
            found = self.mutant_tables.get((*model.key, suite, operator, tag_order(tag)))
            if found is not None:
                return found
        return ""


def _mutant_tables(results: Path) -> dict[tuple[object, ...], str]:
    # By the order of its tag: a table of another tool may write 0.10 for 0.1.
    return {
        (
            table.case_study,
            table.branch.model,
            table.branch.suite,
            table.branch.operator,
            tag_order(table.tag),
        ): table.path.relative_to(results).as_posix()
        for table in find_tables(results)
    }


def report_tables(models: Sequence[ModelAggregates], results: Path) -> ReportTables:
    """Return every table of a report.

    Args:
        models: Means and kills of every model.
        results: Folder of the scores, where scoring left what `strict` says.

    Raises:
        DataError: The table of `strict` is broken.
    """
    tables = suite_tables(models)
    several = len({model.results.case_study for model in models}) > 1
    labels = ["/".join(model.key) if several else model.results.model for model in models]
    named = {
        facts.rules
        for model in models
        for suite in model.results.suites
        for facts in suite.facts.values()
    }
    rules = rules_named(named.pop()) if named else DEEPLUQ
    suites = [
        replace(suite, model=label)
        for model, label in zip(models, labels, strict=True)
        for suite in judged(model.results, rules)
    ]
    rule = verdict_rule(rules, suites)
    known, states = [], []
    for model in models:
        folder = PurePosixPath(*model.key)
        for name, kills in zip(model.suites, model.kills, strict=True):
            tables[folder / name / IMAGES_NAME] = image_table(kills, model.results.equivalent)
        tables[folder / CHANGED_NAME] = changed_passes(model.kills)
        strict = _read_strict(results / folder / STRICT_NAME)
        known.append(strict is not None)
        of_model = mutant_states(model.results, model.kills, rule, strict)
        tables[folder / STATES_NAME] = of_model
        states.append((*model.key, of_model))
    tables[PurePosixPath(COUNTS_NAME)] = state_counts(states)
    tables[PurePosixPath(STANDINGS_NAME)] = standings(suites, rules)
    return ReportTables(
        tuple(models),
        tuple(labels),
        tuple(suites),
        rules,
        rule,
        tables,
        tuple(known),
        _mutant_tables(results),
    )


def _read_strict(path: Path) -> pd.DataFrame | None:
    try:
        names = {"test_suite": str, "mutant_id": str}
        table = pd.read_csv(path, dtype=names, keep_default_na=False)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read ({error}); score again") from error
    if list(table.columns) != ["test_suite", "mutant_id", "killed", "equivalent"]:
        raise DataError(
            f"{path}: expected columns test_suite, mutant_id, killed, equivalent, got "
            f"{', '.join(table.columns)}; score again"
        )
    return table
