"""Image sets: folders, COCO, YOLO and VOC data sets and lists hold the images that they say."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import pytest

from runners.images import list_suites
from scoring.errors import ConfigError, DataError
from tests.runners.test_images import touch


def paths(source: Path, **options: object) -> dict[str, list[str]]:
    suites = list_suites(source, **options)  # type: ignore[arg-type]
    for refs in suites.values():
        assert all(ref.path.is_file() for ref in refs)
    return {suite: [ref.relative_path for ref in refs] for suite, refs in suites.items()}


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def coco(path: Path, *names: str) -> Path:
    images = [{"id": 7 * n, "file_name": name} for n, name in enumerate(names)]
    return write(path, json.dumps({"images": images, "annotations": [], "categories": []}))


def test_coco_images_are_those_listed_and_lie_beside_the_file(tmp_path: Path) -> None:
    touch(tmp_path, "val/b.png", "val/a.png", "val/c.png")
    file = coco(tmp_path / "instances.json", "val/b.png", "val\\a.png")
    assert paths(file) == {"instances": ["val/a.png", "val/b.png"]}


def test_coco_images_may_lie_below_an_image_root(tmp_path: Path) -> None:
    touch(tmp_path, "val2017/b.png")
    file = coco(tmp_path / "annotations" / "instances.json", "b.png")
    with pytest.raises(DataError, match=r"none of its 1 images is there.*--image-root"):
        paths(file)
    assert paths(file, image_root=tmp_path / "val2017") == {"instances": ["b.png"]}


def test_a_listed_name_finds_its_file_whatever_its_composition(tmp_path: Path) -> None:
    stored = unicodedata.normalize("NFD", "été.png")
    touch(tmp_path, stored)
    file = coco(tmp_path / "instances.json", stored)
    assert paths(file) == {"instances": [unicodedata.normalize("NFC", "été.png")]}


def test_a_yolo_folder_is_its_images(tmp_path: Path) -> None:
    touch(tmp_path / "set", "images/train/a.png", "images/val/b.png")
    write(tmp_path / "set/labels/train/a.txt", "0 .5 .5 1 1")
    assert paths(tmp_path / "set") == {"set": ["train/a.png", "val/b.png"]}
    assert paths(tmp_path / "set", suites="folders") == {"train": ["a.png"], "val": ["b.png"]}


@pytest.mark.parametrize("given", ["data.yaml", "."])
def test_a_yolo_file_names_splits_and_the_set_is_all_of_them(tmp_path: Path, given: str) -> None:
    root = touch(tmp_path / "set", "images/a.png", "images/b.png", "more/c.png", "d.png")
    write(root / "val.txt", "images/b.png\n./d.png\n\n")
    write(root / "data.yaml", "train: images\nval: [val.txt, more]\ntest:\nnames: {0: on, 1: no}\n")
    assert paths(root / given) == {"set": ["d.png", "images/a.png", "images/b.png", "more/c.png"]}
    assert paths(root / given, suites="folders") == {
        "train": ["images/a.png", "images/b.png"],
        "val": ["d.png", "images/b.png", "more/c.png"],
    }


def test_a_yolo_path_is_below_the_file_or_replaced_by_the_image_root(tmp_path: Path) -> None:
    touch(tmp_path, "data/coco8/images/val/a.png")
    inner = write(tmp_path / "data/inner.yaml", "path: coco8\nval: images/val\n")
    assert paths(inner) == {"data": ["images/val/a.png"]}
    outer = write(tmp_path / "config/coco8.yaml", "path: ../data/coco8\nval: images/val\n")
    with pytest.raises(DataError, match=r"coco8.yaml: path: .*leads out of it.*--image-root"):
        paths(outer)
    root = tmp_path / "data" / "coco8"
    assert paths(outer, image_root=root) == {"config": ["images/val/a.png"]}


def test_a_split_written_as_from_a_folder_below_is_found_beside_the_file(tmp_path: Path) -> None:
    root = touch(tmp_path / "set", "valid/images/a.png")
    write(root / "data.yaml", "val: ../valid/images\n")
    assert paths(root / "data.yaml") == {"set": ["valid/images/a.png"]}


def test_an_absolute_path_below_the_folder_is_taken(tmp_path: Path) -> None:
    root = touch(tmp_path / "set", "images/a.png")
    write(root / "data.yaml", f"val: {root / 'val.txt'}\n")
    write(root / "val.txt", f"{root}/images/a.png\n")
    assert paths(root / "data.yaml") == {"set": ["images/a.png"]}


def test_yolo_values_stay_text(tmp_path: Path) -> None:
    """`on`, `1.0` and `2020-01-01` are a folder's name here, as a user sees it."""
    root = touch(tmp_path / "set", "on/a.png", "1.0/b.png", "2020-01-01/c.png")
    write(root / "data.yaml", "train: on\nval: 1.0\ntest: 2020-01-01\n")
    assert paths(root)["set"] == ["1.0/b.png", "2020-01-01/c.png", "on/a.png"]


def voc(root: Path) -> Path:
    touch(root, "JPEGImages/000001.jpg", "JPEGImages/000002.png", "SegmentationClass/000001.png")
    write(root / "ImageSets/Main/val.txt", "000002\n")
    return root


def test_a_voc_folder_is_its_photos_without_its_masks(tmp_path: Path) -> None:
    assert paths(voc(tmp_path / "VOC2012")) == {"VOC2012": ["000001.jpg", "000002.png"]}


def test_a_voc_list_is_ids(tmp_path: Path) -> None:
    root = voc(tmp_path / "VOC2012")
    assert paths(root / "ImageSets/Main/val.txt") == {"val": ["000002.png"]}


def test_a_voc_id_without_a_file_is_an_image_that_cannot_be_read(tmp_path: Path) -> None:
    root = voc(tmp_path / "VOC2012")
    file = write(root / "ImageSets/Main/two.txt", "000002\n000009\n")
    (refs,) = list_suites(file).values()
    assert [(ref.stem, ref.path.exists()) for ref in refs] == [("000002", True), ("000009", False)]


def test_sources_of_different_kinds_can_be_suites_side_by_side(tmp_path: Path) -> None:
    root = voc(tmp_path / "VOC2012")
    touch(tmp_path, "photos/a.png")
    file = coco(tmp_path / "instances.json", "photos/a.png")
    suites = list_suites({"voc": root, "coco": file, "list": root / "ImageSets/Main/val.txt"})
    assert {name: [ref.stem for ref in refs] for name, refs in suites.items()} == {
        "voc": ["000001", "000002"],
        "coco": ["a"],
        "list": ["000002"],
    }


@pytest.mark.parametrize("source", ["VOC2012", "VOC2012/ImageSets/Main/val.txt"])
def test_folders_as_suites_need_folders_or_splits(tmp_path: Path, source: str) -> None:
    voc(tmp_path / "VOC2012")
    with pytest.raises(ConfigError, match=r"expected a folder of folders or a YOLO data set"):
        list_suites(tmp_path / source, suites="folders")


def test_two_listed_images_of_one_output_name_are_an_error(tmp_path: Path) -> None:
    touch(tmp_path, "a.jpg", "a.png")
    with pytest.raises(ConfigError, match=r"'a\.jpg' = 'a\.png'; use --names path"):
        list_suites(coco(tmp_path / "instances.json", "a.png", "a.jpg"))
