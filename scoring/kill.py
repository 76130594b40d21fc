"""Kill: does an image notice a mutant, by the binomial test over its passes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import betainc

from scoring.errors import ConfigError


@dataclass(frozen=True, slots=True)
class BinomialTest:
    """A one-sided binomial test of `count` changed passes out of `n`."""

    n: int
    count: int
    null_rate: float
    p_value: float
    """P(Bin(n, p0) >= count); 1 for count 0"""
    cohens_h: float
    """2 asin sqrt(count / n) - 2 asin sqrt(p0); NaN where count > n"""
    critical_count: int
    """k*, the smallest k with P(Bin(n, p0) >= k) <= alpha; n + 1 if there is none"""
    power: float
    """P(Bin(n, count / n) >= k*); 0 if no k* <= n exists, NaN where count > n"""


def _tail(count: int, n: int, rate: float) -> float:
    """Return P(Bin(n, rate) >= count), by the incomplete beta function."""
    if count <= 0:
        return 1.0
    return float(betainc(count, n - count + 1, rate)) if count <= n else 0.0


@lru_cache(maxsize=4096)
def binomial_test(count: int, n: int, null_rate: float = 0.01, alpha: float = 0.05) -> BinomialTest:
    """Return the test of `count` passes with a change against a noise floor.

    Args:
        count: Number of passes that show a miss, a ghost, or either; at least 0.
        n: Number of trials. The reference fixes 10, so that count may exceed n.
        null_rate: p0, the share of passes that chance alone may change.
        alpha: Level of the critical count behind `power`.

    Raises:
        ConfigError: count or n is negative, or n is 0.

    Source: scoring.md, section 2, "Image level".

    Example:
        >>> test = binomial_test(2, 10)
        >>> round(test.p_value, 6), round(test.cohens_h, 4), round(test.power, 6)
        (0.004266, 0.727, 0.62419)
    """
    if count < 0 or n < 1:
        raise ConfigError(f"binomial test: expected count >= 0 and n >= 1, got {count} and {n}")
    critical = next((k for k in range(n + 1) if _tail(k, n, null_rate) <= alpha), n + 1)
    p_value = _tail(count, n, null_rate)
    if count > n:
        return BinomialTest(n, count, null_rate, p_value, np.nan, critical, np.nan)
    share = count / n
    cohens_h = 2 * np.arcsin(np.sqrt(share)) - 2 * np.arcsin(np.sqrt(null_rate))
    power = _tail(critical, n, share)
    return BinomialTest(n, count, null_rate, p_value, float(cohens_h), critical, power)


@lru_cache(maxsize=4096)
def least_kill(n: int, null_rate: float = 0.01, alpha: float = 0.05) -> int:
    """Return how many changed passes out of `n` make a significant kill, at the least.

    Args:
        n: Number of trials, at least 1.
        null_rate: p0, the share of passes that chance alone may change.
        alpha: A kill is significant below this level.

    Returns:
        The smallest count whose p value is below alpha; n + 1 if none is.

    Raises:
        ConfigError: n is below 1.

    Source: scoring.md, section 4, point 1.

    Example:
        >>> [least_kill(n) for n in (1, 5, 6, 10, 30)]
        [1, 1, 2, 2, 2]
    """
    if n < 1:
        raise ConfigError(f"least kill: expected n >= 1, got {n}")
    counts = range(1, n + 1)
    return next((k for k in counts if binomial_test(k, n, null_rate, alpha).p_value < alpha), n + 1)
