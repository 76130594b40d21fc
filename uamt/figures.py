"""Figures: one image under one mutant as a picture with headings, legend, objects and caption."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from PIL import Image

from scoring.object_uncertainty import ObjectUncertainty, object_uncertainty
from uamt.drawing import (
    GAP_PX,
    STYLES,
    Mark,
    draw_marks,
    marks_of_mutant,
    marks_of_original,
)
from uamt.figure_table import table_of, written
from uamt.figure_words import (
    counts_text,
    headline,
    note_text,
    pass_text,
    tag_text,
    verdict_text,
)
from uamt.object_names import object_number
from uamt.presentation import count_of
from uamt.scene import Scene
from uamt.sheets import SOFT, Sheet

_LEAST_WIDTH = 900


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
    side, letters = round(640 * scale), round(13 * scale)
    halves = [
        draw_marks(scene.image, marks, side, letters)
        for marks in (
            _marks_of_original(scene, seen, t),
            [*_marks_of_mutant(scene, seen, t, measure), *_lost(scene, seen, t)],
        )
    ]
    counts = tracks.counts()[t]
    table = table_of(scene, seen, t, has_short_tags=any(half.is_shortened for half in halves))
    sheet.width = max(
        2 * halves[0].image.width + GAP_PX,
        round(_LEAST_WIDTH * scale),
        round(sum(sheet.column_widths(table.heads, table.rows))) if table.rows else 0,
    )
    _add_head(sheet, scene, pass_text(t, tracks.n_passes, why))
    n_original = int(counts[0] + counts[1])
    heads = (
        f"Original: {count_of(n_original, 'object')}",
        f"Mutant {scene.mutant}: {counts_text(counts.tolist())}",
    )
    sheet.row([half.image for half in halves], heads)
    sheet.legend(tag_text(measure))
    sheet.table(table.heads, table.rows)
    sheet.text(" ".join(table.notes), 12, colour=SOFT)
    caption = " ".join(
        [
            f"{scene.title}, mutant {scene.mutant}, pass {t}: {counts_text(counts.tolist())}.",
            verdict_text(scene),
            *scene.remarks,
        ]
    )
    return Figure(sheet.image(), caption, tracks.counts().tolist(), t)


def strip_figure(scene: Scene, *, scale: float = 1.0) -> Figure:
    """Return the original and all T passes of the mutant as a film strip.

    Matches and ghosts are the mutant's boxes, misses the original's. Only misses and ghosts have
    names at their boxes: what they are, and the number of the object.

    Args:
        scene: What to show.
        scale: Size of the figure; 1 for screens, 2 for print.
    """
    tracks = scene.tracks
    seen = object_uncertainty(tracks, scene.rules)
    counts = tracks.counts()
    side = round(300 * scale)
    first = [replace(mark, tag="", kind="match") for mark in marks_of_original(tracks, 0)]
    cells = [draw_marks(scene.image, first, side).image]
    heads = [f"original: {count_of(len(first), 'object')}"]
    for t in range(tracks.n_passes):
        cells.append(draw_marks(scene.image, _marks_of_cell(scene, seen, t), side).image)
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
    n = count_of(tracks.n_passes, "pass", "passes")
    _add_head(sheet, scene, f"All {n}; misses are drawn where the original has them")
    for start in range(0, len(cells), columns):
        some = slice(start, start + columns)
        sheet.row(cells[some], heads[some], of=columns)
    sheet.legend("at a box: number of the missed object or the ghost")
    caption = " ".join(
        [
            f"{scene.title}, mutant {scene.mutant}, {n}: {'; '.join(heads[1:])}.",
            verdict_text(scene),
            *scene.remarks,
        ]
    )
    return Figure(sheet.image(), caption, counts.tolist())


def _add_head(sheet: Sheet, scene: Scene, what: str) -> None:
    """Add the verdict, of what it is, which passes are shown, and what must be known of them."""
    sheet.text(headline(scene), 17, is_bold=True)
    sheet.text(f"{scene.title}; mutant {scene.mutant}", 14)
    sheet.text(what, 14)
    for remark in scene.remarks:
        sheet.text(remark, 14, is_bold=remark.startswith("CAUTION"))


def _marks_of_original(scene: Scene, seen: ObjectUncertainty, t: int) -> list[Mark]:
    marks = marks_of_original(scene.tracks, t, scene.label_names)
    return _numbered(marks, _numbers(seen, seen.of_original, scene.tracks.original.starts, t))


def _marks_of_mutant(
    scene: Scene, seen: ObjectUncertainty, t: int, measure: str | None
) -> list[Mark]:
    tracks = scene.tracks
    notes = [""] * len(tracks.mutant)
    if measure is not None:
        is_sum = measure == "ie" and scene.rules.ghost_entropy == "sum"
        notes = [
            note_text(
                measure, written(seen.measure(k, measure)), is_sum=is_sum and seen.is_ghost(k)
            )
            for k in seen.of_mutant.tolist()
        ]
    marks = marks_of_mutant(tracks, t, scene.label_names, notes)
    return _numbered(marks, _numbers(seen, seen.of_mutant, tracks.mutant.starts, t))


def _lost(scene: Scene, seen: ObjectUncertainty, t: int) -> list[Mark]:
    """Return what the mutant misses in a pass, where the original has it."""
    tracks = scene.tracks
    numbers = _numbers(seen, seen.of_original, tracks.original.starts, t)
    marks = zip(numbers, marks_of_original(tracks, t), strict=True)
    return [
        replace(mark, tag=f"{number} {STYLES['miss'].word}", shorter=(f"{number} …",))
        for number, mark in marks
        if mark.kind == "miss"
    ]


def _marks_of_cell(scene: Scene, seen: ObjectUncertainty, t: int) -> list[Mark]:
    tracks = scene.tracks
    numbers = _numbers(seen, seen.of_mutant, tracks.mutant.starts, t)
    found = list(zip(numbers, marks_of_mutant(tracks, t), strict=True))
    numbers = _numbers(seen, seen.of_original, tracks.original.starts, t)
    of_original = zip(numbers, marks_of_original(tracks, t), strict=True)
    lost = [(number, mark) for number, mark in of_original if mark.kind == "miss"]
    marks = []
    for number, mark in (*found, *lost):
        tag = "" if mark.kind == "match" else f"{STYLES[mark.kind].word} {number}"
        marks.append(replace(mark, tag=tag, shorter=(number,)))
    return marks


def _numbers(
    seen: ObjectUncertainty, of_row: npt.NDArray[np.int64], starts: npt.NDArray[np.int64], t: int
) -> list[str]:
    """Return what the object of each row of a pass is called."""
    rows = range(int(starts[t]), int(starts[t + 1]))
    return [object_number(seen, int(of_row[row])) for row in rows]


def _numbered(marks: Sequence[Mark], numbers: Sequence[str]) -> list[Mark]:
    """Return marks with the number of the object before all that is written, cut or not."""
    return [
        replace(
            mark,
            tag=f"{number} {mark.tag}",
            shorter=(*(f"{number} {text} …" for text in mark.shorter), f"{number} …"),
        )
        for number, mark in zip(numbers, marks, strict=True)
    ]
