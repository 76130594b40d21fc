"""`uamt export coco`: an experiment as COCO results, and the same back."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from tests.scoring.golden_cases import HERE, read_cases, write_tree
from tests.uamt.conftest import Command
from tests.uamt.foreign_outputs import DATASET, bare, entry, import_coco


@pytest.fixture
def coco(tmp_path: Path, uamt: Command) -> Any:
    """Import passes of entries; returns exit code, stdout, stderr."""
    return partial(import_coco, tmp_path, uamt)


def assert_same_trees(one: Path, other: Path) -> int:
    """Compare every prediction file; return how many detections were compared."""
    files = sorted(path.relative_to(one) for path in one.rglob("prediction_*.json"))
    assert files == sorted(path.relative_to(other) for path in other.rglob("prediction_*.json"))
    compared = 0
    for path in files:
        first, second = (orjson.loads((root / path).read_bytes()) for root in (one, other))
        # We write by falling score; foreign trees may not.
        wanted = sorted(first.values(), key=lambda found: -found["score"])
        assert len(wanted) == len(second)
        for a, b in zip(wanted, second.values(), strict=True):
            assert np.allclose(a["box"], b["box"], rtol=0, atol=1e-9)
            assert [a[k] for k in ("label", "score", "logit")] == [
                b[k] for k in ("label", "score", "logit")
            ]
            compared += 1
    return compared


@pytest.mark.parametrize("name", ["normal_multi_0", "degenerate_boxes_0", "both_empty_some_2"])
def test_what_is_exported_comes_back_the_same(tmp_path: Path, uamt: Command, name: str) -> None:
    case = next(case for case in read_cases(HERE) if case["id"] == name)
    branch = write_tree(tmp_path / "tree", case | {"stem": "38_Tennis.png.v1"})
    second = case | {"stem": "b.jpg"}
    second["orig"] = second["orig"][::-1]
    write_tree(tmp_path / "tree", second)
    code, stdout, _ = uamt("export", "coco", tmp_path / "tree", "--out", tmp_path / "coco")
    assert code == 0
    exported = tmp_path / "coco" / branch.model / "orig"
    assert str(exported / "images.json") in stdout
    tags = ["original", *case["mutants"]]
    for tag in tags:
        as_written = "0" if branch.operator == "mc_dropout" else "0_1"
        folder = exported / f"{branch.operator}_{as_written if tag == 'original' else tag}"
        files = sorted(folder.iterdir())
        assert len(files) == case["T"]
        where = ("--annotations", exported / "images.json", "--out", tmp_path / "back")
        names = ("--model", branch.model, "--operator", branch.operator, "--tag", tag)
        assert uamt("import", "coco", *files, *where, *names)[0] == 0
    assert assert_same_trees(tmp_path / "tree", tmp_path / "back") > 0


def test_an_experiment_of_ours_exports_with_its_names(
    experiment: Path, tmp_path: Path, uamt: Command
) -> None:
    code, stdout, _ = uamt("export", "coco", experiment, "--out", tmp_path / "coco")
    assert code == 0
    assert "15 files of COCO results, one per pass of 3 mutants" in stdout
    (dataset,) = (tmp_path / "coco").rglob("images.json")
    content = json.loads(dataset.read_text())
    assert all(image["file_name"].endswith(".png") for image in content["images"])
    names = {category["id"]: category["name"] for category in content["categories"]}
    results = json.loads((dataset.parent / "mc_dropout_0" / "pass_0.json").read_text())
    assert results
    assert {found["category_id"] for found in results} <= set(names)
    assert not any(name.startswith("class ") for name in names.values())


def test_fewer_passes_leave_none_of_an_earlier_export(
    experiment: Path, tmp_path: Path, uamt: Command
) -> None:
    for passes in (3, 2):
        code, _, _ = uamt("export", "coco", experiment, "--out", tmp_path, "--passes", passes)
        assert code == 0
        folders = [path.parent for path in tmp_path.rglob("pass_0.json")]
        assert {len(list(folder.iterdir())) for folder in folders} == {passes}
    code, _, stderr = uamt("export", "coco", experiment, "--out", tmp_path, "--passes", "0")
    assert (code, "--passes: expected 1 or more" in stderr) == (2, True)


def test_ids_of_a_dataset_are_kept(coco: Any, tmp_path: Path, uamt: Command) -> None:
    assert coco([[entry()]], tag="original")[0] == 0
    assert coco([[entry(), entry("b", 1)]])[0] == 0
    given = ("--annotations", tmp_path / "dataset.json", "--vectors", "probs", "--passes", "1")
    code, _, _ = uamt("export", "coco", tmp_path / "out", "--out", tmp_path / "coco", *given)
    assert code == 0
    folder = tmp_path / "coco" / "yolo11" / "orig"
    assert not (folder / "images.json").exists()
    found = json.loads((folder / "mc_dropout_0.1" / "pass_0.json").read_text())
    assert found == [bare(probs=[0.25, 0.75]), bare("b", 1, probs=[0.25, 0.75])]
    less = DATASET | {"categories": [{"id": 1, "name": "person"}]}
    (tmp_path / "dataset.json").write_text(json.dumps(less))
    code, _, stderr = uamt("export", "coco", tmp_path / "out", "--out", tmp_path / "c2", *given)
    assert (code, "pass 0: label 90: expected one of" in stderr) == (3, True)
    (tmp_path / "dataset.json").write_text(json.dumps(less | {"images": DATASET["images"][:1]}))
    code, _, stderr = uamt("export", "coco", tmp_path / "out", "--out", tmp_path / "c2", *given)
    assert (code, "image 'b': expected it among" in stderr) == (3, True)


def test_labels_that_are_text_have_no_category_id(tmp_path: Path, uamt: Command) -> None:
    case = next(c for c in read_cases(HERE) if c["id"] == "string_labels_extra_fields_0")
    write_tree(tmp_path / "tree", case)
    code, _, stderr = uamt("export", "coco", tmp_path / "tree", "--out", tmp_path / "coco")
    assert code == 3
    assert "pass 0: label" in stderr
    assert "expected a whole number" in stderr


def test_help_shows_an_example(uamt: Command) -> None:
    for words in (("import",), ("import", "coco"), ("import", "yolo"), ("export", "coco")):
        code, stdout, _ = uamt(*words, "--help")
        assert code == 0
        assert f"example: uamt {words[0]}" in " ".join(stdout.split())
    assert uamt("import")[0] == 2


def test_import_and_export_load_no_torch(tmp_path: Path) -> None:
    import subprocess
    import sys

    script = (
        "import sys, uamt.exchange, uamt.image_sizes, scoring.exchange_yolo; "
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], cwd=Path(__file__).parents[2], check=True)
