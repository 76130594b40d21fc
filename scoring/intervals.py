"""Intervals: a share with its bootstrap interval over images."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

_RESAMPLES = 2000


@dataclass(frozen=True, slots=True)
class Interval:
    """A share with its 95 % bootstrap interval over images."""

    value: float
    low: float
    high: float


def interval_over_images(per_image: npt.NDArray[np.float64]) -> Interval:
    """Return the mean of a share per image, with its 95 % bootstrap interval over images.

    Args:
        per_image: (I,) one share per image.

    Returns:
        NaN where the share of an image is, or where there is no image.
    """
    if not len(per_image) or np.isnan(per_image).any():
        return Interval(float("nan"), float("nan"), float("nan"))
    low, high = np.percentile(resampled_means(per_image, seed=0), [2.5, 97.5])
    return Interval(float(per_image.mean()), float(low), float(high))


def resampled_means(per_image: npt.NDArray[np.float64], seed: int) -> npt.NDArray[np.float64]:
    """Return the means of 2,000 resamples of the images, the same for the same seed."""
    random = np.random.default_rng(seed)
    chosen = random.integers(len(per_image), size=(_RESAMPLES, len(per_image)))
    return np.asarray(per_image[chosen].mean(axis=1), dtype=np.float64)
