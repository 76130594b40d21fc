"""Mutation ratios: each mutant's scores over a model's suites, and over one parameter."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from scoring.aggregates import MEAN_COLUMNS, MutantMeans, mean_of_known
from scoring.results import Mutant
from scoring.suites import UA_MS_COLUMNS
from scoring.tags import parse_rate

RATIO_COLUMNS = (
    *(f"[obj_level] kill_rate_{kind}_mean" for kind in ("miss", "ghost", "miss_ghost")),
    "[match] iou_mean",
    *UA_MS_COLUMNS,
)
"""The 19 scores of the ratio tables: 3 of objects, the overlap, 15 uncertainty-aware ones."""

HALF_WIDTH_COLUMNS = tuple(f"{column}_CI95" for column in RATIO_COLUMNS)

MODEL_KEYS = ("case_study", "model")
RATE, BLOCK = "dropout_rate", "block_size"

_CHOSEN = [MEAN_COLUMNS.index(column) for column in RATIO_COLUMNS]


def half_width_95(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the half-width of the 95 % t interval of a mean over rows, column by column.

    Args:
        values: (S, D) one row per suite; NaN is skipped.

    Returns:
        (D,) t(.975, n - 1) * sd / sqrt(n), sd with n - 1; NaN where fewer than two values are left.

    Source: scoring.md, section 4, number 3.

    Example:
        >>> half_width_95(np.array([[1.0], [2.0], [3.0]])).round(4).tolist()
        [2.4841]
    """
    from scipy.special import stdtrit

    mean, number = mean_of_known(values)
    squares = np.where(np.isnan(values), 0.0, (values - mean) ** 2).sum(axis=0)
    degrees = np.maximum(number - 1, 1)
    widths = stdtrit(degrees, 0.975) * np.sqrt(squares / degrees) / np.sqrt(np.maximum(number, 1))
    return np.where(number > 1, widths, np.nan)


def mutation_ratio(
    models: Mapping[tuple[str, str], Sequence[MutantMeans]], operator: str
) -> pd.DataFrame:
    """Return `mc_dropout_mutation_ratio.csv` or `mc_dropblock_mutation_ratio.csv`.

    Args:
        models: Case study and model, with the mutants of each suite.
        operator: `mc_dropout` or `mc_dropblock`.

    Returns:
        One row per model and mutant: its keys, the mean over suites of 19 scores, and their 19
        half-widths. A suite where the mutant is equivalent or has no value is left out.

    Source: scoring.md, section 4, number 3.
    """
    keys = [*MODEL_KEYS, RATE, *([BLOCK] if operator == "mc_dropblock" else [])]
    rows = []
    for model, suites in models.items():
        per_mutant: dict[Mutant, list[npt.NDArray[np.float64]]] = defaultdict(list)
        for means in suites:
            for mutant, equivalent, values in zip(
                means.mutants, means.equivalent, means.means, strict=True
            ):
                if mutant[0] == operator:
                    per_mutant[mutant].append(
                        np.full(len(_CHOSEN), np.nan) if equivalent else values[_CHOSEN]
                    )
        for (_, tag), values_of_suites in per_mutant.items():
            stacked = np.stack(values_of_suites)
            mean, _ = mean_of_known(stacked)
            numbers = [*_parameters(tag), *mean.tolist(), *half_width_95(stacked).tolist()]
            rows.append([*model, *numbers])
    return pd.DataFrame(rows, columns=[*keys, *RATIO_COLUMNS, *HALF_WIDTH_COLUMNS])


def _parameters(tag: str) -> list[float | int]:
    """Return rate, and block size if there is one."""
    rate, _, block = tag.partition("_")
    return [float(parse_rate(rate)), *([int(block)] if block else [])]


def mean_per_parameter(
    dropblock_ratio: pd.DataFrame, key: Literal["block_size", "dropout_rate"]
) -> pd.DataFrame:
    """Return `mcb_block_size.csv` or `mcb_dropout_rate.csv`: means over the other parameter.

    The half-widths are averaged as well, as published; a mean half-width is no interval.

    Args:
        dropblock_ratio: As `mutation_ratio` returns it for `mc_dropblock`.
        key: The parameter that stays.

    Source: scoring.md, section 4, number 4.
    """
    columns = [*RATIO_COLUMNS, *HALF_WIDTH_COLUMNS]
    tables = [
        rows.groupby([*MODEL_KEYS, key])[columns].mean().reset_index()
        for _, rows in dropblock_ratio.groupby(list(MODEL_KEYS), sort=False)
    ]
    return pd.concat(tables, ignore_index=True) if tables else dropblock_ratio.iloc[:0]
