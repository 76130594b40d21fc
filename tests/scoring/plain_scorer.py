"""Section 2 of the definitions once more, by dicts and loops: slow, plain, and nothing shared."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment
from scipy.spatial import ConvexHull

from scoring.detections import Detections

Floats = npt.NDArray[np.float64]


@dataclass(eq=False)
class One:
    """One detection."""

    box: list[float]
    label: Any
    vector: list[float]


def listed(detections: Detections) -> list[One]:
    """Return the detections of a pass one by one."""
    columns = (detections.boxes.tolist(), detections.labels.tolist(), detections.probs.tolist())
    return [One(*values) for values in zip(*columns, strict=True)]


def overlap(a: One, b: One) -> float:
    width = max(0.0, min(a.box[2], b.box[2]) - max(a.box[0], b.box[0]))
    height = max(0.0, min(a.box[3], b.box[3]) - max(a.box[1], b.box[1]))
    areas = [max(0.0, o.box[2] - o.box[0]) * max(0.0, o.box[3] - o.box[1]) for o in (a, b)]
    union = sum(areas) - width * height
    return width * height / union if union else 0.0


def sets_of_a_pass(
    originals: list[One], mutants: list[One]
) -> tuple[list[tuple[One, One]], list[One], list[One]]:
    pairs = []
    if originals and mutants:
        cost = np.array([[1 - overlap(a, b) for b in mutants] for a in originals])
        for i, j in zip(*linear_sum_assignment(cost), strict=True):
            a, b = originals[i], mutants[j]
            if overlap(a, b) > 0.5 and a.label == b.label:
                pairs.append((a, b))
    matched = {id(one) for pair in pairs for one in pair}
    return (
        pairs,
        [one for one in originals if id(one) not in matched],
        [one for one in mutants if id(one) not in matched],
    )


def negative(q: Sequence[float]) -> float:
    return sum(p * math.log2(p + 1e-15) for p in q)


def entropy(q: Sequence[float]) -> float:
    return max(0.0, round(-negative(q), 5))


def information(vectors: list[list[float]]) -> float:
    mean = [sum(column) / len(vectors) for column in zip(*vectors, strict=True)]
    return max(0.0, entropy(mean) + sum(negative(q) for q in vectors) / len(vectors))


def measures(found: list[One], *, ghost: bool) -> list[float]:
    """Return vr, ie, mi, var, ps of one object's detections."""
    vectors = [[p / sum(one.vector) for p in one.vector] for one in found]
    votes = [int(np.argmax(np.float32(q))) for q in vectors]
    mean = [sum(column) / len(vectors) for column in zip(*vectors, strict=True)]
    boxes = np.array([one.box for one in found])
    ie = round(-sum(negative(q) for q in vectors), 5) if ghost else entropy(mean)
    return [
        1 - max(votes.count(v) for v in votes) / len(votes),
        ie,
        information(vectors),
        float(boxes.var(axis=0, ddof=1).sum()) if len(found) > 1 else 0.0,
        surface(boxes) if len(found) > 2 else 0.0,
    ]


def surface(boxes: Floats) -> float:
    total = 0.0
    for x, y in ((0, 1), (2, 1), (0, 3), (2, 3)):
        points = np.unique(boxes[:, [x, y]], axis=0)
        if len(points) > 2 and np.linalg.matrix_rank(points - points.mean(axis=0)) == 2:
            total += float(ConvexHull(points).area)
    return total


def reference_measures(one: One) -> list[float]:
    q = [p / sum(one.vector) for p in one.vector]
    return [0.0, entropy(q), information([q] * 10), 0.0, 0.0]


def sq(x: float) -> float:
    return x / (x + 1)


def binomial(count: int, n: int) -> list[float]:
    def tail(k: int, p: float) -> float:
        terms = (math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k, n + 1))
        return math.fsum(terms)

    critical = min((k for k in range(n + 1) if tail(k, 0.01) <= 0.05), default=n + 1)
    effect = 2 * math.asin(math.sqrt(count / n)) - 2 * math.asin(math.sqrt(0.01))
    return [tail(count, 0.01), effect, tail(critical, count / n), count]


def mean_of(rows: list[list[float]], width: int) -> list[float]:
    return np.mean(rows, axis=0).tolist() if rows else [0.0] * width


def components(ghosts: list[One]) -> list[list[One]]:
    left, found = list(ghosts), []
    while left:
        group, edge = [], [left.pop(0)]
        while edge:
            one = edge.pop()
            group.append(one)
            near = [other for other in left if 1 - overlap(one, other) <= 0.5]
            left = [other for other in left if not any(other is n for n in near)]
            edge += near
        found.append(group)
    return found


def plain_row(original: Sequence[Detections], mutant: Sequence[Detections]) -> list[float]:
    """Return the 37 numbers of one image under one mutant."""
    n = len(original)
    each = [sets_of_a_pass(listed(o), listed(m)) for o, m in zip(original, mutant, strict=True)]
    row: list[float] = []
    for changed in (
        [bool(s) for _, s, _ in each],
        [bool(g) for _, _, g in each],
        [bool(s or g) for _, s, g in each],
    ):
        row += binomial(sum(changed), n)
    sizes = [(len(p), len(s), len(g)) for p, s, g in each]
    for ratios in (
        [s / (m + s) for m, s, g in sizes if m + s],
        [g / (m + s + g) for m, s, g in sizes if m + s + g],
        [(s + g) / (m + s + g) for m, s, g in sizes if m + s + g],
    ):
        row += [float(np.mean(ratios)), float(np.std(ratios))] if ratios else [math.nan] * 2

    def key(one: One) -> tuple[float, ...]:
        return tuple(np.round(one.box, 4).tolist())

    matched: dict[Any, list[tuple[One, One]]] = {}
    missed: dict[Any, list[One]] = {}
    for pairs, misses, _ in each:
        for pair in pairs:
            matched.setdefault(key(pair[0]), []).append(pair)
        for one in misses:
            missed.setdefault(key(one), []).append(one)
    rows = []
    for group in matched.values():
        r = len(group) / n
        k_o = reference_measures(group[0][0])
        k_m = measures([b for _, b in group], ghost=False)
        mean_overlap = sum(overlap(a, b) for a, b in group) / len(group)
        diffs = [abs(sq(o) - (r * sq(m) + 1 - r)) for o, m in zip(k_o, k_m, strict=True)]
        rows.append([1 - r * mean_overlap, r, *diffs])
    row += mean_of(rows, 7)
    rows = []
    for misses in missed.values():
        r = len(misses) / n
        rows.append([r, *(1 - (r * sq(k) + 1 - r) for k in reference_measures(misses[0]))])
    row += mean_of(rows, 6)
    rows = []
    for ghosts in components([one for _, _, g in each for one in g]):
        r = len(ghosts) / n
        rows.append([r, *(1 - (r * sq(k) + 1 - r) for k in measures(ghosts, ghost=True))])
    return row + mean_of(rows, 6)
