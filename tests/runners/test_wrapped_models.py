"""A torchvision detector within a user's module: sites, vectors and kept values are its own."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from mutators import MCDropBlock, MCDropout, detector_family, family_presets, resolve_sites
from runners.builtin.models import load_builtin
from runners.class_vectors import detect_with_class_vectors
from runners.detectors import load_detector
from runners.memo import Memo
from runners.passes import run_mutant, run_original_once
from runners.settings import Settings
from scoring.detections import Detections
from scoring.errors import ConfigError
from tests.builders import image

DEMOS = ("demo_fasterrcnn", "demo_retinanet")
KEY = "a.png"


class Inner(nn.Module):
    """A module between the wrapper and the detector."""

    def __init__(self, detector: nn.Module) -> None:
        super().__init__()
        self.body = detector.backbone  # a second name, and the first that is met
        self.net = detector

    def forward(self, images: list[Tensor]) -> Any:
        return self.net(images)


class Wrapped(nn.Module):
    """A user's module that holds detectors, and may do something to what they find."""

    def __init__(
        self, *detectors: nn.Module, after: Callable[[Tensor], Tensor] = lambda x: x
    ) -> None:
        super().__init__()
        self.parts = nn.ModuleList([Inner(detector) for detector in detectors])
        self.after = after

    def forward(self, images: list[Tensor]) -> Any:
        return [{k: self.after(v) for k, v in o.items()} for o in self.parts[0](images)]


def fasterrcnn() -> nn.Module:
    return Wrapped(load_builtin("demo_fasterrcnn"))


def retinanet() -> nn.Module:
    return Wrapped(load_builtin("demo_retinanet"))


@pytest.mark.parametrize("demo", DEMOS)
def test_a_preset_means_the_sites_of_the_one_detector_within(demo: str) -> None:
    bare = load_builtin(demo)
    wrapped = Wrapped(bare)
    assert detector_family(wrapped) == detector_family(bare)
    assert family_presets(wrapped) == family_presets(bare) != ()
    for preset in family_presets(bare):
        sites, expected = resolve_sites(wrapped, preset), resolve_sites(bare, preset)
        assert [(s.name, s.dims) for s in sites] == [
            (f"parts.0.net.{s.name}", s.dims) for s in expected
        ]
        assert [s.roi_pool for s in sites] == [
            s.roi_pool and f"parts.0.net.{s.roi_pool}" for s in expected
        ]


@pytest.mark.parametrize("number", [0, 2])
def test_none_or_several_are_refused_with_a_pattern_that_can_be_typed(number: int) -> None:
    model = Wrapped(*(load_builtin(demo) for demo in DEMOS[:number]))
    if not number:
        model.own = nn.Sequential(nn.Conv2d(3, 3, 1), nn.Linear(3, 3))
    with pytest.raises(ConfigError) as refused:
        resolve_sites(model, "uamters")
    said = str(refused.value)
    assert ("2 of them (parts.0.net, parts.1.net)" if number else "Wrapped holds none") in said
    words = shlex.split(said.partition("such as ")[2])
    assert words[0] == "--sites"
    assert isinstance(model.get_submodule(resolve_sites(model, words[1])[0].name), nn.Conv2d)
    assert "modules that could serve: " in said


def same(some: Detections, others: Detections) -> bool:
    return all(
        np.array_equal(getattr(some, name), getattr(others, name))
        for name in ("boxes", "labels", "scores", "probs")
    )


@pytest.mark.parametrize("name", ["fasterrcnn", "retinanet"])
def test_detections_and_vectors_are_those_of_the_bare_detector(name: str) -> None:
    wrapped, bare = load_detector(f"{__name__}:{name}"), load_detector(f"demo_{name}")
    (found,), (expected,) = wrapped.detect([image(1)]), bare.detect([image(1)])
    assert same(found, expected)
    assert len(wrapped.label_names) == len(bare.label_names)
    assert wrapped.scores == bare.scores


@pytest.mark.parametrize("sites", ["uamters", "head"])
@pytest.mark.parametrize("name", ["fasterrcnn", "retinanet"])
def test_passes_are_the_same_one_by_one_in_a_batch_and_with_kept_values(
    name: str, sites: str
) -> None:
    detector = load_detector(f"{__name__}:{name}")
    operator = MCDropout(rates=(0.3,), sites=sites)
    if (name, sites) == ("retinanet", "head"):
        operator = MCDropBlock(rates=(0.3,), blocks=(3,), sites=sites)
    (mutant,) = operator.mutants()
    alone = Settings(passes=3, score_threshold=0.05, seed=1, chunk=1)
    batch = Settings(passes=3, score_threshold=0.05, seed=1, chunk=3)
    expected, report = run_mutant(detector, image(1), KEY, mutant, alone)
    assert sum(len(passed) for passed in expected)
    assert all(site.site.startswith("parts.0.net.") and site.dropped for site in report.sites)
    memo = Memo(image(1))
    names = {site.name for site in resolve_sites(detector.model, sites)}
    run_original_once(detector, image(1), batch, memo=memo, sites=names)
    kept, _ = run_mutant(detector, image(1), KEY, mutant, batch, memo=memo)
    together, _ = run_mutant(detector, image(1), KEY, mutant, batch)
    assert memo.kept_bytes > 0
    assert all(map(same, kept, together))
    for some, others in zip(together, expected, strict=True):
        assert np.array_equal(some.labels, others.labels)
        assert np.allclose(some.probs, others.probs, atol=1e-4)


def test_detections_that_were_put_in_another_order_are_refused() -> None:
    model = Wrapped(load_builtin("demo_retinanet"), after=lambda x: x.flip(0)).eval()
    with (
        torch.inference_mode(),
        pytest.raises(ConfigError, match=r"another order, from Wrapped; .*--one-hot \(docs/own"),
    ):
        detect_with_class_vectors(model, [image(1)])
