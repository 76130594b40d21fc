"""Small detectors for tests: every builder of torchvision, quick, and finding something."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import torch
import torchvision
from torch import Tensor, nn
from torchvision.models import get_model_builder, list_models
from torchvision.models.detection import FCOS, RetinaNet
from torchvision.models.detection.ssd import SSD

BUILDERS = tuple(list_models(module=torchvision.models.detection))
HEIGHT, WIDTH = 128, 160

_RCNN_ARGS = {
    "min_size": 128,
    "max_size": 160,
    "rpn_pre_nms_top_n_test": 200,
    "rpn_post_nms_top_n_test": 50,
    "box_score_thresh": 0.02,
    "box_detections_per_img": 30,
}
_DENSE_ARGS = {"topk_candidates": 60, "detections_per_img": 40, "score_thresh": 0.05}


def image(seed: int = 0, height: int = HEIGHT, width: int = WIDTH) -> Tensor:
    """A (3, height, width) picture of soft blobs, 0 to 1."""
    generator = torch.Generator().manual_seed(seed)
    coarse = torch.rand(1, 3, 8, 10, generator=generator)
    soft = nn.functional.interpolate(coarse, (height, width), mode="bilinear")[0]
    grain = torch.rand(3, height, width, generator=generator)
    return (0.8 * soft + 0.2 * grain).clamp(0, 1)


@lru_cache(maxsize=3)
def small_model(name: str, num_classes: int = 7) -> nn.Module:
    """A detector of this builder in eval mode that finds 20 or more objects of several labels.

    Random weights alone give activations that vanish (MobileNet) or logits that are all alike, so
    norms get the statistics, and predictors the spread, of one forward of two images. The model is
    shared by all callers: leave it as it was.
    """
    args: dict[str, Any] = dict(_RCNN_ARGS if "rcnn" in name else _DENSE_ARGS)
    if name.startswith(("retinanet", "fcos")):
        args |= {"min_size": 128, "max_size": 160}
    # Also where a test's inference mode is on: its tensors could not be changed later.
    with torch.inference_mode(False), torch.no_grad():
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(0)
            model = get_model_builder(name)(
                weights=None, weights_backbone=None, num_classes=num_classes, **args
            )
        model.eval().requires_grad_(False)
        with _calibrating(model, num_classes):
            model([image(1), image(2)])
    return model


@contextmanager
def _calibrating(model: nn.Module, num_classes: int) -> Iterator[None]:
    handles = []
    for name, module in model.named_modules():
        if isinstance(module, nn.BatchNorm2d):
            handles.append(module.register_forward_pre_hook(_take_statistics))
        elif name.endswith("bbox_pred"):
            spread = 0.2 if name.startswith("rpn.") else 0.5
            handles.append(module.register_forward_hook(_spread(spread, 0.0)))
        elif _is_class_predictor(name, module, model):
            if isinstance(model, RetinaNet | FCOS):
                hook = _spread(1.0, -2.5)
            else:
                hook = _spread(1.5, 0.0, background=slice(0, None, num_classes))
            handles.append(module.register_forward_hook(hook))
    roi_heads = getattr(model, "roi_heads", None)
    extra = ("mask_roi_pool", "keypoint_roi_pool")
    pools = {name: getattr(roi_heads, name) for name in extra if hasattr(roi_heads, name)}
    for name in pools:
        setattr(roi_heads, name, None)  # these branches are slow and need no calibration
    yield
    for name, pool in pools.items():
        setattr(roi_heads, name, pool)
    for handle in handles:
        handle.remove()


def _is_class_predictor(name: str, module: nn.Module, model: nn.Module) -> bool:
    if isinstance(model, SSD):
        in_head = name.startswith("head.classification_head.module_list.")
        return in_head and isinstance(module, nn.Conv2d) and module.groups == 1
    return name.endswith(("cls_score", "classification_head.cls_logits"))


def _take_statistics(norm: nn.Module, inputs: tuple[Tensor]) -> None:
    x = inputs[0]
    norm.running_mean.copy_(x.mean((0, 2, 3)))
    norm.running_var.copy_(x.var((0, 2, 3), unbiased=False))


def _spread(spread: float, centre: float, background: slice | None = None) -> Any:
    """A hook that gives a layer's first output this standard deviation and channel mean.

    The channels of `background` get a mean that is lower by 3.
    """
    seen: set[int] = set()

    def hook(layer: nn.Module, inputs: tuple[Tensor], output: Tensor) -> Tensor:
        if id(layer) in seen:
            return output
        seen.add(id(layer))
        dims = (0, 2, 3) if output.ndim == 4 else (0,)
        mean = output.mean(dims)
        scale = spread / float((output - mean.reshape(-1, *[1] * (output.ndim - 2))).std())
        layer.weight.mul_(scale)
        layer.bias.copy_((layer.bias - mean) * scale + centre)
        if background is not None:
            layer.bias[background] -= 3
        return layer(*inputs)

    return hook
