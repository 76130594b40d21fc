"""Places of tags: none lies on another tag or another object where there is room for all."""

from __future__ import annotations

import re
import time

import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image

from uamt.drawing import Mark, draw_marks
from uamt.leaders import _crossed, leaders_of
from uamt.report_pictures import Box
from uamt.report_tags import tags_of
from uamt.tag_places import Place, place_tags

SIDE = 640
TEXTS = [(150.0, 20.0), (75.0, 20.0), (16.0, 20.0)]
PAD = 5.0

Floats = npt.NDArray[np.float64]


def painted(x1: float, y1: float, x2: float, y2: float) -> npt.NDArray[np.bool_]:
    """The pixels that an area covers wholly: areas that only touch have none in common."""
    pixels = np.zeros((SIDE, SIDE), bool)
    pixels[int(np.ceil(y1)) : int(y2), int(np.ceil(x1)) : int(x2)] = True
    return pixels


def area(place: Place) -> tuple[float, float, float, float]:
    return place.x, place.y, place.x + place.width, place.y + place.height


def covered(boxes: Floats, places: list[Place]) -> tuple[int, int]:
    """Pixels that tags share with other tags, and with other objects than their own."""
    tags = [painted(*area(place)) for place in places]
    objects = [painted(*box) for box in boxes]
    on_tags = sum(int((a & b).sum()) for i, a in enumerate(tags) for b in tags[:i])
    on_objects = sum(
        int((tag & other).sum())
        for i, tag in enumerate(tags)
        for j, other in enumerate(objects)
        if i != j
    )
    return on_tags, on_objects


def scattered(seed: int, number: int, within: float = SIDE - 80) -> Floats:
    random = np.random.default_rng(seed)
    corners = random.uniform(0, within, (number, 2))
    return np.hstack([corners, corners + random.uniform(30, 80, (number, 2))])


def placed(boxes: Floats) -> list[Place]:
    return place_tags(boxes, [TEXTS] * len(boxes), (SIDE, SIDE), PAD)


@pytest.mark.parametrize("seed", range(8))
def test_a_scattered_scene_has_no_tag_on_anything(seed: int) -> None:
    boxes = scattered(seed, 7)
    places = placed(boxes)
    assert covered(boxes, places) == (0, 0)
    assert {place.level for place in places} == {0}


@pytest.mark.parametrize("seed", range(4))
def test_a_heap_spreads_its_tags_over_the_room_around_it(seed: int) -> None:
    """Eight objects within 150 pixels."""
    boxes = scattered(seed, 8, within=70) + 250
    places = placed(boxes)
    on_tags, on_objects = covered(boxes, places)
    assert on_tags == 0
    at_corners = [Place(x1, y1 - 20, 150, 20, 0, None) for x1, y1, _, _ in boxes]
    on_tags_at_corners, on_objects_at_corners = covered(boxes, at_corners)
    assert on_tags_at_corners > 1000
    assert on_objects < 0.25 * on_objects_at_corners


def test_where_there_is_no_room_tags_are_numbers_and_stay_in_the_picture() -> None:
    boxes = scattered(0, 120)
    places = placed(boxes)
    assert len(places) == 120
    for place in places:
        x1, y1, x2, y2 = area(place)
        assert 0 <= x1 < x2 <= SIDE
        assert 0 <= y1 < y2 <= SIDE
        assert (place.width, place.height) == pytest.approx(TEXTS[place.level])
    assert sum(place.level == 2 for place in places) > 60


def outline_points(box: Floats) -> Floats:
    x1, y1, x2, y2 = box
    along = np.linspace(0, 1, 161)
    xs, ys = x1 + along * (x2 - x1), y1 + along * (y2 - y1)
    sides = [(xs, np.full_like(xs, y)) for y in (y1, y2)]
    sides += [(np.full_like(ys, x), ys) for x in (x1, x2)]
    return np.concatenate([np.stack(side, axis=1) for side in sides])


def distance(points: Floats, x1: float, y1: float, x2: float, y2: float) -> float:
    """From the nearest of the points to an area."""
    nearest = np.clip(points, (x1, y1), (x2, y2))
    return float(np.hypot(*(points - nearest).T).min())


@pytest.mark.parametrize("seed", range(4))
def test_a_line_leads_from_the_outline_to_the_tag(seed: int) -> None:
    boxes = scattered(seed, 8, within=70) + 250
    lines = [(box, p) for box, p in zip(boxes, placed(boxes), strict=True) if p.leader]
    assert lines
    for box, place in lines:
        assert place.leader is not None
        start, (to_x, to_y) = place.leader
        assert distance(outline_points(box), *start, *start) < 0.5
        left, top, right, bottom = area(place)
        assert left <= to_x <= right
        assert top <= to_y <= bottom


def test_lines_are_counted_where_they_cross() -> None:
    starts, ends = np.array([[0.0, 0], [0, 9], [20, 0]]), np.array([[10.0, 10], [10, 9], [20, 9]])
    lines = np.array([[[0.0, 10], [10, 0]], [[5, 0], [5, 20]]])
    assert _crossed(starts, ends, lines).tolist() == [2, 2, 0]


def test_the_lines_of_two_tags_do_not_cross_where_they_need_not() -> None:
    """The lower of two boxes has the upper tag; a way round the other line is a little longer."""
    boxes = np.array([[100.0, 100, 170, 170], [130, 140, 200, 210]])
    tags = np.array([[205.0, 205, 400, 225], [202, 172, 400, 192]])
    lines = leaders_of(boxes, tags, np.array([True, True]), PAD)
    first, second = (np.array(line) for line in lines)
    assert _crossed(first[None, 0], first[None, 1], second[None]).tolist() == [0]


@pytest.mark.parametrize("seed", range(4))
def test_a_tag_without_a_line_is_nearest_to_its_own_box(seed: int) -> None:
    boxes = scattered(seed, 12, within=200) + 150
    outlines = [outline_points(box) for box in boxes]
    for i, place in enumerate(placed(boxes)):
        if place.leader:
            continue
        own, *others = (
            distance(outlines[k], *area(place))
            for k in sorted(range(len(boxes)), key=lambda k: k != i)
        )
        assert min(others) > own + PAD - 1
        assert own < 0.35 * 20


def test_boxes_in_a_heap_have_a_dot_each_on_their_own_outline() -> None:
    """Each tag touches its own box, and yet two boxes could be meant where they overlap."""
    boxes = np.array([[480.0, 60, 560, 140], [530, 95, 600, 160], [400.0, 400, 470, 470]])
    first, second, alone = placed(boxes)
    assert alone.leader is None
    for place, own, other in ((first, *boxes[:2]), (second, boxes[1], boxes[0])):
        assert distance(outline_points(own), *area(place)) < 0.35 * 20
        assert place.leader is not None
        start, end = np.array(place.leader)
        assert distance(outline_points(own), *start, *start) < 0.5
        assert distance(outline_points(other), *start, *start) > 10
        # No line lies across the object that it leads to.
        inside = [
            painted(*own[:2] + 4, *own[2:] - 4)[tuple(map(int, p[::-1]))]
            for p in (start + share * (end - start) for share in np.linspace(0, 1, 20))
        ]
        assert not any(inside)


def test_boxes_on_each_other_need_no_line_from_either_tag() -> None:
    boxes = np.array([[200.0, 200, 300, 300], [202, 203, 301, 299]])
    assert [place.leader for place in placed(boxes)] == [None, None]


def test_boxes_without_a_tag_are_kept_clear_too() -> None:
    boxes = np.array([[200.0, 200, 300, 300], [180, 90, 400, 195]])
    (place,) = place_tags(boxes, [TEXTS], (SIDE, SIDE), PAD)
    assert not (painted(*area(place)) & painted(*boxes[1])).any()
    (alone,) = place_tags(boxes[:1], [TEXTS], (SIDE, SIDE), PAD)
    assert (painted(*area(alone)) & painted(*boxes[1])).any()


def test_three_hundred_objects_are_done_in_seconds() -> None:
    started = time.process_time()
    places = placed(scattered(1, 300) * 0.5)
    assert len(places) == 300
    assert time.process_time() - started < 20


def test_a_tag_that_no_place_holds_starts_at_the_edge() -> None:
    (place,) = place_tags(np.array([[0.0, 0, 10, 10]]), [[(90.0, 20.0)]], (40, 30), PAD)
    assert (place.x, place.width) == (0, 90)


def test_the_same_boxes_give_the_same_places() -> None:
    boxes = scattered(3, 20)
    assert placed(boxes) == placed(boxes.copy())
    assert placed(np.empty((0, 4))) == []


def test_every_object_of_a_page_s_picture_has_its_number() -> None:
    boxes = [
        Box("miss" if n % 5 == 0 else "match", str(n), x1, y1, x2 - x1, y2 - y1, "traffic light", 1)
        for n, (x1, y1, x2, y2) in enumerate(scattered(2, 60), start=1)
    ]
    tags = tags_of(boxes, SIDE, SIDE, {box.number: 6 for box in boxes})
    assert [re.split(r"\s", tag.text)[0] for tag in tags] == [box.number for box in boxes]
    assert {tag.level for tag in tags} == {0, 1, 2}


def test_a_drawn_tag_leaves_the_object_beside_its_own_visible() -> None:
    """A tag above the lower of two objects would cover the upper one."""
    marks = [
        Mark(np.array([40.0, 40, 60, 60]), "match", "1 circle 0.99", ("1 circle", "1")),
        Mark(np.array([40.0, 62, 60, 82]), "match", "2 square 0.98", ("2 square", "2")),
    ]
    drawn = draw_marks(Image.new("RGB", (100, 100), "white"), marks, SIDE).image
    for mark in marks:
        x1, y1, x2, y2 = (mark.box * SIDE / 100).tolist()
        inside = drawn.crop((int(x1) + 8, int(y1) + 8, int(x2) - 8, int(y2) - 8))
        assert inside.getcolors() == [(inside.width * inside.height, (255, 255, 255))]
