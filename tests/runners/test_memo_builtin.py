"""The memo on the built-in detectors: image after image, and whole campaigns."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from mutators import MCDropBlock, MCDropout, resolve_sites
from runners.builtin import suites
from runners.builtin.models import builtin_names
from runners.campaign import Campaign, prepare
from runners.detectors import Detector, load_detector
from runners.execution import run_serially
from runners.images import list_images, list_suites, read_image
from runners.memo import Memo
from runners.passes import run_mutant, run_original_once
from runners.settings import Settings
from scoring.detections import Detections
from tests.mutators.snapshot import snapshot
from tests.runners.small_campaign import tree
from tests.runners.test_runs_of_builders import files, operators_at

THREE_PASSES = Settings(passes=3, score_threshold=0.0, seed=1, chunk=2)


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("name", builtin_names())
@pytest.mark.parametrize("preset", ["uamters", "head", "last", "backbone"])
def test_built_in_detectors_give_the_bits_of_a_plain_run(name: str, preset: str) -> None:
    """Image after image in one process, T = 3 in batches of 2 and 1."""
    detector = load_detector(name)
    before = snapshot(detector.model)
    mutants = [m for operator in operators_at(detector, preset) for m in operator.mutants()]
    seen: set[bytes] = set()
    for suite, root in suites().items():
        for ref in list_images(root, suite)[:2]:
            image = read_image(ref.path)
            memo = Memo(image)
            names = [f"{site}" for site in sites_of(detector, preset)]
            original = run_original_once(detector, image, THREE_PASSES, memo=memo, sites=names)
            assert files(original) == files(run_original_once(detector, image, THREE_PASSES))
            for mutant in mutants:
                replayed = run_both(detector, image, ref.stem, mutant, memo)
                assert seen.isdisjoint(replayed)
                seen.update(replayed)
    assert snapshot(detector.model) == before


def sites_of(detector: Detector, preset: str) -> list[str]:
    return [site.name for site in resolve_sites(detector.model, preset)]


def run_both(detector: Detector, image: Tensor, key: str, mutant: Any, memo: Memo) -> list[bytes]:
    def run(used: Memo | None) -> list[Detections]:
        return run_mutant(detector, image, key, mutant, THREE_PASSES, memo=used)[0]

    replayed = files(run(memo))
    assert replayed == files(run(None))
    return replayed


def test_a_campaign_without_the_memo_writes_the_same_bytes(tmp_path: Path) -> None:
    photos = tmp_path / "photos"
    photos.mkdir()
    for path in sorted(suites()["dim"].glob("*.png"))[:2]:
        (photos / path.name).write_bytes(path.read_bytes())
    trees = []
    for use_memo in (True, False):
        campaign = Campaign(
            detector=load_detector("demo_fasterrcnn"),
            suites=list_suites({"photos": photos}),
            operators=(
                MCDropout(rates=(0.1, 0.3), sites="head"),
                MCDropBlock(rates=(0.2,), blocks=(3,)),
            ),
            settings=Settings(passes=3, chunk=2),
            root=tmp_path / f"memo_{use_memo}",
            use_memo=use_memo,
        )
        run_serially(prepare(campaign))
        trees.append(tree(campaign.root))
    assert len(trees[0]) > 30
    assert trees[0] == trees[1]


def test_a_stochastic_model_is_computed_in_every_pass(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("a memo was made")

    detector = load_detector("demo_retinanet")
    handle = detector.model.backbone.register_forward_hook(
        lambda module, args, maps: {k: v * (1 + 0.05 * torch.rand(1)) for k, v in maps.items()}
    )
    monkeypatch.setattr("runners.subject.Memo", refuse)
    root = suites()["plain"]
    campaign = Campaign(
        detector=detector,
        suites={"plain": list_images(root, "plain")[:1]},
        operators=(MCDropout(rates=(0.1,)),),
        settings=Settings(passes=2),
        root=tmp_path / "experiment",
    )
    with torch.random.fork_rng():
        summary = run_serially(prepare(campaign))
    handle.remove()
    assert summary.is_clean
    assert summary.n_run == 2
