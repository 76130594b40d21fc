"""Places of tags: none lies on another tag or another object where there is room for all."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image

from uamt.drawing import Mark, draw_marks
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


def test_a_line_leads_from_the_edge_of_the_box_to_the_tag() -> None:
    boxes = scattered(0, 8, within=70) + 250
    moved = [(box, p) for box, p in zip(boxes, placed(boxes), strict=True) if p.leader]
    assert moved
    for (x1, y1, x2, y2), place in moved:
        assert place.leader is not None
        (from_x, from_y), (to_x, to_y) = place.leader
        assert from_x in (x1, x2) or from_y in (y1, y2)
        assert x1 <= from_x <= x2
        assert y1 <= from_y <= y2
        left, top, right, bottom = area(place)
        assert left <= to_x <= right
        assert top <= to_y <= bottom


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
    drawn = draw_marks(Image.new("RGB", (100, 100), "white"), marks, SIDE)
    for mark in marks:
        x1, y1, x2, y2 = (mark.box * SIDE / 100).tolist()
        inside = drawn.crop((int(x1) + 8, int(y1) + 8, int(x2) - 8, int(y2) - 8))
        assert inside.getcolors() == [(inside.width * inside.height, (255, 255, 255))]
