"""The peak memory of scoring, by the number of images."""

from __future__ import annotations

import multiprocessing
import os
import resource
import tempfile
from collections.abc import Sequence
from pathlib import Path

from scoring_scenes import DROPOUT_TAGS, PASSES, branches, make_scene

from scoring.fast import VARIABLE
from scoring.layout import Branch, original_tag, prediction_path
from scoring.predictions import encode_prediction
from scoring.sweep import find_sweep, score_sweep

IMAGES = (100, 2000)
_OBJECTS = 20
_CLASSES = 3
_MUTANTS = DROPOUT_TAGS[:2]


def write_images(root: Path, branch: Branch, n_images: int) -> None:
    """Write a suite of one scene under many names; the files beyond the first are hard links."""
    scene = make_scene(0, _OBJECTS, _CLASSES)
    for tag in (original_tag(branch.operator), *_MUTANTS):
        passes = scene.mutants.get(tag, scene.original)
        first = branch.folder(root, tag, "image_0")
        for i in range(n_images):
            folder = branch.folder(root, tag, f"image_{i}")
            folder.mkdir(parents=True)
            for t in range(PASSES):
                if i:
                    os.link(prediction_path(first, t), prediction_path(folder, t))
                else:
                    prediction_path(folder, t).write_bytes(encode_prediction(passes[t]))


def peak_mib(root: str, branch: Branch, mode: str) -> float:
    """Score a sweep and return the largest resident memory of this process so far."""
    os.environ[VARIABLE] = mode
    for _ in score_sweep(find_sweep(Path(root), branch)):
        pass
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def print_memory(modes: Sequence[str]) -> None:
    """Print the peak of a fresh process for each number of images, with the kernel on and off."""
    branch = next(iter(branches("model")))
    print(f"{'images':>8}{'mutants':>9}" + "".join(f"{f'kernel {m}, MiB':>18}" for m in modes))
    for n_images in IMAGES:
        with tempfile.TemporaryDirectory() as folder:
            write_images(Path(folder), branch, n_images)
            peaks = []
            for mode in modes:
                with multiprocessing.get_context("spawn").Pool(1) as pool:
                    peaks.append(pool.apply(peak_mib, (folder, branch, mode)))
        cells = "".join(f"{peak:>18.1f}" for peak in peaks)
        print(f"{n_images:>8}{len(_MUTANTS):>9}{cells}", flush=True)
