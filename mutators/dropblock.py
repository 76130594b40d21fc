"""MC-DropBlock: squares of a feature map are dropped, per channel and per sample."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar, Self

import torch
from torch import Tensor, nn

from mutators.density import block_density, effective_block, exact_density, odd_block
from mutators.dropout import DEFAULT_RATES
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
from mutators.mutation import Mutant, Mutation, Operator, check_distinct, sweep_rates
from mutators.registry import register_operator
from mutators.report import InjectionReport
from mutators.sites import dropblock_sites, freeze_sites, resolve_sites
from scoring.errors import ConfigError
from scoring.tags import Rate, dropblock_tag

DEFAULT_BLOCKS = (1, 3, 5, 7, 9)
"""The block sizes of the study."""


def mc_dropblock(
    x: Tensor, rate: Rate, block: int, rows: RowKeys, *, exact_rate: bool = False
) -> Tensor:
    """Return x with squares dropped, kept values of each sample scaled by numel / kept.

    A sample that keeps nothing becomes zeros. A block larger than the map is clipped to
    `effective_block`.

    Args:
        x: (R, C, H, W) features of any floating dtype.
        rate: Share of elements to drop, in [0, 1). At 0 the result is x itself.
        block: Odd side of the squares, in cells.
        rows: Key of each row.
        exact_rate: Whether to choose the density so that the expected share dropped is `rate`;
            the formula of the paper stays below it where squares overlap.

    Raises:
        ConfigError: The rate lies outside [0, 1), the block is not odd, or x has not four
            dimensions and one row per key.

    Source:
        Ghiasi, Lin and Le 2018, https://arxiv.org/abs/1810.12890, algorithm 1; docs/masks.md.
    """
    mutation = DropBlockMutation(drop_rate(rate), odd_block(block), exact_rate=exact_rate)
    return x if mutation.is_identity or not x.numel() else mutation.perturb(x, rows).output


def _grow(starts: Tensor, side: int) -> Tensor:
    """Return the cells covered by squares whose first cells are given.

    Args:
        starts: (R, C, H - side + 1, W - side + 1) bool.
        side: Side of the squares.

    Returns:
        (R, C, H, W) bool.
    """
    return _stretch(_stretch(starts, 2, side), 3, side)


def _stretch(cells: Tensor, dim: int, side: int) -> Tensor:
    """Return each set cell stretched to a run of `side` cells along a dimension.

    The run doubles with each step: OR of a shifted copy, which beats a pooling 10 to 50 times.
    """
    length = cells.shape[dim]
    shape = list(cells.shape)
    shape[dim] = length + side - 1
    grown = cells.new_zeros(shape)
    grown.narrow(dim, 0, length).copy_(cells)
    run = 1
    while run < side:
        step = min(run, side - run)
        rest = shape[dim] - step
        shifted = grown.narrow(dim, 0, rest).clone()
        grown.narrow(dim, step, rest).bitwise_or_(shifted)
        run += step
    return grown


@dataclass(frozen=True, slots=True)
class DropBlockMutation(Mutation):
    """MC-DropBlock of one rate and block size at the given sites.

    Args:
        rate: In [0, 1); 0 leaves the model's outputs untouched.
        block: Odd side of the squares, in cells.
        sites: A preset, a pattern, or several patterns (see `resolve_sites`).
        exact_rate: Whether the expected share dropped is to equal the rate.
    """

    operator: ClassVar[str] = "mc_dropblock"

    rate: Decimal
    block: int
    sites: str | tuple[str, ...] = "uamters"
    exact_rate: bool = False

    @property
    def tag(self) -> str:
        """Tag of the mutant: its rate and the block size asked for."""
        return dropblock_tag(self.rate, self.block)

    def on_model(self, model: nn.Module) -> AbstractContextManager[Injection]:
        """Return a context in which the model's forwards are masked.

        Raises:
            ConfigError: The preset has no four-dimensional site in this model.
        """
        sites = dropblock_sites(model, self.sites)
        if not sites:
            flat = ", ".join(site.label for site in resolve_sites(model, self.sites))
            raise ConfigError(
                f"mc_dropblock: sites {self.sites!r} of {type(model).__name__} have no map of four "
                f"dimensions ({flat}); use mc_dropout there, or other sites"
            )
        return inject(model, sites, self)

    def perturb(self, x: Tensor, rows: RowKeys) -> Masked:
        """Return x under this mutation's mask."""
        return mask_rows(x, rows, self._mask)

    def _mask(self, x: Tensor, rows: RowKeys) -> Masked:
        if x.dim() != 4:
            raise ConfigError(
                "DropBlock needs maps of four dimensions (rows, channels, height, width), "
                f"got {x.dim()}; use mc_dropout there"
            )
        channels, height, width = x.shape[1:]
        side = effective_block(self.block, height, width)
        density = exact_density if self.exact_rate else block_density
        threshold = word_threshold(density(self.rate, side, height, width))
        lattice = (channels, height - side + 1, width - side + 1)
        starts = drop_mask(rows, math.prod(lattice), threshold, x.device)
        dropped = _grow(starts.view(len(x), *lattice), side)
        count = count_rows(dropped.flatten(1))
        total = channels * height * width
        kept = total - count
        # A tensor below a number would be multiplied by its reciprocal, and rounded twice.
        quotient = torch.full_like(kept, total, dtype=torch.float64) / kept
        # A sample that kept nothing has scale 1: its zeros stay zeros.
        scale = torch.where(kept > 0, quotient, 1.0).to(torch.float32)
        return Masked(
            output=apply_mask(x, dropped, scale.view(-1, 1, 1, 1)),
            dropped=count.sum(),
            empty=(kept == 0).sum(),
            block=side,
        )


@register_operator
@dataclass(frozen=True, slots=True)
class MCDropBlock(Operator):
    """The MC-DropBlock operator: one mutant per rate and block size.

    Args:
        rates: Rates in [0, 1). Rate 0 is the original and makes no mutant.
        blocks: Odd block sizes, in cells.
        sites: A preset, a pattern, or several patterns; a preset's two-dimensional sites are
            left out.
        exact_rate: Whether the expected share dropped is to equal the rate.

    Raises:
        ConfigError: A rate lies outside [0, 1), a block is even, or one is given twice.

    Example:
        >>> [mutant.tag for mutant in MCDropBlock(rates=(0.1,), blocks=(1, 3)).mutants()]
        ['0.1_1', '0.1_3']
    """

    name: ClassVar[str] = DropBlockMutation.operator

    rates: Sequence[Rate] = DEFAULT_RATES
    blocks: Sequence[int] = DEFAULT_BLOCKS
    sites: str | Sequence[str] = "uamters"
    exact_rate: bool = False

    def __post_init__(self) -> None:
        blocks = tuple(odd_block(block) for block in self.blocks)
        check_distinct("blocks", blocks)
        object.__setattr__(self, "rates", sweep_rates(self.rates))
        object.__setattr__(self, "blocks", blocks)
        object.__setattr__(self, "sites", freeze_sites(self.sites))

    def original(self) -> Mutant:
        """Return the mutant of rate 0 and block 1."""
        return self._mutant(Decimal(0), 1)

    def mutants(self) -> list[Mutant]:
        """Return one mutant per rate above 0 and block: rates outside, blocks inside."""
        rates = [rate for rate in sweep_rates(self.rates) if rate]
        return [self._mutant(rate, block) for rate in rates for block in self.blocks]

    @classmethod
    def examples(cls) -> list[Self]:
        """Return small sweeps that a test runs."""
        return [cls(rates=(0.1,), blocks=(1, 3)), cls(rates=(0.5,), blocks=(7,), exact_rate=True)]

    def _mutant(self, rate: Decimal, block: int) -> Mutant:
        sites = freeze_sites(self.sites)
        return Mutant.of(DropBlockMutation(rate, block, sites, self.exact_rate))


def same_distribution(reports: Mapping[Mutant, InjectionReport]) -> list[tuple[Mutant, ...]]:
    """Return the groups of mutants that draw from one distribution.

    Blocks that are clipped to equal sizes at every site differ in their masks, by their tags, but
    not in their chances: together they are one mutant, counted more than once.

    Args:
        reports: What each mutant's masks did on the same images.

    Returns:
        Groups of two or more DropBlock mutants of one rate whose effective block sizes agree at
        every site, in the order given.
    """
    groups: defaultdict[object, list[Mutant]] = defaultdict(list)
    for mutant, report in reports.items():
        mutation = mutant.mutation
        if isinstance(mutation, DropBlockMutation) and not mutation.is_identity:
            # A clipped size is the largest that fits, so equal sets mean equal sizes call by call.
            blocks = tuple((site.site, site.blocks) for site in report.sites)
            groups[mutation.rate, mutation.exact_rate, blocks].append(mutant)
    return [tuple(group) for group in groups.values() if len(group) > 1]
