"""Shards: parts of one campaign that know nothing of each other."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path

import pytest

from mutators import MCDropBlock, MCDropout
from runners.builtin import suites as builtin_suites
from runners.campaign import Campaign, prepare
from runners.detectors import load_detector
from runners.execution import run_serially
from runners.images import ImageRef, list_suites
from runners.ledger import Ledger
from runners.pool import run_in_pool
from runners.settings import Settings
from runners.shards import Shard
from scoring.errors import ConfigError

IMAGES = [
    ImageRef(suite, f"{number}.png", str(number), Path(suite) / f"{number}.png")
    for suite in ("day", "night")
    for number in range(7)
]


@pytest.mark.parametrize("count", [1, 2, 3, 5, 14, 20])
def test_every_image_is_in_exactly_one_shard_whatever_the_order(count: int) -> None:
    shards = [Shard(number + 1, count).of(IMAGES) for number in range(count)]
    taken = [ref for shard in shards for ref in shard]
    assert sorted(taken, key=IMAGES.index) == IMAGES
    assert max(map(len, shards)) - min(map(len, shards)) <= 1
    for number, shard in enumerate(shards):
        assert set(Shard(number + 1, count).of(reversed(IMAGES))) == set(shard)


def test_a_shard_keeps_the_order_and_takes_of_each_suite() -> None:
    assert [f"{r.suite}/{r.stem}" for r in Shard(2, 3).of(IMAGES)] == [
        "day/1",
        "day/4",
        "night/0",
        "night/3",
        "night/6",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0/4", "from 1 to N, got 0/4; a scheduler that counts from 0"),
        ("5/4", "from 1 to N, got 5/4"),
        ("1/0", "from 1 to N, got 1/0"),
        ("-1/4", "expected I/N, such as 1/4, got '-1/4'"),
        ("1", "expected I/N"),
        ("1/2/3", "expected I/N"),
        ("a/b", "expected I/N"),
        ("", "expected I/N"),
    ],
)
def test_a_shard_that_is_none_is_refused(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Shard.parse(text)


def tree(root: Path) -> dict[str, bytes]:
    kept = [*root.rglob("prediction_*.json"), root / "manifest.json"]
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in sorted(kept)}


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    folder = tmp_path / "photos"
    folder.mkdir()
    for path in sorted(builtin_suites()["plain"].glob("*.png"))[:3]:
        (folder / path.name).write_bytes(path.read_bytes())
    return folder


@pytest.fixture
def campaign(photos: Path, tmp_path: Path) -> Campaign:
    return Campaign(
        detector=load_detector("demo_retinanet"),
        suites=list_suites(photos),
        operators=(MCDropout(rates=(0.1,)), MCDropBlock(rates=(0.2,), blocks=(3,))),
        settings=Settings(passes=2, chunk=2),
        root=tmp_path / "whole",
    )


def test_two_shards_write_what_one_run_writes_and_each_the_whole_manifest(
    campaign: Campaign, tmp_path: Path
) -> None:
    run_serially(prepare(campaign))
    whole = tree(campaign.root)
    halves = [
        dataclasses.replace(campaign, root=tmp_path / "halves", shard=Shard(i, 2)) for i in (1, 2)
    ]
    assert run_serially(prepare(halves[0])).n_run == 8
    assert (tmp_path / "halves" / "manifest.json").read_bytes() == whole["manifest.json"]
    assert run_in_pool([prepare(halves[1])], 1)[0].n_run == 4
    assert tree(tmp_path / "halves") == whole
    again = run_serially(prepare(dataclasses.replace(campaign, root=tmp_path / "halves")))
    assert (again.n_run, again.n_skipped) == (0, 12)


def test_shards_that_start_at_the_same_time_agree_on_everything(
    campaign: Campaign, photos: Path, tmp_path: Path
) -> None:
    out = tmp_path / "shards"
    flags = ["--images", photos, "--out", out, "--passes", 2, "--dropout-rates", 0.1]
    flags += ["--dropblock-rates", 0.2, "--blocks", 3]  # and the chunk is measured by one of them
    command = [sys.executable, "-m", "uamt.cli", "run", "--model", "demo_retinanet", *flags]
    processes = [
        subprocess.Popen(
            [*map(str, command), "--shard", f"{number}/2"],
            cwd=Path(__file__).parents[2],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in (1, 2)
    ]
    for number, process in enumerate(processes, start=1):
        stdout, stderr = process.communicate(timeout=120)
        assert (process.returncode, stderr) == (0, "")
        assert f"Shard {number}/2: {3 - number} of 3 images." in stdout
    entries = Ledger(out).latest()
    assert len((out / "ledger.jsonl").read_bytes().splitlines()) == len(entries) == 12
    assert len({entry.configuration for entry in entries.values()}) == 12
    summary = run_serially(
        prepare(dataclasses.replace(campaign, root=out, settings=Settings(passes=2)))
    )
    assert (summary.n_run, summary.n_skipped) == (0, 12)
