"""Places of tags: each at its own box, clear of other tags and objects, and shorter if need be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from uamt.leaders import gaps, leaders_of

Floats = npt.NDArray[np.float64]
Point = tuple[float, float]

_STEPS = (0.0, 0.8, 1.7, 2.8, 4.2)
"""How far from its box a tag may be, in heights of it."""
_SHORTER = (0.0, 0.35, 0.8)
"""What a shorter text costs; the unit of all costs is a tag that lies wholly on another object."""
_ON_TAG, _ON_OBJECT, _SHARE_OF_OBJECT, _SHARE_OF_OWN, _MOVED, _PER_HEIGHT = 6, 0.6, 2, 1, 0.25, 0.1
_SWEEPS = 3
_MANY = 40
"""Objects from which on a picture is too full for tags to move far, and for a second sweep."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a tag stands.

    Args:
        x: Left edge, in pixels of the picture.
        y: Upper edge.
        width: In pixels.
        height: In pixels.
        level: Which of its texts is written there, 0 for the longest.
        leader: Ends of the line from the box's outline to the tag, where it is not plain which box
            the tag belongs to.
    """

    x: float
    y: float
    width: float
    height: float
    level: int
    leader: tuple[Point, Point] | None


def place_tags(
    boxes: Floats, sizes: Sequence[Sequence[Point]], picture: Point, pad: float
) -> list[Place]:
    """Return a place for every tag, where it covers least of tags, objects and its own object.

    A tag that finds no free place at its box moves away from it, and is written shorter where
    moving does not help. The same boxes give the same places.

    Args:
        boxes: (M, 4) x1, y1, x2, y2 of the objects, in pixels of the picture, those with a tag
            first.
        sizes: Width and height of the texts of each of N tags, the longest first; up to three.
        picture: Its width and height, in pixels.
        pad: How far a tag stays from other boxes, in pixels.
    """
    is_full = len(boxes) > _MANY
    steps = _STEPS[:2] if is_full else _STEPS
    around = boxes + np.array([-pad, -pad, pad, pad])
    tags = [
        _Tag(boxes[i], np.delete(around, i, axis=0), texts, picture, steps)
        for i, texts in enumerate(sizes)
    ]
    # What has no place yet takes no room.
    taken = np.zeros((len(sizes), 4))
    for _ in range(1 if is_full else _SWEEPS):
        before = taken.copy()
        for i, tag in enumerate(tags):
            taken[i] = tag.settle(np.delete(taken, i, axis=0))
        if np.array_equal(before, taken):
            break
    is_moved = np.array([tag.is_moved for tag in tags], dtype=bool)
    leaders = leaders_of(boxes, taken, is_moved, pad)
    return [tag.place(leader) for tag, leader in zip(tags, leaders, strict=True)]


@dataclass(frozen=True, slots=True, eq=False)
class _Choices:
    """Where a tag may stand.

    Args:
        areas: (C, 4) x1, y1, x2, y2.
        levels: (C,) which of its texts stands there.
        is_moved: (C,) whether that is away from the box.
        cost: (C,) of each, other tags apart.
        is_plain: (C,) whether it is the whole text, at the box and clear of other objects.
    """

    areas: Floats
    levels: npt.NDArray[np.int64]
    is_moved: npt.NDArray[np.bool_]
    cost: Floats
    is_plain: npt.NDArray[np.bool_]


class _Tag:
    """A tag that looks for its place.

    Args:
        box: (4,) its own object.
        objects: (M, 4) the others, and a little around them.
        texts: Width and height of each, the longest first.
        picture: Width and height.
        steps: How far it may move, in heights.
    """

    def __init__(
        self,
        box: Floats,
        objects: Floats,
        texts: Sequence[Point],
        picture: Point,
        steps: tuple[float, ...],
    ) -> None:
        self._box, self._objects, self._texts = box, objects, texts
        self._picture, self._steps = np.array(picture), steps
        # Most tags find a place at their box, so that the others are seldom worth looking at.
        self._near = self._choices(texts[:1], steps[:1])
        self._all: _Choices | None = None
        self._chosen = self._near, 0

    def settle(self, others: Floats) -> Floats:
        """Take the best place beside other tags (K, 4), and return it."""
        best, is_plain = self._cheapest(self._near, others)
        choices = self._near
        if not is_plain:
            if self._all is None:
                self._all = self._choices(self._texts, self._steps)
            choices = self._all
            best, _ = self._cheapest(choices, others)
        self._chosen = choices, best
        area: Floats = choices.areas[best]
        return area

    def _cheapest(self, choices: _Choices, others: Floats) -> tuple[int, bool]:
        """Return which place costs least, and whether nothing is wrong with it."""
        size = self._texts[0][0] * self._texts[0][1]
        on_tags = _shared(choices.areas, others).sum(axis=1)
        best = int((choices.cost + _ON_TAG / size * on_tags).argmin())
        return best, bool(choices.is_plain[best] and not on_tags[best])

    def _choices(self, texts: Sequence[Point], steps: tuple[float, ...]) -> _Choices:
        areas = np.concatenate([self._areas(text, steps) for text in texts])
        levels = np.repeat(np.arange(len(texts)), len(areas) // len(texts))
        size, high = self._texts[0][0] * self._texts[0][1], self._texts[0][1]
        on_objects = _shared(areas, self._objects)
        on_own = _shared(areas, self._box[None])[:, 0]
        share_of_own = on_own / _sizes(self._box[None])
        gap = gaps(areas, self._box)
        is_moved = gap > 0.35 * high
        cost = (
            _ON_OBJECT / size * on_objects.sum(axis=1)
            + _SHARE_OF_OBJECT * (on_objects / _sizes(self._objects)).sum(axis=1)
            + _SHARE_OF_OWN * (share_of_own + 0.1 / size * on_own)
            + _MOVED * is_moved
            + _PER_HEIGHT / high * gap
            + np.array(_SHORTER)[levels]
            # Of equal places the first, above left of the box.
            + 1e-4 * np.arange(len(areas))
        )
        is_plain = (levels == 0) & ~is_moved & (cost < _MOVED) & ~on_objects.any(axis=1)
        return _Choices(areas, levels, is_moved, cost, is_plain)

    def _areas(self, text: Point, steps: tuple[float, ...]) -> Floats:
        """Return candidates (C, 4) around the box, the nearest first, and inside of it."""
        size = np.array(text)
        corners = _corners(steps) @ np.array([*self._box, *text])
        upper_left = np.clip(corners, 0.0, np.maximum(0.0, self._picture - size))
        return np.hstack([upper_left, upper_left + size])

    @property
    def is_moved(self) -> bool:
        """Whether the place that was taken last is away from the box."""
        choices, best = self._chosen
        return bool(choices.is_moved[best])

    def place(self, leader: tuple[Point, Point] | None) -> Place:
        """Return the place that was taken last, with this line to it."""
        choices, best = self._chosen
        x1, y1, x2, y2 = choices.areas[best].tolist()
        return Place(x1, y1, x2 - x1, y2 - y1, int(choices.levels[best]), leader)


@lru_cache(maxsize=8)
def _corners(steps: tuple[float, ...]) -> Floats:
    """Return what x1, y1, x2, y2 of a box and width and height of a tag are multiplied with, so
    that upper left corners (C, 2) come out.
    """
    x1, y1, x2, y2, wide, high = np.eye(6)
    columns, rows = (x1, x2 - wide, (x1 + x2 - wide) / 2), (y1, (y1 + y2 - high) / 2, y2 - high)
    corners = []
    for step in steps:
        off = step * high
        above, below, left, right = y1 - high - off, y2 + off, x1 - wide - off, x2 + off
        corners += [(x, y) for y in (above, below) for x in columns]
        corners += [(x, y) for x in (right, left) for y in rows]
        corners += [(x, y) for x in (right, left) for y in (above, below)]
        if not step:
            corners += [(x, y) for y in (rows[0], rows[2]) for x in columns[:2]]
    return np.array(corners)


def _sizes(areas: Floats) -> Floats:
    sides = np.maximum(1.0, areas[:, 2:] - areas[:, :2])
    sizes: Floats = sides[:, 0] * sides[:, 1]
    return sizes


def _shared(areas: Floats, others: Floats) -> Floats:
    """Return how many square pixels each of (C, 4) areas shares with each of (M, 4) others."""
    # One axis after the other: a last axis of two is what numpy is slowest at.
    sides = [
        np.minimum(areas[:, None, end], others[None, :, end])
        - np.maximum(areas[:, None, start], others[None, :, start])
        for start, end in ((0, 2), (1, 3))
    ]
    shared: Floats = np.maximum(0.0, sides[0]) * np.maximum(0.0, sides[1])
    return shared
