"""Tags of a picture of the page: where the name of each detection stands, clear of the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from uamt.drawing import STYLES
from uamt.report_pictures import Box
from uamt.tag_places import Place, place_tags

_HEIGHT, _CHARACTER = 0.034, 0.0195
"""Of a tag's line and of a character, as shares of the image's longer side."""
_SMALL_HEIGHT, _SMALL_CHARACTER = 0.11, 0.062
"""The same in a film strip."""


@dataclass(frozen=True, slots=True)
class Tag:
    """The name of a detection.

    Args:
        box: The detection.
        x: Left end of the text, in pixels of the image; its right end where `is_end`.
        y: Its baseline.
        texts: What may be written: number, kind and class; number and class; the number alone; what
            is left out is an ellipsis.
        level: Which of them there is room for. An uncertainty stands behind the first only.
        is_end: Whether the text ends at its place, which is left of the box, and may be shorter
            than what was reckoned with.
        leader: Line from the outline of the box to its tag, where it is not plain which box that
            belongs to, as the data of an SVG path.
    """

    box: Box
    x: float
    y: float
    texts: tuple[str, ...]
    level: int
    is_end: bool
    leader: str

    @property
    def text(self) -> str:
        """What is written."""
        return self.texts[self.level]

    @property
    def end(self) -> str:
        """The point of the box's outline where the leader ends, as the data of an SVG path."""
        return f"{self.leader.partition('L')[0]}h0"


def tag_texts(box: Box) -> tuple[str, str, str]:
    """Return what may be written at a detection, the longest first.

    Example:
        >>> tag_texts(Box("miss", "3", 0, 0, 9, 9, "cat", 0.9))
        ('3 miss cat', '3 cat …', '3 …')
    """
    word = "" if box.kind == "match" else f"{STYLES[box.kind].word} "
    return f"{box.number} {word}{box.label}", f"{box.number} {box.label} …", f"{box.number} …"


def tags_of(
    boxes: Sequence[Box], width: int, height: int, beside: Mapping[str, int] | None = None
) -> tuple[Tag, ...]:
    """Return the name of every detection, at its box, where it covers others least.

    Args:
        boxes: Detections of a pass.
        width: Of the image, in pixels.
        height: Likewise.
        beside: Most characters of an uncertainty behind the name, by the number of the object.
    """
    side = max(width, height)
    line, character = _HEIGHT * side, _CHARACTER * side
    texts = [tag_texts(box) for box in boxes]
    sizes = []
    for box, (longest, *shorter) in zip(boxes, texts, strict=True):
        n = len(longest) + (beside or {}).get(box.number, 0)
        sizes.append([(character * n, line), *((character * len(s), line) for s in shorter)])
    places = place_tags(_corners(boxes), sizes, (width, height), line / 6)
    return tuple(_tag(*each, line) for each in zip(boxes, texts, places, strict=True))


def numbers_of(boxes: Sequence[Box], width: int, height: int) -> tuple[Tag, ...]:
    """Return the numbers of a pass's misses and ghosts, as a film strip has them.

    Args:
        boxes: Detections of a pass.
        width: Of the image, in pixels.
        height: Likewise.
    """
    side = max(width, height)
    line, character = _SMALL_HEIGHT * side, _SMALL_CHARACTER * side
    named = [box for box in boxes if box.kind != "match"]
    if not named:
        return ()
    others = [box for box in boxes if box.kind == "match"]
    texts = [(box.number,) for box in named]
    sizes = [[(character * len(text), line)] for (text,) in texts]
    places = place_tags(_corners([*named, *others]), sizes, (width, height), line / 6)
    return tuple(_tag(*each, line) for each in zip(named, texts, places, strict=True))


def _corners(boxes: Sequence[Box]) -> npt.NDArray[np.float64]:
    corners = [(box.x, box.y, box.x + box.width, box.y + box.height) for box in boxes]
    return np.array(corners, dtype=np.float64).reshape(-1, 4)


def _tag(box: Box, texts: tuple[str, ...], place: Place, line: float) -> Tag:
    right, right_of_box = place.x + place.width, box.x + box.width
    is_end = right <= box.x + 1 or abs(right - right_of_box) < 1
    return Tag(
        box,
        round(right if is_end else place.x, 1),
        round(place.y + 0.78 * line, 1),
        texts,
        place.level,
        is_end,
        "" if place.leader is None else _path(*place.leader),
    )


def _path(start: tuple[float, float], end: tuple[float, float]) -> str:
    return "M{:g} {:g}L{:g} {:g}".format(*(round(value, 1) for value in (*start, *end)))
