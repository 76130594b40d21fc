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
from runners.failures import is_out_of_memory, shown_failure
from runners.memo import Memo
from runners.passes import run_mutant
from runners.settings import Settings
from scoring.errors import UamtError

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


def batch_fault(detector: Detector, image: Tensor, key: str, mutant: Mutant) -> str:
    """Return why a model of a user fails on two images at once; empty if it does not.

    Args:
        detector: The model, which runs on the image alone.
        image: (3, H, W) float32, 0 to 1.
        key: The image's name in the key of its masks.
        mutant: Any: a model that takes a batch apart may run, and leave no place for its masks.

    Raises:
        RuntimeError: Memory ran out.
    """
    if detector.weights.get("kind") != "factory":
        return ""  # torchvision's detectors, ours among them, take batches
    try:
        run_mutant(detector, image, key, mutant, Settings(passes=2, chunk=2, score_threshold=0.0))
    except Exception as error:  # what a user's model raises is not known
        if is_out_of_memory(error):
            raise
        return str(error) if isinstance(error, UamtError) else shown_failure(error)
    return ""


def choose_chunk(
    detector: Detector,
    image: Tensor,
    key: str,
    mutants: Sequence[Mutant],
    settings: Settings,
    *,
    use_memo: bool = False,
) -> ChunkChoice:
    """Return what pays on an image: all passes in one batch, or one by one.

    A GPU runs them in one batch, and a CPU runs large inputs one by one. In between CPU time is
    measured, and one by one is chosen only where it is clearly quicker, so that the choice hangs
    on the model and the image and not on what else the machine does.

    Args:
        detector: The model.
        image: (3, H, W) float32, 0 to 1.
        key: The image's name in the key of its masks.
        mutants: All that an image is to run; the first of rate > 0 is run.
        settings: Passes and what else decides a pass; the chunk in it is not looked at.
        use_memo: Whether the passes of an image will share what no mask reaches.

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
    mutated = [mutant for mutant in mutants if not mutant.is_original]
    clock = _Clock(detector, image, key, mutated[0], settings, len(mutated), use_memo)
    alone, together = clock.compare()
    measured = f"{alone * 1000:.1f} ms a pass one by one, {together * 1000:.1f} ms in one batch"
    if alone < _CLEARLY * together:
        return ChunkChoice(1, f"one by one: {measured}")
    return ChunkChoice(passes, f"all passes in one batch: {measured}")


@dataclass(frozen=True, slots=True)
class _Clock:
    """CPU time of the passes of a mutant over an image."""

    detector: Detector
    image: Tensor
    key: str
    mutant: Mutant
    settings: Settings
    n_mutants: int
    use_memo: bool

    def compare(self) -> tuple[float, float]:
        """Return the seconds of a pass one by one, and of one in a batch of all."""
        passes = self.settings.passes
        self._seconds(1, None)  # the first forward of a model sets up more than it computes
        n_rounds = _ROUNDS if self._seconds(1, None) < _SLOW_SECONDS else 1
        if n_rounds > 1:
            self._seconds(passes, None)
        alone = self._mean_seconds(1, n_rounds)
        together = self._mean_seconds(passes, n_rounds)
        return min(alone, self._mean_seconds(1, n_rounds)), together

    def _mean_seconds(self, size: int, n_rounds: int) -> float:
        """Return the seconds of a pass in batches of this size, over all passes of an image.

        The first batch of an image computes what the others share, as often as it has rows.
        """
        memo = Memo(self.image) if self.use_memo else None
        first = self._seconds(size, memo)
        later = min(self._seconds(size, memo) for _ in range(n_rounds))
        n_batches = self.n_mutants * self.settings.passes / size
        shared = max(0.0, first - later) if memo else 0.0
        return (shared / n_batches + later) / size

    def _seconds(self, size: int, memo: Memo | None) -> float:
        chosen = replace(self.settings, passes=size, chunk=size)
        started = time.process_time()
        run_mutant(self.detector, self.image, self.key, self.mutant, chosen, memo=memo)
        return time.process_time() - started


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
