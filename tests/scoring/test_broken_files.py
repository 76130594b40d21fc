"""Every kind of broken prediction file is refused by folder, pass and id."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scoring.errors import DataError
from scoring.layout import prediction_path
from scoring.predictions import read_passes

GOOD: dict[str, Any] = {"box": [0, 0, 4.5, 2], "label": 1, "score": 0.5, "logit": [0.5, 0.5]}
NAME = "mc_dropout_0.1_photo"


def folder_with(tmp_path: Path, content: str | bytes, t: int = 2) -> Path:
    """Return a folder of four passes of which one holds this content."""
    folder = tmp_path / NAME
    folder.mkdir()
    for number in range(4):
        prediction_path(folder, number).write_text(json.dumps({"first": GOOD}))
    raw = content.encode() if isinstance(content, str) else content
    prediction_path(folder, t).write_bytes(raw)
    return folder


def message_of(folder: Path, n_passes: int | None = None) -> str:
    with pytest.raises(DataError) as caught:
        read_passes(folder, n_passes)
    return str(caught.value)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "broken JSON"),
        (" ", "broken JSON"),
        ('{"first": {"box": [0, 0', "broken JSON"),
        ("{}{}", "broken JSON"),
        (b"\xff\xfe\x00{", "broken JSON"),
        ("[" * 100_000, "broken JSON"),
        ("[]", "expected an object of detections by id, got a list"),
        ("null", "got a NoneType"),
        ("7", "got a int"),
        ('"x"', "got a str"),
    ],
)
@pytest.mark.parametrize("t", [0, 2])
def test_a_file_that_is_no_object_is_refused_by_its_path(
    content: str | bytes, said: str, t: int, tmp_path: Path
) -> None:
    """An empty file, as an interrupted writer leaves it, is not an empty object."""
    message = message_of(folder_with(tmp_path, content, t))
    assert said in message
    assert f"{NAME}/prediction_{t}.json" in message.replace("\\", "/")


def test_a_folder_of_empty_files_is_refused(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, "")
    for t in range(4):
        prediction_path(folder, t).write_bytes(b"")
    assert "prediction_0.json: broken JSON" in message_of(folder)


def without(key: str) -> dict[str, Any]:
    return {name: value for name, value in GOOD.items() if name != key}


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (without("box"), "'box' is missing"),
        (without("label"), "'label' is missing"),
        (without("logit"), "'logit' is missing"),
        (None, "expected an object, got a NoneType"),
        ([GOOD], "expected an object, got a list"),
        ("box", "expected an object, got a str"),
        (3, "expected an object, got a int"),
        (GOOD | {"box": [0, 0, 4]}, "box must be four numbers"),
        (GOOD | {"box": [0, 0, 4, 2, 1]}, "box must be four numbers"),
        (GOOD | {"box": []}, "box must be four numbers"),
        (GOOD | {"box": None}, "box must be four numbers"),
        (GOOD | {"box": 4}, "box must be four numbers"),
        (GOOD | {"box": "0042"}, "box must be four numbers"),
        (GOOD | {"box": ["0", "0", "4", "2"]}, "box must be four numbers"),
        (GOOD | {"box": [0, 0, 4, "2"]}, "box must be four numbers"),
        (GOOD | {"box": [0, 0, 4, None]}, "box must be four numbers"),
        (GOOD | {"box": [0, 0, 4, True]}, "box must be four numbers"),
        (GOOD | {"box": [[0, 0], [4, 2]]}, "box must be four numbers"),
        (GOOD | {"box": {"x1": 0, "y1": 0, "x2": 4, "y2": 2}}, "box must be four numbers"),
        (GOOD | {"label": None}, "label must be a number or text"),
        (GOOD | {"label": True}, "label must be a number or text"),
        (GOOD | {"label": [1]}, "label must be a number or text"),
        (GOOD | {"label": {"id": 1}}, "label must be a number or text"),
        (GOOD | {"label": 2**63}, "label is out of range"),
        (GOOD | {"score": None}, "score must be a number, got None"),
        (GOOD | {"score": "0.5"}, "score must be a number, got '0.5'"),
        (GOOD | {"score": True}, "score must be a number, got True"),
        (GOOD | {"score": [0.5]}, "score must be a number"),
        (GOOD | {"logit": []}, "logit must be numbers"),
        (GOOD | {"logit": None}, "logit must be numbers"),
        (GOOD | {"logit": 0.5}, "logit must be numbers"),
        (GOOD | {"logit": "ab"}, "logit must be numbers"),
        (GOOD | {"logit": ["0.5", "0.5"]}, "logit must be numbers"),
        (GOOD | {"logit": [0.5, None]}, "logit must be numbers"),
        (GOOD | {"logit": [0.5, False]}, "logit must be numbers"),
        (GOOD | {"logit": [[0.5, 0.5]]}, "logit must be numbers"),
        (GOOD | {"logit": [{"p": 1}, {"p": 0}]}, "logit must be numbers"),
        (GOOD | {"logit": [0.2, 0.3, 0.5]}, "logit has 3 entries where .* before it have 2"),
        (GOOD | {"logit": [1]}, "logit has 1 entries where .* before it have 2"),
    ],
)
def test_a_broken_object_is_refused_by_image_pass_and_id(
    value: Any, said: str, tmp_path: Path
) -> None:
    folder = folder_with(tmp_path, json.dumps({"good": GOOD, "odd one": value}))
    with pytest.raises(DataError, match=rf"image folder '{NAME}', pass 2, id 'odd one'\): {said}"):
        read_passes(folder)


def test_the_first_of_several_faults_is_named(tmp_path: Path) -> None:
    file = {"a": GOOD, "b": without("box"), "c": without("label")}
    assert "id 'b'): 'box'" in message_of(folder_with(tmp_path, json.dumps(file)))


def test_vectors_that_are_all_empty_are_refused(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, json.dumps({"a": GOOD | {"logit": []}}))
    for t in range(4):
        prediction_path(folder, t).write_text(json.dumps({"a": GOOD | {"logit": []}}))
    assert "pass 0, id 'a'): logit must be numbers, got []" in message_of(folder)


def test_a_number_beyond_every_float_is_refused(tmp_path: Path) -> None:
    text = json.dumps({"a": GOOD | {"box": [0, 0, 10**400, 1]}})
    assert "out of range" in message_of(folder_with(tmp_path, text))


@pytest.mark.parametrize("token", ["NaN", "Infinity", "-Infinity", "1e999"])
@pytest.mark.parametrize("field", ["box", "logit", "score"])
def test_bare_tokens_are_refused_by_name_or_kept(field: str, token: str, tmp_path: Path) -> None:
    text = json.dumps(
        {"good": GOOD, "odd": GOOD | {"score": 0.125, "box": [0, 0, 4, 0.125], "logit": [1, 0.125]}}
    )
    head, key, tail = text.rpartition(f'"{field}"')
    folder = folder_with(tmp_path, head + key + tail.replace("0.125", token, 1))
    with pytest.raises(DataError, match=r"pass 2, id 'odd'\): expected finite numbers"):
        read_passes(folder)
    kept = read_passes(folder, nonfinite="keep")
    assert kept.detections.is_finite().tolist() == [True, True, True, False, True]
    values = {
        "box": kept.detections.boxes,
        "logit": kept.detections.probs,
        "score": kept.detections.scores,
    }
    last = np.ravel(values[field][3])[-1]
    np.testing.assert_equal(last, float(token.replace("1e999", "inf")))


def test_a_missing_pass_is_named_with_what_to_do(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, "{}")
    prediction_path(folder, 1).unlink()
    for n_passes in (None, 4):
        message = message_of(folder, n_passes)
        assert "pass 1 is missing under" in message
        assert NAME in message
        assert "3 files are there" in message
        assert "--passes" in message
    assert read_passes(folder, 1).n_passes == 1


def test_more_passes_than_there_are_cannot_be_read(tmp_path: Path) -> None:
    message = message_of(folder_with(tmp_path, "{}"), 10)
    assert "pass 4 is missing" in message
    assert "T=10" in message


def test_a_folder_that_is_not_there_or_empty_is_named(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for name in ("empty", "absent"):
        assert f"{name}: expected prediction_0.json" in message_of(tmp_path / name)
        assert "pass 0 is missing" in message_of(tmp_path / name, 10)


def test_a_folder_in_the_place_of_a_file_is_refused(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, "{}")
    prediction_path(folder, 2).unlink()
    prediction_path(folder, 2).mkdir()
    assert "prediction_2.json: pass 2 cannot be read" in message_of(folder, 4)
