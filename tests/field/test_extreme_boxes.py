"""Boxes too large for their area to be a number: refused or left out by name, never a warning.

Warnings are errors here, so that an overflow would end each test.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from scoring.detections import Detections
from scoring.errors import DataError
from scoring.predictions import encode_prediction, read_passes
from scoring.tables import read_table
from tests.field.written import BRANCH, write
from uamt.cli import main

HUGE = [
    [-1e308, -1e308, 1e308, 1e308],
    [0, 0, 1e155, 1e155],
    [1e308, 1e308, 1.7e308, 1.7e308],
    [0, 0, 10, 1e100],
]


@pytest.mark.parametrize("box", HUGE)
def test_a_huge_box_is_refused_where_it_stands(
    tmp_path: Path, box: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, "0", "a", [[[0, 0, 10, 10]]] * 3)
    write(tmp_path, "0.1", "a", [[[0, 0, 10, 10]], [box], [[0, 0, 10, 10]]])
    assert main(["score", str(tmp_path)]) == 3
    error = capsys.readouterr().err
    assert "prediction_1.json (image folder 'mc_dropout_0.1_a', pass 1, id 'label_0')" in error
    assert "a coordinate of 1e+100 px or more" in error


@pytest.mark.parametrize("rules", ["deepluq", "strict"])
@pytest.mark.parametrize("box", HUGE)
def test_a_pass_with_a_huge_box_can_be_left_out(
    tmp_path: Path, box: list[float], rules: str
) -> None:
    write(tmp_path, "0", "a", [[[0, 0, 10, 10]]] * 3)
    write(tmp_path, "0.1", "a", [[[0, 0, 10, 10]], [box], [[0, 0, 10, 7.5]]])
    options = ["--skip-nonfinite", "--rules", rules, "--scores", "softmax"]
    assert main(["score", str(tmp_path), *options]) == 0
    (path,) = (tmp_path / "scores").rglob("mutant_0.1.csv")
    assert read_table(path)["[match] iou_mean"].tolist() == [0.125]  # 1 - IoU


@pytest.mark.parametrize("box", HUGE)
def test_kept_it_ends_in_a_message_or_in_numbers(tmp_path: Path, box: list[float]) -> None:
    write(tmp_path, "0", "a", [[box, [0, 0, 10, 10]]] * 2)
    write(tmp_path, "0.1", "a", [[[0, 0, 10, 10], box], [[v / 2 for v in box]]])
    assert main(["score", str(tmp_path), "--keep-nonfinite"]) in (0, 3)


def test_the_largest_box_that_is_read_is_scored_right(tmp_path: Path) -> None:
    write(tmp_path, "0", "a", [[[0, 0, 9e99, 9e99]]] * 3)
    write(tmp_path, "0.1", "a", [[[0, 0, 9e99, 9e99]]] * 2 + [[[0, 0, 9e99, 6.75e99]]])
    assert main(["score", str(tmp_path)]) == 0
    (path,) = (tmp_path / "scores").rglob("mutant_0.1.csv")
    assert read_table(path)["[match] iou_mean"].tolist() == pytest.approx([0.25 / 3])


def test_a_huge_box_is_never_written() -> None:
    found = Detections([[0, 0, 1, 1], HUGE[0]], [1, 1], [0.9, 0.9], np.full((2, 2), 0.5))
    assert found.is_finite().tolist() == [True, False]
    with pytest.raises(DataError, match="label_1"):
        encode_prediction(found)


def test_kept_it_is_read_as_it_is(tmp_path: Path) -> None:
    write(tmp_path, "0", "a", [[HUGE[0]]])
    passes = read_passes(BRANCH.folder(tmp_path, "0", "a"), nonfinite="keep")
    assert passes.detections.boxes.tolist() == [HUGE[0]]
