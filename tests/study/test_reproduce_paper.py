"""The published study, recomputed; and what the script says of data that differs."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from pathlib import Path
from types import ModuleType

import pandas as pd
import pytest

from scoring.results import read_results
from scoring.suite_tables import aggregate, suite_tables, write_tables
from tests.study.tables import write_results

SCRIPT = Path(__file__).parents[2] / "scripts" / "reproduce_paper.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("reproduce_paper", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A folder laid out like a clone of the study: tables and aggregates beside each other."""
    folder = tmp_path / "clone" / "experiment-data" / "results"
    for model in ("one", "two"):
        write_results(folder, {"orig": ["a", "b"], "sd": ["c", "d"]}, model=model)
    models = read_results(folder, order=["sd", "orig"])
    published = {
        path: table
        for path, table in suite_tables(aggregate(models)).items()
        if not path.name.startswith(("ua_ms_kill", "ua_ms_n_used"))
    }
    write_tables(folder, published)
    for name in ("mcb_block_size", "mcb_dropout_rate"):  # published with a nameless index
        pd.read_csv(folder / f"{name}.csv").to_csv(folder / f"{name}.csv")
    return tmp_path / "clone"


def said(capsys: pytest.CaptureFixture[str], file: str) -> str:
    lines = capsys.readouterr().out.splitlines()
    return next(line for line in lines if line.startswith(file))


def test_every_file_of_both_models_is_reproduced(
    script: ModuleType, paper: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert script.main(["--data", str(paper)]) == 0
    output = capsys.readouterr().out
    assert output.splitlines()[-1].startswith("35 of 35 files are reproduced")
    checks = {check.file: check for check in script.reproduce(paper)}
    assert sum(name.endswith("ua_ms.csv") for name in checks) == 6
    assert sum("own_unrounded" in name for name in checks) == 5
    for name, check in checks.items():
        if "repo_scripts" not in name and "mutant_" not in name:
            assert check.largest <= 1e-9, name


def test_a_clone_is_reproduced_with_its_own_order_of_suites(
    script: ModuleType, clone: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = clone.parent / "ours"
    assert script.main(["--data", str(clone), "--out", str(out)]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("14 of 14 files are reproduced")
    table = pd.read_csv(out / "case" / "one" / "ua_ms_model.csv")
    assert table["test_suite"].tolist() == ["sd", "orig"]


@pytest.mark.parametrize(
    ("file", "column", "change", "message"),
    [
        ("case/one/sd/ua_ms.csv", "[match] iou_mean", 2e-9, "[match] iou_mean: by up to 2e-09"),
        ("case/one/sd/ua_ms.csv", "iskill_miss", None, "iskill_miss: 1 differ"),
        ("case/two/ua_ms_model.csv", "[match] vr_diff", 1.0, "[match] vr_diff: by up to 1"),
        ("mcb_block_size.csv", "[match] vr_diff_CI95", 2e-8, "by up to 2e-08"),
        ("mcb_block_size.csv", "block_size", 1, "other rows"),
    ],
)
def test_a_figure_that_differs_is_named(
    script: ModuleType,
    clone: Path,
    capsys: pytest.CaptureFixture[str],
    file: str,
    column: str,
    change: float | None,
    message: str,
) -> None:
    path = clone / "experiment-data" / "results" / file
    table = pd.read_csv(path)
    table.loc[0, column] = (
        not table.loc[0, column] if change is None else table.loc[0, column] + change
    )
    table.to_csv(path, index=False)
    assert script.main(["--data", str(clone)]) == 1
    line = said(capsys, file)
    assert "DIFFERS" in line
    assert message in line


def test_differences_below_the_tolerance_are_none(script: ModuleType, clone: Path) -> None:
    for name, column, change in (
        ("mcb_block_size.csv", "[match] vr_diff_CI95", 9e-9),
        ("mcb_block_size.csv", "[match] vr_diff", 9e-10),
    ):
        path = clone / "experiment-data" / "results" / name
        table = pd.read_csv(path)
        table.loc[0, column] += change
        table.to_csv(path, index=False)
    assert script.main(["--data", str(clone)]) == 0


def test_rows_in_another_order_differ(
    script: ModuleType, clone: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = "case/one/sd/ua_ms.csv"
    path = clone / "experiment-data" / "results" / file
    pd.read_csv(path).iloc[::-1].to_csv(path, index=False)
    assert script.main(["--data", str(clone)]) == 1
    assert "rows in another order" in said(capsys, file)


def test_aggregates_without_their_tables_differ(
    script: ModuleType, clone: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.rmtree(clone / "experiment-data" / "results" / "case" / "two" / "sd" / "mc_dropout")
    assert script.main(["--data", str(clone)]) == 1
    assert "other rows" in said(capsys, "case/two/sd/ua_ms.csv")


def test_a_folder_without_the_study_is_named(
    script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert script.main(["--data", str(tmp_path)]) == 3
    assert "expected 'mc_dropout_mutation_ratio.csv'" in capsys.readouterr().err
