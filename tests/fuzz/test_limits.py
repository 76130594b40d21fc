"""Limits are met before memory is spent, and honest files of any size pass."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from runners.image_sets import ImageSet
from runners.manifest_file import read_manifest
from scoring import limits
from scoring.branch_facts import read_facts
from scoring.declarations import read_declarations
from scoring.detections import Detections
from scoring.errors import DataError, UamtError
from scoring.exchange import read_json
from scoring.exchange_coco import read_coco_images
from scoring.exchange_yolo import YoloOutput
from scoring.membership import read_members
from scoring.predictions import encode_prediction, read_passes, write_prediction
from scoring.tables import read_table
from tests.fuzz.memory import few_bytes
from uamt.image_sizes import sizes_of_file
from uamt.options import read_experiment_file

GOOD: dict[str, Any] = {"box": [0, 0, 4.5, 2], "label": 1, "score": 0.5, "logit": [0.5, 0.5]}


READERS: list[tuple[str, int, Callable[[Path], object]]] = [
    ("manifest.json", limits.MAX_MANIFEST_BYTES, lambda path: read_declarations(path.parent)),
    ("manifest.json", limits.MAX_MANIFEST_BYTES, lambda path: read_manifest(path.parent)),
    ("facts.json", limits.MAX_FACTS_BYTES, read_facts),
    ("experiment.toml", limits.MAX_EXPERIMENT_BYTES, read_experiment_file),
    ("coco.json", limits.MAX_EXCHANGE_BYTES, read_json),
    ("names.txt", limits.MAX_LIST_BYTES, lambda path: read_members("a", path)),
    ("names.json", limits.MAX_LIST_BYTES, lambda path: read_members("a", path)),
    ("names.pkl", limits.MAX_PICKLE_BYTES, lambda path: read_members("a", path)),
    ("sizes.csv", limits.MAX_LIST_BYTES, sizes_of_file),
    ("mutant_0.1.csv", limits.MAX_TABLE_BYTES, read_table),
    (
        "a.txt",
        limits.MAX_PREDICTION_BYTES,
        lambda path: YoloOutput([path.parent], {"a": "a.jpg"}, {"a": (1, 1)}).read(0),
    ),
]


@pytest.mark.parametrize(("name", "most", "read"), READERS)
def test_a_file_that_is_too_large_is_refused_unread(
    name: str, most: int, read: Callable[[Path], object], tmp_path: Path
) -> None:
    path = tmp_path / name
    with path.open("wb") as file:
        file.truncate(most + 1)
    with few_bytes(), pytest.raises(DataError, match=rf"{name}: expected .* which it exceeds"):
        read(path)


def folder_of(tmp_path: Path, *contents: bytes) -> Path:
    folder = tmp_path / "mc_dropout_0.1_photo"
    folder.mkdir()
    for t, content in enumerate(contents):
        (folder / f"prediction_{t}.json").write_bytes(content)
    return folder


def test_a_prediction_file_that_is_too_large_is_read_no_further(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, b"")
    with (folder / "prediction_0.json").open("wb") as file:
        file.truncate(4 * limits.MAX_PREDICTION_BYTES)
    with (
        few_bytes(3 * limits.MAX_PREDICTION_BYTES),
        pytest.raises(DataError, match=r"prediction_0\.json: expected a prediction file of at"),
    ):
        read_passes(folder)


def detection(body: bytes) -> bytes:
    return b'{"a":{"box":[0,0,1,1],"label":1,"score":0.5,"logit":[' + body + b"]}}"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"a":[' + b"[]," * 500_000 + b"0]}", "more than 400,000 objects, lists"),
        (b'{"a":[' + b'"",' * 500_000 + b"0]}", "more than 400,000 objects, lists"),
        (detection(b"0," * 4_000_001 + b"0"), "expected at most 4,000,000 numbers"),
    ],
)
def test_a_bomb_is_refused_unparsed(content: bytes, said: str, tmp_path: Path) -> None:
    folder = folder_of(tmp_path, content)
    with few_bytes(3 * len(content)), pytest.raises(DataError, match=said):
        read_passes(folder)


def test_too_many_detections_or_classes_are_refused(tmp_path: Path) -> None:
    many = {str(i): GOOD | {"logit": [1]} for i in range(limits.MAX_DETECTIONS + 1)}
    folder = folder_of(tmp_path, json.dumps(many).encode())
    with pytest.raises(DataError, match="at most 10,000 detections, got 10,001"):
        read_passes(folder)
    (folder / "prediction_0.json").write_bytes(detection(b"0," * limits.MAX_CLASSES + b"0"))
    with pytest.raises(DataError, match=r"id 'a'.: logit must have at most 100,000 entries"):
        read_passes(folder)


def test_100_detections_of_lvis_come_back_bit_for_bit(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    probs = random.dirichlet(np.ones(1203), 100)
    found = Detections(random.random((100, 4)), np.arange(100), np.linspace(1, 0, 100), probs)
    folder = tmp_path / "image"
    write_prediction(folder / "prediction_0.json", found)
    read = read_passes(folder).detections
    np.testing.assert_array_equal(read.probs, probs)
    np.testing.assert_array_equal(read.boxes, found.boxes)


@pytest.mark.parametrize(("n", "n_classes"), [(10_001, 1), (1, 100_001), (10_000, 500)])
def test_what_could_not_be_read_is_not_written(n: int, n_classes: int) -> None:
    probs = np.broadcast_to(np.zeros(1), (n, n_classes))
    found = Detections(np.zeros((n, 4)), np.zeros(n, np.int64), np.zeros(n), probs)
    with pytest.raises(DataError, match="raise the score threshold"):
        encode_prediction(found)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('{"a": %s, "a": %s}', "a"),
        ('{"a": {"box": [0,0,1,1], "label": 1, "score": 1, "logit": [1], "label": 2}}', "label"),
        ('{"a": {"box": [0,0,1,1], "label": 1, "logit": [1], "more": {"x": 1, "x": 2}}}', "x"),
    ],
)
def test_a_key_that_is_there_twice_is_named(text: str, key: str, tmp_path: Path) -> None:
    """A parser keeps the last one: a detection would be lost without a word."""
    good = json.dumps(GOOD)
    content = (text % (good, good) if "%s" in text else text).encode()
    folder = folder_of(tmp_path, json.dumps({"a": GOOD}).encode(), content)
    with pytest.raises(DataError, match=rf"prediction_1\.json: .* got '{key}' twice"):
        read_passes(folder)


def test_colons_in_ids_labels_and_further_fields_are_no_keys(tmp_path: Path) -> None:
    odd = {"a:b": GOOD | {"label": "x: y", "more": {"z": 1}}, "c": GOOD | {"label": "d"}}
    read = read_passes(folder_of(tmp_path, json.dumps(odd).encode()))
    assert read.detections.labels.tolist() == ["x: y", "d"]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-be", "utf-32"])
def test_json_is_read_in_any_unicode(encoding: str, tmp_path: Path) -> None:
    text = json.dumps({"ä": GOOD | {"label": "€"}}, ensure_ascii=False)
    read = read_passes(folder_of(tmp_path, text.encode(encoding)))
    assert read.detections.labels.tolist() == ["€"]


def nested_lists(depth: int) -> bytes:
    """Return a detection whose box is nested beyond what repr() can write."""
    return b'{"a": {"box": ' + b"[" * depth + b"]" * depth + b', "label": 1, "logit": [1]}}'


def test_a_value_that_is_deep_is_shown_short(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="box must be four numbers") as caught:
        read_passes(folder_of(tmp_path, nested_lists(1000)))
    assert len(str(caught.value)) < 400


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a system with named pipes")
@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("mc_dropout_0.1_a/prediction_0.json", lambda path: read_passes(path.parent, 1)),
        ("manifest.json", lambda path: read_declarations(path.parent)),
        ("facts.json", read_facts),
        ("mutant_0.1.csv", read_table),
    ],
)
def test_a_pipe_in_a_folder_from_elsewhere_is_not_waited_for(
    name: str, read: Callable[[Path], object], tmp_path: Path
) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    os.mkfifo(path)
    with pytest.raises(DataError, match=rf"{path.name}"):
        read(path)


def test_a_pipe_that_a_user_names_is_read(tmp_path: Path) -> None:
    """As a shell makes one of `--suite night=<(ls night)`."""
    reader, writer = os.pipe()
    os.write(writer, b"a.jpg\n")
    os.close(writer)
    try:
        assert read_members("night", Path(f"/dev/fd/{reader}")).images == ("a.jpg",)
    finally:
        os.close(reader)


@pytest.mark.parametrize(
    ("image", "said"),
    [
        ({"file_name": "a" * 5000}, "at most 4,096 characters as file_name"),
        ({"file_name": ["a"]}, "expected a text"),
        ({"stem": 7}, "as stem, got 7"),
    ],
)
def test_a_coco_image_with_no_name_is_refused(
    image: dict[str, Any], said: str, tmp_path: Path
) -> None:
    path = tmp_path / "instances.json"
    entry = {"id": 1, "file_name": "a.jpg"} | image
    path.write_text(json.dumps({"images": [entry], "categories": [{"id": 1, "name": "x"}]}))
    with pytest.raises(UamtError, match=rf"instances\.json: images\[0\]: .*{said}"):
        read_coco_images(path)


def test_sizes_that_are_none_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "instances.json"
    for width in (0, -1, 1e300, "100", None):
        image = {"id": 1, "file_name": "a.jpg", "width": width, "height": 5}
        path.write_text(json.dumps({"images": [image], "categories": [{"id": 1, "name": "x"}]}))
        with pytest.raises(DataError, match=r"'a\.jpg': expected width and height in pixels"):
            sizes_of_file(path)


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("list.txt", "a.png\n{}.png\n"),
        ("data.yaml", "train: {}\n"),
        ("data.yaml", "path: {}\ntrain: a\n"),
        ("instances.json", '{{"images": [{{"file_name": "{}.png"}}]}}'),
    ],
)
@pytest.mark.parametrize("name", ["x" * 300, "x/" * 3000 + "x"])
def test_a_name_that_is_too_long_for_a_file_system_is_refused_with_its_place(
    file: str, text: str, name: str, tmp_path: Path
) -> None:
    """The system would refuse it in words that name neither list nor line."""
    (tmp_path / file).write_text(text.format(name))
    with pytest.raises(DataError, match=rf"{file}: .*name of an image of at most 255 bytes"):
        ImageSet(tmp_path / file).images()


def test_what_is_no_file_or_no_name_of_one_is_refused(tmp_path: Path) -> None:
    (tmp_path / "facts.json").mkdir()
    with pytest.raises(DataError, match=r"facts\.json: .*(no file|cannot be read)"):
        read_facts(tmp_path / "facts.json")
    with pytest.raises(DataError, match="cannot be read"):
        read_facts(tmp_path / "a\0.json")
