"""Small models that stand for the large ones."""

from __future__ import annotations

from collections import OrderedDict

import pytest
import torch
from torch import nn
from torchvision.models.detection import FasterRCNN
from torchvision.models.detection.anchor_utils import AnchorGenerator
from torchvision.models.detection.backbone_utils import BackboneWithFPN


@pytest.fixture(autouse=True)
def one_thread():
    """Two workers with many threads each are slower than with one."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def tiny_detector():
    """A stock Faster R-CNN on a body of two convolutions, with predictors that find something."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        body = nn.Sequential(
            OrderedDict(
                layer3=nn.Conv2d(3, 8, 3, stride=4, padding=1),
                layer4=nn.Conv2d(8, 12, 3, stride=2, padding=1),
            )
        )
        backbone = BackboneWithFPN(body, {"layer3": "0", "layer4": "1"}, [8, 12], 16)
        detector = FasterRCNN(
            backbone,
            num_classes=3,
            min_size=64,
            max_size=64,
            rpn_anchor_generator=AnchorGenerator(((8,), (16,), (32,)), ((0.5, 1.0, 2.0),) * 3),
            rpn_post_nms_top_n_test=20,
            box_nms_thresh=0.9,
        )
    return detector.eval()


@pytest.fixture
def image():
    return torch.rand(3, 64, 64, generator=torch.Generator().manual_seed(1))


class RoiHeads(nn.Module):
    """As much of torchvision's RoI heads as the bookkeeping of rows depends on."""

    def __init__(self) -> None:
        super().__init__()
        self.box_roi_pool = RoiPool()
        self.box_head = nn.Identity()

    def forward(self, features, boxes):
        return self.box_head(self.box_roi_pool(features, boxes, []))


class RoiPool(nn.Module):
    """A pooling whose result is all ones: one 4 x 2 x 2 tensor per box."""

    def forward(self, features, boxes, shapes):
        return torch.ones(sum(map(len, boxes)), 4, 2, 2)


class RoiModel(nn.Module):
    """A model whose rows behind the pooling are regions of interest."""

    def __init__(self) -> None:
        super().__init__()
        self.roi_heads = RoiHeads()

    def forward(self, counts):
        return self.roi_heads(torch.ones(len(counts), 1), [torch.ones(n, 4) for n in counts])


@pytest.fixture
def roi_model():
    return RoiModel().eval()
