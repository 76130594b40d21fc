"""Findings: the rows of an image, what else its passes tell, and what `strict` would say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from scoring.equivalence import is_same, passes_are_alike
from scoring.errors import DataError
from scoring.fast import expect_pairs
from scoring.finite import in_finite_passes
from scoring.levels import image_levels, pass_counts
from scoring.pairing import has_no_area
from scoring.passes import Passes
from scoring.rows import COLUMNS, IMAGE_COLUMNS, score_image, score_tracks
from scoring.rules import DEEPLUQ, STRICT, Rules
from scoring.sweep import Sweep, read_image
from scoring.tracks import Tracks, track_all


@dataclass(frozen=True, slots=True, eq=False)
class Findings:
    """What scoring finds out about one image under M mutants.

    Args:
        rows: (M, 37) in the order of `COLUMNS`, NaN where the mutant has no passes.
        strict_levels: (M, 12) the image-level columns under rule set `strict`; NaN likewise, and
            where numbers that are not finite are compared as the reference does.
        is_same: (M,) the mutant's passes equal the original's.
        n_passes: T.
        n_skipped: (M,) passes left out because a number in them is not finite.
        n_degenerate: Boxes without area that were left out, on all sides.
        original_is_deterministic: Whether the original's passes are alike.
    """

    rows: npt.NDArray[np.float64]
    strict_levels: npt.NDArray[np.float64]
    is_same: npt.NDArray[np.bool_]
    n_passes: int
    n_skipped: npt.NDArray[np.int64]
    n_degenerate: int
    original_is_deterministic: bool


def examine_image(original: Passes, mutants: Sequence[Passes], rules: Rules = DEEPLUQ) -> Findings:
    """Return the rows of an image, and what else its passes tell.

    Args:
        original: The T passes of the original.
        mutants: The T passes of each of M mutants.
        rules: Which definition each number of the rows follows.

    Raises:
        DataError: The numbers of passes or the lengths of the class vectors differ.
    """
    number, is_strict = len(mutants), rules.matching == "allowed_pairs"
    rows = np.full((number, len(COLUMNS)), np.nan)
    levels = np.full((number, len(IMAGE_COLUMNS)), np.nan)
    same = np.zeros(number, dtype=bool)
    skipped = np.full(number, original.n_passes)
    for chosen, sound, some in in_finite_passes(original, mutants, rules):
        skipped[chosen] = original.n_passes - sound.n_passes
        if is_strict:
            tracks = track_all(sound, some, rules)
            rows[chosen] = score_tracks(tracks, rules)
        else:
            rows[chosen] = score_image(sound, some, rules)
            tracks = _strict_tracks(sound, some, rules)
        if tracks:
            levels[chosen] = image_levels(pass_counts(tracks), STRICT.with_(alpha=rules.alpha))
            same[chosen] = [is_same(t) for t in tracks]
    boxes = [side.detections.boxes for side in (original, *mutants)] if is_strict else []
    return Findings(
        rows=rows,
        strict_levels=levels,
        is_same=same,
        n_passes=original.n_passes,
        n_skipped=skipped,
        n_degenerate=sum(int(has_no_area(b).sum()) for b in boxes),
        original_is_deterministic=passes_are_alike(original),
    )


def _strict_tracks(original: Passes, mutants: Sequence[Passes], rules: Rules) -> list[Tracks]:
    """Return the tracks of `strict` at these rules' threshold; none where it would refuse."""
    if rules.nonfinite == "keep":
        return []
    return track_all(original, mutants, STRICT.with_(iou_threshold=rules.iou_threshold))


def examine_sweep(
    sweep: Sweep, *, n_passes: int | None = None, rules: Rules = DEEPLUQ
) -> Iterator[tuple[str, Findings]]:
    """Yield each image's stem and findings, one row per tag of the sweep, NaN where it crashed.

    Args:
        sweep: What to score.
        n_passes: T, the first passes of every folder; None means all, which must be equally many.
        rules: Which definition each number of the rows follows.

    Raises:
        DataError: A pass is missing or a file broken; the message names the image.
    """
    expect_pairs(len(sweep.stems) * len(sweep.tags))
    for stem in sweep.stems:
        try:
            original, mutants = read_image(sweep, stem, n_passes=n_passes, rules=rules)
            found = examine_image(original, mutants, rules)
        except DataError as error:
            raise DataError(f"image '{stem}': {error}") from error
        there = np.array([(stem, tag) not in sweep.crashed for tag in sweep.tags])
        yield stem, found if there.all() else _spread(found, there)


def _spread(found: Findings, there: npt.NDArray[np.bool_]) -> Findings:
    """Return the findings with rows for the mutants that are not there."""
    rows = np.full((len(there), found.rows.shape[1]), np.nan)
    levels = np.full((len(there), found.strict_levels.shape[1]), np.nan)
    # A crash is no difference from the original, and none is no proof of being the same.
    same = np.zeros(len(there), dtype=bool)
    skipped = np.zeros(len(there), dtype=np.int64)
    rows[there], levels[there] = found.rows, found.strict_levels
    same[there], skipped[there] = found.is_same, found.n_skipped
    return replace(found, rows=rows, strict_levels=levels, is_same=same, n_skipped=skipped)
