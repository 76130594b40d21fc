"""Small folders of mutants' CSVs for tests of suites and study."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from scoring.kill import binomial_test
from scoring.layout import Branch
from scoring.rows import COLUMNS, KINDS
from scoring.tables import write_table

MUTANTS = (
    ("mc_dropout", "0.1"),
    ("mc_dropout", "0.3"),
    ("mc_dropout", "0.5"),
    *(("mc_dropblock", f"{rate}_{block}") for rate in ("0.1", "0.3", "0.5") for block in (1, 3)),
)

PAPER = Path(os.environ.get("UAMT_PAPER", Path(__file__).parents[3] / "shared" / "data" / "paper"))
"""Folder of the published tables of two models, or of their archive; no part of this project."""


def row(counts: Sequence[int], others: np.ndarray, n_passes: int = 10) -> np.ndarray:
    """Return (37,) a row with so many changed passes per kind and 25 other values."""
    image = [
        value
        for count in counts
        for test in [binomial_test(int(count), n_passes)]
        for value in (test.p_value, test.cohens_h, test.power, test.count)
    ]
    return np.array([*image, *others])


def random_rows(stems: Sequence[str], seed: int) -> np.ndarray:
    """Return (I, 37) rows of random numbers."""
    random = np.random.default_rng(seed)
    rows = []
    for _ in stems:
        miss, ghost = random.integers(0, 6, 2)
        rows.append(row((miss, ghost, max(miss, ghost)), random.random(len(COLUMNS) - 12)))
    return np.stack(rows)


def write_results(
    root: Path,
    suites: Mapping[str, Sequence[str]],
    *,
    case_study: str = "case",
    model: str = "net",
    mutants: Sequence[tuple[str, str]] = MUTANTS,
) -> Path:
    """Write a table of random rows for every suite and mutant; `orig` stands in its own folder."""
    for s, (suite, stems) in enumerate(suites.items()):
        for m, (operator, tag) in enumerate(mutants):
            path = table_path(root, operator, tag, suite, case_study=case_study, model=model)
            write_table(path, stems, random_rows(stems, 100 * s + m))
    return root


def table_path(
    root: Path,
    operator: str,
    tag: str,
    suite: str | None,
    *,
    case_study: str = "case",
    model: str = "net",
) -> Path:
    """Return a mutant's table; None as the suite gives the place without a suite's folder."""
    if suite is None:
        return Branch(operator, model).table(root, case_study, tag)
    return root / case_study / model / suite / operator / f"mutant_{tag}.csv"


def column(kind: str, number: str) -> int:
    """Return the position of an image-level number."""
    assert kind in KINDS
    return COLUMNS.index(f"[img_level] iskill_{kind}_{number}")


@pytest.fixture(scope="session")
def paper(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The published tables of two models, unpacked outside the project."""
    import tarfile

    if (PAPER / "expected").is_dir():
        return PAPER
    archive = PAPER / "paper_open.tar.gz"
    if not archive.is_file():
        pytest.skip(f"the published tables are not at hand ({archive}); name them with UAMT_PAPER")
    folder = tmp_path_factory.mktemp("paper")
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    return folder / "paper_open"
