"""Drawing: kinds can be told apart, and what is drawn is what was found."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image, ImageFilter
from scipy.ndimage import center_of_mass, label

from scoring.detections import Detections
from scoring.passes import Passes
from scoring.tracks import Tracks, track
from uamt.drawing import (
    STYLES,
    Kind,
    Mark,
    brightened,
    draw_marks,
    marks_of_mutant,
    marks_of_original,
)
from uamt.outlines import Pen, drawn_boxes

SIDES = (marks_of_original, marks_of_mutant)


def colours(picture: Image.Image) -> set[tuple[int, ...]]:
    return {colour for _, colour in picture.getcolors(picture.width * picture.height) or []}


def rgb(kind: Kind) -> tuple[int, int, int]:
    code = STYLES[kind].colour.lstrip("#")
    return (int(code[:2], 16), int(code[2:4], 16), int(code[4:], 16))


def tracks_of(original: list[list[float]], mutant: list[list[float]]) -> Tracks:
    def passes(boxes: list[list[float]]) -> Passes:
        n = len(boxes)
        if not n:
            return Passes.from_list([Detections.empty(2)])
        return Passes.from_list(
            [
                Detections(
                    np.array(boxes), np.ones(n, np.int64), np.full(n, 0.9), np.full((n, 2), 0.5)
                )
            ]
        )

    return track(passes(original), passes(mutant))


def drawn(original: list[list[float]], mutant: list[list[float]]) -> tuple[set[Any], set[Any]]:
    """Colours of what the original found in a pass, and of what the mutant found."""
    image = Image.new("RGB", (100, 80), "white")
    tracks = tracks_of(original, mutant)
    sides = (marks_of(tracks, 0, ("background", "cat")) for marks_of in SIDES)
    left, right = (colours(draw_marks(image, marks, 400).image) for marks in sides)
    return left, right


def test_each_kind_is_drawn_in_its_colour_on_its_side() -> None:
    here, there = [10.0, 30, 40, 60], [60.0, 30, 90, 60]
    left, right = drawn([here, there], [here])
    assert {rgb("match"), rgb("miss")} <= left
    assert rgb("match") in right
    assert rgb("miss") not in right
    left, right = drawn([], [here])
    assert left == {(255, 255, 255)}
    assert rgb("ghost") in right


def test_dark_images_are_brightened_and_others_left_alone() -> None:
    dark = Image.new("RGB", (20, 20), (10, 12, 14))
    shown, is_changed = brightened(dark)
    assert is_changed
    assert np.asarray(shown).mean() > 150
    light = Image.new("RGB", (20, 20), (120, 120, 120))
    assert brightened(light) == (light, False)


WHITE = (255, 255, 255)
SIDE = 640


def outlined(*boxes: tuple[Kind, list[float]], tag: str = "") -> npt.NDArray[np.uint8]:
    """The pixels of a white picture at scale 1 with these boxes."""
    marks = [Mark(np.array(box, float), kind, tag) for kind, box in boxes]
    return np.asarray(draw_marks(Image.new("RGB", (SIDE, SIDE), "white"), marks, SIDE, 13).image)


def runs(line: npt.NDArray[np.uint8], colour: tuple[int, ...]) -> list[tuple[int, int]]:
    """First pixel and length of every run of a colour in a line of pixels."""
    is_on = (line == colour).all(axis=1)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], is_on, [0]])))
    return [(int(a), int(b - a)) for a, b in zip(edges[::2], edges[1::2], strict=True)]


BOX = [100.0, 100, 300, 250]


def test_a_match_is_a_closed_thin_line_with_a_dark_edge() -> None:
    pixels = outlined(("match", BOX))
    assert runs(pixels[100], rgb("match")) == [(99, 202)]
    assert runs(pixels[175], rgb("match")) == [(99, 2), (299, 2)]
    across = [tuple(pixel) for pixel in pixels[175, 97:103].tolist()]
    dark = across[1]
    assert max(dark) < 40
    assert across == [WHITE, dark, rgb("match"), rgb("match"), dark, WHITE]
    # Nothing sticks out at the corners.
    rows, columns = np.nonzero((pixels != 255).any(axis=2))
    assert (columns.min(), columns.max(), rows.min(), rows.max()) == (98, 301, 98, 251)
    assert tuple(pixels[98, 98]) == tuple(pixels[251, 301]) == dark


def test_a_miss_has_dashes_that_meet_at_the_corners() -> None:
    pixels = outlined(("miss", BOX))
    found = runs(pixels[100], rgb("miss"))
    assert found[0][0] == 99
    assert sum(found[-1]) == 301
    inner = [length for _, length in found[1:-1]]
    gaps = [b[0] - sum(a) for a, b in pairwise(found)]
    assert min(inner) >= 10
    assert max(inner) - min(inner) <= 1
    assert max(gaps) - min(gaps) <= 1
    assert min(gaps) >= 4
    assert WHITE in {tuple(p) for p in pixels[100, 99:301].tolist()}


@pytest.mark.parametrize("length", [200, 203, 207, 31])
def test_a_ghost_has_round_dots_at_even_distances_with_gaps(length: int) -> None:
    pixels = outlined(("ghost", [100.0, 100, 100 + length, 250]))
    found = runs(pixels[100], rgb("ghost"))
    assert len(found) >= 4
    assert max(n for _, n in found) <= 4
    starts = np.diff([start for start, _ in found])
    assert starts.max() - starts.min() <= 1
    # The picture is seen between the dark edges of any two dots.
    between = [pixels[97:104, a + n : b] for (a, n), (b, _) in pairwise(found)]
    assert all((gap == 255).all(axis=(0, 2)).any() for gap in between)
    # Round: the rows at the upper and the lower end of a dot are shorter than that in its middle.
    dot = [
        sum(n for start, n in runs(row[96:106], rgb("ghost")) if start < 9)
        for row in pixels[96:106]
    ]
    assert max(dot) > 0
    darks = [(row[96:104].astype(int).sum(axis=1) < 700).sum() for row in pixels[96:104]]
    ends = [n for n in darks if n]
    assert ends[0] < max(ends)
    assert ends[-1] < max(ends)


def test_kinds_differ_in_how_much_of_the_line_is_there_on_a_film_strip_too() -> None:
    shares = []
    for kind in STYLES:
        mark = Mark(np.array([40.0, 40, 72, 72]), kind, "")
        drawn = draw_marks(Image.new("RGB", (SIDE, SIDE), "white"), [mark], 300).image
        (x1, y1, x2, _), *_ = drawn_boxes(mark.box[None] * 300 / SIDE, (300, 300), Pen(2, 1))
        line = np.asarray(drawn)[y1, x1 + 3 : x2 - 3]
        shares.append((line < 250).any(axis=1).mean())
    full, dashes, _ = shares
    assert full == 1
    assert dashes < 1


def test_edges_do_not_cut_the_lines_of_other_boxes() -> None:
    pixels = outlined(("match", BOX), ("match", [200.0, 50, 260, 400]))
    assert runs(pixels[100], rgb("match")) == [(99, 202)]
    assert runs(pixels[:, 200], rgb("match")) == [(49, 352)]


def test_a_smaller_box_lies_over_a_larger_one() -> None:
    small = [200.0, 50, 260, 150]
    for order in (1, -1):
        boxes: list[tuple[Kind, list[float]]] = [("match", BOX), ("miss", small)]
        pixels = outlined(*boxes[::order])
        assert len(runs(pixels[100], rgb("match"))) > 1
        assert tuple(pixels[50, 200]) == rgb("miss")


def test_the_line_of_a_box_at_the_edge_is_in_the_picture() -> None:
    pixels = outlined(("match", [500.0, -20, 700, 700]))
    assert runs(pixels[300], rgb("match")) == [(499, 2), (638, 2)]
    assert runs(pixels[:, 600], rgb("match")) == [(0, 2), (638, 2)]


@pytest.mark.parametrize("kind", STYLES)
@pytest.mark.parametrize("far", [700.0, 1e9, 9e99])
def test_a_box_beside_the_picture_is_drawn_at_its_border(kind: Kind, far: float) -> None:
    """However far away it is: its line has no more pixels than the picture."""
    pixels = outlined((kind, [far, 100, 2 * far, 300]))
    rows, columns = (pixels == rgb(kind)).all(axis=2).nonzero()
    assert columns.min() > 640 - 8
    assert 95 < rows.min() < rows.max() < 305


def test_a_box_whose_edges_are_the_wrong_way_round_is_drawn() -> None:
    assert np.array_equal(outlined(("match", [300.0, 250, 100, 100])), outlined(("match", BOX)))


CROWD = [[473.0, 157, 546, 225], [489, 157, 579, 244], [514, 174, 597, 244], [540, 235, 615, 306]]
"""Three boxes on each other and one below, as a detector found them."""


def ends_of_leaders(pixels: npt.NDArray[np.uint8], kind: Kind) -> list[tuple[float, float]]:
    """Middles of the dots at which leaders end: larger than a line or a dot, smaller than a tag.

    Tags without letters are one piece.
    """
    is_on = (pixels == rgb(kind)).all(axis=2)
    core = Image.fromarray(is_on.astype(np.uint8) * 255).filter(ImageFilter.MinFilter(3))
    blobs, n = label(np.asarray(core))
    small = [k for k in range(1, n + 1) if 0 < (blobs == k).sum() <= 40]
    return [(x, y) for y, x in center_of_mass(blobs > 0, blobs, small)]


def distance_to_outline(point: tuple[float, float], box: list[float]) -> float:
    x1, y1, x2, y2 = box
    xs, ys = np.linspace(x1, x2, 400), np.linspace(y1, y2, 400)
    sides = [(xs, y1), (xs, y2), (x1, ys), (x2, ys)]
    return min(float(np.hypot(x - point[0], y - point[1]).min()) for x, y in sides)


def test_in_a_crowd_leaders_end_on_their_own_outline_where_no_other_is_near() -> None:
    """Each box takes its turn as the only one of its kind, so that its leader is known."""
    mirrored = [[SIDE - x2, y1, SIDE - x1, y2] for x1, y1, x2, y2 in CROWD]
    upside_down = [[y1, x1, y2, x2] for x1, y1, x2, y2 in CROWD]
    seen = 0
    for crowd in (CROWD, mirrored, upside_down):
        for i, own in enumerate(crowd):
            kinds: list[Kind] = ["miss" if k == i else "match" for k in range(len(crowd))]
            marks = [
                Mark(np.array(box), kind, " " * 45, (" " * 18, " " * 4))
                for kind, box in zip(kinds, crowd, strict=True)
            ]
            picture = draw_marks(Image.new("RGB", (SIDE, SIDE), "white"), marks, SIDE, 13).image
            for end in ends_of_leaders(np.asarray(picture), "miss"):
                seen += 1
                assert distance_to_outline(end, own) <= 1
                others = [distance_to_outline(end, box) for box in crowd if box is not own]
                assert min(others) > 9
    assert seen >= 3


def test_a_box_alone_has_no_leader() -> None:
    pixels = outlined(("match", BOX), tag=" " * 30)
    assert ends_of_leaders(pixels, "match") == []
