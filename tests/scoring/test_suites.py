"""Kill shares, verdicts and means of small arrays, counted by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from scoring.errors import DataError
from scoring.kill import binomial_test
from scoring.rows import COLUMNS
from scoring.rules import DEEPLUQ
from scoring.standings import standings
from scoring.suites import (
    KILL_RULES,
    UA_MS_COLUMNS,
    Interval,
    SuiteScores,
    collect,
    kill_share_difference,
)
from scoring.summary import join_models, kinds_of_kills, summarise, verdict

TAGS = ("0.1", "0.15", "0.5")


def suite(
    counts: Sequence[Sequence[float]], name: str = "plain", tags: Sequence[str] = TAGS
) -> SuiteScores:
    """Return a suite whose images (rows) see mutants (columns) change in so many of 10 passes."""
    array = np.array(counts, dtype=float)
    values = np.zeros((*array.shape, len(COLUMNS)))
    for kind in ("miss", "ghost", "miss_ghost"):
        values[:, :, COLUMNS.index(f"[img_level] iskill_{kind}_count")] = array
        p_values = [[binomial_test(int(c), 10).p_value for c in row] for row in array]
        values[:, :, COLUMNS.index(f"[img_level] iskill_{kind}_p_value")] = p_values
    stems = tuple(f"image_{i}" for i in range(len(array)))
    mutants = tuple(("mc_dropout", tag) for tag in tags[: array.shape[1]])
    return SuiteScores("model", name, stems, mutants, values)


# One changed pass of ten is a kill by `any` only (p = .096); two are significant (p = .0043).
COUNTS = [[0, 1, 2], [0, 0, 10], [0, 1, 0], [0, 0, 0]]


def test_both_kill_rules_are_counted_pair_by_pair() -> None:
    scores = suite(COUNTS)
    assert scores.killed("miss", "any").tolist() == [
        [False, True, True],
        [False, False, True],
        [False, True, False],
        [False, False, False],
    ]
    assert scores.killed("miss", "significant").tolist() == [
        [False, False, True],
        [False, False, True],
        [False, False, False],
        [False, False, False],
    ]
    assert scores.kill_share("miss", "any").value == pytest.approx(4 / 12)
    assert scores.kill_share("miss", "significant").value == pytest.approx(2 / 12)
    assert scores.image_score("miss", "any") == pytest.approx(2 / 3)
    assert scores.image_score("miss", "significant") == pytest.approx(1 / 3)


def test_a_p_value_of_exactly_alpha_is_no_kill() -> None:
    scores = suite([[2]])
    p_value = float(scores.column("[img_level] iskill_ghost_p_value")[0, 0])
    assert not scores.killed("ghost", "significant", DEEPLUQ.with_(alpha=p_value)).any()
    higher = DEEPLUQ.with_(alpha=np.nextafter(p_value, 1))
    assert scores.killed("ghost", "significant", higher).all()


def test_kinds_are_told_apart() -> None:
    scores = suite([[0]])
    scores.values[0, 0, COLUMNS.index("[img_level] iskill_ghost_count")] = 3
    assert [scores.image_score(kind, "any") for kind in ("miss", "ghost", "miss_ghost")] == [
        0,
        1,
        0,
    ]


def test_the_mildest_rate_that_kills() -> None:
    assert suite(COUNTS).mildest_kill("miss", "any") == "0.15"
    assert suite(COUNTS).mildest_kill("miss", "significant") == "0.5"
    assert suite([[0, 0, 0]]).mildest_kill("miss", "any") is None
    blocks = suite([[0, 1, 1, 1]], tags=["0.05_1", "0.5_1", "0.15_9", "0.15_3"])
    assert blocks.mildest_kill("miss", "any") == "0.15"
    by_number = suite([[1, 1]], tags=["10", "9"])
    assert by_number.mildest_kill("miss", "any") == "9"


def test_a_saturated_suite_is_told_from_a_stronger_one_by_its_share() -> None:
    """Each mutant is killed by one image of four, or by all four: Img-MS is 1 for both."""
    weak = suite([[10, 0, 0], [0, 10, 0], [0, 0, 10], [0, 0, 0]])
    strong = suite([[10, 10, 10]] * 4)
    for rule in KILL_RULES:
        assert weak.image_score("miss_ghost", rule) == strong.image_score("miss_ghost", rule) == 1
        assert weak.kill_share("miss_ghost", rule).value == 0.25
        assert strong.kill_share("miss_ghost", rule) == Interval(1, 1, 1, 4)


def test_the_interval_holds_the_share_and_is_the_same_every_time() -> None:
    random = np.random.default_rng(0)
    for n_images in (4, 5, 12, 60):
        scores = suite(random.integers(0, 4, (n_images, 3)).tolist())
        share = scores.kill_share("miss", "significant")
        assert 0 <= share.low <= share.value <= share.high <= 1
        assert share.low < share.high
        assert scores.kill_share("miss", "significant") == share


def test_the_interval_is_the_one_of_the_binomial_where_images_are_all_or_nothing() -> None:
    """100 images, 30 of which kill the only mutant: .3 +- 1.96 sqrt(.3 * .7 / 100)."""
    share = suite([[10]] * 30 + [[0]] * 70).kill_share("miss", "any")
    half = 1.96 * math.sqrt(0.3 * 0.7 / 100)
    assert share.value == pytest.approx(0.3)
    assert share.low == pytest.approx(0.3 - half, abs=0.011)
    assert share.high == pytest.approx(0.3 + half, abs=0.011)


def test_the_interval_narrows_with_more_images() -> None:
    widths = []
    for times in (1, 4, 16):
        share = suite([[10], [0], [10], [0]] * times).kill_share("miss", "any")
        widths.append(share.high - share.low)
    assert widths[0] > widths[1] > widths[2]


def test_the_difference_has_the_sign_of_the_first() -> None:
    strong, weak = suite([[10, 10, 0]] * 9), suite([[10, 0, 0]] * 7)
    gap = kill_share_difference(strong, weak)
    assert gap.value == pytest.approx(1 / 3)
    assert (gap.low, gap.high) == pytest.approx((1 / 3, 1 / 3))
    assert kill_share_difference(weak, strong).value == pytest.approx(-1 / 3)


def test_the_difference_of_a_suite_to_itself_includes_zero() -> None:
    """Resampled independently: with common draws it would be exactly zero."""
    scores = suite([[10], [0]] * 10)
    gap = kill_share_difference(scores, scores)
    assert gap.value == 0
    assert gap.low < 0 < gap.high


def test_means_are_over_images_then_mutants_and_skip_nan() -> None:
    scores = suite([[0, 0], [0, 0], [0, 0]])
    column = "[match] iou_mean"
    scores.values[:, :, COLUMNS.index(column)] = [[0.2, 0.9], [np.nan, 0.5], [np.nan, np.nan]]
    # mutant means .2 and .7; over all known cells it would be .53
    assert scores.mean(column) == pytest.approx(0.45)
    scores.values[:, 1, COLUMNS.index(column)] = np.nan
    assert scores.mean(column) == pytest.approx(0.2)
    scores.values[:, 0, COLUMNS.index(column)] = np.nan
    assert np.isnan(scores.mean(column))


def test_the_strongest_uncertainty_score_is_the_largest_mean() -> None:
    scores = suite([[0]])
    assert len(UA_MS_COLUMNS) == 15
    scores.values[0, 0, COLUMNS.index("[miss] mi_diff")] = 0.4
    scores.values[0, 0, COLUMNS.index("[ghost] ps_diff")] = np.nan
    scores.values[0, 0, COLUMNS.index("[miss] miss_rate")] = 0.9  # is none of the 15
    assert scores.strongest_uncertainty() == ("[miss] mi_diff", 0.4)


def test_a_score_without_uncertainty_is_its_rate() -> None:
    """A miss in 3 of 10 passes without spread: .3 / (1 + 0); a match: | 0 - (0 + 1 - .7) |."""
    scores = suite([[3], [3]])
    for column, value in (
        ("[miss] miss_rate", 0.3),
        ("[miss] ps_diff", 0.3),
        ("[miss] ie_diff", 0.3 / (1 + 0.5)),
        ("[match] match_rate", 0.7),
        ("[match] vr_diff", 0.3),
    ):
        scores.values[:, 0, COLUMNS.index(column)] = value
    found = {
        name for name in UA_MS_COLUMNS if name[:6] in ("[miss]", "[match") and scores.is_rate(name)
    }
    assert found == {"[miss] ps_diff", "[match] vr_diff"}
    scores.values[0, 0, COLUMNS.index("[miss] ps_diff")] = 0.2
    assert not scores.is_rate("[miss] ps_diff")
    row = summarise([scores]).iloc[0]
    assert (row["strongest_ua_ms"], row["strongest_ua_ms_is_rate"]) == ("[match] vr_diff", True)


def test_pairs_that_crashed_are_no_kills_and_are_counted() -> None:
    scores = suite([[10, 10], [10, 10]])
    scores.values[0, 1] = np.nan
    assert scores.n_crashed == 1
    for rule in KILL_RULES:
        assert scores.killed("miss", rule).tolist() == [[True, False], [True, True]]
    assert summarise([scores]).loc[0, "crashed"] == 1


def test_operators_stand_side_by_side() -> None:
    first, second = suite([[1], [2]]), suite([[3, 4], [5, 6]], tags=["0.1_1", "0.1_3"])
    both = collect("model", "plain", [first, second])
    assert [tag for _, tag in both.mutants] == ["0.1", "0.1_1", "0.1_3"]
    assert both.column("[img_level] iskill_miss_count").tolist() == [[1, 3, 4], [2, 5, 6]]


def test_operators_on_different_images_are_refused_by_name() -> None:
    with pytest.raises(DataError, match=r"'plain' of 'model'.*only some have \['image_1'\]"):
        collect("model", "plain", [suite([[1]]), suite([[1], [2]])])
    one = suite([[1], [2]])
    turned = SuiteScores(one.model, one.suite, one.stems[::-1], one.mutants, one.values[::-1])
    with pytest.raises(DataError, match="their order differs"):
        collect("model", "plain", [one, turned])


@pytest.mark.parametrize("shape", [(0, 1, 37), (1, 0, 37), (1, 1, 36), (2, 1, 37)])
def test_arrays_of_another_shape_are_refused(shape: tuple[int, ...]) -> None:
    n_images, n_mutants, _ = shape
    stems = ("a",) * min(n_images, 1)
    with pytest.raises(DataError, match="suite 's' of 'm'"):
        SuiteScores("m", "s", stems, (("op", "0.1"),) * n_mutants, np.zeros(shape))


def test_a_summary_has_a_row_per_suite_with_both_rules() -> None:
    table = summarise([suite(COUNTS, "plain"), suite([[10, 10, 10]], "dim")])
    assert table["suite"].tolist() == ["plain", "dim"]
    assert table["images"].tolist() == [4, 1]
    assert table["kill_share_any"].tolist() == pytest.approx([4 / 12, 1])
    assert table["kill_share_significant"].tolist() == pytest.approx([2 / 12, 1])
    assert table["img_ms_any"].tolist() == pytest.approx([2 / 3, 1])
    assert table["mildest_rate_significant"].tolist() == ["0.5", "0.1"]


def test_the_verdict_names_the_stronger_suite_and_the_points() -> None:
    strong, weak = (
        suite([[10, 10, 0, 0]] * 8, "dim", "abcd"),
        suite([[10, 0, 0, 0]] * 8, "plain", "abcd"),
    )
    said = verdict([weak, strong])
    assert "suite 'dim' is the strongest: it kills 50%" in said
    assert "), 25 points more than 'plain' (95% interval" in said


def test_kills_by_misses_and_by_ghosts_are_told_apart() -> None:
    """All pairs of 'dim' change by misses, half of those of 'plain' by ghosts; by hand."""
    dim, plain = suite([[10, 10]] * 4, "dim"), suite([[10, 0]] * 4, "plain")
    for name, of in (("ghost", dim), ("miss", plain)):
        of.values[:, :, COLUMNS.index(f"[img_level] iskill_{name}_count")] = 0
        of.values[:, :, COLUMNS.index(f"[img_level] iskill_{name}_p_value")] = 1
    said = kinds_of_kills([plain, dim])
    assert said.endswith("alone: 100% and 0% on 'dim', 0% and 50% on 'plain'.")
    assert kinds_of_kills([suite([[0]] * 4)]) == ""
    row = summarise([plain]).iloc[0]
    assert row[["kill_share_miss_significant", "kill_share_ghost_significant"]].tolist() == [0, 0.5]


def test_models_that_share_no_suite_are_judged_each_by_itself() -> None:
    """Shares under the mutants of two models say nothing beside each other."""
    rows = {"a": [[10, 10]] * 4, "b": [[10, 0]] * 4, "c": [[0, 0]] * 3 + [[10, 0]]}
    made = {name: suite(counts, name) for name, counts in rows.items()}
    of_other = replace(made["c"], model="other")
    said = verdict([made["a"], made["b"], of_other])
    first, second = said.split("On other, ")
    assert first.startswith("On model, suite 'a' is the strongest: it kills 100%")
    assert "50 points more than 'b'" in first
    assert second.startswith("suite 'c' kills 12%")
    assert "'a'" not in second
    table = standings([made["a"], made["b"], of_other])
    assert table["rank"].tolist() == [1, 2, 1]
    assert table["behind"].fillna(-1).tolist() == [-1, 0.5, -1]


def test_a_suite_that_one_model_alone_ran_is_said_to_be_left_out() -> None:
    both = suite([[10]] * 4, "both")
    said = verdict([both, replace(both, model="other"), suite([[0]] * 4, "mine")])
    assert said.endswith("Not compared, for not all models ran on the same images of them: 'mine'.")


def test_the_verdict_names_no_winner_where_the_interval_holds_zero() -> None:
    said = verdict([suite([[10], [0]] * 3, "plain"), suite([[10], [0]] * 3, "dim")])
    assert "no suite is clearly the strongest" in said
    assert said.endswith("which includes no difference.")
    with pytest.raises(DataError, match="at least one suite"):
        verdict([])


def test_the_verdict_says_where_images_are_too_few_for_an_interval() -> None:
    alone = verdict([suite([[10], [10]])])
    assert alone.endswith(
        "kills 100% of its image x mutant pairs significantly (2 images: too few for an interval)."
    )
    many, few = suite([[10]] * 9, "many"), suite([[0]], "few")
    said = verdict([many, few])
    assert "no suite is clearly the strongest: suite 'many'" in said
    assert said.endswith("100 points more than 'few' (1 image: too few for an interval).")
    table = summarise([few])
    ends = [f"kill_share_{rule}_{end}" for rule in KILL_RULES for end in ("low", "high")]
    assert table[ends].isna().all(axis=None)
    assert table["kill_share_any"].tolist() == [0]


def test_models_are_joined_suite_by_suite() -> None:
    one, two = suite([[1], [2]]), suite([[3], [4]])
    (joined,) = join_models([one, two])
    assert joined.values.shape == (2, 2, 37)
    assert join_models([one, suite([[3]])]) == []
