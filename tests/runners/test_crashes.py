"""Images that cannot be read, models that crash, originals that are noisy: recorded, not fatal."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from PIL import Image
from torch import Tensor, nn

from mutators import MCDropout, Operator
from runners.campaign import Campaign, prepare
from runners.detectors import Detector
from runners.execution import run_serially
from runners.images import list_suites
from scoring.errors import DataError
from tests.runners.small_campaign import SWEEPS, changed, run


def test_an_unreadable_image_is_recorded_and_passed_over(
    campaign: Campaign, pictures: Path
) -> None:
    (pictures / "broken.png").write_bytes(b"not an image")
    with_broken = changed(campaign, suites=list_suites({"photos": pictures}))
    summary = run(with_broken)
    assert list(summary.unreadable) == [("photos", "broken.png")]
    assert not summary.is_clean
    assert len(list(campaign.root.rglob("prediction_0.json"))) == 10
    with pytest.raises(DataError, match=r"broken\.png"):
        run(changed(with_broken, on_error="stop"))


class Crashing(nn.Module):
    """A detector that fails on bright images, as some do on sizes they cannot handle."""

    def __init__(self, inner: nn.Module, how: str) -> None:
        super().__init__()
        self.backbone = inner.backbone
        self.inner = inner
        self.how = how

    def forward(self, images: Sequence[Tensor]) -> list[dict[str, Tensor]]:
        found = [
            {**d, "class_probs": torch.full((len(d["boxes"]), 5), 0.2)} for d in self.inner(images)
        ]
        if images[0].mean() > 0.99:
            if self.how == "raise":
                raise RuntimeError("no kernel for this size")
            found = [{**d, "scores": d["scores"] * torch.nan} for d in found]
            found[0] = {
                "boxes": torch.tensor([[0.0, 0.0, 1.0, 1.0]]),
                "labels": torch.tensor([1]),
                "scores": torch.tensor([torch.nan]),
                "class_probs": torch.full((1, 5), 0.2),
            }
        return found


@pytest.mark.parametrize("how", ["raise", "nan"])
def test_a_crash_is_recorded_and_the_run_goes_on(
    campaign: Campaign, detector: Detector, pictures: Path, how: str
) -> None:
    Image.new("RGB", (192, 192), "white").save(pictures / "white.png")
    crashing = dataclasses.replace(
        detector, model=Crashing(detector.model, how).eval(), scores="given"
    )
    sweeps: tuple[Operator, ...] = (MCDropout(rates=(0.1,), sites="backbone.fpn.layer_blocks.*"),)
    bad = changed(
        campaign,
        detector=crashing,
        suites=list_suites({"photos": pictures}),
        operators=sweeps,
    )
    summary = run(bad)
    assert {entry.unit.image for entry in summary.crashed} == {"white.png"}
    assert len(summary.crashed) == 2
    assert ("no kernel" if how == "raise" else "finite") in summary.crashed[0].message.replace(
        "NaN", "finite"
    )
    assert len(list(campaign.root.rglob("prediction_0.json"))) == 4
    with pytest.raises(DataError, match=r"photos/white.png', mutant mc_dropout 0"):
        run(changed(bad, on_error="stop"))


def test_an_image_on_which_the_original_crashes_may_be_the_first(
    campaign: Campaign, detector: Detector, pictures: Path
) -> None:
    Image.new("RGB", (192, 192), "white").save(pictures / "a_white.png")
    crashing = dataclasses.replace(
        detector, model=Crashing(detector.model, "raise").eval(), scores="given"
    )
    sweep = MCDropout(rates=(0.1,), sites="backbone.fpn.layer_blocks.*")
    bad = changed(
        campaign,
        detector=crashing,
        suites=list_suites({"photos": pictures}),
        operators=(sweep,),
    )
    summary = run(bad)
    assert {entry.unit.image for entry in summary.crashed} == {"a_white.png"}
    with pytest.raises(DataError, match=r"photos/a_white.png', original: RuntimeError: no kernel"):
        prepare(changed(bad, on_error="stop"))


def test_an_original_that_always_crashes_is_told_in_one_line(
    campaign: Campaign, detector: Detector, pictures: Path
) -> None:
    for path in pictures.iterdir():
        Image.new("RGB", (192, 192), "white").save(path)
    crashing = dataclasses.replace(
        detector, model=Crashing(detector.model, "raise").eval(), scores="given"
    )
    sweep = MCDropout(rates=(0.1,), sites="backbone.fpn.layer_blocks.*")
    with pytest.raises(DataError, match=r"each of the first 2 images; .*no kernel.*line \d+"):
        prepare(changed(campaign, detector=crashing, operators=(sweep,)))


class Noisy(nn.Module):
    """A detector that is not deterministic."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.backbone = inner.backbone
        self.inner = inner

    def forward(self, images: Sequence[Tensor]) -> list[dict[str, Tensor]]:
        return [
            {
                **found,
                "boxes": found["boxes"] + torch.rand(len(found["boxes"]), 4),
                "class_probs": torch.full((len(found["boxes"]), 5), 0.2),
            }
            for found in self.inner(images)
        ]


def test_noise_is_noticed_though_nothing_is_found_on_the_first_image(
    campaign: Campaign, detector: Detector, pictures: Path
) -> None:
    Image.new("RGB", (192, 192), "grey").save(pictures / "a_grey.png")
    noisy = dataclasses.replace(detector, model=Noisy(detector.model).eval(), scores="given")
    prepared = prepare(
        changed(
            campaign,
            detector=noisy,
            suites=list_suites({"photos": pictures}),
            operators=(MCDropout(rates=(0.1,), sites="backbone.fpn.layer_blocks.*"),),
        )
    )
    assert not prepared.is_deterministic


class Unusual(Exception):  # noqa: N818 - a name of the user's
    """What a user's model may raise."""


def test_a_crash_of_any_kind_is_recorded(
    campaign: Campaign, detector: Detector, pictures: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: object, **kwargs: object) -> None:
        raise Unusual("lost")

    prepared = prepare(changed(campaign, operators=SWEEPS[:1]))
    monkeypatch.setattr("runners.subject.run_mutant", fail)
    summary = run_serially(prepared)
    assert {entry.message for entry in summary.crashed} == {"Unusual: lost"}
    assert len(summary.crashed) == 4
