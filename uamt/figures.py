"""Figures: one image under one mutant as a picture with headings, legend, objects and caption."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from PIL import Image

from scoring.levels import changed_passes, image_levels
from scoring.object_uncertainty import ObjectUncertainty, object_uncertainty
from scoring.objects import MEASURES
from scoring.rules import Rules
from scoring.tracks import Tracks
from uamt.drawing import (
    GAP_PX,
    Mark,
    draw_cell,
    draw_marks,
    marks_of_mutant,
    marks_of_original,
    name_of,
)
from uamt.lettering import plain
from uamt.object_names import MEASURE_NAMES, measure_units, object_number
from uamt.presentation import count_of
from uamt.report_numbers import FORMATS, NOTHING
from uamt.sheets import SOFT, Sheet

_MOST_ROWS = 14
_LEAST_WIDTH = 900


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """What a figure is of.

    Args:
        image: The picture, bright enough to look at.
        tracks: What became of its objects.
        rules: Which definition each number follows.
        label_names: Name of each label id.
        title: Of which image, suite and model.
        mutant: Operator and tag.
        full_passes: T of the experiment, of which `tracks` has fewer where passes were curtailed.
        remarks: Sentences behind the caption.
    """

    image: Image.Image
    tracks: Tracks
    rules: Rules
    label_names: Sequence[str]
    title: str
    mutant: str
    full_passes: int
    remarks: Sequence[str] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Figure:
    """A picture and the same in words.

    Args:
        image: With headings, legend, objects and caption.
        caption: What is to be seen, for who reads or cannot see it.
        counts: Matches, misses and ghosts of each pass.
        number: Of the pass; None for all.
    """

    image: Image.Image
    caption: str
    counts: list[list[int]]
    number: int | None = None


def counts_text(counts: Sequence[int]) -> str:
    """Return matches, misses and ghosts in words.

    Example:
        >>> counts_text([3, 1, 0])
        '3 matches, 1 miss, 0 ghosts'
    """
    matches, misses, ghosts = (int(count) for count in counts)
    return (
        f"{count_of(matches, 'match', 'matches')}, {count_of(misses, 'miss', 'misses')}, "
        f"{count_of(ghosts, 'ghost')}"
    )


def verdict_text(scene: Scene) -> str:
    """Return how many passes differ, and what the kill test says of that."""
    counts = scene.tracks.counts()
    changed, n = changed_passes(counts)[2], scene.tracks.n_passes
    text = f"{changed} of {count_of(n, 'pass', 'passes')} have a miss or a ghost"
    if n < scene.full_passes:
        return f"{text}; the other {scene.full_passes - n} were not run, for passes were curtailed."
    p_value = float(image_levels(counts[None], scene.rules)[0, 8])
    is_kill = p_value < scene.rules.alpha
    verb = "kills" if is_kill else "does not kill"
    if not changed:
        return f"{text}: the image does not kill the mutant."
    if is_kill and changed == 1:
        return (
            f"{text}, and of so few passes one is significant already (p = {p_value:.2g}): the "
            f"image kills the mutant."
        )
    return f"{text}: the image {verb} the mutant significantly (p = {p_value:.2g})."


def pass_figure(
    scene: Scene, t: int, *, measure: str | None = "ie", scale: float = 1.0, why: str = ""
) -> Figure:
    """Return original and mutant side by side in one pass, with every object's uncertainty.

    Args:
        scene: What to show.
        t: Number of the pass.
        measure: Which of `MEASURES` stands beside each box; None for none.
        scale: Size of the figure; 1 for screens, 2 for print.
        why: Why this pass, behind its number.
    """
    tracks = scene.tracks
    seen = object_uncertainty(tracks, scene.rules)
    sheet = Sheet(scale)
    shown = _shown_objects(tracks, seen, t)
    side = round(640 * scale)
    halves = [
        draw_marks(
            scene.image,
            _numbered(scene, seen, t, which, measure),
            side,
            round(13 * scale),
        )
        for which in ("original", "mutant")
    ]
    counts = tracks.counts()[t]
    sheet.width = max(2 * halves[0].width + GAP_PX, round(_LEAST_WIDTH * scale))
    sheet.text(scene.title, 17, is_bold=True)
    sheet.text(f"Pass {t} of {tracks.n_passes} (0 to {tracks.n_passes - 1}){why}", 14)
    n_original = int(counts[0] + counts[1])
    heads = (
        f"Original: {count_of(n_original, 'object')}",
        f"Mutant {scene.mutant}: {counts_text(counts.tolist())}",
    )
    sheet.row(halves, heads)
    sheet.legend()
    sheet.table(*_table(scene, seen, shown))
    caption = " ".join(
        [
            f"{scene.title}, mutant {scene.mutant}, pass {t}: {counts_text(counts.tolist())}.",
            verdict_text(scene),
            *scene.remarks,
        ]
    )
    sheet.text(" ".join([verdict_text(scene), *scene.remarks]), 13, colour=SOFT)
    return Figure(sheet.image(), caption, tracks.counts().tolist(), t)


def strip_figure(scene: Scene, *, scale: float = 1.0) -> Figure:
    """Return the original and all T passes of the mutant as a film strip.

    Args:
        scene: What to show.
        scale: Size of the figure; 1 for screens, 2 for print.
    """
    tracks = scene.tracks
    counts = tracks.counts()
    side = round(300 * scale)
    first = [replace(mark, tag="", kind="match") for mark in marks_of_original(tracks, 0)]
    cells = [draw_marks(scene.image, first, side)]
    heads = [f"original: {count_of(len(first), 'object')}"]
    for t in range(tracks.n_passes):
        cells.append(draw_cell(scene.image, tracks, t, scene.label_names, side))
        _, misses, ghosts = counts[t].tolist()
        changes = [
            count_of(number, *words)
            for number, words in ((misses, ("miss", "misses")), (ghosts, ("ghost",)))
            if number
        ]
        heads.append(f"pass {t}: {', '.join(changes) or 'all match'}")
    columns = len(cells) if len(cells) <= 5 else 4
    sheet = Sheet(scale)
    sheet.width = max(
        columns * cells[0].width + (columns - 1) * GAP_PX, round(_LEAST_WIDTH * scale)
    )
    sheet.text(scene.title, 17, is_bold=True)
    n = count_of(tracks.n_passes, "pass", "passes")
    sheet.text(f"Mutant {scene.mutant}: all {n}, misses drawn where the original has them", 14)
    for start in range(0, len(cells), columns):
        some = slice(start, start + columns)
        sheet.row(cells[some], heads[some], of=columns)
    sheet.legend()
    sheet.text(" ".join([verdict_text(scene), *scene.remarks]), 13, colour=SOFT)
    caption = " ".join(
        [
            f"{scene.title}, mutant {scene.mutant}, {n}: {'; '.join(heads[1:])}.",
            verdict_text(scene),
            *scene.remarks,
        ]
    )
    return Figure(sheet.image(), caption, counts.tolist())


def _shown_objects(tracks: Tracks, seen: ObjectUncertainty, t: int) -> list[int]:
    """Return the objects that a pass shows, the original's first."""
    of_original = seen.of_original[tracks.original.starts[t] : tracks.original.starts[t + 1]]
    of_mutant = seen.of_mutant[tracks.mutant.starts[t] : tracks.mutant.starts[t + 1]]
    return sorted({*of_original.tolist(), *of_mutant.tolist()})


def _numbered(
    scene: Scene, seen: ObjectUncertainty, t: int, side: str, measure: str | None
) -> list[Mark]:
    tracks = scene.tracks
    is_original = side == "original"
    passes, objects = (
        (tracks.original, seen.of_original) if is_original else (tracks.mutant, seen.of_mutant)
    )
    notes = [""] * len(passes)
    if measure is not None and not is_original:
        name = MEASURE_NAMES[measure]
        notes = [f"{name} {_written(seen.measure(k, measure))}" for k in objects.tolist()]
    marks = (marks_of_original if is_original else marks_of_mutant)(
        tracks, t, scene.label_names, notes
    )
    start = int(passes.starts[t])
    numbers = [object_number(seen, int(objects[start + i])) for i in range(len(marks))]
    return [
        replace(
            mark,
            tag=f"{number} {mark.tag}",
            shorter=(*(f"{number} {text}" for text in mark.shorter), number),
        )
        for number, mark in zip(numbers, marks, strict=True)
    ]


def _table(
    scene: Scene, seen: ObjectUncertainty, shown: list[int]
) -> tuple[list[str], list[list[str]], str]:
    """Return heads, rows and footnote of the objects that a pass shows."""
    units = measure_units(scene.rules)
    heads = ["object", "class", "found in", "missed in"]
    heads += [f"{name}\n{units[key]}" for key, name in MEASURE_NAMES.items()]
    rows = []
    labels = _labels(scene, seen)
    for k in shown[:_MOST_ROWS]:
        is_ghost = seen.is_ghost(k)
        rows.append(
            [
                f"{object_number(seen, k)}{' ghost' if is_ghost else ''}",
                labels[k],
                f"{int(seen.n_found[k])} of {int(seen.n_passes[k])}",
                NOTHING if is_ghost else f"{int(seen.n_missed[k])} of {int(seen.n_passes[k])}",
                *(_written(seen.measure(k, name)) for name in MEASURES),
            ]
        )
    notes = []
    if len(shown) > _MOST_ROWS:
        notes.append(f"and {len(shown) - _MOST_ROWS} more objects.")
    if rows:
        notes.append(
            "Uncertainty, the last five columns: of the mutant's detections of each object over "
            "the passes that find it."
        )
    if scene.rules.ghost_entropy == "sum" and any(seen.is_ghost(k) for k in shown):
        notes.append("The entropy of a ghost is summed over its detections.")
    return heads, rows, " ".join(notes)


def _labels(scene: Scene, seen: ObjectUncertainty) -> dict[int, str]:
    """Return the class of the first detection of each object."""
    names: dict[int, str] = {}
    sides = ((scene.tracks.original, seen.of_original), (scene.tracks.mutant, seen.of_mutant))
    for passes, objects in sides:
        for k, label in zip(objects.tolist(), passes.detections.labels, strict=True):
            names.setdefault(k, plain(name_of(label, scene.label_names), 24))
    return names


def _written(value: float) -> str:
    return NOTHING if math.isnan(value) else FORMATS["two"](value)
