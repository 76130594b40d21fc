"""A sweep finds images and mutants by names that cannot be parsed, and scores them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from scoring import sweep as sweep_module
from scoring.errors import ConfigError, DataError
from scoring.layout import Branch, original_tag, prediction_path
from scoring.predictions import write_prediction
from scoring.rows import COLUMNS
from scoring.rules import DEEPLUQ
from scoring.sweep import Sweep, find_sweep, read_image, score_sweep
from scoring.tables import read_table, write_table
from tests.scoring.golden_cases import WHOLE_SET, read_cases, write_tree
from tests.scoring.scenes import Box, found

A: Box = (0, 0, 10, 10)
COUNT = COLUMNS.index("[img_level] iskill_miss_count")


def write_images(
    root: Path, branch: Branch, tags: Sequence[str], stems: Sequence[str], n_passes: int = 2
) -> None:
    for tag in tags:
        for stem in stems:
            for t in range(n_passes):
                write_prediction(prediction_path(branch.folder(root, tag, stem), t), found([A]))


def swept(root: Path, operator: str, tags: Sequence[str], stems: Sequence[str]) -> Sweep:
    branch = Branch(operator, "model", "suite")
    write_images(root, branch, [original_tag(operator), *tags], stems)
    return find_sweep(root, branch)


STEMS = [
    ["38_Tennis_x", "3_y", "0_z"],  # begin with digits, as all published ones do
    ["x", "3_x", "1_x", "0.1_x", "0.1_3_x"],  # each the end of another
    ["image_086_png.rf.795f", "a.b.c"],
    ["_", "__x", "0", "3"],
    ["with space", "Ümlaut", "mc_dropout_0.1_x"],
]


@pytest.mark.parametrize("stems", STEMS)
@pytest.mark.parametrize(
    ("operator", "tags"),
    [
        ("mc_dropout", ["0.1", "0.15", "0.5", "1"]),
        ("mc_dropblock", ["0.1_1", "0.1_3", "0.15_1", "0.5_9"]),
    ],
)
def test_images_and_mutants_are_found_whatever_the_stems(
    operator: str, tags: list[str], stems: list[str], tmp_path: Path
) -> None:
    sweep = swept(tmp_path, operator, tags, stems)
    assert sweep.stems == tuple(sorted(stems))
    assert sweep.tags == tuple(tags)


def test_mutants_are_ordered_by_rate_then_block(tmp_path: Path) -> None:
    tags = ["0.1_11", "0.5_1", "0.05_9", "0.1_3", "0.1_9"]
    assert swept(tmp_path, "mc_dropblock", tags, ["x"]).tags == (
        *("0.05_9", "0.1_3", "0.1_9", "0.1_11", "0.5_1"),
    )


def test_another_operator_has_tags_without_underscores(tmp_path: Path) -> None:
    sweep = swept(tmp_path, "identity", ["1", "-15", "a+b"], ["1_x", "x"])
    assert (sweep.stems, sweep.tags) == (("1_x", "x"), ("-15", "1", "a+b"))


def test_folders_of_no_known_image_and_files_are_no_mutants(tmp_path: Path) -> None:
    branch = Branch("mc_dropout", "model", "suite")
    write_images(tmp_path, branch, ["0", "0.1"], ["x"])
    folder = branch.suite_folder(tmp_path)
    (folder / "mc_dropout_0.2_y").mkdir()
    (folder / "mc_dropout_0.3x").mkdir()
    (folder / "mc_dropout_0.4-x").mkdir()
    (folder / "other_0.6_x").mkdir()
    (folder / "0.7_x").mkdir()
    (folder / "mc_dropout_0.5_x").write_text("a file")
    assert find_sweep(tmp_path, branch).tags == ("0.1",)


def test_images_and_mutants_can_be_named(tmp_path: Path) -> None:
    swept(tmp_path, "mc_dropout", ["0.1", "0.2"], ["b", "a", "c"])
    branch = Branch("mc_dropout", "model", "suite")
    sweep = find_sweep(tmp_path, branch, stems=["c", "a"], tags=["0.2"])
    assert [stem for stem, _ in score_sweep(sweep)] == ["c", "a"]
    assert sweep.tags == ("0.2",)


def test_a_branch_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"experiment_results_mc_dropout.*found no folder"):
        find_sweep(tmp_path, Branch("mc_dropout", "model"))


def test_without_the_original_nothing_can_be_scored(tmp_path: Path) -> None:
    branch = Branch("mc_dropout", "model", "suite")
    write_images(tmp_path, branch, ["0.1"], ["x"])
    with pytest.raises(DataError, match="'mc_dropout_0_<image>' of the unmutated model"):
        find_sweep(tmp_path, branch)


def test_without_a_mutant_nothing_can_be_scored(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="at least one mutant beside the original"):
        swept(tmp_path, "mc_dropblock", [], ["x"])


def test_rows_come_image_by_image_and_mutant_by_mutant(tmp_path: Path) -> None:
    sweep = swept(tmp_path, "mc_dropout", ["0.1", "0.2"], ["a", "b"])
    gone = sweep.branch.folder(tmp_path, "0.2", "b")
    write_prediction(prediction_path(gone, 1), found([]))
    rows = dict(score_sweep(sweep))
    assert list(rows) == ["a", "b"]
    assert rows["a"].shape == (2, 37)
    assert [rows[stem][:, COUNT].tolist() for stem in "ab"] == [[0, 0], [0, 1]]


def test_the_original_is_read_once_for_all_mutants(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep = swept(tmp_path, "mc_dropout", ["0.1", "0.2", "0.3"], ["a", "b"])
    folders = []
    real = sweep_module.read_passes

    def counting(folder: Path, *arguments: object) -> object:
        folders.append(folder.name)
        return real(folder, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(sweep_module, "read_passes", counting)
    list(score_sweep(sweep))
    expected = [f"mc_dropout_{tag}_{stem}" for stem in "ab" for tag in ("0", "0.1", "0.2", "0.3")]
    assert folders == expected


def test_a_missing_folder_of_a_mutant_is_named_with_its_image(tmp_path: Path) -> None:
    sweep = swept(tmp_path, "mc_dropout", ["0.1"], ["a", "b"])
    folder = sweep.branch.folder(tmp_path, "0.1", "b")
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    with pytest.raises(DataError, match=r"image 'b': pass 0 is missing under .*mc_dropout_0\.1_b"):
        list(score_sweep(sweep))


def test_a_broken_file_is_named_with_its_image(tmp_path: Path) -> None:
    sweep = swept(tmp_path, "mc_dropout", ["0.1"], ["a", "b"])
    prediction_path(sweep.branch.folder(tmp_path, "0.1", "a"), 1).write_text("{")
    with pytest.raises(DataError, match=r"image 'a': .*prediction_1\.json: broken JSON"):
        list(score_sweep(sweep))


@pytest.mark.parametrize("n_passes", [3, 100])
def test_more_passes_than_there_are_are_refused(n_passes: int, tmp_path: Path) -> None:
    sweep = swept(tmp_path, "mc_dropout", ["0.1"], ["a"])
    with pytest.raises(DataError, match=f"image 'a': pass 2 is missing .*T={n_passes}, 2 files"):
        list(score_sweep(sweep, n_passes=n_passes))


@pytest.mark.parametrize("n_passes", [0, -2])
def test_less_than_one_pass_is_refused(n_passes: int, tmp_path: Path) -> None:
    """0 is not "all of them"."""
    sweep = swept(tmp_path, "mc_dropout", ["0.1"], ["a"])
    with pytest.raises(ConfigError, match=f"at least 1, got {n_passes}"):
        list(score_sweep(sweep, n_passes=n_passes))


def test_fewer_passes_of_a_mutant_are_missing_passes(tmp_path: Path) -> None:
    sweep = swept(tmp_path, "mc_dropout", ["0.1"], ["a"])
    prediction_path(sweep.branch.folder(tmp_path, "0.1", "a"), 1).unlink()
    with pytest.raises(DataError, match="pass 1 is missing"):
        list(score_sweep(sweep))
    original, mutants = read_image(sweep, "a", n_passes=1)
    assert [passes.n_passes for passes in (original, *mutants)] == [1, 1]


def test_more_passes_of_a_mutant_must_be_asked_away(tmp_path: Path) -> None:
    sweep = swept(tmp_path, "mc_dropout", ["0.1"], ["a"])
    write_prediction(prediction_path(sweep.branch.folder(tmp_path, "0.1", "a"), 2), found([]))
    with pytest.raises(DataError, match=r"holds more than the 2 passes .*--passes 2"):
        list(score_sweep(sweep))
    assert [rows[0, COUNT] for _, rows in score_sweep(sweep, n_passes=2)] == [0]


def test_pairs_that_crashed_are_rows_of_nan(tmp_path: Path) -> None:
    sweep = swept(tmp_path, "mc_dropout", ["0.1", "0.2"], ["a", "b"])
    known = find_sweep(tmp_path, sweep.branch, crashed=[("b", "0.1")])
    folder = sweep.branch.folder(tmp_path, "0.1", "b")
    for path in folder.iterdir():
        path.unlink()
    rows = dict(score_sweep(known))
    assert np.isnan(rows["b"][0]).all()
    assert not np.isnan(rows["b"][1]).any()
    assert not np.isnan(rows["a"]).any()


@pytest.mark.parametrize("operator", ["mc_dropout", "mc_dropblock"])
def test_the_tables_of_the_goldens_are_reproduced(operator: str, tmp_path: Path) -> None:
    """All images that are sound under both mutants and have ten passes, by sorted stem."""
    if not WHOLE_SET.is_dir():
        pytest.skip(f"the whole golden set is not at hand ({WHOLE_SET}); name it with UAMT_GOLDEN")
    chosen = [
        case
        for case in read_cases(WHOLE_SET / "cases")
        if case["operator"] == operator
        and case["T"] == 10
        and all(mutant["expected"]["status"] == "ok" for mutant in case["mutants"].values())
    ]
    for case in chosen:
        branch = write_tree(tmp_path, case)
    sweep = find_sweep(tmp_path, branch)
    scored = dict(score_sweep(sweep, rules=DEEPLUQ.with_(nonfinite="keep")))
    assert len(scored) == len(chosen) > 30
    published = sorted((WHOLE_SET / "csv" / operator).glob("*.csv"))
    assert [path.name for path in published] == [f"mutant_{tag}.csv" for tag in sweep.tags]
    for number, path in enumerate(published):
        own = tmp_path / "scores" / path.name
        write_table(own, sweep.stems, np.stack([rows[number] for rows in scored.values()]))
        ours, theirs = read_table(own), read_table(path)
        assert ours["test_suite"].tolist() == theirs["test_suite"].tolist()
        np.testing.assert_allclose(
            ours[list(COLUMNS)], theirs[list(COLUMNS)], rtol=0, atol=1e-9, equal_nan=True
        )
