"""Matching, conversions and the scores of objects, on dicts and lists, by their public names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from scoring.detections import to_array
from scoring.errors import DataError
from scoring.exchange_yolo import to_corners
from scoring.matching import iou, match_passes
from scoring.metrics_mut.kills import (
    check_kill_binomial_test,
    iskill_img,
    kill_count_img,
    kill_rate_obj,
)
from scoring.metrics_mut.records import Record, to_passes
from scoring.objects import MEASURES
from scoring.pairing import prepared
from scoring.passes import Passes
from scoring.predictions import convert_detection_output
from scoring.rows import mean_per_mutant
from scoring.rules import DEEPLUQ, Rules

__all__ = [
    "calcu_mean",
    "check_kill_binomial_test",
    "compute_iou",
    "convert_detection_output",
    "identify_matches_misses_ghosts",
    "iskill_img",
    "kill_count_img",
    "kill_rate_obj",
    "spatial_aware",
    "un_ms_calcu",
    "yolo_to_absolute",
]

Metrics = dict[str, Any]

_DEFAULT_THRESHOLD = 0.5


def compute_iou(boxA: Any, boxB: Any) -> float:
    """Return the intersection over union of two boxes, 0 where the union is 0.

    Args:
        boxA: (4,) x1, y1, x2, y2 in pixels.
        boxB: (4,), likewise.

    Source: scoring.md, sections 2 and 5.

    Example:
        >>> compute_iou([0, 0, 4, 2], [2, 0, 4, 2])
        0.5
    """
    boxes = [to_array(box).astype(np.float64) for box in (boxA, boxB)]
    if any(box.shape != (4,) for box in boxes):
        raise DataError(f"boxes: expected four numbers each, got {boxA!r:.80} and {boxB!r:.80}")
    return float(iou(*boxes))


def spatial_aware(rate: Any, metric: Any, penalty: Any) -> Any:
    """Return rate * metric + (1 - rate) * penalty.

    Args:
        rate: Share of the passes in which an object occurs.
        metric: What holds in those passes.
        penalty: What holds in the others.

    Example:
        >>> spatial_aware(0.5, 0.2, 1)
        0.6
    """
    return rate * metric + (1 - rate) * penalty


def identify_matches_misses_ghosts(
    orig_objs: Mapping[Any, Record],
    mut_objs: Mapping[Any, Record],
    iou_threshold: float = _DEFAULT_THRESHOLD,
    *,
    rules: Rules | None = None,
) -> tuple[list[tuple[Record, Record]], list[Record], list[Record]]:
    """Return the matches, misses and ghosts of one repetition.

    Args:
        orig_objs: id -> detection of the original.
        mut_objs: id -> detection of the mutant.
        iou_threshold: A pair matches only above it (strictly). Left at .5, that of `rules` holds.
        rules: How pairs are found; None means rule set `deepluq`.

    Returns:
        Pairs of original and mutant detection by ascending place of the original, the originals
        without a partner, and the mutant's without one: the very dicts that were given.

    Raises:
        DataError: A detection lacks `box` or `label`, or a number is not finite.

    Source: scoring.md, section 2, "Sets of repetition t", and section 5.

    Example:
        >>> one = {"a": {"box": [0, 0, 4, 2], "label": 1}}
        >>> two = {"x": {"box": [0, 0, 4, 2], "label": 2}, "y": {"box": [1, 0, 4, 2], "label": 1}}
        >>> [len(part) for part in identify_matches_misses_ghosts(one, two)]
        [0, 1, 2]
    """
    chosen = rules or DEEPLUQ
    if iou_threshold != _DEFAULT_THRESHOLD:
        chosen = chosen.with_(iou_threshold=iou_threshold)
    originals, others = list(orig_objs.values()), list(mut_objs.values())
    (original, o_places), (mutant, m_places) = (
        _as_compared(objects, chosen) for objects in (originals, others)
    )
    matched = match_passes(original, mutant, chosen)
    partners = dict(
        zip(o_places[matched.original_rows], m_places[matched.mutant_rows], strict=True)
    )
    return (
        [(originals[o], others[partners[o]]) for o in sorted(partners)],
        [originals[o] for o in np.sort(o_places[matched.missed_rows])],
        [others[m] for m in np.sort(m_places[matched.ghost_rows])],
    )


def _as_compared(objects: Sequence[Record], rules: Rules) -> tuple[Passes, npt.NDArray[np.int64]]:
    """Return one repetition as the rules compare it, and the place of each row among the objects.

    Under `strict` detections are sorted and boxes without area left out.
    """
    passes = to_passes([objects], rules, needs_vectors=False)
    places = np.arange(len(passes))
    if rules.matching != "allowed_pairs":
        return passes, places
    if all("logit" in each for each in objects):
        passes = to_passes([objects], rules)
    # The place travels as a last entry of the vector, where it decides between equals alone.
    numbered = np.column_stack([passes.detections.probs, places])
    passes = prepared(Passes(replace(passes.detections, probs=numbered), passes.counts))
    return passes, passes.detections.probs[:, -1].astype(np.int64)


def un_ms_calcu(
    match_metrics: Sequence[Metrics],
    miss_metrics: Sequence[Metrics],
    ghost_metrics: Sequence[Metrics],
) -> tuple[list[Metrics], list[Metrics], list[Metrics]]:
    """Return the objects' metrics with their mutation scores added; the dicts given stay as is.

    Args:
        match_metrics: As `process_match_metrics` returns them.
        miss_metrics: As `process_missing_set` returns them.
        ghost_metrics: As `process_ghost_set_dbscan` returns them.

    Returns:
        The three lists with `{vr,ie,mi,var,ps}_ms` and, for matches, `iou_ms`: the difference of
        the two sides, or 1 minus what a missed or ghost object keeps.

    Source: scoring.md, section 2, "Objects", and section 5.

    Example:
        >>> one = {"avg_iou": 0.75} | {f"{m}_orig": 0.5 for m in ("vr", "ie", "mi", "var", "ps")}
        >>> one |= {f"{m}_mut": 0.25 for m in ("vr", "ie", "mi", "var", "ps")}
        >>> matched, _, _ = un_ms_calcu([one], [], [])
        >>> matched[0]["vr_ms"], matched[0]["iou_ms"]
        (0.25, 0.25)
    """
    matches = [
        one
        | {f"{m}_ms": abs(one[f"{m}_orig"] - one[f"{m}_mut"]) for m in MEASURES}
        | {"iou_ms": 1 - one["avg_iou"]}
        for one in match_metrics
    ]
    misses = [one | {f"{m}_ms": 1 - one[f"{m}_miss"] for m in MEASURES} for one in miss_metrics]
    ghosts = [one | {f"{m}_ms": 1 - one[f"{m}_ghost"] for m in MEASURES} for one in ghost_metrics]
    return matches, misses, ghosts


def calcu_mean(results: Sequence[Mapping[str, Any]], cols_to_mean: Sequence[str]) -> dict[str, Any]:
    """Return the mean of each of these columns.

    Args:
        results: One dict per object.
        cols_to_mean: Keys.

    Returns:
        Means by key; NaN values are skipped (NaN if all are), 0 for each key of an empty list.

    Raises:
        DataError: An object lacks a key.

    Example:
        >>> calcu_mean([{"vr_ms": 0.25}, {"vr_ms": 0.75}], ["vr_ms"]), calcu_mean([], ["vr_ms"])
        ({'vr_ms': 0.5}, {'vr_ms': 0.0})
    """
    for number, one in enumerate(results):
        missing = [column for column in cols_to_mean if column not in one]
        if missing:
            raise DataError(f"object {number}: expected {', '.join(missing)}, got {sorted(one)}")
    values = np.array([[one[c] for c in cols_to_mean] for one in results], dtype=np.float64)
    values = values.reshape(len(results), len(cols_to_mean))
    means = mean_per_mutant(values, np.zeros(len(results), np.int64), 1)[0]
    return dict(zip(cols_to_mean, means.tolist(), strict=True))


def yolo_to_absolute(yolo_labels: Any, img_w: float = 1280, img_h: float = 736) -> dict[str, Any]:
    """Return YOLO rows as tensors in pixels.

    Args:
        yolo_labels: (N, 5) rows of label, x centre, y centre, width and height, 0 to 1 of the
            image.
        img_w: Width of the image in pixels.
        img_h: Height of the image in pixels.

    Returns:
        `boxes` (N, 4) x1, y1, x2, y2 and `areas` (N,) float32 in pixels, `labels` (N,) int64.

    Raises:
        DataError: The rows are no numbers, or not five each.

    Source: scoring.md, section 5.

    Example:
        >>> yolo_to_absolute([[2, 0.5, 0.5, 0.5, 0.25]], 100, 80)["boxes"]
        tensor([[25., 30., 75., 50.]])
    """
    import torch  # only here: scoring itself never needs it

    try:
        rows = to_array(yolo_labels).astype(np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"YOLO labels: expected numbers ({error})") from error
    rows = rows if rows.size else np.empty((0, 5))
    if rows.ndim != 2 or rows.shape[1] != 5:
        raise DataError(
            f"YOLO labels: expected rows of label, x centre, y centre, width, height, got shape "
            f"{rows.shape}"
        )
    boxes = to_corners(rows[:, 1:], (img_w, img_h))
    areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    return {
        "boxes": torch.tensor(boxes, dtype=torch.float32),
        "labels": torch.tensor(rows[:, 0], dtype=torch.int64),
        "areas": torch.tensor(areas, dtype=torch.float32),
    }
