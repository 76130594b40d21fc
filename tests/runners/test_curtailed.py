"""Curtailed passes: the same verdicts as a full campaign, by the fewest passes that tell."""

from __future__ import annotations

import itertools
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from mutators import MCDropBlock, MCDropout
from runners.builtin import suites as builtin_suites
from runners.campaign import Campaign, prepare
from runners.detectors import Detector, load_detector
from runners.execution import run_serially
from runners.images import list_images
from runners.ledger import Entry, Ledger
from runners.manifest_file import read_manifest
from runners.pool import run_in_pool
from runners.settings import Settings
from runners.shards import Shard
from scoring.errors import ConfigError
from scoring.layout import Branch
from scoring.predictions import read_passes
from scoring.rows import COLUMNS, KINDS
from scoring.suites import SuiteScores
from scoring.tracks import track
from uamt.scores import score_root

T = 7
SWEEPS = (MCDropout(rates=(0.02, 0.1)), MCDropBlock(rates=(0.1,), blocks=(3,)))
MODEL = "demo_fasterrcnn"
RULES = [
    ("miss_ghost", "any", False),
    ("miss_ghost", "significant", False),
    ("ghost", "any", False),
    ("all", "significant", False),
    ("miss_ghost", "significant", True),
    ("all", "significant", True),
]

Outcomes = dict[tuple[str, str, str, str], np.ndarray]
"""By suite, image, operator and tag: (T, 3) whether a pass has a miss, a ghost, either."""


@pytest.fixture(scope="module")
def detector() -> Detector:
    return load_detector(MODEL)


def make(detector: Detector, root: Path, **settings: Any) -> Campaign:
    suites = {
        name: list_images(folder, name, "stem")[5:7]
        for name, folder in builtin_suites().items()
        if name != "plain"
    }
    return Campaign(
        detector=detector,
        suites=suites,
        operators=SWEEPS,
        settings=Settings(passes=T, **settings),
        root=root,
    )


@pytest.fixture(scope="module")
def full(detector: Detector, tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    campaign = make(detector, tmp_path_factory.mktemp("full") / "experiment", chunk=1)
    run_serially(prepare(campaign))
    return campaign


def outcomes(campaign: Campaign) -> Outcomes:
    found = {}
    for ref, sweep in itertools.product(campaign.images, campaign.operators):
        branch = Branch(sweep.name, MODEL, ref.suite)
        original = read_passes(branch.folder(campaign.root, sweep.original().tag, ref.stem))
        for mutant in sweep.mutants():
            passes = read_passes(branch.folder(campaign.root, mutant.tag, ref.stem))
            _, missed, ghosts = track(original, passes).counts().T > 0
            key = (ref.suite, ref.stem, sweep.name, mutant.tag)
            found[key] = np.stack([missed, ghosts, missed | ghosts], axis=1)
    return found


def is_kill(count: int, rule: str) -> bool:
    return count > 0 if rule == "any" else float(binom.sf(count - 1, T, 0.01)) < 0.05


def futures(left: int) -> set[tuple[int, int, int]]:
    """Every way in which the passes that are left can add to the three counts."""
    totals = {(0, 0, 0)}
    for _ in range(left):
        totals = {
            (m + miss, g + ghost, e + (miss or ghost))
            for m, g, e in totals
            for miss in (0, 1)
            for ghost in (0, 1)
        }
    return totals


FUTURES = [futures(left) for left in range(T + 1)]


def least(flags: np.ndarray, targets: set[int], rule: str) -> tuple[int, set[int]]:
    """The fewest passes after which no future changes a verdict, and the kinds that are kills."""
    for n in range(1, T + 1):
        counts = flags[:n].sum(axis=0)
        possible = [
            {is_kill(counts[kind] + extra[kind], rule) for extra in FUTURES[T - n]}
            for kind in range(3)
        ]
        if all(len(possible[kind]) == 1 for kind in targets):
            return n, {kind for kind in range(3) if possible[kind] == {True}}
    raise AssertionError("after T passes nothing is open")


def simulated(found: Outcomes, kinds: str, rule: str, per_mutant: bool) -> dict[Any, int]:
    """The passes of every unit, by the outcomes of the full campaign."""
    targets = set(range(3)) if kinds == "all" else {KINDS.index(kinds)}
    dead: dict[Any, set[int]] = defaultdict(set)
    numbers = {}
    for suite, stem, operator, tag in sorted(found):
        left = targets - dead[suite, operator, tag]
        key = (suite, stem, operator, tag)
        if not left:
            numbers[key] = 0
            continue
        numbers[key], killed = least(found[key], left, rule)
        if per_mutant:
            dead[suite, operator, tag] |= killed
    return numbers


def entries(root: Path) -> dict[Any, Entry]:
    return {
        (unit.suite, entry.stem, unit.operator, unit.tag): entry
        for unit, entry in Ledger(root).latest().items()
        if not unit.tag.startswith("0_") and unit.tag != "0"
    }


def shares(suite: SuiteScores, kind: str, rule: Any) -> list[float]:
    return [suite.image_score(kind, rule), suite.kill_share(kind, rule).value]


@pytest.mark.parametrize(("kinds", "rule", "per_mutant"), RULES)
def test_verdicts_are_those_of_a_full_campaign_by_the_fewest_passes(
    detector: Detector, full: Campaign, tmp_path: Path, kinds: Any, rule: Any, per_mutant: bool
) -> None:
    settings = {"curtail": kinds, "kill_rule": rule, "curtail_mutants": per_mutant}
    campaign = make(detector, tmp_path / "experiment", **settings)
    summary = run_serially(prepare(campaign))

    expected = simulated(outcomes(full), kinds, rule, per_mutant)
    assert {key: len(entry.sha256) for key, entry in entries(campaign.root).items()} == expected
    assert summary.n_passes == sum(expected.values()) < T * len(expected)
    assert summary.n_dropped == sum(number == 0 for number in expected.values())
    assert (summary.n_dropped > 0) == per_mutant
    for (suite, stem, operator, tag), number in expected.items():
        folder = Branch(operator, MODEL, suite).folder(campaign.root, tag, stem)
        whole = Branch(operator, MODEL, suite).folder(full.root, tag, stem)
        names = sorted(path.name for path in folder.iterdir()) if folder.exists() else []
        assert names == [f"prediction_{t}.json" for t in range(number)]
        assert all((folder / n).read_bytes() == (whole / n).read_bytes() for n in names)

    ours, theirs = score_root(campaign.root).suites, score_root(full.root).suites
    for one, other in zip(ours, theirs, strict=True):
        for kind in KINDS if kinds == "all" else (kinds,):
            found, wanted = shares(one, kind, rule), shares(other, kind, rule)
            assert found[0] == wanted[0]
            if per_mutant and np.isnan(found[1]):
                continue  # of an image that a dropped mutant did not meet, no share is known
            assert found[1] == wanted[1]
        known = one.verdicts("miss_ghost", rule)
        assert (known[known >= 0] == other.verdicts("miss_ghost", rule)[known >= 0]).all()


def test_files_say_what_is_settled_and_nothing_else(detector: Detector, tmp_path: Path) -> None:
    campaign = make(detector, tmp_path / "experiment", curtail="miss_ghost")
    run_serially(prepare(campaign))
    said = read_manifest(campaign.root)["models"][MODEL]["settings"]
    assert (said["passes"], said["chunk"]) == (T, 1)
    assert said["curtail"] == {
        "kinds": "miss_ghost",
        "rule": "significant",
        "critical_count": 2,
        "per_mutant": False,
    }
    scored = score_root(campaign.root)
    n_open = 0
    for suite in scored.suites:
        settled = ~np.isnan(suite.column("[img_level] iskill_miss_ghost_count"))
        assert settled.all()
        is_count = np.array([c.endswith("_count") for c in COLUMNS])
        assert np.isnan(suite.values[:, :, ~is_count]).all()
        n_open += int(np.isnan(suite.column("[img_level] iskill_miss_count")).sum())
    assert n_open > 0
    for branch, facts in scored.facts.items():
        for tag, by_stem in facts.fewer_passes.items():
            for stem, lacking in by_stem.items():
                folder = branch.folder(campaign.root, tag, stem)
                assert len(list(folder.iterdir())) == T - lacking
    assert not scored.strict


@pytest.mark.parametrize("per_mutant", [False, True])
def test_a_curtailed_run_resumes_also_in_a_pool(
    detector: Detector, tmp_path: Path, per_mutant: bool
) -> None:
    settings = {"curtail": "miss_ghost", "kill_rule": "any", "curtail_mutants": per_mutant}
    whole = make(detector, tmp_path / "whole", **settings)
    run_serially(prepare(whole))

    campaign = make(detector, tmp_path / "experiment", **settings)
    calls = itertools.count()

    def interrupt(entry: Entry, is_new: bool) -> None:
        if next(calls) == 15:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_serially(prepare(campaign), interrupt)
    prepared = prepare(campaign)
    summary = run_in_pool([prepared], 2)[0] if per_mutant else run_serially(prepared)
    assert summary.n_skipped >= 15
    assert tree(campaign.root) == tree(whole.root)
    again = run_serially(prepare(campaign))
    assert (again.n_run, again.n_passes) == (0, summary.n_passes)
    assert entries(campaign.root).keys() == entries(whole.root).keys()


def tree(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and path.name not in ("ledger.jsonl", "scores")
    }


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"curtail": "misses"}, "miss_ghost, miss, ghost or all, got 'misses'"),
        ({"curtail": "all", "kill_rule": "holm"}, "needs all passes of all images"),
        ({"curtail": "all", "chunk": 3}, "one by one"),
        ({"curtail_mutants": True}, "which kind kills"),
    ],
)
def test_settings_that_settle_nothing_are_refused(settings: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Settings(passes=T, **settings)


def test_curtailed_mutants_are_refused_with_shards(full: Campaign) -> None:
    settings = Settings(passes=T, curtail="miss", curtail_mutants=True)
    with pytest.raises(ConfigError, match="follow each other"):
        Campaign(
            detector=full.detector,
            suites=full.suites,
            operators=SWEEPS,
            settings=settings,
            root=full.root,
            shard=Shard(1, 2),
        )
