"""Drawing: kinds can be told apart, and what is drawn is what was found."""

from __future__ import annotations

import numpy as np
from PIL import Image

from scoring.detections import Detections
from scoring.passes import Passes
from scoring.tracks import track
from uamt.drawing import STYLES, brightened, draw_pass


def colours(picture: Image.Image) -> set[tuple[int, ...]]:
    return {colour for _, colour in picture.getcolors(picture.width * picture.height) or []}


def rgb(kind: str) -> tuple[int, int, int]:
    code = STYLES[kind].colour.lstrip("#")
    return (int(code[:2], 16), int(code[2:4], 16), int(code[4:], 16))


def tracks_of(original: list[list[float]], mutant: list[list[float]]) -> object:
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


def test_each_kind_is_drawn_in_its_colour_on_its_side() -> None:
    image = Image.new("RGB", (100, 80), "white")
    here, there = [10.0, 30, 40, 60], [60.0, 30, 90, 60]
    drawn = draw_pass(image, tracks_of([here, there], [here]), 0, ("background", "cat"), 400)  # type: ignore[arg-type]
    assert drawn.size == (808, 320)
    left, right = drawn.crop((0, 0, 400, 320)), drawn.crop((408, 0, 808, 320))
    assert {rgb("match"), rgb("miss")} <= colours(left)
    assert rgb("match") in colours(right)
    assert rgb("miss") not in colours(right)
    ghost = draw_pass(image, tracks_of([], [here]), 0, (), 400)  # type: ignore[arg-type]
    assert rgb("ghost") in colours(ghost.crop((408, 0, 808, 320)))
    assert colours(ghost.crop((0, 0, 400, 320))) == {(255, 255, 255)}


def test_a_pass_without_detections_is_the_bare_image_twice() -> None:
    image = Image.new("RGB", (50, 50), "green")
    drawn = draw_pass(image, tracks_of([], []), 0)  # type: ignore[arg-type]
    assert colours(drawn) == {(0, 128, 0), (255, 255, 255)}


def test_dark_images_are_brightened_and_others_left_alone() -> None:
    dark = Image.new("RGB", (20, 20), (10, 12, 14))
    shown, is_changed = brightened(dark)
    assert is_changed
    assert np.asarray(shown).mean() > 150
    light = Image.new("RGB", (20, 20), (120, 120, 120))
    assert brightened(light) == (light, False)
