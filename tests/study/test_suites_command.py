"""`uamt suites`: files, the printed table, messages and exit codes."""

from __future__ import annotations

import pickle
import shutil
from pathlib import Path, PurePosixPath

import pandas as pd
import pytest

from scoring.branch_facts import BranchFacts, write_facts
from scoring.tables import read_table, write_table
from tests.study.tables import MUTANTS, random_rows, table_path, write_results
from tests.uamt.conftest import Command

SUITES = {"orig": ["a", "b", "c"], "dalle": ["d", "e"], "sd": ["f", "g", "h"]}
SUITE_FILES = ("ua_ms.csv", "ua_ms_kills.csv", "ua_ms_n_used.csv")
MODEL_FILES = (
    "ua_ms_model.csv",
    "ua_ms_model_dropout.csv",
    "ua_ms_model_dropblock.csv",
    "ua_ms_kill_shares.csv",
)
ROOT_FILES = (
    "mc_dropout_mutation_ratio.csv",
    "mc_dropblock_mutation_ratio.csv",
    "mcb_block_size.csv",
    "mcb_dropout_rate.csv",
)


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Two models on three suites."""
    root = tmp_path / "scores"
    for model in ("net", "other"):
        write_results(root, SUITES, model=model)
    return root


def test_every_table_stands_where_the_study_has_it(uamt: Command, results: Path) -> None:
    code, stdout, stderr = uamt("suites", results, "--order", "orig,dalle,sd")
    assert (code, stderr) == (0, "")
    expected = {Path(name) for name in ROOT_FILES}
    for model in ("net", "other"):
        expected |= {Path("case", model, name) for name in MODEL_FILES}
        expected |= {Path("case", model, s, name) for s in SUITES for name in SUITE_FILES}
    written = {p.relative_to(results) for p in results.rglob("*.csv") if "mutant_" not in p.name}
    assert written == expected
    table = pd.read_csv(results / "case" / "net" / "ua_ms_model.csv")
    assert table["test_suite"].tolist() == ["orig", "dalle", "sd"]
    assert len(pd.read_csv(results / "mc_dropblock_mutation_ratio.csv")) == 12
    assert stdout.splitlines()[-3:] == [
        "30 tables of 2 models written.",
        f"Tables: {results.resolve()}",
        f"Next: uamt report {results}   # the same as one page, with pictures",
    ]
    assert "Img-MS Holm" in stdout
    assert "kill share sig." in stdout


def test_tables_can_go_elsewhere_and_are_the_same_again(
    uamt: Command, results: Path, tmp_path: Path
) -> None:
    assert uamt("suites", results, "--out", tmp_path / "first")[0] == 0
    assert uamt("suites", results)[0] == 0
    assert uamt("suites", results, "--out", tmp_path / "second")[0] == 0
    first = {p.name: p.read_bytes() for p in (tmp_path / "first").rglob("*.csv")}
    assert first == {p.name: p.read_bytes() for p in (tmp_path / "second").rglob("*.csv")}
    assert not list((tmp_path / "first").rglob("mutant_*"))


@pytest.mark.parametrize("command", [("suites", "--out"), ("report", "--tables")])
def test_tables_of_others_under_our_names_are_kept(
    uamt: Command, results: Path, tmp_path: Path, command: tuple[str, str]
) -> None:
    """A study's own table lies where ours would go: nothing is written but into another folder."""
    name, flag = command
    published = results / "case" / "net" / "ua_ms_model.csv"
    published.write_text("as published\n")
    before = sorted(results.rglob("*"))
    code, stdout, stderr = uamt(name, results)
    assert (code, stdout) == (2, "")
    assert f"{published}: would be replaced, and uamt did not write it" in stderr
    assert f"{flag} ('uamt {name}')" in stderr
    assert sorted(results.rglob("*")) == before
    elsewhere = tmp_path / "elsewhere"
    assert uamt(name, results, flag, elsewhere)[0] == 0
    assert published.read_text() == "as published\n"
    assert (elsewhere / "case" / "net" / "ua_ms_model.csv").is_file()


def test_our_own_tables_are_replaced(uamt: Command, results: Path) -> None:
    assert uamt("suites", results)[0] == 0
    write_results(results, {**SUITES, "more": ["i"]}, model="net")
    assert uamt("suites", results)[0] == 0
    table = pd.read_csv(results / "case" / "net" / "ua_ms_model.csv")
    assert table["test_suite"].tolist() == ["dalle", "more", "orig", "sd"]


def test_one_table_is_divided_by_the_studys_pickles(uamt: Command, tmp_path: Path) -> None:
    root, stems = tmp_path / "scores", ["a", "b", "d", "e"]
    for m, (operator, tag) in enumerate(MUTANTS):
        write_table(table_path(root, operator, tag, None), stems, random_rows(stems, m))
    pickled = tmp_path / "common_images_net_filtered.pkl"
    paths = [PurePosixPath("/home/x/data") / f"{s}.jpg" for s in ("a", "b", "e")]
    pickled.write_bytes(pickle.dumps(paths))
    (tmp_path / "dalle.txt").write_text("d.png\ne.png\nz.png\n")
    code, stdout, _ = uamt(
        *("suites", root, "--suite", f"all={pickled}"),
        *("--suite", f"dalle={tmp_path / 'dalle.txt'}"),
    )
    assert code == 0
    shares = pd.read_csv(root / "case" / "net" / "ua_ms_kill_shares.csv")
    assert shares[["test_suite", "n_images"]].drop_duplicates().to_numpy().tolist() == [
        ["all", 3],
        ["dalle", 2],
    ]
    assert "dalle" in stdout


def test_a_model_without_dropblock_is_said_and_the_rest_is_done(
    uamt: Command, results: Path
) -> None:
    write_results(results, {"orig": ["a"]}, model="lone", mutants=MUTANTS[:3])
    code, _, stderr = uamt("suites", results)
    assert code == 4
    assert "note: model 'lone' of 'case' has no mc_dropblock results: " in stderr
    assert "ua_ms_model_dropblock.csv" in stderr
    folder = results / "case" / "lone"
    assert (folder / "ua_ms_model_dropout.csv").is_file()
    assert not (folder / "ua_ms_model_dropblock.csv").exists()
    ratios = pd.read_csv(results / "mc_dropblock_mutation_ratio.csv")
    assert set(ratios["model"]) == {"net", "other"}


def test_missing_rows_are_counted(uamt: Command, results: Path) -> None:
    path = table_path(results, "mc_dropout", "0.3", "orig")
    frame = read_table(path)
    write_table(path, ["a"], frame.iloc[:1, 1:].to_numpy(float))
    code, _, stderr = uamt("suites", results)
    assert code == 4
    assert "suite 'orig': 2 image x mutant pairs have no row" in stderr


def test_equivalent_mutants_and_empty_scores_are_said(uamt: Command, tmp_path: Path) -> None:
    root = write_results(tmp_path / "scores", {"orig": ["a", "b"]})
    path = table_path(root, "mc_dropout", "0.3", "orig")
    rows = random_rows(["a", "b"], 1)
    rows[:, -1] = float("nan")
    write_table(path, ["a", "b"], rows)
    write_facts(path.parent / "facts.json", BranchFacts("strict", 10, equivalent=("0.1",)))
    code, stdout, stderr = uamt("suites", root)
    assert code == 0
    assert "suite 'orig': 1 of 9 mutants have no value of up to 1 scores" in stderr
    assert "1 equivalent mutants are left out of every score" in stderr
    table = pd.read_csv(root / "case" / "net" / "orig" / "ua_ms.csv")
    assert table["equivalent_mutant"].tolist() == [True] + [False] * 8
    assert table.iloc[:, -1].isna().tolist() == [False, True] + [False] * 7
    n_used = pd.read_csv(root / "case" / "net" / "orig" / "ua_ms_n_used.csv")
    assert n_used.iloc[:3, -1].tolist() == [2, 0, 2]
    kills = pd.read_csv(root / "case" / "net" / "orig" / "ua_ms_kills.csv")
    assert kills["reliable"].isna().sum() == 18  # DropBlock has no facts
    assert stdout.splitlines()[1].split()[4] == "1"


def wrong_column(root: Path) -> None:
    path = table_path(root, "mc_dropout", "0.3", "orig")
    read_table(path).rename(columns={"[match] iou_mean": "iou"}).to_csv(path, index=False)


def wrong_suite(root: Path) -> None:
    rows = random_rows("abcd", 0)
    write_table(table_path(root, "mc_dropout", "0.3", "orig"), list("abcd"), rows)


@pytest.mark.parametrize(
    ("spoil", "options", "code", "message"),
    [
        (wrong_column, [], 3, "missing ['[match] iou_mean'], not expected ['iou']"),
        (wrong_suite, [], 3, "row 'd' is an image of suite 'dalle' of 'net'"),
        (None, ["--suite", "orig=FILE"], 3, "row 'a' is no image of suite 'orig' as"),
        (None, ["--suite", "new=FILE"], 3, "expected tables in folders of the suites ['new']"),
        (None, ["--suite", "orig=none.txt"], 3, "none.txt: cannot be opened"),
        (None, ["--suite", "orig"], 2, "--suite: expected NAME=FILE"),
        (None, ["--order", "orig,unknown"], 2, "got ['unknown']"),
        (None, ["--passes", "0"], 2, "--passes: expected 1 or more, got 0"),
    ],
)
def test_wrong_input_has_a_message_and_an_exit_code(
    uamt: Command,
    results: Path,
    tmp_path: Path,
    spoil: object,
    options: list[str],
    code: int,
    message: str,
) -> None:
    (tmp_path / "list.txt").write_text("z.png\n")
    if callable(spoil):
        spoil(results)
    given = [option.replace("FILE", str(tmp_path / "list.txt")) for option in options]
    found, _, stderr = uamt("suites", results, *given)
    assert found == code
    assert message in stderr
    assert not list(results.rglob("ua_ms*"))


def test_a_suite_with_no_image_in_common_is_named(uamt: Command, tmp_path: Path) -> None:
    write_table(table_path(tmp_path, "mc_dropout", "0.1", None), ["a"], random_rows("a", 0))
    (tmp_path / "sd.txt").write_text("z.png\n")
    code, _, stderr = uamt("suites", tmp_path, "--suite", f"sd={tmp_path / 'sd.txt'}")
    assert code == 3
    assert "suite 'sd' of 'net'" in stderr
    assert "no image in common" in stderr


def test_a_folder_without_tables_is_named(uamt: Command, tmp_path: Path) -> None:
    code, _, stderr = uamt("suites", tmp_path)
    assert code == 3
    assert "name the experiment's folder (--out of 'uamt run') once 'uamt score' has" in stderr


def test_the_experiment_stands_for_its_scores(uamt: Command, results: Path) -> None:
    """The tables stand beside the scores, also where the case study is called `scores`."""
    code, stdout, _ = uamt("suites", results.parent)
    assert code == 0
    assert f"Tables: {results.resolve()}" in stdout
    assert f"Next: uamt report {results.parent}   #" in stdout
    assert (results / "case" / "net" / "ua_ms_model.csv").is_file()
    shutil.move(results / "case", results.parent / "moved" / "scores")
    code, stdout, _ = uamt("suites", results.parent / "moved")
    assert code == 0
    assert (results.parent / "moved" / "scores" / "net" / "ua_ms_model.csv").is_file()
