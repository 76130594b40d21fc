"""Places of tags: each at its own box, clear of other tags and objects, and shorter if need be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

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
        leader: Ends of the line from the box to the tag, where the tag had to move away.
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
        boxes: (N, 4) x1, y1, x2, y2 of the objects, in pixels of the picture.
        sizes: Width and height of the texts of each tag, the longest first; up to three.
        picture: Its width and height, in pixels.
        pad: How far a tag stays from other boxes, in pixels.
    """
    around = boxes + np.array([-pad, -pad, pad, pad])
    taken = np.full((len(boxes), 4), np.nan)
    chosen: list[_Candidate | None] = [None] * len(boxes)
    is_full = len(boxes) > _MANY
    steps = _STEPS[:2] if is_full else _STEPS
    for _ in range(1 if is_full else _SWEEPS):
        is_changed = False
        for i, texts in enumerate(sizes):
            last = chosen[i]
            others = np.delete(taken, i, axis=0)
            others = others[~np.isnan(others[:, 0])]
            if last is not None and last.is_plain and not _shared(last.area[None], others).any():
                continue
            near = _Near(boxes[i], np.delete(around, i, axis=0), others, picture, texts[0])
            best = near.best(texts, steps)
            is_changed |= last is None or not np.array_equal(best.area, last.area)
            chosen[i], taken[i] = best, best.area
        if not is_changed:
            break
    return [one.place(boxes[i]) for i, one in enumerate(chosen) if one is not None]


@dataclass(frozen=True, slots=True, eq=False)
class _Candidate:
    area: Floats
    level: int
    is_moved: bool
    is_plain: bool
    """Whole, at its box, and clear of everything else."""

    def place(self, box: Floats) -> Place:
        x1, y1, x2, y2 = (float(value) for value in self.area)
        leader = None
        if self.is_moved:
            middle = ((box[0] + box[2]) / 2, (box[1] + box[3]) / 2)
            end = (min(max(middle[0], x1), x2), min(max(middle[1], y1), y2))
            start = (min(max(end[0], box[0]), box[2]), min(max(end[1], box[1]), box[3]))
            leader = (float(start[0]), float(start[1])), (float(end[0]), float(end[1]))
        return Place(x1, y1, x2 - x1, y2 - y1, self.level, leader)


@dataclass(frozen=True, slots=True, eq=False)
class _Near:
    """What a tag has to keep clear of.

    Args:
        box: Its own object.
        objects: (M, 4) the others, and a little around them.
        tags: (K, 4) the tags that have a place.
        picture: Width and height.
        whole: Width and height of its longest text.
    """

    box: Floats
    objects: Floats
    tags: Floats
    picture: Point
    whole: Point

    def best(self, texts: Sequence[Point], steps: Sequence[float]) -> _Candidate:
        """Return the best place; those at the box are tried alone first: most tags find one."""
        cost, near = self.cheapest(texts[:1], steps[:1])
        if near.is_plain:
            return near
        any_cost, found = self.cheapest(texts, steps)
        return found if any_cost < cost else near

    def cheapest(self, texts: Sequence[Point], steps: Sequence[float]) -> tuple[float, _Candidate]:
        """Return the cost of the cheapest place for one of the texts, and that place."""
        of_text = [self.areas(text, steps) for text in texts]
        areas = np.concatenate(of_text)
        levels = np.repeat(np.arange(len(texts)), [len(one) for one in of_text])
        size, high = self.whole[0] * self.whole[1], self.whole[1]
        on_tags = _shared(areas, self.tags).sum(axis=1)
        on_objects = _shared(areas, self.objects)
        on_own = _shared(areas, self.box[None])[:, 0]
        gap = _gaps(areas, self.box)
        is_moved = gap > 0.35 * high
        cost = (
            _ON_TAG * on_tags / size
            + _ON_OBJECT * on_objects.sum(axis=1) / size
            + _SHARE_OF_OBJECT * (on_objects / _sizes(self.objects)).sum(axis=1)
            + _SHARE_OF_OWN * (on_own / _sizes(self.box[None]) + 0.1 * on_own / size)
            + np.where(is_moved, _MOVED, 0.0)
            + _PER_HEIGHT * gap / high
            + np.array(_SHORTER)[levels]
            # Of equal places the first, above left of the box.
            + 1e-4 * np.arange(len(areas))
        )
        best = int(cost.argmin())
        is_clear = not (on_tags[best] or on_objects[best].any() or is_moved[best])
        is_plain = is_clear and not levels[best] and bool(cost[best] < _MOVED)
        found = _Candidate(areas[best], int(levels[best]), bool(is_moved[best]), is_plain)
        return float(cost[best]), found

    def areas(self, text: Point, steps: Sequence[float]) -> Floats:
        """Return candidates (C, 4) around the box, the nearest first, and inside of it."""
        x1, y1, x2, y2 = self.box
        wide, high = text
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
        size = np.array(text)
        upper_left = np.clip(np.array(corners), 0.0, np.maximum(0.0, np.array(self.picture) - size))
        return np.hstack([upper_left, upper_left + size])


def _sizes(areas: Floats) -> Floats:
    sides = np.maximum(1.0, areas[:, 2:] - areas[:, :2])
    sizes: Floats = sides[:, 0] * sides[:, 1]
    return sizes


def _gaps(areas: Floats, box: Floats) -> Floats:
    """Return how far each area lies from the box, in pixels."""
    apart = np.maximum(0.0, np.maximum(areas[:, :2] - box[2:], box[:2] - areas[:, 2:]))
    return np.hypot(apart[:, 0], apart[:, 1])


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
