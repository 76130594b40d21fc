"""Prediction files: the JSON of one pass, read and written here and nowhere else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import orjson

from scoring.columns import has_repeated_key, plain_passes, to_detections
from scoring.detections import Detections, to_array
from scoring.errors import ConfigError, DataError
from scoring.faults import first_fault, where
from scoring.files import write_atomic
from scoring.json_text import first_repeated_key, parse_json
from scoring.layout import prediction_path
from scoring.limits import (
    MAX_CLASSES,
    MAX_COORDINATE,
    MAX_DETECTIONS,
    MAX_NUMBERS,
    MAX_PREDICTION_BYTES,
)
from scoring.pass_files import count_passes, few_detections, read_content
from scoring.passes import Passes
from scoring.reading import size_text

_BESIDE_VECTOR = 8
"""Commas of a detection beside those of its class vector."""
_ADVICE = "write this pass again"


def convert_detection_output(
    pred: Mapping[str, Any], default_score: float = 1.0
) -> dict[str, dict[str, Any]]:
    """Return a detector's output as the object of a prediction file.

    With `class_probs` an object holds the true score and the full class vector. With `scores`
    alone its vector is the score at its label and zeros elsewhere; with neither, one-hot of
    `default_score`. A vector that is made up has max(3, largest label + 1) entries.

    Args:
        pred: `boxes` (N, 4) x1, y1, x2, y2 in pixels, `labels` (N,), optionally `scores` (N,) and
            `class_probs` (N, C); tensors or arrays.
        default_score: Score of every detection where the output has none.

    Returns:
        By id (`label_0` and up, in the order given), `box`, `label`, `score` and `logit` as plain
        numbers.

    Raises:
        DataError: `boxes` or `labels` is missing, shapes do not fit, a label that needs a made-up
            vector is negative, or a number is NaN or infinite.

    Source: scoring.md, section 5.

    Example:
        >>> convert_detection_output({"boxes": [[0, 0, 2, 1]], "labels": [1], "scores": [0.5]})
        {'label_0': {'box': [0.0, 0.0, 2.0, 1.0], 'label': 1, 'score': 0.5,
        'logit': [0.0, 0.5, 0.0]}}
    """
    missing = {"boxes", "labels"} - set(pred)
    if missing:
        raise DataError(f"detector output: expected {' and '.join(sorted(missing))}")
    boxes, labels = to_array(pred["boxes"]), to_array(pred["labels"])
    if not boxes.size:
        boxes = boxes.reshape(0, 4)
    n = len(boxes) if boxes.ndim else 0
    scores = to_array(pred["scores"]) if "scores" in pred else np.full(n, default_score)
    if "class_probs" in pred:
        return to_objects(Detections(boxes, labels, scores, to_array(pred["class_probs"])))
    bare = Detections(boxes, labels, scores, np.empty((n, 0)))
    return to_objects(replace(bare, probs=_made_up_vectors(bare.labels, bare.scores)))


def _made_up_vectors(
    labels: npt.NDArray[Any], scores: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    if labels.dtype.kind not in "iu":
        raise DataError("class vectors can be made up for whole-number labels only")
    if len(labels) and labels.min() < 0:
        raise DataError(f"label {labels.min()}: expected labels from 0 up")
    probs = np.zeros((len(labels), max(3, int(labels.max(initial=0)) + 1)))
    probs[np.arange(len(labels)), labels] = scores
    return probs


def to_objects(detections: Detections) -> dict[str, dict[str, Any]]:
    """Return detections as the object of a prediction file: plain numbers, ids `label_0`...

    Raises:
        DataError: A number is NaN or infinite.
    """
    finite = detections.is_finite()
    if not finite.all():
        raise DataError(
            f"detection label_{int(np.argmin(finite))}: box, score or class vector is not finite"
        )
    columns = (detections.boxes, detections.labels, detections.scores, detections.probs)
    return {
        f"label_{i}": {"box": box, "label": label, "score": score, "logit": logit}
        for i, (box, label, score, logit) in enumerate(
            zip(*(column.tolist() for column in columns), strict=True)
        )
    }


def encode_prediction(detections: Detections) -> bytes:
    """Return the content of a prediction file, detections by falling score.

    Raises:
        DataError: A number is NaN or infinite, or the file would be too large to be read.
    """
    n, n_classes = len(detections), detections.n_classes
    if not can_be_read(n, n_classes):
        raise DataError(
            f"expected at most {MAX_DETECTIONS:,} detections with vectors of at most "
            f"{MAX_CLASSES:,} classes, and {MAX_NUMBERS:,} numbers in all; got {n:,} of "
            f"{n_classes:,}; raise the score threshold"
        )
    order = np.argsort(-detections.scores, kind="stable")
    content = orjson.dumps(to_objects(detections.take(order)))
    if len(content) > MAX_PREDICTION_BYTES:
        raise DataError(
            f"{n:,} detections with vectors of {n_classes:,} classes: expected a prediction file "
            f"of at most {size_text(MAX_PREDICTION_BYTES)}, got {size_text(len(content))}; raise "
            f"the score threshold"
        )
    return content


def can_be_read(n_detections: int, n_classes: int) -> bool:
    """Return whether so many detections with vectors of so many classes make a file in the limits.

    Example:
        >>> can_be_read(1_000, 1_203), can_be_read(10_000, 1_203)
        (True, False)
    """
    numbers = n_detections * (n_classes + _BESIDE_VECTOR)
    return n_detections <= MAX_DETECTIONS and n_classes <= MAX_CLASSES and numbers <= MAX_NUMBERS


def write_prediction(path: Path, detections: Detections) -> bytes:
    """Write one prediction file atomically and return its content.

    Raises:
        DataError: A number is NaN or infinite; nothing is written.
    """
    try:
        content = encode_prediction(detections)
    except DataError as error:
        raise DataError(f"{path}: {error}; nothing was written") from error
    write_atomic(path, content)
    return content


def read_passes(
    folder: Path,
    n_passes: int | None = None,
    nonfinite: Literal["refuse", "keep"] = "refuse",
) -> Passes:
    """Return the passes of one image under one mutant.

    Equal files in a row are parsed once.

    Args:
        folder: Holds `prediction_0.json` to `prediction_{T-1}.json`.
        n_passes: T; None means as many as there are, without a gap.
        nonfinite: Refuse a NaN or infinity by name, or keep it.

    Raises:
        ConfigError: n_passes is below 1.
        DataError: A file is missing or broken, an object lacks `box`, `label` or `logit`, vectors
            differ in length, a number is not finite, an id or key is there twice, or a limit of
            `scoring.limits` is exceeded. The message names folder, pass and id.
    """
    if n_passes is not None and n_passes < 1:
        raise ConfigError(f"passes: expected a number of at least 1, got {n_passes}")
    total = count_passes(folder) if n_passes is None else n_passes
    if total < 1:
        raise DataError(f"{folder}: expected prediction_0.json, found no such file")
    contents = [read_content(folder, t, total) for t in range(total)]
    passes = plain_passes(contents)
    if passes is None:
        passes = _any_passes(contents, folder)
    if nonfinite == "refuse":
        finite = passes.detections.is_finite()
        if not finite.all():
            i = int(np.argmin(finite))
            t, key, _ = _objects(contents, folder)[i]
            raise DataError(
                f"{where(folder, t, key)}: expected finite numbers, got NaN or infinity in box, "
                f"score or logit, or a coordinate of {MAX_COORDINATE:g} px or more"
            )
    return passes


def _objects(contents: Sequence[bytes], folder: Path) -> list[tuple[int, str, Any]]:
    """Return pass, id and parsed value of every detection."""
    return [
        (t, key, value)
        for t, content in enumerate(contents)
        for key, value in _parse(content, folder, t).items()
    ]


def _any_passes(contents: Sequence[bytes], folder: Path) -> Passes:
    """Return the passes of files of any writer, or say what is wrong with them."""
    objects = _objects(contents, folder)
    counts = np.bincount([t for t, _, _ in objects], minlength=len(contents))
    if not objects:
        return Passes(Detections.empty(), counts)
    try:
        return Passes(to_detections([value for _, _, value in objects]), counts)
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError, DataError):
        raise first_fault(objects, folder) from None


def _parse(content: bytes, folder: Path, t: int) -> dict[str, Any]:
    path = str(prediction_path(folder, t))
    parsed = parse_json(content, path, _ADVICE)
    if not isinstance(parsed, dict):
        raise DataError(
            f"{path}: expected an object of detections by id, got a {type(parsed).__name__}"
        )
    if len(parsed) > MAX_DETECTIONS:
        raise DataError(f"{path}: {few_detections()}, got {len(parsed):,}")
    if has_repeated_key(content, parsed):
        key = first_repeated_key(content, path)
        if key is not None:
            raise DataError(
                f"{path}: expected ids and keys that differ, got '{key:.80}' twice in one object"
            )
    return parsed
