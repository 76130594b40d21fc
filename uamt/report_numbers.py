"""Numbers of a report: each knows the table, row and column that it comes from."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

import pandas as pd

NOTHING = "-"
"""What stands for a number that is not known, as an empty cell does in a table."""


def _points(value: float, digits: str = ".0f") -> str:
    return f"{100 * value:{digits}}".replace("-", "\u2212")


FORMATS: Mapping[str, Callable[[float], str]] = {
    "whole": lambda value: f"{value:,.0f}",
    "percent": lambda value: f"{value:.0%}",
    "points": _points,
    "tenths": lambda value: _points(value, ".1f").removesuffix(".0"),
    "three": lambda value: f"{value:.3f}",
    "two": lambda value: f"{value:.2f}",
    "text": str,
}
"""How numbers are written; a point is a hundredth, and tenths are points with a decimal."""


@dataclass(frozen=True, slots=True)
class Number:
    """A number of the page, and the cell of a CSV that it is.

    Args:
        text: As it is shown.
        value: As the CSV has it, in full; empty where the cell is.
        table: The CSV, by its path below the folder of results.
        row: Its row there, 0 for the first below the header; or the image that it is of.
        column: Its column.
        form: Its name in `FORMATS`.
        exact: The number itself, NaN where there is none.
    """

    text: str
    value: str
    table: str
    row: int | str
    column: str
    form: str
    exact: float


@dataclass(frozen=True, slots=True, eq=False)
class TableFile:
    """A table that stands in a CSV.

    Args:
        path: Of the CSV, below the folder of results.
        frame: Its content, rows numbered from 0.
    """

    path: PurePosixPath
    frame: pd.DataFrame

    def number(self, row: int, column: str, form: str = "three") -> Number:
        """Return one cell as the page shows it."""
        cell: Any = self.frame.at[row, column]
        path = self.path.as_posix()
        if cell is None or cell is pd.NA or (isinstance(cell, float) and math.isnan(cell)):
            return Number(NOTHING, "", path, row, column, form, math.nan)
        if form == "text":
            return Number(str(cell), str(cell), path, row, column, form, math.nan)
        value = float(cell)
        written = repr(value) if isinstance(cell, float) else str(int(cell))
        return Number(FORMATS[form](value), written, path, row, column, form, value)

    def row_of(self, **keys: object) -> int:
        """Return the first row that has these values."""
        chosen = pd.Series(data=True, index=self.frame.index)
        for column, value in keys.items():
            chosen &= self.frame[column] == value
        return int(chosen.to_numpy().argmax())
