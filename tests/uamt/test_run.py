"""`uamt run`: from files and flags to prediction files, with messages for what is wrong."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from PIL import Image

from scoring.layout import Branch, find_branches
from scoring.predictions import read_passes
from tests.uamt.conftest import SMALL_RUN, Command, copy_photos
from uamt.configuration import campaign, load, resolve

DEMO = ("--model", "demo_retinanet")


def predictions(root: Path) -> dict[str, bytes]:
    kept = [*root.rglob("prediction_*.json"), root / "manifest.json"]
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in sorted(kept)}


def test_a_run_ends_with_what_was_done_where_it_lies_and_what_comes_next(
    uamt: Command, photos: Path, tmp_path: Path
) -> None:
    out = tmp_path / "experiment"
    code, stdout, stderr = uamt("run", *DEMO, "--images", photos, "--out", out, *SMALL_RUN)
    assert (code, stderr) == (0, "")
    assert "10 units (one image under one mutant or original, 3 passes) run in " in stdout
    assert ": 2 images under 3 mutants and 2 originals (one for each kind of noise: " in stdout
    assert "mc_dropout, mc_dropblock); 0 crashes" in stdout
    assert f"Predictions: {out.resolve()}" in stdout
    assert f"Next: uamt score {out}" in stdout
    assert len(predictions(out)) == 31


@pytest.mark.parametrize(
    ("model", "quick"),
    [
        ("fasterrcnn_resnet50_fpn", ("rpn_post_nms_top_n_test=50", "box_detections_per_img=20")),
        # Untrained, it scores everything .01, below its own threshold of .05.
        ("retinanet_resnet50_fpn", ("score_thresh=0.001", "detections_per_img=20")),
    ],
)
def test_random_weights_of_a_large_model_write_the_documented_tree(
    uamt: Command, photos: Path, tmp_path: Path, model: str, quick: tuple[str, str]
) -> None:
    out = tmp_path / "experiment"
    code, _, stderr = uamt(
        "run",
        "--model",
        model,
        "--model-arg",
        "min_size=320",
        "--model-arg",
        quick[0],
        "--model-arg",
        quick[1],
        "--images",
        photos,
        "--out",
        out,
        "--score-threshold",
        "0.0",
        *SMALL_RUN,
    )
    assert code == 0
    assert f"WARNING: {model} has RANDOM weights" in stderr
    assert f"the weights of {model} are RANDOM" in uamt("score", out)[2]
    assert "pass --weights DEFAULT" in stderr
    assert find_branches(out) == [
        Branch("mc_dropblock", model, "photos"),
        Branch("mc_dropout", model, "photos"),
    ]
    for operator, tags in (("mc_dropout", ("0", "0.1", "0.3")), ("mc_dropblock", ("0_1", "0.2_3"))):
        branch = Branch(operator, model, "photos")
        for tag in tags:
            for path in photos.iterdir():
                passes = read_passes(branch.folder(out, tag, path.stem))
                assert passes.n_passes == 3
                assert len(passes) > 0
                assert passes.detections.n_classes == 91


def test_the_saved_configuration_alone_runs_the_same_experiment(
    uamt: Command, photos: Path, tmp_path: Path
) -> None:
    out = tmp_path / "experiment"
    uamt("run", *DEMO, "--suites", f"a={photos}", "--out", out, "--classes", "1,2", *SMALL_RUN)
    saved = out / "experiment_demo_retinanet.toml"
    before = saved.read_text()
    code, stdout, _ = uamt("run", saved)
    assert (code, "10 done before" in stdout) == (0, True)
    assert saved.read_text() == before
    code, stdout, _ = uamt("run", saved, "--out", tmp_path / "again")
    assert code == 0
    assert predictions(tmp_path / "again") == predictions(out)


def test_a_flag_wins_over_the_file(uamt: Command, photos: Path, tmp_path: Path) -> None:
    file = tmp_path / "experiment.toml"
    file.write_text(
        f'passes = 9\nimages = "{photos}"\nout = "{tmp_path / "out"}"\n'
        '[model]\nname = "demo_retinanet"\n[operators.mc_dropout]\nrates = [0.5]\n'
    )
    code, stdout, _ = uamt("run", file, "--passes", "2")
    assert code == 0
    assert "4 units (one image under one mutant or original, 2 passes) run in " in stdout
    assert ": 2 images under 1 mutant and 1 original; 0 crashes" in stdout
    assert len(list((tmp_path / "out").rglob("prediction_*.json"))) == 8


def test_fully_connected_sites_leave_dropblock_out_and_say_so(
    uamt: Command, photos: Path, tmp_path: Path
) -> None:
    code, _, stderr = uamt(
        "run",
        "--model",
        "demo_fasterrcnn",
        "--images",
        photos,
        "--out",
        tmp_path / "out",
        "--sites",
        "last",
        "--dropout-rates",
        "0.3",
        "--passes",
        "2",
    )
    assert code == 0
    assert "mc_dropblock is left out: the sites 'last' of demo_fasterrcnn are fully" in stderr
    assert [branch.operator for branch in find_branches(tmp_path / "out")] == ["mc_dropout"]


def test_folders_can_be_suites(uamt: Command, tmp_path: Path) -> None:
    copy_photos(tmp_path / "all" / "day", 1)
    copy_photos(tmp_path / "all" / "night", 1, "dim")
    out = tmp_path / "out"
    code, _, _ = uamt(
        "run", *DEMO, "--images", tmp_path / "all", "--suites", "folders", "--out", out, *SMALL_RUN
    )
    assert code == 0
    assert {branch.suite for branch in find_branches(out)} == {"day", "night"}


class TestFoldersOfOneFolder:
    def notes(self, folder: Path, *options: str) -> list[str]:
        flags = {"model.name": "demo_retinanet", "images": str(folder)}
        flags |= dict(zip(options[::2], options[1::2], strict=True))
        values = resolve(None, flags)
        return campaign(values, load(values))[1]

    def test_they_are_one_suite_and_a_note_says_so(self, tmp_path: Path) -> None:
        copy_photos(tmp_path / "all" / "day", 1)
        copy_photos(tmp_path / "all" / "night", 1, "dim")
        (note,) = self.notes(tmp_path / "all")
        assert "lie in 2 folders (day, night), and are taken for one suite, 'all'; with" in note
        assert "--suites folders" in note
        assert self.notes(tmp_path / "all", "suites", "folders") == []
        copy_photos(tmp_path / "all" / "more", 0)
        (tmp_path / "all" / "loose.png").write_bytes(next(tmp_path.rglob("*.png")).read_bytes())
        assert self.notes(tmp_path / "all", "names", "path") == []

    def test_data_sets_divide_by_rules_of_their_own(self, tmp_path: Path) -> None:
        for folder in ("images/train", "images/val", "labels"):
            copy_photos(tmp_path / "yolo" / folder, 1, "dim" if "val" in folder else "plain")
        assert self.notes(tmp_path / "yolo") == []
        assert len(self.notes(tmp_path / "yolo" / "images")) == 1


def test_suites_that_are_neither_folders_nor_named_say_what_they_may_be(
    uamt: Command, photos: Path
) -> None:
    code, _, stderr = uamt("run", *DEMO, "--images", photos, "--suites", "folder")
    assert code == 2
    folders = "expected 'folders' (each folder in that of the images is a suite), or "
    assert f"--suites: {folders}NAME=SOURCE for each suite, got 'folder'" in stderr
    (photos / "experiment.toml").write_text("images = 'photos'\nsuites = 'folder'\n")
    code, _, stderr = uamt("run", photos / "experiment.toml", *DEMO)
    assert code == 2
    assert f"suites: {folders}a table of names and sources, got 'folder'" in stderr


def test_a_bad_image_is_skipped_and_the_exit_code_says_so(
    uamt: Command, photos: Path, tmp_path: Path
) -> None:
    (photos / "half.png").write_bytes(next(photos.glob("*.png")).read_bytes()[:500])
    out = tmp_path / "out"
    code, stdout, stderr = uamt("run", *DEMO, "--images", photos, "--out", out, *SMALL_RUN)
    assert code == 4
    assert "skipped image 'photos/half.png'" in stderr
    assert "1 unreadable image." in stdout
    code, _, stderr = uamt(
        "run",
        *DEMO,
        "--images",
        photos,
        "--out",
        tmp_path / "strict",
        "--on-error",
        "stop",
        *SMALL_RUN,
    )
    assert code == 3
    assert "half.png" in stderr
    code, stdout, stderr = uamt("score", out)
    assert code == 4
    assert "1 image without scores" in stderr


def run_in_process(*arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "uamt.cli", "run", *map(str, arguments)],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


def test_a_stopped_run_started_again_ends_as_an_undisturbed_one(
    uamt: Command, tmp_path: Path
) -> None:
    photos = copy_photos(tmp_path / "photos", 6)
    arguments = ("--images", photos, "--workers", 2, "--dropout-rates", "0.1,0.2,0.3,0.5")
    small = ("--blocks", "3,5", "--dropblock-rates", "0.2", "--passes", "2", "--chunk", "2")
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    code, _, _ = uamt("run", *DEMO, *arguments[:2], *arguments[4:], *small, "--out", whole)
    assert code == 0
    process = run_in_process(*DEMO, *arguments, *small, "--out", stopped)
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and process.poll() is None:
        if sum(1 for _ in stopped.rglob("prediction_0.json")) >= 5:
            break
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130, stderr
    assert "the same command goes on from there" in stderr
    assert "Traceback" not in stderr
    finished = sum(1 for _ in stopped.rglob("prediction_1.json"))
    assert 0 < finished < 48
    code, stdout, _ = uamt("run", *DEMO, *arguments[:2], *arguments[4:], *small, "--out", stopped)
    assert code == 0
    assert "0 done before" not in stdout
    assert predictions(stopped) == predictions(whole)
    assert not [*stopped.rglob("*.tmp")]


def write_wrong_weights(folder: Path) -> Path:
    path = folder / "wrong.pt"
    torch.save({"conv.weight": torch.zeros(2, 2)}, path)
    return path


def test_wrong_usage_says_what_to_do(uamt: Command, photos: Path, tmp_path: Path) -> None:
    out = ("--out", tmp_path / "out")
    here = ("--images", photos, *out)
    empty = tmp_path / "empty"
    empty.mkdir()
    twins = copy_photos(tmp_path / "twins", 1)
    original = next(twins.glob("*.png"))
    Image.open(original).save(original.with_suffix(".jpg"))
    torch_weights = write_wrong_weights(tmp_path)
    cases: list[tuple[int, str, tuple[object, ...]]] = [
        (2, "fasterrcnn_resnet50_fpn", ("--model", "fasterrcnn_resnet50_fpm", *here)),
        (2, "wrong.pt", ("--model", "ssd300_vgg16", "--weights", torch_weights, *here)),
        (3, "expected images", (*DEMO, "--images", empty, *out)),
        (3, "expected a folder", (*DEMO, "--images", tmp_path / "nowhere", *out)),
        (2, "odd", (*DEMO, *here, "--blocks", "3,4")),
        (
            2,
            "no map of four dimensions",
            ("--model", "demo_fasterrcnn", *here, "--sites", "last", "--operators", "mc_dropblock"),
        ),
        (2, "below 1, got 1\n", (*DEMO, *here, "--dropout-rates", "0.1,1")),
        (2, "below 1, got -0.1\n", (*DEMO, *here, "--dropout-rates=-0.1")),
        (2, "matches no module", (*DEMO, *here, "--sites", "backbone.nothing.*")),
        (2, "--names path", (*DEMO, "--images", twins, *out)),
        (2, "expected a model", here),
        (2, "expected images", (*DEMO, *out)),
        (2, "passes: expected a whole number from 1", (*DEMO, *here, "--passes", "0")),
        (2, "--passes: expected a whole number, got 'ten'", (*DEMO, *here, "--passes", "ten")),
        (2, "nearest are", (*DEMO, *here, "--operators", "mc_dropuot")),
        (2, "0..1", (*DEMO, *here, "--score-threshold", "50")),
        (2, "--workers: expected 1 or more", (*DEMO, *here, "--workers", "0")),
        (2, "device", (*DEMO, *here, "--device", "cuda:99")),
        (3, "experiment file", (tmp_path / "no.toml",)),
    ]
    for expected, message, arguments in cases:
        code, stdout, stderr = uamt("run", *arguments)
        assert (code, stdout) == (expected, ""), (arguments, stderr)
        assert message in stderr, (arguments, stderr)
        assert stderr.startswith("uamt: error: ")
        assert "Traceback" not in stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("pases = 3", "unknown key 'pases'; the nearest are passes"),
        ("[model]\nnmae = 'x'", "unknown key 'model.nmae'; the nearest are model.name"),
        ("[operators.mc_dropot]", "unknown key 'operators.mc_dropot'"),
        ("[operators.mc_dropout]\nblocks = [3]", "unknown key 'operators.mc_dropout.blocks'"),
        ("passes = 'ten'", "passes: expected a whole number, got 'ten'"),
        ("passes = true", "passes: expected a whole number, got True"),
        ("names = 'both'", "names: expected stem or path, got 'both'"),
        ("classes = ['cat']", "classes: expected a list, each a whole number"),
        ("suites = 3", "suites: expected 'folders' (each folder"),
        ("passes = ", "no valid TOML"),
    ],
)
def test_a_wrong_experiment_file_names_the_key(
    uamt: Command, tmp_path: Path, text: str, message: str
) -> None:
    file = tmp_path / "experiment.toml"
    file.write_text(text)
    code, _, stderr = uamt("run", file)
    assert code == 2
    assert str(file) in stderr
    assert message in stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("photos",), "photos: expected an experiment file, got a folder; a folder of images is"),
        (("photos/plain_00.png",), "images are given with --images, a model with --model"),
        (
            (*DEMO, "--images", "photos", "--dropout-rates", "0.1,10"),
            "--dropout-rates: expected shares of 0 or more and below 1, got 10; 10 % is 0.1",
        ),
    ],
)
def test_slips_are_told_with_what_was_meant(
    words: tuple[str, ...],
    message: str,
    uamt: Command,
    photos: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(photos.parent)
    code, _, stderr = uamt("run", *words)
    assert (code, message in stderr) == (2, True), stderr
