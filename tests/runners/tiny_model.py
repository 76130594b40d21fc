"""A detector of a few layers, whose middle does what a test wants, and that counts its work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from mutators import MCDropout
from runners.detectors import Detector
from runners.memo import Memo
from runners.passes import run_mutant
from runners.settings import Settings
from tests.runners.test_runs_of_builders import files

THREE_PASSES = Settings(passes=3, score_threshold=0.0, seed=1, chunk=2)
CALLS: list[str] = []
"""What ran, in order."""


class Stack(nn.Module):
    """Stacks images into a batch."""

    def forward(self, images: list[Tensor]) -> Tensor:
        CALLS.append("stack")
        return torch.stack(images)


class Conv(nn.Conv2d):
    """A convolution whose runs are counted."""

    def forward(self, x: Tensor) -> Tensor:
        CALLS.append("conv")
        return super().forward(x)


class Tiny(nn.Module):
    """A detector of one box an image; the features of `between` decide its score.

    Args:
        between: What is done between the stem and the site, given the model and the features.
    """

    def __init__(self, between: Callable[[Tiny, Tensor], Tensor]) -> None:
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(0)
            self.stack, self.stem = Stack(), Conv(3, 4, 3, stride=2)
            self.relu, self.same = nn.ReLU(inplace=True), nn.Identity()
            self.flat, self.tail = nn.Flatten(), Conv(4, 4, 3, padding=1)
            self.site = nn.Conv2d(4, 4, 1)
        self.part: nn.Module = nn.Identity()
        self.between = between

    def forward(self, images: list[Tensor]) -> list[dict[str, Tensor]]:
        features = self.between(self, self.stem(self.stack(images)))
        masked = self.site(features)
        return [
            {
                "boxes": torch.stack([row.min(), row.min(), row.max() + 1, row.max() + 1])[None],
                "labels": torch.ones(1, dtype=torch.int64),
                "scores": row.mean().sigmoid()[None],
                "class_probs": row.mean((1, 2)).softmax(0)[None, :3],
            }
            for row in masked
        ]


def detector_of(model: nn.Module) -> Detector:
    return Detector(
        model=model.eval(),
        name="tiny",
        architecture="tiny",
        weights={"kind": "random"},
        args={},
        label_names=("a", "b", "c"),
        scores="given",
        device=torch.device("cpu"),
    )


def picture(seed: int = 0) -> Tensor:
    return torch.rand(3, 12, 14, generator=torch.Generator().manual_seed(seed))


def mutate(
    detector: Detector, image: Tensor, memo: Memo | None, sites: str = "site", rate: float = 0.3
) -> list[bytes]:
    (mutant,) = MCDropout(rates=(rate,), sites=sites).mutants()
    return files(run_mutant(detector, image, "a", mutant, THREE_PASSES, memo=memo)[0])


class Part(nn.Module):
    """A part of a model that is a function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function
        self.count = 0
        self.seen: list[Tensor] = []
        self.weight = nn.Parameter(torch.ones(1))

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        CALLS.append("part")
        return self.function(self, *args, **kwargs)


def with_part(function: Callable[..., Any], call: Callable[[Tiny, Tensor], Tensor]) -> Tiny:
    model = Tiny(call)
    model.part = Part(function)
    return model
