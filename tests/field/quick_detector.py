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
