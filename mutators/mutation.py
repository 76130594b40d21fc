"""What an operator is: a sweep of mutants, each one mutation with its numbers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar, Self

import torch
from torch import Tensor, nn

from mutators.injection import Injection, inject
from mutators.keys import RowKeys
from mutators.masks import Masked, drop_rate
from scoring.errors import ConfigError
from scoring.tags import Rate


class Mutation(ABC):
    """What is perturbed. A mutation is a frozen value; its rate 0 is the identity."""

    __slots__ = ()

    operator: ClassVar[str]
    rate: Decimal

    @property
    @abstractmethod
    def tag(self) -> str:
        """The tag of this mutation's mutant."""

    @property
    def is_identity(self) -> bool:
        """Whether this mutation changes nothing."""
        return self.rate == 0

    @abstractmethod
    def on_model(self, model: nn.Module) -> AbstractContextManager[Injection]:
        """Return a context in which the model is mutated, and behind which it is as before."""

    @abstractmethod
    def perturb(self, x: Tensor, rows: RowKeys) -> Masked:
        """Return x under the mutation's mask; asked for elements and a rate above 0 only."""


@dataclass(frozen=True, slots=True)
class Identity(Mutation):
    """The mutation that changes nothing: the noise floor of every statistic."""

    operator: ClassVar[str] = "identity"

    rate: Decimal = Decimal(0)

    @property
    def tag(self) -> str:
        """Tag of the unmutated model."""
        return "0"

    def on_model(self, model: nn.Module) -> AbstractContextManager[Injection]:
        """Return a context without a hook."""
        return inject(model, (), self)

    def perturb(self, x: Tensor, rows: RowKeys) -> Masked:
        """Return x itself."""
        nothing = x.new_zeros((), dtype=torch.int64)
        return Masked(output=x, dropped=nothing, empty=nothing)


@dataclass(frozen=True, slots=True)
class Mutant:
    """One mutation with its numbers, known by operator and tag.

    Args:
        operator: Name of the operator, such as `mc_dropblock`.
        tag: Its numbers, such as `0.1_3`.
        mutation: What it does to a model.
    """

    operator: str
    tag: str
    mutation: Mutation

    @classmethod
    def of(cls, mutation: Mutation) -> Self:
        """Return the mutant of a mutation."""
        return cls(mutation.operator, mutation.tag, mutation)

    @property
    def is_original(self) -> bool:
        """Whether this is the unmutated model (rate 0)."""
        return self.mutation.is_identity


class Operator(ABC):
    """A way to mutate, swept over its numbers."""

    __slots__ = ()

    name: ClassVar[str]

    @abstractmethod
    def original(self) -> Mutant:
        """Return the unmutated model that this operator's mutants are compared with."""

    @abstractmethod
    def mutants(self) -> list[Mutant]:
        """Return the mutants of the sweep, the original excluded."""

    @classmethod
    @abstractmethod
    def examples(cls) -> list[Self]:
        """Return small sweeps that a test runs on a small model."""


def sweep_rates(rates: Iterable[Rate]) -> tuple[Decimal, ...]:
    """Return the rates of a sweep as exact decimals.

    Raises:
        ConfigError: A rate lies outside [0, 1), is given twice, or `rates` is one number.
    """
    if isinstance(rates, str) or not isinstance(rates, Iterable):
        raise ConfigError(f"rates: expected a sequence of numbers in [0, 1), got {rates!r}")
    exact = tuple(drop_rate(rate) for rate in rates)
    check_distinct("rates", exact)
    return exact


def check_distinct(what: str, values: Sequence[Decimal | int]) -> None:
    """Refuse a sweep that would make one mutant twice.

    Raises:
        ConfigError: A value stands in the sweep twice.
    """
    twice = sorted({value for value in values if values.count(value) > 1})
    if twice:
        raise ConfigError(f"{what}: {', '.join(map(str, twice))} is given more than once")
