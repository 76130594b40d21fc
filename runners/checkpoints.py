"""Local checkpoints: reading a state_dict safely, its number of classes, and filling a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor, nn
from torchvision.ops import FrozenBatchNorm2d

from runners.architectures import fitting_builders
from runners.checkpoint_files import load_checkpoint
from scoring.errors import ConfigError, DataError
from scoring.faults import shown

StateDict = dict[str, Tensor]

_CLASS_LAYERS = (
    # (class logits, box regression of the same anchors or None where a row is a class)
    ("roi_heads.box_predictor.cls_score.weight", None),
    ("head.classification_head.cls_logits.weight", "head.regression_head.bbox_reg.weight"),
    (
        "head.classification_head.module_list.0.weight",
        "head.regression_head.module_list.0.weight",
    ),
    (
        "head.classification_head.module_list.0.1.weight",
        "head.regression_head.module_list.0.1.weight",
    ),
)
_KEYPOINT_LAYER = "roi_heads.keypoint_predictor.kps_score_lowres.weight"


def read_state_dict(path: Path) -> StateDict:
    """Return the tensors of a checkpoint file by name, on the CPU.

    Accepted are a state_dict, one under the key `model` or `state_dict` (as training scripts save
    it beside their optimizer), and names that all begin with `module.` (data parallel training).
    The file is read with `weights_only=True`: no code in it is run.

    Raises:
        DataError: The file is missing, no checkpoint, or holds other objects than plain tensors.
    """
    loaded = load_checkpoint(path)
    for key in ("model", "state_dict"):
        if isinstance(loaded, Mapping) and isinstance(loaded.get(key), Mapping):
            loaded = loaded[key]
            break
    if (
        not isinstance(loaded, Mapping)
        or not loaded
        or not all(isinstance(k, str) and isinstance(v, Tensor) for k, v in loaded.items())
    ):
        what = (
            f"a mapping with {', '.join(map(shown, list(loaded)[:5]))}"
            if isinstance(loaded, Mapping)
            else type(loaded).__name__
        )
        raise DataError(
            f"weights '{path}': expected a state_dict (names to tensors), possibly under 'model' "
            f"or 'state_dict'; got {what}"
        )
    for name, tensor in loaded.items():
        if not _is_plain(tensor):
            raise DataError(
                f"weights '{path}': {shown(name)}: expected a plain tensor, each of whose numbers "
                f"stands in the file, got a {tensor.layout} one of shape "
                f"{shown(tuple(tensor.shape))} on {tensor.device.type}; save "
                f"tensor.detach().cpu().contiguous()"
            )
    if all(name.startswith("module.") for name in loaded):
        return {name.removeprefix("module."): tensor for name, tensor in loaded.items()}
    return dict(loaded)


def _is_plain(tensor: Tensor) -> bool:
    if tensor.layout is not torch.strided or tensor.device.type != "cpu" or tensor.is_quantized:
        return False
    # One number that stands for all would make a model as large as its shape says.
    return tensor.numel() * tensor.element_size() <= tensor.untyped_storage().nbytes()


def count_classes(state: Mapping[str, Tensor]) -> int | None:
    """Return the number of classes of a torchvision detector, from the shapes of its head.

    Args:
        state: A state_dict.

    Returns:
        The number as the builders' `num_classes`, or None if it is no such head.
    """
    for logits, boxes in _CLASS_LAYERS:
        if logits in state and (boxes is None or boxes in state):
            n_anchors = 1 if boxes is None else state[boxes].shape[0] // 4
            return state[logits].shape[0] // n_anchors
    return None


def head_args(state: Mapping[str, Tensor]) -> dict[str, int]:
    """Return the builder's arguments that can be read from the shapes of the heads."""
    found: dict[str, int] = {}
    n_classes = count_classes(state)
    if n_classes is not None:
        found["num_classes"] = n_classes
    if _KEYPOINT_LAYER in state:
        found["num_keypoints"] = state[_KEYPOINT_LAYER].shape[1]
    return found


def load_state(model: nn.Module, state: StateDict, *, source: str, model_name: str) -> None:
    """Fill the model with a state_dict that fits it exactly.

    Args:
        model: The model, changed in place.
        state: Tensors by name.
        source: What the tensors come from, for the message.
        model_name: What the model is called, for the message.

    Raises:
        ConfigError: Names are missing or left over, or shapes differ; the message lists them.
    """
    own = model.state_dict()
    # Older files and frozen norms lack this counter, which only training reads.
    missing = [k for k in own if k not in state and not k.endswith("num_batches_tracked")]
    unexpected = [k for k in state if k not in own and not k.endswith("num_batches_tracked")]
    reshaped = [
        f"{k} {tuple(state[k].shape)}, the model has {tuple(own[k].shape)}"
        for k in own
        if k in state and state[k].shape != own[k].shape
    ]
    if missing or unexpected or reshaped:
        n_classes = count_classes(state)
        if missing or unexpected:
            fitting = fitting_builders(state)
            advice = (
                f"the file fits {' or '.join(fitting)}"
                if fitting
                else "name the architecture that the file was trained with"
            )
        elif n_classes is not None and n_classes != count_classes(own):
            advice = f"the file has {n_classes} classes: use --model-arg num_classes={n_classes}"
        else:
            advice = "give the arguments that the model was trained with, as --model-arg key=value"
        listed = [
            f"{what}: {_some(items)}"
            for what, items in (
                ("missing in the file", missing),
                ("not in the model", unexpected),
                ("of another shape", reshaped),
            )
            if items
        ]
        raise ConfigError(
            f"weights '{source}': do not fit {model_name}; {'; '.join(listed)}; {advice}"
        )
    model.load_state_dict(state, strict=False)


def _some(items: Sequence[str], limit: int = 4) -> str:
    rest = f" and {len(items) - limit} more" if len(items) > limit else ""
    return ", ".join(items[:limit]) + rest


def freeze_batch_norms(model: nn.Module, state: Mapping[str, Tensor], eps: float | None) -> None:
    """Give the model frozen norms where the file has them, so that it computes as it was trained.

    torchvision builds a detector on pretrained weights with `FrozenBatchNorm2d`, which has no
    counter of batches, and one without weights with `BatchNorm2d`.

    Args:
        model: The model, changed in place.
        state: The file's tensors.
        eps: The epsilon of the frozen norms, None for the one that the layer has.
    """
    for name, module in list(model.named_modules()):
        is_frozen = f"{name}.running_mean" in state and f"{name}.num_batches_tracked" not in state
        if isinstance(module, nn.BatchNorm2d) and is_frozen:
            parent, _, child = name.rpartition(".")
            frozen = FrozenBatchNorm2d(module.num_features, eps=module.eps if eps is None else eps)
            setattr(model.get_submodule(parent), child, frozen)
