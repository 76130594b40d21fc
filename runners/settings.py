"""Settings of a campaign: what decides a result, apart from the model and the images."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

import torch

from runners.precision import PRECISIONS, Precision, float32_precision
from scoring.curtailment import CurtailedKinds, CurtailedRule, Curtailment
from scoring.errors import ConfigError
from scoring.faults import shown
from scoring.limits import MAX_PASSES

_RANGES = {"passes": (1, MAX_PASSES), "seed": (0, 2**63 - 1), "threads": (1, 4096)}
"""What JSON and the manifest hold, and what a machine has."""

OnError = Literal["skip", "stop"]
Chunk = int | Literal["auto"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How every image and mutant of a campaign is run.

    Args:
        passes: T, the passes of each mutant over each image.
        seed: Campaign seed of all masks.
        score_threshold: Detections below it are dropped, of original and mutants alike, after
            NMS; 0 to 1.
        classes: Label ids to keep; None keeps all.
        chunk: Passes that run as one batch, at most T. It is a constant of the campaign, since a
            batch of another size runs other kernels. `auto`: what the manifest says, or what pays
            on the first image.
        threads: CPU threads of each worker, likewise a constant.
        precision: Arithmetic of float32 on CUDA, likewise: `fp32`, or the faster and coarser
            `tf32`.
        curtail: Stop the passes of a mutant over an image once this kind is settled, or `all`
            three; None runs all T. Passes then run one by one.
        kill_rule: What settles a kill: one changed pass (`any`), or a significant number.
        curtail_mutants: Further, drop a mutant for the rest of a suite once an image kills it.

    Raises:
        ConfigError: A value lies outside its range.
    """

    passes: int = 10
    seed: int = 0
    score_threshold: float = 0.5
    classes: tuple[int, ...] | None = None
    chunk: Chunk = "auto"
    threads: int = 1
    precision: Precision = "fp32"
    curtail: CurtailedKinds | None = None
    kill_rule: CurtailedRule = "significant"
    curtail_mutants: bool = False

    def __post_init__(self) -> None:
        for name, (least, most) in _RANGES.items():
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise ConfigError(f"{name}: expected a whole number from {least} up, got {value!r}")
            if value > most:
                raise ConfigError(f"{name}: expected at most {most}, got {shown(value)}")
        if not 0 <= self.score_threshold <= 1:
            raise ConfigError(
                f"score threshold: expected a number in 0..1, got {self.score_threshold!r}"
            )
        if self.chunk != "auto":
            is_whole = isinstance(self.chunk, int) and not isinstance(self.chunk, bool)
            if not is_whole or not 1 <= self.chunk <= self.passes:
                raise ConfigError(
                    f"chunk: expected auto, or 1 to {self.passes} passes in a batch, got "
                    f"{self.chunk!r}"
                )
        if self.precision not in PRECISIONS:
            raise ConfigError(
                f"precision: expected {' or '.join(PRECISIONS)}, got {self.precision!r}"
            )
        self._check_curtailment()
        if self.classes is not None:
            if not self.classes:
                raise ConfigError("classes: expected at least one label id, got none")
            if not all(-(2**63) <= label < 2**63 for label in self.classes):
                raise ConfigError(f"classes: expected 64-bit label ids, got {shown(self.classes)}")
            object.__setattr__(self, "classes", tuple(sorted(set(self.classes))))

    def _check_curtailment(self) -> None:
        if self.curtail is None:
            if self.curtail_mutants:
                raise ConfigError("curtail mutants: expected 'curtail' to say which kind kills")
            return
        Curtailment(self.passes, self.curtail, self.kill_rule, self.curtail_mutants)
        if self.chunk not in ("auto", 1):
            raise ConfigError(
                f"chunk {self.chunk}: curtailed passes run one by one, for each may be the last; "
                f"leave the chunk out"
            )
        object.__setattr__(self, "chunk", 1)

    @property
    def curtailment(self) -> Curtailment | None:
        """When passes may stop; None if all T run."""
        if self.curtail is None:
            return None
        return Curtailment(self.passes, self.curtail, self.kill_rule, self.curtail_mutants)

    @property
    def chunk_size(self) -> int:
        """Passes that run as one batch; all of them while nothing is measured."""
        return self.passes if self.chunk == "auto" else self.chunk

    def chunks(self) -> list[range]:
        """Return the numbers of the passes of each batch.

        All batches are of one size, since another runs other kernels: the last one may reach
        beyond T, and what it finds there is dropped.
        """
        starts = range(0, self.passes, self.chunk_size)
        return [range(start, start + self.chunk_size) for start in starts]


@contextmanager
def arithmetic(threads: int, precision: Precision = "fp32") -> Iterator[None]:
    """Return a context with this many CPU threads and this arithmetic on CUDA.

    Everything is as it was behind it.
    """
    before = torch.get_num_threads(), torch.backends.cudnn.benchmark
    torch.set_num_threads(threads)
    torch.backends.cudnn.benchmark = False
    try:
        with float32_precision(precision):
            yield
    finally:
        torch.set_num_threads(before[0])
        torch.backends.cudnn.benchmark = before[1]
