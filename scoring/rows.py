"""Rows: the 37 numbers of one image under one mutant, and their names."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from scoring.errors import DataError
from scoring.finite import in_finite_passes
from scoring.identity import OriginalObjects, original_objects
from scoring.levels import image_levels, object_levels, pass_counts
from scoring.objects import ObjectTable, ghost_objects, match_objects, miss_objects
from scoring.passes import Passes
from scoring.rules import DEEPLUQ, Rules
from scoring.tracks import Tracks, track_all

Floats = npt.NDArray[np.float64]

KINDS = ("miss", "ghost", "miss_ghost")
_DIFFS = ("vr_diff", "ie_diff", "mi_diff", "var_diff", "ps_diff")

IMAGE_COLUMNS = tuple(
    f"[img_level] iskill_{kind}_{number}"
    for kind in KINDS
    for number in ("p_value", "cohens_h", "power", "count")
)
OBJECT_COLUMNS = tuple(
    f"[obj_level] kill_rate_{kind}_{number}" for kind in KINDS for number in ("mean", "std")
)
MATCH_COLUMNS = tuple(f"[match] {name}" for name in ("iou_mean", "match_rate", *_DIFFS))
MISS_COLUMNS = tuple(f"[miss] {name}" for name in ("miss_rate", *_DIFFS))
GHOST_COLUMNS = tuple(f"[ghost] {name}" for name in ("ghost_rate", *_DIFFS))
COLUMNS = (*IMAGE_COLUMNS, *OBJECT_COLUMNS, *MATCH_COLUMNS, *MISS_COLUMNS, *GHOST_COLUMNS)
"""The 37 columns of a mutant's table behind `test_suite`, in file order."""


def mean_per_mutant(
    values: Floats, mutant: npt.NDArray[np.int64], n_mutants: int, empty: float = 0.0
) -> Floats:
    """Return the mean over each mutant's objects, column by column.

    Args:
        values: (K, D) one row per object.
        mutant: (K,) number of the mutant that each object belongs to.
        n_mutants: M.
        empty: What a mutant without an object gets.

    Returns:
        (M, D) NaN values are skipped, NaN if all are.

    Example:
        >>> values = np.array([[1.0], [3.0], [np.nan]])
        >>> mean_per_mutant(values, np.array([0, 0, 2]), 3).tolist()
        [[2.0], [0.0], [nan]]
    """
    means = np.zeros((n_mutants, values.shape[1]))
    present = np.bincount(mutant, minlength=n_mutants) > 0
    for column, column_values in enumerate(values.T):
        known = ~np.isnan(column_values)
        total = np.bincount(mutant[known], column_values[known], n_mutants)
        number = np.bincount(mutant[known], minlength=n_mutants)
        mean = np.where(number > 0, total / np.maximum(number, 1), np.nan)
        means[:, column] = np.where(present, mean, empty)
    return means


def _mean_over_originals(
    table: ObjectTable, values: Floats, n_mutants: int, n_objects: int, rules: Rules
) -> Floats:
    """Return the mean of rates and their like over the image's original objects.

    Under `deepluq` only over those in the table. Under `strict` an object that is not in it counts
    as 0, and one whose value is NaN leaves no mean.
    """
    empty = 0.0 if n_objects or rules.nothing == "zero" else np.nan
    if rules.rate_mean == "occurring":
        return mean_per_mutant(values, table.mutant, n_mutants, empty)
    if not n_objects:
        return np.full((n_mutants, values.shape[1]), empty)
    totals = [np.bincount(table.mutant, column, n_mutants) for column in values.T]
    return np.stack(totals, axis=1) / n_objects


def _match_group(tracks: Sequence[Tracks], objects: OriginalObjects, rules: Rules) -> Floats:
    table, n_mutants = match_objects(tracks, rules, objects), len(tracks)
    empty = np.nan if rules.nothing == "nan" else 0.0
    if rules.overlap_loss == "per_pair":
        overlaps = [track.matched.iou for track in tracks]
        pair_of = np.repeat(np.arange(n_mutants), [len(overlap) for overlap in overlaps])
        loss = mean_per_mutant(1 - np.concatenate(overlaps)[:, None], pair_of, n_mutants, empty)
    else:
        loss = mean_per_mutant(1 - table.iou[:, None], table.mutant, n_mutants, empty)
    rate = _mean_over_originals(table, table.rate[:, None], n_mutants, len(objects), rules)
    return np.hstack(
        [loss, rate, mean_per_mutant(table.difference, table.mutant, n_mutants, empty)]
    )


def _miss_group(tracks: Sequence[Tracks], objects: OriginalObjects, rules: Rules) -> Floats:
    table = miss_objects(tracks, rules, objects)
    values = np.column_stack([table.rate, table.difference])
    return _mean_over_originals(table, values, len(tracks), len(objects), rules)


def _ghost_group(tracks: Sequence[Tracks], rules: Rules) -> Floats:
    table = ghost_objects(tracks, rules=rules)
    values = np.column_stack([table.rate, table.difference])
    return mean_per_mutant(values, table.mutant, len(tracks))


def score_tracks(tracks: Sequence[Tracks], rules: Rules = DEEPLUQ) -> Floats:
    """Return the row of every mutant of one image.

    Args:
        tracks: One per mutant, all of the same original.
        rules: Which definition each number follows.

    Returns:
        (M, 37) in the order of `COLUMNS`.

    Raises:
        DataError: The class vectors of two mutants differ in length.

    Source: scoring.md, sections 2 and 3.
    """
    if not tracks:
        return np.empty((0, len(COLUMNS)))
    lengths = {t.mutant.detections.n_classes for t in tracks if len(t.mutant)}
    if len(lengths) > 1:
        raise DataError(
            f"expected class vectors of one length in all mutants, got {sorted(lengths)}"
        )
    objects = original_objects(tracks[0].original, rules)
    counts = pass_counts(tracks)
    return np.hstack(
        [
            image_levels(counts, rules),
            object_levels(counts, rules),
            _match_group(tracks, objects, rules),
            _miss_group(tracks, objects, rules),
            _ghost_group(tracks, rules),
        ]
    )


def score_image(
    original: Passes, mutants: Sequence[Passes], rules: Rules = DEEPLUQ
) -> npt.NDArray[np.float64]:
    """Return the row of every mutant of one image, from their detections.

    Args:
        original: The T passes of the original.
        mutants: The T passes of each of M mutants.
        rules: Which definition each number follows.

    Returns:
        (M, 37) in the order of `COLUMNS`; NaN where `nonfinite="skip"` leaves no pass.

    Raises:
        DataError: The numbers of passes or the lengths of the class vectors differ.

    Example:
        >>> from scoring.detections import Detections
        >>> one = Detections([[0, 0, 10, 5]], [1], [0.9], [[0.1, 0.9]])
        >>> gone = Passes.from_list([Detections.empty()] * 10)
        >>> row = score_image(Passes.from_list([one] * 10), [gone])[0]
        >>> row[COLUMNS.index("[obj_level] kill_rate_miss_mean")]
        np.float64(1.0)
    """
    rows = np.full((len(mutants), len(COLUMNS)), np.nan)
    for numbers, sound, some in in_finite_passes(original, mutants, rules):
        rows[numbers] = score_tracks(track_all(sound, some, rules), rules)
    return rows
