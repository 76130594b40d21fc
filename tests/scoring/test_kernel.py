"""The kernel's loops, compiled and plain, give what numpy gives, to the last bit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from scoring import fast, fast_kernels, hull
from scoring.errors import ConfigError
from scoring.hull import corner_perimeters
from scoring.rows import score_image
from scoring.rules import DEEPLUQ, STRICT, Rules
from scoring.sweep import find_sweep, read_image
from tests.scoring.golden_cases import HERE, read_cases, write_tree
from tests.scoring.scenes import random_base, random_passes

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]

PLAIN = fast.Kernel(walk_corners=fast_kernels.walk_corners)


@pytest.fixture(params=["plain", "compiled"])
def loops(request: pytest.FixtureRequest) -> fast.Kernel:
    """The kernel's loops as they stand, and compiled where numba is installed."""
    if request.param == "plain":
        return PLAIN
    pytest.importorskip("numba", reason="the extra 'fast' is not installed")
    loaded = fast._load()
    assert loaded is not None
    return loaded


@pytest.fixture
def both(
    loops: fast.Kernel, monkeypatch: pytest.MonkeyPatch
) -> Callable[[Callable[[], Any]], tuple[Any, Any]]:
    """Run a job with the kernel and without it."""

    def run(job: Callable[[], Any]) -> tuple[Any, Any]:
        results = []
        for mode in ("auto", "off"):
            monkeypatch.setenv(fast.VARIABLE, mode)
            monkeypatch.setattr(fast, "_in_use", [loops])
            results.append(job())
        return results[0], results[1]

    return run


def sets_of_boxes(random: np.random.Generator) -> Iterator[tuple[Floats, Rows]]:
    """Objects as they move: jittered, still, clipped at an edge, on a grid, on a line, twins."""
    for scale in (1e-9, 1.0, 1e4):
        counts = random.integers(1, 14, 25)
        base = np.repeat(random.random((25, 4)) * 1000, counts, axis=0)
        boxes = base + random.normal(size=base.shape) * scale
        yield boxes, counts
        yield np.round(boxes * 64) / 64, counts
        yield np.round(boxes), counts
        yield np.maximum(boxes, np.round(base)), counts
        yield base + random.normal(size=(len(base), 1)) * scale, counts
        twins = boxes.copy()
        twins[1:] = np.where(random.random((len(twins) - 1, 1)) < 0.3, twins[:-1], twins[1:])
        yield twins, counts
        twins[1::2] = twins[1::2] * (1 + 1e-14)
        yield twins, counts
    yield random.random((70, 4)), np.array([70])
    yield np.array([[0.0, -0.0, 1, 1], [-0.0, 0, 1, 2], [0, 0, 2, 1]]), np.array([3])


@pytest.mark.parametrize("odd", [None, np.nan, np.inf, 1e200])
def test_perimeters_of_any_objects_are_the_same(
    both: Callable[..., tuple[Floats, Floats]], odd: float | None
) -> None:
    random = np.random.default_rng(4)
    for boxes, counts in sets_of_boxes(random):
        if odd is not None:
            boxes[random.integers(len(boxes)), random.integers(4)] = odd
        got, expected = both(lambda b=boxes, c=counts: corner_perimeters(b, c))
        np.testing.assert_array_equal(got, expected)


def test_most_moving_objects_are_decided_by_the_kernel(loops: fast.Kernel) -> None:
    random = np.random.default_rng(9)
    boxes = np.repeat(random.random((50, 4)) * 1000, 10, axis=0) + random.normal(size=(500, 4))
    bounds = (hull._LARGEST_WALK, hull._PLAIN_RATIO, hull._PLAIN_WIDTH, hull._TWIN_DISTANCE)
    _, is_decided = loops.walk_corners(boxes, np.full(50, 10), *bounds)
    assert is_decided.all()


@pytest.mark.parametrize("rules", [DEEPLUQ, STRICT])
def test_rows_of_random_scenes_are_the_same(
    both: Callable[..., tuple[Floats, Floats]], rules: Rules
) -> None:
    random = np.random.default_rng(2)
    for _ in range(6):
        base = random_base(random, int(random.integers(0, 8)))
        original, *mutants = (random_passes(random, 10, base, 3) for _ in range(4))
        got, expected = both(lambda o=original, m=mutants: score_image(o, m, rules))
        np.testing.assert_array_equal(got, expected)


def test_rows_of_the_goldens_are_the_same(
    both: Callable[..., tuple[Floats, Floats]], tmp_path: Path
) -> None:
    rules = DEEPLUQ.with_(binomial_n=10, nonfinite="keep")
    compared = 0
    for case in read_cases(HERE):
        if case["category"] in ("ragged_logits", "missing_logit_field"):
            continue
        root = tmp_path / case["id"]
        sweep = find_sweep(root, write_tree(root, case))
        original, mutants = read_image(sweep, case["stem"], rules=rules)
        got, expected = both(lambda o=original, m=mutants: score_image(o, m, rules))
        np.testing.assert_array_equal(got, expected)
        compared += 1
    assert compared


def test_small_work_does_not_load_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast, "_in_use", [])
    monkeypatch.setattr(fast, "_load", lambda: PLAIN)
    monkeypatch.delenv(fast.VARIABLE, raising=False)
    fast.expect_pairs(fast.WORTH_LOADING - 1)
    assert fast.kernel() is None
    fast.expect_pairs(fast.WORTH_LOADING)
    assert fast.kernel() is PLAIN


def test_off_is_off_and_on_needs_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast, "_in_use", [])
    monkeypatch.setattr(fast, "_load", lambda: None)
    monkeypatch.setenv(fast.VARIABLE, "off")
    fast.expect_pairs(fast.WORTH_LOADING)
    assert fast.kernel() is None
    monkeypatch.setenv(fast.VARIABLE, "on")
    with pytest.raises(ConfigError, match="extra 'fast'"):
        fast.kernel()
    monkeypatch.setenv(fast.VARIABLE, "yes")
    with pytest.raises(ConfigError, match="auto, on, off, got 'yes'"):
        fast.kernel()
