"""On a CUDA device: the same masks, and detections as close as other kernels allow."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from mutators import MCDropBlock, MCDropout
from runners.builtin import suites
from runners.detectors import load_detector
from runners.images import list_images, read_image
from runners.passes import run_mutant, run_original
from runners.settings import Settings, arithmetic
from scoring.passes import Passes
from scoring.predictions import encode_prediction
from scoring.tracks import track

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here"),
]


@pytest.mark.parametrize("model", ["demo_fasterrcnn", "demo_retinanet"])
def test_cuda_and_cpu_find_the_same_under_the_same_masks(model: str) -> None:
    settings = Settings(passes=4)
    refs = list_images(suites()["plain"], "plain")[:3]
    sweeps = (MCDropout(rates=(0.1,)), MCDropBlock(rates=(0.1,), blocks=(3,)))
    n_matched = n_changed = 0
    with arithmetic(1):
        for ref in refs:
            image = read_image(ref.path)
            for mutant in (m for sweep in sweeps for m in sweep.mutants()):
                sides = [
                    run_mutant(load_detector(model, device=d), image, ref.stem, mutant, settings)[0]
                    for d in ("cpu", "cuda")
                ]
                tracks = track(*(Passes.from_list(side) for side in sides))
                matched, missed, ghosts = tracks.counts().sum(axis=0).tolist()
                n_matched += matched
                n_changed += missed + ghosts
                assert np.all(tracks.matched.iou > 0.99)
    # A score that lies on the threshold may fall on either side of it.
    assert n_matched > 20
    assert n_changed <= 0.02 * n_matched


def test_a_seed_repeats_on_cuda() -> None:
    detector = load_detector("demo_retinanet", device="cuda")
    image = read_image(list_images(suites()["crowded"], "crowded")[0].path)
    (mutant,) = MCDropout(rates=(0.2,)).mutants()
    settings = Settings(passes=3)
    with arithmetic(1):
        first, second = (
            [encode_prediction(d) for d in run_mutant(detector, image, "a", mutant, settings)[0]]
            for _ in range(2)
        )
        assert first == second
        assert len(run_original(detector, image, settings)[0]) > 0
