"""Every number equals the reference's, from prediction files to rows and per-object values."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scoring.errors import DataError
from scoring.objects import MEASURES, ghost_objects, match_objects, miss_objects
from scoring.rows import COLUMNS, score_image
from scoring.rules import DEEPLUQ
from scoring.sweep import find_sweep, read_image
from scoring.tracks import track
from tests.scoring.golden_cases import HERE, WHOLE_SET, decode, read_cases, write_tree

TOLERANCE = 1e-9
REFERENCE = DEEPLUQ.with_(binomial_n=10)  # the reference tests 10 trials whatever T is
WHOLE = WHOLE_SET / "cases"


def kind_of(case: dict[str, Any], mutant: dict[str, Any]) -> str:
    status = mutant["expected"]["status"]
    if case["category"] == "nan_box":
        return "nan_box"
    if case["category"] in ("ragged_logits", "missing_logit_field"):
        return "bad vectors"
    return "empty original" if status == "error" else status


def assert_same(got: float, expected: float, what: str) -> None:
    if np.isnan(expected):
        assert np.isnan(got), what
    else:
        assert got == pytest.approx(expected, rel=0, abs=TOLERANCE), what


def compare_trace(case: dict[str, Any], tag: str, original: Any, mutant: Any) -> bool:
    trace = decode(case["mutants"][tag]["expected"].get("trace", {}))
    if "counts_match_miss_ghost" not in trace or "trace_stopped" in trace:
        return False
    tracks = track(original, mutant, REFERENCE)
    assert tracks.counts().tolist() == trace["counts_match_miss_ghost"]
    tables = {
        "match": match_objects([tracks]),
        "miss": miss_objects([tracks]),
        "ghost": ghost_objects([tracks]),
    }
    for name, table in tables.items():
        expected = trace[f"{name}_objects"]
        assert len(table) == len(expected)
        for k, wanted in enumerate(expected):
            what = f"{case['id']} {tag} {name} object {k}"
            assert table.labels[k] == wanted["label"], what
            assert_same(table.rate[k], wanted[f"{name}_rate"], what)
            for m, measure in enumerate(MEASURES):
                side = "mut" if name == "match" else name
                assert_same(table.mutated[k, m], wanted[f"{measure}_{side}"], f"{what} {measure}")
                if name == "match":
                    assert_same(table.original[k, m], wanted[f"{measure}_orig"], what)
            if name == "match":
                assert_same(table.iou[k], wanted["avg_iou"], what)
    return True


def compare_case(case: dict[str, Any], root: Path) -> Counter[str]:
    """Compare both mutants of a case; return how many of each kind were compared."""
    compared: Counter[str] = Counter()
    sweep = find_sweep(root, write_tree(root, case))
    kinds = {tag: kind_of(case, case["mutants"][tag]) for tag in sweep.tags}
    if "bad vectors" in kinds.values():
        with pytest.raises(DataError, match=r"prediction_\d\.json .*pass \d, id 'label_\d'.*logit"):
            read_image(sweep, case["stem"])
        return Counter(kinds.values())
    rules = REFERENCE
    if "nan_box" in kinds.values():
        with pytest.raises(DataError, match=r"pass 3, id 'label_0'.*NaN"):
            read_image(sweep, case["stem"])
        rules = REFERENCE.with_(nonfinite="keep")
    original, mutants = read_image(sweep, case["stem"], rules=rules)
    rows = score_image(original, mutants, rules)
    for tag, row, mutant in zip(sweep.tags, rows, mutants, strict=True):
        named = dict(zip(COLUMNS, row, strict=True))
        expected = case["mutants"][tag]["expected"]
        compared[kinds[tag]] += 1
        compared["trace"] += compare_trace(case, tag, original, mutant)
        if kinds[tag] == "empty original":
            check_empty_original(named, case, tag)
            continue
        for column, wanted in decode(expected["row"]).items():
            assert_same(named[column], wanted, f"{case['id']} {tag} {column}")
    return compared


def check_empty_original(row: dict[str, float], case: dict[str, Any], tag: str) -> None:
    """Check the object ratios by their definition, pass by pass: the reference divides by zero."""
    counts = np.array(
        case["mutants"][tag]["expected"]["trace"]["counts_match_miss_ghost"], dtype=float
    )
    matched, missed, ghosts = counts.T
    for kind, part, whole in (
        ("miss", missed, matched + missed),
        ("ghost", ghosts, matched + missed + ghosts),
        ("miss_ghost", missed + ghosts, matched + missed + ghosts),
    ):
        ratios = [p / w for p, w in zip(part, whole, strict=True) if w]
        mean = sum(ratios) / len(ratios) if ratios else np.nan
        assert_same(row[f"[obj_level] kill_rate_{kind}_mean"], mean, f"{case['id']} {kind}")
    if not case["orig"] or not any(case["orig"]):
        assert np.isnan(row["[obj_level] kill_rate_miss_mean"])
        assert row["[match] match_rate"] == 0


@pytest.mark.parametrize("case", read_cases(HERE), ids=lambda case: case["id"])
def test_a_case_of_each_kind_equals_the_reference(case: dict[str, Any], tmp_path: Path) -> None:
    assert compare_case(case, tmp_path).total() >= 2


def test_the_whole_set_equals_the_reference(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if not WHOLE.is_dir():
        pytest.skip(f"the whole golden set is not at hand ({WHOLE}); name it with UAMT_GOLDEN")
    compared: Counter[str] = Counter()
    for case in read_cases(WHOLE):
        compared += compare_case(case, tmp_path / case["id"])
    with capsys.disabled():
        print(f"\ngoldens compared: {dict(sorted(compared.items()))}")
    compared.pop("trace")
    assert compared == {
        "ok": 188,
        "nonfinite": 16,
        "nan_box": 6,
        "empty original": 18,
        "bad vectors": 12,
    }


def test_ties_in_the_assignment_are_part_of_the_set() -> None:
    cases = read_cases(HERE)
    tied = [
        case["id"]
        for case in cases
        for mutant in case["mutants"].values()
        if mutant["expected"].get("trace", {}).get("assignment_unique") is False
    ]
    assert tied
