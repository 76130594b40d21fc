"""Intervals: a share with its bootstrap interval over images."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan, nan

import numpy as np
import numpy.typing as npt

_RESAMPLES = 2000

LEAST_IMAGES = 4
"""Images that an interval needs. Of n images the most extreme resample, which draws one image n
times, has a chance of n^-n. For n up to 3 that is more than the 2.5 % beyond each end of a 95 %
interval, so that its ends could only be the smallest and the largest image."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A share with its 95 % bootstrap interval over images.

    Args:
        value: The share, or the difference of two.
        low: Lower end; NaN where the images are too few for an interval.
        high: Upper end; NaN where `low` is.
        n_images: Images behind it; of a difference those of the smaller suite.
    """

    value: float
    low: float
    high: float
    n_images: int

    @property
    def has_ends(self) -> bool:
        """Whether there are images enough for an interval."""
        return not isnan(self.low)


UNKNOWN = Interval(nan, nan, nan, 0)
"""Where not even the share can be told."""


def interval_over_images(per_image: npt.NDArray[np.float64]) -> Interval:
    """Return the mean of a share per image, with its 95 % bootstrap interval over images.

    Args:
        per_image: (I,) one share per image.

    Returns:
        NaN where the share of an image is, or where there is no image; ends of NaN where images
        are fewer than `LEAST_IMAGES`.
    """
    if not len(per_image) or np.isnan(per_image).any():
        return UNKNOWN
    return _interval(float(per_image.mean()), [per_image])


def interval_of_difference(
    first: npt.NDArray[np.float64], second: npt.NDArray[np.float64]
) -> Interval:
    """Return how much larger the mean of one suite's images is, with its 95 % bootstrap interval.

    The images of the two suites are resampled independently.

    Args:
        first: (I,) one share per image.
        second: (J,) the same of the other suite.

    Returns:
        NaN where the share of an image is, or where a suite has no image; ends of NaN where images
        of either are fewer than `LEAST_IMAGES`.
    """
    sides = [first, second]
    if not all(len(side) and not np.isnan(side).any() for side in sides):
        return UNKNOWN
    return _interval(float(first.mean() - second.mean()), sides)


def _interval(value: float, sides: list[npt.NDArray[np.float64]]) -> Interval:
    n_images = min(map(len, sides))
    if n_images < LEAST_IMAGES:
        return Interval(value, nan, nan, n_images)
    means = [_resampled_means(side, seed) for seed, side in enumerate(sides)]
    low, high = np.percentile(means[0] if len(means) == 1 else means[0] - means[1], [2.5, 97.5])
    return Interval(value, float(low), float(high), n_images)


def _resampled_means(per_image: npt.NDArray[np.float64], seed: int) -> npt.NDArray[np.float64]:
    """Return the means of 2,000 resamples of the images, the same for the same seed."""
    random = np.random.default_rng(seed)
    chosen = random.integers(len(per_image), size=(_RESAMPLES, len(per_image)))
    return np.asarray(per_image[chosen].mean(axis=1), dtype=np.float64)
