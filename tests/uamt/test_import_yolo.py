"""`uamt import yolo`: text outputs as prediction files, in pixels of the upright image."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from scoring.predictions import read_passes
from tests.uamt.conftest import Command
from tests.uamt.foreign_outputs import COMMON, DATASET, folder


@pytest.fixture
def yolo(tmp_path: Path, uamt: Command) -> Any:
    """Import passes of text by stem; returns exit code, stdout, stderr."""
    photos = tmp_path / "photos"
    photos.mkdir()
    Image.new("RGB", (100, 80)).save(photos / "38_Tennis.v1.png")
    turned = Image.Exif()
    turned[0x0112] = 6
    Image.new("RGB", (40, 50)).save(photos / "b.jpg", exif=turned)

    def run(passes: list[dict[str, str]], *options: object) -> tuple[int, str, str]:
        folders = []
        for t, texts in enumerate(passes):
            folders.append(tmp_path / f"pass_{t}")
            shutil.rmtree(folders[-1], ignore_errors=True)
            folders[-1].mkdir()
            for stem, text in texts.items():
                (folders[-1] / f"{stem}.txt").write_text(text)
        where = ("--out", tmp_path / "out", *COMMON, "--tag", "0.1")
        if "--sizes" not in options:
            where = (*where, "--images", photos)
        return uamt("import", "yolo", *folders, *where, *options)

    return run


def test_text_becomes_prediction_files_in_pixels(yolo: Any, tmp_path: Path) -> None:
    lines = "1 0.5 0.5 0.5 0.25 0.75 0.25 0.75\n\n0 0.5 0.5 1 1 0.9 0.9 0.1\n"
    code, stdout, _ = yolo([{"38_Tennis.v1": lines}, {"b": lines, "classes": "cat\ndog"}])
    assert code == 0
    tennis = read_passes(folder(tmp_path, "38_Tennis.v1"))
    assert tennis.counts.tolist() == [2, 0]
    assert tennis.detections.boxes.tolist() == [[0, 0, 100, 80], [25, 30, 75, 50]]
    assert tennis.detections.labels.tolist() == [0, 1]
    assert tennis.detections.scores.tolist() == [0.9, 0.75]
    assert tennis.detections.probs.tolist() == [[0.9, 0.1], [0.25, 0.75]]
    # Upright, as its EXIF data says, the image is 50 wide and 40 high.
    assert read_passes(folder(tmp_path, "b")).detections.boxes[0].tolist() == [0, 0, 50, 40]
    assert (
        "4 detections on 2 images, 2 passes; 2 of 4 files hold detections, the others are empty"
        in stdout
    )


def test_text_without_vectors_needs_one_hot(yolo: Any, tmp_path: Path) -> None:
    texts = [{"b": "3 0.5 0.5 1 1 0.5"}]
    code, _, stderr = yolo(texts)
    assert code == 3
    assert "b.txt: line 1: no class vector behind the confidence" in stderr
    code, _, stderr = yolo(texts, "--one-hot")
    assert (code, "--n-classes" in stderr) == (2, True)
    code, _, stderr = yolo(texts, "--one-hot", "--n-classes", "80")
    assert (code, "made up (one-hot)" in stderr) == (0, True)
    vector = read_passes(folder(tmp_path, "b")).detections.probs[0]
    assert (len(vector), vector[3], np.count_nonzero(vector)) == (80, 0.5, 1)


@pytest.mark.parametrize(
    "content",
    ["name,width,height\n38_Tennis.v1.png,100,80\nb.jpg,50,40\n", json.dumps(DATASET)],
)
def test_sizes_can_be_given(yolo: Any, tmp_path: Path, content: str) -> None:
    sizes = tmp_path / ("sizes.json" if content.startswith("{") else "sizes.csv")
    sizes.write_text(content)
    code, _, _ = yolo([{"b": "0 0.5 0.5 1 1 0.5 1.0"}], "--sizes", sizes)
    assert code == 0
    assert read_passes(folder(tmp_path, "b")).detections.boxes[0].tolist() == [0, 0, 50, 40]
    assert read_passes(folder(tmp_path, "38_Tennis.v1")).counts.tolist() == [0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0 0.5 0.5 1 1", "line 1: expected 'class x_centre y_centre width height confidence'"),
        ("\n0 0.5 0.5 1 one 0.5", "line 2: expected numbers"),
        ("0 0.5 0.5 1 nan 0.5 1", "line 1: expected finite numbers"),
        ("0.5 0.5 0.5 1 1 0.5 1", "line 1: expected a class from 0 up, got 0.5"),
        ("-1 0.5 0.5 1 1 0.5 1", "line 1: expected a class from 0 up, got -1"),
        ("0 320 240 50 60 0.5 1", "line 1: expected a box in shares of the image"),
        ("2 0.5 0.5 1 1 0.5 0.5 0.5", "line 1: expected a class below 2, got 2"),
        ("0 .5 .5 1 1 .5 1\n0 .5 .5 1 1 .5 1 0", "line 2: expected a class vector of 1 entries"),
    ],
)
def test_a_faulty_line_is_named(yolo: Any, tmp_path: Path, text: str, said: str) -> None:
    code, _, stderr = yolo([{}, {"b": text}])
    assert code == 3
    assert str(tmp_path / "pass_1" / "b.txt") in stderr
    assert said in stderr
    assert not (tmp_path / "out").exists()


def test_folders_that_do_not_fit_the_images_are_named(
    yolo: Any, tmp_path: Path, uamt: Command
) -> None:
    code, _, stderr = yolo([{"c": "", "d": ""}])
    assert (code, f"{tmp_path / 'pass_0' / 'c'}.txt: expected the name of one" in stderr) == (
        3,
        True,
    )
    (tmp_path / "run" / "labels").mkdir(parents=True)
    where = ("--images", tmp_path / "photos", "--out", tmp_path / "out", *COMMON, "--tag", "0.1")
    code, _, stderr = uamt("import", "yolo", tmp_path / "run", *where)
    assert (code, "did you mean" in stderr) == (3, True)
    code, _, stderr = uamt("import", "yolo", tmp_path / "no", *where)
    assert (code, "expected a folder of YOLO text files" in stderr) == (3, True)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("a.png,100\n", "line 1: expected name,width,height"),
        ("a.png,100,0\n", "line 1: expected name,width,height"),
        ("a.png,1,1\na.png,1,1\n", "line 2: image 'a.png' is there twice"),
        ("a.png,1,1\na.jpg,1,1\n", "expected one output name per image, got 'a'"),
        ("name,width,height\n", "expected lines of name,width,height"),
    ],
)
def test_faulty_sizes_are_named(yolo: Any, tmp_path: Path, content: str, said: str) -> None:
    (tmp_path / "sizes.csv").write_text(content)
    code, _, stderr = yolo([{}], "--sizes", tmp_path / "sizes.csv")
    assert code in (2, 3)
    assert said in stderr
