"""Drawing detections on images: matches, misses and ghosts that everybody can tell apart.

Kinds differ in colour (safe for colour-blind readers), in line, and misses and ghosts in their tag.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

from scoring.tracks import Tracks
from uamt.lettering import Font, font_of, plain

GAP_PX = 8

Kind = Literal["match", "miss", "ghost"]


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


STYLES: Mapping[Kind, Style] = {
    "match": Style("match", "#56b4e9", None),
    "miss": Style("miss", "#e69f00", (9, 5)),
    "ghost": Style("ghost", "#f06bd0", (3, 4)),
}


@dataclass(frozen=True, slots=True, eq=False)
class Mark:
    """A detection as it is drawn.

    Args:
        box: (4,) x1, y1, x2, y2 in pixels of the image.
        kind: What it is.
        tag: What is written at it; nothing if empty.
    """

    box: npt.NDArray[np.float64]
    kind: Kind
    tag: str


def name_of(label: Any, label_names: Sequence[str]) -> str:
    """Return what a label id is called; itself where no name is known.

    Example:
        >>> name_of(1, ["background", "cat"]), name_of(7, []), name_of("dog", [])
        ('cat', '7', 'dog')
    """
    known = isinstance(label, int | np.integer) and 0 <= label < len(label_names)
    return label_names[label] if known else str(label)


def marks_of_original(
    tracks: Tracks, t: int, label_names: Sequence[str] = (), notes: Sequence[str] = ()
) -> list[Mark]:
    """Return what the original found in one pass: matches and misses.

    Args:
        tracks: What became of an image's objects.
        t: Number of the pass.
        label_names: Name of each label id.
        notes: What is written behind the score of each row of the original's passes.
    """
    rows = _rows_of_pass(tracks.original.starts, t)
    missed = set(tracks.matched.missed_rows.tolist())
    found = tracks.original.detections
    return [
        _mark(found, row, "miss" if row in missed else "match", label_names, notes) for row in rows
    ]


def marks_of_mutant(
    tracks: Tracks, t: int, label_names: Sequence[str] = (), notes: Sequence[str] = ()
) -> list[Mark]:
    """Return what the mutant found in one pass: matches and ghosts; arguments of the above."""
    rows = _rows_of_pass(tracks.mutant.starts, t)
    ghosts = set(tracks.matched.ghost_rows.tolist())
    found = tracks.mutant.detections
    return [
        _mark(found, row, "ghost" if row in ghosts else "match", label_names, notes) for row in rows
    ]


def _rows_of_pass(starts: npt.NDArray[np.int64], t: int) -> range:
    return range(int(starts[t]), int(starts[t + 1]))


def _mark(
    found: Any, row: int, kind: Kind, label_names: Sequence[str], notes: Sequence[str]
) -> Mark:
    # The line says what a match is, and room is dear.
    word = "" if kind == "match" else f"{STYLES[kind].word} "
    name = plain(name_of(found.labels[row], label_names), 24)
    note = f" {notes[row]}" if notes and notes[row] else ""
    return Mark(found.boxes[row], kind, f"{word}{name} {found.scores[row]:.2f}{note}")


def draw_pass(
    image: Image.Image,
    tracks: Tracks,
    t: int,
    label_names: Sequence[str] = (),
    side_px: int = 420,
    *,
    notes: tuple[Sequence[str], Sequence[str]] = ((), ()),
) -> Image.Image:
    """Return one pass as a picture: the original on the left, the mutant on the right.

    Args:
        image: The image that both saw.
        tracks: What became of its objects.
        t: Number of the pass.
        label_names: Name of each label id.
        side_px: Longest side of each half, in pixels.
        notes: What is written at each row of the original's passes, and of the mutant's.
    """
    halves = [
        draw_marks(image, marks, side_px)
        for marks in (
            marks_of_original(tracks, t, label_names, notes[0]),
            marks_of_mutant(tracks, t, label_names, notes[1]),
        )
    ]
    both = Image.new("RGB", (2 * halves[0].width + GAP_PX, halves[0].height), "white")
    both.paste(halves[0], (0, 0))
    both.paste(halves[1], (halves[0].width + GAP_PX, 0))
    return both


def draw_cell(
    image: Image.Image, tracks: Tracks, t: int, label_names: Sequence[str] = (), side_px: int = 200
) -> Image.Image:
    """Return one pass as a picture of a film strip: matches, misses and ghosts in one.

    Matches and ghosts are the mutant's boxes, misses the original's. Only misses and ghosts have
    tags, without scores.

    Args:
        image: The image that both saw.
        tracks: What became of its objects.
        t: Number of the pass.
        label_names: Name of each label id.
        side_px: Longest side, in pixels.
    """
    missed = [m for m in marks_of_original(tracks, t) if m.kind == "miss"]
    marks = [*marks_of_mutant(tracks, t), *missed]
    return draw_marks(
        image,
        [Mark(m.box, m.kind, "" if m.kind == "match" else STYLES[m.kind].word) for m in marks],
        side_px,
    )


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


def draw_marks(
    image: Image.Image, marks: Iterable[Mark], side_px: int, letters_px: int | None = None
) -> Image.Image:
    """Return the image with detections drawn on it, tags over all boxes and beside each other.

    Args:
        image: What was seen.
        marks: What was found.
        side_px: Longest side of the picture; lines grow with it.
        letters_px: Size of the tags; None means that they grow with it too.
    """
    scale = side_px / max(image.size)
    size = (max(1, round(image.width * scale)), max(1, round(image.height * scale)))
    drawn = image.convert("RGB").resize(size, Image.Resampling.LANCZOS)
    canvas = ImageDraw.Draw(drawn)
    grown = max(0.7, side_px / 420)
    font = font_of(letters_px or round(13 * grown))
    scaled = [(mark.box * scale, mark) for mark in marks]
    for box, mark in scaled:
        draw_box(canvas, box, STYLES[mark.kind], grown)
    taken: list[_Area] = []
    for box, mark in scaled:
        if mark.tag:
            _tag(canvas, box, mark.tag, STYLES[mark.kind].colour, font, drawn.size, taken)
    return drawn


def draw_box(
    canvas: ImageDraw.ImageDraw,
    box: npt.NDArray[np.float64] | Sequence[float],
    style: Style,
    grown: float = 1.0,
) -> None:
    """Draw a box in a kind's colour and line, edged in black.

    Args:
        canvas: Where.
        box: (4,) x1, y1, x2, y2 in pixels of the canvas.
        style: Of which kind.
        grown: How much wider than 3 pixels its line is.
    """
    x1, y1, x2, y2 = (float(v) for v in box)
    width, edge = max(3, round(3 * grown)), max(1, round(grown))
    dash = style.dash_px and (style.dash_px[0] * grown, style.dash_px[1] * grown)
    sides = (((x1, y1), (x2, y1)), ((x2, y1), (x2, y2)), ((x2, y2), (x1, y2)), ((x1, y2), (x1, y1)))
    for start, stop in sides:
        for a, b in _strokes(start, stop, dash):
            canvas.line((*a, *b), fill="black", width=width + 2 * edge)
            canvas.line((*a, *b), fill=style.colour, width=width)


Point = tuple[float, float]


def _strokes(
    start: Point, stop: Point, dash_px: tuple[float, float] | None
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


_Area = tuple[float, float, float, float]


def _tag(
    canvas: ImageDraw.ImageDraw,
    box: npt.NDArray[np.float64],
    text: str,
    colour: str,
    font: Font,
    size_px: tuple[int, int],
    taken: list[_Area],
) -> None:
    """Write a tag at the box, where it covers least of the others: above, inside or below."""
    left, top, right, bottom = canvas.textbbox((0, 0), text, font=font)
    wide, high = right - left + 6, bottom - top + 6
    x1, y1, x2, y2 = (float(v) for v in box)
    places = ((x1, y1 - high), (x2 - wide, y1 - high), (x1, y1), (x1, y2), (x1, y2 - high))
    areas = []
    for wanted_x, wanted_y in places:
        x = max(0.0, min(wanted_x, size_px[0] - wide))
        y = max(0.0, min(wanted_y, size_px[1] - high))
        areas.append((x, y, x + wide, y + high))
    area = min(areas, key=lambda a: sum(_shared_px2(a, other) for other in taken))
    taken.append(area)
    canvas.rectangle(area, fill=colour)
    canvas.text((area[0] + 3 - left, area[1] + 3 - top), text, fill="black", font=font)


def _shared_px2(one: _Area, other: _Area) -> float:
    wide = min(one[2], other[2]) - max(one[0], other[0])
    high = min(one[3], other[3]) - max(one[1], other[1])
    return max(0.0, wide) * max(0.0, high)
