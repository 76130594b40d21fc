"""From prediction files or sets of detections to a test case's scores, by their public names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from scoring.errors import ConfigError, DataError
from scoring.finite import in_finite_passes
from scoring.layout import Branch
from scoring.metrics_mut.helper import COLUMN_NAMES
from scoring.metrics_mut.kills import kill_test
from scoring.metrics_mut.sets import (
    process_ghost_set_dbscan,
    process_match_metrics,
    process_missing_set,
)
from scoring.rows import COLUMNS, KINDS, score_image
from scoring.rules import DEEPLUQ, Rules
from scoring.safe_pickle import read_paths
from scoring.stems import output_stem
from scoring.sweep import Sweep, read_image, score_sweep
from scoring.tables import write_table
from scoring.tags import Rate, mutant_tag

__all__ = [
    "calcu_mutation_score",
    "ms_calcu_exec",
    "ms_per_test_case_mutant",
    "process_ghost_set_dbscan",
    "process_match_metrics",
    "process_missing_set",
]

Metrics = dict[str, Any]
MutationRate = Rate | Sequence[Any]
"""A rate, or a rate with a block size."""

_RATES = ("0.1", "0.15", "0.2", "0.25", "0.3", "0.35", "0.4", "0.45", "0.5")
_BLOCKS = (1, 3, 5, 7, 9)
_FULL_SWEEPS: dict[str, Sequence[MutationRate]] = {
    "mc_dropout": _RATES,
    "mc_dropblock": tuple((rate, block) for rate in _RATES for block in _BLOCKS),
}
_OBJECT_NAMES = {column: name for name, column in COLUMN_NAMES.items()}


def ms_per_test_case_mutant(
    test_case: str | Path,
    org_model: str,
    mutation_operator: str,
    mutation_rate: MutationRate,
    case_study: str | Path,
    T: int = 10,
    *,
    rules: Rules = DEEPLUQ,
    suite: str = "orig",
) -> tuple[Metrics, Metrics, Metrics, Metrics, Metrics, Metrics, Metrics]:
    """Return the scores of one image under one mutant, from prediction files.

    Args:
        test_case: The image; its name without an image suffix counts.
        org_model: The model's folder name.
        mutation_operator: mc_dropout or mc_dropblock.
        mutation_rate: A rate, or (rate, block).
        case_study: Folder that holds `experiment_results_{mutation_operator}`.
        T: Repetitions.
        rules: Which definition each number follows.
        suite: The suite's folder name.

    Returns:
        Kill tests of miss, ghost and either; the object ratios; the image's means of matches,
        misses and ghosts (`{vr,ie,mi,var,ps}_ms`, and `iou_ms`, `match_rate` / `miss_rate` /
        `ghost_rate`).

    Raises:
        ConfigError: T or the rate is no such number.
        DataError: A pass is missing or broken.

    Source: scoring.md, sections 1, 2 and 5.
    """
    branch, stem = Branch(mutation_operator, org_model, suite), _stem_of(test_case)
    sweep = Sweep(Path(case_study), branch, (stem,), (_tag_of(mutation_rate),))
    original, mutants = read_image(sweep, stem, n_passes=T, rules=rules)
    compared = list(in_finite_passes(original, mutants, rules))
    if not compared:
        raise DataError(f"image '{stem}': no pass is finite in both original and mutant")
    _, original, mutants = compared[0]
    row = dict(zip(COLUMNS, score_image(original, mutants, rules)[0].tolist(), strict=True))
    counts = [int(row[f"[img_level] iskill_{kind}_count"]) for kind in KINDS]
    kills = [kill_test(count, original.n_passes, rules) for count in counts]
    match, miss, ghost = (_group(row, group) for group in ("match", "miss", "ghost"))
    return kills[0], kills[1], kills[2], _group(row, "obj_level"), match, miss, ghost


def _group(row: Mapping[str, float], group: str) -> Metrics:
    """Return the columns of a group under the names that the means of objects have."""
    head = f"[{group}] "
    named = {name.removeprefix(head): row[name] for name in row if name.startswith(head)}
    return {_OBJECT_NAMES.get(name, name): value for name, value in named.items()}


def _stem_of(test_case: str | Path) -> str:
    return output_stem(Path(test_case).name)


def _tag_of(mutation_rate: MutationRate) -> str:
    if isinstance(mutation_rate, Sequence) and not isinstance(mutation_rate, str):
        if len(mutation_rate) != 2:
            raise ConfigError(
                f"mutation_rate: expected a rate or (rate, block), got {mutation_rate!r}"
            )
        return mutant_tag((mutation_rate[0], int(mutation_rate[1])))
    return mutant_tag(mutation_rate)


def calcu_mutation_score(
    test_set: Sequence[str | Path],
    org_model: str,
    mutation_operator: str,
    case_study_p: str | Path,
    case_study_n: str,
    save_folder: str | Path,
    mutation_rates: Sequence[MutationRate] | None = None,
    *,
    rules: Rules = DEEPLUQ,
    suite: str = "orig",
    T: int | None = 10,
) -> list[Path]:
    """Write one CSV per mutant, a row per image, and return the files.

    Args:
        test_set: Images; their names without an image suffix count.
        org_model: The model's folder name.
        mutation_operator: mc_dropout or mc_dropblock.
        case_study_p: Folder that holds `experiment_results_{mutation_operator}`.
        case_study_n: Name of the case study: a folder of results.
        save_folder: Where `{case_study_n}/{org_model}/{mutation_operator}/mutant_{tag}.csv` go;
            a suite other than `orig` has a folder of its own below the model.
        mutation_rates: Rates, or pairs of rate and block; None means .1 to .5 in steps of .05,
            for mc_dropblock with blocks 1, 3, 5, 7 and 9 each.
        rules: Which definition each number follows.
        suite: The suite's folder name.
        T: Repetitions; None means as many as there are.

    Raises:
        ConfigError: No image or rate is given, or the operator has no full sweep.
        DataError: A pass is missing or broken; nothing was written.

    Source: scoring.md, sections 1, 2 and 5.
    """
    if mutation_rates is None:
        if mutation_operator not in _FULL_SWEEPS:
            raise ConfigError(
                f"mutation_operator {mutation_operator!r}: expected mutation_rates, or one of "
                f"{', '.join(_FULL_SWEEPS)}, whose full sweep is known"
            )
        mutation_rates = _FULL_SWEEPS[mutation_operator]
    stems = tuple(_stem_of(test_case) for test_case in test_set)
    tags = tuple(_tag_of(rate) for rate in mutation_rates)
    if not stems or not tags:
        raise ConfigError("expected at least one image in test_set and one rate in mutation_rates")
    branch = Branch(mutation_operator, org_model, suite)
    sweep = Sweep(Path(case_study_p), branch, stems, tags)
    rows = np.stack([rows for _, rows in score_sweep(sweep, n_passes=T, rules=rules)])
    paths = [branch.table(Path(save_folder), case_study_n, tag) for tag in tags]
    for number, path in enumerate(paths):
        values = rows[:, number]
        has_passes = ~np.isnan(values[:, 0])
        kept = [stem for stem, there in zip(stems, has_passes, strict=True) if there]
        write_table(path, kept, values[has_passes])
    return paths


def ms_calcu_exec(
    case_study_name: str,
    case_study: Mapping[str, Mapping[str, Any]],
    save_folder: str | Path,
    *,
    rules: Rules = DEEPLUQ,
    suite: str = "orig",
    T: int | None = 10,
) -> list[Path]:
    """Write the CSVs of every model of a case study, DropBlock first, and return the files.

    Args:
        case_study_name: Which case study; also a folder of results.
        case_study: By name: `dataset`, the folder of `common_images_{model}_filtered.pkl` (a
            pickled list of paths; nothing else is loaded from it), `raw_result`, the folder that
            holds `experiment_results_{operator}`, and `models`.
        save_folder: As in `calcu_mutation_score`.
        rules: Which definition each number follows.
        suite: The suite's folder name.
        T: Repetitions; None means as many as there are.

    Raises:
        ConfigError: The case study or one of its three keys is not there.
        DataError: A list of images or a pass is missing or broken.

    Source: scoring.md, section 5.
    """
    if case_study_name not in case_study:
        raise ConfigError(f"case_study: expected '{case_study_name}', got {sorted(case_study)}")
    chosen = case_study[case_study_name]
    missing = [key for key in ("dataset", "raw_result", "models") if key not in chosen]
    if missing:
        raise ConfigError(f"case_study '{case_study_name}': {', '.join(missing)} missing")
    written = []
    for model in chosen["models"]:
        images = read_paths(Path(chosen["dataset"]) / f"common_images_{model}_filtered.pkl")
        for operator in ("mc_dropblock", "mc_dropout"):
            written += calcu_mutation_score(
                [image.name for image in images],
                model,
                operator,
                chosen["raw_result"],
                case_study_name,
                save_folder,
                rules=rules,
                suite=suite,
                T=T,
            )
    return written
