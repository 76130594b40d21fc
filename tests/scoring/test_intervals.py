"""Intervals: too few images have none, and all resamples there are say why."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from scoring.intervals import (
    LEAST_IMAGES,
    Interval,
    interval_of_difference,
    interval_over_images,
)

SHARES = np.array([0.0, 0.3, 0.35, 0.9, 1.0])
"""Shares of images, of which no two are alike."""


def chances(per_image: np.ndarray) -> dict[float, float]:
    """Return how likely each mean is, over every one of the n^n resamples."""
    n = len(per_image)
    means = [round(float(np.mean(chosen)), 12) for chosen in product(per_image, repeat=n)]
    values, numbers = np.unique(means, return_counts=True)
    return dict(zip(values.tolist(), (numbers / n**n).tolist(), strict=True))


def test_of_two_images_half_of_all_resamples_are_one_image_twice() -> None:
    """Worked by hand: 0 and 1 give the means 0 (0, 0), .5 (0, 1 and 1, 0) and 1 (1, 1)."""
    assert chances(np.array([0.0, 1.0])) == {0: 0.25, 0.5: 0.5, 1: 0.25}


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_an_interval_needs_images_enough_to_leave_the_extremes_out(n: int) -> None:
    """2.5 % lie beyond each end: below 4 images, the most extreme mean alone is more likely."""
    found = chances(SHARES[:n])
    extremes = [found[min(found)], found[max(found)]]
    assert extremes == pytest.approx([n**-n] * 2)
    assert (min(extremes) < 0.025) == (n >= LEAST_IMAGES)
    assert interval_over_images(SHARES[:n]).has_ends == (n >= LEAST_IMAGES)


def test_the_ends_are_those_of_all_resamples() -> None:
    found = chances(SHARES)
    cumulated = np.cumsum(list(found.values()))
    low, high = (list(found)[int(np.searchsorted(cumulated, p))] for p in (0.025, 0.975))
    interval = interval_over_images(SHARES)
    assert (interval.low, interval.high) == pytest.approx((low, high), abs=0.03)
    assert interval.value == pytest.approx(0.51)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_images_have_a_share_and_no_interval(n: int) -> None:
    for shares in (SHARES[:n], np.ones(n)):
        few = interval_over_images(shares)
        assert few.value == pytest.approx(shares.mean())
        assert (few.n_images, few.has_ends) == (n, False)
        assert np.isnan([few.low, few.high]).all()


def test_images_that_are_all_alike_have_an_interval_that_is_a_point() -> None:
    assert interval_over_images(np.ones(4)) == Interval(1, 1, 1, 4)


def test_a_difference_needs_images_enough_on_both_sides() -> None:
    many, few = SHARES, SHARES[:3]
    assert interval_of_difference(many, many).has_ends
    for first, second in ((many, few), (few, many), (few, few)):
        gap = interval_of_difference(first, second)
        assert gap.value == pytest.approx(first.mean() - second.mean())
        assert (gap.n_images, gap.has_ends) == (3, False)


@pytest.mark.parametrize("unknown", [[], [0.5, float("nan"), 0.5, 0.5]])
def test_a_share_that_is_not_known_leaves_nothing_known(unknown: list[float]) -> None:
    shares = np.array(unknown)
    found = [interval_over_images(shares)]
    found += [interval_of_difference(*pair) for pair in ((shares, SHARES), (SHARES, shares))]
    assert all(np.isnan([one.value, one.low, one.high]).all() for one in found)
