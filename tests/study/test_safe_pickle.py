"""Foreign pickles: paths and strings are read on any system, everything else is refused by name."""

from __future__ import annotations

import io
import pickle
import time
import tracemalloc
from collections import OrderedDict
from pathlib import Path, PosixPath, PurePosixPath, PureWindowsPath

import pytest

from scoring import safe_pickle
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
    with pytest.raises(DataError, match=rf"names\.pkl: .* it holds '{named}', which is not"):
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
        ({"a": 1}, "holds something of type dict in place of the list"),
        ("a.jpg", "holds something of type str in place of the list"),
        (["a.jpg", 3], "holds item 1 of type int"),
        (["a.jpg", None, True], "holds item 1 of type NoneType"),
        ([["a.jpg"]], "holds item 0 of type list"),
        ([("a.jpg", "b.jpg")], "holds item 0 of type tuple"),
        ([PosixPath], "holds item 0 of type path class"),
        ([{"a": 1.5, "b": b"x"}], "holds item 0 of type dict"),
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


def test_sets_tuples_and_python_2_strings_are_read() -> None:
    assert load(pickle.dumps(("a.jpg", "b.jpg"))) == [
        PurePosixPath("a.jpg"),
        PurePosixPath("b.jpg"),
    ]
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert load(pickle.dumps({"a.jpg"}, protocol) if protocol > 3 else b"]U\x05a.jpga.") == [
            PurePosixPath("a.jpg")
        ]
    assert load(b"(lp0\nS'a.jpg'\np1\nag1\na.") == [PurePosixPath("a.jpg")] * 2


def test_twenty_thousand_paths_are_read() -> None:
    paths = [PurePosixPath("/data/coco/train2017", f"{n:012d}.jpg") for n in range(20_000)]
    assert load(pickle.dumps(paths)) == paths


def doubling(times: int) -> bytes:
    """Paths of the path before, twice: the last has 2 ** times names, in a few bytes each."""
    named = b"cpathlib\nPosixPath\n"
    start = b"\x80\x04](" + named + b"\x8c\x01a\x85Rq\x00"
    return start + (named + b"h\x00h\x00\x86Rq\x00") * times + b"e."


TEXT = b"\x8c\x05a.jpg"
ATTACKS = {
    "a string that says it has 2^60 bytes": b"\x80\x04]\x8d" + b"\0" * 7 + b"\x10a.",
    "bytes that say they have 2^31": b"\x80\x04]B\xff\xff\xff\x7fa.",
    "a number of 10,000 digits": b"]L" + b"9" * 10_000 + b"L\na.",
    "lists in lists, 100,000 deep": b"\x80\x04" + b"]" * 100_000 + b"a" * 99_999 + b".",
    "marks alone": b"(" * 100_000 + b".",
    "tuples of themselves, as a key": b"\x80\x04})" + b"2\x86" * 200 + b"Ns.",
    "tuples of themselves, called by": b"\x80\x04)" + b"\x94h\x00h\x00\x86" * 100 + b"NQ.",
    "a persistent id": b"\x80\x04]U\x01aQa.",
    "a persistent id as text": b"]Pevil\na.",
    "an extension code": b"\x80\x04]\x82\x01a.",
    "an extension code of 4 bytes": b"\x80\x04]\x84\xff\xff\xff\x7fa.",
    "a new object": b"\x80\x04]cpathlib\nPosixPath\n)\x81a.",
    "a new object with keywords": b"\x80\x04]cpathlib\nPosixPath\n)}\x92a.",
    "a state": b"\x80\x04]}b.",
    "an object": b"](cpathlib\nPosixPath\nU\x01aoa.",
    "a call of a string": b"\x80\x04]" + TEXT + b")Ra.",
    "a call of a list": b"\x80\x04]])Ra.",
    "a class by numbers": b"\x80\x04]K\x01K\x02\x93a.",
    "a class of os by another name": b"\x80\x04]\x8c\x0apathlib.os\x8c\x06system\x93a.",
    "a class behind a dot": b"\x80\x04]\x8c\x07pathlib\x8c\x09os.system\x93a.",
    "an instance of system": b"](S'touch harm'\nios\nsystem\na.",
    "a path of 3,000 parts of 3,000": b"](cpathlib\nPosixPath\n(X\xb8\x0b\x00\x00"
    + b"a" * 3000
    + b"q\x00"
    + b"h\x00" * 3000
    + b"tRe.",
    "items for a string": b"\x80\x04" + TEXT + b"(" + TEXT + b"e.",
    "keys for a list": b"\x80\x04](" + TEXT + TEXT + b"u.",
    "an empty stack": b"a.",
    "a memo that nothing was put in": b"]h\x05a.",
    "a tuple of more than there is": b"\x80\x04N\x87.",
}


@pytest.mark.parametrize("content", ATTACKS.values(), ids=ATTACKS)
def test_attacks_are_refused_in_no_time_and_no_memory(content: bytes) -> None:
    tracemalloc.start()
    started = time.process_time()
    try:
        with pytest.raises(DataError, match=r"^names\.pkl: "):
            load(content)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert time.process_time() - started < 20  # tracing makes it ten times as long
    assert peak < 100e6


def test_paths_that_double_are_bounded() -> None:
    assert [str(path) for path in load(doubling(2))] == ["a", "a/a", "a/a/a/a"]
    with pytest.raises(DataError, match="path of more than 4096 characters"):
        load(doubling(60))


def test_large_claims_without_content_take_no_memory() -> None:
    """Python's own unpickler makes room for what these say."""
    tracemalloc.start()
    try:
        for claim in (b"r\xff\xff\xff\x7f", b"\x95" + b"\xff" * 8):  # a memo index, a frame
            assert load(b"\x80\x04](" + TEXT + claim + b"e.") == [PurePosixPath("a.jpg")]
        assert tracemalloc.get_traced_memory()[1] < 1e6
    finally:
        tracemalloc.stop()


def test_more_instructions_characters_or_bytes_than_any_list_has_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    content = pickle.dumps(["a.jpg"] * 100)
    assert len(load(content)) == 100
    limits = {
        "MAX_PICKLE_STEPS": (50, "more than 50 instructions"),
        "MAX_PICKLE_CHARACTERS": (499, "paths of more than 499 characters together"),
        "MAX_PICKLE_BYTES": (100, "of at most 0 KiB, which it exceeds"),
    }
    for name, (value, message) in limits.items():
        with monkeypatch.context() as patch:
            patch.setattr(safe_pickle, name, value)
            with pytest.raises(DataError, match=message):
                load(content)


def test_paths_count_before_they_are_in_a_list(monkeypatch: pytest.MonkeyPatch) -> None:
    """Made of a text that is fetched again and again, they wait on the stack for the last step."""
    named = b"cpathlib\nPosixPath\nq\x01"
    start = b"\x80\x04](\x8c\xc8" + b"a" * 200 + b"q\x00" + named + b"h\x00\x85R"
    content = start + (b"h\x01(" + b"h\x00" * 18 + b"tR") * 100 + b"e."
    assert len(load(content)) == 102
    monkeypatch.setattr(safe_pickle, "MAX_PICKLE_CHARACTERS", 300_000)
    for unfinished in (content, content[:-2] + b"."):
        with pytest.raises(DataError, match="more than 300000 characters together"):
            load(unfinished)
