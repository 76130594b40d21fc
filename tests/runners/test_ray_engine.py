"""Ray: a cluster of two nodes writes what a serial run writes, whatever dies on the way."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mutators import MCDropBlock, MCDropout
from runners.builtin import suites as builtin_suites
from runners.campaign import Campaign, prepare
from runners.detectors import load_detector
from runners.execution import run_serially
from runners.images import list_suites
from runners.ledger import Ledger
from runners.ray_engine import RayOptions, run_on_ray
from runners.settings import Settings
from scoring.errors import ConfigError

ray = pytest.importorskip("ray", reason="Ray is not installed (extra 'ray')")
pytestmark = [
    pytest.mark.ray,
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

N_UNITS = 5 * 9
SETTINGS = Settings(passes=4, chunk=4)
SWEEPS = (MCDropout(rates=(0.1, 0.2, 0.3, 0.5)), MCDropBlock(rates=(0.1, 0.2, 0.3), blocks=(3,)))
FLAGS = ("--passes", "4", "--chunk", "4", "--dropout-rates", "0.1,0.2,0.3,0.5")
FLAGS = (*FLAGS, "--dropblock-rates", "0.1,0.2,0.3", "--blocks", "3")


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ray") / "photos"
    folder.mkdir()
    for path in sorted(builtin_suites()["plain"].glob("*.png"))[:5]:
        (folder / path.name).write_bytes(path.read_bytes())
    return folder


@pytest.fixture(scope="module")
def campaign(photos: Path) -> Campaign:
    return Campaign(
        detector=load_detector("demo_retinanet"),
        suites=list_suites(photos),
        operators=SWEEPS,
        settings=SETTINGS,
        root=photos.parent / "serial",
    )


@pytest.fixture(scope="module")
def serial(campaign: Campaign) -> dict[str, bytes]:
    """What a serial run writes."""
    assert run_serially(prepare(campaign)).n_run == N_UNITS
    return results(campaign.root)


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """The address of a cluster of two nodes on this host, each with room for one worker."""
    from ray.cluster_utils import Cluster

    os.environ.setdefault("RAY_worker_niceness", "0")
    nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    nodes.add_node(num_cpus=1)
    yield nodes.address
    ray.shutdown()
    nodes.shutdown()


@pytest.fixture(autouse=True)
def disconnected() -> Iterator[None]:
    yield
    ray.shutdown()


def results(root: Path) -> dict[str, bytes]:
    kept = [*root.rglob("prediction_*.json"), root / "manifest.json"]
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in sorted(kept)}


def n_lines_by_unit(root: Path) -> Counter[bytes]:
    lines = (root / "ledger.jsonl").read_bytes().splitlines()
    return Counter(line[: line.index(b"}")] for line in lines)


class DiesOnce:
    """A hook that kills the process of one worker, and of no other, at its nth forward."""

    def __init__(self, marker: Path, at: int) -> None:
        self.marker, self.at, self.calls = marker, at, 0
        self.driver = os.getpid()

    def __call__(self, module: Any, args: Any) -> None:
        self.calls += 1
        if os.getpid() != self.driver and self.calls >= self.at and not self.marker.exists():
            self.marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)


def test_a_worker_that_is_killed_on_one_of_two_nodes_is_replaced(
    campaign: Campaign, serial: dict[str, bytes], cluster: str, tmp_path: Path
) -> None:
    detector = load_detector("demo_retinanet")
    detector.model.register_forward_pre_hook(DiesOnce(tmp_path / "died", 13))
    dying = dataclasses.replace(campaign, detector=detector, root=tmp_path / "ray")
    (summary,) = run_on_ray([prepare(dying)], 2, RayOptions(cluster))
    assert (tmp_path / "died").exists()
    assert summary.is_clean
    assert summary.n_run + summary.n_skipped == N_UNITS
    assert results(dying.root) == serial
    assert set(n_lines_by_unit(dying.root).values()) == {1}


def test_a_driver_that_is_killed_leaves_what_the_same_command_goes_on_from(
    campaign: Campaign, serial: dict[str, bytes], photos: Path, cluster: str, tmp_path: Path
) -> None:
    out = tmp_path / "ray"
    command = ("run", "--model", "demo_retinanet", "--images", photos, "--out", out, *FLAGS)
    engine = ("--engine", "ray", "--address", cluster, "--workers", "2")
    driver = subprocess.Popen(
        [sys.executable, "-m", "uamt.cli", *map(str, command), *engine],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    ledger = Ledger(out)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and driver.poll() is None and len(ledger.latest()) < 5:
        time.sleep(0.01)
    driver.kill()
    driver.wait()
    before = wait_until_still(ledger)
    assert 5 <= before < N_UNITS
    (summary,) = run_on_ray(
        [prepare(dataclasses.replace(campaign, root=out))], 2, RayOptions(cluster)
    )
    assert (summary.n_run, summary.n_skipped) == (N_UNITS - before, before)
    assert results(out) == serial
    assert set(n_lines_by_unit(out).values()) == {1}


def wait_until_still(ledger: Ledger) -> int:
    """Wait until the dead driver's workers are gone too, and return the number of units done."""
    lengths = [-1, len(ledger.latest())]
    while lengths[-1] != lengths[-2]:
        time.sleep(1.5)
        lengths.append(len(ledger.latest()))
    return lengths[-1]


def test_more_than_the_cluster_offers_is_refused(
    campaign: Campaign, cluster: str, tmp_path: Path
) -> None:
    prepared = prepare(dataclasses.replace(campaign, root=tmp_path / "ray"))
    with pytest.raises(ConfigError, match=r"a worker takes 0\.5 GPU, but the cluster has 0"):
        run_on_ray([prepared], 1, RayOptions(cluster, gpu_fraction=0.5))
