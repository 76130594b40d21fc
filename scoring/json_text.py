"""JSON of strangers: numeric files as any tool writes them, and records that must be exact."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Never

import orjson

from scoring.errors import DataError
from scoring.limits import MAX_DEPTH, MAX_RECORD_DEPTH
from scoring.reading import read_bounded

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_PLAIN: set[type] = {int, float, bool, type(None)}


class _RefusedError(ValueError):
    """What a JSON text holds is not taken."""


def parse_json(content: bytes, where: str, advice: str = "") -> Any:
    """Return what a JSON text holds, bare NaN and Infinity included, as tools write them.

    The text is UTF-8, or UTF-16 or UTF-32 as its first bytes tell. Of equal keys the last counts.

    Args:
        content: The text.
        where: What messages call it.
        advice: What to do if it is broken, for the message.

    Raises:
        DataError: It is no JSON, is nested deeper than `MAX_DEPTH`, or holds half a surrogate pair,
            which no file system and no terminal can write.

    Example:
        >>> parse_json(b"[1, NaN]", "file.json")
        [1, nan]
    """
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError:
        return _parse(content, where, advice, json.JSONDecoder(), MAX_DEPTH)


def parse_record(content: bytes, where: str, advice: str = "") -> Any:
    """Return what a JSON text holds, where every number is finite and every key stands once.

    Args:
        content: The text.
        where: What messages call it.
        advice: What to do if it is broken, for the message.

    Raises:
        DataError: As in `parse_json`; or a key comes twice in an object, a number is NaN, infinite
            or a whole one beyond 64 bits, or it is nested deeper than `MAX_RECORD_DEPTH`.
    """
    return _parse(content, where, advice, _RECORDS, MAX_RECORD_DEPTH)


def read_record(path: Path, most: int, what: str, *, may_be_pipe: bool = False) -> Any:
    """Return what a JSON file holds; see `parse_record`.

    Args:
        path: The file.
        most: Bytes; a larger file is refused before it is read.
        what: What it should be, for messages.
        may_be_pipe: Whether it may be a pipe.

    Raises:
        FileNotFoundError: There is no such file.
        DataError: It cannot be read, is too large, or as in `parse_record`.
    """
    return parse_record(read_bounded(path, most, what, may_be_pipe=may_be_pipe), str(path))


def first_repeated_key(content: bytes, where: str) -> str | None:
    """Return the first key that an object of a JSON text holds twice; None if there is none.

    Raises:
        DataError: It is no JSON.
    """
    found: list[str] = []

    def note(pairs: list[tuple[str, Any]]) -> None:
        if len(dict(pairs)) < len(pairs):
            found.append(_repeated(pairs))

    _parse(content, where, "", json.JSONDecoder(object_pairs_hook=note), MAX_DEPTH)
    return found[0] if found else None


def _parse(content: bytes, where: str, advice: str, decoder: json.JSONDecoder, most: int) -> Any:
    fault = f"lists and objects in each other, more than {most} deep"
    try:
        text = content.decode(json.detect_encoding(content))
        value = decoder.decode(text)
        is_deep = _levels(value, most, look_at_texts=bool(_SURROGATE.search(text))) > most
    except RecursionError:
        pass
    except (json.JSONDecodeError, UnicodeDecodeError, _RefusedError) as error:
        fault = str(error)
    except UnicodeEncodeError:
        fault = "half a surrogate pair in a text"
    except ValueError:  # int() refuses to read so many digits
        fault = "a whole number of thousands of digits"
    else:
        if not is_deep:
            return value
    raise DataError(f"{where}: broken JSON ({fault}){f'; {advice}' if advice else ''}") from None


def _levels(value: Any, most: int, *, look_at_texts: bool) -> int:
    """Return how many lists and objects are in each other, at most one more than `most`.

    Raises:
        UnicodeEncodeError: A text holds half a surrogate pair.
    """
    level, depth = [value], 0
    while depth <= most:
        inner: list[Any] = []
        has_container = False
        for item in level:
            if isinstance(item, str) and look_at_texts:
                item.encode()
            elif isinstance(item, Mapping):
                has_container = True
                if look_at_texts:
                    "".join(item).encode()
                inner += item.values()
            elif isinstance(item, Sequence) and not isinstance(item, str):
                has_container = True
                # Long lists of numbers are most of every file.
                if not set(map(type, item)) <= _PLAIN:
                    inner += item
        if not has_container:
            return depth
        level = inner
        depth += 1
    return depth


def _repeated(pairs: Sequence[tuple[str, Any]]) -> str:
    seen: set[str] = set()
    return next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _RefusedError(f"key {_repeated(pairs)!r:.80} is there twice in one object")
    return found


def _whole(text: str) -> int:
    # The least and the largest number of 64 bits have 19 digits.
    if len(text) > 20 or not -(2**63) <= int(text) < 2**63:
        raise _RefusedError(f"whole number {text:.40} is out of range")
    return int(text)


def _finite(text: str) -> float:
    if not math.isfinite(number := float(text)):
        raise _RefusedError(f"number {text:.40} is out of range")
    return number


def _no_constant(text: str) -> Never:
    raise _RefusedError(f"{text} is no number here")


_RECORDS = json.JSONDecoder(
    object_pairs_hook=_unique,
    parse_int=_whole,
    parse_float=_finite,
    parse_constant=_no_constant,
)
