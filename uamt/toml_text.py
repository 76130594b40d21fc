"""TOML of strangers: parsed after a look at its depth, with which time and stack grow."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from typing import Any

from scoring.errors import ConfigError
from scoring.faults import shown
from scoring.limits import MAX_EXPERIMENT_DEPTH

_TEXT = re.compile(
    r'''"""(?:\\.|[^\\])*?"{3,5}'''
    r"""|'{3}.*?'{3,5}"""
    r"""|(?P<open>"{3}|'{3})"""
    r"""|"(?:\\[^\n]|[^"\\\n])*"|'[^'\n]*'|(?P<open_line>["'])"""
    r"""|\#[^\n]*""",
    re.DOTALL,
)
"""Texts and comments of a TOML file; `open` and `open_line` are texts without an end."""

_BETWEEN_KEYS = re.compile(r"[=,\[\]{}\n]")
_BRACKET = re.compile(r"[\[\]{}]")


def parse_toml(text: str, where: str) -> dict[str, Any]:
    """Return what a TOML text holds.

    Args:
        text: The text.
        where: What messages call it.

    Raises:
        ConfigError: It is no TOML, keys or values are nested deeper than `MAX_EXPERIMENT_DEPTH`, a
            whole number has more than 64 bits, or a text holds a NUL character.

    Example:
        >>> parse_toml("passes = 3", "experiment.toml")
        {'passes': 3}
    """
    if _depth(text) > MAX_EXPERIMENT_DEPTH:
        raise ConfigError(
            f"{where}: expected keys of at most {MAX_EXPERIMENT_DEPTH} parts, and lists and tables "
            f"at most as deep in each other"
        )
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{where}: no valid TOML ({error})") from error
    except ValueError as error:  # int() refuses to read so many digits
        raise ConfigError(f"{where}: a whole number has thousands of digits") from error
    for key, value in _values(content, ""):
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            raise ConfigError(f"{where}: {key:.80}: expected 64 bits, got {shown(value)}")
        if isinstance(value, str) and "\0" in value:
            raise ConfigError(f"{where}: {key:.80}: expected text without NUL, got {shown(value)}")
    return content


def _depth(text: str) -> int:
    """Return the most parts of a key, or lists and tables in each other, as far as texts end."""
    between, end = [], 0
    for found in _TEXT.finditer(text):
        between.append(text[end : found.start()])
        end = found.end()
        if found["open"] or found["open_line"]:
            break  # TOML ends here
    else:
        between.append(text[end:])
    bare = "_".join(between)
    most = max(part.count(".") + 1 for part in _BETWEEN_KEYS.split(bare))
    depth = 0
    for bracket in _BRACKET.findall(bare):
        depth += 1 if bracket in "[{" else -1
        most = max(most, depth)
    return most


def _values(value: Any, key: str) -> Iterator[tuple[str, Any]]:
    """Yield the dotted key of every value that is no table and no list, and of every key itself."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield key, name
            yield from _values(inner, f"{key}.{name}" if key else name)
    elif isinstance(value, list):
        for inner in value:
            yield from _values(inner, key)
    else:
        yield key, value
