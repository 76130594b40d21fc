"""Every documented call against the reference's traces, object by object and row by row."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scoring.errors import DataError
from scoring.metrics_mut.helper import init_metrics, update_metrics
from scoring.metrics_mut.ms import (
    calcu_mean,
    identify_matches_misses_ghosts,
    iskill_img,
    kill_count_img,
    kill_rate_obj,
    un_ms_calcu,
)
from scoring.metrics_mut.ms_calcu import (
    ms_per_test_case_mutant,
    process_ghost_set_dbscan,
    process_match_metrics,
    process_missing_set,
)
from scoring.objects import MEASURES
from scoring.rows import COLUMNS
from scoring.rules import DEEPLUQ, Rules
from tests.scoring.golden_cases import HERE, decode, read_cases, write_tree

TOLERANCE = 1e-9
SCORES = [f"{measure}_ms" for measure in MEASURES]

Scored = tuple[dict[str, Any], str, dict[str, Any]]


def rules_of(case: dict[str, Any]) -> Rules:
    """The reference tests 10 trials whatever T is, and compares NaN."""
    return DEEPLUQ.with_(
        binomial_n=10, nonfinite="keep" if case["category"] == "nan_box" else "refuse"
    )


def scored_cases() -> Iterator[Scored]:
    """Every mutant that the reference scores, and its expectation."""
    for case in read_cases(HERE):
        for tag, mutant in case["mutants"].items():
            if mutant["expected"]["status"] in ("ok", "nonfinite"):
                yield case, tag, decode(mutant["expected"])


def sets_of(case: dict[str, Any], tag: str) -> tuple[list[Any], list[Any], list[Any]]:
    sides = zip(decode(case["orig"]), decode(case["mutants"][tag]["pred"]), strict=True)
    parts = [identify_matches_misses_ghosts(o, m, rules=rules_of(case)) for o, m in sides]
    matches, misses, ghosts = (list(part) for part in zip(*parts, strict=True))
    return matches, misses, ghosts


def assert_same(got: Any, expected: Any, what: str) -> None:
    if isinstance(expected, str):
        assert got == expected, what
    else:
        assert got == pytest.approx(expected, rel=0, abs=TOLERANCE, nan_ok=True), what


CASES = pytest.mark.parametrize(
    ("case", "tag", "expected"),
    [pytest.param(*each, id=f"{each[0]['id']}-{each[1]}") for each in scored_cases()],
)


@CASES
def test_sets_and_objects_are_the_reference_s(
    case: dict[str, Any], tag: str, expected: dict[str, Any]
) -> None:
    trace, rules = expected["trace"], rules_of(case)
    matches, misses, ghosts = sets_of(case, tag)
    counts = [list(map(len, each)) for each in zip(matches, misses, ghosts, strict=True)]
    assert counts == trace["counts_match_miss_ghost"]
    if "trace_stopped" in trace:
        return
    for name, objects in (
        ("match", process_match_metrics(matches, rules=rules)),
        ("miss", process_missing_set(misses, rules=rules)),
        ("ghost", process_ghost_set_dbscan(ghosts, rules=rules)),
    ):
        wanted = trace[f"{name}_objects"]
        assert len(objects) == len(wanted)
        for got, one in zip(objects, wanted, strict=True):
            assert set(got) == set(one)
            for key, value in one.items():
                assert_same(got[key], value, f"{case['id']} {tag} {name} {key}")


@CASES
def test_rows_follow_from_the_sets_step_by_step(
    case: dict[str, Any], tag: str, expected: dict[str, Any]
) -> None:
    rules = rules_of(case)
    matches, misses, ghosts = sets_of(case, tag)
    objects = un_ms_calcu(
        process_match_metrics(matches, rules=rules),
        process_missing_set(misses, rules=rules),
        process_ghost_set_dbscan(ghosts, rules=rules),
    )
    columns = (["iou_ms", "match_rate", *SCORES], ["miss_rate", *SCORES], ["ghost_rate", *SCORES])
    means = [calcu_mean(each, names) for each, names in zip(objects, columns, strict=True)]
    kills = iskill_img(misses, ghosts, rules=rules)
    table = update_metrics(
        init_metrics(), f"{case['stem']}", *kills, kill_rate_obj(matches, misses, ghosts), *means
    )
    assert table["test_suite"] == [case["stem"]]
    for column, value in expected["row"].items():
        assert_same(table[column][0], value, f"{case['id']} {tag} {column}")
    assert kill_count_img(misses, ghosts) == tuple(kill["observed_success"] for kill in kills)


@CASES
def test_a_test_case_is_scored_from_its_files(
    case: dict[str, Any], tag: str, expected: dict[str, Any], tmp_path: Path
) -> None:
    write_tree(tmp_path, case)
    rate, _, block = tag.partition("_")
    results = ms_per_test_case_mutant(
        Path(f"photos/{case['stem']}.png"),
        case["model"],
        case["operator"],
        (float(rate), int(block)) if block else float(rate),
        tmp_path,
        case["T"],
        rules=rules_of(case),
    )
    table = update_metrics(init_metrics(), case["stem"], *results)
    assert list(table) == ["test_suite", *COLUMNS]
    for column, value in expected["row"].items():
        assert_same(table[column][0], value, f"{case['id']} {tag} {column}")
    assert results[0]["sample_size"] == 10


def test_broken_vectors_are_named_where_the_reference_crashes() -> None:
    record = {"box": [0, 0, 4, 2], "label": 1, "score": 0.5, "logit": [0.5, 0.5]}
    bare = {key: value for key, value in record.items() if key != "logit"}
    with pytest.raises(DataError, match="repetition 1, record 0: 'logit' is missing"):
        process_missing_set([[record], [bare]])
    with pytest.raises(DataError, match=r"repetition 1, record 0: expected 2 numbers in 'logit'"):
        process_ghost_set_dbscan([[record], [record | {"logit": [1.0]}]])
    # Matching needs no vectors.
    assert len(identify_matches_misses_ghosts({"a": record}, {"b": bare})[0]) == 1


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("box", [0, 0, 4], "expected 4 numbers in 'box'"),
        ("box", ["a", 0, 4, 2], "expected numbers in 'box'"),
        ("box", [np.nan, 0, 4, 2], "expected finite numbers"),
        ("logit", [np.inf, 0], "expected finite numbers"),
        ("logit", [], "expected some numbers in 'logit'"),
        ("label", True, "expected a number or text as 'label'"),
        ("score", "high", "expected a number as 'score'"),
    ],
)
def test_a_faulty_record_is_named(field: str, value: Any, said: str) -> None:
    record = {"box": [0, 0, 4, 2], "label": 1, "score": 0.5, "logit": [0.5, 0.5], field: value}
    with pytest.raises(DataError, match=f"repetition 0, record 0: {said}"):
        process_missing_set([[record]])


def test_arrays_and_tensors_serve_as_fields() -> None:
    torch = pytest.importorskip("torch")
    plain = {"box": [0.0, 0.0, 4.0, 2.0], "label": 1, "score": 0.5, "logit": [0.25, 0.75]}
    as_arrays = {key: np.array(value) for key, value in plain.items()}
    as_tensors = {key: torch.tensor(value) for key, value in plain.items()}
    expected = process_missing_set([[plain], [plain]])
    assert process_missing_set([[as_arrays], [as_tensors]]) == expected
    assert expected[0]["label"] == 1


def test_nothing_in_any_repetition_gives_no_object() -> None:
    for process in (process_match_metrics, process_missing_set, process_ghost_set_dbscan):
        assert process([[], [], []]) == []
        assert process([]) == []
