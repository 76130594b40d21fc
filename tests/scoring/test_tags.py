"""One mutant has one tag, however its rate is written."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.errors import ConfigError
from scoring.tags import dropblock_tag, dropout_tag, format_rate, mutant_tag, parse_rate, tag_order
from tests.scoring.scenes import steadily


@pytest.mark.parametrize(
    ("rate", "tag"),
    [
        (0.1, "0.1"),
        ("0.10", "0.1"),
        (".1", "0.1"),
        (" 0.1 ", "0.1"),
        (Decimal("0.100"), "0.1"),
        ("1e-1", "0.1"),
        (0.15, "0.15"),
        (0.1 + 0.2, "0.3"),
        (0.30000000000000004, "0.3"),
        (0, "0"),
        (0.0, "0"),
        (-0.0, "0"),
        ("0.0", "0"),
        (1e-9, "0"),
        (-1e-9, "0"),
        (1, "1"),
        (100, "100"),
        (0.000001, "0.000001"),
        (0.1234567, "0.123457"),
        (-15, "-15"),
        (np.float64(0.1), "0.1"),
    ],
)
def test_a_rate_has_one_text(rate: Any, tag: str) -> None:
    assert format_rate(rate) == tag
    assert dropout_tag(rate) == tag
    assert dropblock_tag(rate, 3) == f"{tag}_3"


def test_the_published_rates_keep_their_names() -> None:
    rates = [round(0.1 + 0.05 * i, 10) for i in range(9)]
    expected = ["0.1", "0.15", "0.2", "0.25", "0.3", "0.35", "0.4", "0.45", "0.5"]
    assert [dropout_tag(rate) for rate in rates] == expected


@steadily
@given(st.integers(0, 10**6))
def test_a_tag_reads_back_as_its_rate(millionths: int) -> None:
    rate = Decimal(millionths) / 10**6
    tag = format_rate(float(rate))
    assert parse_rate(tag) == rate
    assert format_rate(tag) == tag
    assert "e" not in tag.lower()


@pytest.mark.parametrize("rate", ["", "abc", "nan", "inf", float("nan"), float("inf"), None, True])
def test_what_is_no_number_is_refused(rate: Any) -> None:
    with pytest.raises(ConfigError, match="expected a decimal number"):
        parse_rate(rate)


@pytest.mark.parametrize("rate", ["0.1_3", "0_1", "1_000"])
def test_a_tag_of_two_parts_is_no_rate(rate: str) -> None:
    """Decimal takes the underscore for a separator and reads 0.1_3 as 0.13."""
    with pytest.raises(ConfigError, match="expected a decimal number"):
        parse_rate(rate)


@pytest.mark.parametrize("rate", ["1e30", 1e300])
def test_a_number_beyond_all_rates_is_refused(rate: Any) -> None:
    with pytest.raises(ConfigError, match="expected a decimal number"):
        parse_rate(rate)


def test_a_mutant_is_a_rate_or_a_rate_and_a_block() -> None:
    assert [mutant_tag(m) for m in (0.1, (0.1, 3), (0, 1))] == ["0.1", "0.1_3", "0_1"]


def test_tags_sort_by_number_not_by_text() -> None:
    ordered = ["-15", "0.05_3", "0.1_3", "0.1_9", "0.1_11", "0.45_1", "0.5_9", "2", "10"]
    others = ["", "a", "b+c", "nan"]
    random = np.random.default_rng(0)
    for _ in range(5):
        shuffled = random.permutation(ordered + others).tolist()
        assert sorted(shuffled, key=tag_order) == ordered + others
