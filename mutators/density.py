"""How densely DropBlock sows its squares: block sizes that fit, gamma, expected shares."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from functools import lru_cache

from mutators.masks import drop_rate
from scoring.errors import ConfigError
from scoring.tags import Rate

_BISECTIONS = 60


def odd_block(block: int) -> int:
    """Return the block size.

    Raises:
        ConfigError: It is no odd whole number above 0.
    """
    if isinstance(block, bool) or not isinstance(block, int) or block < 1 or block % 2 == 0:
        raise ConfigError(f"block: expected an odd whole number of cells (1, 3, 5), got {block!r}")
    return block


def effective_block(block: int, height: int, width: int) -> int:
    """Return the largest odd size up to `block` that fits on a map.

    Example:
        >>> effective_block(9, 8, 8), effective_block(9, 25, 34), effective_block(9, 1, 7)
        (7, 9, 1)
    """
    side = min(height, width)
    return min(block, side if side % 2 else side - 1)


def block_density(rate: Rate, block: int, height: int, width: int) -> Fraction:
    """Return gamma, the chance that a block starts at a position where it fits.

    gamma = rate * H * W / (b^2 * (H - b + 1) * (W - b + 1)), exactly.

    Args:
        rate: In [0, 1).
        block: Effective size b, at most the map's sides.
        height: H, in cells.
        width: W, in cells.

    Source:
        Ghiasi, Lin and Le 2018, equation 1.
    """
    positions = (height - block + 1) * (width - block + 1)
    return Fraction(drop_rate(rate)) * height * width / (block**2 * positions)


def expected_share(gamma: float, block: int, height: int, width: int) -> float:
    """Return the expected share of cells dropped at a density.

    Cell (i, j) lies in n = rows(i) * cols(j) blocks, rows(i) = min(i+1, H-i, b, H-b+1), and is
    kept with chance (1 - gamma)^n.

    Args:
        gamma: Chance that a block starts at a position.
        block: Effective size b.
        height: H, in cells.
        width: W, in cells.

    Example:
        >>> gamma = float(block_density(0.5, 3, 8, 8))
        >>> round(expected_share(gamma, 3, 8, 8), 3)
        0.386
    """
    cells: Counter[int] = Counter()
    columns = _blocks_over(block, width)
    for over_row, row_count in _blocks_over(block, height).items():
        for over_column, column_count in columns.items():
            cells[over_row * over_column] += row_count * column_count
    dropped = sum(count * (1.0 - (1.0 - gamma) ** n) for n, count in cells.items())
    return dropped / (height * width)


@lru_cache(maxsize=1024)
def exact_density(rate: Rate, block: int, height: int, width: int) -> float:
    """Return the density at which the expected share dropped is the rate.

    60 bisections of [0, 1] in float64; the lower end, so that the share does not exceed the rate.

    Example:
        >>> round(expected_share(exact_density(0.5, 3, 8, 8), 3, 8, 8), 12)
        0.5
    """
    target = float(drop_rate(rate))
    low, high = 0.0, 1.0
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        if expected_share(middle, block, height, width) <= target:
            low = middle
        else:
            high = middle
    return low


def _blocks_over(block: int, length: int) -> Counter[int]:
    """Count the cells of a line by the number of blocks that cover them."""
    return Counter(min(i + 1, length - i, block, length - block + 1) for i in range(length))
