"""Rules: the frozen value that says which definition each number follows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, Self

from scoring.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Rules:
    """Every choice behind the scores, in one place.

    Args:
        name: What the summaries call this rule set.
        iou_threshold: A pair matches only above it (strictly), 0 to 1.
        null_rate: p0 of the binomial test: the share of passes that noise alone may change.
        alpha: A kill is significant below this level.
        binomial_n: Number of trials of the binomial test; None means the number of passes T. The
            reference implementation fixes 10 whatever T is.
        nonfinite: A NaN or infinity in a box, score or class vector is refused by name
            (`"refuse"`), or kept and compared as the reference does (`"keep"`).

    Raises:
        ConfigError: A value lies outside its range.
    """

    name: str = "deepluq"
    iou_threshold: float = 0.5
    null_rate: float = 0.01
    alpha: float = 0.05
    binomial_n: int | None = None
    nonfinite: Literal["refuse", "keep"] = "refuse"

    def __post_init__(self) -> None:
        for field in ("iou_threshold", "null_rate", "alpha"):
            value = getattr(self, field)
            if not 0 <= value <= 1:
                raise ConfigError(f"rules: {field} must lie in 0..1, got {value!r}")
        if self.binomial_n is not None and self.binomial_n < 1:
            raise ConfigError(f"rules: binomial_n must be at least 1, got {self.binomial_n!r}")
        if self.nonfinite not in ("refuse", "keep"):
            raise ConfigError(f"rules: nonfinite must be refuse or keep, got {self.nonfinite!r}")

    def with_(self, **changes: object) -> Self:
        """Return the same rules with these fields changed."""
        return replace(self, **changes)  # type: ignore[arg-type]


DEEPLUQ = Rules()
"""The numbers that `deepluq.metrics_mut` and the UAMTERS study publish."""
