"""`uamt score`: tables, the summary, and messages for files that are missing or broken."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import uamt as facade
from scoring.layout import Branch, find_tables
from scoring.predictions import read_passes
from scoring.rows import COLUMNS, score_image
from scoring.tables import read_table
from tests.uamt.conftest import Command

MODEL = "demo_retinanet"


def folder(experiment: Path, tag: str, number: int = 0) -> Path:
    found = sorted(experiment.rglob(f"mc_dropout_{tag}_*"))
    return found[number]


def test_one_table_per_mutant_with_the_rows_that_the_files_give(
    uamt: Command, experiment: Path
) -> None:
    code, stdout, _ = uamt("score", experiment)
    assert code == 0
    tables = find_tables(experiment / "scores")
    assert [(t.branch.operator, t.tag) for t in tables] == [
        ("mc_dropblock", "0.2_3"),
        ("mc_dropout", "0.1"),
        ("mc_dropout", "0.3"),
    ]
    assert {t.case_study for t in tables} == {"experiment"}
    assert "3 mutant tables and summary.csv" in stdout
    for table in tables:
        frame = read_table(table.path)
        branch, tag = table.branch, table.tag
        original = "0" if branch.operator == "mc_dropout" else "0_1"
        for _, row in frame.iterrows():
            passes = [
                read_passes(branch.folder(experiment, t, row["test_suite"]))
                for t in (original, tag)
            ]
            expected = score_image(passes[0], [passes[1]])[0]
            assert np.array_equal(row[list(COLUMNS)].to_numpy(float), expected, equal_nan=True)


def test_the_facade_returns_the_summary_that_is_written(experiment: Path) -> None:
    summary = facade.score(experiment)
    assert isinstance(summary, pd.DataFrame)
    assert summary[["model", "suite", "images", "mutants"]].to_numpy().tolist() == [
        [MODEL, "photos", 2, 3]
    ]


def test_the_first_passes_can_be_scored_alone(uamt: Command, experiment: Path) -> None:
    for path in experiment.rglob("prediction_2.json"):
        path.unlink()
    code, _, stderr = uamt("score", experiment, "--passes", "3")
    assert code == 3
    assert "pass 2 is missing under" in stderr
    assert "--passes" in stderr
    code, stdout, _ = uamt("score", experiment, "--passes", "2")
    assert (code, MODEL in stdout) == (0, True)


def test_a_missing_pass_names_image_folder_and_way_out(uamt: Command, experiment: Path) -> None:
    victim = folder(experiment, "0.3") / "prediction_1.json"
    victim.unlink()
    code, _, stderr = uamt("score", experiment)
    assert code == 3
    stem = victim.parent.name.removeprefix("mc_dropout_0.3_")
    assert f"image '{stem}': pass 1 is missing under {victim.parent}" in stderr
    assert "run 'uamt run' again" in stderr


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"label_0": {"box": [1, 2', "broken JSON"),
        (b"", "broken JSON"),
        (b"[1]", "expected an object"),
        (b'{"a": {"box": [0, 0, 1, 1], "label": 1}}', "'logit' is missing"),
        (b'{"a": {"box": [0, 0, 1], "label": 1, "logit": [1]}}', "box must be four numbers"),
    ],
)
def test_a_broken_file_is_named(
    uamt: Command, experiment: Path, content: bytes, message: str
) -> None:
    victim = folder(experiment, "0.1") / "prediction_0.json"
    victim.write_bytes(content)
    code, _, stderr = uamt("score", experiment)
    assert code == 3
    assert str(victim) in stderr
    assert message in stderr


def test_folders_without_predictions_are_named(uamt: Command, tmp_path: Path) -> None:
    code, _, stderr = uamt("score", tmp_path)
    assert code == 3
    assert "expected folders 'experiment_results_<operator>/<model>/dataset/<suite>'" in stderr
    Branch("mc_dropout", "m").suite_folder(tmp_path).mkdir(parents=True)
    code, _, stderr = uamt("score", tmp_path)
    assert code == 3
    assert "of the unmutated model, found none" in stderr
    code, _, stderr = uamt("score", tmp_path, "--passes", "0")
    assert code == 2


def test_scoring_loads_no_torch(experiment: Path) -> None:
    import subprocess
    import sys

    script = (
        "import sys; from uamt.cli import main; code = main(sys.argv[1:]); "
        "assert 'torch' not in sys.modules; sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, "score", str(experiment)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def everything(results: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(results)): path.read_bytes()
        for path in sorted(results.rglob("*"))
        if path.is_file()
    }


def test_two_workers_write_the_same_bytes_as_one(
    uamt: Command, experiment: Path, tmp_path: Path
) -> None:
    for number in (1, 2):
        code, _, _ = uamt("score", experiment, "--workers", number, "--out", tmp_path / f"{number}")
        assert code == 0
    written = everything(tmp_path / "1")
    assert "summary.csv" in written
    assert len(written) > 3
    assert everything(tmp_path / "2") == written


def test_an_error_in_a_worker_reads_as_without_workers(uamt: Command, experiment: Path) -> None:
    (folder(experiment, "0.3", 1) / "prediction_1.json").write_text("{")
    messages = [uamt("score", experiment, "--workers", number) for number in (1, 2)]
    assert [code for code, _, _ in messages] == [3, 3]
    assert "broken JSON" in messages[0][2]
    assert messages[0][2] == messages[1][2]


def test_no_worker_is_no_configuration(uamt: Command, experiment: Path) -> None:
    code, _, stderr = uamt("score", experiment, "--workers", 0)
    assert code == 2
    assert "workers: expected a whole number from 1 up, got 0" in stderr


def test_images_without_any_scores_are_named(uamt: Command, experiment: Path) -> None:
    ledger = experiment / "ledger.jsonl"
    lines = ledger.read_bytes().splitlines(keepends=True)
    broken = [
        line.replace(b'"done"', b'"unreadable_image"') for line in lines if b"plain_00.png" in line
    ]
    ledger.write_bytes(b"".join([*lines, *broken]))
    code, stdout, stderr = uamt("score", experiment)
    assert code == 4
    assert "1 image without scores" in stderr
    assert "'photos/plain_00.png' (demo_retinanet)" in stderr
    assert stdout.splitlines()[1].split()[:3] == [MODEL, "photos", "1"]


def test_what_the_numbers_mean_and_what_comes_next(uamt: Command, experiment: Path) -> None:
    """With three passes one changed pass is significant already."""
    _, stdout, _ = uamt("score", experiment)
    assert "With 3 passes one changed pass is significant already" in stdout
    assert "One suite alone tells little yet" in stdout
    assert "A kill says that something changed, not that it got worse" in stdout
    assert stdout.splitlines()[-2:] == [
        f"Next: uamt report {experiment}   # the same as one page, with pictures of kills",
        f"      uamt suites {experiment} --fail-under kill_share=.5   # for CI (docs/gate.md)",
    ]
    _, stdout, _ = uamt("score", experiment, "--binomial-n", "10", "--out", experiment / "other")
    assert "significant already" not in stdout
    report = f"uamt report {experiment / 'other'} --experiment {experiment}"
    assert f"Next: {report}   #" in stdout
    # Nothing says any more where the images lie.
    (saved,) = experiment.glob("experiment_*.toml")
    saved.unlink()
    _, stdout, _ = uamt("score", experiment)
    assert (
        f"Next: uamt report {experiment}   # the same as one page; where the images lie, and so "
        f"pictures of kills, it learns by --images FOLDER" in stdout
    )
