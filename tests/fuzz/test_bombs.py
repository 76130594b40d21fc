"""Small files that ask for much, and ledgers with strange lines between honest ones."""

from __future__ import annotations

import json
import pickle
import pickletools
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from runners.ledger import Entry, Ledger, Unit, ledger_line
from scoring import limits, safe_pickle
from scoring.errors import ConfigError, DataError
from scoring.membership import read_members
from tests.fuzz.memory import few_bytes
from uamt.options import read_experiment_file

UNIT = Unit("net", "orig", "a.jpg", "mc_dropout", "0.1")


def test_a_ledger_passes_over_what_is_no_entry(tmp_path: Path) -> None:
    entry = Entry(UNIT, "done", "0f", "a", ("ab",))
    line = ledger_line(entry)
    other = json.loads(line)
    wrong: list[Any] = [
        {**other, "status": "finished"},
        {**other, "sha256": "ab"},
        {**other, "sha256": [1]},
        {**other, "unit": {**other["unit"], "tag": 0.1}},
        {**other, "unit": [1]},
        {**other, "stem": None},
        {**other, "new": 1},
        [],
        7,
    ]
    lines = [json.dumps(value).encode() + b"\n" for value in wrong]
    long = b'"' + b"x" * (3 * limits.MAX_LEDGER_LINE_BYTES) + b'"\n'
    content = b"".join([*lines, b"\xff\n", long, line, b"[" * 2000 + b"\n", line[:40]])
    (tmp_path / "ledger.jsonl").write_bytes(content)
    with few_bytes(8 * limits.MAX_LEDGER_LINE_BYTES):
        assert Ledger(tmp_path).latest() == {UNIT: entry}


def test_a_line_at_the_limit_does_not_join_the_next(tmp_path: Path) -> None:
    line = ledger_line(Entry(UNIT, "done", "0f", "a"))
    for size in range(limits.MAX_LEDGER_LINE_BYTES - 2, limits.MAX_LEDGER_LINE_BYTES + 3):
        (tmp_path / "ledger.jsonl").write_bytes(b"x" * size + b"\n" + line)
        assert list(Ledger(tmp_path).latest()) == [UNIT]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a = " + "[" * 5000 + "]" * 5000, "at most 32 parts"),
        ("a" + ".a" * 40_000 + " = 1", "at most 32 parts"),
        ("[" + "a." * 5000 + "a]", "at most 32 parts"),
        ("a = " + "{a=" * 500 + "1" + "}" * 500, "at most 32 parts"),
        ('"""' + '\\"""' * 1000, "no valid TOML"),
        ("passes = " + "9" * 5000, "thousands of digits"),
        ("seed = 0x" + "f" * 5000, "seed: expected 64 bits"),
        ('out = "a\\u0000b"', "out: expected text without NUL"),
        ('[suites]\n"a\\u0000" = "b"', "suites: expected text without NUL"),
        ("[suites]\na = 1", "suites: expected a table of texts"),
        ("passes = {}", "passes: expected a whole number, got {}"),
        ("[modle]", "unknown key 'modle'"),
        ("x" * 100_000 + " = 1", "unknown key 'xxx"),
        ("\ud800 = 1", "no valid TOML"),
    ],
)
def test_an_experiment_file_is_refused_with_its_place(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "experiment.toml"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises((ConfigError, DataError), match=rf"experiment\.toml: .*{said}") as caught:
        read_experiment_file(path)
    assert len(str(caught.value)) < 600


def test_brackets_and_dots_in_texts_and_comments_have_no_depth(tmp_path: Path) -> None:
    path = tmp_path / "experiment.toml"
    deep = "[" * 50 + "a." * 50
    lines = [f'out = "{deep} \\" {deep}"', f"images = '{deep}'  # {deep} \"", "passes = 3"]
    path.write_text("\ufeff" + "\n".join([*lines, f'sites = """{deep}"" {deep}""""', "seed = 1"]))
    values = read_experiment_file(path)
    assert (values["passes"], values["seed"], values["images"]) == (3, 1, deep)
    assert values["sites"] == f'{deep}"" {deep}"'


BOMBS = {
    "a memo of gigabytes": b"]r\xff\xff\xff\x7f.",
    "a tuple in tuples in a set": b"\x8f(" + b")" + b"\x85" * 200_000 + b"\x90.",
    "a tuple in tuples as a key": b"})" + b"\x85" * 200_000 + b"Ns.",
    "a tuple that is remembered in tuples": b"\x8f()\x94" + b"h\x00\x85\x94" * 200_000 + b"\x90.",
    "lists without end": b"](" + b"]" * 100_000 + b"e.",
    "steps without end": b"](" + b"N" * 3000 + b"e.",
    "a text that is not there": b"]\x8d" + b"\xff" * 7 + b"\x7fa.",
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_pickle_that_asks_for_more_than_a_list_is_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name == "steps without end":
        monkeypatch.setattr(safe_pickle, "MAX_PICKLE_STEPS", 3000)
    path = tmp_path / "names.pkl"
    path.write_bytes(BOMBS[name])
    with few_bytes(100 * len(BOMBS[name]) + 2**21), pytest.raises(DataError, match=r"names\.pkl"):
        read_members("a", path)


def test_the_bombs_are_what_their_names_say() -> None:
    """Each is a pickle as far as pickletools can tell, but for the text that is not there."""
    for name, content in BOMBS.items():
        if "not there" not in name:
            assert [step.name for step, _, _ in pickletools.genops(content)][-1] == "STOP"


def test_a_long_list_of_long_paths_passes(tmp_path: Path) -> None:
    listed = [PurePosixPath(f"/home/user/photos/{i % 50}/night/image_{i}.jpg") for i in range(5000)]
    (tmp_path / "names.pkl").write_bytes(pickle.dumps(listed))
    assert read_members("a", tmp_path / "names.pkl").images == tuple(map(str, listed))
