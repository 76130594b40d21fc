"""Tables: one CSV of 38 columns per mutant, one row per image."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from scoring.errors import DataError
from scoring.faults import shown
from scoring.files import write_atomic
from scoring.limits import MAX_PASSES, MAX_TABLE_BYTES
from scoring.reading import read_text
from scoring.rows import COLUMNS, IMAGE_COLUMNS

STEM_COLUMN = "test_suite"
"""The first column holds the image's stem; its name is the published one."""

_COUNTS = [column for column in IMAGE_COLUMNS if column.endswith("_count")]
_SCORES = [column for column in COLUMNS if column not in _COUNTS]
_COUNT_PLACES = [COLUMNS.index(column) for column in _COUNTS]


def to_table(stems: Sequence[str], rows: npt.NDArray[np.float64]) -> pd.DataFrame:
    """Return a mutant's table.

    Args:
        stems: I images.
        rows: (I, 37) in the order of `COLUMNS`; a count may be NaN only where passes were
            curtailed.
    """
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    whole = "Int64" if np.isnan(rows[:, _COUNT_PLACES]).any() else np.int64
    table = table.astype(dict.fromkeys(_COUNTS, whole))
    table.insert(0, STEM_COLUMN, pd.Series(list(stems), dtype=object))
    return table


def write_table(path: Path, stems: Sequence[str], rows: npt.NDArray[np.float64]) -> None:
    """Write a mutant's CSV atomically; numbers in full precision, NaN as an empty cell."""
    text = to_table(stems, rows).to_csv(index=False, lineterminator="\n")
    write_atomic(path, text.encode())


def read_table(path: Path) -> pd.DataFrame:
    """Return a mutant's table as it was written, stems as text.

    A count may be missing only in a row that holds counts alone, as of curtailed passes; the
    column then holds floats.

    Raises:
        DataError: The file cannot be read or is too large, its columns are not the 38 expected
            ones, a row has another number of cells, or a cell is no number or no count.
    """
    rows = _read_rows(path)
    table = pd.DataFrame({STEM_COLUMN: pd.Series([row[0] for row in rows], dtype=object)})
    for place, column in enumerate(COLUMNS, start=1):
        try:
            numbers = np.array([_number(row[place]) for row in rows], dtype=np.float64)
        except ValueError as error:
            raise DataError(f"{path}: column '{column}': expected numbers ({error})") from error
        if column in _COUNTS:
            numbers = _as_counts(numbers, f"{path}: column '{column}'")
        table[column] = numbers
    scored = table[_SCORES].notna().any(axis=1)
    for column in _COUNTS:
        if (table[column].isna() & scored).any():
            raise DataError(f"{path}: column '{column}': expected a count in every row")
    return table


def _read_rows(path: Path) -> list[list[str]]:
    """Return the cells of every row of a mutant's CSV behind its header.

    By `csv` and not by pandas, which takes a row with a cell too many for one with an index, and
    fills one with too few.
    """
    try:
        text = read_text(path, MAX_TABLE_BYTES, "a mutant's CSV")
    except FileNotFoundError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from error
    lines = csv.reader(io.StringIO(text, newline=""), strict=True)
    expected = [STEM_COLUMN, *COLUMNS]
    rows: list[list[str]] = []
    try:
        header = next(lines, [])
        if header != expected:
            missing = [column for column in expected if column not in header]
            foreign = [column for column in header if column not in expected]
            raise DataError(
                f"{path}: expected the 38 columns of a mutant's CSV in their order; missing "
                f"{missing or 'none'}, not expected {shown(foreign) if foreign else 'none'}"
            )
        for row in lines:
            if not row:
                continue
            if len(row) != len(expected):
                raise DataError(f"{path}: line {lines.line_num}: expected 38 cells, got {len(row)}")
            rows.append(row)
    except csv.Error as error:
        raise DataError(f"{path}: line {lines.line_num}: no valid CSV ({error})") from error
    return rows


def _number(text: str) -> float:
    # By float(), which is exact: not every version of pandas reads the number that it wrote.
    if "_" in text:
        raise ValueError(f"could not convert string to float: {shown(text)}")
    return float(text or "nan")


def _as_counts(numbers: npt.NDArray[np.float64], where: str) -> npt.NDArray[Any]:
    """Return whole numbers, or floats where one is missing."""
    there = numbers[~np.isnan(numbers)]
    if ((there != np.floor(there)) | (there < 0) | (there > MAX_PASSES)).any():
        raise DataError(f"{where}: expected a count in every row, 0 to {MAX_PASSES:,}")
    return numbers.astype(np.int64) if len(there) == len(numbers) else numbers
