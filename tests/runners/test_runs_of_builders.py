"""Every builder under every preset: noise is a function of its key, and of nothing else."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import pytest
import torch

from mutators import MCDropBlock, MCDropout, Operator, dropblock_sites, family_presets
from runners.detectors import Detector
from runners.passes import run_mutant, run_original
from runners.settings import Settings
from scoring.detections import Detections
from scoring.predictions import encode_prediction
from tests.builders import BUILDERS, image, small_model

QUICK = Settings(passes=2, score_threshold=0.0, seed=3)
ONE_PASS = dataclasses.replace(QUICK, passes=1)


def detector_of(builder: str) -> Detector:
    model = small_model(builder)
    return Detector(
        model=model,
        name=builder,
        architecture=builder,
        weights={"kind": "random"},
        args={},
        label_names=tuple(f"class_{i}" for i in range(7)),
        scores="sigmoid" if builder.startswith(("retinanet", "fcos")) else "softmax",
        device=torch.device("cpu"),
    )


def files(passes: Sequence[Detections]) -> list[bytes]:
    return [encode_prediction(detections) for detections in passes]


def operators_at(detector: Detector, preset: str) -> list[Operator]:
    operators: list[Operator] = [MCDropout(rates=(0.2,), sites=preset)]
    if dropblock_sites(detector.model, preset):
        operators.append(MCDropBlock(rates=(0.3,), blocks=(3,), sites=preset))
    return operators


@pytest.mark.parametrize("builder", BUILDERS)
def test_noise_depends_on_its_key_alone_at_every_preset(builder: str) -> None:
    detector = detector_of(builder)
    picture = image(1)
    plain = files(run_original(detector, picture, QUICK))
    found = run_original(detector, picture, QUICK)[0]
    assert len(found) >= 20
    assert len(set(found.labels.tolist())) >= 2
    presets = family_presets(detector.model)
    assert "uamters" in presets
    for preset in presets:
        for operator in operators_at(detector, preset):
            mutant = operator.mutants()[0]
            noisy = files(run_mutant(detector, picture, "a.png", mutant, QUICK)[0])
            assert noisy != plain, (preset, mutant)
            assert noisy[0] != noisy[1], (preset, mutant)
            # Another image, another seed and fewer passes run between: the first pass is the same.
            elsewhere = run_mutant(detector, image(2), "b.png", mutant, ONE_PASS)[0]
            assert files(elsewhere) != noisy[:1], (preset, mutant)
            reseeded = dataclasses.replace(ONE_PASS, seed=4)
            other = files(run_mutant(detector, picture, "a.png", mutant, reseeded)[0])
            assert other != noisy[:1], (preset, mutant)
            again = files(run_mutant(detector, picture, "a.png", mutant, QUICK)[0])
            assert again == noisy, (preset, mutant)
    assert files(run_original(detector, picture, QUICK)) == plain
