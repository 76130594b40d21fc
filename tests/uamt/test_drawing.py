"""Drawing: kinds can be told apart, and what is drawn is what was found."""

from __future__ import annotations

from typing import Any

import numpy as np
from PIL import Image

from scoring.detections import Detections
from scoring.passes import Passes
from scoring.tracks import Tracks, track
from uamt.drawing import STYLES, brightened, draw_marks, marks_of_mutant, marks_of_original

SIDES = (marks_of_original, marks_of_mutant)


def colours(picture: Image.Image) -> set[tuple[int, ...]]:
    return {colour for _, colour in picture.getcolors(picture.width * picture.height) or []}


def rgb(kind: str) -> tuple[int, int, int]:
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
    left, right = (colours(draw_marks(image, marks, 400)) for marks in sides)
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
