"""The table of a figure: every object that a pass shows, with its scores and its uncertainty."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from scoring.object_uncertainty import ObjectUncertainty
from scoring.objects import MEASURES
from scoring.passes import Passes
from uamt.drawing import name_of
from uamt.lettering import plain
from uamt.object_names import (
    COUNTS_TWICE,
    MEASURE_NAMES,
    counts_twice,
    measure_units,
    object_number,
)
from uamt.report_numbers import FORMATS, NOTHING
from uamt.scene import Scene

_MOST_ROWS = 14


@dataclass(frozen=True, slots=True)
class ObjectsTable:
    """The objects of a pass, as they are written.

    Args:
        heads: Of the columns; some have a second line.
        rows: One per object.
        notes: Sentences below.
    """

    heads: list[str]
    rows: list[list[str]]
    notes: list[str]


def table_of(
    scene: Scene, seen: ObjectUncertainty, t: int, *, has_short_tags: bool
) -> ObjectsTable:
    """Return the objects that a pass shows, the original's first.

    Args:
        scene: What is shown.
        seen: The objects of all passes.
        t: Number of the pass.
        has_short_tags: Whether the picture has tags that say less than the table.
    """
    original = _rows_by_object(scene.tracks.original, seen.of_original.tolist(), t)
    mutant = _rows_by_object(scene.tracks.mutant, seen.of_mutant.tolist(), t)
    shown = sorted({*original, *mutant})
    units = measure_units(scene.rules)
    heads = ["object", "class", "score\noriginal", "score\nmutant", "found in", "missed in"]
    for key, name in MEASURE_NAMES.items():
        if key == "ie":
            heads += [f"{name}, {units[key]}\n{side}" for side in ("original", "mutant")]
        else:
            heads.append(f"{name}\n{units[key]}")
    sides = (scene.tracks.original, original), (scene.tracks.mutant, mutant)
    rows = []
    for k in shown[:_MOST_ROWS]:
        is_ghost = seen.is_ghost(k)
        found = [(side.detections, of_object.get(k, [])) for side, of_object in sides]
        classes = [name_of(each.labels[row], scene.label_names) for each, on in found for row in on]
        scores = [[f"{each.scores[row]:.2f}" for row in on] for each, on in found]
        rows.append(
            [
                f"{object_number(seen, k)}{' ghost' if is_ghost else ''}",
                _listed(classes, lambda name: plain(name, 24)),
                *(_listed(each) for each in scores),
                f"{int(seen.n_found[k])} of {int(seen.n_passes[k])}",
                NOTHING if is_ghost else f"{int(seen.n_missed[k])} of {int(seen.n_passes[k])}",
                *_measures(seen, k),
            ]
        )
    is_cut = len(shown) > _MOST_ROWS
    notes = [f"The first {_MOST_ROWS} of {len(shown)} objects."] if is_cut else []
    if has_short_tags:
        which = "those of these objects stand" if is_cut else "it stands"
        notes.append(
            f"A name at a box that ends in … is shortened for room; {which} whole in the table."
        )
    if rows:
        notes.append(
            "Class and score are those of this pass. Uncertainty, the last six columns, is that "
            "of the mutant's detections of each object over the passes that find it; entropy is "
            "given of the original too, whose other measures are 0 if its passes are all alike."
        )
        hulls = "areas spanned by" if scene.rules.surface == "area" else "perimeters around"
        notes.append(
            "Box variance: variances of the four coordinates, added up. Box spread: "
            f"{hulls} the places of the four corners, added up."
        )
    if scene.rules.ghost_entropy == "sum" and any(seen.is_ghost(k) for k in shown):
        notes.append("The entropy of a ghost is summed over its detections.")
    counts = zip(seen.n_found, seen.n_missed, seen.n_passes, strict=True)
    is_twice = [counts_twice(*(int(number) for number in three)) for three in counts]
    if any(is_twice[k] for k in shown):
        notes.append(COUNTS_TWICE)
    return ObjectsTable(heads, rows, notes)


def _measures(seen: ObjectUncertainty, k: int) -> list[str]:
    """Return the mutant's measures of an object, the original's entropy before its own."""
    texts = {name: written(seen.measure(k, name)) for name in MEASURES}
    before = {"ie": written(seen.original_measure(k, "ie"))}
    return [text for name in MEASURES for text in (before.get(name), texts[name]) if text]


def written(value: float) -> str:
    """Return a number as it stands in pictures."""
    return NOTHING if math.isnan(value) else FORMATS["two"](value)


def _rows_by_object(passes: Passes, objects: Sequence[int], t: int) -> dict[int, list[int]]:
    """Return the rows of a pass by their object, which deepluq may give several of."""
    rows: dict[int, list[int]] = {}
    for row in range(int(passes.starts[t]), int(passes.starts[t + 1])):
        rows.setdefault(objects[row], []).append(row)
    return rows


def _listed(texts: Sequence[str], shown: Callable[[str], str] = str) -> str:
    return ", ".join(shown(text) for text in dict.fromkeys(texts)) or NOTHING
