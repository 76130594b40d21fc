"""MC-Dropout: every element of a feature tensor is dropped on its own."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar, Self

from torch import Tensor, nn

from mutators.injection import Injection, inject
from mutators.keys import RowKeys
from mutators.masks import (
    Masked,
    apply_mask,
    count_rows,
    drop_mask,
    drop_rate,
    mask_rows,
    word_threshold,
)
from mutators.mutation import Mutant, Mutation, Operator, sweep_rates
from mutators.registry import register_operator
from mutators.sites import freeze_sites, resolve_sites
from scoring.tags import Rate, dropout_tag

DEFAULT_RATES = tuple(Decimal(k) / 100 for k in range(10, 55, 5))
"""0.1, 0.15, ... 0.5: the sweep of the study."""


def mc_dropout(x: Tensor, rate: Rate, rows: RowKeys) -> Tensor:
    """Return x under an element-wise mask, kept values scaled by 1 / (1 - rate).

    Args:
        x: (R, ...) features of any floating dtype.
        rate: Share of elements to drop, in [0, 1). At 0 the result is x itself.
        rows: Key of each row.

    Raises:
        ConfigError: The rate lies outside [0, 1), or x has not one row per key.

    Source:
        Gal and Ghahramani 2016, https://arxiv.org/abs/1506.02142; docs/masks.md.
    """
    mutation = DropoutMutation(drop_rate(rate))
    return x if mutation.is_identity or not x.numel() else mutation.perturb(x, rows).output


@dataclass(frozen=True, slots=True)
class DropoutMutation(Mutation):
    """MC-Dropout of one rate at the given sites.

    Args:
        rate: In [0, 1); 0 leaves the model's outputs untouched.
        sites: A preset, a pattern, or several patterns (see `resolve_sites`).
    """

    operator: ClassVar[str] = "mc_dropout"

    rate: Decimal
    sites: str | tuple[str, ...] = "uamters"

    @property
    def tag(self) -> str:
        """Tag of the mutant: its rate."""
        return dropout_tag(self.rate)

    def on_model(self, model: nn.Module) -> AbstractContextManager[Injection]:
        """Return a context in which the model's forwards are masked."""
        return inject(model, resolve_sites(model, self.sites), self)

    def perturb(self, x: Tensor, rows: RowKeys) -> Masked:
        """Return x under this mutation's mask."""
        return mask_rows(x, rows, self._mask)

    def _mask(self, x: Tensor, rows: RowKeys) -> Masked:
        dropped = drop_mask(rows, x[0].numel(), word_threshold(self.rate), x.device)
        count = count_rows(dropped)
        return Masked(
            output=apply_mask(x, dropped.view(x.shape), 1.0 / (1.0 - float(self.rate))),
            dropped=count.sum(),
            empty=(count == dropped.shape[1]).sum(),
        )


@register_operator
@dataclass(frozen=True, slots=True)
class MCDropout(Operator):
    """The MC-Dropout operator: one mutant per rate.

    Args:
        rates: Rates in [0, 1). Rate 0 is the original and makes no mutant.
        sites: A preset, a pattern, or several patterns.

    Raises:
        ConfigError: A rate lies outside [0, 1) or is given twice.

    Example:
        >>> [mutant.tag for mutant in MCDropout(rates=(0.1, 0.15)).mutants()]
        ['0.1', '0.15']
    """

    name: ClassVar[str] = DropoutMutation.operator

    rates: Sequence[Rate] = DEFAULT_RATES
    sites: str | Sequence[str] = "uamters"

    def __post_init__(self) -> None:
        object.__setattr__(self, "rates", sweep_rates(self.rates))
        object.__setattr__(self, "sites", freeze_sites(self.sites))

    def original(self) -> Mutant:
        """Return the mutant of rate 0."""
        return self._mutant(Decimal(0))

    def mutants(self) -> list[Mutant]:
        """Return one mutant per rate above 0, in the order given."""
        return [self._mutant(rate) for rate in sweep_rates(self.rates) if rate]

    @classmethod
    def examples(cls) -> list[Self]:
        """Return small sweeps that a test runs."""
        return [cls(rates=(0.1, 0.5))]

    def _mutant(self, rate: Decimal) -> Mutant:
        return Mutant.of(DropoutMutation(rate, freeze_sites(self.sites)))
