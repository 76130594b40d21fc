"""Other people's outputs: read in whatever format, checked whole, written as prediction files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from scoring.detections import Detections
from scoring.errors import ConfigError, DataError
from scoring.folder_names import is_unseen
from scoring.json_text import parse_json
from scoring.layout import Branch, prediction_path
from scoring.limits import MAX_CLASSES, MAX_DETECTIONS, MAX_EXCHANGE_BYTES, MAX_NUMBERS
from scoring.metrics_mut.records import to_passes
from scoring.predictions import (
    can_be_read,
    convert_detection_output,
    encode_prediction,
    write_prediction,
)
from scoring.reading import read_bounded
from scoring.rules import DEEPLUQ


class Found(NamedTuple):
    """One detection of a foreign file; its numbers are finite."""

    box: Sequence[float]
    """x1, y1, x2, y2 in pixels"""
    label: int
    score: float
    vector: Sequence[float] | None
    """class vector; None: made up from score and label"""
    number: int
    """entry or line of the file, for messages"""


_SEPARATORS = frozenset("/\\")
"""What would take a folder's name somewhere else."""


class ForeignOutput(Protocol):
    """T passes over the images of a suite, as another tool wrote them."""

    @property
    def files(self) -> Mapping[str, str]:
        """The images: stem -> file name."""

    @property
    def n_passes(self) -> int:
        """T."""

    @property
    def n_made_up(self) -> int | None:
        """Length of made-up class vectors; None where the files hold vectors."""

    def read(self, t: int) -> Mapping[str, Sequence[Found]]:
        """Return the detections of a pass by stem; an image without any may be left out."""

    def where(self, t: int, stem: str, number: int) -> str:
        """Return the words that name a detection: file and entry or line."""


@dataclass(frozen=True, slots=True)
class Checked:
    """What a foreign output holds.

    Args:
        n_detections: In all passes.
        n_empty: Pairs of image and pass without a detection.
    """

    n_detections: int
    n_empty: int


def check_output(output: ForeignOutput, on_pass: Callable[[], None] = lambda: None) -> Checked:
    """Return what an output holds, after every file was read and every detection checked.

    Args:
        output: T passes.
        on_pass: Called for each pass that was checked.

    Raises:
        DataError: A file is missing or broken, class vectors differ in length, an image has no
            name, or the detections of a pass over an image are more than a prediction file may
            hold. The message names file, entry and what was expected.
    """
    for stem, name in output.files.items():
        if not stem or set(stem) & _SEPARATORS or any(map(is_unseen, stem)):
            raise DataError(f"image {name!r}: expected a name for its results, got {stem!a}")
    length: int | None = None
    n_detections = n_full = 0
    for t in range(output.n_passes):
        for stem, each in output.read(t).items():
            length = length or output.n_made_up
            _refuse_many(output, t, stem, each, length)
            for found in each:
                if found.vector is None:
                    continue
                length = length or len(found.vector)
                if len(found.vector) != length:
                    raise DataError(
                        f"{output.where(t, stem, found.number)}: expected a class vector of "
                        f"{length} entries, as in the detections before, got {len(found.vector)}"
                    )
            n_detections += len(each)
            n_full += bool(each)
        on_pass()
    return Checked(n_detections, output.n_passes * len(output.files) - n_full)


def _refuse_many(
    output: ForeignOutput, t: int, stem: str, each: Sequence[Found], length: int | None
) -> None:
    """Raise if the detections of a pass over an image would make no file that can be read."""
    if not each:
        return
    n_classes = length or len(each[0].vector or ())
    where = output.where(t, stem, each[-1].number)
    if not can_be_read(len(each), n_classes):
        raise DataError(
            f"{where}: expected at most {MAX_DETECTIONS:,} detections of an image in a pass with "
            f"vectors of at most {MAX_CLASSES:,} entries, and {MAX_NUMBERS:,} numbers in all; got "
            f"{len(each):,} of {n_classes:,}; leave out those of low score"
        )


def write_output(
    output: ForeignOutput,
    root: Path,
    branch: Branch,
    tag: str,
    *,
    repeat: int = 1,
    on_pass: Callable[[], None] = lambda: None,
) -> int:
    """Write the prediction files of a checked output and return how many had to be written.

    Files that hold the same already stay; others are replaced, and those of further passes removed.

    Args:
        output: What `check_output` accepted.
        root: The experiment's folder.
        branch: Operator, model and suite.
        tag: The mutant.
        repeat: How often a single pass is written, for an original that was run once.
        on_pass: Called for each pass that was written.
    """
    written = 0
    for t in range(output.n_passes):
        for path, detections in _files_of_pass(output, t, root, branch, tag, repeat):
            if not _holds(path, detections):
                write_prediction(path, detections)
                written += 1
        on_pass()
    for path in _further(output, root, branch, tag, repeat):
        path.unlink()
    return written


def refuse_other(
    output: ForeignOutput, root: Path, branch: Branch, tag: str, *, repeat: int = 1
) -> None:
    """Refuse to write over predictions that are there and are others.

    Args:
        output: What `check_output` accepted.
        root: The experiment's folder.
        branch: Operator, model and suite.
        tag: The mutant.
        repeat: As in `write_output`.

    Raises:
        ConfigError: A prediction file of this mutant holds other bytes than would be written, or
            is of a pass that the output does not have.
    """
    if not any(branch.folder(root, tag, stem).is_dir() for stem in output.files):
        return
    advice = "choose another --out, --model or --tag, or write over what is there with --replace"
    further = next(_further(output, root, branch, tag, repeat), None)
    if further is not None:
        n_passes = output.n_passes * repeat
        raise ConfigError(
            f"{further} is there already, and this import has {n_passes} "
            f"{'pass' if n_passes == 1 else 'passes'}; {advice}"
        )
    for t in range(output.n_passes):
        for path, detections in _files_of_pass(output, t, root, branch, tag, repeat):
            if path.exists() and not _holds(path, detections):
                raise ConfigError(
                    f"{path} is there already, and holds something else than this import; {advice}"
                )


def _files_of_pass(
    output: ForeignOutput, t: int, root: Path, branch: Branch, tag: str, repeat: int
) -> Iterator[tuple[Path, Detections]]:
    """Yield every prediction file of a pass of the output, and what it shall hold."""
    passes = output.read(t)
    for stem in output.files:
        detections = to_detections(passes.get(stem, ()), output.n_made_up)
        folder = branch.folder(root, tag, stem)
        for copy in range(repeat):
            yield prediction_path(folder, t * repeat + copy), detections


def _further(
    output: ForeignOutput, root: Path, branch: Branch, tag: str, repeat: int
) -> Iterator[Path]:
    """Yield the prediction files that are there of passes which the output does not have."""
    for stem in output.files:
        folder = branch.folder(root, tag, stem)
        further = output.n_passes * repeat
        while (path := prediction_path(folder, further)).exists():
            yield path
            further += 1


def _holds(path: Path, detections: Detections) -> bool:
    """Return whether a file is there and has the bytes of these detections."""
    if not path.is_file():
        return False
    expected = encode_prediction(detections)
    # A file of any size may lie there.
    return path.stat().st_size == len(expected) and path.read_bytes() == expected


def to_detections(found: Sequence[Found], n_made_up: int | None) -> Detections:
    """Return the detections of one pass over one image.

    Args:
        found: As a reader returns them.
        n_made_up: Length of made-up vectors, which hold the score at the label and zeros
            elsewhere; None where `found` has vectors.
    """
    if not found:
        return Detections.empty(n_made_up or 0)
    pred: dict[str, Any] = {
        "boxes": [each.box for each in found],
        "labels": np.array([each.label for each in found], dtype=np.int64),
        "scores": [each.score for each in found],
    }
    if n_made_up is None:
        pred["class_probs"] = [each.vector for each in found]
    objects = convert_detection_output(pred)
    detections = to_passes([list(objects.values())], DEEPLUQ).detections
    if n_made_up is None:
        return detections
    missing = max(0, n_made_up - detections.n_classes)
    return replace(detections, probs=np.pad(detections.probs, ((0, 0), (0, missing))))


def read_json(path: Path) -> Any:
    """Return the content of a JSON file, bare NaN tokens included.

    Raises:
        DataError: The file is missing, broken, or larger than `MAX_EXCHANGE_BYTES`.
    """
    try:
        content = read_bounded(path, MAX_EXCHANGE_BYTES, "a JSON file", may_be_pipe=True)
    except FileNotFoundError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from error
    return parse_json(content, str(path))
