"""The published study, recomputed; and what the script says of data that differs."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pandas as pd
import pytest

from scoring.errors import DataError
from scoring.results import read_results
from scoring.suite_tables import Tables, aggregate, suite_tables, write_tables
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


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Tables]:
    """A folder laid out like a clone of the study, tables and aggregates beside each other."""
    folder = tmp_path_factory.mktemp("clone") / "experiment-data" / "results"
    for model in ("one", "two"):
        write_results(folder, {"orig": ["a", "b"], "sd": ["c", "d"]}, model=model)
    tables = suite_tables(aggregate(read_results(folder, order=["sd", "orig"])))
    ours = ("ua_ms_kill", "ua_ms_n_used")
    write_tables(folder, {p: t for p, t in tables.items() if not p.name.startswith(ours)})
    for name in ("mcb_block_size", "mcb_dropout_rate"):  # published with a nameless index
        pd.read_csv(folder / f"{name}.csv").to_csv(folder / f"{name}.csv")
    return folder, tables


@pytest.fixture
def published(untouched: tuple[Path, Tables], tmp_path: Path) -> Path:
    """A copy of the folder, to be changed."""
    return Path(shutil.copytree(untouched[0], tmp_path / "clone" / "published"))


@pytest.fixture
def tables(untouched: tuple[Path, Tables]) -> Tables:
    """Our tables."""
    return untouched[1]


def check_of(script: ModuleType, published: Path, tables: Tables, file: str) -> Any:
    checks = {check.file: check for check in script.check_aggregates(published, tables)}
    assert len(checks) == 14
    return checks[file]


def test_every_file_of_both_models_is_reproduced(
    script: ModuleType, paper: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = script.reproduce(paper)
    assert script.print_checks(found) == 0
    output = capsys.readouterr().out
    assert output.splitlines()[-1].startswith("35 of 35 files are reproduced")
    checks = {check.file: check for check in found}
    assert sum(name.endswith("ua_ms.csv") for name in checks) == 6
    assert sum("own_unrounded" in name for name in checks) == 5
    for name, check in checks.items():
        if "repo_scripts" not in name and "mutant_" not in name:
            assert check.largest <= 1e-9, name


def test_a_clone_is_reproduced_with_its_own_order_of_suites(
    script: ModuleType, published: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "ours"
    assert script.main(["--data", str(published.parent), "--out", str(out)]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("14 of 14 files are reproduced")
    table = pd.read_csv(out / "case" / "one" / "ua_ms_model.csv")
    assert table["test_suite"].tolist() == ["sd", "orig"]


def test_one_file_that_differs_fails_the_whole(
    script: ModuleType, published: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.rmtree(published / "case" / "two" / "sd" / "mc_dropout")
    (published / "mcb_block_size.csv").write_text("case_study,model,block_size\n")
    assert script.main(["--data", str(published.parent)]) == 1
    lines = capsys.readouterr().out.splitlines()
    (line,) = (line for line in lines if line.startswith("case/two/sd/ua_ms.csv"))
    assert "DIFFERS: other rows" in line
    (line,) = (line for line in lines if line.startswith("case/one/sd/ua_ms.csv"))
    assert line.endswith("same")


@pytest.mark.parametrize(
    ("file", "column", "change", "message"),
    [
        ("case/one/sd/ua_ms.csv", "[match] iou_mean", 2e-9, "[match] iou_mean: by up to 2e-09"),
        ("case/one/sd/ua_ms.csv", "[match] iou_mean", 9e-10, ""),
        ("case/one/sd/ua_ms.csv", "[match] iou_mean", float("nan"), "by up to inf"),
        ("case/one/sd/ua_ms.csv", "iskill_miss", None, "iskill_miss: 1 differ"),
        ("case/two/ua_ms_model.csv", "[match] vr_diff", 1.0, "[match] vr_diff: by up to 1"),
        ("mcb_block_size.csv", "[match] vr_diff_CI95", 2e-8, "by up to 2e-08"),
        ("mcb_block_size.csv", "[match] vr_diff_CI95", 9e-9, ""),
        ("mcb_block_size.csv", "[match] vr_diff", 9e-9, "by up to 9e-09"),
        ("mcb_block_size.csv", "block_size", 1, "other rows"),
    ],
)
def test_a_figure_that_differs_is_named(
    script: ModuleType,
    published: Path,
    tables: Tables,
    file: str,
    column: str,
    change: float | None,
    message: str,
) -> None:
    table = pd.read_csv(published / file)
    value = table.loc[0, column]
    table.loc[0, column] = not value if change is None else value + change
    table.to_csv(published / file, index=False)
    check = check_of(script, published, tables, file)
    assert message in check.problem
    assert bool(check.problem) == bool(message)


def test_rows_in_another_order_differ_but_models_may_stand_in_any(
    script: ModuleType, published: Path, tables: Tables
) -> None:
    for file, problem in (
        ("mc_dropout_mutation_ratio.csv", ""),
        ("case/one/sd/ua_ms.csv", "rows in another order"),
    ):
        path = published / file
        pd.read_csv(path).iloc[::-1].to_csv(path, index=False)
        assert check_of(script, published, tables, file).problem == problem


def test_columns_that_we_lack_and_files_without_tables_differ(
    script: ModuleType, published: Path, tables: Tables
) -> None:
    path = published / "case" / "one" / "sd" / "ua_ms.csv"
    pd.read_csv(path).assign(extra=1.0).to_csv(path, index=False)
    check = check_of(script, published, tables, "case/one/sd/ua_ms.csv")
    assert check.problem == "we have no columns ['extra']"
    (published / "case" / "three").mkdir()
    shutil.copy(path, published / "case" / "three" / "ua_ms.csv")
    checks = {check.file: check for check in script.check_aggregates(published, tables)}
    assert checks["case/three/ua_ms.csv"].problem == "its tables of mutants are not there"


def test_a_folder_without_the_study_is_named(
    script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert script.main(["--data", str(tmp_path)]) == 3
    assert "expected 'mc_dropout_mutation_ratio.csv'" in capsys.readouterr().err


def test_a_published_file_that_is_no_table_is_named(
    script: ModuleType, published: Path, tables: Tables
) -> None:
    (published / "mcb_block_size.csv").write_bytes(b"")
    with pytest.raises(DataError, match=r"mcb_block_size\.csv: cannot be read as a published"):
        list(script.check_aggregates(published, tables))


def test_a_folder_that_is_not_there_or_no_clone_says_how_to_get_one(
    script: ModuleType, tmp_path: Path
) -> None:
    with pytest.raises(DataError, match="found none; make it with 'git clone --depth 1 https"):
        script.reproduce(tmp_path / "UAMTERS")
    with pytest.raises(DataError, match=r"does not hold the study's tables.*clone .* again"):
        script.reproduce(tmp_path)
