"""Objects of sets of detections, gathered over the repetitions, by their public names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from scoring.errors import ConfigError
from scoring.matching import Matched, iou
from scoring.metrics_mut.records import Record, Repetitions, to_passes
from scoring.objects import MEASURES, ObjectTable, ghost_objects, match_objects, miss_objects
from scoring.passes import Passes
from scoring.rules import DEEPLUQ, Rules
from scoring.tracks import Tracks

Metrics = dict[str, Any]

_NO_ROWS = np.empty(0, np.int64)


def process_match_metrics(
    repetitions: Sequence[Sequence[tuple[Record, Record]]], *, rules: Rules = DEEPLUQ
) -> list[Metrics]:
    """Return the matched objects of all repetitions.

    Args:
        repetitions: T lists of pairs of original and mutant detection.
        rules: Which definition each number follows. Objects that are tracked over the passes
            (`strict`) need all detections of the original: see `ms_per_test_case_mutant`.

    Returns:
        One dict per object (an original's box to 4 decimals), in the order of first sight: id,
        label, match_rate, `{vr,ie,mi,var,ps}_orig` (squashed), `{vr,ie,mi,var,ps}_mut` (squashed
        and weighted by the rate), avg_iou (rate times mean IoU).

    Raises:
        ConfigError: The rules need more than the set.
        DataError: A detection lacks a field, or a number is not finite.

    Source: scoring.md, section 2, "match object", and section 5.
    """
    _refuse(rules, original_objects="tracked", difference="measures")
    original = to_passes([[pair[0] for pair in each] for each in repetitions], rules)
    mutant = to_passes([[pair[1] for pair in each] for each in repetitions], rules)
    rows = np.arange(len(original))
    overlap = iou(original.detections.boxes, mutant.detections.boxes)
    tracks = Tracks(original, mutant, Matched(rows, rows, overlap, _NO_ROWS, _NO_ROWS))
    table = match_objects([tracks], rules)
    return [
        {"id": k, "label": label, "match_rate": float(table.rate[k])}
        | _measures("orig", table.original[k])
        | _measures("mut", table.mutated[k])
        | {"avg_iou": float(table.iou[k])}
        for k, label in enumerate(table.labels.tolist())
    ]


def process_missing_set(repetitions: Repetitions, *, rules: Rules = DEEPLUQ) -> list[Metrics]:
    """Return the missed objects of all repetitions.

    Args:
        repetitions: T lists of originals that were missed.
        rules: As in `process_match_metrics`.

    Returns:
        One dict per object, in the order of first sight: id, label, miss_rate,
        `{vr,ie,mi,var,ps}_miss` (squashed and weighted by the rate).

    Raises:
        ConfigError: The rules need more than the set.
        DataError: A detection lacks a field, or a number is not finite.

    Source: scoring.md, section 2, "miss object", and section 5.
    """
    _refuse(rules, original_objects="tracked", original_uncertainty="own_passes")
    original = to_passes(repetitions, rules)
    matched = Matched(_NO_ROWS, _NO_ROWS, np.empty(0), np.arange(len(original)), _NO_ROWS)
    table = miss_objects([Tracks(original, _nothing(original), matched)], rules)
    return _one_sided(table, "miss")


def process_ghost_set_dbscan(
    repetitions: Repetitions, iou_threshold: float = 0.5, *, rules: Rules = DEEPLUQ
) -> list[Metrics]:
    """Return the ghost objects of all repetitions: clusters of overlapping ghosts.

    Args:
        repetitions: T lists of ghosts.
        iou_threshold: Least overlap that joins two ghosts (inclusive).
        rules: Which definition each number follows; ghosts that are tracked (`strict`) take the
            threshold of the rules.

    Returns:
        One dict per object, in the order of first sight: id, label (of its first ghost),
        ghost_rate, `{vr,ie,mi,var,ps}_ghost` (squashed and weighted by the rate).

    Raises:
        DataError: A detection lacks a field, or a number is not finite.

    Source: scoring.md, section 2, "ghost object", and section 5.
    """
    mutant = to_passes(repetitions, rules)
    matched = Matched(_NO_ROWS, _NO_ROWS, np.empty(0), _NO_ROWS, np.arange(len(mutant)))
    table = ghost_objects([Tracks(_nothing(mutant), mutant, matched)], iou_threshold, rules)
    return _one_sided(table, "ghost")


def _refuse(rules: Rules, **choices: str) -> None:
    """Refuse rules under which a set alone does not decide the numbers."""
    for field, choice in choices.items():
        if getattr(rules, field) == choice:
            raise ConfigError(
                f"rules: {field}='{choice}' needs all passes of original and mutant, not one set "
                f"of detections; call ms_per_test_case_mutant, or take rules.with_({field}=...)"
            )


def _nothing(other: Passes) -> Passes:
    none = np.zeros(other.n_passes, np.int64)
    return Passes(other.detections.take(_NO_ROWS), none)


def _one_sided(table: ObjectTable, kind: str) -> list[Metrics]:
    return [
        {"id": k, "label": label, f"{kind}_rate": float(table.rate[k])}
        | _measures(kind, table.mutated[k])
        for k, label in enumerate(table.labels.tolist())
    ]


def _measures(side: str, values: Any) -> Metrics:
    names = [f"{measure}_{side}" for measure in MEASURES]
    return dict(zip(names, values.tolist(), strict=True))
