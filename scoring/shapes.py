"""Shapes of records: what the values of a manifest, a ledger or a facts file must be."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from scoring.faults import shown

Fits = Callable[[Any], bool]


@dataclass(frozen=True, slots=True)
class Shape:
    """What the value of a key must be.

    Args:
        expected: In words.
        fits: Whether a value is so.
        is_needed: Whether the key must be there.
    """

    expected: str
    fits: Fits
    is_needed: bool = True


def misfit(record: Any, shapes: Mapping[str, Shape], *, is_open: bool = False) -> str:
    """Return what is wrong with a record of a JSON file; empty if nothing is.

    Args:
        record: The parsed value.
        shapes: By key.
        is_open: Whether it may hold further keys.

    Example:
        >>> shapes = {"passes": Shape("a whole number", is_whole)}
        >>> misfit({"passes": True}, shapes)
        "expected a whole number as 'passes', got True"
    """
    if not isinstance(record, dict):
        return f"expected an object, got a {type(record).__name__}"
    for key, shape in shapes.items():
        if key not in record:
            if shape.is_needed:
                return f"expected '{key}', which is not there"
        elif not shape.fits(record[key]):
            return f"expected {shape.expected} as '{key}', got {shown(record[key])}"
    unknown = [] if is_open else [key for key in record if key not in shapes]
    return f"expected no key {shown(unknown[0])}" if unknown else ""


def is_whole(value: Any) -> bool:
    """Return whether a value is a whole number: true and false are none."""
    return type(value) is int


def is_count(value: Any) -> bool:
    """Return whether a value is a whole number from 0 up."""
    return type(value) is int and value >= 0


def is_number(value: Any) -> bool:
    """Return whether a value is a number: true and false are none."""
    return type(value) in (int, float)


def is_text(value: Any) -> bool:
    """Return whether a value is a text."""
    return isinstance(value, str)


def is_yes_or_no(value: Any) -> bool:
    """Return whether a value is true or false."""
    return isinstance(value, bool)


def one_of(*choices: str | None) -> Fits:
    """Return whether a value is one of these."""
    return lambda value: (value is None or isinstance(value, str)) and value in choices


def list_of(fits: Fits) -> Fits:
    """Return whether a value is a list whose items are all so."""
    return lambda value: isinstance(value, list) and all(map(fits, value))


def table_of(fits: Fits) -> Fits:
    """Return whether a value is an object whose values are all so."""
    return lambda value: isinstance(value, dict) and all(map(fits, value.values()))


def none_or(fits: Fits) -> Fits:
    """Return whether a value is null, or so."""
    return lambda value: value is None or fits(value)
