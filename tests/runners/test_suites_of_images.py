"""Listing suites of images: their order, their names, and everything that people's folders hold."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

from runners.images import ImageRef, list_images, list_suites, output_stem, read_image
from scoring.errors import ConfigError, DataError
from tests.runners.test_images import touch


def test_a_folder_is_one_suite_of_its_name_in_a_fixed_order(tmp_path: Path) -> None:
    root = touch(tmp_path / "photos", "b.png", "a.JPG", "sub/c.png", ".hidden.png", ".git/d.png")
    (root / "notes.txt").write_text("no image")
    suites = list_suites(root)
    assert list(suites) == ["photos"]
    assert suites["photos"] == (
        ImageRef("photos", "a.JPG", "a", root / "a.JPG"),
        ImageRef("photos", "b.png", "b", root / "b.png"),
        ImageRef("photos", "sub/c.png", "c", root / "sub/c.png"),
    )


def test_each_first_level_folder_can_be_a_suite(tmp_path: Path) -> None:
    root = touch(tmp_path, "night/x/1.png", "day/1.png", ".cache/2.png")
    suites = list_suites(root, suites="folders")
    assert list(suites) == ["day", "night"]
    assert [ref.relative_path for ref in suites["night"]] == ["x/1.png"]


def test_images_without_folders_can_be_one_suite(tmp_path: Path) -> None:
    touch(tmp_path, "1.png", "2.png")
    with pytest.raises(ConfigError) as caught:
        list_suites(tmp_path, suites="folders")
    assert "got the image '1.png' and 1 more and no folder; leave out --suites folders" in str(
        caught.value
    )


def test_images_beside_the_folders_of_suites_are_an_error(tmp_path: Path) -> None:
    touch(tmp_path, "day/1.png", "loose.png")
    with pytest.raises(ConfigError, match=r"'loose.png'"):
        list_suites(tmp_path, suites="folders")


def test_a_folder_without_suites_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="expected folders of images"):
        list_suites(tmp_path, suites="folders")


def test_named_suites_keep_their_order(tmp_path: Path) -> None:
    touch(tmp_path, "one/1.png", "two/1.png")
    suites = list_suites({"z": tmp_path / "one", "a": str(tmp_path / "two")})
    assert list(suites) == ["z", "a"]
    assert suites["a"][0].suite == "a"


@pytest.mark.parametrize("name", ["", "a/b", "..", ".x", "a:b", "a\n", "a "])
def test_a_suite_name_that_is_no_folder_name_is_an_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match="suite name"):
        list_suites({name: touch(tmp_path, "1.png")})


def test_suite_names_that_are_one_folder_on_some_systems_are_an_error(tmp_path: Path) -> None:
    touch(tmp_path, "1.png")
    with pytest.raises(ConfigError, match="'Day' and 'day'"):
        list_suites({"Day": tmp_path, "day": tmp_path})


def test_no_suites_are_an_error() -> None:
    with pytest.raises(ConfigError, match="at least one suite"):
        list_suites({})


def test_an_empty_folder_is_an_error(tmp_path: Path) -> None:
    touch(tmp_path, ".hidden.png")
    with pytest.raises(DataError, match="found none"):
        list_suites(tmp_path)


def test_a_missing_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"gone', found nothing"):
        list_suites(tmp_path / "gone")
    with pytest.raises(DataError, match=r"1.png', found a file"):
        list_suites(touch(tmp_path, "1.png") / "1.png")


def test_equal_stems_in_two_folders_offer_names_by_path(tmp_path: Path) -> None:
    root = touch(tmp_path / "kitti", "cam_front/0001.png", "cam_back/0001.png")
    with pytest.raises(ConfigError) as caught:
        list_suites(root)
    assert "'cam_back/0001.png' = 'cam_front/0001.png'" in str(caught.value)
    assert "--names path ('cam_back__0001')" in str(caught.value)
    stems = [ref.stem for ref in list_suites(root, names="path")["kitti"]]
    assert stems == ["cam_back__0001", "cam_front__0001"]


def test_files_that_differ_in_their_suffix_keep_it_when_named_by_path(tmp_path: Path) -> None:
    touch(tmp_path, "a.jpg", "a.png", "b.png")
    with pytest.raises(ConfigError, match=r"'a\.jpg' = 'a\.png'; use --names path \('a__jpg'\)"):
        list_images(tmp_path, "s")
    refs = list_images(tmp_path, "s", "path")
    assert [ref.stem for ref in refs] == ["a__jpg", "a__png", "b"]


@pytest.mark.parametrize("names", ["stem", "path"])
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Photo.png", "photo.PNG"),
        (unicodedata.normalize("NFC", "é.png"), unicodedata.normalize("NFD", "é.png")),
        ("strasse.png", "straße.png"),
    ],
)
def test_names_that_would_share_a_folder_are_an_error(
    tmp_path: Path, names: str, first: str, second: str
) -> None:
    touch(tmp_path, first, second)
    if len(list(tmp_path.iterdir())) < 2:
        pytest.skip("this file system takes both names for one")
    with pytest.raises(ConfigError, match=r" = .*rename one of each"):
        list_suites(tmp_path, names=names)  # type: ignore[arg-type]


def test_paths_that_join_to_one_name_are_an_error(tmp_path: Path) -> None:
    touch(tmp_path, "a__b/c.png", "a/b__c.png")
    with pytest.raises(ConfigError, match=r"'a/b__c.png' = 'a__b/c.png'"):
        list_suites(tmp_path, names="path")


def test_unicode_and_spaces_come_out_composed(tmp_path: Path) -> None:
    touch(tmp_path / "s", unicodedata.normalize("NFD", "Zoë à Köln/été 1.png"))
    (ref,) = list_suites(tmp_path / "s")["s"]
    assert ref.relative_path == unicodedata.normalize("NFC", "Zoë à Köln/été 1.png")
    assert ref.stem == unicodedata.normalize("NFC", "été 1")
    assert read_image(ref.path).shape == (3, 2, 2)


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        ("image_086_png.rf.795f.jpg", "image_086_png.rf.795f"),
        ("image_086_png.rf.795f", "image_086_png.rf.795f"),
        ("v1.2", "v1.2"),
        ("a.b.PNG", "a.b"),
        ("a.png.jpg", "a.png"),
    ],
)
def test_only_an_image_suffix_is_stripped(name: str, stem: str) -> None:
    assert output_stem(name) == stem


def test_linked_folders_are_followed_but_not_in_circles(tmp_path: Path) -> None:
    touch(tmp_path, "elsewhere/1.png", "s/2.png")
    (tmp_path / "s/link").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    (tmp_path / "s/loop").symlink_to(tmp_path / "s", target_is_directory=True)
    paths = [ref.relative_path for ref in list_suites(tmp_path / "s")["s"]]
    assert paths == ["2.png", "link/1.png"]


def test_an_unknown_naming_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="'stem' or 'path', got 'both'"):
        list_suites(touch(tmp_path, "1.png"), names="both")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="'one' or 'folders', got 'all'"):
        list_suites(tmp_path, suites="all")  # type: ignore[arg-type]
