"""Small scenes by hand: boxes, labels and class vectors of a few passes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import HealthCheck, settings

from scoring.detections import Detections
from scoring.passes import Passes

Box = Sequence[float]

steadily = settings(
    deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow], max_examples=80
)
"""The same examples every time, however busy the machine is."""


def found(
    boxes: Sequence[Box],
    labels: Sequence[Any] | None = None,
    probs: Sequence[Sequence[float]] | None = None,
) -> Detections:
    """Return one pass; labels are 1 and class vectors (0, 1, 0) unless given."""
    n = len(boxes)
    if not n:
        return Detections.empty()
    return Detections(
        np.asarray(boxes, dtype=float),
        np.asarray([1] * n if labels is None else labels),
        np.ones(n),
        np.asarray([[0.0, 1.0, 0.0]] * n if probs is None else probs, dtype=float),
    )


def passes(*each: Sequence[Box]) -> Passes:
    """Return the passes that hold these boxes, all of label 1."""
    return Passes.from_list([found(boxes) for boxes in each])


def random_passes(
    random: np.random.Generator, n_passes: int, base: npt.NDArray[np.float64], n_classes: int
) -> Passes:
    """Return passes that find most of the base boxes, jittered, with labels that flip at times."""
    each = []
    for _ in range(n_passes):
        kept = base[random.random(len(base)) < random.uniform(0.1, 1)]
        boxes = kept + random.normal(size=kept.shape) * random.choice([0.0, 1.0, 4.0])
        probs = random.dirichlet(np.ones(n_classes), len(kept))
        labels = np.where(random.random(len(kept)) < 0.8, 1, 2)
        each.append(Detections(boxes, labels, probs.max(axis=1, initial=0), probs))
    return Passes.from_list(each)


def random_base(random: np.random.Generator, n: int) -> npt.NDArray[np.float64]:
    """Return (n, 4) boxes of 20 to 80 px, some of which overlap."""
    corner = random.random((n, 2)) * 200
    return np.hstack([corner, corner + random.uniform(20, 80, (n, 2))])
