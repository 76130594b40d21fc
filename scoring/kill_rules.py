"""Kill rules: which mutants a suite's images kill, from counts and p values.

`any` is what was published, `significant` what is documented, `holm` what survives a correction
for the number of images.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from scoring.errors import ConfigError, DataError

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

KillRule = Literal["any", "significant", "holm"]
KILL_RULES: tuple[KillRule, ...] = ("any", "significant", "holm")


def holm_adjusted(p_values: Floats) -> Floats:
    """Return Holm's adjusted p values of the images of a suite.

    Args:
        p_values: (I,) or (I, M) raw p values, images along the first axis; NaN where an image has
            no row, which takes no part.

    Returns:
        The same shape; NaN stays NaN. An image is significant at level alpha with the error rate
        of the whole suite kept iff its adjusted value is below alpha. The smallest one is m times
        the smallest raw value, for m images with a row.

    Source: S. Holm, A simple sequentially rejective multiple test procedure, 1979; scoring.md,
        section 3, row 16.

    Example:
        >>> holm_adjusted(np.array([0.01, 0.04, 0.03, np.nan])).round(9).tolist()
        [0.03, 0.06, 0.06, nan]
    """
    raw = np.asarray(p_values, dtype=np.float64)
    if not len(raw):
        return raw.copy()
    order = np.argsort(raw, axis=0, kind="stable")  # NaN last
    ascending = np.take_along_axis(raw, order, axis=0)
    number = (~np.isnan(raw)).sum(axis=0)
    rank = np.arange(len(raw)).reshape((-1,) + (1,) * (raw.ndim - 1))
    stepped = np.maximum.accumulate(ascending * np.maximum(number - rank, 0), axis=0)
    adjusted = np.empty_like(raw)
    np.put_along_axis(adjusted, order, np.minimum(stepped, 1.0), axis=0)
    return adjusted


def killing_images(counts: Floats, p_values: Floats, rule: KillRule, alpha: float = 0.05) -> Flags:
    """Return which images kill by this rule.

    Args:
        counts: (I,) or (I, M) passes with a change of one kind; NaN where an image has no row.
        p_values: The same shape, of the binomial test.
        rule: `any`: count > 0; `significant`: p < alpha; `holm`: adjusted p < alpha.
        alpha: Level of the last two.

    Returns:
        The same shape; an image without a row kills nothing. A mutant is killed iff any image
        kills it.

    Raises:
        ConfigError: There is no such rule.

    Source: scoring.md, section 4, point 1, and section 3, row 16.

    Example:
        >>> counts, p_values = np.array([0.0, 1, 2]), np.array([1.0, 0.0956, 0.0043])
        >>> [int(killing_images(counts, p_values, rule).sum()) for rule in KILL_RULES]
        [2, 1, 1]
    """
    if rule == "any":
        return np.asarray(np.asarray(counts) > 0)
    if rule == "significant":
        return np.asarray(np.asarray(p_values) < alpha)
    if rule == "holm":
        return np.asarray(holm_adjusted(p_values) < alpha)
    raise ConfigError(f"kill rule: expected one of {', '.join(KILL_RULES)}, got {rule!r}")


@dataclass(frozen=True, slots=True)
class KillDecision:
    """What all kill rules say about one mutant, for one kind of change, on one suite.

    Args:
        is_killed: By rule, in the order of `KILL_RULES`; None where curtailed passes leave it open.
        n_killing: Images that kill, by rule; those that are known to.
        n_images: Images with a row.
        smallest_p: The smallest raw p value; NaN without any image.
        share_at_none: Share of the images with no changed pass; NaN without any image.
        share_at_all: Share of the images with a change in every pass, likewise.
        is_reliable: False where the original is not deterministic and no identity mutant says how
            much it flickers by itself.
    """

    is_killed: tuple[bool | None, bool | None, bool | None]
    n_killing: tuple[int, int, int]
    n_images: int
    smallest_p: float
    share_at_none: float
    share_at_all: float
    is_reliable: bool = True

    def killed_by(self, rule: KillRule) -> bool | None:
        """Return whether the mutant is killed by this rule; None where that is open."""
        return self.is_killed[KILL_RULES.index(rule)]


def decide(
    counts: Floats,
    p_values: Floats,
    n_passes: npt.NDArray[np.int64] | int,
    *,
    alpha: float = 0.05,
    is_reliable: bool = True,
) -> KillDecision:
    """Return what all kill rules say about one mutant.

    Args:
        counts: (I,) passes with a change of one kind; NaN where an image has no row.
        p_values: (I,) of the binomial test, at the noise floor that holds.
        n_passes: T, or (I,) where it differs between images.
        alpha: Level of the tests.
        is_reliable: As `scoring.noise_floor.NoiseFloor` says.

    Raises:
        DataError: The shapes differ.

    Example:
        >>> decide(np.array([0.0, 1.0]), np.array([1.0, 0.0956]), 10).is_killed
        (True, False, False)
    """
    counts, p_values = np.asarray(counts, np.float64), np.asarray(p_values, np.float64)
    if counts.ndim != 1 or counts.shape != p_values.shape:
        raise DataError(
            f"kill decision: expected one count and p value per image, got shapes "
            f"{counts.shape} and {p_values.shape}"
        )
    there = ~np.isnan(counts)
    number = int(there.sum())
    killing = [killing_images(counts, p_values, rule, alpha) for rule in KILL_RULES]
    at_none, at_all = counts[there] == 0, (counts == n_passes)[there]
    return KillDecision(
        (bool(killing[0].any()), bool(killing[1].any()), bool(killing[2].any())),
        (int(killing[0].sum()), int(killing[1].sum()), int(killing[2].sum())),
        number,
        float(p_values[there].min()) if number else np.nan,
        float(at_none.mean()) if number else np.nan,
        float(at_all.mean()) if number else np.nan,
        is_reliable,
    )
