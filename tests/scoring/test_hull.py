"""The fast walk equals Qhull, refusals included, wherever it is used."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest

from scoring import hull
from scoring.hull import hull_perimeter, hull_perimeters

Points = npt.NDArray[np.float64]
Random = np.random.Generator

TOLERANCE = 1e-13
"""Largest difference, relative to the largest coordinate: some units in the last place."""


def number_of_points(random: Random) -> int:
    return int(random.integers(1, 101) if random.random() < 0.1 else random.integers(1, 13))


def cloud(random: Random, n: int) -> Points:
    return random.random((n, 2)) * 10.0 ** random.integers(-3, 5)


def flatness(random: Random) -> float:
    return 10.0 ** -random.integers(1, 17)


def nearly_flat(random: Random, n: int) -> Points:
    x = random.random(n) * 500
    return np.stack([x, x * random.normal() + flatness(random) * random.normal(size=n)], axis=1)


def duplicated(random: Random, n: int) -> Points:
    return cloud(random, n)[random.integers(0, n, n)]


def nearly_duplicated(random: Random, n: int) -> Points:
    return duplicated(random, n) + flatness(random) * random.normal(size=(n, 2))


def clipped_at_an_edge(random: Random, n: int) -> Points:
    points = cloud(random, n)
    points[:, random.integers(0, 2)] = random.choice([0, 640, 0.1, 1 / 3])
    return points


def clipped_into_a_box(random: Random, n: int) -> Points:
    points = cloud(random, n)
    return np.clip(points, 0, points.max() * random.choice([0.1, 0.5, 0.9]))


def integer_grid(random: Random, n: int) -> Points:
    return random.integers(0, int(random.integers(2, 20)), (n, 2)).astype(float)


def circle(random: Random, n: int) -> Points:
    angle = random.random(n) * 2 * np.pi
    return np.stack([np.cos(angle), np.sin(angle)], axis=1) * 100


def almost_on_the_sides_of_a_square(random: Random, n: int) -> Points:
    along, off, far = (
        random.random(n),
        flatness(random) * random.normal(size=n),
        random.integers(0, 2, n),
    )
    points = np.stack([along, far + off], axis=1)
    return np.where(random.random(n)[:, None] < 0.5, points, points[:, ::-1]) * 300


KINDS = (
    cloud,
    nearly_flat,
    duplicated,
    nearly_duplicated,
    clipped_at_an_edge,
    clipped_into_a_box,
    integer_grid,
    circle,
    almost_on_the_sides_of_a_square,
)


def together(sets: list[Points]) -> Points:
    return hull_perimeters(np.vstack(sets), np.array([len(points) for points in sets]))


def assert_equals_qhull(sets: list[Points]) -> None:
    fast = together(sets)
    plain = np.array([hull_perimeter(points) for points in sets])
    np.testing.assert_array_equal(np.isnan(fast), np.isnan(plain))
    np.testing.assert_array_equal(fast == 0, plain == 0)
    reach = np.array([np.abs(points).max() for points in sets])
    assert np.nanmax(np.abs(fast - plain) / np.maximum(reach, 1e-300)) <= TOLERANCE


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("offset", [0.0, 1e3, 1e7])
def test_thousands_of_sets_equal_qhull(kind: object, offset: float) -> None:
    assert callable(kind)
    random = np.random.default_rng(int(offset) + KINDS.index(kind))
    sets = []
    for _ in range(400):
        points = kind(random, number_of_points(random)) + offset * random.normal(size=2)
        # Detectors compute in single precision.
        sets.append(points.astype(np.float32).astype(float) if random.random() < 0.3 else points)
    assert_equals_qhull(sets)


def test_the_sets_reach_every_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the comparison with Qhull would compare Qhull with itself."""
    random = np.random.default_rng(4)
    sets = [kind(random, int(random.integers(3, 13))) for kind in KINDS for _ in range(50)]
    refused = sum(math.isnan(hull_perimeter(points)) for points in sets)
    to_qhull = []
    monkeypatch.setattr(hull, "hull_perimeter", lambda points: to_qhull.append(points) or 0.0)
    together(sets)
    assert refused
    assert refused < len(to_qhull) < len(sets) / 2


# Twenty points, some of them about 1e-16 apart.
NEAR_TWINS = """
0.15801002649795004 0.3584367895560521   0.6103445487517873 0.926832056080213
0.1580100264979499 0.3584367895560524    0.6103445487517875 0.9268320560802131
0.3767117625535268 0.42007709576015284   0.6103445487517873 0.9268320560802134
0.4075600300596658 0.2071040160383238    0.8155201622628936 0.9881532442734283
0.05108222198687403 0.24069743442840477  0.33498095882733614 0.04457973147208106
0.8731696807488248 0.10380856179452018   0.6103445487517872 0.9268320560802134
0.5279737272981948 0.9151973205587685    0.3349809588273361 0.04457973147208088
0.15801002649794996 0.3584367895560524   0.15801002649795 0.3584367895560524
0.6471365675390232 0.9337143278362984    0.3790280510340479 0.4474830366138493
0.5289117080873329 0.6221640904656047    0.40515055201719696 0.28908429655144624
"""


def test_near_twins_do_not_mislead_the_walk() -> None:
    """Between twins the direction of a turn is noise: a chain can keep a point inside the hull."""
    points = np.array(NEAR_TWINS.split(), dtype=float).reshape(-1, 2)
    assert_equals_qhull([points])
    apart = np.unique(points.round(12), axis=0)
    assert together([points])[0] == pytest.approx(hull_perimeter(apart), abs=1e-9)


@pytest.mark.parametrize("scale", [1e-100, 1e-80, 1e-16, 1.0, 1e16, 1e80, 1e100, 1e200, 1e308])
def test_any_scale_equals_qhull(scale: float) -> None:
    square, line = (
        np.array([[0.0, 0], [1, 0], [1, 1], [0, 1]]),
        np.array([[0.0, 0.8], [0, 1], [0, 0.9]]),
    )
    assert_equals_qhull([square * scale, line * scale])


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [0, 3, 5])
def test_what_is_no_number_is_refused_in_silence(value: float, place: int) -> None:
    points = np.array([[0.0, 0], [4, 0], [4, 3]])
    points.flat[place] = value
    whole = np.array([[0.0, 0], [4, 0], [4, 3]])
    assert math.isnan(hull_perimeter(points))
    np.testing.assert_equal(together([whole, points, whole]).tolist(), [12.0, math.nan, 12.0])


@pytest.mark.parametrize(
    ("points", "perimeter"),
    [
        ([(0, 0), (10, 0), (10, 10), (0, 10)], 40.0),
        ([(0, 0), (10, 0), (10, 10), (0, 10), (5, 5), (5, 0), (10, 5)], 40.0),
        ([(3, 1)], 0.0),
        ([(3, 1)] * 7, 0.0),
        ([(0, 0), (4, 3)], 0.0),
        ([(0, 0), (4, 3), (0, 0), (4, 3)], 0.0),
        ([(0, 0), (1, 1), (2, 2), (5, 5)], 0.0),
        ([(0, 7), (1, 7), (9, 7)], 0.0),
        ([(0, 0), (4, 0), (4, 3), (4, 3), (0, 0)], 12.0),
        ([(-4, 0), (4, 0), (0, 3)], 18.0),
    ],
)
def test_perimeters_by_hand(points: list[tuple[int, int]], perimeter: float) -> None:
    array = np.array(points, dtype=float)
    assert hull_perimeter(array) == pytest.approx(perimeter, abs=1e-12)
    assert together([array]).tolist() == pytest.approx([perimeter], abs=1e-12)


def test_the_sets_beside_a_set_do_not_change_its_last_bit() -> None:
    random = np.random.default_rng(5)
    rounds = [circle(random, n) for n in range(3, 13) for _ in range(10)]
    alone = [together([points])[0] for points in rounds]
    assert together([*rounds, circle(random, 60)])[:-1].tolist() == alone
    assert together([circle(random, 33), *rounds])[1:].tolist() == alone


def test_no_set_gives_no_perimeter() -> None:
    assert hull_perimeters(np.empty((0, 2)), np.empty(0, np.int64)).shape == (0,)
