"""Kill tables: three rules, passes of foreign tables, noise floors, shares and trivial mutants."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from scoring.branch_facts import BranchFacts
from scoring.kill_table import kill_shares, kill_table
from scoring.results import SuiteResults
from scoring.suite_kills import passes_behind, suite_kills
from scoring.suites import SuiteScores
from tests.study.tables import column, row

OPERATOR = "mc_dropout"


def results(
    counts: list[list[int]], n_passes: int = 10, facts: BranchFacts | None = None
) -> SuiteResults:
    """Return a suite of images (rows) and mutants (columns) with so many passes with a miss."""
    values = np.array([[row((c, 0, c), np.zeros(25), n_passes) for c in line] for line in counts])
    stems = tuple(f"i{n}" for n in range(len(counts)))
    mutants = tuple((OPERATOR, f"0.{m + 1}") for m in range(len(counts[0])))
    scores = SuiteScores("net", "orig", stems, mutants, values)
    return SuiteResults(scores, {OPERATOR: facts} if facts else {})


def test_a_row_per_mutant_and_kind_says_what_every_rule_says() -> None:
    """100 images: one with 2 changed passes (p = .0043), nine with 1 (p = .0956)."""
    counts = [[2]] + [[1]] * 9 + [[0]] * 90
    table = kill_table(suite_kills(results(counts)))
    assert table["kind"].tolist() == ["miss", "ghost", "miss_ghost"]
    miss = table.iloc[0]
    # 100 * .0043 = .43 > .05: the suite's own chance of a false kill is accounted for
    assert (miss["any"], miss["significant"], miss["holm"]) == (True, True, False)
    assert miss[[f"n_killing_{r}" for r in ("any", "significant", "holm")]].tolist() == [10, 1, 0]
    assert miss["n_images"] == 100
    assert miss["smallest_p"] == pytest.approx(stats.binom.sf(1, 10, 0.01))
    assert (miss["share_at_0"], miss["share_at_T"]) == (0.9, 0)
    ghost = table.iloc[1]
    assert (ghost["any"], ghost["smallest_p"], ghost["share_at_0"]) == (False, 1, 1)


def test_the_passes_of_foreign_tables_are_told_by_their_p_values() -> None:
    for n_passes in (3, 10, 100):
        kills = suite_kills(results([[n_passes, 1], [0, 0]], n_passes))
        assert set(kills.n_passes.ravel()) == {n_passes}
        assert kill_table(kills)["share_at_T"][0] == 0.5
        assert kills.is_reliable == (None, None)


def test_where_nothing_tells_the_passes_the_share_is_empty() -> None:
    assert passes_behind(np.array([2.0]), np.array([0.5])) is None
    assert passes_behind(np.array([0.0]), np.array([1.0])) is None
    suite = results([[2]])
    suite.scores.values[:, :, column("miss", "p_value")] = 0.5
    table = kill_table(suite_kills(suite))
    assert math.isnan(table["share_at_T"][0])
    assert math.isnan(kill_shares([suite_kills(suite)])["share_at_T"][0])
    assert kill_table(suite_kills(suite, passes=2))["share_at_T"][0] == 1


def test_the_passes_of_our_own_tables_stand_in_their_facts() -> None:
    facts = BranchFacts("deepluq", 4, fewer_passes={"0.1": {"i1": 1}})
    kills = suite_kills(results([[4, 4], [3, 4]], 4, facts))
    assert kills.n_passes.tolist() == [[4, 4], [3, 4]]
    assert kill_table(kills)["share_at_T"][0] == 1
    assert kills.is_reliable == (True, True)


def test_an_original_that_flickers_has_its_own_noise_floor_under_strict() -> None:
    facts = BranchFacts("strict", 10, original_is_deterministic=False)
    suite = results([[2], [2]], facts=facts)
    table = kill_table(suite_kills(suite))
    assert table["significant"][0]
    assert table["reliable"].tolist() == [False] * 3
    identity = np.stack([row((c, 0, c), np.zeros(25)) for c in (0, 3)])
    controlled = kill_table(suite_kills(SuiteResults(suite.scores, suite.facts, identity)))
    assert controlled["reliable"].tolist() == [True] * 3
    # 3 changed of 20 passes: p0 = .3437 at the pooled bound, and 2 of 10 are no wonder any more
    pooled = stats.beta.ppf(0.95, 4, 17)
    assert controlled["smallest_p"][0] == pytest.approx(stats.binom.sf(1, 10, pooled))
    assert not controlled["significant"][0]
    assert controlled["any"][0]


def test_under_deepluq_p_values_are_those_of_the_rows() -> None:
    facts = BranchFacts("deepluq", 10, original_is_deterministic=False)
    identity = np.stack([row((5, 0, 5), np.zeros(25))])
    suite = results([[2]], facts=facts)
    table = kill_table(suite_kills(SuiteResults(suite.scores, suite.facts, identity)))
    assert table["smallest_p"][0] == pytest.approx(stats.binom.sf(1, 10, 0.01))
    assert table["reliable"].tolist() == [False] * 3


def test_shares_mildest_rates_and_trivial_mutants() -> None:
    counts = [[0, 1, 10], [0, 0, 10], [0, 2, 10], [0, 0, 10]]
    table = kill_shares([suite_kills(results(counts))])
    assert table["kind"].tolist() == ["miss", "ghost", "miss_ghost"]
    miss = table.iloc[0]
    assert miss["kill_share_any"] == pytest.approx(6 / 12)
    assert miss["kill_share_significant"] == pytest.approx(5 / 12)
    assert miss["kill_share_any_low"] <= 6 / 12 <= miss["kill_share_any_high"]
    assert miss["ms_any"] == miss["ms_significant"] == pytest.approx(2 / 3)
    assert miss["mildest_rate_any"] == "0.2"
    assert (miss["n_trivial_any"], miss["n_trivial_significant"], miss["n_trivial_holm"]) == (
        1,
        1,
        1,
    )
    assert (miss["share_at_0"], miss["share_at_T"]) == (6 / 12, 4 / 12)
    assert pd.isna(table["mildest_rate_any"][1])
    assert table["n_trivial_any"].tolist()[1] == 0


def test_equivalent_mutants_are_counted_and_left_out() -> None:
    kills = suite_kills(results([[0, 10]]))
    miss = kill_shares([kills], {(OPERATOR, "0.1")}).iloc[0]
    assert (miss["n_mutants"], miss["n_equivalent"]) == (2, 1)
    assert (miss["ms_any"], miss["kill_share_any"]) == (1, 1)
    none_left = kill_shares([kills], set(kills.scores.mutants)).iloc[0]
    assert math.isnan(none_left["ms_any"])
    assert math.isnan(none_left["kill_share_holm"])


def test_a_pair_without_a_row_is_no_kill_and_an_image_without_any_says_nothing() -> None:
    suite = results([[10, 10], [10, 10], [10, 10]])
    suite.scores.values[0] = suite.scores.values[1, 0] = np.nan
    kills = suite_kills(suite)
    miss = kill_shares([kills]).iloc[0]
    assert miss["n_without_row"] == 3
    assert miss["kill_share_any"] == pytest.approx(3 / 4)
    assert miss["kill_share_any"] == suite.scores.kill_share("miss", "any").value
    assert miss["n_trivial_any"] == 2
    assert kill_table(kills)["n_images"][::3].tolist() == [1, 2]
