"""Foreign pickles: paths and strings are read on any system, everything else is refused by name."""

from __future__ import annotations

import io
import pickle
from collections import OrderedDict
from pathlib import Path, PosixPath, PurePosixPath, PureWindowsPath

import pytest

from scoring.errors import DataError
from scoring.safe_pickle import load_paths, read_paths


def load(content: bytes) -> list[PurePosixPath]:
    return load_paths(io.BytesIO(content), "names.pkl")


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("kind", [PurePosixPath, PureWindowsPath, str])
def test_lists_of_paths_and_of_strings_are_read(kind: type, protocol: int) -> None:
    content = pickle.dumps([kind("a/b.jpg"), kind("c.d.png")], protocol)
    assert load(content) == [PurePosixPath("a/b.jpg"), PurePosixPath("c.d.png")]


@pytest.mark.parametrize("module", ["pathlib", "pathlib._local"])
@pytest.mark.parametrize(
    ("name", "parts", "expected"),
    [
        ("PosixPath", ("/", "home", "a.jpg"), "/home/a.jpg"),
        ("WindowsPath", ("C:\\", "photos", "a.jpg"), "C:/photos/a.jpg"),
        ("Path", ("a.jpg",), "a.jpg"),
    ],
)
def test_classes_of_any_system_and_any_python_are_known(
    module: str, name: str, parts: tuple[str, ...], expected: str
) -> None:
    """Written opcode by opcode, for no system can make the other's paths."""
    texts = b"".join(b"\x8c" + bytes([len(p)]) + p.encode() for p in parts)
    content = f"\x80\x04](c{module}\n{name}\n(".encode("latin1") + texts + b"tRe."
    assert load(content) == [PurePosixPath(expected)]


class Evil:
    """Pickled, it calls print when it is read."""

    def __reduce__(self) -> tuple[object, ...]:
        return print, ("read",)


@pytest.mark.parametrize(
    ("value", "named"),
    [
        ([Evil()], "builtins.print"),
        ([OrderedDict()], "collections.OrderedDict"),
        ([Path.home], "builtins.getattr"),
        ([PosixPath("a"), io.BytesIO], "_io.BytesIO"),
    ],
)
def test_anything_else_is_refused_by_name(
    value: object, named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(DataError, match=rf"names\.pkl: .* it also names '{named}'"):
        load(pickle.dumps(value))
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("name", ["os", "sys", "Path.unlink", "PurePath.__class__"])
def test_other_names_of_pathlib_are_refused(name: str) -> None:
    """`pathlib.os.system` would be reached through the module otherwise."""
    content = b"\x80\x04\x8c\x07pathlib\x8c" + bytes([len(name)]) + name.encode() + b"\x93."
    with pytest.raises(DataError, match="which is not loaded"):
        load(content)


def test_a_pickle_cannot_change_the_path_classes() -> None:
    """BUILD with a slot state sets attributes on whatever stands on the stack."""
    build = b"\x80\x04cpathlib\nPurePosixPath\n(N}\x8c\x07__str__\x8c\x04evils\x86b."
    state = b"\x80\x04](cpathlib\nPurePosixPath\nN}\x8c\x07__str__\x8c\x04evils\x86be."
    for content in (build, state):
        with pytest.raises(DataError):
            load(content)
    assert str(PurePosixPath("a")) == "a"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"text",
        b"\x80\x04.",
        b"\x80\x04](cpathlib\nPosixPath\n(K\x05tRe.",
        b"\x80\x09N.",
        b"c\n",
        pickle.dumps(["a"])[:-3],
    ],
)
def test_broken_pickles_are_told_from_lists(content: bytes) -> None:
    with pytest.raises(DataError, match=r"names\.pkl"):
        load(content)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"a": 1}, "expected a pickled list of paths, got dict"),
        ("a.jpg", "expected a pickled list of paths, got str"),
        (["a.jpg", 3], "item 1: expected a path or a string, got int"),
        ([["a.jpg"]], "item 0: expected a path or a string, got list"),
    ],
)
def test_other_content_is_refused(value: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        load(pickle.dumps(value))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none\.pkl: cannot be opened"):
        read_paths(tmp_path / "none.pkl")
    (tmp_path / "some.pkl").write_bytes(pickle.dumps([tmp_path / "a.jpg"]))
    assert [path.name for path in read_paths(tmp_path / "some.pkl")] == ["a.jpg"]
