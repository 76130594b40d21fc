"""The presets: where each family of torchvision's detectors can be masked."""

from __future__ import annotations

from torch import nn
from torchvision.models.detection import FCOS, FasterRCNN, RetinaNet
from torchvision.models.detection.ssd import SSD
from torchvision.models.detection.ssdlite import SSDLiteHead

from scoring.errors import ConfigError

PRESETS = ("uamters", "head", "last", "backbone", "icst")
"""Names of the presets; not every family has each of them."""

_FPN = "backbone.fpn.{inner,layer}_blocks.*"
# The last child of the body: `layer4` of a ResNet, the last block of a MobileNet.
_BODY = "backbone.body.<last>"
_SSD_HEADS = "head.*_head.module_list.*"

# Family -> preset -> (pattern, dimensions of its tensors).
_TABLE: dict[str, dict[str, tuple[tuple[str, int], ...]]] = {
    "Faster R-CNN": {
        "uamters": ((_FPN, 4),),
        "head": (("roi_heads.box_head.{fc6,fc7}", 2),),
        "last": (("roi_heads.box_head", 2),),
        "backbone": ((_BODY, 4),),
    },
    "Faster R-CNN v2": {
        "uamters": ((_FPN, 4),),
        "head": (("roi_heads.box_head.{0,1,2,3}", 4), ("roi_heads.box_head.5", 2)),
        "last": (("roi_heads.box_head", 2),),
        "backbone": ((_BODY, 4),),
    },
    "RetinaNet": {
        "uamters": ((_FPN, 4),),
        "head": (("head.*_head.conv.*", 4),),
        "last": (("head.*_head.conv.3", 4),),
        "backbone": ((_BODY, 4),),
    },
    "FCOS": {
        "uamters": ((_FPN, 4),),
        "head": (("head.*_head.conv.{2,5,8,11}", 4),),
        "last": (("head.*_head.conv.11", 4),),
        "backbone": ((_BODY, 4),),
    },
    "SSD": {
        "uamters": ((_SSD_HEADS, 4),),
        "icst": (("backbone", 4),),
        # The maps that leave the backbone are also the last ones before the predictors.
        "last": (("backbone", 4),),
        "backbone": (("backbone.extra.0", 4),),
    },
    "SSDlite": {
        "uamters": ((_SSD_HEADS, 4),),
        "last": (("head.*_head.module_list.*.0", 4),),
        "backbone": (("backbone.features.1", 4),),
    },
}


def detectors_within(model: nn.Module) -> dict[str, nn.Module]:
    """Return torchvision's detectors in a model by name: itself, by the empty name, or others."""
    if _family(model):
        return {"": model}
    return {name: module for name, module in model.named_modules() if _family(module)}


def detector_family(model: nn.Module) -> str | None:
    """Return the family of the torchvision detector that a model is, or of the only one within it.

    Any other model has None.
    """
    found = list(detectors_within(model).values())
    return _family(found[0]) if len(found) == 1 else None


def _family(model: nn.Module) -> str | None:
    if isinstance(model, FasterRCNN):
        # v2 heads are a sequence of convolutions and one linear layer; v1 heads are fc6 and fc7.
        is_v2 = isinstance(model.roi_heads.box_head, nn.Sequential)
        return "Faster R-CNN v2" if is_v2 else "Faster R-CNN"
    if isinstance(model, RetinaNet):
        return "RetinaNet"
    if isinstance(model, FCOS):
        return "FCOS"
    if isinstance(model, SSD):
        return "SSDlite" if isinstance(model.head, SSDLiteHead) else "SSD"
    return None


def family_presets(model: nn.Module) -> tuple[str, ...]:
    """Return the presets that a model's family has; none for an unknown family."""
    return tuple(_TABLE.get(detector_family(model) or "", ()))


def preset_patterns(detector: nn.Module, preset: str) -> tuple[tuple[str, int], ...]:
    """Return the patterns of a preset in a detector, each with the dimensions of its tensors.

    Args:
        detector: One of torchvision's families.
        preset: Its name.

    Raises:
        ConfigError: The family lacks the preset.
    """
    family = _family(detector)
    presets = _TABLE[family or ""]
    if preset not in presets:
        raise ConfigError(
            f"sites: {family} ({type(detector).__name__}) has no preset '{preset}'; "
            f"it has {', '.join(presets)}"
        )
    return presets[preset]
