"""Noise floor: how often a pass changes although nothing was mutated."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import betainc, betaincinv

from scoring.errors import DataError

Floats = npt.NDArray[np.float64]

IDENTITY = "identity"
"""Operator of a second run of the original; its tags are `0` and `1`."""

_CONFIDENCE = 0.95
_ENOUGH_PASSES = 299
"""So many clean passes bring the upper bound below .01."""


@dataclass(frozen=True, slots=True, eq=False)
class NoiseFloor:
    """The share of passes that may change by themselves, for one kind of change.

    Args:
        rates: (I,) p0 of each image of the suite.
        pooled: p0 of an image where the identity mutant never changed.
        is_reliable: False where the original is not deterministic and no identity mutant says how
            much it flickers.
        n_changed: Changed passes of the identity mutant, 0 without one.
        n_passes: All its passes, 0 without one.
    """

    rates: Floats
    pooled: float
    is_reliable: bool
    n_changed: int = 0
    n_passes: int = 0


def upper_bound(count: npt.ArrayLike, n: npt.ArrayLike) -> Floats:
    """Return the one-sided 95 % Clopper-Pearson upper bound of a share, 1 where count is n.

    Args:
        count: Changed passes.
        n: Passes.

    Example:
        >>> upper_bound(0, 299).round(5).item(), upper_bound(3, 3).item()
        (0.00997, 1.0)
    """
    counts, totals = np.asarray(count, np.float64), np.asarray(n, np.float64)
    rest = np.maximum(totals - counts, 0)
    # scipy.stats.beta.ppf by its definition: scipy.stats takes half a second to import.
    bound = betaincinv(counts + 1, np.where(rest > 0, rest, 1), _CONFIDENCE)
    return np.asarray(np.where(rest > 0, bound, 1.0), dtype=np.float64)


def noise_floor(
    n_images: int,
    identity_counts: Floats | None,
    n_passes: npt.NDArray[np.int64] | int,
    *,
    is_deterministic: bool,
    null_rate: float = 0.01,
) -> NoiseFloor:
    """Return p0 of every image of a suite, for one kind of change.

    A deterministic original has `null_rate`. Else the passes of an identity mutant set it, if they
    are many or if any changed: few clean ones would only weaken the test. An image where the
    identity mutant changes takes its own bound where that is larger. The bounds are approximate:
    passes of one image are not independent.

    Args:
        n_images: I.
        identity_counts: (I,) changed passes of the identity mutant on the same images, NaN where
            it has no row; None without an identity mutant.
        n_passes: T, or (I,) where it differs between images.
        is_deterministic: Whether the original's passes are all alike.
        null_rate: The least p0.

    Raises:
        DataError: There are not as many counts as images, or a count exceeds the passes.

    Source: scoring.md, section 3, row 17.

    Example:
        >>> floor = noise_floor(3, np.array([0.0, 2, 0]), 100, is_deterministic=False)
        >>> round(floor.pooled, 4), floor.rates.round(4).tolist()
        (0.0208, [0.0208, 0.0616, 0.0208])
    """
    plain = np.full(n_images, null_rate)
    if is_deterministic:
        return NoiseFloor(plain, null_rate, True)
    if identity_counts is None:
        return NoiseFloor(plain, null_rate, False)
    counts = np.asarray(identity_counts, dtype=np.float64)
    if counts.shape != (n_images,):
        raise DataError(
            f"identity mutant: expected a count for each of {n_images} images, "
            f"got shape {counts.shape}"
        )
    there = ~np.isnan(counts)
    passes = np.broadcast_to(np.asarray(n_passes, dtype=np.float64), counts.shape)
    if (counts[there] > passes[there]).any():
        raise DataError("identity mutant: expected at most as many changed passes as passes")
    if not there.any():
        return NoiseFloor(plain, null_rate, False)
    changed, total = int(counts[there].sum()), int(passes[there].sum())
    pooled = null_rate
    if total >= _ENOUGH_PASSES or changed:
        pooled = max(null_rate, float(upper_bound(changed, total)))
    flickers = there & (np.nan_to_num(counts) > 0)
    rates = np.full(n_images, pooled)
    rates[flickers] = np.maximum(pooled, upper_bound(counts[flickers], passes[flickers]))
    return NoiseFloor(rates, pooled, True, changed, total)


def p_values_at(
    counts: Floats, n_passes: npt.NDArray[np.int64] | int, rates: Floats | float
) -> Floats:
    """Return P(Bin(T, p0) >= count), each image at its own noise floor.

    Args:
        counts: (I,) or (I, M) changed passes; NaN stays NaN.
        n_passes: T, or (I,) where it differs between images.
        rates: p0, or (I,).

    Example:
        >>> p_values_at(np.array([0.0, 1, 10]), 10, np.array([0.01, 0.01, 1])).round(6).tolist()
        [1.0, 0.095618, 1.0]
    """
    count = np.asarray(counts, dtype=np.float64)
    shape = (-1,) + (1,) * (count.ndim - 1)
    n = np.asarray(n_passes, dtype=np.float64).reshape(shape)
    rate = np.asarray(rates, dtype=np.float64).reshape(shape)
    count, n, rate = np.broadcast_arrays(count, n, rate)
    inside = (count > 0) & (count <= n)
    tail = betainc(np.where(inside, count, 1), np.where(inside, n - count + 1, 1), rate)
    tail = np.where(inside, tail, np.where(count > n, 0.0, 1.0))
    return np.asarray(np.where(np.isnan(count), np.nan, tail), dtype=np.float64)
