"""Tables: one CSV of 38 columns per mutant, one row per image."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from scoring.errors import DataError
from scoring.files import write_atomic
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
        DataError: The file cannot be read, its columns are not the 38 expected ones, or a cell is
            no number.
    """
    try:
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read as a mutant's CSV ({error})") from error
    expected = [STEM_COLUMN, *COLUMNS]
    if list(table.columns) != expected:
        missing = [column for column in expected if column not in table.columns]
        foreign = [column for column in table.columns if column not in expected]
        raise DataError(
            f"{path}: expected the 38 columns of a mutant's CSV in their order; missing "
            f"{missing or 'none'}, not expected {foreign or 'none'}"
        )
    for column in COLUMNS:
        # By float(), which is exact: not every version of pandas reads the number that it wrote.
        texts = [text or "nan" for text in table[column]]
        try:
            numbers = np.array([float(text) for text in texts])
        except ValueError as error:
            raise DataError(f"{path}: column '{column}': expected numbers ({error})") from error
        if column in _COUNTS and np.isfinite(numbers).all():
            numbers = numbers.astype(np.int64)
        table[column] = numbers
    scored = table[_SCORES].notna().any(axis=1)
    for column in _COUNTS:
        missing = ~np.isfinite(table[column])
        if (missing & scored).any() or np.isinf(table[column]).any():
            raise DataError(f"{path}: column '{column}': expected a count in every row")
    return table
