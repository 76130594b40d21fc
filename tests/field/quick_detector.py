"""A detector that finds one box on an image of any size, in no time."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Quick(nn.Module):
    """Looks at 4 x 4 cells of an image; its one site is `site`."""

    def __init__(self) -> None:
        super().__init__()
        self.cells = nn.AdaptiveAvgPool2d(4)
        self.site = nn.Conv2d(3, 4, 1)

    def forward(self, images: list[Tensor]) -> list[dict[str, Tensor]]:
        features = self.site(torch.stack([self.cells(image) for image in images]))
        found = []
        for image, rows in zip(images, features, strict=True):
            height, width = image.shape[-2:]
            vector = rows.mean((1, 2)).softmax(0)[:3]
            found.append(
                {
                    "boxes": torch.tensor([[0.0, 0.0, width, height]]),
                    "labels": torch.tensor([1]),
                    "scores": vector[1:2],
                    "class_probs": vector[None],
                }
            )
        return found


def detector() -> nn.Module:
    """Return the detector; its weights follow the seed."""
    return Quick()


class Odd(Quick):
    """The same, but for images 9 px wide: there it fails, or computes NaN."""

    def __init__(self, fails: bool) -> None:
        super().__init__()
        self.fails = fails

    def forward(self, images: list[Tensor]) -> list[dict[str, Tensor]]:
        found = super().forward(images)
        if images[0].shape[-1] == 9:
            if self.fails:
                raise RuntimeError("no kernel for this size")
            found = [{**one, "scores": one["scores"] * torch.nan} for one in found]
        return found


def fragile() -> nn.Module:
    """Return a detector that fails on images 9 px wide."""
    return Odd(fails=True)


def drifting() -> nn.Module:
    """Return a detector that computes NaN on images 9 px wide."""
    return Odd(fails=False)
