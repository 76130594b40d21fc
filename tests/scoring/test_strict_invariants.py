"""What must not change a strict score, and what changes it in a known way."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.detections import Detections
from scoring.passes import Passes
from scoring.rows import COLUMNS, score_image
from scoring.rules import STRICT
from scoring.tracks import track
from tests.scoring.scenes import random_base, steadily

seeds = st.integers(0, 2**32 - 1)
Change = Callable[[Detections], Detections]


def scene(seed: int, *, twins: bool = False) -> tuple[list[Detections], list[Detections]]:
    """Return five passes of original and mutant whose coordinates are whole 1024ths of a pixel.

    Such coordinates stand shifts and doublings without rounding, so that no tie is ever broken
    another way.
    """
    random = np.random.default_rng(seed)
    base = random_base(random, int(random.integers(0, 6)))
    labels = random.integers(1, 4, len(base))

    def one() -> Detections:
        kept = np.flatnonzero(random.random(len(base)) < 0.8)
        if twins:
            kept = np.sort(np.concatenate([kept, kept[: len(kept) // 2]]))
        boxes = base[kept] + random.normal(size=(len(kept), 4)) * random.choice([0.0, 3.0])
        boxes = np.vstack([boxes, random_base(random, int(random.integers(0, 3)))])
        n = len(boxes)
        of_class = np.concatenate([labels[kept], random.integers(1, 4, n - len(kept))])
        probs = random.dirichlet(np.ones(4), n)
        return Detections(np.round(boxes * 1024) / 1024, of_class, random.random(n), probs)

    return [one() for _ in range(5)], [one() for _ in range(5)]


def row(original: list[Detections], mutant: list[Detections]) -> npt.NDArray[np.float64]:
    return score_image(Passes.from_list(original), [Passes.from_list(mutant)], STRICT)[0]


def changed(sides: tuple[list[Detections], ...], change: Change) -> list[list[Detections]]:
    return [[change(detections) for detections in side] for side in sides]


@steadily
@given(seeds)
def test_the_order_of_detections_never_matters(seed: int) -> None:
    sides = scene(seed, twins=True)
    random = np.random.default_rng(seed + 1)
    shuffled = changed(sides, lambda d: d.take(random.permutation(len(d))))
    assert np.array_equal(row(*sides), row(*shuffled), equal_nan=True)


@steadily
@given(seeds)
def test_names_of_classes_do_not_matter(seed: int) -> None:
    """As numbers whose texts sort otherwise, with the entries of the vectors moved alike."""
    sides = scene(seed)
    names = np.array([0, 20, 3, 100])
    renamed = changed(
        sides,
        lambda d: Detections(d.boxes, names[d.labels], d.scores, d.probs[:, [2, 0, 3, 1]]),
    )
    assert row(*renamed) == pytest.approx(row(*sides), abs=1e-12, nan_ok=True)
    texts = np.array(["", "dog", "a cat", "Cow"], dtype=object)
    named = changed(sides, lambda d: Detections(d.boxes, texts[d.labels], d.scores, d.probs))
    assert row(*named) == pytest.approx(row(*sides), abs=1e-12, nan_ok=True)


@steadily
@given(seeds, st.integers(-3000, 3000), st.integers(-3000, 3000))
def test_a_shift_of_the_image_changes_nothing(seed: int, x: int, y: int) -> None:
    sides = scene(seed, twins=True)
    moved = changed(
        sides, lambda d: Detections(d.boxes + np.array([x, y, x, y]), d.labels, d.scores, d.probs)
    )
    assert row(*moved) == pytest.approx(row(*sides), abs=1e-9, nan_ok=True)


@steadily
@given(seeds, st.integers(-6, 6))
def test_the_size_of_the_image_changes_nothing(seed: int, power: int) -> None:
    """Every strict column is dimensionless; doubling and halving do not even round."""
    sides = scene(seed, twins=True)
    scaled = changed(sides, lambda d: Detections(d.boxes * 2.0**power, d.labels, d.scores, d.probs))
    assert np.array_equal(row(*sides), row(*scaled), equal_nan=True)


SWAPPED = [
    COLUMNS.index(
        name.replace("_miss_", "_x_").replace("_ghost_", "_miss_").replace("_x_", "_ghost_")
        if "miss_ghost" not in name
        else name
    )
    for name in COLUMNS[:18]
]


@steadily
@given(seeds)
def test_swapped_roles_exchange_miss_and_ghost(seed: int) -> None:
    """Image level, object level, and the overlap of the pairs."""
    original, mutant = scene(seed)
    there, back = row(original, mutant), row(mutant, original)
    assert back[:18] == pytest.approx(there[SWAPPED], abs=1e-12, nan_ok=True)
    overlap = COLUMNS.index("[match] iou_mean")
    assert back[overlap] == pytest.approx(there[overlap], abs=1e-12, nan_ok=True)
    sides = Passes.from_list(original), Passes.from_list(mutant)
    counts = track(*sides, STRICT).counts()
    assert track(*sides[::-1], STRICT).counts()[:, [0, 2, 1]].tolist() == counts.tolist()


@steadily
@given(seeds)
def test_an_original_against_itself_changes_nothing(seed: int) -> None:
    original, _ = scene(seed)
    named = dict(zip(COLUMNS, row(original, original).tolist(), strict=True))
    if not any(len(d) for d in original):
        assert np.isnan(named["[match] match_rate"])
        return
    assert named["[match] match_rate"] == 1
    assert named["[match] iou_mean"] == 0
    others = {v for k, v in named.items() if k.startswith(("[miss]", "[ghost]", "[obj_level]"))}
    assert others <= {0.0} or np.isnan(list(others - {0.0})).all()
    diffs = np.array([v for k, v in named.items() if k.startswith("[match]") and "diff" in k])
    assert (diffs[~np.isnan(diffs)] == 0).all()


@steadily
@given(seeds)
def test_every_strict_score_lies_between_none_and_all(seed: int) -> None:
    """Rates, ratios, losses and uncertainty scores are shares; Cohen's h and counts are not."""
    values = row(*scene(seed, twins=True))[COLUMNS.index("[obj_level] kill_rate_miss_mean") :]
    known = values[~np.isnan(values)]
    assert ((known >= 0) & (known <= 1)).all()
