"""Which images a suite holds: folders, lists, pickles, and what is wrong with them."""

from __future__ import annotations

import json
import pickle
from pathlib import Path, PurePosixPath

import pytest

from scoring.errors import ConfigError, DataError
from scoring.membership import Members, parse_members, read_members

NAMES = ["b.jpg", "photos/a.png", "image_086_png.rf.795f.jpg"]
STEMS = ["b", "a", "image_086_png.rf.795f"]


def members_file(tmp_path: Path, form: str) -> Path:
    path = tmp_path / f"suite.{form}"
    if form == "folder":
        for name in NAMES:
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            (path / name).touch()
        (path / "notes.md").touch()
    elif form == "pkl":
        path.write_bytes(pickle.dumps([PurePosixPath("/home/x") / name for name in NAMES]))
    elif form == "json":
        path.write_text(json.dumps(NAMES), encoding="utf-8")
    else:
        path.write_text("\n".join(NAMES) + "\n\n", encoding="utf-8-sig")
    return path


@pytest.mark.parametrize("form", ["folder", "pkl", "json", "txt"])
def test_every_form_names_the_same_images(tmp_path: Path, form: str) -> None:
    members = read_members("orig", members_file(tmp_path, form))
    assert [stem for stem in STEMS if stem in members] == STEMS
    assert "notes" not in members
    assert "c" not in members


def test_results_named_by_their_whole_path_are_known_too() -> None:
    members = Members("orig", ("front/1.jpg",), "list")
    assert "1" in members
    assert "front__1" in members
    assert "front" not in members


def test_a_stem_without_suffix_is_taken_as_it_is() -> None:
    members = Members("orig", ("image_1.rf.9", "38_Tennis.jpg"), "list")
    assert "image_1.rf.9" in members
    assert "image_1.rf" not in members
    assert "38_Tennis" in members


def test_paths_that_windows_wrote_are_known(tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text("C:\\photos\\a.png\nb.png\n")
    members = read_members("orig", tmp_path / "list.txt")
    assert "a" in members
    assert "b" in members


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.txt", b"\n \n", "expected the images of suite 'orig', got none"),
        ("bytes.txt", b"\xff\xfe\x00", "expected a list of image names as UTF-8 text"),
        ("a.json", b"[1]", "expected a JSON list of image names"),
        ("b.json", b'["a"', "broken JSON"),
        ("c.pkl", b"no", "cannot be read as a pickle"),
    ],
)
def test_files_that_list_nothing_are_named(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=message):
        read_members("orig", tmp_path / name)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none\.txt: cannot be opened"):
        read_members("orig", tmp_path / "none.txt")


def test_options_keep_their_order(tmp_path: Path) -> None:
    file = members_file(tmp_path, "txt")
    parsed = parse_members([f"sd={file}", f"orig={file}"])
    assert [members.suite for members in parsed] == ["sd", "orig"]


@pytest.mark.parametrize("option", ["orig", "=file", "orig=", "a/b=file", "..=file", "a\\b=file"])
def test_options_of_another_form_are_refused(option: str) -> None:
    with pytest.raises(ConfigError, match="--suite"):
        parse_members([option])


def test_a_suite_is_given_once(tmp_path: Path) -> None:
    file = members_file(tmp_path, "txt")
    with pytest.raises(ConfigError, match="'orig' is given twice"):
        parse_members([f"orig={file}", f"orig={file}"])
