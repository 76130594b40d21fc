"""Memory that runs out: the chunk halves before anything is written, and else nothing changes."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image
from torch import Tensor, nn

from mutators import MCDropout
from runners.builtin import suites as builtin_suites
from runners.campaign import Campaign, prepare
from runners.detectors import load_detector
from runners.execution import run_serially
from runners.images import list_images
from runners.ledger import Ledger
from runners.manifest_file import read_manifest
from runners.memory import (
    OutOfMemoryError,
    is_out_of_memory,
    run_heaviest,
    with_fitting_chunk,
)
from runners.settings import Settings


class Hungry(nn.Module):
    """A detector whose memory holds a batch of some images, and no larger one."""

    def __init__(self, inner: nn.Module, most: int) -> None:
        super().__init__()
        self.backbone = inner.backbone
        self.inner = inner
        self.most = most

    def forward(self, images: Sequence[Tensor]) -> list[dict[str, Tensor]]:
        if len(images) > self.most:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
        return [
            {**d, "class_probs": torch.full((len(d["boxes"]), 5), 0.2)} for d in self.inner(images)
        ]


def make(root: Path, most: int, **settings: Any) -> Campaign:
    detector = load_detector("demo_retinanet")
    hungry = Hungry(detector.model, most).eval()
    return Campaign(
        detector=dataclasses.replace(detector, model=hungry, scores="given"),
        suites={"plain": list_images(builtin_suites()["plain"], "plain", "stem")[:1]},
        operators=(MCDropout(rates=(0.1,), sites="backbone.fpn.layer_blocks.*"),),
        settings=Settings(passes=5, **settings),
        root=root,
    )


def tree(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and path.name != "ledger.jsonl"
    }


@pytest.mark.parametrize("chunk", [5, "auto"])
def test_the_whole_campaign_runs_with_the_chunk_that_fits(tmp_path: Path, chunk: Any) -> None:
    prepared = prepare(make(tmp_path / "halved", 2, chunk=chunk))
    assert prepared.campaign.settings.chunk == 2
    assert prepared.chunk_reason == "as memory allows"
    assert run_serially(prepared).is_clean
    said = read_manifest(tmp_path / "halved")["models"]["demo_retinanet"]["settings"]
    assert said["chunk"] == 2
    run_serially(prepare(make(tmp_path / "asked", 9, chunk=2)))
    assert tree(tmp_path / "halved") == tree(tmp_path / "asked")


def test_a_chunk_of_one_that_does_not_fit_is_an_error_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(OutOfMemoryError, match="one pass in a batch; free memory"):
        prepare(make(tmp_path / "experiment", 0, chunk=4))
    assert not (tmp_path / "experiment" / "manifest.json").exists()


def test_behind_the_start_the_run_stops_with_the_command_that_goes_on(tmp_path: Path) -> None:
    root = tmp_path / "experiment"
    prepared = prepare(make(root, 5, chunk=4))
    prepared.campaign.detector.model.most = 2
    with pytest.raises(OutOfMemoryError) as caught:
        run_serially(prepared)
    wanted = f"'uamt run {root / 'experiment_demo_retinanet.toml'} --chunk 2 --redo-changed'"
    assert wanted in str(caught.value)
    assert "image 'plain/plain_00.png', mutant mc_dropout 0:" in str(caught.value)
    assert not Ledger(root).latest()


def test_results_that_are_there_keep_their_chunk(tmp_path: Path) -> None:
    root = tmp_path / "experiment"
    run_serially(prepare(make(root, 5, chunk=4)))
    before = tree(root)
    with pytest.raises(OutOfMemoryError, match="--chunk 2 --redo-changed"):
        prepare(make(root, 2, chunk=4), redo_changed=True)
    assert tree(root) == before


def test_the_heaviest_batch_is_of_the_largest_image_that_can_be_read(tmp_path: Path) -> None:
    folder = tmp_path / "photos"
    folder.mkdir()
    for name, side in (("small", 64), ("large", 96), ("broken", 200)):
        Image.new("RGB", (side, side), "grey").save(folder / f"{name}.png")
    whole = (folder / "broken.png").read_bytes()
    (folder / "broken.png").write_bytes(whole[: len(whole) // 2])
    (folder / "text.png").write_bytes(b"no image")
    campaign = make(tmp_path / "experiment", 3)
    sizes = []
    hook = campaign.detector.model.register_forward_pre_hook(
        lambda module, inputs: sizes.append((len(inputs[0]), tuple(inputs[0][0].shape)))
    )
    refs = list_images(folder, "photos", "stem")
    sweeps = [operator.mutants() for operator in campaign.operators]
    run_heaviest(campaign.detector, refs, sweeps, Settings(passes=5, chunk=3))
    assert sizes == [(3, (3, 96, 96))]
    with pytest.raises(torch.OutOfMemoryError):
        run_heaviest(campaign.detector, refs, sweeps, Settings(passes=5, chunk=4))
    hook.remove()
    campaign.detector.model.inner = None  # any other crash is left to the run
    run_heaviest(campaign.detector, refs, sweeps, Settings(passes=5, chunk=3))


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (torch.OutOfMemoryError("CUDA out of memory"), True),
        (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory"), True),
        (RuntimeError("DefaultCPUAllocator: not enough memory: you tried"), True),
        (RuntimeError("shape mismatch"), False),
        (ValueError("can't allocate memory"), False),
    ],
)
def test_what_says_that_memory_ran_out(error: Exception, expected: bool) -> None:
    assert is_out_of_memory(error) is expected


def test_other_errors_do_not_halve_the_chunk() -> None:
    tried = []

    def attempt(settings: Settings) -> None:
        tried.append(settings.chunk_size)
        raise RuntimeError("shape mismatch")

    with pytest.raises(RuntimeError, match="shape"):
        with_fitting_chunk(
            Settings(passes=8, chunk=8),
            attempt,
            may_change=True,
            fault=lambda settings: OutOfMemoryError("not reached"),
        )
    assert tried == [8]
