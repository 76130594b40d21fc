"""Standings, states of mutants, and counts of kills: numbers that can be counted by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from scoring.judgement import strict_table
from scoring.kill_counts import changed_passes, image_table
from scoring.results import ModelResults, read_results
from scoring.standings import standings
from scoring.states import STATES, mutant_states, state_counts
from scoring.suite_kills import SuiteKills, suite_kills
from scoring.suites import kill_share_difference
from scoring.tables import write_table
from tests.study.tables import row, table_path

COUNTS = {
    "0.1": (0, 0, 0),  # survives
    "0.2": (1, 0, 0),  # one pass of ten: p = .096, so by any only
    "0.3": (2, 0, 9),  # p = .004 on the first
    "0.4": (5, 6, 10),  # on every image
}
"""Changed passes of ten, by mutant, on three images."""


@pytest.fixture
def model(tmp_path: Path) -> ModelResults:
    """Suite `strong` as above, `weak` without any kill, and a mutant that crashed everywhere."""
    for suite, factor in (("strong", 1), ("weak", 0)):
        for tag, counts in COUNTS.items():
            rows = np.stack([row((k * factor, 0, k * factor), np.zeros(25)) for k in counts])
            path = table_path(tmp_path, "mc_dropout", tag, suite)
            write_table(path, [f"{suite}_{k}" for k in "abc"], rows)
        crashed = table_path(tmp_path, "mc_dropout", "0.5", suite)
        write_table(crashed, [], np.empty((0, 37)))
    (model,) = read_results(tmp_path)
    return model


def kills_of(model: ModelResults) -> list[SuiteKills]:
    return [suite_kills(suite) for suite in model.suites]


def test_states_by_the_rule_of_the_verdict(model: ModelResults) -> None:
    states = mutant_states(model, kills_of(model), "significant")
    assert states["state"].tolist() == [
        *("survived", "disputed", "killed", "trivial", "crashed"),
        *("survived", "survived", "survived", "survived", "crashed"),
    ]
    assert states["rules_differ"].tolist() == [False, True, *[False] * 8]
    assert states["strict"].isna().all()
    assert not states["strict_differs"].any()
    by_any = mutant_states(model, kills_of(model), "any")
    assert by_any["state"].tolist()[:4] == ["survived", "killed", "killed", "trivial"]


def test_states_know_what_strict_says(model: ModelResults) -> None:
    names = [f"mutant_mc_dropout_{tag}" for tag in (*COUNTS, "0.5")]
    strict = pd.DataFrame(
        {
            "test_suite": ["strong"] * 5,
            "mutant_id": names,
            "killed": [False, False, True, True, False],
            "equivalent": [True, False, False, False, False],
        }
    )
    states = mutant_states(model, kills_of(model), "significant", strict)
    of_strong = states[states["test_suite"] == "strong"]
    assert of_strong["state"].tolist()[0] == "equivalent"
    assert of_strong["strict_differs"].tolist() == [False, True, False, False, False]
    assert states["strict"].isna().tolist() == [False] * 5 + [True] * 5


def test_counts_of_states_add_up(model: ModelResults) -> None:
    states = mutant_states(model, kills_of(model), "significant")
    table = state_counts([("case", "net", states)])
    assert table[["model", "test_suite", "mutants"]].to_numpy().tolist() == [
        ["net", "strong", 5],
        ["net", "weak", 5],
        ["", "", 10],
    ]
    total = table.iloc[-1]
    assert total[list(STATES)].tolist() == [1, 1, 1, 5, 0, 2, 0]
    assert total[["rules_differ", "strict_differs"]].tolist() == [1, 0]


def test_strict_has_a_row_per_suite_and_mutant(model: ModelResults) -> None:
    table = strict_table([suite.scores for suite in model.suites])
    # Holm: 3 x .004 = .013 is below .05, 3 x .096 is not.
    assert table["killed"].tolist() == [False, False, True, True, False] + [False] * 5
    assert not table["equivalent"].any()
    assert table["mutant_id"].tolist()[2] == "mutant_mc_dropout_0.3"


def test_images_by_the_mutants_that_they_kill(model: ModelResults) -> None:
    strong = kills_of(model)[0]
    table = image_table(strong)
    assert table.to_numpy().tolist() == [
        ["strong_a", 3, 2, 2, 4, 8],
        ["strong_b", 1, 1, 1, 4, 6],
        ["strong_c", 2, 2, 2, 4, 19],
    ]
    fewer = image_table(strong, {("mc_dropout", "0.4")})
    assert fewer["n_killed_any"].tolist() == [2, 0, 1]


def test_pairs_by_passes_that_differ(model: ModelResults) -> None:
    table = changed_passes(kills_of(model))
    strong = table[table["test_suite"] == "strong"]
    assert strong["changed_passes"].tolist() == list(range(11))
    assert strong["n_pairs"].tolist() == [6, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1]
    weak = table[table["test_suite"] == "weak"]["n_pairs"].tolist()
    assert weak[0] == 12
    assert sum(weak) == 12


def test_standings_rank_and_tell_how_far_each_is_behind(model: ModelResults) -> None:
    suites = [suite.scores for suite in model.suites]
    table = standings(suites)
    assert table["suite"].tolist() == ["strong", "weak"]
    assert table["rank"].tolist() == [1, 2]
    assert table["rule"].tolist() == ["significant"] * 2
    # 5 of 15 pairs are kills, the crashed mutant's among them.
    assert table["kill_share_significant"].tolist() == pytest.approx([5 / 15, 0])
    gap = kill_share_difference(suites[0], suites[1])
    assert np.isnan(table["behind"].iloc[0])
    assert table["behind"].iloc[1] == gap.value
    # Three images are too few for an interval; the same ones twice are enough.
    ends = ["behind_low", "behind_high"]
    assert table[ends].isna().all(axis=None)
    assert table.filter(regex="^kill_share_.*_(low|high)$").isna().all(axis=None)
    twice = [
        replace(s, stems=(*s.stems, "d", "e", "f"), values=np.concatenate([s.values] * 2))
        for s in suites
    ]
    gap = kill_share_difference(*twice)
    assert standings(twice)[ends].iloc[1].tolist() == [gap.low, gap.high]
