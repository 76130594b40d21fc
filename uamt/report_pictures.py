"""Pictures of a report: an image's own pixels once, and what every pass found as drawn shapes."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from scoring.detections import Detections
from scoring.object_uncertainty import ObjectUncertainty
from scoring.objects import MEASURES
from scoring.tracks import Tracks
from uamt.drawing import Kind, brightened, name_of
from uamt.image_places import open_small
from uamt.lettering import plain
from uamt.object_names import object_number

_LONGEST_LABEL = 24


@dataclass(frozen=True, slots=True)
class Raster:
    """The pixels of an image, as the page holds them.

    Args:
        width: Of the upright image, in its own pixels, in which boxes are given.
        height: Likewise.
        data: A JPEG as base64, scaled down.
        is_brightened: Whether it was too dark to look at.
    """

    width: int
    height: int
    data: str
    is_brightened: bool


def read_raster(path: Path, side_px: int, quality: int = 72) -> Raster:
    """Return the pixels of an image.

    Args:
        path: The file.
        side_px: Longest side of what is kept, in pixels.
        quality: Of the JPEG.

    Raises:
        DataError: It cannot be read.
    """
    pixels, (width, height) = open_small(path, side_px)
    shown, is_brightened = brightened(pixels)
    buffer = io.BytesIO()
    shown.save(buffer, "JPEG", quality=quality, optimize=True)
    return Raster(width, height, base64.b64encode(buffer.getvalue()).decode(), is_brightened)


@dataclass(frozen=True, slots=True)
class Box:
    """One detection of a pass.

    Args:
        kind: match, miss or ghost.
        number: Of its object: 1, 2, ... of the original, g1, g2, ... of ghosts.
        x: Left edge, in pixels of the image.
        y: Upper edge.
        width: In pixels.
        height: In pixels.
        label: Name of its class.
        score: Of the detection.
    """

    kind: Kind
    number: str
    x: float
    y: float
    width: float
    height: float
    label: str
    score: float


@dataclass(frozen=True, slots=True)
class Frame:
    """What a pass shows.

    Args:
        t: Number of the pass.
        original: What the original found, as matches and misses.
        mutant: What the mutant found, as matches and ghosts, and what it missed.
    """

    t: int
    original: tuple[Box, ...]
    mutant: tuple[Box, ...]


def frames(tracks: Tracks, seen: ObjectUncertainty, label_names: Sequence[str]) -> list[Frame]:
    """Return what every pass of an image under a mutant shows.

    Args:
        tracks: What became of the image's objects.
        seen: Which object each detection is.
        label_names: Name of each label id.
    """
    missed = set(tracks.matched.missed_rows.tolist())
    ghosts = set(tracks.matched.ghost_rows.tolist())
    sides = (tracks.original, seen.of_original), (tracks.mutant, seen.of_mutant)
    found = []
    for t in range(tracks.n_passes):
        original, mutant = (
            [
                (row, object_number(seen, int(of_row[row])))
                for row in range(int(passes.starts[t]), int(passes.starts[t + 1]))
            ]
            for passes, of_row in sides
        )
        of_original = [
            _box(
                tracks.original.detections,
                row,
                "miss" if row in missed else "match",
                n,
                label_names,
            )
            for row, n in original
        ]
        of_mutant = [
            _box(
                tracks.mutant.detections, row, "ghost" if row in ghosts else "match", n, label_names
            )
            for row, n in mutant
        ]
        lost = [box for box in of_original if box.kind == "miss"]
        found.append(Frame(t, tuple(of_original), (*of_mutant, *lost)))
    return found


def _box(found: Detections, row: int, kind: Kind, number: str, label_names: Sequence[str]) -> Box:
    # What some detectors return has its edges the wrong way round.
    (x1, y1), (x2, y2) = np.sort(found.boxes[row].reshape(2, 2), axis=0).tolist()
    label = plain(name_of(found.labels[row], label_names), _LONGEST_LABEL)
    return Box(kind, number, x1, y1, x2 - x1, y2 - y1, label, float(found.scores[row]))


def object_rows(
    tracks: Tracks, seen: ObjectUncertainty, label_names: Sequence[str]
) -> list[dict[str, Any]]:
    """Return the objects of an image under a mutant, with their uncertainty, one row each.

    Args:
        tracks: What became of the image's objects.
        seen: The objects.
        label_names: Name of each label id.
    """
    labels: dict[int, Any] = {}
    for passes, of_row in ((tracks.original, seen.of_original), (tracks.mutant, seen.of_mutant)):
        for row, number in enumerate(of_row.tolist()):
            labels.setdefault(number, passes.detections.labels[row])
    return [
        {
            "object": object_number(seen, number),
            "is_ghost": seen.is_ghost(number),
            "label": plain(name_of(labels[number], label_names), _LONGEST_LABEL),
            "n_found": int(seen.n_found[number]),
            "n_missed": int(seen.n_missed[number]),
            "n_passes": int(seen.n_passes[number]),
            "ie_original": seen.original_measure(number, "ie"),
        }
        | {name: seen.measure(number, name) for name in MEASURES}
        for number in range(len(seen))
    ]
