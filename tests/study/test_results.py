"""Gathering tables into suites: order, gaps, foreign rows, facts and the identity mutant."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from scoring.branch_facts import BranchFacts, write_facts
from scoring.errors import ConfigError, DataError
from scoring.membership import Members
from scoring.results import read_results
from scoring.tables import read_table, write_table
from tests.study.tables import MUTANTS, random_rows, table_path, write_results

SUITES = {"orig": ["a", "b", "c"], "dalle": ["d", "e"]}


def test_suites_stand_in_the_order_that_is_asked_for(tmp_path: Path) -> None:
    write_results(tmp_path, SUITES)
    (model,) = read_results(tmp_path)
    assert [s.scores.suite for s in model.suites] == ["dalle", "orig"]
    (model,) = read_results(tmp_path, order=["orig"])
    assert [s.scores.suite for s in model.suites] == ["orig", "dalle"]
    with pytest.raises(ConfigError, match=r"expected some of \['dalle', 'orig'\], got \['sd'\]"):
        read_results(tmp_path, order=["sd"])


def test_rows_and_mutants_stand_in_the_published_order(tmp_path: Path) -> None:
    write_results(tmp_path, {"orig": ["c", "a"]})
    (model,) = read_results(tmp_path)
    scores = model.suites[0].scores
    assert scores.stems == ("c", "a")
    assert scores.mutants == MUTANTS
    expected = random_rows(["c", "a"], MUTANTS.index(("mc_dropblock", "0.3_1")))
    np.testing.assert_array_equal(
        scores.values[:, MUTANTS.index(("mc_dropblock", "0.3_1"))], expected
    )
    assert model.operators == ("mc_dropout", "mc_dropblock")


def test_a_mutant_without_a_row_is_a_gap_not_an_error(tmp_path: Path) -> None:
    write_results(tmp_path, SUITES)
    write_table(table_path(tmp_path, "mc_dropout", "0.3", "orig"), ["a"], random_rows(["a"], 0))
    (model,) = read_results(tmp_path, order=["orig"])
    scores = model.suites[0].scores
    assert (scores.stems, scores.n_crashed) == (("a", "b", "c"), 2)
    assert np.isnan(scores.values[1:, 1]).all()


def test_a_row_of_the_wrong_suite_is_named(tmp_path: Path) -> None:
    write_results(tmp_path, SUITES)
    path = table_path(tmp_path, "mc_dropout", "0.3", "orig")
    write_table(path, ["a", "b", "c", "e"], random_rows("abce", 0))
    with pytest.raises(DataError) as caught:
        read_results(tmp_path)
    assert f"{path}: row 'e' is an image of suite 'dalle'" in str(caught.value)
    assert "1 of 3 mc_dropout tables of suite 'orig' have it" in str(caught.value)


def test_suites_may_share_images(tmp_path: Path) -> None:
    write_results(tmp_path, {"orig": ["a", "b"], "small": ["a"]})
    (model,) = read_results(tmp_path)
    assert [len(s.scores.stems) for s in model.suites] == [2, 1]


def test_rows_are_held_to_a_list_of_the_suite(tmp_path: Path) -> None:
    write_results(tmp_path, SUITES)
    listed = [Members("orig", ("a.jpg", "b.jpg", "c.jpg", "unused.jpg"), "list.txt")]
    assert len(read_results(tmp_path, listed)[0].suites) == 2
    short = [Members("orig", ("a.jpg", "b.jpg"), "list.txt")]
    with pytest.raises(DataError, match=r"row 'c' is no image of suite 'orig' as list\.txt lists"):
        read_results(tmp_path, short)


def test_one_table_is_divided_into_suites(tmp_path: Path) -> None:
    stems = ["a", "d", "b", "e", "x"]
    for m, (operator, tag) in enumerate(MUTANTS):
        write_table(table_path(tmp_path, operator, tag, None), stems, random_rows(stems, m))
    listed = [Members("orig", ("b", "a"), "1"), Members("dalle", ("d.png", "e.png", "f.png"), "2")]
    (model,) = read_results(tmp_path, listed)
    assert [(s.scores.suite, s.scores.stems) for s in model.suites] == [
        ("orig", ("a", "b")),
        ("dalle", ("d", "e")),
    ]
    expected = random_rows(stems, 0)[[0, 2]]
    np.testing.assert_array_equal(model.suites[0].scores.values[:, 0], expected)
    (model,) = read_results(tmp_path)
    assert model.suites[0].scores.suite == "orig"
    assert model.suites[0].scores.stems == tuple(stems)


def test_a_suite_with_no_image_in_common_is_named(tmp_path: Path) -> None:
    write_table(table_path(tmp_path, "mc_dropout", "0.1", None), ["a"], random_rows("a", 0))
    with pytest.raises(DataError, match="suite 'sd' of 'net': list and the model's tables have no"):
        read_results(tmp_path, [Members("sd", ("z.jpg",), "list")])


def test_operators_without_a_common_image_are_named(tmp_path: Path) -> None:
    write_results(tmp_path, {"orig": ["a"]}, mutants=MUTANTS[:2])
    write_results(tmp_path, {"orig": ["b"]}, mutants=MUTANTS[3:])
    with pytest.raises(DataError, match=r"'orig' of 'net': the operators .* no image in common"):
        read_results(tmp_path)


def test_a_listed_suite_that_no_model_has_is_named(tmp_path: Path) -> None:
    write_results(tmp_path, {"orig": ["a"]})
    with pytest.raises(DataError, match=r"folders of the suites \['sd'\].* folders \['orig'\]"):
        read_results(tmp_path, [Members("sd", ("a",), "list")])


def test_other_columns_are_named(tmp_path: Path) -> None:
    write_results(tmp_path, {"orig": ["a"]})
    path = table_path(tmp_path, "mc_dropout", "0.3", "orig")
    read_table(path).drop(columns="[match] iou_mean").assign(extra=1).to_csv(path, index=False)
    with pytest.raises(DataError) as caught:
        read_results(tmp_path)
    assert str(path) in str(caught.value)
    assert "missing ['[match] iou_mean'], not expected ['extra']" in str(caught.value)


def test_an_image_has_one_row(tmp_path: Path) -> None:
    write_results(tmp_path, {"orig": ["a", "a"]}, mutants=MUTANTS[:1])
    with pytest.raises(DataError, match="image 'a' has more than one row"):
        read_results(tmp_path)


def test_folders_without_tables_and_tables_without_rows_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="once 'uamt score' has scored it"):
        read_results(tmp_path)
    write_table(table_path(tmp_path, "mc_dropout", "0.1", "orig"), [], np.empty((0, 37)))
    with pytest.raises(DataError, match="suite 'orig' of 'net': its tables have no row"):
        read_results(tmp_path)


def facts(*equivalent: str) -> BranchFacts:
    return BranchFacts("strict", 10, equivalent=equivalent)


def test_a_mutant_is_equivalent_if_it_is_so_on_all_suites(tmp_path: Path) -> None:
    write_results(tmp_path, SUITES)
    dropout, other = (table_path(tmp_path, "mc_dropout", "0", s).parent for s in SUITES)
    write_facts(dropout / "facts.json", facts("0.1", "0.3"))
    (model,) = read_results(tmp_path)
    assert model.equivalent == frozenset()
    write_facts(other / "facts.json", facts("0.1"))
    (model,) = read_results(tmp_path)
    assert model.equivalent == {("mc_dropout", "0.1")}
    assert set(model.suites[0].facts) == {"mc_dropout"}


def test_the_identity_mutant_is_a_control_and_no_mutant(tmp_path: Path) -> None:
    write_results(tmp_path, {"orig": ["a", "b"]})
    rows = random_rows(["b", "z"], 5)
    write_table(table_path(tmp_path, "identity", "1", "orig"), ["b", "z"], rows)
    (model,) = read_results(tmp_path)
    (suite,) = model.suites
    assert suite.scores.mutants == MUTANTS
    assert suite.scores.stems == ("a", "b")
    assert suite.identity is not None
    assert np.isnan(suite.identity[0]).all()
    np.testing.assert_array_equal(suite.identity[1], rows[0])


def test_an_operator_with_fewer_tables_has_no_strangers(tmp_path: Path) -> None:
    """Image c is in all 3 dropout tables of 9, and in the other suite: it is shared."""
    write_results(tmp_path, {"orig": ["a", "b", "c"]}, mutants=MUTANTS[:3])
    write_results(tmp_path, {"orig": ["a", "b"]}, mutants=MUTANTS[3:])
    write_results(tmp_path, {"sd": ["c"]})
    (model,) = read_results(tmp_path)
    assert model.suites[0].scores.n_crashed == 6


def test_one_mutant_has_one_table_and_one_tag(tmp_path: Path) -> None:
    write_results(tmp_path, {"orig": ["a"]}, mutants=[("mc_dropout", "0.10")])
    assert read_results(tmp_path)[0].suites[0].scores.mutants == (("mc_dropout", "0.1"),)
    write_results(tmp_path, {"orig": ["a"]}, mutants=[("mc_dropout", "0.1")])
    with pytest.raises(DataError, match=r"mutant '0\.1' has another table beside this one"):
        read_results(tmp_path)
    write_results(tmp_path / "odd", {"orig": ["a"]}, mutants=[("other", "blur+0.1_x")])
    (model,) = read_results(tmp_path / "odd")
    assert model.suites[0].scores.mutants == (("other", "blur+0.1_x"),)


def test_tables_of_two_rule_sets_are_not_mixed(tmp_path: Path) -> None:
    write_results(tmp_path, SUITES)
    for suite, rules in (("orig", "deepluq"), ("dalle", "strict")):
        folder = table_path(tmp_path, "mc_dropout", "0", suite).parent
        write_facts(folder / "facts.json", BranchFacts(rules, 10))
    with pytest.raises(DataError, match=r"one rule set, found \['deepluq', 'strict'\]"):
        read_results(tmp_path)
