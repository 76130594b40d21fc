"""How a mutant is written: rates are decimals, and one mutant has one tag.

The only place that formats a rate. A name is built from (operator, tag, stem) and never split
again, because stems may begin with digits.
"""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Decimal, InvalidOperation

from scoring.errors import ConfigError

Rate = Decimal | float | int | str

_PLACES = Decimal("0.000001")


def parse_rate(rate: Rate) -> Decimal:
    """Return the rate as an exact decimal, rounded to six places.

    Args:
        rate: A number, or its text (`"0.1"`, `".1"`, `"0.10"`).

    Raises:
        ConfigError: The rate is no finite number, or one too large to be any rate.

    Example:
        >>> parse_rate(0.1 + 0.2)
        Decimal('0.3')
    """
    text = str(rate).strip()
    try:
        rounded = Decimal(text).quantize(_PLACES, rounding=ROUND_HALF_EVEN)
    except InvalidOperation:
        rounded = Decimal("NaN")
    # Decimal reads an underscore as a separator of digits: the tag 0.1_3 would be the rate 0.13.
    if "_" in text or not rounded.is_finite():
        raise ConfigError(f"rate: expected a decimal number such as 0.15, got {rate!r}")
    return Decimal(0) if rounded == 0 else rounded.normalize()


def format_rate(rate: Rate) -> str:
    """Return the text of a rate as it stands in folder names.

    Example:
        >>> [format_rate(r) for r in (0.1, "0.10", ".1", 0.30000000000000004, 0.0, 1)]
        ['0.1', '0.1', '0.1', '0.3', '0', '1']
    """
    return f"{parse_rate(rate):f}"


def dropout_tag(rate: Rate) -> str:
    """Return the tag of an MC-Dropout mutant.

    Example:
        >>> dropout_tag(0.15)
        '0.15'
    """
    return format_rate(rate)


def dropblock_tag(rate: Rate, block: int) -> str:
    """Return the tag of an MC-DropBlock mutant: rate and requested block size.

    Example:
        >>> dropblock_tag(0.1, 3), dropblock_tag(0, 1)
        ('0.1_3', '0_1')
    """
    return f"{format_rate(rate)}_{block}"


def mutant_tag(rate: Rate | tuple[Rate, int]) -> str:
    """Return the tag of a mutant given as a rate, or as (rate, block).

    Example:
        >>> mutant_tag(0.1), mutant_tag((0.1, 3))
        ('0.1', '0.1_3')
    """
    return dropblock_tag(*rate) if isinstance(rate, tuple) else dropout_tag(rate)


def plain_tag(tag: str) -> str:
    """Return the one way to write a tag: 0.10 and 0.1 are one mutant; a name stays as it is.

    Example:
        >>> plain_tag("0.10_3"), plain_tag(".5"), plain_tag("identity")
        ('0.1_3', '0.5', 'identity')
    """
    rate, separator, rest = tag.partition("_")
    try:
        return f"{format_rate(rate)}{separator}{rest}"
    except ConfigError:
        return tag


def tag_order(tag: str) -> tuple[tuple[Decimal, ...], str]:
    """Return a sort key that orders tags by rate, then by block size.

    A tag that is not made of numbers sorts behind those that are, by its text.

    Example:
        >>> sorted(["0.1_9", "0.05_3", "0.1_3"], key=tag_order)
        ['0.05_3', '0.1_3', '0.1_9']
    """
    try:
        numbers = tuple(Decimal(part) for part in tag.split("_"))
    except InvalidOperation:
        numbers = (Decimal("NaN"),)
    if all(number.is_finite() for number in numbers):
        return numbers, ""
    return (Decimal("Infinity"),), tag
