"""Faults of prediction files: what is wrong with the first object that is not as it should be."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Sequence
from math import isfinite
from pathlib import Path
from typing import Any

from scoring.errors import DataError
from scoring.layout import prediction_path
from scoring.limits import MAX_CLASSES

NUMBERS: set[type] = {int, float}
"""Kinds of a coordinate, score or probability: true and false are none."""
_LARGEST_WHOLE = 2**1023
LABELS: set[type] = {int, float, str}
"""Kinds of a label: whole numbers, and what foreign files hold."""


def kinds(values: Iterable[Any]) -> set[type]:
    """Return the types that occur among these values.

    Example:
        >>> kinds([1, True]) <= NUMBERS
        False
    """
    return set(map(type, values))


class _Short(reprlib.Repr):
    def repr_int(self, value: int, level: int) -> str:
        # Python refuses to write so many digits.
        is_long = value.bit_length() > 1000
        return (
            f"a number of {value.bit_length()} bits" if is_long else super().repr_int(value, level)
        )


_SHORT = _Short()
_SHORT.maxlevel, _SHORT.maxlist, _SHORT.maxdict, _SHORT.maxstring = 3, 8, 4, 60
_LONGEST = 80
"""Characters of a value in a message."""


def shown(value: Any) -> str:
    """Return a value as messages show it: short, however long or deep it is.

    Example:
        >>> shown([0.5] * 100)
        '[0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, ...]'
    """
    text = _SHORT.repr(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def where(folder: Path, t: int, key: str) -> str:
    """Return the words that name a detection: its file, image, pass and id."""
    place = f"image folder '{folder.name}', pass {t}, id '{key:.{_LONGEST}}'"
    return f"{prediction_path(folder, t)} ({place})"


def first_fault(objects: Sequence[tuple[int, str, Any]], folder: Path) -> DataError:
    """Return the error of the first object that is not as it should be.

    Args:
        objects: Pass, id and parsed value of every detection of an image, in reading order.
        folder: The image's folder.
    """
    length: int | None = None
    for t, key, value in objects:
        place = where(folder, t, key)
        fault = _fault_of(value)
        if fault:
            return DataError(f"{place}: {fault}")
        if length is not None and len(value["logit"]) != length:
            return DataError(
                f"{place}: logit has {len(value['logit'])} entries where the detections before it "
                f"have {length}; all vectors of an image must have one length"
            )
        length = len(value["logit"])
    return DataError(f"{folder}: a coordinate, score or probability is out of range")


def _fault_of(value: Any) -> str:
    """Return what is wrong with one object; empty if nothing is."""
    if not isinstance(value, dict):
        return f"expected an object, got a {type(value).__name__}"
    for field in ("box", "label", "logit"):
        if field not in value:
            return f"'{field}' is missing"
    if not _is_numbers(value["box"]) or len(value["box"]) != 4:
        return f"box must be four numbers, got {shown(value['box'])}"
    label = value["label"]
    if type(label) not in LABELS:
        return f"label must be a number or text, got {shown(label)}"
    if isinstance(label, int) and not -(2**63) <= label < 2**63:
        return f"label is out of range, got {shown(label)}"
    if isinstance(label, float) and not isfinite(label):
        return f"label must be finite, got {shown(label)}"
    if not _is_numbers([value.get("score", 0.0)]):
        return f"score must be a number, got {shown(value['score'])}"
    for field in ("box", "score"):
        numbers = value.get(field, 0.0)
        if not _are_floats(numbers if isinstance(numbers, list) else [numbers]):
            return f"{field} is out of range, got {shown(numbers)}"
    if not _is_numbers(value["logit"]) or not value["logit"]:
        return f"logit must be numbers, got {shown(value['logit'])}"
    if len(value["logit"]) > MAX_CLASSES:
        return f"logit must have at most {MAX_CLASSES:,} entries, got {len(value['logit']):,}"
    if not _are_floats(value["logit"]):
        return f"logit is out of range, got {shown(value['logit'])}"
    return ""


def _are_floats(numbers: Sequence[Any]) -> bool:
    """Return whether numbers are no larger than floats can be; NaN and infinity are."""
    return all(isinstance(number, float) or abs(number) < _LARGEST_WHOLE for number in numbers)


def _is_numbers(value: Any) -> bool:
    return isinstance(value, list) and kinds(value) <= NUMBERS
