"""The chunk of a campaign: decided once, and by what does not change from run to run."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
import torch

from mutators import MCDropout
from runners import campaign as campaign_module
from runners import chunks
from runners.builtin import suites as builtin_suites
from runners.campaign import Campaign, prepare, preview
from runners.chunks import ChunkChoice, choose_chunk
from runners.detectors import Detector, load_detector
from runners.execution import run_serially
from runners.images import list_suites
from runners.manifest_file import read_manifest
from runners.settings import Settings
from scoring.errors import ConfigError

MUTANTS = MCDropout(rates=(0.1,)).mutants()
IMAGE = torch.zeros(3, 192, 192)


@pytest.fixture(scope="module")
def detector() -> Detector:
    return load_detector("demo_retinanet")


def choice(detector: Detector, image: torch.Tensor = IMAGE, passes: int = 10) -> ChunkChoice:
    return choose_chunk(detector, image, "a.png", MUTANTS, Settings(passes=passes))


def test_a_gpu_runs_all_passes_in_one_batch(detector: Detector) -> None:
    on_gpu = dataclasses.replace(detector, device=torch.device("cuda"))
    assert choice(on_gpu).size == 10


def test_large_maps_run_one_by_one_on_a_cpu_without_being_measured(
    detector: Detector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(chunks, "_Clock")
    # What counts is what the model computes on: this image is resized.
    model = load_detector("fasterrcnn_mobilenet_v3_large_fpn", model_args={"min_size": 600})
    chosen = choice(model, torch.zeros(3, 96, 128))
    assert (chosen.size, "one by one, for 608x800 pixels are large" in chosen.reason) == (1, True)
    with pytest.raises(NameError):
        choice(detector, torch.zeros(3, 2000, 2000))


@pytest.mark.parametrize(
    ("alone", "together", "size"), [(0.7, 1.0, 1), (0.85, 1.0, 10), (1.0, 1.0, 10), (2.0, 1.0, 10)]
)
def test_one_by_one_must_be_clearly_quicker(
    detector: Detector,
    monkeypatch: pytest.MonkeyPatch,
    alone: float,
    together: float,
    size: int,
) -> None:
    monkeypatch.setattr(chunks._Clock, "compare", lambda _: (alone, together))
    chosen = choice(detector)
    assert chosen.size == size
    assert f"{alone * 1000:.1f} ms a pass one by one" in chosen.reason


def test_a_built_in_detector_is_measured_and_runs_all_passes_in_one_batch(
    detector: Detector,
) -> None:
    chosen = choice(detector, passes=6)
    assert (chosen.size, "ms in one batch" in chosen.reason) == (6, True)
    assert choice(detector, passes=1) == ChunkChoice(1, "there is one pass")


@pytest.fixture
def campaign(detector: Detector, tmp_path: Path) -> Campaign:
    photos = tmp_path / "photos"
    photos.mkdir()
    first = min(builtin_suites()["plain"].glob("*.png"))
    (photos / first.name).write_bytes(first.read_bytes())
    return Campaign(
        detector=detector,
        suites=list_suites(photos),
        operators=(MCDropout(rates=(0.1,)),),
        settings=Settings(passes=4),
        root=tmp_path / "experiment",
    )


def decide(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(
        campaign_module, "choose_chunk", lambda *_, **__: ChunkChoice(size, "measured")
    )


def recorded(campaign: Campaign) -> int:
    chunk: int = read_manifest(campaign.root)["models"]["demo_retinanet"]["settings"]["chunk"]
    return chunk


def test_what_is_measured_stands_in_the_manifest_and_is_not_measured_again(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    decide(monkeypatch, 2)
    summary = run_serially(prepare(campaign))
    assert (summary.n_run, recorded(campaign)) == (2, 2)
    decide(monkeypatch, 4)  # as another machine would
    prepared = prepare(campaign)
    assert prepared.campaign.settings.chunk == 2
    assert prepared.chunk_reason == "as the results that are there"
    assert run_serially(prepared).n_skipped == 2


def test_redoing_changed_images_keeps_the_chunk_and_other_passes_are_measured_anew(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    decide(monkeypatch, 2)
    prepare(campaign)
    decide(monkeypatch, 1)
    assert prepare(campaign, redo_changed=True).campaign.settings.chunk == 2
    fewer = dataclasses.replace(campaign, settings=Settings(passes=3))
    with pytest.raises(ConfigError, match=r"settings.passes was 4, is 3"):
        prepare(fewer)
    assert recorded(campaign) == 2
    prepare(fewer, redo_changed=True)
    assert recorded(campaign) == 1


def test_a_chunk_that_was_asked_for_is_not_replaced(campaign: Campaign) -> None:
    asked = dataclasses.replace(campaign, settings=Settings(passes=4, chunk=3))
    assert prepare(asked).campaign.settings.chunk == 3
    with pytest.raises(ConfigError, match=r"settings.chunk was 3, is 1"):
        prepare(dataclasses.replace(campaign, settings=Settings(passes=4, chunk=1)))


def test_a_preview_says_what_prepare_would_and_writes_nothing(campaign: Campaign) -> None:
    preview(campaign)
    assert not campaign.root.exists()


@pytest.mark.parametrize("chunk", [0, 5, -1, True, 2.0, "all"])
def test_a_chunk_that_is_none_is_refused(chunk: object) -> None:
    with pytest.raises(ConfigError, match="chunk: expected auto, or 1 to 4 passes"):
        Settings(passes=4, chunk=chunk)  # type: ignore[arg-type]
