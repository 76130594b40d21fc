"""Settings of a campaign: what decides a result, apart from the model and the images."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

import torch

from scoring.errors import ConfigError

OnError = Literal["skip", "stop"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How every image and mutant of a campaign is run.

    Args:
        passes: T, the passes of each mutant over each image.
        seed: Campaign seed of all masks.
        score_threshold: Detections below it are dropped, of original and mutants alike, after
            NMS; 0 to 1.
        classes: Label ids to keep; None keeps all.
        chunk: Passes that run as one batch; None means all T. It is a constant of the campaign,
            since a batch of another size runs other kernels.
        threads: CPU threads of each worker, likewise a constant.

    Raises:
        ConfigError: A value lies outside its range.
    """

    passes: int = 10
    seed: int = 0
    score_threshold: float = 0.5
    classes: tuple[int, ...] | None = None
    chunk: int | None = None
    threads: int = 1

    def __post_init__(self) -> None:
        for name, least in (("passes", 1), ("seed", 0), ("threads", 1)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise ConfigError(f"{name}: expected a whole number from {least} up, got {value!r}")
        if not 0 <= self.score_threshold <= 1:
            raise ConfigError(
                f"score threshold: expected a number in 0..1, got {self.score_threshold!r}"
            )
        if self.chunk is not None and not 1 <= self.chunk <= self.passes:
            raise ConfigError(
                f"chunk: expected 1 to {self.passes} passes in a batch, got {self.chunk!r}"
            )
        if self.classes is not None:
            if not self.classes:
                raise ConfigError("classes: expected at least one label id, got none")
            object.__setattr__(self, "classes", tuple(sorted(set(self.classes))))

    @property
    def chunk_size(self) -> int:
        """Passes that run as one batch."""
        return self.chunk or self.passes

    def chunks(self) -> list[range]:
        """Return the numbers of the passes of each batch."""
        starts = range(0, self.passes, self.chunk_size)
        return [range(start, min(start + self.chunk_size, self.passes)) for start in starts]


@contextmanager
def arithmetic(threads: int) -> Iterator[None]:
    """Return a context with this many CPU threads and plain float32 on CUDA.

    Everything is as it was behind it.
    """
    before = (
        torch.get_num_threads(),
        torch.backends.cuda.matmul.allow_tf32,
        torch.backends.cudnn.allow_tf32,
        torch.backends.cudnn.benchmark,
    )
    torch.set_num_threads(threads)
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = False
    try:
        yield
    finally:
        torch.set_num_threads(before[0])
        torch.backends.cuda.matmul.allow_tf32 = before[1]
        torch.backends.cudnn.allow_tf32 = before[2]
        torch.backends.cudnn.benchmark = before[3]
