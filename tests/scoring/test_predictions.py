"""Prediction files come back exactly as they were written, by the order of their scores."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from scoring import columns
from scoring.detections import Detections
from scoring.errors import ConfigError, DataError
from scoring.layout import prediction_path
from scoring.pass_files import count_passes
from scoring.predictions import read_passes, to_objects, write_prediction
from tests.scoring.scenes import found

ONE = found([(0, 0, 4, 2)])


def write_files(folder: Path, *contents: str) -> Path:
    folder.mkdir(exist_ok=True)
    for t, content in enumerate(contents):
        prediction_path(folder, t).write_text(content)
    return folder


def everything_below(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*"))


def test_what_is_written_is_read_bit_for_bit(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    for n_classes, dtype in ((2, np.float64), (3, np.float32), (91, np.float32)):
        n = 40
        scores = np.sort(random.random(n).astype(dtype))[::-1]
        boxes = (random.normal(size=(n, 4)) * 10.0 ** random.integers(-12, 5, (n, 1))).astype(dtype)
        probs = (random.random((n, n_classes)) * 1e-7).astype(dtype)
        written = Detections(boxes, random.integers(1, 91, n), scores, probs)
        folder = tmp_path / f"{n_classes}"
        write_prediction(prediction_path(folder, 0), written)
        read = read_passes(folder)[0]
        for name in ("boxes", "labels", "scores", "probs"):
            column = getattr(read, name)
            np.testing.assert_array_equal(column, getattr(written, name))
            assert column.dtype == getattr(written, name).dtype


def test_detections_stand_by_falling_score_and_equals_keep_their_order(tmp_path: Path) -> None:
    n = 5
    boxes = np.arange(4.0 * n).reshape(n, 4)
    scores = [0.2, 0.9, 0.2, 0.5, 0.9]
    path = prediction_path(tmp_path, 0)
    content = write_prediction(path, Detections(boxes, [1] * n, scores, np.ones((n, 3))))
    parsed = json.loads(path.read_text())
    assert path.read_bytes() == content
    assert list(parsed) == [f"label_{i}" for i in range(n)]
    assert [value["score"] for value in parsed.values()] == [0.9, 0.9, 0.5, 0.2, 0.2]
    assert [value["box"][0] for value in parsed.values()] == [4.0, 16.0, 12.0, 0.0, 8.0]
    assert list(parsed["label_0"]) == ["box", "label", "score", "logit"]


def test_nothing_found_is_an_empty_object(tmp_path: Path) -> None:
    assert write_prediction(prediction_path(tmp_path, 0), Detections.empty(91)) == b"{}"
    read = read_passes(tmp_path)
    assert (read.n_passes, len(read), read.detections.boxes.shape) == (1, 0, (0, 4))


def test_passes_with_and_without_detections_are_counted(tmp_path: Path) -> None:
    for t, detections in enumerate([Detections.empty(), ONE, Detections.empty(3), ONE]):
        write_prediction(prediction_path(tmp_path, t), detections)
    assert read_passes(tmp_path).counts.tolist() == [0, 1, 0, 1]


def test_a_file_that_exists_is_readable_by_others(tmp_path: Path) -> None:
    path = prediction_path(tmp_path, 0)
    write_prediction(path, ONE)
    assert path.stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("failing", ["fsync", "write"])
def test_a_failed_write_leaves_neither_file_nor_temporary_file(
    failing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    if failing == "fsync":
        monkeypatch.setattr(os, "fsync", full)
    else:
        real = os.fdopen

        def fdopen(*arguments: Any) -> Any:
            file = real(*arguments)
            file.close()
            return file

        monkeypatch.setattr(os, "fdopen", fdopen)
    with pytest.raises((OSError, ValueError)):
        write_prediction(prediction_path(tmp_path, 0), ONE)
    assert everything_below(tmp_path) == []


def test_a_failed_write_keeps_the_file_that_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = prediction_path(tmp_path, 0)
    before = write_prediction(path, ONE)

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_prediction(path, Detections.empty())
    assert path.read_bytes() == before
    assert everything_below(tmp_path) == ["prediction_0.json"]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("column", ["boxes", "scores", "probs"])
def test_what_is_not_finite_is_refused_at_write_with_its_place(
    column: str, value: float, tmp_path: Path
) -> None:
    columns = {
        "boxes": np.zeros((3, 4)),
        "scores": np.array([0.9, 0.8, 0.7]),
        "probs": np.ones((3, 2)),
    }
    columns[column].reshape(3, -1)[1, -1] = value
    detections = Detections(labels=[1, 1, 1], **columns)
    path = prediction_path(tmp_path / "mc_dropout_0.1_photo", 7)
    with pytest.raises(
        DataError, match=r"mc_dropout_0\.1_photo.prediction_7\.json: detection label_\d"
    ):
        write_prediction(path, detections)
    assert everything_below(tmp_path) == []


def test_the_refused_detection_is_named_by_its_number() -> None:
    detections = found([(0, 0, 1, 1), (0, 0, 1, 1), (0, 0, 1, np.nan)])
    with pytest.raises(DataError, match=r"detection label_2: .*not finite"):
        to_objects(detections)


def test_equal_files_in_a_row_are_parsed_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    same = json.dumps(to_objects(ONE))
    other = json.dumps(to_objects(found([(1, 1, 2, 2)])))
    write_files(tmp_path, *[same] * 6, other, *[same] * 3)
    parsed = []
    real = orjson.loads

    def counting(content: bytes) -> Any:
        parsed.append(content)
        return real(content)

    monkeypatch.setattr(columns.orjson, "loads", counting)
    read = read_passes(tmp_path)
    assert parsed == [one.encode() for one in (same, other, same)]
    assert read.detections.boxes[:, 0].tolist() == [0] * 6 + [1] + [0] * 3


def test_order_ids_and_extra_keys_of_foreign_files_are_as_they_come(tmp_path: Path) -> None:
    value = {"box": [0, 0, 1, 1], "label": "cat", "logit": [1, 0], "track": 7, "score": 0.1}
    file = {"zebra": value, "": {**value, "label": "dog", "score": 1}}
    read = read_passes(write_files(tmp_path, json.dumps(file)))
    assert read.detections.labels.tolist() == ["cat", "dog"]
    assert read.detections.scores.tolist() == [0.1, 1.0]
    assert read.detections.boxes.dtype == np.float64


def test_a_missing_score_is_zero(tmp_path: Path) -> None:
    file = {"a": {"box": [0, 0, 1, 1], "label": 1, "logit": [1, 0]}}
    assert read_passes(write_files(tmp_path, json.dumps(file))).detections.scores.tolist() == [0.0]


def test_labels_of_several_kinds_keep_their_kind(tmp_path: Path) -> None:
    labels = [3, "3", 3.0]
    file = {str(i): {"box": [0, 0, 1, 1], "label": x, "logit": [1]} for i, x in enumerate(labels)}
    read = read_passes(write_files(tmp_path, json.dumps(file))).detections.labels.tolist()
    assert read == labels
    assert [type(label) for label in read] == [int, str, float]


def test_the_first_passes_can_be_asked_for(tmp_path: Path) -> None:
    write_files(tmp_path, "{}", json.dumps(to_objects(ONE)), "broken")
    assert read_passes(tmp_path, 2).counts.tolist() == [0, 1]


def test_files_of_other_names_are_no_passes(tmp_path: Path) -> None:
    write_files(tmp_path, "{}", "{}")
    (tmp_path / "prediction_all.json").write_text("[]")
    (tmp_path / "prediction_1.json.bak").write_text("[]")
    assert count_passes(tmp_path) == 2
    assert read_passes(tmp_path).n_passes == 2


@pytest.mark.parametrize("n_passes", [0, -1])
def test_less_than_one_pass_cannot_be_asked_for(n_passes: int, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=f"at least 1, got {n_passes}"):
        read_passes(write_files(tmp_path, "{}"), n_passes)
