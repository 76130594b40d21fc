"""Pictures: an original and a mutant pass side by side, with matches, misses and ghosts.

Kinds differ in colour (safe for colour-blind readers), in line, and misses and ghosts in their tag.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFont

from scoring.detections import Detections
from scoring.tracks import Tracks

_GAP_PX = 8


@dataclass(frozen=True, slots=True)
class Style:
    """How a kind of detection is drawn.

    Args:
        word: What it is called in tags and legends.
        colour: As `#rrggbb`.
        dash_px: Lengths of line and gap; none for a full line.
    """

    word: str
    colour: str
    dash_px: tuple[int, int] | None


STYLES = {
    "match": Style("match", "#56b4e9", None),
    "miss": Style("miss", "#e69f00", (9, 5)),
    "ghost": Style("ghost", "#f06bd0", (3, 4)),
}


def draw_pass(
    image: Image.Image, tracks: Tracks, t: int, label_names: Sequence[str] = (), side_px: int = 420
) -> Image.Image:
    """Return one pass as a picture: the original on the left, the mutant on the right.

    Args:
        image: The image that both saw.
        tracks: What became of its objects.
        t: Number of the pass.
        label_names: Name of each label id.
        side_px: Longest side of each half, in pixels.
    """
    matched = tracks.matched
    original, mutant = tracks.original[t], tracks.mutant[t]
    first_original, first_mutant = tracks.original.starts[t], tracks.mutant.starts[t]
    missed = set((matched.missed_rows - first_original).tolist())
    ghosts = set((matched.ghost_rows - first_mutant).tolist())
    halves = [
        _draw(
            image,
            original,
            ["miss" if i in missed else "match" for i in range(len(original))],
            label_names,
            side_px,
        ),
        _draw(
            image,
            mutant,
            ["ghost" if i in ghosts else "match" for i in range(len(mutant))],
            label_names,
            side_px,
        ),
    ]
    both = Image.new("RGB", (2 * halves[0].width + _GAP_PX, halves[0].height), "white")
    both.paste(halves[0], (0, 0))
    both.paste(halves[1], (halves[0].width + _GAP_PX, 0))
    return both


_DARK = 50
"""Mean grey value below which a picture is too dark to look at on a page."""


def brightened(image: Image.Image) -> tuple[Image.Image, bool]:
    """Return the picture bright enough to look at, and whether it had to be changed for that.

    Detections are drawn over it; what the detector saw stays as it was.
    """
    grey = np.asarray(image.convert("L"), dtype=np.float64)
    if grey.mean() >= _DARK:
        return image, False
    top = max(1.0, float(np.percentile(grey, 99.5)))
    pixels = np.asarray(image.convert("RGB"), dtype=np.float64)
    lifted = 255 * np.clip(pixels / top, 0, 1) ** 0.8
    return Image.fromarray(lifted.astype(np.uint8)), True


def _draw(
    image: Image.Image,
    detections: Detections,
    kinds: Sequence[str],
    label_names: Sequence[str],
    side_px: int,
) -> Image.Image:
    scale = side_px / max(image.size)
    size = (max(1, round(image.width * scale)), max(1, round(image.height * scale)))
    half = image.convert("RGB").resize(size, Image.Resampling.LANCZOS)
    canvas = ImageDraw.Draw(half)
    font = ImageFont.load_default(size=13)
    rows = zip(detections.boxes * scale, detections.labels, detections.scores, kinds, strict=True)
    for box, label, score, kind in rows:
        style = STYLES[kind]
        _rectangle(canvas, box, style)
        known = isinstance(label, (int, np.integer)) and 0 <= label < len(label_names)
        name = label_names[label] if known else str(label)
        word = "" if kind == "match" else f"{style.word} "  # the line says it, and room is dear
        _tag(canvas, box, f"{word}{name:.24} {score:.2f}", style, font, half.size)
    return half


def _rectangle(
    canvas: ImageDraw.ImageDraw, box: npt.NDArray[np.float64], style: Style, width: int = 3
) -> None:
    x1, y1, x2, y2 = (float(v) for v in box)
    sides = (((x1, y1), (x2, y1)), ((x2, y1), (x2, y2)), ((x2, y2), (x1, y2)), ((x1, y2), (x1, y1)))
    for start, stop in sides:
        for a, b in _strokes(start, stop, style.dash_px):
            canvas.line((*a, *b), fill="black", width=width + 2)
            canvas.line((*a, *b), fill=style.colour, width=width)


Point = tuple[float, float]


def _strokes(
    start: Point, stop: Point, dash_px: tuple[int, int] | None
) -> list[tuple[Point, Point]]:
    length = float(np.hypot(stop[0] - start[0], stop[1] - start[1]))
    if dash_px is None or length == 0:
        return [(start, stop)]
    on, off = dash_px

    def at(distance: float) -> Point:
        share = min(distance / length, 1.0)
        return (
            start[0] + share * (stop[0] - start[0]),
            start[1] + share * (stop[1] - start[1]),
        )

    begins = np.arange(0, length, on + off)
    return [(at(float(begin)), at(float(begin) + on)) for begin in begins]


def _tag(
    canvas: ImageDraw.ImageDraw,
    box: npt.NDArray[np.float64],
    text: str,
    style: Style,
    font: ImageFont.FreeTypeFont | ImageFont.ImageFont,
    size_px: tuple[int, int],
) -> None:
    """Write a tag above the box, or inside it at the picture's upper edge."""
    left, top, right, bottom = canvas.textbbox((0, 0), text, font=font)
    wide, high = right - left + 6, bottom - top + 6
    x = max(0.0, min(float(box[0]), size_px[0] - wide))
    y = max(0.0, min(float(box[1]) - high, size_px[1] - high))
    canvas.rectangle((x, y, x + wide, y + high), fill=style.colour)
    canvas.text((x + 3 - left, y + 3 - top), text, fill="black", font=font)
