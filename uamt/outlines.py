"""Outlines: boxes as full lines, dashes or round dots, and lines that lead to them, edged dark.

All dark edges are drawn before any colour, so that no edge cuts the line of another box.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

Line = Literal["full", "dashes", "dots"]
Box = tuple[int, int, int, int]
Point = tuple[float, float]

DARK = "#101010"
_FINER = 4
"""Round and slanted shapes are drawn so many times as large, and made smaller, to be smooth."""


@dataclass(frozen=True, slots=True)
class Pen:
    """Sizes of all lines of a picture, in its pixels.

    Args:
        width_px: Of a coloured line.
        edge_px: Of the dark edge on either side of it.
    """

    width_px: int
    edge_px: int

    @classmethod
    def of(cls, grown: float) -> Pen:
        """Return the pen of a picture that is so many times as large as one of 640 pixels."""
        return cls(max(1, round(2 * grown)), max(1, round(grown)))

    @property
    def dash_px(self) -> tuple[int, int]:
        """Length of a dash, and of the gap behind it, before they are fitted to a side."""
        return 5 * self.width_px, 2 * self.width_px + 2 * self.edge_px

    @property
    def dot_px(self) -> tuple[int, int]:
        """Diameter of a ghost's dot, and how far apart dots are, before that is fitted."""
        diameter = 2 * self.width_px + self.width_px % 2
        return diameter, diameter + 2 * self.edge_px + max(2, self.width_px)

    @property
    def leader_px(self) -> int:
        """Width of a line that leads to a box: thinner than a box's own."""
        return max(1, self.width_px // 2)

    @property
    def end_px(self) -> int:
        """Diameter of the dot at the end of a line that leads to a box."""
        return 3 * self.width_px + 2


@dataclass(frozen=True, slots=True)
class Outline:
    """A box as it is drawn.

    Args:
        box: Left, upper, right and lower edge, on which its line is centred.
        colour: As `#rrggbb`.
        line: What the line is made of.
    """

    box: Box
    colour: str
    line: Line


def drawn_boxes(boxes: npt.NDArray[np.float64], size_px: tuple[int, int], pen: Pen) -> list[Box]:
    """Return where boxes are drawn: on whole pixels, and with all of their line in the picture.

    A box that lies beside the picture is a line at its border, however far away it is.

    Args:
        boxes: (N, 4) x1, y1, x2, y2 in pixels of the picture.
        size_px: Its width and height.
        pen: What they are drawn with.
    """
    least = pen.width_px // 2
    most = np.array(size_px) - pen.width_px + least
    # What some detectors return has its edges the wrong way round.
    ordered = np.sort(boxes.reshape(-1, 2, 2), axis=1)
    kept = np.clip(ordered, least, np.maximum(most, least)).reshape(-1, 4)
    return [(x1, y1, x2, y2) for x1, y1, x2, y2 in np.rint(kept).astype(np.int64).tolist()]


def draw_outlines(picture: Image.Image, outlines: Iterable[Outline], pen: Pen) -> None:
    """Draw boxes on a picture, the smaller over the larger."""
    ordered = sorted(outlines, key=lambda o: (o.box[0] - o.box[2]) * (o.box[3] - o.box[1]))
    for edge in (pen.edge_px, 0):
        for outline in ordered:
            _draw(picture, outline, pen, edge, DARK if edge else outline.colour)


def draw_leaders(
    picture: Image.Image, leaders: Sequence[tuple[tuple[Point, Point], str]], pen: Pen
) -> None:
    """Draw lines that lead from boxes to tags, with a dot at the box.

    Args:
        picture: Where.
        leaders: Ends of each line, that at the box first, and its colour.
        pen: What boxes are drawn with.
    """
    for edge in (pen.edge_px, 0):
        for (start, stop), colour in leaders:
            fill = DARK if edge else colour
            _draw_line(picture, (start, stop), pen.leader_px + 2 * edge, fill)
            _stamp(picture, start, pen, pen.end_px + 2 * edge, fill)


def _draw(picture: Image.Image, outline: Outline, pen: Pen, edge: int, fill: str) -> None:
    """Draw a box, its line so much wider on either side."""
    canvas = ImageDraw.Draw(picture)
    left, top, right, bottom = outline.box
    before = pen.width_px // 2 + edge
    after = pen.width_px - 1 - pen.width_px // 2 + edge
    if outline.line == "full":
        area = (left - before, top - before, right + after, bottom + after)
        canvas.rectangle(area, outline=fill, width=pen.width_px + 2 * edge)
    elif outline.line == "dashes":
        for x1, y1, x2, y2 in _dashes(outline.box, pen):
            canvas.rectangle((x1 - before, y1 - before, x2 + after, y2 + after), fill=fill)
    else:
        diameter, apart = pen.dot_px
        for at in _dots(outline.box, apart):
            _stamp(picture, at, pen, diameter + 2 * edge, fill)


def _dashes(box: Box, pen: Pen) -> Iterator[Box]:
    """Yield the dashes of a box, of which four are its corners."""
    left, top, right, bottom = box
    on, off = pen.dash_px
    for length, is_level in ((right - left, True), (bottom - top, False)):
        n = max(1, round(length / (on + off)))
        half = length / n * on / (on + off) / 2
        for k in range(n + 1):
            middle = k * length / n
            start, stop = round(max(0, middle - half)), round(min(length, middle + half))
            if is_level:
                yield from ((left + start, y, left + stop, y) for y in (top, bottom))
            else:
                yield from ((x, top + start, x, top + stop) for x in (left, right))


def _dots(box: Box, apart_px: int) -> Iterator[Point]:
    """Yield the middles of the dots of a box, evenly spaced from corner to corner."""
    left, top, right, bottom = box
    across, down = (max(1, n // apart_px) for n in (right - left, bottom - top))
    for k in range(across):
        step = k * (right - left) / across
        yield from ((left + step, top), (right - step, bottom))
    for k in range(down):
        step = k * (bottom - top) / down
        yield from ((right, top + step), (left, bottom - step))


@lru_cache(maxsize=64)
def _disc(diameter_px: int) -> Image.Image:
    finer = Image.new("L", (diameter_px * _FINER,) * 2)
    ImageDraw.Draw(finer).ellipse((0, 0, finer.width - 1, finer.height - 1), fill=255)
    return finer.resize((diameter_px, diameter_px), Image.Resampling.BOX)


def _stamp(picture: Image.Image, at: Point, pen: Pen, diameter_px: int, fill: str) -> None:
    """Draw a disc, smooth, on the middle of a line; even or odd as the line's width is."""
    disc = _disc(diameter_px)
    before = pen.width_px // 2 + (diameter_px - pen.width_px) // 2
    x, y = (round(value) - before for value in at)
    picture.paste(fill, (x, y, x + diameter_px, y + diameter_px), disc)


def _draw_line(picture: Image.Image, ends: tuple[Point, Point], width_px: int, fill: str) -> None:
    """Draw a line, smooth, but sharp where it is upright or level."""
    middle = 0.5 if width_px % 2 else 0.0
    x1, y1, x2, y2 = (value + middle for end in ends for value in end)
    left, top = int(min(x1, x2)) - width_px, int(min(y1, y2)) - width_px
    right, bottom = int(max(x1, x2)) + width_px + 1, int(max(y1, y2)) + width_px + 1
    mask = Image.new("L", ((right - left) * _FINER, (bottom - top) * _FINER))
    inside = [_FINER * value for value in (x1 - left, y1 - top, x2 - left, y2 - top)]
    ImageDraw.Draw(mask).line(inside, fill=255, width=width_px * _FINER)
    smooth = mask.resize((right - left, bottom - top), Image.Resampling.BOX)
    picture.paste(fill, (left, top, right, bottom), smooth)
