"""A mutant's CSV comes back as it was written, and any other file is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from scoring.errors import DataError
from scoring.rows import COLUMNS, IMAGE_COLUMNS
from scoring.tables import STEM_COLUMN, read_table, to_table, write_table

COUNTS = [COLUMNS.index(c) for c in IMAGE_COLUMNS if c.endswith("_count")]


def random_rows(n: int) -> np.ndarray:
    random = np.random.default_rng(n)
    rows = random.normal(size=(n, 37)) * 10.0 ** random.integers(-20, 3, (n, 37))
    rows[:, COUNTS] = random.integers(0, 11, (n, 3))
    return rows


def test_every_number_comes_back_bit_for_bit(tmp_path: Path) -> None:
    rows = random_rows(300)
    rows[5, 20] = rows[6, 12] = np.nan
    rows[7, 20] = 1e-20
    stems = [f"image_{i}" for i in range(300)]
    path = tmp_path / "study" / "model" / "mutant_0.1.csv"
    write_table(path, stems, rows)
    table = read_table(path)
    assert list(table.columns) == [STEM_COLUMN, *COLUMNS]
    assert table[STEM_COLUMN].tolist() == stems
    np.testing.assert_array_equal(table[list(COLUMNS)].to_numpy(dtype=float), rows)


def test_counts_are_whole_numbers_and_nan_is_an_empty_cell(tmp_path: Path) -> None:
    rows = np.zeros((1, 37))
    rows[0, 12] = np.nan
    path = tmp_path / "mutant_0.1.csv"
    write_table(path, ["x"], rows)
    header, line, end = path.read_text().split("\n")
    cells = line.split(",")
    assert header.split(",")[0] == "test_suite"
    assert (cells[0], cells[4], cells[13], cells[14], end) == ("x", "0", "", "0.0", "")
    table = read_table(path)
    assert table[COLUMNS[3]].dtype == np.int64
    assert np.isnan(table[COLUMNS[12]][0])


@pytest.mark.parametrize(
    "stem",
    ["38_Tennis_1", "007", "1.50", "NA", "nan", "null", "", "a,b", 'q"x', "a b.rf", "ä", "1e5"],
)
def test_a_stem_is_text_whatever_it_looks_like(stem: str, tmp_path: Path) -> None:
    path = tmp_path / "mutant_0.csv"
    write_table(path, [stem, "other"], np.zeros((2, 37)))
    assert read_table(path)[STEM_COLUMN].tolist() == [stem, "other"]


def test_a_table_without_images_has_its_columns(tmp_path: Path) -> None:
    path = tmp_path / "mutant_0.csv"
    write_table(path, [], np.empty((0, 37)))
    assert read_table(path).shape == (0, 38)
    assert to_table([], np.empty((0, 37))).shape == (0, 38)


def test_columns_that_are_missing_or_foreign_are_named(tmp_path: Path) -> None:
    path = tmp_path / "mutant_0.csv"
    table = to_table(["x"], np.zeros((1, 37)))
    table.rename(columns={COLUMNS[2]: "mine"}).to_csv(path, index=False)
    with pytest.raises(DataError) as caught:
        read_table(path)
    message = str(caught.value)
    assert str(path) in message
    assert f"missing ['{COLUMNS[2]}']" in message
    assert "not expected ['mine']" in message


def test_columns_in_another_order_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "mutant_0.csv"
    to_table(["x"], np.zeros((1, 37))).iloc[:, ::-1].to_csv(path, index=False)
    with pytest.raises(DataError, match="in their order"):
        read_table(path)


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00\x01", b'a,b\n1,2,3\n"'])
def test_what_is_no_table_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "mutant_0.csv"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"mutant_0\.csv"):
        read_table(path)


def test_a_table_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        read_table(tmp_path / "absent.csv")


@pytest.mark.parametrize(
    ("column", "cell", "said"),
    [(20, "much", "expected numbers"), (3, "", "expected a count"), (3, "few", "expected numbers")],
)
def test_a_cell_that_is_no_number_is_refused_by_its_column(
    column: int, cell: str, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "mutant_0.csv"
    table = to_table(["x"], np.zeros((1, 37))).astype(object)
    table.iloc[0, column + 1] = cell
    table.to_csv(path, index=False)
    with pytest.raises(DataError) as caught:
        read_table(path)
    assert f"column '{COLUMNS[column]}': {said}" in str(caught.value)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (lambda row: [row + ",0"], "line 2: expected 38 cells, got 39"),
        (lambda row: [row, row.rpartition(",")[0]], "line 3: expected 38 cells, got 37"),
        (lambda row: [row, row[:9]], "line 3: expected 38 cells"),
        (lambda row: [f'"{row}'], "no valid CSV"),
        (lambda row: [row.replace("0.25", "1_0", 1)], "expected numbers"),
        (lambda row: [row.replace(",3,", ",3.5,", 1)], "expected a count in every row"),
        (lambda row: [row.replace(",3,", ",-1,", 1)], "expected a count in every row"),
        (lambda row: [row.replace(",3,", ",1e300,", 1)], "expected a count in every row"),
    ],
)
def test_a_row_that_is_not_whole_is_refused(
    rows: Callable[[str], list[str]], said: str, tmp_path: Path
) -> None:
    """pandas takes a row with a cell too many for one with an index, and shifts all of it."""
    cells = ["3" if c.startswith("[img") and c.endswith("_count") else "0.25" for c in COLUMNS]
    header, row = ",".join(["test_suite", *COLUMNS]), ",".join(["a", *cells])
    path = tmp_path / "mutant_0.1.csv"
    path.write_text("\n".join([header, *rows(row), ""]))
    with pytest.raises(DataError, match=rf"mutant_0\.1\.csv: .*{said}"):
        read_table(path)
