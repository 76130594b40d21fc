"""Every builder under every preset: noise is a function of its key, and of nothing else."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import pytest
import torch

from mutators import (
    MCDropBlock,
    MCDropout,
    Mutant,
    Operator,
    dropblock_sites,
    family_presets,
    resolve_sites,
)
from runners.detectors import Detector
from runners.memo import Memo
from runners.passes import run_mutant, run_original, run_original_once
from runners.settings import Settings
from scoring.detections import Detections
from scoring.predictions import encode_prediction
from tests.builders import BUILDERS, image, small_model

QUICK = Settings(passes=2, score_threshold=0.0, seed=3, chunk=1)
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
    picture, second_picture = image(1), image(2)
    found = run_original(detector, picture, ONE_PASS)
    plain, second = files(found), files(run_original(detector, second_picture, ONE_PASS))
    assert len(found[0]) >= 20
    assert len(set(found[0].labels.tolist())) >= 2
    presets = family_presets(detector.model)
    assert "uamters" in presets
    reseeded = dataclasses.replace(ONE_PASS, seed=4)
    for preset in presets:
        # What lies before the sites is shared, as in a campaign: the same bits in a third of the
        # time (test_memo_builders.py).
        names = [site.name for site in resolve_sites(detector.model, preset)]
        memo = Memo(picture)
        run_original_once(detector, picture, ONE_PASS, memo=memo, sites=names)
        for operator in operators_at(detector, preset):
            mutant = operator.mutants()[0]

            def run(
                name: str, settings: Settings, mutant: Mutant = mutant, memo: Memo = memo
            ) -> list[bytes]:
                return files(run_mutant(detector, picture, name, mutant, settings, memo=memo)[0])

            noisy = run("a.png", QUICK)
            assert plain[0] not in noisy, (preset, mutant)
            assert noisy[0] != noisy[1], (preset, mutant)
            # Another name, seed, image and number of passes come between; the first pass stays.
            assert run("b.png", ONE_PASS) != noisy[:1], (preset, mutant)
            assert run("a.png", reseeded) != noisy[:1], (preset, mutant)
            if preset == "uamters":
                other = run_mutant(detector, second_picture, "b.png", mutant, ONE_PASS)[0]
                assert files(other) != second, mutant
            assert run("a.png", ONE_PASS) == noisy[:1], (preset, mutant)
    assert files(run_original(detector, picture, ONE_PASS)) == plain
