"""The published mask function: which elements of a tensor a pass drops.

A mask depends on nothing but its key, so that it can be recomputed by anyone, on any device and in
any order. `docs/masks.md` is the description for readers; a numpy reference in the tests holds this
file to it bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from mutators.keys import RowKeys
from scoring.errors import ConfigError
from scoring.tags import Rate, parse_rate

MASK_VERSION = 1

WORD = 1 << 32
"""Number of values of an unsigned 32-bit word: thresholds and indices lie below it."""

_MULTIPLIERS = (0x7FEB352D, 0x846CA68B)
# Elements worked on at a time, where measured best. On a CPU the scratch of hashing should stay in
# the cache, and that of masking below what an allocator returns to the system; on a GPU fewer,
# larger launches win, and 2^24 bounds the scratch to 128 MiB.
_HASHED_CPU = 1 << 16
_MASKED_CPU = 1 << 19
_GPU = 1 << 24
_LONG_ROW = 1 << 12


@dataclass(frozen=True, slots=True, eq=False)
class Masked:
    """A masked tensor, and what the mask did.

    Args:
        output: The new tensor, in the shape and dtype of the input.
        dropped: Number of elements dropped, a scalar on the tensor's device.
        empty: Number of samples that kept nothing, a scalar on the tensor's device.
        block: Effective block size; None for an element-wise mask.
    """

    output: Tensor
    dropped: Tensor
    empty: Tensor
    block: int | None = None


def drop_rate(rate: Rate) -> Decimal:
    """Return a drop rate as the exact decimal of its tag.

    Raises:
        ConfigError: The rate is no number in [0, 1).
    """
    exact = parse_rate(rate)
    if not 0 <= exact < 1:
        raise ConfigError(f"rate: expected a number in [0, 1), got {rate!r}")
    return exact


def word_threshold(share: Decimal | Fraction | float) -> int:
    """Return floor(share * 2^32) in exact arithmetic.

    Example:
        >>> word_threshold(Decimal("0.1"))
        429496729
    """
    return int(Fraction(share) * WORD)


def mix(word: int) -> int:
    """Return the 32-bit word that `word` is mixed to (the public-domain hash `lowbias32`).

    Example:
        >>> f"{mix(1):08x} {mix(0xFFFFFFFF):08x}"
        '688990c0 6768824a'
    """
    word ^= word >> 16
    word = word * _MULTIPLIERS[0] % WORD
    word ^= word >> 15
    word = word * _MULTIPLIERS[1] % WORD
    return word ^ word >> 16


def drop_mask(rows: RowKeys, size: int, threshold: int, device: torch.device) -> Tensor:
    """Return which elements are dropped.

    Args:
        rows: Keys of the R rows.
        size: Elements of a row, in C order of their logical index.
        threshold: An element is dropped iff its word lies below this; 0 to 2^32 - 1.
        device: Where the mask is computed.

    Returns:
        (R, size) bool, True where dropped.

    Raises:
        ConfigError: A pass would need more than 2^32 different indices.

    Source:
        docs/masks.md, "Elements".
    """
    passed = (int(rows.ranks.max()) + 1 if len(rows) else 0) * size
    if passed > WORD:
        raise ConfigError(f"mask: at most 2^32 elements in a sample have an index, got {passed}")
    first = rows.k0 + (rows.ranks * size).astype(np.uint32)
    start = _signed_column(first, device)
    key = _signed_column(rows.k1, device)
    # Words are held as int32: equal bits, and flipping the top bit on both sides turns the signed
    # comparison into the unsigned one.
    below = _signed(threshold ^ 0x80000000)
    dropped = torch.empty((len(rows), size), dtype=torch.bool, device=device)
    chunk = _HASHED_CPU if device.type == "cpu" else _GPU
    width = max(1, min(size, chunk // max(1, len(rows))))
    index = torch.arange(width, dtype=torch.int32, device=device)
    for left in range(0, size, width):
        part = dropped[:, left : left + width]
        words = index[: part.shape[1]] + (start + _signed(left))
        spare = torch.empty_like(words)
        _mix_words(words, spare)
        words.bitwise_xor_(key)
        _mix_words(words, spare)
        words.bitwise_xor_(_signed(0x80000000))
        torch.lt(words, below, out=part)
    return dropped


def count_rows(mask: Tensor) -> Tensor:
    """Return how many elements of each row are set.

    Args:
        mask: (R, N) bool.

    Returns:
        (R,) int64.
    """
    if mask.device.type != "cpu" or mask.shape[1] < _LONG_ROW:
        return mask.sum(dim=1)
    # On a CPU a sum along rows was measured at 6.6 ns an element, count_nonzero at .5.
    return torch.stack([row.count_nonzero() for row in mask])


def mask_rows(x: Tensor, rows: RowKeys, mask: Callable[[Tensor, RowKeys], Masked]) -> Masked:
    """Return x masked a few rows at a time, so that masks and factors stay small.

    Args:
        x: (R, ...) features of any floating dtype, with at least one element.
        rows: Keys of the R rows.
        mask: What is done to some of the rows.

    Raises:
        ConfigError: x is not floating, or has not one row per key.
    """
    if not x.is_floating_point():
        raise ConfigError(f"mask: expected a floating-point tensor, got {x.dtype}")
    if x.dim() == 0 or len(x) != len(rows):
        raise ConfigError(
            f"mask: expected a tensor of {len(rows)} rows of features, got shape {tuple(x.shape)}"
        )
    chunk = _MASKED_CPU if x.device.type == "cpu" else _GPU
    height = max(1, chunk * len(x) // x.numel())
    output = torch.empty_like(x)
    parts = []
    for top in range(0, len(x), height):
        part = mask(x[top : top + height], rows.part(top, top + height))
        output[top : top + height] = part.output
        parts.append((part.dropped, part.empty))
    dropped, empty = (torch.stack(counts).sum() for counts in zip(*parts, strict=True))
    return Masked(output, dropped, empty, part.block)


def apply_mask(x: Tensor, dropped: Tensor, scale: Tensor | float) -> Tensor:
    """Return x with dropped elements zeroed and the others scaled, in the dtype of x.

    Args:
        x: Any floating dtype; its memory format is kept.
        dropped: Bool, in the shape of x.
        scale: A float32 factor, or one per row in a shape that broadcasts.
    """
    factor = dropped.logical_not().to(torch.float32).mul_(scale)
    return (x.to(torch.float32) * factor).to(x.dtype)


def _signed(word: int) -> int:
    """Return the int32 value with the bits of an unsigned word."""
    return word - WORD if word >= WORD // 2 else word


def _signed_column(words: npt.NDArray[np.uint32], device: torch.device) -> Tensor:
    """Return unsigned words as an (R, 1) int32 tensor with the same bits."""
    return torch.from_numpy(words.view(np.int32).reshape(-1, 1)).to(device)


def _mix_words(words: Tensor, spare: Tensor) -> None:
    """Apply `mix` in place to int32 words, with a scratch tensor of the same shape.

    The `&` after each shift makes it a logical one: int32 shifts copy the sign bit.
    """
    _xor_shifted(words, spare, 16)
    words.mul_(_signed(_MULTIPLIERS[0]))
    _xor_shifted(words, spare, 15)
    words.mul_(_signed(_MULTIPLIERS[1]))
    _xor_shifted(words, spare, 16)


def _xor_shifted(words: Tensor, spare: Tensor, bits: int) -> None:
    torch.bitwise_right_shift(words, bits, out=spare)
    words.bitwise_xor_(spare.bitwise_and_((1 << (32 - bits)) - 1))
