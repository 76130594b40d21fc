"""YOLO text outputs: a folder per pass with one file per image.

A line is `class x_centre y_centre width height confidence`, normalised by the image's size, and
may go on with the class vector.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from scoring.errors import ConfigError, DataError
from scoring.exchange import Found
from scoring.faults import shown
from scoring.limits import MAX_CLASSES, MAX_PREDICTION_BYTES
from scoring.reading import read_text

Floats = npt.NDArray[np.float64]

_BESIDE = frozenset({"classes"})
"""Text files that lie beside those of images."""


def to_corners(centred: Floats, size: tuple[float, float]) -> Floats:
    """Return normalised boxes in pixels.

    Args:
        centred: (N, 4) x centre, y centre, width, height, 0 to 1 of the image.
        size: Width and height of the image in pixels.

    Returns:
        (N, 4) x1, y1, x2, y2 in pixels.

    Example:
        >>> to_corners(np.array([[0.5, 0.5, 0.5, 0.25]]), (100, 80)).tolist()
        [[25.0, 30.0, 75.0, 50.0]]
    """
    centres, halves = centred[:, :2], centred[:, 2:] / 2
    corners = np.hstack([centres - halves, centres + halves])
    return np.asarray(corners * np.array([*size, *size]), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class YoloOutput:
    """YOLO text outputs of T passes, one folder each; an image without a file has no detection.

    Args:
        folders: Of the text files, pass 0 first.
        images: Every image: stem -> file name.
        sizes: stem -> width and height in pixels.
        n_made_up: Number of classes, if class vectors are made up from confidence and class; None
            where the lines hold vectors.

    Raises:
        ConfigError: There is no folder, or the number of classes is below 1 or too large.
        DataError: An image has no size.
    """

    folders: Sequence[Path]
    images: Mapping[str, str]
    sizes: Mapping[str, tuple[float, float]]
    n_made_up: int | None = None

    def __post_init__(self) -> None:
        if not self.folders:
            raise ConfigError("expected at least one folder of YOLO text outputs")
        if self.n_made_up is not None and not 0 < self.n_made_up <= MAX_CLASSES:
            raise ConfigError(f"classes: expected 1 to {MAX_CLASSES:,}, got {self.n_made_up:,}")
        for stem in self.images:
            if stem not in self.sizes:
                raise DataError(f"image '{stem}': expected its width and height, found none")

    @property
    def files(self) -> Mapping[str, str]:
        """The images: stem -> file name."""
        return self.images

    @property
    def n_passes(self) -> int:
        """T, the number of folders."""
        return len(self.folders)

    def where(self, t: int, stem: str, number: int) -> str:
        """Return the words that name a detection."""
        return f"{self._path(t, stem)}: line {number}"

    def _path(self, t: int, stem: str) -> Path:
        return self.folders[t] / f"{stem}.txt"

    def read(self, t: int) -> dict[str, list[Found]]:
        """Return the detections of a pass by stem.

        Raises:
            DataError: The folder is missing, a file belongs to no image, or a line is not as it
                should be.
        """
        folder = self.folders[t]
        if not folder.is_dir():
            raise DataError(f"{folder}: expected a folder of YOLO text files, found none")
        there = {path.name.removesuffix(".txt") for path in folder.glob("*.txt")}
        strangers = sorted(there - set(self.images) - _BESIDE)
        if strangers:
            raise DataError(
                f"{folder / strangers[0]}.txt: expected the name of one of the {len(self.images)} "
                f"images, such as '{next(iter(self.images), '')}.txt'"
                f"{f' (and {len(strangers) - 1} more)' if len(strangers) > 1 else ''}"
            )
        if not there and (folder / "labels").is_dir():
            raise DataError(
                f"{folder}: expected text files, found none; did you mean {folder / 'labels'}?"
            )
        return {stem: self._read_file(t, stem) for stem in self.images if stem in there}

    def _read_file(self, t: int, stem: str) -> list[Found]:
        path = self._path(t, stem)
        lines = read_text(path, MAX_PREDICTION_BYTES, "a YOLO text file").splitlines()
        rows = [
            (number, self._parse(line.split(), f"{path}: line {number}"))
            for number, line in enumerate(lines, start=1)
            if line.strip()
        ]
        if not rows:
            return []
        centred = np.array([row[1:5] for _, row in rows])
        boxes = to_corners(centred, self.sizes[stem]).tolist()
        return [
            Found(box, int(row[0]), row[5], None if self.n_made_up else row[6:], number)
            for box, (number, row) in zip(boxes, rows, strict=True)
        ]

    def _parse(self, words: Sequence[str], place: str) -> list[float]:
        """Return the numbers of a line."""
        row = [_number(word, place) for word in words]
        if len(row) < 6:
            raise DataError(
                f"{place}: expected 'class x_centre y_centre width height confidence', got "
                f"{len(row)} numbers; write the outputs with confidences"
            )
        if not all(map(math.isfinite, row)):
            raise DataError(f"{place}: expected finite numbers, got NaN or infinity")
        if row[0] != int(row[0]) or row[0] < 0:
            raise DataError(f"{place}: expected a class from 0 up, got {words[0]:.40}")
        if min(row[1:5]) < -1 or max(row[1:5]) > 2:
            raise DataError(
                f"{place}: expected a box in shares of the image, 0 to 1, got {shown(row[1:5])}"
            )
        if self.n_made_up is None and len(row) == 6:
            raise DataError(
                f"{place}: no class vector behind the confidence; accept made-up vectors with "
                f"--one-hot"
            )
        if self.n_made_up is not None and len(row) > 6:
            raise DataError(
                f"{place}: expected 6 numbers, got {len(row)}; if they end in a class vector, "
                f"leave out --one-hot"
            )
        n_classes = self.n_made_up or len(row) - 6
        if row[0] >= n_classes:
            raise DataError(f"{place}: expected a class below {n_classes}, got {words[0]:.40}")
        return row


def _number(word: str, place: str) -> float:
    # float() takes an underscore between digits, and digits of any script.
    if "_" not in word and word.isascii():
        with contextlib.suppress(ValueError):
            return float(word)
    raise DataError(f"{place}: expected numbers, got {shown(word)}")
