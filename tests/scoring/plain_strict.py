"""Section 3 of the definitions once more, by dicts and loops: slow, plain, and nothing shared."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from scoring.detections import Detections
from tests.scoring.plain_scorer import One, binomial, overlap, sq

Point = tuple[float, float]
NAN = math.nan


def area(one: One) -> float:
    return (one.box[2] - one.box[0]) * (one.box[3] - one.box[1])


def sorted_pass(detections: Detections) -> list[One]:
    rows = zip(
        detections.boxes.tolist(),
        detections.labels.tolist(),
        detections.scores.tolist(),
        detections.probs.tolist(),
        strict=True,
    )
    kept = [row for row in rows if row[0][2] > row[0][0] and row[0][3] > row[0][1]]
    kept.sort(key=lambda row: (str(row[1]), row[0], row[2], row[3]))
    return [One(box, label, vector) for box, label, _, vector in kept]


def pairs_of(known: Sequence[One], found: Sequence[One]) -> list[tuple[int, int]]:
    if not known or not found:
        return []
    reward = min(len(known), len(found)) + 1
    weight = np.zeros((len(known), len(found)))
    for i, a in enumerate(known):
        for j, b in enumerate(found):
            if a.label == b.label and overlap(a, b) > 0.5:
                weight[i, j] = reward + overlap(a, b)
    rows, columns = linear_sum_assignment(-weight)
    return [(i, j) for i, j in zip(rows.tolist(), columns.tolist(), strict=True) if weight[i, j]]


def tracked(passes: Sequence[Sequence[One]]) -> list[list[tuple[int, One]]]:
    """Return the objects, each as its pass numbers and detections."""
    objects: list[list[tuple[int, One]]] = []
    for t, found in enumerate(passes):
        partner = {j: i for i, j in pairs_of([o[0][1] for o in objects], found)}
        for j, one in enumerate(found):
            if j in partner:
                objects[partner[j]].append((t, one))
        objects += [[(t, one)] for j, one in enumerate(found) if j not in partner]
    return objects


def hull_area(points: list[Point]) -> float:
    """Half the sum of cross products around the corners that gift wrapping finds."""
    distinct = sorted(set(points))
    if len(distinct) < 3:
        return 0.0
    x0, y0 = distinct[0]
    moved = [(x - x0, y - y0) for x, y in distinct]

    def turn(o: Point, a: Point, b: Point) -> float:
        return (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0])

    corner, corners = moved[0], [moved[0]]
    while True:
        following = moved[0] if moved[0] != corner else moved[1]
        for other in moved:
            side = turn(corner, following, other)
            farther = math.dist(corner, other) > math.dist(corner, following)
            if side < 0 or (side == 0 and farther and other != corner):
                following = other
        if following == corners[0] or len(corners) > len(moved):
            break
        corner = following
        corners.append(corner)
    around = pairwise([*corners, corners[0]])
    return abs(sum(a[0] * b[1] - a[1] * b[0] for a, b in around)) / 2


def shannon(q: Sequence[float]) -> float:
    return sum(-p * math.log2(p) for p in q if p > 0)


def read_vector(vector: Sequence[float], *, sigmoid: bool) -> list[float] | None:
    if any(p < -1e-6 or p > 1 + 1e-6 for p in vector):
        return None
    entries = [min(1.0, max(0.0, p)) for p in vector]
    if sigmoid:
        entries.append(1 - max(entries))
    total = sum(entries)
    return [p / total for p in entries] if total > 0 else None


def measures(found: Sequence[One], unit: float, *, sigmoid: bool) -> list[float]:
    """Return vr, ie, mi, var, ps of one object's detections."""
    n = len(found)
    vectors = [read_vector(one.vector, sigmoid=sigmoid) for one in found]
    sound = [q for q in vectors if q is not None]
    vr = ie = mi = NAN
    if len(sound) == n:
        votes = [one.vector.index(max(one.vector)) for one in found]
        vr = 1 - max(votes.count(v) for v in votes) / n
        ie = shannon([sum(column) / n for column in zip(*sound, strict=True)])
        mi = max(0.0, ie - sum(shannon(q) for q in sound) / n)
    columns = list(zip(*(one.box for one in found), strict=True))
    var = NAN
    if n > 1:
        var = sum(sum((x - sum(c) / n) ** 2 for x in c) / (n - 1) for c in columns) / unit
    ps = NAN
    if n > 2:
        corners = ((0, 1), (2, 1), (0, 3), (2, 3))
        ps = sum(hull_area([(o.box[x], o.box[y]) for o in found]) for x, y in corners) / unit
    return [vr, ie, mi, var, ps]


def skipping_mean(values: Sequence[float]) -> float:
    known = [value for value in values if not math.isnan(value)]
    return sum(known) / len(known) if known else NAN


def ratio(pairs: Sequence[tuple[int, int]]) -> list[float]:
    values = [part / whole for part, whole in pairs if whole]
    return [float(np.mean(values)), float(np.std(values))] if values else [NAN, NAN]


def strict_row(
    original: Sequence[Detections], mutant: Sequence[Detections], *, sigmoid: bool = False
) -> list[float]:
    """Return the 37 numbers of one image under one mutant."""
    n = len(original)
    before = [sorted_pass(detections) for detections in original]
    after = [sorted_pass(detections) for detections in mutant]
    objects = tracked(before)
    number_of = {id(one): i for i, group in enumerate(objects) for _, one in group}
    matched: dict[int, list[tuple[One, One]]] = {}
    missed: dict[int, int] = {}
    sizes, ghosts, losses = [], [], []
    for known, found in zip(before, after, strict=True):
        pairs = pairs_of(known, found)
        for i, j in pairs:
            matched.setdefault(number_of[id(known[i])], []).append((known[i], found[j]))
            losses.append(1 - overlap(known[i], found[j]))
        with_partner, partners = {i for i, _ in pairs}, {j for _, j in pairs}
        for i, one in enumerate(known):
            if i not in with_partner:
                missed[number_of[id(one)]] = missed.get(number_of[id(one)], 0) + 1
        ghosts.append([one for j, one in enumerate(found) if j not in partners])
        sizes.append((len(pairs), len(known) - len(pairs), len(found) - len(pairs)))

    row: list[float] = []
    for count in (
        sum(s > 0 for _, s, _ in sizes),
        sum(g > 0 for _, _, g in sizes),
        sum(s + g > 0 for _, s, g in sizes),
    ):
        row += binomial(count, n)
    row += ratio([(s, m + s) for m, s, _ in sizes])
    row += ratio([(g, m + g) for m, _, g in sizes])
    row += ratio([(s + g, m + s + g) for m, s, g in sizes])
    row += match_group(objects, matched, losses, sigmoid=sigmoid)
    row += miss_group(objects, missed, sigmoid=sigmoid)
    return row + ghost_group(tracked(ghosts), n, sigmoid=sigmoid)


def match_group(
    objects: list[Any],
    matched: dict[int, list[tuple[One, One]]],
    losses: list[float],
    *,
    sigmoid: bool,
) -> list[float]:
    diffs = []
    for i, pairs in matched.items():
        unit = area(objects[i][0][1])
        k_o = measures([a for a, _ in pairs], unit, sigmoid=sigmoid)
        k_m = measures([b for _, b in pairs], unit, sigmoid=sigmoid)
        diffs.append([abs(sq(o) - sq(m)) for o, m in zip(k_o, k_m, strict=True)])
    rates = [len(matched.get(i, [])) / len(group) for i, group in enumerate(objects)]
    columns = list(zip(*diffs, strict=True)) if diffs else [()] * 5
    return [skipping_mean(losses), skipping_mean(rates), *map(skipping_mean, columns)]


def miss_group(objects: list[Any], missed: dict[int, int], *, sigmoid: bool) -> list[float]:
    rows = []
    for i, group in enumerate(objects):
        rate = missed.get(i, 0) / len(group)
        if i not in missed:
            rows.append([0.0] * 6)
            continue
        k_o = measures([one for _, one in group], area(group[0][1]), sigmoid=sigmoid)
        rows.append([rate, *(rate / (1 + k) for k in k_o)])
    return [sum(c) / len(c) for c in zip(*rows, strict=True)] if rows else [NAN] * 6


def ghost_group(objects: list[Any], n: int, *, sigmoid: bool) -> list[float]:
    rows = []
    for group in objects:
        rate = len(group) / n
        k = measures([one for _, one in group], area(group[0][1]), sigmoid=sigmoid)
        rows.append([rate, *(rate / (1 + value) for value in k)])
    return list(map(skipping_mean, zip(*rows, strict=True))) if rows else [0.0] * 6
