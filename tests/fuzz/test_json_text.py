"""JSON of strangers: what is no JSON, or none that can be used, is refused with its place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from scoring.errors import DataError
from scoring.json_text import parse_json, parse_record


@pytest.mark.parametrize("parse", [parse_json, parse_record])
@pytest.mark.parametrize(
    ("content", "said"),
    [
        (rb'["\ud800"]', "half a surrogate pair"),
        (rb'{"\udc00": 1}', "half a surrogate pair"),
        (rb'[[{"a": ["\ud83d"]}]]', "half a surrogate pair"),
        (b'["\xed\xa0\x80"]', "invalid"),
        (b"[" * 2000 + b"]" * 2000, "more than .* deep"),
        (b"[" * 100_000, "more than .* deep"),
        (b"[1, " + b"9" * 5000 + b"", "thousands of digits|out of range"),
        (b"\xff\xff", "decode"),
        (b"", "Expecting value"),
        (b"[1] 2", "Extra data"),
    ],
)
def test_broken_json_is_refused_with_its_place(
    parse: Callable[..., Any], content: bytes, said: str
) -> None:
    with pytest.raises(DataError, match=rf"here\.json: broken JSON \(.*({said})"):
        parse(content, "here.json")


def test_a_surrogate_pair_is_one_character() -> None:
    assert parse_record(rb'["\ud83d\ude00"]', "a") == ["\N{GRINNING FACE}"]
    assert parse_json(rb'[NaN, "\ud83d\ude00"]', "a")[1] == "\N{GRINNING FACE}"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"a": 1, "b": 2, "a": 3}', "key 'a' is there twice"),
        (b'[{"a": {"b": 1, "b": 1}}]', "key 'b' is there twice"),
        (b"[NaN]", "NaN is no number"),
        (b"[-Infinity]", "-Infinity is no number"),
        (b"[1e999]", "number 1e999 is out of range"),
        (b"[9223372036854775808]", "out of range"),
        (b"[-9223372036854775809]", "out of range"),
        (b"[" * 101 + b"]" * 101, "more than 100 deep"),
    ],
)
def test_a_record_is_exact(content: bytes, said: str) -> None:
    with pytest.raises(DataError, match=said):
        parse_record(content, "manifest.json")


def test_a_record_holds_what_64_bits_hold() -> None:
    content = b'{"a": [9223372036854775807, -9223372036854775808, 1e308, true, null, "x"]}'
    assert parse_record(content, "") == {"a": [2**63 - 1, -(2**63), 1e308, True, None, "x"]}
    assert parse_record(b"[" * 100 + b"]" * 100, "") is not None
