"""`uamt score` by rule set strict: facts, declarations, controls, and what strict would change."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import uamt as facade
from scoring.branch_facts import BranchFacts, facts_path, read_facts, write_facts
from scoring.detections import Detections
from scoring.errors import DataError
from scoring.layout import MANIFEST_NAME, Branch, prediction_path
from scoring.passes import Passes
from scoring.predictions import write_prediction
from scoring.rows import COLUMNS, score_image
from scoring.rules import STRICT
from scoring.tables import read_table
from tests.scoring.scenes import found
from tests.uamt.conftest import Command

A = (0.0, 0.0, 10.0, 10.0)
SEEN, GONE = found([A]), Detections.empty()
BRANCH = Branch("mc_dropout", "net", "photos")
Mutants = Mapping[str, Sequence[Detections]]


def write_tree(root: Path, images: Mapping[str, Mutants], branch: Branch = BRANCH) -> Path:
    """Write the passes of each tag and stem."""
    for stem, mutants in images.items():
        for tag, passes in mutants.items():
            for t, detections in enumerate(passes):
                write_prediction(prediction_path(branch.folder(root, tag, stem), t), detections)
    return root


def facts_of(root: Path, branch: Branch = BRANCH) -> BranchFacts:
    facts = read_facts(facts_path(root / "scores", root.name, branch))
    assert facts is not None
    return facts


@pytest.fixture
def quiet(tmp_path: Path) -> Path:
    """Ten images that change in one pass of ten each under mutant 0.5, and never under 0.1."""
    images = {
        f"image_{i}": {"0": [SEEN] * 10, "0.1": [SEEN] * 10, "0.5": [GONE] + [SEEN] * 9}
        for i in range(10)
    }
    return write_tree(tmp_path / "quiet", images)


def test_strict_tables_hold_strict_rows(uamt: Command, quiet: Path) -> None:
    code, stdout, stderr = uamt("score", quiet, "--rules", "strict")
    assert code == 0
    table = read_table(BRANCH.table(quiet / "scores", "quiet", "0.5"))
    sides = Passes.from_list([SEEN] * 10), Passes.from_list([GONE] + [SEEN] * 9)
    expected = score_image(sides[0], [sides[1]], STRICT)[0]
    assert np.array_equal(table[list(COLUMNS)].to_numpy(float)[3], expected, equal_nan=True)
    assert "after Holm's correction" in stdout
    assert "count otherwise" not in stdout
    assert "nothing declares its class vectors; they are taken for softmax" in stderr
    assert facts_of(quiet) == BranchFacts("strict", 10, "softmax", True, ("0.1",))


def test_equivalent_mutants_leave_the_summary(uamt: Command, quiet: Path) -> None:
    """One of two mutants is the original: the other is all that counts."""
    for rules, mutation_score, share, equivalent in (("deepluq", 0.5, 0.5, 0), ("strict", 1, 1, 1)):
        uamt("score", quiet, "--rules", rules)
        summary = pd.read_csv(quiet / "scores" / "summary.csv").iloc[0]
        assert (summary["mutants"], summary["equivalent"]) == (2, equivalent)
        assert (summary["img_ms_any"], summary["kill_share_any"]) == (mutation_score, share)


def test_the_published_scores_come_with_what_strict_would_change(
    uamt: Command, quiet: Path
) -> None:
    """One changed pass of ten on ten images: p = .096, and a kill by `any` alone."""
    _, stdout, stderr = uamt("score", quiet)
    assert (
        "By the stricter rule set 'strict' (docs/rules.md), 2 of 2 mutants count otherwise: on "
        "suite 'photos' of net, rule 'any' kills 1 that 'strict' does not, 1 changes nothing on "
        "any image." in stdout
    )
    assert stderr == ""
    assert facts_of(quiet).equivalent == ()


def test_nothing_is_said_where_strict_agrees(uamt: Command, tmp_path: Path) -> None:
    root = write_tree(tmp_path / "clear", {"a": {"0": [SEEN] * 10, "0.5": [GONE] * 10}})
    _, stdout, _ = uamt("score", root)
    assert "strict" not in stdout


def test_another_order_of_suites_is_said(uamt: Command, tmp_path: Path) -> None:
    """Two changed passes of ten: p = .0043, which 12 images do not stand but 10 passes do."""
    root = tmp_path / "ranks"
    weak = {"0": [SEEN] * 10, "0.5": [GONE] * 2 + [SEEN] * 8}
    firm = {"0": [SEEN] * 10, "0.5": [GONE] * 10}
    still = {"0": [SEEN] * 10, "0.5": [SEEN] * 10}
    wide = {f"w{i}": weak for i in range(12)}
    write_tree(root, wide, Branch("mc_dropout", "net", "wide"))
    narrow = {"n0": firm, "n1": still}
    write_tree(root, narrow, Branch("mc_dropout", "net", "narrow"))
    _, stdout, _ = uamt("score", root)
    assert "suite 'wide' kills 100%" in stdout
    assert "by kill share the suites then rank narrow, wide" in stdout


def test_a_manifest_declares_what_the_vectors_are(uamt: Command, tmp_path: Path) -> None:
    vague, sure = found([A], probs=[[0.5, 0.1]]), found([A], probs=[[0.2, 0.9]])
    images = {"a": {"0": [vague] * 3, "0.5": [vague, sure, vague]}}
    root = write_tree(tmp_path / "declared", images)
    _, _, stderr = uamt("score", root, "--rules", "strict")
    assert "taken for sigmoid" in stderr
    assert facts_of(root).scores == "sigmoid"
    for kind, expected in (("softmax", "softmax"), ("one_hot", "softmax"), ("sigmoid", "sigmoid")):
        section = {
            "settings": {"imported": {"format": "coco"}, "model": {"scores": kind}},
            "operators": {"mc_dropout": {"tags": ["0.5"]}},
            "suites": {"photos": {"a.png": {"stem": "a"}}},
        }
        (root / MANIFEST_NAME).write_text(json.dumps({"format": 1, "models": {"net": section}}))
        code, _, stderr = uamt("score", root, "--rules", "strict")
        assert (code, stderr, facts_of(root).scores) == (0, "", expected)
    uamt("score", root, "--rules", "strict", "--scores", "softmax")
    assert facts_of(root).scores == "softmax"


@pytest.mark.parametrize(
    ("manifest", "said"),
    [
        ("[]", "expected an object, got a list"),
        ("{", "broken JSON"),
        ('{"models": {"net": {}}}', "model 'net': expected 'settings'"),
        ('{"models": {"net": {"settings": {"model": {"scores": "x"}}}}}', "'scores', got 'x'"),
    ],
)
def test_a_broken_manifest_is_an_error(
    uamt: Command, quiet: Path, manifest: str, said: str
) -> None:
    (quiet / MANIFEST_NAME).write_text(manifest)
    code, _, stderr = uamt("score", quiet, "--rules", "strict")
    assert code == 3
    assert f"{MANIFEST_NAME}: " in stderr
    assert said in stderr


def test_a_pass_that_is_not_finite_is_refused_kept_or_skipped(uamt: Command, quiet: Path) -> None:
    victim = prediction_path(BRANCH.folder(quiet, "0.5", "image_4"), 7)
    victim.write_text('{"a": {"box": [0, 0, NaN, 10], "label": 1, "score": 1, "logit": [0, 1, 0]}}')
    for rules in ("deepluq", "strict"):
        code, _, stderr = uamt("score", quiet, "--rules", rules)
        assert code == 3
        assert "image 'image_4'" in stderr
        assert "pass 7, id 'a'" in stderr
    code, _, stderr = uamt("score", quiet, "--rules", "strict", "--skip-nonfinite")
    assert code == 0
    assert "1 pass of an image under a mutant left out" in stderr
    assert facts_of(quiet).passes_of("0.5", "image_4") == 9
    assert facts_of(quiet).passes_of("0.5", "image_5") == 10
    assert uamt("score", quiet, "--keep-nonfinite")[0] == 0
    code, _, stderr = uamt("score", quiet, "--keep-nonfinite", "--rules", "strict")
    assert code == 2
    assert "--skip-nonfinite" in stderr
    assert uamt("score", quiet, "--keep-nonfinite", "--skip-nonfinite")[0] == 2


def test_boxes_without_area_are_counted(uamt: Command, tmp_path: Path) -> None:
    flat = found([A, (3, 3, 3, 9)])
    root = write_tree(tmp_path / "flat", {"a": {"0": [flat] * 2, "0.5": [flat, SEEN]}})
    _, _, stderr = uamt("score", root, "--rules", "strict")
    assert "3 boxes without area left out" in stderr
    assert facts_of(root).degenerate_boxes == 3
    uamt("score", root)
    assert facts_of(root).degenerate_boxes == 0


def test_the_identity_mutant_is_a_control_and_sets_the_floor(uamt: Command, tmp_path: Path) -> None:
    """The original flickers in 2 of 10 passes; so does its second run, and mutant 0.5."""
    flicker = [GONE] * 2 + [SEEN] * 8
    images = {"a": {"0": [SEEN] * 9 + [GONE], "0.5": [*flicker[:9], GONE]}}
    root = write_tree(tmp_path / "flicker", images)
    uamt("score", root, "--rules", "strict")
    summary = pd.read_csv(root / "scores" / "summary.csv")
    assert summary["img_ms_significant"].tolist() == [1]
    assert not facts_of(root).original_is_deterministic
    control = {"a": {"0": [SEEN] * 9 + [GONE], "1": [*flicker[:9], GONE]}}
    write_tree(root, control, Branch("identity", "net", "photos"))
    uamt("score", root, "--rules", "strict")
    summary = pd.read_csv(root / "scores" / "summary.csv")
    assert summary[["mutants", "img_ms_any", "img_ms_significant"]].to_numpy().tolist() == [
        [1, 1, 0]
    ]
    assert read_table(Branch("identity", "net", "photos").table(root / "scores", "flicker", "1"))[
        "test_suite"
    ].tolist() == ["a"]


def test_a_control_alone_is_no_experiment(uamt: Command, tmp_path: Path) -> None:
    branch = Branch("identity", "net", "photos")
    root = write_tree(tmp_path / "alone", {"a": {"0": [SEEN], "1": [SEEN]}}, branch)
    code, _, stderr = uamt("score", root)
    assert code == 3
    assert "only those of controls" in stderr


def test_facts_come_back_as_they_were_written(tmp_path: Path) -> None:
    facts = BranchFacts("strict", 10, "sigmoid", False, ("0.1",), 3, {"0.5": {"a": 2}})
    path = facts_path(tmp_path, "case", BRANCH)
    assert read_facts(path) is None
    write_facts(path, facts)
    assert read_facts(path) == facts
    path.write_text('{"rules": "strict"}')
    with pytest.raises(DataError, match="score again"):
        read_facts(path)
    path.write_text("{")
    with pytest.raises(DataError, match="broken JSON"):
        read_facts(path)


def test_every_summary_holds_what_strict_says(quiet: Path) -> None:
    """By deepluq one of two mutants dies; by strict none of the one that is not equivalent."""
    row = facade.score(quiet).iloc[0]
    assert (row["img_ms_any"], row["img_ms_holm"]) == (0.5, 0)
    assert (row["img_ms_strict"], row["kill_share_strict"]) == (0, 0)
    clear = facade.score(write_tree(quiet, {"image_0": {"0.5": [GONE] * 10}})).iloc[0]
    assert (clear["img_ms_any"], clear["img_ms_strict"]) == (0.5, 1)
    assert clear["kill_share_strict"] == pytest.approx(0.1)


def test_the_facade_warns_of_what_it_guessed(quiet: Path) -> None:
    with pytest.warns(UserWarning, match="taken for softmax"):
        facade.score(quiet, rules=facade.STRICT)
    assert len(facade.score(quiet, rules=facade.STRICT, scores="sigmoid")) == 1
    assert facts_of(quiet).scores == "sigmoid"


def test_images_of_fewer_passes_are_no_broken_ones(uamt: Command, quiet: Path) -> None:
    write_tree(quiet, {"short": {tag: [SEEN] * 4 for tag in ("0", "0.1", "0.5")}})
    _, _, stderr = uamt("score", quiet)
    assert stderr == ""
    facts = facts_of(quiet)
    assert (facts.passes_of("0.1", "short"), facts.passes_of("0.1", "image_0")) == (4, 10)
    assert facts.nonfinite_passes == 0


def test_an_image_without_a_finite_pass_has_no_row(uamt: Command, tmp_path: Path) -> None:
    images = {name: {"0": [SEEN], "0.5": [GONE]} for name in ("a", "b")}
    root = write_tree(tmp_path / "single", images)
    victim = prediction_path(BRANCH.folder(root, "0.5", "a"), 0)
    victim.write_text('{"a": {"box": [0, 0, NaN, 10], "label": 1, "score": 1, "logit": [0, 1, 0]}}')
    code, stdout, stderr = uamt("score", root, "--skip-nonfinite")
    assert code == 4
    assert "1 image x mutant pairs have no scores" in stdout
    assert "1 pass of an image under a mutant left out" in stderr
    table = read_table(BRANCH.table(root / "scores", "single", "0.5"))
    assert table["test_suite"].tolist() == ["b"]
