"""Columns: the detections of parsed prediction files, as arrays."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from itertools import chain
from operator import itemgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from scoring.detections import Detections
from scoring.errors import DataError
from scoring.faults import LABELS, NUMBERS, kinds

_FIELDS = itemgetter("box", "label", "score", "logit")


def may_hold_words(content: bytes) -> bool:
    """Return False where no true, false or null can be in a JSON text.

    No key of a prediction file has one of their letters `u` and `f`, so that most files lack both.

    Example:
        >>> may_hold_words(b'{"label_0": {"score": 0.5}}'), may_hold_words(b"[true]")
        (False, True)
    """
    return b"u" in content or b"f" in content


def to_detections(values: Sequence[Any], *, has_words: bool = True) -> Detections:
    """Return parsed objects as detections.

    Args:
        values: `{"box", "label", "logit"}` and optionally `"score"` of each detection.
        has_words: Whether a true, false or null may be among them.

    Raises:
        KeyError, TypeError, AttributeError, ValueError, OverflowError, DataError: An object is not
            as it should be; `scoring.faults.first_fault` says which and how.
    """
    if not has_words:
        detections = _plain_detections(values)
        if detections is not None:
            return detections
    boxes = [value["box"] for value in values]
    labels = [value["label"] for value in values]
    probs = [value["logit"] for value in values]
    scores = [value.get("score", 0.0) for value in values]
    # Looked at before numpy, which takes true for 1 and "0.5" for .5.
    if not kinds(chain(scores, *boxes, *probs)) <= NUMBERS or not all(probs):
        raise DataError("expected plain numbers and class vectors")
    return Detections(np.array(boxes), _label_column(labels), np.array(scores), np.array(probs))


def _label_column(labels: Sequence[Any]) -> npt.NDArray[Any]:
    found = kinds(labels)
    if not found <= LABELS:
        raise TypeError("expected whole numbers or strings")
    return np.array(labels, dtype=np.int64 if found == {int} else object)


def _plain_detections(values: Sequence[Any]) -> Detections | None:
    """Return the detections of objects without true, false or null; None if one may be faulty.

    Numbers are packed as they are: `struct` takes ints, floats and bools for a double, and no
    bool can be here.
    """
    try:
        boxes, labels, scores, probs = zip(*map(_FIELDS, values), strict=True)
        lengths = set(map(len, probs))
        if set(map(len, boxes)) != {4} or len(lengths) != 1:
            return None
        n, n_classes = len(values), lengths.pop()
        flat = np.frombuffer(
            struct.pack(
                f"={n * (5 + n_classes)}d",
                *scores,
                *chain.from_iterable(boxes),
                *chain.from_iterable(probs),
            ),
            dtype="=f8",
        )
        label_column = _label_column(labels)
    except (KeyError, TypeError, OverflowError, struct.error):
        return None
    if not n_classes:
        return None
    return Detections(
        flat[n : 5 * n].reshape(n, 4), label_column, flat[:n], flat[5 * n :].reshape(n, n_classes)
    )
