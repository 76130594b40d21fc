"""Drawing detections on images: matches, misses and ghosts that everybody can tell apart.

Kinds differ in colour (safe for colour-blind readers), in line, and misses and ghosts in their tag.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

from scoring.tracks import Tracks
from uamt.lettering import Font, font_of, plain
from uamt.tag_places import place_tags

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
        shorter: What is written instead where there is no room, the longest first; up to two.
    """

    box: npt.NDArray[np.float64]
    kind: Kind
    tag: str
    shorter: tuple[str, ...] = ()


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
    short = f"{word}{name}"
    return Mark(found.boxes[row], kind, f"{short} {found.scores[row]:.2f}{note}", (short,))


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
    image: Image.Image, marks: Sequence[Mark], side_px: int, letters_px: int | None = None
) -> Image.Image:
    """Return the image with detections drawn on it, tags clear of each other and other boxes.

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
    for mark in marks:
        draw_box(canvas, mark.box * scale, STYLES[mark.kind], grown)
    _draw_tags(canvas, [mark for mark in marks if mark.tag], scale, font, drawn.size)
    return drawn


_TAG_MARGIN_PX = 3


def _draw_tags(
    canvas: ImageDraw.ImageDraw,
    marks: Sequence[Mark],
    scale: float,
    font: Font,
    size_px: tuple[int, int],
) -> None:
    """Write every tag at its box, where it covers least, and draw a line to those that moved."""
    if not marks:
        return
    _, top, _, bottom = font.getbbox("\u00c5g")
    high = bottom - top + 2 * _TAG_MARGIN_PX
    texts = [(mark.tag, *mark.shorter) for mark in marks]
    sizes = [
        [(font.getlength(text) + 2 * _TAG_MARGIN_PX, high) for text in of_mark] for of_mark in texts
    ]
    boxes = np.array([mark.box for mark in marks]) * scale
    places = place_tags(boxes, sizes, size_px, pad=high / 4)
    for mark, place in zip(marks, places, strict=True):
        if place.leader:
            ends = (*place.leader[0], *place.leader[1])
            canvas.line(ends, fill="black", width=5)
            canvas.line(ends, fill=STYLES[mark.kind].colour, width=2)
    for mark, of_mark, place in zip(marks, texts, places, strict=True):
        x, y = round(place.x), round(place.y)
        area = (x, y, round(place.x + place.width), round(place.y + place.height))
        canvas.rectangle(area, fill=STYLES[mark.kind].colour, outline="black")
        at = (x + _TAG_MARGIN_PX, y + _TAG_MARGIN_PX - top)
        canvas.text(at, of_mark[place.level], fill="black", font=font)


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
