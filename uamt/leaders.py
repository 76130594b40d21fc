"""Leaders: lines from tags to boxes, where it is not plain which box a tag belongs to."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Point = tuple[float, float]
Leader = tuple[Point, Point]

_SHARES = np.arange(0, 1, 0.1)[:, None]
"""Where a leader may end, along each side of its box; corners among them."""
_ALONG = np.linspace(0, 0.95, 12)[:, None]
_NEAR_OTHERS, _HIDDEN, _UNDER_TAGS, _ON_OUTLINES, _ACROSS_OWN = 6, 4, 3, 2, 3
_PER_CROSSED_LEADER, _PER_CROSSED_OUTLINE, _PER_HEIGHT = 1.5, 0.3, 0.15


def leaders_of(
    boxes: Floats, areas: Floats, is_moved: npt.NDArray[np.bool_], near_px: float
) -> list[Leader | None]:
    """Return the line from every box to its tag, that at the box first; None where none is needed.

    One is needed where the tag stands away from its box, where the outline of another box is as
    near to it, or where the box overlaps another one that has a tag. It ends on the outline of its
    own box, where that of no other box comes near, and does not lie across it if it need not.
    Boxes that lie on each other are at one place, to which a tag of either leads: colour and line
    tell them apart, and no end would.

    Args:
        boxes: (M, 4) x1, y1, x2, y2 in pixels of the picture, those with a tag first.
        areas: (N, 4) the tags.
        is_moved: (N,) whether a tag stands away from its box.
        near_px: What is as near as touching.
    """
    sides = sides_of(boxes)
    leaders: list[Leader | None] = []
    for i, area in enumerate(areas):
        box = boxes[i]
        is_other = np.abs(boxes - box).max(axis=1) > _apart(area)
        distance = gaps(sides, area).min(axis=1)
        nearest_other = distance[is_other].min(initial=np.inf)
        is_in_heap = (is_other & _overlap(boxes, box))[: len(areas)].any()
        if not is_moved[i] and not is_in_heap and nearest_other > distance[i] + near_px:
            leaders.append(None)
            continue
        # What is farther away matters to no end.
        around = np.concatenate([np.minimum(box, area)[:2], np.maximum(box, area)[2:]])
        others, tags = boxes[is_other], np.delete(areas, i, axis=0)
        others, tags = (some[gaps(some, around) <= _apart(area)] for some in (others, tags))
        drawn = [leader for leader in leaders if leader is not None]
        leaders.append(_best(box, area, (others, tags), np.array(drawn).reshape(-1, 2, 2)))
    return leaders


def _best(box: Floats, area: Floats, around: tuple[Floats, Floats], drawn: Floats) -> Leader:
    """Return the leader to where the outline of a box is clearest of the others.

    Args:
        box: (4,) the box.
        area: (4,) its tag.
        around: (K, 4) other boxes and (L, 4) other tags.
        drawn: (J, 2, 2) leaders that are there already.
    """
    others, tags = around
    high = float(area[3] - area[1])
    corners = box[[0, 1, 2, 1, 2, 3, 0, 3]].reshape(4, 2)
    along = np.roll(corners, -1, axis=0) - corners
    starts = (corners[:, None] + _SHARES * along[:, None]).reshape(-1, 2)
    ends = np.clip(starts, area[:2], area[2:])
    points = np.hstack([starts, starts])
    need = _apart(area)
    clear = np.minimum(need, _least(points, sides_of(others).reshape(-1, 4), need))
    length = np.hypot(*(ends - starts).T)
    # Tags are drawn over all else.
    is_hidden = _least(points, np.vstack([tags, area[None]]), need) < high / 5
    line = starts[:, None] + _ALONG * (ends - starts)[:, None]
    under = _inside(line, tags).any(axis=2).mean(axis=1)
    outlines = sides_of(others).reshape(-1, 4)
    dots = np.concatenate([line, line], axis=2).reshape(-1, 4)
    is_on_outline = (_least(dots, outlines, need) < high / 6).reshape(line.shape[:2])
    inner = box + np.array([1, 1, -1, -1]) * high / 6
    across = _inside(line, inner[None]).any(axis=2).mean(axis=1)
    is_inside = _inside(line, others)
    crossings = (is_inside[:, 1:] != is_inside[:, :-1]).sum(axis=(1, 2))
    cost = (
        _NEAR_OTHERS * (1 - clear / need) ** 2
        + _HIDDEN * is_hidden
        + _UNDER_TAGS * under
        + _ON_OUTLINES * is_on_outline.mean(axis=1)
        + _ACROSS_OWN * across
        + _PER_CROSSED_OUTLINE * crossings
        + _PER_CROSSED_LEADER * _crossed(starts, ends, drawn)
        + _PER_HEIGHT / high * length
    )
    best = int(cost.argmin())
    (x1, y1), (x2, y2) = starts[best].tolist(), ends[best].tolist()
    return (x1, y1), (x2, y2)


def _crossed(starts: Floats, ends: Floats, lines: Floats) -> npt.NDArray[np.int64]:
    """Return how many lines (J, 2, 2) each line from (S, 2) starts to (S, 2) ends crosses."""

    def side(origin: Floats, along: Floats, point: Floats) -> Floats:
        x, y = (point - origin)[..., 0], (point - origin)[..., 1]
        turned: Floats = along[..., 0] * y - along[..., 1] * x
        return turned

    a, b = lines[:, 0], lines[:, 1]
    first, last = starts[:, None], ends[:, None]
    is_apart = side(a, b - a, first) * side(a, b - a, last) < 0
    is_between = side(first, last - first, a) * side(first, last - first, b) < 0
    count: npt.NDArray[np.int64] = (is_apart & is_between).sum(axis=1)
    return count


def _apart(area: Floats) -> float:
    """Return how far outlines are apart that no eye takes for one another: half a tag's height."""
    return float(area[3] - area[1]) / 2


def sides_of(boxes: Floats) -> Floats:
    """Return the sides (N, 4, 4) of boxes (N, 4), as areas without width."""
    return boxes[:, [[0, 1, 2, 1], [2, 1, 2, 3], [0, 3, 2, 3], [0, 1, 0, 3]]]


def gaps(areas: Floats, box: Floats) -> Floats:
    """Return how far each area (..., 4) lies from a box (..., 4), in pixels; 0 where they meet."""
    apart = np.maximum(
        0.0, np.maximum(areas[..., :2] - box[..., 2:], box[..., :2] - areas[..., 2:])
    )
    distance: Floats = np.hypot(apart[..., 0], apart[..., 1])
    return distance


def _overlap(boxes: Floats, box: Floats) -> npt.NDArray[np.bool_]:
    """Return whether each of (M, 4) boxes has some area in common with a box (4,)."""
    shared = np.minimum(boxes[:, 2:], box[2:]) > np.maximum(boxes[:, :2], box[:2])
    return np.asarray(shared.all(axis=1))


def _least(points: Floats, areas: Floats, most: float) -> Floats:
    """Return how far each point is from the nearest area; `most` without any."""
    if not len(areas):
        return np.full(len(points), most)
    least: Floats = gaps(points[:, None], areas).min(axis=1)
    return least


def _inside(points: Floats, areas: Floats) -> npt.NDArray[np.bool_]:
    """Return whether each of (S, P, 2) points lies in each of (M, 4) areas: (S, P, M)."""
    after, before = points[:, :, None] >= areas[:, :2], points[:, :, None] <= areas[:, 2:]
    within = after & before
    is_inside: npt.NDArray[np.bool_] = within[..., 0] & within[..., 1]
    return is_inside
