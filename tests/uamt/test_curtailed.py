"""Curtailed experiments by the command line: what each command says of them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import orjson
import pandas as pd
import pytest

from runners.builtin import suites as builtin_suites
from scoring.layout import Branch
from tests.uamt.report_reader import Page, check_cell

Command = Callable[..., tuple[int, str, str]]
BRANCH = Branch("mc_dropout", "demo_fasterrcnn", "images")
SWEEP = ("--operators", "mc_dropout", "--dropout-rates", "0.05,0.3", "--passes", 7)


def photos(folder: Path) -> Path:
    folder.mkdir()
    for path in sorted(builtin_suites()["crowded"].glob("*.png"))[4:7]:
        shutil.copy(path, folder)
    return folder


@pytest.fixture(scope="module")
def curtailed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from uamt.cli import main

    folder = tmp_path_factory.mktemp("curtailed")
    root = folder / "experiment"
    arguments = ("run", "--model", "demo_fasterrcnn", "--images", photos(folder / "images"))
    assert main([str(a) for a in (*arguments, "--out", root, *SWEEP, "--curtail")]) == 0
    return root


@pytest.fixture
def root(curtailed: Path, tmp_path: Path) -> Path:
    """A copy that a test may change."""
    return Path(shutil.copytree(curtailed, tmp_path / "experiment"))


def test_bare_curtail_settles_misses_and_ghosts_together(uamt: Command, root: Path) -> None:
    settings = orjson.loads((root / "manifest.json").read_bytes())["models"]["demo_fasterrcnn"]
    assert settings["settings"]["curtail"]["kinds"] == "miss_ghost"
    code, out, _ = uamt("run", root / "experiment_demo_fasterrcnn.toml", "--out", root)
    assert code == 0
    assert "of mutants of 42 in a full campaign settle 'miss_ghost' by rule 'significant'" in out
    assert "0 units" in out


def test_score_and_suites_show_what_is_settled_and_dashes_else(uamt: Command, root: Path) -> None:
    code, out, err = uamt("score", root)
    assert code == 0
    assert "that could not change a verdict were not run" in err
    assert "nan" not in out
    summary = pd.read_csv(root / "scores" / "summary.csv").iloc[0]
    assert 0 < summary["kill_share_significant"] <= 1
    assert summary[["img_ms_holm", "kill_share_any", "obj_ms"]].isna().all()

    code, out, _ = uamt("suites", root / "scores")
    assert "nan" not in out
    folder = root / "scores" / "experiment" / "demo_fasterrcnn"
    kills = pd.read_csv(folder / "images" / "ua_ms_kills.csv")
    both = kills[kills["kind"] == "miss_ghost"]
    assert both["significant"].notna().all()
    assert (both["n_open_significant"] == 0).all()
    assert kills["holm"].isna().all()
    shares = pd.read_csv(folder / "ua_ms_kill_shares.csv").set_index("kind").loc["miss_ghost"]
    assert shares["kill_share_significant"] == summary["kill_share_significant"]


def test_a_row_holds_counts_and_nothing_else(uamt: Command, root: Path) -> None:
    uamt("score", root)
    table = pd.read_csv(BRANCH.table(root / "scores", "experiment", "0.3"), dtype=str)
    there = table.columns[table.notna().any()].tolist()
    assert all(name == "test_suite" or name.endswith("_count") for name in there)
    counts = table["[img_level] iskill_miss_ghost_count"]
    assert counts.notna().all()
    assert set(counts) <= {"0", "1", "2"}


def test_a_missing_pass_is_found_also_where_fewer_are_meant(uamt: Command, root: Path) -> None:
    folders = sorted((BRANCH.suite_folder(root)).glob("mc_dropout_0.3_*"))
    victim = max(folders[0].glob("prediction_*.json"), key=lambda path: path.name)
    victim.unlink()
    code, _, err = uamt("score", root)
    assert code == 3
    assert "passes are missing" in err
    assert "do not settle 'miss_ghost'" in err


def test_a_full_experiment_still_needs_every_pass(uamt: Command, root: Path) -> None:
    path = root / "manifest.json"
    manifest = orjson.loads(path.read_bytes())
    manifest["models"]["demo_fasterrcnn"]["settings"]["curtail"] = None
    path.write_bytes(orjson.dumps(manifest))
    code, _, err = uamt("score", root)
    assert code == 3
    assert "of another configuration" in err
    (root / "ledger.jsonl").unlink()  # as of passes that came from elsewhere
    code, _, err = uamt("score", root)
    assert code == 3
    assert "is missing under" in err


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--rules", "strict"), "Holm's correction"),
        (("--passes", "3"), "tell nothing of another T"),
        (("--skip-nonfinite",), "leave it out"),
    ],
)
def test_rules_that_need_all_passes_are_refused(
    uamt: Command, root: Path, flags: tuple[str, ...], message: str
) -> None:
    code, _, err = uamt("score", root, *flags)
    assert code == 2
    assert message in err


def test_a_study_of_curtailed_passes_is_refused(uamt: Command, root: Path) -> None:
    uamt("score", root)
    code, _, err = uamt("study", root / "scores")
    assert code == 3
    assert "needs a run without --curtail" in err


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--kill-rule", "any"), "expected --curtail"),
        (("--curtail", "--kill-rule", "holm"), "any or significant, got 'holm'"),
        (("--curtail", "misses"), "miss_ghost or miss or ghost or all"),
        (("--curtail-mutants",), "which kind kills"),
        (("--curtail", "--chunk", "2"), "one by one"),
        (("--curtail", "--curtail-mutants", "--shard", "1/2"), "follow each other"),
    ],
)
def test_flags_that_do_not_fit_are_refused(
    uamt: Command, root: Path, flags: tuple[str, ...], message: str
) -> None:
    images = root.parent / "one"
    code, _, err = uamt(
        "run",
        "--model",
        "demo_fasterrcnn",
        "--images",
        photos(images),
        *SWEEP,
        *flags,
        "--out",
        root.parent / "never",
    )
    assert code == 2
    assert message in err
    assert not (root.parent / "never").exists()


def test_a_report_shows_what_is_settled(uamt: Command, root: Path) -> None:
    assert uamt("score", root)[0] == 0
    code, _, err = uamt("report", root)
    assert (code, err) == (0, "")
    page = Page(root / "report.html")
    for cell in page.cells:
        check_cell(cell, root / "scores")
    assert "nan" not in {cell.text for cell in page.cells}
    assert page.json()["views"]
    counts = pd.read_csv(root / "scores" / "ua_ms_state_counts.csv").iloc[-1]
    assert counts["mutants"] == 2
    assert counts[["killed", "trivial", "survived", "disputed"]].sum() == 2
    strips = [e for e in page.all("li") if "data-pass" in e.attributes]
    passes = pd.read_csv(root / "scores" / "report_passes.csv")
    assert len(strips) == len(passes) < 7 * 2 * 3
