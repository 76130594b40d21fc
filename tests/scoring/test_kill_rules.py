"""Kill rules, noise floor and equality: rows 16 to 18 of the table of differences."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import beta, binom
from statsmodels.stats.multitest import multipletests

from scoring.equivalence import is_same, passes_are_alike
from scoring.errors import ConfigError, DataError
from scoring.kill import binomial_test
from scoring.kill_rules import KILL_RULES, decide, holm_adjusted, killing_images
from scoring.noise_floor import noise_floor, p_values_at, upper_bound
from scoring.passes import Passes
from scoring.rules import STRICT
from scoring.tracks import track
from tests.scoring.scenes import Box, found, passes

A: Box = (0, 0, 10, 10)
B: Box = (100, 0, 110, 10)


def test_holm_is_that_of_statsmodels() -> None:
    random = np.random.default_rng(3)
    for _ in range(50):
        raw = random.random(int(random.integers(1, 12))) ** 3
        raw[random.random(len(raw)) < 0.3] = raw[0]
        expected = multipletests(raw, method="holm")[1]
        assert holm_adjusted(raw) == pytest.approx(expected, abs=1e-15)


def test_holm_goes_through_columns_and_past_missing_rows() -> None:
    raw = np.array([[0.01, np.nan], [0.04, 0.02], [0.03, np.nan]])
    assert holm_adjusted(raw) == pytest.approx(
        np.array([[0.03, np.nan], [0.06, 0.02], [0.06, np.nan]]), nan_ok=True
    )
    assert holm_adjusted(np.empty((0, 3))).shape == (0, 3)


def test_a_hundred_noisy_images_kill_in_a_third_of_suites_but_for_holm() -> None:
    """At 1 % noise and T = 10, P(some image has two changed passes) = 1 - .99573^100 = 34.8 %."""
    random = np.random.default_rng(0)
    counts = random.binomial(10, 0.01, (100, 4000)).astype(float)
    p_values = p_values_at(counts, 10, 0.01)
    killed = {
        rule: killing_images(counts, p_values, rule).any(axis=0).mean() for rule in KILL_RULES
    }
    assert killed["significant"] == pytest.approx(1 - binom.cdf(1, 10, 0.01) ** 100, abs=0.03)
    assert killed["holm"] < 0.05
    assert killed["any"] > 0.99


def test_with_one_pass_only_suites_of_up_to_four_images_kill() -> None:
    """m times .01 is below .05 for m = 4, and .05 itself is not."""
    for m, expected in ((4, True), (5, False)):
        counts = np.ones(m)
        decision = decide(counts, p_values_at(counts, 1, 0.01), 1)
        assert decision.killed_by("holm") is expected
        assert decision.killed_by("significant")


def test_a_decision_counted_by_hand() -> None:
    counts = np.array([0, 1, 2, 10, np.nan])
    p_values = p_values_at(counts, 10, 0.01)
    decision = decide(counts, p_values, 10, is_reliable=False)
    assert decision.is_killed == (True, True, True)
    # .004266 times 3 images that are left is below .05, .0956 is not.
    assert decision.n_killing == (3, 2, 2)
    assert (decision.n_images, decision.is_reliable) == (4, False)
    assert decision.smallest_p == pytest.approx(1e-20)
    assert (decision.share_at_none, decision.share_at_all) == (0.25, 0.25)
    per_image = decide(counts, p_values, np.array([1, 1, 2, 20, 5]))
    assert per_image.share_at_all == 0.5


def test_a_suite_without_rows_kills_nothing() -> None:
    nothing = np.full(3, np.nan)
    decision = decide(nothing, nothing, 10)
    assert decision.is_killed == (False, False, False)
    assert decision.n_images == 0
    assert np.isnan([decision.smallest_p, decision.share_at_none, decision.share_at_all]).all()


def test_unknown_rules_and_sides_of_two_lengths_are_refused() -> None:
    with pytest.raises(ConfigError, match="any, significant, holm"):
        killing_images(np.ones(1), np.ones(1), "bonferroni")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="one count and p value per image"):
        decide(np.ones(2), np.ones(3), 10)


@pytest.mark.parametrize(("count", "n"), [(0, 299), (0, 298), (3, 10), (9, 10), (17, 2000)])
def test_the_bound_is_the_quantile_of_a_beta_distribution(count: int, n: int) -> None:
    assert float(upper_bound(count, n)) == pytest.approx(
        beta.ppf(0.95, count + 1, n - count), abs=1e-14
    )


def test_299_clean_passes_are_the_fewest_that_bound_one_percent() -> None:
    assert float(upper_bound(0, 299)) < 0.01 < float(upper_bound(0, 298))


def floor_of(counts: list[float], n_passes: int) -> list[float]:
    array = np.array(counts)
    floor = noise_floor(len(counts), array, n_passes, is_deterministic=False)
    assert floor.is_reliable
    return floor.rates.tolist()


def test_the_identity_mutant_sets_the_floor_where_it_says_something() -> None:
    # Few clean passes say nothing; many do not go below .01 either.
    assert floor_of([0.0] * 29, 10) == [0.01] * 29
    assert floor_of([0.0] * 40, 10) == [0.01] * 40
    # One changed pass of 20: pooled over both images, and the image's own where it changed.
    pooled, own = beta.ppf(0.95, 2, 19), beta.ppf(0.95, 2, 9)
    assert floor_of([0.0, 1.0], 10) == pytest.approx([pooled, own])
    # A pass that changes each time is no evidence at all; an image without a row takes no part.
    assert floor_of([10.0, 0.0, np.nan], 10) == pytest.approx(
        [1, beta.ppf(0.95, 11, 10), beta.ppf(0.95, 11, 10)]
    )


def test_the_floor_of_a_deterministic_original_is_the_fixed_one() -> None:
    floor = noise_floor(2, np.array([5.0, 5.0]), 10, is_deterministic=True)
    assert (floor.rates.tolist(), floor.is_reliable) == ([0.01, 0.01], True)


@pytest.mark.parametrize("identity", [None, np.array([np.nan, np.nan])])
def test_a_flickering_original_without_identity_mutant_is_not_reliable(
    identity: np.ndarray | None,
) -> None:
    floor = noise_floor(2, identity, 10, is_deterministic=False)
    assert (floor.rates.tolist(), floor.is_reliable) == ([0.01, 0.01], False)


def test_broken_identity_counts_are_refused() -> None:
    with pytest.raises(DataError, match="a count for each of 2 images"):
        noise_floor(2, np.zeros(3), 10, is_deterministic=False)
    with pytest.raises(DataError, match="at most as many changed passes"):
        noise_floor(1, np.array([11.0]), 10, is_deterministic=False)


def test_a_kill_of_three_passes_is_none_at_the_floor_that_flickering_sets() -> None:
    """c = 3 of 10: p = 1.1e-4 at .01, and no kill where the original itself changes in three."""
    counts = np.array([3.0])
    assert p_values_at(counts, 10, 0.01)[0] == pytest.approx(1.1e-4, rel=0.05)
    floor = noise_floor(1, counts, 10, is_deterministic=False)
    assert p_values_at(counts, 10, floor.rates)[0] > 0.05


def test_p_values_are_those_of_the_binomial_test() -> None:
    counts = np.arange(11.0)
    expected = [binomial_test(int(c), 10, 0.03).p_value for c in counts]
    assert p_values_at(counts, 10, 0.03).tolist() == pytest.approx(expected, rel=1e-14)
    assert p_values_at(np.array([11.0, np.nan]), 10, 0.03) == pytest.approx(
        [0, np.nan], nan_ok=True
    )


def same(original: Passes, mutant: Passes) -> bool:
    return is_same(track(original, mutant, STRICT))


def test_a_mutant_is_the_same_up_to_the_tolerances() -> None:
    original = passes([A, B], [A])
    assert same(original, original)
    assert same(original, passes([B, (0, 0, 10.0009, 10)], [A]))
    assert not same(original, passes([B, (0, 0, 10.0011, 10)], [A]))
    vectors = [found([A], probs=[[0.5, 0.5 + x, 0.0]]) for x in (0.0, 0.9e-4, 1.1e-4)]
    pair = [Passes.from_list([vector]) for vector in vectors]
    assert [same(pair[0], other) for other in pair] == [True, True, False]


def test_anything_missed_or_ghosted_is_a_difference() -> None:
    both, one = passes([A, B]), passes([A])
    assert not same(both, one)
    assert not same(one, both)
    assert same(passes([], []), passes([], []))


def test_a_mutant_that_survives_is_not_therefore_the_same() -> None:
    """No miss and no ghost in any pass, and yet a box that moved by a pixel."""
    tracks = track(passes([A]), passes([(0, 0, 10, 11)]), STRICT)
    assert tracks.counts().tolist() == [[1, 0, 0]]
    assert not is_same(tracks)


def test_passes_are_alike_to_the_last_bit_in_any_order() -> None:
    assert passes_are_alike(passes([A, B], [B, A]))
    assert passes_are_alike(passes([], []))
    assert passes_are_alike(passes([A]))
    assert not passes_are_alike(passes([A], [(0, 0, 10, np.nextafter(10, 11))]))
    assert not passes_are_alike(passes([A], [B]))
    assert not passes_are_alike(passes([A, B], [A]))
    assert not passes_are_alike(Passes.from_list([found([A], [1]), found([A], [2])]))
