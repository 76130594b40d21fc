"""Columns of a mutant's table, and objects shown as tables, by their public names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from scoring.errors import DataError
from scoring.objects import MEASURES
from scoring.rows import COLUMNS, KINDS
from scoring.stems import output_stem
from scoring.tables import STEM_COLUMN

Metrics = Mapping[str, Any]
Columns = dict[str, list[Any]]

COLUMN_NAMES = {"iou_ms": "iou_mean", **{f"{m}_ms": f"{m}_diff" for m in MEASURES}}
"""How a table calls the means of objects."""


def init_metrics() -> Columns:
    """Return an empty list for every column of a mutant's table.

    Example:
        >>> len(init_metrics()), init_metrics()["test_suite"]
        (38, [])
    """
    return {name: [] for name in (STEM_COLUMN, *COLUMNS)}


def update_metrics(metrics: Columns, test_case: str | Path, *results: Metrics) -> Columns:
    """Append the row of one image to the columns, and return them.

    Args:
        metrics: As `init_metrics` returns them; they are changed.
        test_case: The image; its name without an image suffix is written.
        *results: The seven dicts of `ms_per_test_case_mutant`, in their order.

    Raises:
        DataError: There are not seven, or one lacks a number.
    """
    if len(results) != 7:
        raise DataError(
            f"expected the seven results of ms_per_test_case_mutant, got {len(results)}"
        )
    row: dict[str, Any] = {STEM_COLUMN: output_stem(Path(test_case).name)}
    for kind, test in zip(KINDS, results[:3], strict=True):
        head = f"[img_level] iskill_{kind}_"
        for name, value in test.items():
            row[head + ("count" if name == "observed_success" else name)] = value
    for group, values in zip(("obj_level", "match", "miss", "ghost"), results[3:], strict=True):
        for name, value in values.items():
            row[f"[{group}] {COLUMN_NAMES.get(name, name)}"] = value
    missing = [name for name in metrics if name not in row]
    if missing:
        raise DataError(f"expected the results of ms_per_test_case_mutant; {missing[0]} is missing")
    for name, column_values in metrics.items():
        column_values.append(row[name])
    return metrics


def print_metric(
    match_metrics: Sequence[Metrics],
    miss_metrics: Sequence[Metrics],
    ghost_metrics: Sequence[Metrics],
) -> None:
    """Print three aligned tables: matched, missed and ghost objects.

    Args:
        match_metrics: As `process_match_metrics` returns them, with or without scores.
        miss_metrics: As `process_missing_set` returns them, with or without scores.
        ghost_metrics: As `process_ghost_set_dbscan` returns them, with or without scores.

    Example:
        >>> print_metric([], [{"id": 0, "label": 2, "miss_rate": 0.1}], [])
        Matches: 0
        <BLANKLINE>
        Misses: 1
         id  label  miss_rate
          0      2     0.1000
        <BLANKLINE>
        Ghosts: 0
    """
    import pandas as pd

    tables = []
    for title, objects in (
        ("Matches", match_metrics),
        ("Misses", miss_metrics),
        ("Ghosts", ghost_metrics),
    ):
        text = f"{title}: {len(objects)}"
        if objects:
            shown = pd.DataFrame(list(objects))
            text += "\n" + shown.to_string(index=False, float_format="{:.4f}".format)
        tables.append(text)
    print("\n\n".join(tables))
