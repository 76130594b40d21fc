"""Records: detections as dicts of `box`, `label`, `score` and `logit`, turned into columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from scoring.detections import Detections, to_array
from scoring.errors import DataError
from scoring.passes import Passes
from scoring.rules import Rules

Record = Mapping[str, Any]
"""One detection: `box` [x1, y1, x2, y2] in pixels, `label`, `score` 0 to 1, `logit` (C,)."""

Repetitions = Sequence[Sequence[Record]]
"""T lists of detections."""


def to_passes(repetitions: Repetitions, rules: Rules, *, needs_vectors: bool = True) -> Passes:
    """Return the detections of T repetitions as columns.

    Args:
        repetitions: T lists of records; numbers, arrays or tensors.
        rules: Whether a NaN or infinity is refused.
        needs_vectors: Without need, records may lack `logit`, and vectors are left out.

    Raises:
        DataError: A record lacks a field, or a field is not what it should be. The message names
            repetition and record.
    """
    places = [(t, i) for t, each in enumerate(repetitions) for i in range(len(each))]
    records = [record for each in repetitions for record in each]
    fields = ("box", "label", "logit") if needs_vectors else ("box", "label")
    for place, record in zip(places, records, strict=True):
        _check_fields(record, fields, place)
    boxes = _columns(records, "box", places, length=4)
    no_vectors = np.empty((len(records), 0))
    probs = _columns(records, "logit", places) if needs_vectors else no_vectors
    detections = Detections(
        boxes,
        _labels(records, places),
        np.array([_number(record, place) for record, place in zip(records, places, strict=True)]),
        probs,
    )
    finite = detections.is_finite()
    # To leave out a pass on both sides takes more than these records.
    if rules.nonfinite != "keep" and not finite.all():
        place = places[int(np.argmin(finite))]
        raise DataError(
            f"{_where(place)}: expected finite numbers, got NaN or infinity in box, score or logit"
        )
    return Passes(detections, np.array([len(each) for each in repetitions], dtype=np.int64))


Place = tuple[int, int]


def _where(place: Place) -> str:
    return f"repetition {place[0]}, record {place[1]}"


def _check_fields(record: Any, fields: Sequence[str], place: Place) -> None:
    if not isinstance(record, Mapping):
        raise DataError(
            f"{_where(place)}: expected a dict with box, label, score and logit, got a "
            f"{type(record).__name__}"
        )
    for field in fields:
        if field not in record:
            raise DataError(f"{_where(place)}: '{field}' is missing")


def _columns(
    records: Sequence[Record], field: str, places: Sequence[Place], length: int | None = None
) -> npt.NDArray[np.float64]:
    """Return (N, length) one field of all records; without a length, that of the first one."""
    rows: list[npt.NDArray[np.float64]] = []
    for place, row in zip(places, _arrays(records, field, places), strict=True):
        if length is None:
            length = len(row) if row.ndim else 0
        if row.shape != (length,) or not length:
            raise DataError(
                f"{_where(place)}: expected {length or 'some'} numbers in '{field}', got shape "
                f"{row.shape}"
            )
        rows.append(row)
    return np.array(rows) if rows else np.empty((0, length or 0))


def _arrays(
    records: Sequence[Record], field: str, places: Sequence[Place]
) -> Iterator[npt.NDArray[np.float64]]:
    for place, record in zip(places, records, strict=True):
        try:
            yield to_array(record[field]).astype(np.float64)
        except (TypeError, ValueError) as error:
            raise DataError(f"{_where(place)}: expected numbers in '{field}' ({error})") from error


def _number(record: Record, place: Place) -> float:
    try:
        return float(record.get("score", 0.0))
    except (TypeError, ValueError) as error:
        raise DataError(f"{_where(place)}: expected a number as 'score' ({error})") from error


def _labels(records: Sequence[Record], places: Sequence[Place]) -> npt.NDArray[Any]:
    labels = []
    for place, record in zip(places, records, strict=True):
        label = record["label"]
        label = label.item() if hasattr(label, "item") else label
        if not isinstance(label, int | float | str) or isinstance(label, bool):
            raise DataError(
                f"{_where(place)}: expected a number or text as 'label', got {label!r:.80}"
            )
        labels.append(label)
    is_whole = all(isinstance(label, int) for label in labels)
    return np.array(labels, dtype=np.int64 if is_whole else object)
