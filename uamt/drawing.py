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
from uamt.outlines import Line, Outline, Pen, draw_leaders, draw_outlines, drawn_boxes
from uamt.tag_places import place_tags

GAP_PX = 8

Kind = Literal["match", "miss", "ghost"]


@dataclass(frozen=True, slots=True)
class Style:
    """How a kind of detection is drawn.

    Args:
        word: What it is called in tags and legends.
        colour: As `#rrggbb`.
        line: What its outline is made of.
    """

    word: str
    colour: str
    line: Line


STYLES: Mapping[Kind, Style] = {
    "match": Style("match", "#56b4e9", "full"),
    "miss": Style("miss", "#e69f00", "dashes"),
    "ghost": Style("ghost", "#f06bd0", "dots"),
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


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """A picture with detections on it.

    Args:
        image: The picture.
        is_shortened: Whether some tag had no room for all that it says.
    """

    image: Image.Image
    is_shortened: bool


def draw_marks(
    image: Image.Image, marks: Sequence[Mark], side_px: int, letters_px: int | None = None
) -> Drawn:
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
    # Thinner lines would be no wider than their edges.
    pen = Pen.of(max(0.75, side_px / 640))
    boxes = drawn_boxes(np.array([mark.box for mark in marks]).reshape(-1, 4) * scale, size, pen)
    styles = [STYLES[mark.kind] for mark in marks]
    draw_outlines(
        drawn,
        [Outline(box, s.colour, s.line) for box, s in zip(boxes, styles, strict=True)],
        pen,
    )
    font = font_of(letters_px or round(13 * max(0.7, side_px / 420)))
    return Drawn(drawn, _draw_tags(drawn, marks, np.array(boxes, dtype=np.float64), font, pen))


_TAG_MARGIN_PX = 3


def _draw_tags(
    picture: Image.Image,
    marks: Sequence[Mark],
    boxes: npt.NDArray[np.float64],
    font: Font,
    pen: Pen,
) -> bool:
    """Write every tag at its box, where it covers least, with a line where that is not plain.

    Returns:
        Whether some tag is shortened.
    """
    is_tagged = np.array([bool(mark.tag) for mark in marks], dtype=bool)
    if not is_tagged.any():
        return False
    boxes = np.concatenate([boxes[is_tagged], boxes[~is_tagged]])
    tagged = [mark for mark in marks if mark.tag]
    _, top, _, bottom = font.getbbox("\u00c5g")
    high = bottom - top + 2 * _TAG_MARGIN_PX
    texts = [(mark.tag, *mark.shorter) for mark in tagged]
    sizes = [
        [(font.getlength(text) + 2 * _TAG_MARGIN_PX, high) for text in of_mark] for of_mark in texts
    ]
    places = place_tags(boxes, sizes, picture.size, pad=high / 4)
    colours = [STYLES[mark.kind].colour for mark in tagged]
    leaders = [
        (place.leader, colour)
        for place, colour in zip(places, colours, strict=True)
        if place.leader is not None
    ]
    draw_leaders(picture, leaders, pen)
    canvas = ImageDraw.Draw(picture)
    for colour, of_mark, place in zip(colours, texts, places, strict=True):
        x, y = round(place.x), round(place.y)
        area = (x, y, round(place.x + place.width), round(place.y + place.height))
        canvas.rectangle(area, fill=colour, outline="black")
        at = (x + _TAG_MARGIN_PX, y + _TAG_MARGIN_PX - top)
        canvas.text(at, of_mark[place.level], fill="black", font=font)
    return any(place.level for place in places)
