"""`uamt study`: files, cautions, messages and exit codes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd
import pytest

from scoring.study import charts
from scoring.tables import read_table
from tests.study.tables import MUTANTS, write_results
from tests.uamt.conftest import Command

SUITES = {"orig": ["a", "b", "c"], "dalle": ["d", "e"], "sd": ["f", "g", "h"]}


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """One model on three suites."""
    return write_results(tmp_path / "scores", SUITES)


def test_tables_of_the_three_questions(uamt: Command, results: Path) -> None:
    code, stdout, stderr = uamt(
        "study", results, "--charts", "none", "--order", "orig,dalle,sd", "--label", "net=StDM_1"
    )
    assert (code, stderr) == (0, "")
    study = results / "study"
    names = {path.relative_to(study).as_posix() for path in study.rglob("*") if path.is_file()}
    assert names == {
        *("rq2_mutants.csv", "rq2_rows.csv", "rq2_pairs.csv", "rq3_spearman.csv"),
        "rq3_planes.csv",
        *(
            f"rq1/case/{name}.{form}"
            for name in ("img_metrics", "obj_metrics", "iou_metrics", "net_uc_metrics")
            for form in ("csv", "tex", "md")
        ),
    }
    assert r"\textit{StDM\_1}" in (study / "rq1" / "case" / "img_metrics.tex").read_text()
    mutants, rows, pairs = (
        pd.read_csv(study / f"rq2_{name}.csv") for name in ("mutants", "rows", "pairs")
    )
    assert set(mutants["n"]) == {27}
    assert set(rows["n"]) == {8 * 9}
    assert len(pairs) == 19 * 3
    assert pairs.loc[0, ["test_suite_1", "test_suite_2"]].tolist() == ["orig", "dalle"]
    said = stdout.splitlines()[-3:]
    assert said[0].startswith("17 tables and 0 charts of 1 model written")
    assert said[1] == f"Study: {study}"
    assert said[2].startswith(f"Next: uamt report {results} ")


def test_a_reader_is_cautioned(uamt: Command, results: Path) -> None:
    _, stdout, _ = uamt("study", results, "--charts", "none")
    for words in ("pseudo-replicates", "not independent", "not corrected", "no random sample"):
        assert words in stdout
    _, stdout, _ = uamt("study", results, "--charts", "none", "--holm", "--friedman")
    assert "not corrected" not in stdout
    assert "its columns are friedman*" in stdout
    assert "p_value_holm" in (results / "study" / "rq2_pairs.csv").read_text()
    assert "friedman_p_value" in (results / "study" / "rq2_mutants.csv").read_text()


def test_scores_that_repeat_the_miss_rate_are_said(uamt: Command, results: Path) -> None:
    assert "one finding and not three" not in uamt("study", results, "--charts", "none")[1]
    for path in results.rglob("mutant_*.csv"):
        table = read_table(path)
        for measure in ("vr", "var", "ps"):
            table[f"[miss] {measure}_diff"] = table["[miss] miss_rate"]
        table.to_csv(path, index=False)
    assert "one finding and not three" in uamt("study", results, "--charts", "none")[1]


def test_charts_of_every_score(
    uamt: Command, results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[list[str]] = []

    def draw(ratios: Mapping[str, pd.DataFrame], metric: str, image_format: str) -> bytes | None:
        drawn.append(list(ratios))
        return metric.encode() if metric != "[miss] ie_diff" else None

    monkeypatch.setattr(charts, "line_chart", draw)
    monkeypatch.setattr(charts, "surface_chart", draw)
    write_results(results, SUITES, model="other")
    code, stdout, _ = uamt(
        *("study", results, "--charts", "svg", "--out", tmp_path / "out", "--label", "net=StDM1")
    )
    assert code == 0
    folder = tmp_path / "out" / "rq3" / "case"
    written = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert len(written) == 36
    assert written["rate_match_iou_mean.svg"] == b"[match] iou_mean"
    assert written["surface_ghost_ps_diff.svg"] == b"[ghost] ps_diff"
    assert drawn == [["StDM1", "other"]] * 38
    assert "36 charts of 2 models" in stdout
    assert not (results / "study").exists()


def test_one_suite_is_compared_with_nothing(uamt: Command, tmp_path: Path) -> None:
    root = write_results(tmp_path / "scores", {"orig": ["a", "b"]}, mutants=MUTANTS[:3])
    code, stdout, stderr = uamt("study", root, "--charts", "none")
    assert code == 4
    assert "has no mc_dropblock results" in stderr
    study = root / "study"
    assert not list(study.glob("rq2_*"))
    assert (study / "rq3_spearman.csv").is_file()
    assert not (study / "rq3_planes.csv").exists()
    assert "pseudo-replicates" not in stdout


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--label", "net"], 2, "--label: expected MODEL=TEXT, got 'net'"),
        (["--order", "unknown"], 2, "got ['unknown']"),
        (["--charts", "pdf"], 2, "invalid choice: 'pdf'"),
    ],
)
def test_wrong_options_are_named(
    uamt: Command, results: Path, options: list[str], code: int, message: str
) -> None:
    found, _, stderr = uamt("study", results, *options)
    assert found == code
    assert message in stderr
    assert not (results / "study").exists()


def test_results_that_are_not_there_are_named(uamt: Command, tmp_path: Path) -> None:
    code, _, stderr = uamt("study", tmp_path)
    assert code == 3
    assert "expected tables" in stderr
