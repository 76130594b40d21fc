"""Chunks: how many passes run as one batch, where the user leaves it open."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torchvision.models.detection.transform import GeneralizedRCNNTransform

from mutators import Mutant
from runners.detectors import Detector
from runners.passes import run_mutant
from runners.settings import Settings

LARGE_PX2 = 250_000
"""Pixels of the model's input above which a CPU runs passes one by one, unmeasured: a batch was
17 % slower there (RetinaNet-R50 at 480x640), and takes T times the memory."""

_CLEARLY = 0.8
"""One by one must take less than this share of a batch's time, or the batch is chosen: measured
again, on this machine or another, a close decision would fall either way."""

_ROUNDS = 3
_SLOW_SECONDS = 0.3


@dataclass(frozen=True, slots=True)
class ChunkChoice:
    """Passes that run as one batch, and why.

    Args:
        size: Number of passes.
        reason: For the reader.
    """

    size: int
    reason: str


def choose_chunk(
    detector: Detector, image: Tensor, key: str, mutants: Sequence[Mutant], settings: Settings
) -> ChunkChoice:
    """Return what pays on an image: all passes in one batch, or one by one.

    A GPU runs them in one batch, and a CPU runs large inputs one by one. In between CPU time is
    measured, and one by one is chosen only where it is clearly quicker, so that the choice hangs
    on the model and the image and not on what else the machine does.

    Args:
        detector: The model.
        image: (3, H, W) float32, 0 to 1.
        key: The image's name in the key of its masks.
        mutants: Those of one operator; the first of rate > 0 is run.
        settings: Passes and what else decides a pass; the chunk in it is not looked at.

    Raises:
        ConfigError: The mutant cannot run.
        DataError: It computes NaN or infinity.
    """
    passes = settings.passes
    if passes == 1:
        return ChunkChoice(1, "there is one pass")
    if detector.device.type != "cpu":
        return ChunkChoice(passes, "all passes in one batch, as on every GPU")
    height, width = _input_size(detector, image)
    if height * width > LARGE_PX2:
        return ChunkChoice(1, f"one by one, for {height}x{width} pixels are large for a CPU")
    mutant = next(mutant for mutant in mutants if not mutant.is_original)
    alone, together = _seconds_per_pass(detector, image, key, mutant, settings)
    measured = f"{alone * 1000:.1f} ms a pass one by one, {together * 1000:.1f} ms in one batch"
    if alone < _CLEARLY * together:
        return ChunkChoice(1, f"one by one: {measured}")
    return ChunkChoice(passes, f"all passes in one batch: {measured}")


def _seconds_per_pass(
    detector: Detector, image: Tensor, key: str, mutant: Mutant, settings: Settings
) -> tuple[float, float]:
    """Return the CPU seconds of a pass one by one, and of one in a batch of all; the least of some.

    Both are plain runs. What the memo spares is spared by either.
    """
    one = replace(settings, passes=1, chunk=1)
    every = replace(settings, chunk=settings.passes)

    def seconds(chosen: Settings) -> float:
        started = time.process_time()
        run_mutant(detector, image, key, mutant, chosen)
        return (time.process_time() - started) / chosen.passes

    seconds(one)  # the first forward of a model sets up more than it computes
    alone = [seconds(one)]
    if alone[0] > _SLOW_SECONDS:
        return min(alone[0], seconds(one)), seconds(every)
    seconds(every)
    together = []
    for _ in range(_ROUNDS):
        alone += [seconds(one) for _ in range(2)]
        together.append(seconds(every))
    return min(alone), min(together)


def _input_size(detector: Detector, image: Tensor) -> tuple[int, int]:
    """Return height and width in pixels of what the model computes on, which is often resized."""
    modules = detector.model.modules()
    transforms = (module for module in modules if isinstance(module, GeneralizedRCNNTransform))
    transform = next(transforms, None)
    if transform is None:
        return image.shape[-2], image.shape[-1]
    with torch.inference_mode():
        batch, _ = transform([image])
    return batch.tensors.shape[-2], batch.tensors.shape[-1]
