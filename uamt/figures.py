"""Figures: one image under one mutant as a picture with headings, legend, objects and caption."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from PIL import Image, ImageDraw

from scoring.levels import changed_passes, image_levels
from scoring.object_uncertainty import ObjectUncertainty, object_uncertainty
from scoring.objects import MEASURES
from scoring.rules import Rules
from scoring.tracks import Tracks
from uamt.drawing import (
    GAP_PX,
    STYLES,
    Kind,
    Mark,
    draw_box,
    draw_cell,
    draw_marks,
    marks_of_mutant,
    marks_of_original,
    name_of,
)
from uamt.lettering import font_of, plain, wrapped
from uamt.presentation import count_of

INK, SOFT, LINE = "#1c2430", "#4a5563", "#c4ccd6"

MEASURE_HEADS = ("VR", "IE bits", "MI bits", "TV px²", "PS px")
"""What `MEASURES` are called over a column, in the units of rule set `deepluq`."""

_MEANINGS: dict[Kind, str] = {
    "match": "both find it",
    "miss": "the mutant loses it",
    "ghost": "only the mutant has it",
}
_MOST_ROWS = 14
_LEAST_WIDTH = 780


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
    sheet = _Sheet(scale)
    numbers = _numbers(tracks, seen, t)
    side = round(640 * scale)
    halves = [
        draw_marks(
            scene.image,
            _numbered(scene, seen, numbers, t, which, measure),
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
    sheet.table(*_table(scene, seen, numbers))
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
    sheet = _Sheet(scale)
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


def _numbers(tracks: Tracks, seen: ObjectUncertainty, t: int) -> dict[int, int]:
    """Return the number from 1 up of each object that a pass shows, the original's first."""
    of_original = seen.of_original[tracks.original.starts[t] : tracks.original.starts[t + 1]]
    of_mutant = seen.of_mutant[tracks.mutant.starts[t] : tracks.mutant.starts[t + 1]]
    objects = dict.fromkeys([*of_original.tolist(), *of_mutant.tolist()])
    return {number: place for place, number in enumerate(objects, start=1)}


def _numbered(
    scene: Scene,
    seen: ObjectUncertainty,
    numbers: dict[int, int],
    t: int,
    side: str,
    measure: str | None,
) -> list[Mark]:
    tracks = scene.tracks
    is_original = side == "original"
    passes, objects = (
        (tracks.original, seen.of_original) if is_original else (tracks.mutant, seen.of_mutant)
    )
    notes = [""] * len(passes)
    if measure is not None and not is_original:
        notes = [f"{measure.upper()} {_short(seen.measure(k, measure))}" for k in objects.tolist()]
    marks = (marks_of_original if is_original else marks_of_mutant)(
        tracks, t, scene.label_names, notes
    )
    start = int(passes.starts[t])
    return [
        replace(mark, tag=f"{numbers[int(objects[start + i])]} {mark.tag}")
        for i, mark in enumerate(marks)
    ]


def _table(
    scene: Scene, seen: ObjectUncertainty, numbers: dict[int, int]
) -> tuple[list[str], list[list[str]], str]:
    """Return heads, rows and footnote of the objects that a pass shows."""
    heads = ["#", "object of", "class", "found in", "missed in", *MEASURE_HEADS]
    if scene.rules.box_scale == "object_area":
        heads[-2:] = ["TV / area", "PS / area"]
    rows = []
    labels = _labels(scene, seen)
    for k, number in list(numbers.items())[:_MOST_ROWS]:
        is_ghost = seen.is_ghost(k)
        rows.append(
            [
                str(number),
                "the mutant (ghost)" if is_ghost else "the original",
                labels[k],
                f"{int(seen.n_found[k])} of {int(seen.n_passes[k])}",
                "-" if is_ghost else f"{int(seen.n_missed[k])} of {int(seen.n_passes[k])}",
                *(_short(seen.measure(k, name)) for name in MEASURES),
            ]
        )
    notes = []
    if len(numbers) > _MOST_ROWS:
        notes.append(f"and {len(numbers) - _MOST_ROWS} more objects.")
    if rows:
        notes.append(
            "VR variation ratio, IE entropy, MI mutual information, TV total variance, PS "
            "prediction surface, of the mutant's detections of the object over all passes."
        )
    if scene.rules.ghost_entropy == "sum" and any(seen.is_ghost(k) for k in numbers):
        notes.append("The IE of a ghost is summed over its detections.")
    return heads, rows, " ".join(notes)


def _labels(scene: Scene, seen: ObjectUncertainty) -> dict[int, str]:
    """Return the class of the first detection of each object."""
    names: dict[int, str] = {}
    sides = ((scene.tracks.original, seen.of_original), (scene.tracks.mutant, seen.of_mutant))
    for passes, objects in sides:
        for k, label in zip(objects.tolist(), passes.detections.labels, strict=True):
            names.setdefault(k, plain(name_of(label, scene.label_names), 24))
    return names


def _short(value: float) -> str:
    """Return a number in as few letters as tell it."""
    if math.isnan(value):
        return "-"
    if abs(value) < 1e-9:
        return "0"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.2f}" if abs(value) >= 0.01 else "<.01"


class _Sheet:
    """Blocks one below the other on white paper.

    Args:
        scale: Size of letters and lines.
    """

    def __init__(self, scale: float) -> None:
        self.scale = scale
        self.width = 0
        self._blocks: list[Image.Image] = []

    def _px(self, length: float) -> int:
        return max(1, round(length * self.scale))

    def _block(self, height: int) -> tuple[Image.Image, ImageDraw.ImageDraw]:
        block = Image.new("RGB", (self.width, height), "white")
        self._blocks.append(block)
        return block, ImageDraw.Draw(block)

    def text(self, text: str, size: int, *, is_bold: bool = False, colour: str = INK) -> None:
        """Add a text, wrapped."""
        font = font_of(self._px(size), is_bold=is_bold)
        lines = wrapped(text, font, self.width)
        step = self._px(size * 1.35)
        _, canvas = self._block(step * len(lines) + self._px(2))
        for number, line in enumerate(lines):
            canvas.text((0, number * step), line, fill=colour, font=font)

    def row(self, images: Sequence[Image.Image], heads: Sequence[str], of: int = 0) -> None:
        """Add pictures beside each other, each below its heading, as if there were `of` of them."""
        n = max(of, len(images))
        wide, high = images[0].size
        pitch = max(wide + GAP_PX, (self.width + GAP_PX) // n)
        size = 15 if n <= 2 else 13
        font = font_of(self._px(size), is_bold=n <= 2)
        lines = [wrapped(head, font, pitch - GAP_PX) for head in heads]
        step = self._px(size * 1.35)
        top = self._px(8) + step * max(len(head) for head in lines) + self._px(3)
        block, canvas = self._block(top + high)
        for number, (image, head) in enumerate(zip(images, lines, strict=True)):
            x = number * pitch
            for row, line in enumerate(head):
                canvas.text((x, self._px(8) + row * step), line, fill=INK, font=font)
            block.paste(image, (x, top))

    def legend(self) -> None:
        """Add what colours and lines mean."""
        font = font_of(self._px(13))
        high = self._px(20)
        _, canvas = self._block(high + self._px(16))
        x, y = 0.0, self._px(10)
        for kind, style in STYLES.items():
            swatch = (x + 3, y + 3, x + self._px(34), y + high - 4)
            draw_box(canvas, swatch, style, 0.8 * self.scale)
            x += self._px(42)
            text = f"{style.word}: {_MEANINGS[kind]}"
            canvas.text((x, y + self._px(1)), text, fill=INK, font=font)
            x += font.getlength(text) + self._px(28)

    def table(self, heads: Sequence[str], rows: Sequence[Sequence[str]], note: str) -> None:
        """Add a table, and a footnote; nothing without rows."""
        if not rows:
            return
        size = 12
        fonts = font_of(self._px(size), is_bold=True), font_of(self._px(size))
        gap, step = self._px(14), self._px(size * 1.5)
        columns = list(zip(heads, *rows, strict=True))
        widths = [
            max(fonts[0].getlength(head), *(fonts[1].getlength(cell) for cell in cells)) + gap
            for head, *cells in columns
        ]
        _, canvas = self._block(step * (len(rows) + 1) + self._px(6))
        for number, row in enumerate([heads, *rows]):
            x = 0.0
            for cell, wide in zip(row, widths, strict=True):
                canvas.text((x, number * step), cell, fill=INK, font=fonts[number > 0])
                x += wide
        y = step - self._px(2)
        canvas.line((0, y, min(self.width, sum(widths)), y), fill=LINE, width=self._px(1))
        self.text(note, size, colour=SOFT)

    def image(self) -> Image.Image:
        """Return the sheet with a margin."""
        margin = self._px(16)
        height = sum(block.height for block in self._blocks)
        sheet = Image.new("RGB", (self.width + 2 * margin, height + 2 * margin), "white")
        y = margin
        for block in self._blocks:
            sheet.paste(block, (margin, y))
            y += block.height
        return sheet
