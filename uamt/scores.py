"""Scoring an experiment: from prediction files to one CSV per mutant and a row per suite."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from scoring.errors import DataError
from scoring.layout import Branch, find_branches
from scoring.rules import DEEPLUQ, Rules
from scoring.suites import SuiteScores, collect
from scoring.sweep import Sweep, find_sweep, score_sweep

if TYPE_CHECKING:
    import pandas as pd

# Fully connected sites have no DropBlock; the study lists MC-Dropout first.
_OPERATOR_ORDER = ("mc_dropout", "mc_dropblock")

OnImage = Callable[[Sweep, str], None]


def score(
    root: str | Path,
    out: str | Path | None = None,
    *,
    case_study: str | None = None,
    passes: int | None = None,
    rules: Rules = DEEPLUQ,
) -> pd.DataFrame:
    """Score every mutant of an experiment, write one CSV each, and return a row per suite.

    Args:
        root: The experiment's folder, as `uamt run` or another tool wrote it.
        out: Folder of the CSVs; None means `scores` in the experiment's folder.
        case_study: Name of the folder below `out`; None means the experiment's name.
        passes: T, the first passes of every folder; None means all.
        rules: Which definition each number follows.

    Raises:
        DataError: There are no predictions, a pass is missing, or a file is broken.
    """
    from scoring.summary import summarise

    suites, _ = score_root(
        Path(root), Path(out) if out else None, case_study=case_study, passes=passes, rules=rules
    )
    return summarise(suites, rules)


def score_root(
    root: Path,
    out: Path | None = None,
    *,
    case_study: str | None = None,
    passes: int | None = None,
    rules: Rules = DEEPLUQ,
    on_image: OnImage | None = None,
) -> tuple[list[SuiteScores], list[Path]]:
    """Score every operator, model and suite of an experiment.

    Args:
        root: The experiment's folder.
        out: As in `score`.
        case_study: As in `score`.
        passes: As in `score`.
        rules: Which definition each number follows.
        on_image: Called with the sweep and the stem of each image that was scored.

    Returns:
        The scores of each model and suite, and the CSVs written.

    Raises:
        DataError: As in `score`.
    """
    sweeps = find_sweeps(root)
    results = out or root / "scores"
    study = case_study or root.resolve().name
    by_suite: dict[tuple[str, str], list[SuiteScores]] = defaultdict(list)
    written: list[Path] = []
    for sweep in sweeps:
        scored = _score_one(sweep, passes, rules, on_image)
        by_suite[scored.model, scored.suite].append(scored)
        written += _write_tables(scored, sweep.branch, results, study)
    return [collect(model, suite, parts) for (model, suite), parts in by_suite.items()], written


def find_sweeps(root: Path) -> list[Sweep]:
    """Return what an experiment holds: models and suites by name, MC-Dropout before DropBlock.

    Raises:
        DataError: There are no prediction folders, or one of them lacks original or mutants.
    """
    branches = find_branches(root)
    if not branches:
        raise DataError(
            f"{root}: expected folders 'experiment_results_<operator>/<model>/dataset/<suite>', "
            f"found none; run 'uamt run' first, or name the folder that holds them"
        )
    crashed = _crashed_pairs(root)
    branches.sort(key=lambda branch: (branch.model, branch.suite, _rank(branch.operator)))
    return [
        find_sweep(root, branch, crashed=crashed.get(branch, frozenset())) for branch in branches
    ]


def _rank(operator: str) -> tuple[int, str]:
    known = operator in _OPERATOR_ORDER
    return (_OPERATOR_ORDER.index(operator) if known else len(_OPERATOR_ORDER)), operator


def _crashed_pairs(root: Path) -> dict[Branch, Collection[tuple[str, str]]]:
    """Return the pairs of stem and tag that the ledger says crashed; none without a ledger."""
    from runners.ledger import Ledger

    pairs: dict[Branch, set[tuple[str, str]]] = defaultdict(set)
    for unit, entry in Ledger(root).latest().items():
        if entry.status == "runtime_error":
            pairs[Branch(unit.operator, unit.model, unit.suite)].add((entry.stem, unit.tag))
    return dict(pairs)


def _score_one(
    sweep: Sweep, passes: int | None, rules: Rules, on_image: OnImage | None
) -> SuiteScores:
    rows = []
    for stem, image_rows in score_sweep(sweep, n_passes=passes, rules=rules):
        rows.append(image_rows)
        if on_image:
            on_image(sweep, stem)
    branch = sweep.branch
    return SuiteScores(
        branch.model,
        branch.suite,
        sweep.stems,
        tuple((branch.operator, tag) for tag in sweep.tags),
        np.stack(rows),
    )


def _write_tables(
    scored: SuiteScores, branch: Branch, results: Path, case_study: str
) -> Sequence[Path]:
    from scoring.tables import write_table

    written = []
    for number, (_, tag) in enumerate(scored.mutants):
        values = scored.values[:, number]
        has_passes = ~np.isnan(values[:, 0])
        stems = [stem for stem, there in zip(scored.stems, has_passes, strict=True) if there]
        path = branch.table(results, case_study, tag)
        write_table(path, stems, values[has_passes])
        written.append(path)
    return written
