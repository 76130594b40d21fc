"""Identity: which detections of several passes are one object."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse.csgraph import connected_components

from scoring.boxes import pairwise_iou
from scoring.pairing import Blocks, pair_allowed
from scoring.passes import Passes
from scoring.rules import DEEPLUQ, Rules

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class OriginalObjects:
    """The objects that the original's passes show.

    Args:
        ids: (N,) number of the object that each detection is.
        first: (n,) row of the first detection of each object.
        n_passes: (n,) what its matches and misses are shares of: the passes that contain the
            object; under `deepluq` all T passes.
    """

    ids: Rows
    first: Rows
    n_passes: Rows

    def __len__(self) -> int:
        return len(self.first)


def original_objects(original: Passes, rules: Rules = DEEPLUQ) -> OriginalObjects:
    """Return the objects of the original.

    Under `deepluq` an object is its box rounded to 4 decimals, whatever its label. Under `strict`
    the detections of each pass are paired with the first detections of the objects known so far;
    one that finds no partner is a new object.

    Source: scoring.md, section 2, "Objects", and section 3, row 2.

    Example:
        >>> from scoring.detections import Detections
        >>> from scoring.rules import STRICT
        >>> each = [Detections([[0, 0, 9, x]], [1], [0.9], [[0.0, 1.0]]) for x in (9, 9.5)]
        >>> [len(original_objects(Passes.from_list(each), rules)) for rules in (DEEPLUQ, STRICT)]
        [2, 1]
    """
    if not len(original):
        none = np.empty(0, np.int64)
        return OriginalObjects(none, none, none)
    if rules.original_objects == "rounded_box":
        rounded = np.round(original.detections.boxes, 4)
        _, first, ids = np.unique(rounded, axis=0, return_index=True, return_inverse=True)
        every = np.full(len(first), original.n_passes)
        return OriginalObjects(ids.reshape(-1).astype(np.int64), first, every)
    found = original.detections
    block = np.zeros(len(found), np.int64)
    tracked = tracked_over_passes(
        found.boxes, found.labels, block, original.pass_of_row, rules.iou_threshold
    )
    first, ids = np.unique(tracked, return_inverse=True)
    return OriginalObjects(ids.astype(np.int64), first, np.bincount(ids))


def tracked_over_passes(
    boxes: Floats,
    labels: npt.NDArray[Any],
    block: Rows,
    pass_of_row: Rows,
    iou_threshold: float,
) -> Rows:
    """Return which object each detection is, named by the row of the object's first detection.

    Pass by pass, detections pair with the first detections of the objects known so far, of one
    label and with enough overlap; one that finds no partner is a new object. An object has at
    most one detection in a pass.

    Args:
        boxes: (N, 4) x1, y1, x2, y2 in pixels.
        labels: (N,)
        block: (N,) ascending; detections of two blocks, as of two mutants, never meet.
        pass_of_row: (N,) ascending within each block.
        iou_threshold: Least overlap, exclusive.

    Returns:
        (N,) rows.

    Source: scoring.md, section 3, rows 2 and 3.
    """
    ids = np.arange(len(boxes))
    n_blocks = int(block[-1]) + 1 if len(block) else 0

    def side(rows: Rows) -> Blocks:
        return Blocks(boxes[rows], labels[rows], np.bincount(block[rows], minlength=n_blocks))

    known = np.empty(0, np.int64)
    for t in np.unique(pass_of_row):
        now = np.flatnonzero(pass_of_row == t)
        objects, seen, _ = pair_allowed(side(known), side(now), iou_threshold)
        ids[now[seen]] = known[objects]
        is_new = np.ones(len(now), dtype=bool)
        is_new[seen] = False
        known = np.concatenate([known, now[is_new]])
        # By block, and within it in the order of creation.
        known = known[np.argsort(block[known], kind="stable")]
    return ids


def clusters(boxes: Floats, iou_threshold: float = 0.5) -> Rows:
    """Return (N,) the component of each box in the graph whose edges are overlaps.

    Args:
        boxes: (N, 4) x1, y1, x2, y2 in pixels.
        iou_threshold: An edge joins two boxes iff 1 - IoU <= 1 - threshold.

    Example:
        >>> chain = np.array([[0.0, 0, 4, 1], [1, 0, 5, 1], [2, 0, 6, 1], [9, 9, 10, 10]])
        >>> clusters(chain).tolist()
        [0, 0, 0, 1]
    """
    if not len(boxes):
        return np.empty(0, np.int64)
    edges = 1 - pairwise_iou(boxes, boxes) <= 1 - iou_threshold
    return np.asarray(connected_components(edges)[1], dtype=np.int64)
