"""The binomial test equals exact sums of fractions and the published table."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from scoring.errors import ConfigError
from scoring.kill import binomial_test, least_kill


def exact_tail(count: int, n: int, rate: Fraction) -> Fraction:
    """P(Bin(n, rate) >= count), term by term."""
    return sum(
        (math.comb(n, k) * rate**k * (1 - rate) ** (n - k) for k in range(count, n + 1)),
        Fraction(0),
    )


@pytest.mark.parametrize(
    ("count", "p_value", "cohens_h", "power"),
    [
        (0, 1.0, -0.2003, 0.0),
        (1, 0.095618, 0.4432, 0.263901),
        (2, 0.004266, 0.7270, 0.624190),
        (10, 1e-20, 2.9413, 1.0),
    ],
)
def test_the_published_table_at_ten_passes(
    count: int, p_value: float, cohens_h: float, power: float
) -> None:
    test = binomial_test(count, 10)
    assert test.p_value == pytest.approx(p_value, rel=1e-9 if count == 10 else 1e-4)
    assert test.cohens_h == pytest.approx(cohens_h, abs=5e-5)
    assert test.power == pytest.approx(power, abs=5e-7)
    assert (test.count, test.n, test.critical_count) == (count, 10, 2)


def test_a_single_odd_pass_of_five_is_below_five_percent() -> None:
    assert binomial_test(1, 5).p_value == pytest.approx(1 - 0.99**5, rel=1e-12)
    assert round(binomial_test(1, 5).p_value, 4) == 0.0490
    assert round(binomial_test(1, 6).p_value, 4) == 0.0585


@pytest.mark.parametrize("null_rate", [Fraction(1, 100), Fraction(1, 4), Fraction(9, 10)])
@pytest.mark.parametrize("n", [1, 2, 3, 7, 10, 20, 37, 100])
def test_every_number_equals_exact_sums(n: int, null_rate: Fraction) -> None:
    alpha = Fraction(1, 20)
    critical = next((k for k in range(n + 1) if exact_tail(k, n, null_rate) <= alpha), n + 1)
    for count in sorted({0, 1, 2, n // 2, n - 1, n} & set(range(n + 1))):
        test = binomial_test(count, n, float(null_rate), float(alpha))
        share = Fraction(count, n)
        assert test.p_value == pytest.approx(float(exact_tail(count, n, null_rate)), rel=1e-9)
        assert test.critical_count == critical
        assert test.power == pytest.approx(float(exact_tail(critical, n, share)), abs=1e-12)
        assert test.cohens_h == pytest.approx(
            2 * math.asin(math.sqrt(share)) - 2 * math.asin(math.sqrt(null_rate)), abs=1e-12
        )


def test_without_a_critical_count_it_is_beyond_n_and_power_is_zero() -> None:
    # P(Bin(2, .5) >= 2) = .25 is above alpha already
    test = binomial_test(2, 2, null_rate=0.5)
    assert (test.critical_count, test.power) == (3, 0.0)


def test_more_changes_than_trials_have_no_effect_size() -> None:
    """The reference tests 10 trials whatever T is."""
    test = binomial_test(12, 10)
    assert np.isnan(test.cohens_h)
    assert np.isnan(test.power)
    assert (test.p_value, test.count, test.critical_count) == (0.0, 12, 2)


def test_p_value_falls_and_power_rises_with_the_count() -> None:
    tests = [binomial_test(count, 20) for count in range(21)]
    assert all(a.p_value > b.p_value for a, b in pairwise(tests))
    assert all(a.cohens_h < b.cohens_h for a, b in pairwise(tests))
    assert all(a.power < b.power for a, b in pairwise(tests[:11]))


@pytest.mark.parametrize(("count", "n"), [(-1, 10), (0, 0), (1, -3)])
def test_impossible_counts_are_refused(count: int, n: int) -> None:
    with pytest.raises(ConfigError, match=f"got {count} and {n}"):
        binomial_test(count, n)


def test_the_ends_of_what_can_be_tested() -> None:
    assert binomial_test(0, 1).p_value == 1
    assert binomial_test(1, 1).p_value == pytest.approx(0.01)
    assert binomial_test(1, 1).power == 1
    # As many changes as trials have an effect size; one more has none.
    assert binomial_test(3, 3).cohens_h == pytest.approx(math.pi - 2 * math.asin(0.1))
    assert np.isnan(binomial_test(4, 3).cohens_h)


@pytest.mark.parametrize("null_rate", [Fraction(1, 100), Fraction(1, 4)])
@pytest.mark.parametrize("n", [1, 2, 5, 6, 10, 40])
def test_the_least_kill_is_the_first_count_below_the_level(n: int, null_rate: Fraction) -> None:
    alpha = Fraction(1, 20)
    expected = next((k for k in range(1, n + 1) if exact_tail(k, n, null_rate) < alpha), n + 1)
    assert least_kill(n, float(null_rate), float(alpha)) == expected


def test_a_p_value_at_the_level_is_critical_and_no_kill() -> None:
    """The reference's critical count takes it in; a kill is significant below the level."""
    test = binomial_test(1, 1, null_rate=0.05, alpha=0.05)
    assert (test.p_value, test.critical_count) == (0.05, 1)
    assert least_kill(1, 0.05, 0.05) == 2


def test_no_least_kill_is_one_beyond_all_passes() -> None:
    assert least_kill(2, null_rate=0.5) == 3
    with pytest.raises(ConfigError, match="expected n >= 1, got 0"):
        least_kill(0)


def test_a_result_that_others_share_cannot_be_changed() -> None:
    """Equal tests are one value, kept for the next who asks."""
    with pytest.raises(AttributeError):
        binomial_test(2, 10).p_value = 0.0  # type: ignore[misc]
