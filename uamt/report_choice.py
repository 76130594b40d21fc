"""What a report shows: which image under which mutant, in which order, and how much of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from scoring.kill_counts import COUNT_COLUMN
from scoring.ratios import RATIO_COLUMNS
from scoring.suites import SuiteScores
from scoring.summary import VERDICT_KIND
from scoring.tags import tag_order
from uamt.report_pictures import Frame
from uamt.report_tables import ReportTables

_PAGE_CHARACTERS = 8_900_000
"""A page stays below 10 MB; this leaves room for estimates that are too low."""
_LEAST_CHARACTERS = 1_000_000
_PER_CASE, _PER_FRAME, _PER_BOX, _PER_OBJECT = 1500, 640, 95, 1190
"""About what a case, a pass of it, a drawn detection and an object take on the page."""
_IMAGES_PER_MUTANT = 4


@dataclass(frozen=True, slots=True)
class Room:
    """How many characters of the page pictures may take.

    Args:
        pixels: Those of images that are shown under a mutant.
        shapes: What passes show, and objects with their uncertainty.
        thumbnails: Pixels of all other images.
    """

    pixels: int
    shapes: int
    thumbnails: int


def room_for(tables: ReportTables) -> Room:
    """Return the room that is left beside grids, rankings and charts."""
    n_models = len(tables.models)
    blocks = {
        mutant[1].partition("_")[2]
        for model in tables.models
        for kills in model.kills
        for mutant in kills.scores.mutants
    }
    taken = 150_000 + len(blocks) * len(RATIO_COLUMNS) * (6_000 + 1_300 * n_models)
    for model in tables.models:
        for kills in model.kills:
            n_images, n_mutants = kills.n_passes.shape
            taken += n_mutants * (1_700 + 4 * n_images) + 300 * min(n_images, 220)
            taken += 12 * n_images
    left = max(_LEAST_CHARACTERS, _PAGE_CHARACTERS - taken)
    return Room(int(0.42 * left), int(0.42 * left), int(0.16 * left))


def shapes_of(shown: Sequence[Frame], n_objects: int) -> int:
    """Return about how many characters a case takes, its pixels apart."""
    n_boxes = sum(len(frame.mutant) for frame in shown)
    return _PER_CASE + _PER_FRAME * len(shown) + _PER_BOX * n_boxes + _PER_OBJECT * n_objects


def in_turns(tables: ReportTables) -> Iterator[tuple[int, int, int, int]]:
    """Yield model, suite, image and mutant of what is worth a picture, a suite at a time."""
    queues = [
        (m, s, _ordered_pairs(kills.scores, tables))
        for m, model in enumerate(tables.models)
        for s, kills in enumerate(model.kills)
    ]
    longest = max(len(pairs) for _, _, pairs in queues)
    for turn in range(longest):
        for m, s, pairs in queues:
            if turn < len(pairs):
                yield (m, s, *pairs[turn])


def _ordered_pairs(scores: SuiteScores, tables: ReportTables) -> list[tuple[int, int]]:
    """Return pairs of image and mutant: the mildest kill, the survivor of the largest rate, the
    best image of every other mutant, and then further images of each.
    """
    killed = scores.killed(VERDICT_KIND, tables.rule, tables.rules)
    ranked = _ranked_images(scores, killed, tables)
    order = sorted(range(len(scores.mutants)), key=lambda m: tag_order(scores.mutants[m][1]))
    dead = [m for m in order if killed[:, m].any()]
    alive = [m for m in order if not killed[:, m].any()]
    mutants = [*dead[:1], *alive[-1:], *dead[1:], *alive[:-1]]
    return [
        (ranked[m][place], m)
        for place in range(_IMAGES_PER_MUTANT)
        for m in mutants
        if place < len(ranked[m])
    ]


def _ranked_images(
    scores: SuiteScores, killed: npt.NDArray[np.bool_], tables: ReportTables
) -> list[list[int]]:
    """Return the images with a row, per mutant: first those that kill it by a miss, then others
    that kill it; among these by changed passes and power.

    A ghost may be an object that the original overlooks; a miss shows better what a mutant loses.
    """
    counts = np.nan_to_num(scores.column(COUNT_COLUMN), nan=-1.0)
    loss = np.nan_to_num(scores.column("[match] iou_mean"))
    power = killed.sum(axis=1)
    by_miss = killed & scores.killed("miss", tables.rule, tables.rules)
    there = scores.has_row
    return [
        [
            int(i)
            for i in np.lexsort((-loss[:, m], -power, -counts[:, m], ~by_miss[:, m], ~killed[:, m]))
            if there[i, m]
        ]
        for m in range(len(scores.mutants))
    ]
