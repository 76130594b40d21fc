"""The documented folders of predictions and of scores, built and found again."""

from __future__ import annotations

from pathlib import Path

import pytest

from scoring.layout import Branch, find_branches, find_tables, original_tag, prediction_path


def test_predictions_lie_where_the_published_layout_has_them() -> None:
    branch = Branch("mc_dropblock", "retinanet", "orig")
    folder = branch.folder(Path("r"), "0.1_3", "38_Tennis_x.rf.795f")
    assert prediction_path(folder, 7).as_posix() == (
        "r/experiment_results_mc_dropblock/retinanet/dataset/orig/"
        "mc_dropblock_0.1_3_38_Tennis_x.rf.795f/prediction_7.json"
    )


def test_the_suite_is_orig_unless_named() -> None:
    assert Branch("mc_dropout", "m") == Branch("mc_dropout", "m", "orig")


@pytest.mark.parametrize(
    ("operator", "tag"), [("mc_dropout", "0"), ("mc_dropblock", "0_1"), ("identity", "0")]
)
def test_every_operator_has_a_tag_for_the_original(operator: str, tag: str) -> None:
    assert original_tag(operator) == tag


def test_scores_lie_below_study_model_and_operator() -> None:
    table = Branch("mc_dropout", "m").table(Path("out"), "study", "0.15")
    assert table.as_posix() == "out/study/m/mc_dropout/mutant_0.15.csv"
    named = Branch("mc_dropout", "m", "dim").table(Path("out"), "study", "0.15")
    assert named.as_posix() == "out/study/m/dim/mc_dropout/mutant_0.15.csv"


def test_branches_that_are_there_are_found_sorted(tmp_path: Path) -> None:
    expected = [
        Branch("mc_dropblock", "a"),
        Branch("mc_dropout", "a", "dim"),
        Branch("mc_dropout", "a", "plain"),
        Branch("mc_dropout", "b"),
    ]
    for branch in reversed(expected):
        branch.suite_folder(tmp_path).mkdir(parents=True)
    (tmp_path / "scores" / "x" / "dataset" / "orig").mkdir(parents=True)
    (tmp_path / "experiment_results_mc_dropout" / "no_dataset").mkdir()
    (tmp_path / "experiment_results_mc_dropout" / ".hidden" / "dataset" / "orig").mkdir(
        parents=True
    )
    (tmp_path / "experiment_results_file").write_text("")
    (tmp_path / "experiment_results_mc_dropout" / "a" / "dataset" / "notes.txt").write_text("")
    assert find_branches(tmp_path) == expected


def test_no_root_has_no_branch(tmp_path: Path) -> None:
    assert find_branches(tmp_path / "absent") == []


def test_tables_are_found_again_as_they_were_placed(tmp_path: Path) -> None:
    placed = [
        (Branch("mc_dropblock", "m"), "0.1_3"),
        (Branch("mc_dropout", "m"), "0.15"),
        (Branch("mc_dropout", "m", "dim"), "0.5"),
    ]
    for branch, tag in placed:
        path = branch.table(tmp_path, "study", tag)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    (tmp_path / "mutant_1.csv").write_text("")
    (tmp_path / "a/b/c/d/e").mkdir(parents=True)
    (tmp_path / "a/b/c/d/e/mutant_1.csv").write_text("")
    found = find_tables(tmp_path)
    assert {(table.branch, table.tag) for table in found} == set(placed)
    assert {table.case_study for table in found} == {"study"}
    assert [table.path for table in found] == sorted(table.path for table in found)
    for table in found:
        assert table.path == table.branch.table(tmp_path, "study", table.tag)
