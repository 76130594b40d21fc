"""What labels are called where no detector tells: in pictures, in a report, and in bad files."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

import uamt as facade
from scoring.errors import DataError
from tests.uamt.report_reader import Page
from uamt.label_names import read_label_names

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def names(tmp_path: Path) -> Path:
    path = tmp_path / "classes.txt"
    path.write_text("background\ncat\n<b>dog</b>\n")
    return path


@pytest.fixture
def root(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made / "root", tmp_path / "root"))


def test_a_report_calls_labels_by_the_names_of_the_file(
    uamt: Command, made: Path, root: Path, names: Path
) -> None:
    assert uamt("report", root, "--images", made / "pictures", "--label-names", names)[0] == 0
    told = pd.read_csv(root / "scores" / "report_objects.csv")["label"]
    assert set(told) == {"background", "cat", "<b>dog</b>"}
    page = (root / "report.html").read_text()
    assert "&lt;b&gt;dog" in page
    assert "<b>dog" not in page
    assert f"--label-names {names}" in page  # in the command that remakes it
    shows = [view["show"] for view in Page(root / "report.html").json()["views"].values()]
    options = f" --images {made / 'pictures'} --label-names {names}"
    assert shows
    assert all(show.endswith(options) for show in shows)


def test_a_picture_and_the_film_strip_after_it_have_the_names(
    uamt: Command, made: Path, root: Path, names: Path, tmp_path: Path
) -> None:
    words = ("show", "day_1", "--mutant", "0.4", "--model", "net", "--root", root)
    words = (*words, "--images", made / "pictures" / "day", "--out", tmp_path / "kill.png")
    code, told, _ = uamt(*words, "--label-names", names)
    assert code == 0
    assert f"--label-names {names} --passes all" in told
    image, mutant = made / "pictures" / "day" / "day_1.png", "0.4"
    plain = facade.show(image, mutant, root, model="net")
    named = facade.show(image, mutant, root, model="net", label_names=names)
    numbers = tmp_path / "numbers.txt"
    numbers.write_text("0\n1\n2")
    assert facade.show(image, mutant, root, model="net", label_names=numbers) == plain
    assert named != plain


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("background\ncat", ("background", "cat")),
        ("\ufeffcat \r\n dog\r\n\r\n", ("cat", "dog")),
        ("ein Name mit Wörtern\n猫\n", ("ein Name mit Wörtern", "猫")),
    ],
)
def test_a_name_stands_on_each_line(
    tmp_path: Path, content: str, expected: tuple[str, ...]
) -> None:
    path = tmp_path / "classes.txt"
    path.write_bytes(content.encode())
    assert read_label_names(path) == expected


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "expected 1 to 100,000 class names, got 0"),
        (b" \n\n", "got 0"),
        (b"a\n" * 100_001, "got 100,001"),
        (b"background\n\ncat\n", "line 2: expected the name of label 1, got an empty line"),
        (b"\xff\xfe", "expected a list of class names as UTF-8 text"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "classes.txt"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message) as caught:
        read_label_names(path)
    assert str(path) in str(caught.value)


def test_a_file_that_is_not_there_is_told(uamt: Command, root: Path, tmp_path: Path) -> None:
    code, _, stderr = uamt("report", root, "--label-names", tmp_path / "nothing.txt")
    assert code == 3
    assert "nothing.txt: cannot be opened (No such file or directory)" in stderr
