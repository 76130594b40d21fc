"""Plans: counts are exact, disk is close, time follows the samples, and nothing is written."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
import torch

from mutators import MCDropBlock, MCDropout, resolve_sites
from runners.builtin import suites as builtin_suites
from runners.campaign import Campaign, Prepared, prepare, preview
from runners.detectors import Detector, load_detector
from runners.estimates import estimate
from runners.execution import run_serially
from runners.images import list_suites, read_image
from runners.plan_samples import PassCost, SomeMutants, UnitCost, spread_images
from runners.planning import Plan, make_plan
from runners.preset_shares import shares_behind, sites_of_presets
from runners.settings import Settings
from runners.shards import Shard
from scoring.errors import DataError

SWEEPS = (
    MCDropout(rates=(0.02, 0.05, 0.1, 0.2, 0.3, 0.5)),
    MCDropBlock(rates=(0.1, 0.3), blocks=(3, 7)),
)


@pytest.fixture(scope="module")
def detector() -> Detector:
    return load_detector("demo_fasterrcnn")


@pytest.fixture
def campaign(detector: Detector, tmp_path: Path) -> Campaign:
    suites = list_suites(builtin_suites())
    return Campaign(
        detector=detector,
        suites={name: suites[name][:4] for name in ("plain", "dim")},
        operators=SWEEPS,
        settings=Settings(passes=4, chunk=4),
        root=tmp_path / "experiment",
    )


def test_the_disk_of_a_run_is_predicted_within_a_tenth_and_nothing_is_written(
    campaign: Campaign,
) -> None:
    plan = make_plan(preview(campaign), n_samples=4)
    assert list(campaign.root.parent.iterdir()) == []
    assert (plan.n_units, plan.n_left, plan.n_images_left) == (96, 96, 8)
    run_serially(prepare(campaign))
    files = list(campaign.root.rglob("prediction_*.json"))
    written = [*files, campaign.root / "ledger.jsonl"]
    assert plan.estimate is not None
    assert plan.estimate.n_files == len(files) == 96 * 4
    found = sum(path.stat().st_size for path in written)
    assert plan.estimate.n_bytes == pytest.approx(found, rel=0.1)
    blocks = sum(-(-path.stat().st_size // 4096) * 4096 for path in written)
    assert plan.estimate.disk_bytes == pytest.approx(blocks, rel=0.1)


def test_what_is_done_is_left_out_and_a_shard_is_planned_alone(campaign: Campaign) -> None:
    small = dataclasses.replace(campaign, operators=SWEEPS[:1])
    half = dataclasses.replace(small, shard=Shard(1, 2))
    run_serially(prepare(half))
    ledger = (campaign.root / "ledger.jsonl").read_bytes()
    next(campaign.root.rglob("prediction_2.json")).unlink()
    plan = make_plan(preview(small), n_samples=1)
    assert (plan.n_units, plan.n_left, plan.n_images_left) == (56, 29, 5)
    plan = make_plan(preview(dataclasses.replace(small, shard=Shard(2, 2))), n_samples=1)
    assert (plan.n_units, plan.n_left, plan.n_images_left) == (28, 28, 4)
    assert (campaign.root / "ledger.jsonl").read_bytes() == ledger
    run_serially(prepare(small))
    plan = make_plan(preview(small))
    assert (plan.n_left, plan.estimate, plan.seconds_with(1)) == (0, None, 0.0)


def test_images_that_cannot_be_read_are_planned_around(campaign: Campaign, tmp_path: Path) -> None:
    photos = tmp_path / "photos"
    photos.mkdir()
    good = campaign.suites["plain"][0].path.read_bytes()
    (photos / "a.png").write_bytes(good[:400])
    (photos / "b.png").write_bytes(good)
    mixed = dataclasses.replace(
        campaign, suites=list_suites({"photos": photos}), operators=SWEEPS[:1]
    )
    assert make_plan(preview(mixed), n_samples=1).estimate is not None
    (photos / "b.png").write_bytes(good[:400])
    with pytest.raises(DataError, match="can be read"):
        make_plan(preview(mixed))


def test_less_of_a_pass_lies_behind_later_sites(detector: Detector, campaign: Campaign) -> None:
    image = read_image(campaign.images[0].path)
    shares = shares_behind(detector, image, sites_of_presets(detector))
    for late in ("last", "head"):
        assert 0 < shares[late] < 0.6 * shares["uamters"] < 0.6
    whole = shares_behind(
        detector, image, {"start": resolve_sites(detector.model, "backbone.body@in")}
    )
    assert 0.7 < whole["start"] <= 1
    assert not any(module._forward_hooks for module in detector.model.modules())
    assert not any(module._forward_pre_hooks for module in detector.model.modules())


def cost(seconds: float, n_bytes: float) -> UnitCost:
    return UnitCost(seconds=seconds, n_bytes=n_bytes, padding=4096 - n_bytes, ledger_bytes=100)


def test_an_estimate_by_hand(campaign: Campaign) -> None:
    sweep = MCDropout(rates=(0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9))
    assert SomeMutants(sweep).places == [0, 2, 4, 6, 8]
    assert [mutant.tag for mutant in SomeMutants(sweep).mutants()][-1] == "0.9"
    planned = dataclasses.replace(
        campaign, operators=(sweep,), settings=Settings(passes=10, chunk=1)
    )
    prepared = Prepared(planned, True, {}, {})
    # Two passes were run: the original, the first mutant, which fills the memo, and four more.
    sample = {
        "mc_dropout": [
            cost(1.0, 1000),
            cost(2.2, 900),
            cost(0.2, 700),
            cost(0.4, 500),
            cost(0.6, 300),
            cost(0.8, 100),
        ]
    }
    left = {("mc_dropout", place): 3 for place in range(10)}
    found = estimate(prepared, left, 3, [sample], PassCost(1.0, 0.01), [1000, 3000])
    # Later mutants: .2 .2 .2 .3 .4 .5 .6 .7 .8 s for two passes, 3.9 s; the first takes 2 s more.
    assert found.seconds == pytest.approx(3 * (1.0 + 8 * 0.01 + 2.0 + 5 * 3.9))
    assert found.plain_seconds == pytest.approx(3 * (1.0 + 8 * 0.01 + 9 * 10 * 1.01))
    assert found.write_seconds == pytest.approx(3 * 10 * 10 * 0.01)
    assert found.n_files == 300
    # The original's 2000 bytes times 1, .9, .8, ... .1, ten passes, three images.
    assert found.n_bytes == pytest.approx(3 * 10 * (5.5 * 2000) + 30 * (100 + 10 * 67))
    plan = Plan(prepared, 30, 30, 3, 0.5, {}, found)
    assert plan.seconds_with(1, 9.0) == found.seconds
    assert plan.seconds_with(2, 9.0) == pytest.approx(found.seconds * 2 / 3 + 9)
    assert plan.seconds_with(8, 9.0) == pytest.approx(found.seconds / 3 + 9)


def test_sampled_images_are_spread_evenly(campaign: Campaign) -> None:
    images = campaign.images
    assert spread_images(images, 2) == [images[2], images[6]]
    assert spread_images(images, 20) == images
    assert spread_images(images[:1], 3) == images[:1]


def test_threads_are_restored(campaign: Campaign) -> None:
    before = torch.get_num_threads()
    two = dataclasses.replace(campaign.settings, threads=before + 1)
    make_plan(
        preview(dataclasses.replace(campaign, settings=two, operators=(MCDropout(rates=(0.1,)),))),
        n_samples=1,
    )
    assert torch.get_num_threads() == before
