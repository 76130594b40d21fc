"""Columns: the detections of parsed prediction files, as arrays."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from itertools import chain
from math import isfinite
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import orjson

from scoring.detections import Detections
from scoring.errors import DataError
from scoring.faults import LABELS, NUMBERS, kinds
from scoring.limits import MAX_CLASSES, MAX_DETECTIONS
from scoring.passes import Passes

Floats = npt.NDArray[np.float64]

_LONG_VECTOR = 16
"""Entries from which a vector is packed alone, which costs less than stringing all together."""
_JOINED_BYTES = 2**17
"""So many bytes stay in a core's cache."""
_N_KEYS = 5
"""Keys of an ordinary detection: its id, box, label, score and logit."""
_OBJECTS_AT_ONCE = 200
"""Parsed objects of so many detections stay in a core's cache until they are packed."""


def may_hold_words(content: bytes) -> bool:
    """Return False where no true, false or null can be in a JSON text.

    No key of a prediction file has one of their letters `u` and `f`, so that most files lack both.

    Example:
        >>> may_hold_words(b'{"label_0": {"score": 0.5}}'), may_hold_words(b"[true]")
        (False, True)
    """
    return b"u" in content or b"f" in content


def has_repeated_key(content: bytes, parsed: Mapping[str, Any]) -> bool:
    """Return whether an id or key may stand twice in a prediction file; True if in doubt.

    A parser keeps the last of equal keys, so that a detection could be lost without a word. Every
    key has a colon; other colons are only in texts and inner objects.

    Args:
        content: The file.
        parsed: What it holds.

    Example:
        >>> content = b'{"a": {"score": 1}, "a": {"score": 0}}'
        >>> has_repeated_key(content, orjson.loads(content))
        True
    """
    keys = sum(len(value) for value in parsed.values() if isinstance(value, dict))
    return _n_colons(content) != len(parsed) + keys


def _n_colons(content: bytes) -> int:
    # Faster than bytes.count.
    return int(np.count_nonzero(np.frombuffer(content, np.uint8) == ord(":")))


def to_detections(values: Sequence[Any]) -> Detections:
    """Return parsed objects as detections.

    Args:
        values: `{"box", "label", "logit"}` and optionally `"score"` of each detection.

    Raises:
        KeyError, TypeError, AttributeError, ValueError, OverflowError, DataError: An object is not
            as it should be; `scoring.faults.first_fault` says which and how.
    """
    boxes = [value["box"] for value in values]
    labels = [value["label"] for value in values]
    probs = [value["logit"] for value in values]
    scores = [value.get("score", 0.0) for value in values]
    # Looked at before numpy, which takes true for 1 and "0.5" for .5.
    if not kinds(chain(scores, *boxes, *probs)) <= NUMBERS or not all(probs):
        raise DataError("expected plain numbers and class vectors")
    if max(map(len, probs), default=0) > MAX_CLASSES:
        raise DataError(f"expected class vectors of at most {MAX_CLASSES:,} entries")
    return Detections(np.array(boxes), _label_column(labels), np.array(scores), np.array(probs))


def _label_column(labels: Sequence[Any]) -> npt.NDArray[Any]:
    found = kinds(labels)
    if not found <= LABELS:
        raise TypeError("expected whole numbers or strings")
    if float in found and not all(isfinite(label) for label in labels if type(label) is float):
        raise ValueError("expected finite numbers")
    return np.array(labels, dtype=np.int64 if found == {int} else object)


def plain_passes(contents: Sequence[bytes]) -> Passes | None:
    """Return the passes whose files hold nothing but what they should; None if one may hold more.

    Equal files in a row are parsed once.

    Args:
        contents: The T files of an image.

    Returns:
        What `to_detections` gives for the objects of all files, to the last bit, or None.
    """
    # Small files are looked at together, for each call costs more than reading one.
    texts = [b"".join(contents)] if sum(map(len, contents)) < _JOINED_BYTES else contents
    if any(map(may_hold_words, texts)):
        return None
    counts = np.zeros(len(contents), dtype=np.int64)
    parts: list[_Part] = []
    values: list[Any] = []
    last: Any = {}
    for t, content in enumerate(contents):
        if not t or content != contents[t - 1]:
            try:
                last = orjson.loads(content)
            except orjson.JSONDecodeError:
                return None
            if not isinstance(last, dict) or len(last) > MAX_DETECTIONS:
                return None
        counts[t] = len(last)
        values += last.values()
        if values and (len(values) >= _OBJECTS_AT_ONCE or t == len(contents) - 1):
            part = _packed(values)
            if part is None:
                return None
            parts.append(part)
            values = []
    # Objects that are packed have the four keys, so that as many colons are exactly these.
    if sum(map(_n_colons, texts)) != _N_KEYS * counts.sum() and any(
        has_repeated_key(content, orjson.loads(content)) for content in contents
    ):
        return None
    if not parts:
        return Passes(Detections.empty(), counts)
    kinds_of_labels = {part.labels.dtype for part in parts}
    if len({part.probs.shape[1] for part in parts}) > 1 or len(kinds_of_labels) > 1:
        return None
    if len(parts) == 1:
        return Passes(Detections(*parts[0]), counts)
    return Passes(Detections(*map(np.concatenate, zip(*parts, strict=True))), counts)


class _Part(NamedTuple):
    """The columns of some detections."""

    boxes: Floats
    labels: npt.NDArray[Any]
    scores: Floats
    probs: Floats


def _packed(values: Sequence[Any]) -> _Part | None:
    """Return the columns of objects without true, false or null; None if one may be faulty.

    Numbers are packed as they are: `struct` takes ints, floats and bools for a double, and no
    bool can be here.
    """
    try:
        boxes = [value["box"] for value in values]
        probs = [value["logit"] for value in values]
        lengths = set(map(len, probs))
        if set(map(len, boxes)) != {4} or len(lengths) != 1:
            return None
        n, n_classes = len(values), lengths.pop()
        scores = [value["score"] for value in values]
        if n_classes < _LONG_VECTOR:
            vectors = struct.pack(f"={n * n_classes}d", *chain.from_iterable(probs))
        else:
            pack = struct.Struct(f"={n_classes}d").pack
            vectors = b"".join([pack(*vector) for vector in probs])
        flat = np.frombuffer(struct.pack(f"={5 * n}d", *scores, *chain.from_iterable(boxes)))
        labels = _label_column([value["label"] for value in values])
    except (KeyError, TypeError, ValueError, OverflowError, struct.error):
        return None
    if not 0 < n_classes <= MAX_CLASSES:
        return None
    return _Part(
        flat[n:].reshape(n, 4), labels, flat[:n], np.frombuffer(vectors).reshape(n, n_classes)
    )
