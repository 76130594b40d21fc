"""`uamt import coco`: results of any detector as prediction files, by ids."""

from __future__ import annotations

import csv
import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scoring.predictions import read_passes
from tests.uamt.conftest import Command
from tests.uamt.foreign_outputs import COMMON, DATASET, bare, entry, folder, import_coco, manifest


@pytest.fixture
def coco(tmp_path: Path, uamt: Command) -> Any:
    """Import passes of entries; returns exit code, stdout, stderr."""
    return partial(import_coco, tmp_path, uamt)


def test_results_become_prediction_files_by_category_id(coco: Any, tmp_path: Path) -> None:
    passes = [[entry(), entry("b", 1, 0.25), entry(score=0.75)], [entry("b", 90)]]
    code, stdout, stderr = coco(passes)
    assert (code, stderr) == (0, "")
    tennis = read_passes(folder(tmp_path, "38_Tennis.v1"))
    assert tennis.counts.tolist() == [2, 0]
    assert tennis.detections.boxes.tolist() == [[10, 20, 40, 25]] * 2
    assert tennis.detections.labels.tolist() == [90, 90]
    assert tennis.detections.scores.tolist() == [0.75, 0.5]
    assert tennis.detections.probs.tolist() == [[0.25, 0.75]] * 2
    assert read_passes(folder(tmp_path, "b")).detections.labels.tolist() == [1, 90]
    assert (folder(tmp_path, "38_Tennis.v1") / "prediction_1.json").read_text() == "{}"
    assert (
        "mc_dropout 0.1 of model 'yolo11' on suite 'orig', the name where --suite gives none: 4 "
        "detections on 2 images, 2 passes; 3 of 4 files hold detections" in stdout
    )
    assert str(tmp_path / "out") in stdout
    assert "Next: uamt import --help   # now the original" in stdout
    assert stderr == ""
    model = manifest(tmp_path)["settings"]["model"]
    assert (model["label_names"][1], model["label_names"][90]) == ("person", "toothbrush")
    assert (model["label_names"][2], model["scores"]) == ("N/A", None)


def test_one_hot_vectors_are_made_up_and_said_so(coco: Any, tmp_path: Path) -> None:
    code, _, stderr = coco([[bare(), bare("b", 1, 0.25)]], "--one-hot")
    assert code == 0
    assert "made up (one-hot)" in stderr
    for stem, label, score in (("38_Tennis.v1", 90, 0.5), ("b", 1, 0.25)):
        vector = read_passes(folder(tmp_path, stem)).detections.probs[0]
        assert (len(vector), vector[label], np.count_nonzero(vector)) == (91, score, 1)
    assert manifest(tmp_path)["settings"]["model"]["scores"] == "one_hot"


def test_an_original_and_a_mutant_can_be_scored(coco: Any, tmp_path: Path, uamt: Command) -> None:
    assert coco([[entry(), entry("b")]], "--repeat", "3", tag="original")[0] == 0
    assert coco([[entry()], [entry(), entry("b")], []], tag=".10")[0] == 0
    assert [p.name for p in sorted(folder(tmp_path, "b", "0").iterdir())] == [
        "prediction_0.json",
        "prediction_1.json",
        "prediction_2.json",
    ]
    code, stdout, _ = uamt("score", tmp_path / "out")
    assert (code, "yolo11" in stdout) == (0, True)
    table = next((tmp_path / "out" / "scores").rglob("mutant_0.1.csv"))
    rows = {row["test_suite"]: row for row in csv.DictReader(table.read_text().splitlines())}
    assert rows["b"]["[img_level] iskill_miss_count"] == "2"
    assert rows["38_Tennis.v1"]["[img_level] iskill_miss_count"] == "1"


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ('[{"image_id": 42', "run_1.json: broken JSON"),
        ({"annotations": []}, "run_1.json: expected COCO results, a list"),
        ([entry(), 7], "run_1.json: entry 1: expected an object, got a int"),
        ([bare()], "run_1.json: entry 0: no class vector 'class_probs'; name its field with"),
        ([{"image_id": 42}], "run_1.json: entry 0: 'category_id' is missing"),
        ([entry(7)], "run_1.json: entry 0: image_id 7 is none of the annotations' 2 ids (42, 'b')"),
        ([entry([1])], "image_id [1] is none of"),
        ([entry(42, 2)], "entry 0: category_id 2 is none of the annotations' 2 ids (90, 1)"),
        ([entry(bbox=[1, 2, 3])], "entry 0: bbox must be four finite numbers"),
        ([entry(bbox=[1, 2, float("nan"), 4])], "entry 0: bbox must be four finite numbers"),
        ([entry(score=float("inf"))], "entry 0: score must be a finite number"),
        ([entry(score=True)], "entry 0: score must be a finite number"),
        ([entry(class_probs=[0.5, float("nan")])], "entry 0: 'class_probs' must be finite"),
        ([entry(class_probs=[])], "entry 0: 'class_probs' must be finite"),
        (
            [entry(class_probs=[1.0])],
            "entry 0 (image '38_Tennis.v1'): expected a class vector of 2",
        ),
    ],
)
def test_a_faulty_file_is_named_and_nothing_is_written(
    coco: Any, tmp_path: Path, entries: Any, said: str
) -> None:
    code, _, stderr = coco([[entry()], entries])
    assert code == 3
    assert said in stderr
    assert not (tmp_path / "out").exists()


def test_vectors_beside_one_hot_are_refused(coco: Any) -> None:
    code, _, stderr = coco([[entry()]], "--one-hot")
    assert (code, "entry 0: has a class vector 'class_probs': not --one-hot" in stderr) == (3, True)
    code, _, stderr = coco([[bare()]], "--one-hot", "--scores", "softmax")
    assert (code, "--scores" in stderr) == (2, True)


def test_the_vectors_field_and_their_kind_can_be_named(coco: Any, tmp_path: Path) -> None:
    options = ("--vectors", "probabilities", "--scores", "sigmoid", "--suite", "night")
    code, _, _ = coco([[bare(probabilities=[0.5, 0.5, 0.5])]], *options)
    assert code == 0
    passes = read_passes(folder(tmp_path, "38_Tennis.v1", suite="night"))
    assert passes.detections.probs.tolist() == [[0.5, 0.5, 0.5]]
    assert manifest(tmp_path)["settings"]["model"]["scores"] == "sigmoid"


def test_predictions_are_replaced_only_when_asked(coco: Any, tmp_path: Path) -> None:
    assert coco([[entry()], [entry()], [entry()]])[0] == 0
    code, _, stderr = coco([[entry()]])
    assert code == 2
    assert "prediction_1.json is there already, and this import has 1 pass;" in stderr
    code, _, stderr = coco([[entry()], [entry(score=0.25)], [entry()]])
    assert code == 2
    assert "38_Tennis.v1/prediction_1.json is there already, and holds something else" in stderr
    assert "--replace" in stderr
    assert coco([[], [entry()]], "--replace")[0] == 0
    assert read_passes(folder(tmp_path, "38_Tennis.v1")).counts.tolist() == [0, 1]


def test_the_same_import_twice_writes_nothing(coco: Any, tmp_path: Path) -> None:
    passes = [[entry(), entry("b")], [entry()]]
    assert "was there already" not in coco(passes)[1]
    files = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    before = {path: path.stat().st_ino for path in files}
    code, stdout, stderr = coco(passes)
    assert (code, stderr) == (0, "")
    assert "all of it was there already, and nothing was written" in stdout
    assert {path: path.stat().st_ino for path in files} == before
    code, stdout, _ = coco(passes, "--json")
    assert json.loads(stdout)["counts"]["files"] == 4
    assert json.loads(stdout)["counts"]["files_written"] == 0


def test_the_same_import_of_another_kind_is_refused(coco: Any) -> None:
    assert coco([[entry()]])[0] == 0
    code, _, stderr = coco([[entry()]], "--scores", "sigmoid")
    assert code == 2
    assert "choose another --out or --model" in stderr


def test_an_interrupted_import_is_finished_by_the_same_command(coco: Any, tmp_path: Path) -> None:
    passes = [[entry(), entry("b")], [entry()]]
    assert coco(passes)[0] == 0
    lost = folder(tmp_path, "b") / "prediction_1.json"
    before = lost.read_bytes()
    lost.unlink()
    code, stdout, _ = coco(passes)
    assert code == 0
    assert "3 of the files were there already" in stdout
    assert lost.read_bytes() == before


def test_an_operator_that_is_not_the_studys_is_said(coco: Any) -> None:
    code, _, stderr = coco([[entry()]], "--operator", "dropout")
    assert code == 0
    assert "operator 'dropout' is none of the study's, mc_dropout and mc_dropblock (did" in stderr
    assert "did you mean mc_dropout?); its mutants are scored the same, but tables" in stderr
    assert "did you mean" not in coco([[entry()]], "--operator", "weights")[2]
    assert "none of" not in coco([[entry()]], "--operator", "identity", tag="1")[2]


def test_a_mutant_of_fewer_passes_is_said_and_the_way_on(
    coco: Any, tmp_path: Path, uamt: Command
) -> None:
    assert coco([[entry()]], "--repeat", "4", tag="original")[0] == 0
    code, _, stderr = coco([[entry()], []])
    assert code == 0
    assert "the original has 4 passes and 0.1 has 2: 'uamt score' compares equally many" in stderr
    code, _, stderr = uamt("score", tmp_path / "out")
    assert code == 3
    assert "pass 2 is missing under" in stderr
    assert "import all passes of it again ('uamt import'), or score fewer with --passes 2" in stderr
    assert "uamt run" not in stderr
    assert uamt("score", tmp_path / "out", "--passes", "2")[0] == 0
    assert coco([[entry()], [], [], []])[2] == ""
    assert uamt("score", tmp_path / "out")[0] == 0


def test_one_model_is_imported_one_way(coco: Any) -> None:
    assert coco([[entry()]])[0] == 0
    code, _, stderr = coco([[bare()]], "--one-hot", tag="0.2")
    assert code == 2
    assert "choose another --out or --model" in stderr
    assert 'settings.model.scores was null, is "one_hot"' in stderr


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"categories": None}, "expected an object with a list 'categories'"),
        ({"images": []}, "expected an object with a list 'images'"),
        ({"images": [{"id": 1}]}, "images[0]: expected file_name"),
        ({"images": [{"id": 1, "file_name": "a"}] * 2}, "expected one output name per image"),
        (
            {"images": [{"id": 1, "file_name": "a/x.jpg"}, {"id": 2, "file_name": "b/x.jpg"}]},
            "got 'x' for 'a/x.jpg' and 'b/x.jpg'; use --names path",
        ),
        (
            {"images": [{"id": 1, "file_name": "a.jpg"}, {"id": 1, "file_name": "b.jpg"}]},
            "image id 1 is there twice",
        ),
        ({"categories": [{"id": "x", "name": "y"}]}, "category id 'x': expected a whole number"),
    ],
)
def test_a_faulty_dataset_is_named(
    coco: Any, tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    (tmp_path / "dataset.json").write_text(json.dumps(DATASET | change))
    code, _, stderr = coco([[]])
    assert code in (2, 3)
    assert "dataset.json" in stderr
    assert said in stderr


def test_names_by_path_tell_folders_apart(coco: Any, tmp_path: Path) -> None:
    images = [{"id": 1, "file_name": "a/x.jpg"}, {"id": 2, "file_name": "b/x.jpg"}]
    (tmp_path / "dataset.json").write_text(json.dumps(DATASET | {"images": images}))
    assert coco([[entry(2)]], "--names", "path")[0] == 0
    assert read_passes(folder(tmp_path, "a__x")).counts.tolist() == [0]
    assert read_passes(folder(tmp_path, "b__x")).counts.tolist() == [1]


@pytest.mark.parametrize("stem", ["../../x", "a\\b", ""])
def test_results_stay_in_their_folder(coco: Any, tmp_path: Path, stem: str) -> None:
    images = [{"id": 42, "file_name": "x.jpg", "stem": stem}]
    (tmp_path / "dataset.json").write_text(json.dumps(DATASET | {"images": images}))
    code, _, stderr = coco([[entry()]])
    assert (code, "image 'x.jpg': expected a name for its results" in stderr) == (3, True)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("operator", "tag", "said"),
    [
        ("mc_dropout", "often", "expected a decimal number"),
        ("mc_dropblock", "0.1", "expected rate and block such as 0.1_3"),
        ("blur", "a_b", "expected a name without underscore"),
        ("blur", "a/b", "tag name 'a/b'"),
        ("a/b", "1", "operator name 'a/b'"),
    ],
)
def test_a_tag_or_name_that_cannot_be_is_refused(
    coco: Any, tmp_path: Path, operator: str, tag: str, said: str
) -> None:
    code, _, stderr = coco([[entry()]], "--operator", operator, tag=tag)
    assert (code, said in stderr) == (2, True)
    assert not (tmp_path / "out").exists()


def test_passes_out_of_order_are_noted(tmp_path: Path, uamt: Command) -> None:
    names = [tmp_path / f"run_{t}.json" for t in (0, 10, 2)]
    (tmp_path / "dataset.json").write_text(json.dumps(DATASET))
    for name in names:
        name.write_text("[]")
    where = ("--annotations", tmp_path / "dataset.json", "--out", tmp_path / "out")
    code, _, stderr = uamt("import", "coco", *names, *where, *COMMON, "--tag", "0.1")
    assert code == 0
    assert f"pass 1 is {names[1]}, not {names[2]}" in stderr
