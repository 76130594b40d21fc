"""Tags of a picture: where the name of each detection stands, clear of the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from uamt.report_pictures import Box

_HEIGHT, _CHARACTER = 0.034, 0.0195
"""Of a tag's line and of a character, as shares of the image's longer side."""


@dataclass(frozen=True, slots=True)
class Tag:
    """The name of a detection.

    Args:
        box: The detection.
        x: Left end of the text, in pixels of the image.
        y: Its baseline.
    """

    box: Box
    x: float
    y: float


def place_tags(boxes: Sequence[Box], width: int, height: int, beside: int = 0) -> tuple[Tag, ...]:
    """Return a place for the name of every detection: at its box, where it covers others least.

    Args:
        boxes: Detections of a pass.
        width: Of the image, in pixels.
        height: Likewise.
        beside: Characters that stand behind the name.
    """
    side = max(width, height)
    line = _HEIGHT * side
    taken: list[tuple[float, float, float, float]] = []
    tags = []
    for box in boxes:
        wide = _CHARACTER * side * (len(box.number) + 1 + len(box.label) + beside)
        right, bottom = box.x + box.width, box.y + box.height
        places = [
            (box.x, box.y - line),
            (box.x, bottom),
            (right - wide, box.y - line),
            (right - wide, bottom),
            (right, box.y),
            (box.x - wide, box.y),
            (box.x, box.y),
        ]
        inside = [
            (min(max(0.0, x), max(0.0, width - wide)), min(max(0.0, y), max(0.0, height - line)))
            for x, y in places
        ]
        areas = [(x, y, x + wide, y + line) for x, y in inside]
        best = min(areas, key=lambda area: sum(_overlap(area, other) for other in taken))
        taken.append(best)
        tags.append(Tag(box, round(best[0], 1), round(best[1] + 0.78 * line, 1)))
    return tuple(tags)


def _overlap(
    one: tuple[float, float, float, float], other: tuple[float, float, float, float]
) -> float:
    wide = min(one[2], other[2]) - max(one[0], other[0])
    high = min(one[3], other[3]) - max(one[1], other[1])
    return max(0.0, wide) * max(0.0, high)
