"""The built-in demo detectors: stock torchvision heads on a small residual body.

The module names are those of the large models (`backbone.body.layer4`,
`backbone.fpn.inner_blocks.*`, `roi_heads.box_head.fc6`, `head.*_head.conv.*`), so what a mutator
finds in these it finds in `fasterrcnn_resnet50_fpn` and `retinanet_resnet50_fpn`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

import torch
from torch import Tensor, nn
from torchvision.models.detection import FasterRCNN, RetinaNet
from torchvision.models.detection.anchor_utils import AnchorGenerator
from torchvision.models.detection.backbone_utils import BackboneWithFPN
from torchvision.models.detection.faster_rcnn import FastRCNNPredictor, TwoMLPHead
from torchvision.models.detection.retinanet import RetinaNetHead
from torchvision.ops import MultiScaleRoIAlign
from torchvision.ops.feature_pyramid_network import ExtraFPNBlock, LastLevelMaxPool, LastLevelP6P7

from runners.builtin.scenes import SHAPE_NAMES, SIZE_PX
from scoring.errors import ConfigError, DataError

LABEL_NAMES = ("background", *SHAPE_NAMES)

_WIDTHS = (16, 32, 64, 96)
_FPN_CHANNELS = 48
_BOX_FEATURES = 96


class ResidualBlock(nn.Module):
    """Two 3x3 convolutions and a shortcut, as in ResNet-18.

    Args:
        inputs: channels that come in.
        outputs: channels that go out.
        stride: of the first convolution.
    """

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.downsample = nn.Sequential(
            nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
        )

    def forward(self, x: Tensor) -> Tensor:
        """Return the block's output, (B, outputs, H / stride, W / stride)."""
        out = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        summed: Tensor = self.relu(out + self.downsample(x))
        return summed


class SmallResNet(nn.Sequential):
    """Stem and four residual stages of 16, 32, 64 and 96 channels at strides 4, 8, 16 and 32."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, _WIDTHS[0], 5, 2, 2, bias=False)
        self.bn1 = nn.BatchNorm2d(_WIDTHS[0])
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        inputs = (_WIDTHS[0], *_WIDTHS[:-1])
        for stage, (before, after) in enumerate(zip(inputs, _WIDTHS, strict=True), start=1):
            block = ResidualBlock(before, after, 1 if stage == 1 else 2)
            self.add_module(f"layer{stage}", nn.Sequential(block))


def build(name: str) -> nn.Module:
    """Return an untrained demo detector in training mode.

    The weights are drawn from torch's default generator inside a fork of it, so the caller's
    random state is left as it was.

    Args:
        name: `demo_fasterrcnn` or `demo_retinanet`.

    Returns:
        A torchvision FasterRCNN or RetinaNet of 5 classes (background included) on the CPU.

    Raises:
        ConfigError: there is no built-in detector of this name.
    """
    builder = _BUILDERS.get(name)
    if builder is None:
        raise ConfigError(f"expected a built-in detector of {sorted(_BUILDERS)}, got {name!r}")
    with torch.random.fork_rng(devices=[]):
        return builder()


def builtin_names() -> tuple[str, ...]:
    """Return the names of the built-in detectors, sorted."""
    return tuple(sorted(_BUILDERS))


def weights_path(name: str) -> Path:
    """Return where the weights of a built-in detector lie.

    Raises:
        ConfigError: there is no built-in detector of this name.
    """
    if name not in _BUILDERS:
        raise ConfigError(f"expected a built-in detector of {sorted(_BUILDERS)}, got {name!r}")
    return Path(__file__).parent / "weights" / f"{name}.pt"


def load_builtin(name: str) -> nn.Module:
    """Return a trained demo detector in eval mode, on the CPU, with float32 parameters.

    The committed file holds float16; every value is widened, which is exact.

    Args:
        name: `demo_fasterrcnn` or `demo_retinanet`.

    Raises:
        ConfigError: there is no built-in detector of this name.
        DataError: its weights file is missing from the installation.
    """
    path = weights_path(name)
    if not path.is_file():
        raise DataError(
            f"expected the weights of {name} at {path}, found no file; "
            "reinstall the package or run scripts/train_demo_detectors.py"
        )
    model = build(name)
    model.load_state_dict(torch.load(path, map_location="cpu", weights_only=True))
    return model.eval().requires_grad_(False)


def _backbone(stages: tuple[int, ...], extra: ExtraFPNBlock) -> BackboneWithFPN:
    return BackboneWithFPN(
        SmallResNet(),
        return_layers={f"layer{stage}": str(i) for i, stage in enumerate(stages)},
        in_channels_list=[_WIDTHS[stage - 1] for stage in stages],
        out_channels=_FPN_CHANNELS,
        extra_blocks=extra,
    )


def _build_fasterrcnn() -> nn.Module:
    sizes = ((12,), (20,), (32,), (48,), (72,))
    model: nn.Module = FasterRCNN(
        _backbone((1, 2, 3, 4), LastLevelMaxPool()),
        min_size=SIZE_PX,
        max_size=2 * SIZE_PX,
        rpn_anchor_generator=AnchorGenerator(sizes, ((0.7, 1.0, 1.4),) * len(sizes)),
        rpn_pre_nms_top_n_train=100,
        rpn_post_nms_top_n_train=64,
        rpn_pre_nms_top_n_test=100,
        rpn_post_nms_top_n_test=50,
        rpn_batch_size_per_image=128,
        # At the stock scale of 224 px every sticker would be pooled from the finest level.
        box_roi_pool=MultiScaleRoIAlign(["0", "1", "2", "3"], 7, 2, canonical_scale=56),
        box_head=TwoMLPHead(_FPN_CHANNELS * 7 * 7, _BOX_FEATURES),
        box_predictor=FastRCNNPredictor(_BOX_FEATURES, len(LABEL_NAMES)),
        box_batch_size_per_image=32,
    )
    return model


def _build_retinanet() -> nn.Module:
    backbone = _backbone((2, 3, 4), LastLevelP6P7(_FPN_CHANNELS, _FPN_CHANNELS))
    octave = (1.0, 2.0 ** (1.0 / 3.0), 2.0 ** (2.0 / 3.0))
    sizes = tuple(tuple(int(base * part) for part in octave) for base in (16, 32, 64, 128, 256))
    anchors = AnchorGenerator(sizes, ((1.0,),) * len(sizes))
    per_cell = anchors.num_anchors_per_location()[0]
    model: nn.Module = RetinaNet(
        backbone,
        num_classes=len(LABEL_NAMES),
        min_size=SIZE_PX,
        max_size=2 * SIZE_PX,
        anchor_generator=anchors,
        head=RetinaNetHead(_FPN_CHANNELS, per_cell, len(LABEL_NAMES)),
        topk_candidates=200,
        detections_per_img=100,
    )
    return model


_BUILDERS: Mapping[str, Callable[[], nn.Module]] = MappingProxyType(
    {"demo_fasterrcnn": _build_fasterrcnn, "demo_retinanet": _build_retinanet}
)
