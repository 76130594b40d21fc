"""Outcomes: what a command did, said to a person in text or to a machine as one JSON object."""

from __future__ import annotations

import math
import sys
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

DONE, FAILED, MISSING, INCOMPLETE = 0, 1, 3, 4
"""Exit codes of commands that ended; errors have their own."""


_BIDI = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def harmless(text: str) -> str:
    r"""Return a text in which nothing is left that a terminal obeys; names may hold anything.

    Example:
        >>> harmless("a\x1b[2Jb\nc")
        'a\\x1b[2Jb\nc'
    """
    obeyed = {c for c in text if unicodedata.category(c) == "Cc" or c in _BIDI} - {"\n", "\t"}
    return text.translate({ord(c): c.encode("unicode_escape").decode() for c in obeyed})


class Notes:
    """What a reader must know: said on stderr at once, and kept for the JSON object."""

    def __init__(self) -> None:
        self._said: list[str] = []

    def say(self, text: str, word: str = "note") -> None:
        """Say a note.

        Args:
            text: The note.
            word: What stands before it.
        """
        print(harmless(f"{word}: {text}"), file=sys.stderr, flush=True)
        self._said.append(f"{word}: {text}")

    def all(self) -> tuple[str, ...]:
        """Return what was said."""
        return tuple(self._said)


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What a command did.

    Args:
        done: What was done, as a sentence.
        code: Exit code.
        text: What a person reads above it: tables, legends, verdicts.
        paths: Where results lie, by what they are.
        then: The command to type next; None if there is none.
        why: What that is for, in few words.
        also: Other commands that may come next, each with what it is for.
        counts: Numbers, for machines.
        tables: Tables, for machines.
        facts: Anything else, for machines.
        notes: What was said on stderr.
    """

    done: str
    code: int = DONE
    text: str = ""
    paths: Mapping[str, Path] = field(default_factory=dict)
    then: str | None = None
    why: str = ""
    also: Sequence[tuple[str, str]] = ()
    counts: Mapping[str, int | float] = field(default_factory=dict)
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    notes: Sequence[str] = ()


def text_of(outcome: Outcome) -> str:
    """Return an outcome as a person reads it: results, what was done, where it lies, what is next.

    A page to be opened is the last line; commands below each other are one to choose from.

    Example:
        >>> print(text_of(Outcome("2 files written.", paths={"files": Path("/out")},
        ...                       then="uamt score out", why="their scores")))
        2 files written.
        Files: /out
        Next: uamt score out   # their scores
        >>> print(text_of(Outcome("Scored.", then="uamt report out", why="a page",
        ...                       also=[("uamt suites out", "a gate for CI")])))
        Scored.
        Next: uamt report out   # a page
              uamt suites out   # a gate for CI
    """
    places = {f"{name[0].upper()}{name[1:]}": path for name, path in outcome.paths.items()}
    page = places.pop("Report", None)
    lines = [outcome.done, *(f"{name}: {path}" for name, path in places.items())]
    if outcome.then:
        for place, (command, why) in enumerate([(outcome.then, outcome.why), *outcome.also]):
            lines.append(
                f"{'      ' if place else 'Next: '}{command}{f'   # {why}' if why else ''}"
            )
    if page is not None:
        lines.append(f"Report: {page}   # open it in a browser")
    above = f"{outcome.text.rstrip()}\n\n" if outcome.text else ""
    return above + "\n".join(lines)


def json_of(command: str, outcome: Outcome, seconds: float) -> str:
    """Return an outcome as one JSON object.

    Args:
        command: Name of the command.
        outcome: What it did.
        seconds: Time it took.
    """
    return _dumps(
        {
            "command": command,
            "exit_code": outcome.code,
            "done": outcome.done,
            "paths": {name: str(path) for name, path in outcome.paths.items()},
            "next": outcome.then,
            "also": [command for command, _ in outcome.also],
            "counts": outcome.counts,
            "tables": {name: table.to_dict("records") for name, table in outcome.tables.items()},
            **outcome.facts,
            "notes": list(outcome.notes),
            "seconds": round(seconds, 3),
        }
    )


def json_of_error(command: str, code: int, message: str, seconds: float) -> str:
    """Return an error as one JSON object; arguments as those of `json_of`."""
    return _dumps(
        {
            "command": command,
            "exit_code": code,
            "error": message,
            "seconds": round(seconds, 3),
        }
    )


def _dumps(value: Any) -> str:
    import orjson

    return orjson.dumps(plain_value(value)).decode()


def plain_value(value: Any) -> Any:
    """Return a value as JSON has them: numbers that are not finite, and missing ones, are null.

    Example:
        >>> plain_value({"a": float("nan"), "b": (1, Path("x"))})
        {'a': None, 'b': [1, 'x']}
    """
    if isinstance(value, Mapping):
        return {str(key): plain_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain_value(item) for item in value]
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, Path):
        return str(value)
    # numpy's scalars have `item`; those of pandas that stand for nothing have not.
    number = value.item() if hasattr(value, "item") else value
    if isinstance(number, float):
        return number if math.isfinite(number) else None
    return number if isinstance(number, str | bool | int) else None
