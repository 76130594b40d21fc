"""Rule set strict equals a slow scorer that is written by dicts and loops."""

from __future__ import annotations

import numpy as np
import pytest

from scoring.detections import Detections
from scoring.passes import Passes
from scoring.rows import COLUMNS, score_image
from scoring.rules import STRICT
from tests.scoring.plain_strict import strict_row
from tests.scoring.scenes import random_base


def scene(random: np.random.Generator, n_passes: int, base: np.ndarray) -> list[Detections]:
    """Return passes with jitter, misses, ghosts, flipped labels, flat boxes, and odd vectors."""
    each = []
    jitter = random.choice([0.0, 0.5, 3.0, 8.0])
    odd = random.random() < 0.2
    for _ in range(n_passes):
        if random.random() < 0.1:
            each.append(Detections.empty())
            continue
        boxes = base[random.random(len(base)) < 0.8]
        boxes = boxes + random.normal(size=boxes.shape) * jitter
        extra = random_base(random, int(random.integers(0, 3)))
        twins = boxes[random.random(len(boxes)) < 0.2]
        boxes = np.vstack([boxes, extra, twins])
        n = len(boxes)
        if n and random.random() < 0.2:
            boxes[0, 2] = boxes[0, 0]
        labels = np.where(random.random(n) < 0.8, 2, 10)
        probs = random.dirichlet(np.ones(3), n) if random.random() < 0.5 else random.random((n, 3))
        if odd and n:
            probs[int(random.integers(n))] = random.choice([0.0, -1e-7, 1.1])
        order = random.permutation(n)
        each.append(Detections(boxes, labels, random.random(n), probs).take(order))
    return each


@pytest.mark.parametrize("scores", ["softmax", "sigmoid"])
@pytest.mark.parametrize("n_passes", [1, 3, 10])
def test_rows_equal_the_slow_scorer(n_passes: int, scores: str) -> None:
    random = np.random.default_rng([n_passes, len(scores)])
    rules = STRICT.with_(scores=scores)
    for _ in range(60):
        base = random_base(random, int(random.integers(0, 5)))
        original = scene(random, n_passes, base)
        mutants = [scene(random, n_passes, base) for _ in range(2)]
        got = score_image(Passes.from_list(original), [Passes.from_list(m) for m in mutants], rules)
        for row, mutant in zip(got, mutants, strict=True):
            expected = strict_row(original, mutant, sigmoid=scores == "sigmoid")
            named = dict(zip(COLUMNS, row.tolist(), strict=True))
            assert named == pytest.approx(
                dict(zip(COLUMNS, expected, strict=True)), abs=1e-9, rel=1e-9, nan_ok=True
            )
