"""Detections with the full class vector that torchvision drops in its post-processing."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MethodType
from typing import Any

import torch
from torch import Tensor, nn

from runners.row_trail import WAYS_TO_VECTORS, BrokenTrailError, RowTrail
from scoring.errors import ConfigError, DataError

_EXTRA_BRANCHES = tuple(
    f"{branch}_{part}"
    for branch in ("mask", "keypoint")
    for part in ("roi_pool", "head", "predictor")
)

# Scores, labels and vectors (N, C) of each image, or why these could not be recovered.
_Vectors = list[tuple[Tensor, Tensor, Tensor]] | BrokenTrailError


def detect_with_class_vectors(
    model: nn.Module, images: Sequence[Tensor], *, boxes_only: bool = False
) -> list[dict[str, Tensor]]:
    """Return the model's own detections with the class vector of each in `class_probs`.

    Boxes, labels and scores are bit for bit those of `model(images)`. The vector is the row of
    class probabilities that the detection was selected from: softmax with background at 0
    (Faster, Mask and Keypoint R-CNN, SSD, SSDlite), or independent sigmoids (RetinaNet, FCOS).
    There `class_probs[i, labels[i]] == scores[i]`, but for FCOS, whose score is
    sqrt(class * centerness).

    The model is never changed, not even for the time of the call: a shallow copy of the few
    modules concerned runs in its place, and shares all else with it (weights, hooks, children).

    Args:
        model: A detector in eval mode with torchvision's interface: it holds one module with a
            `postprocess_detections`, or returns `class_probs` itself.
        images: (3, H, W) float tensors, 0 to 1.
        boxes_only: Leave out the mask and keypoint branches of torchvision's RoI heads.

    Returns:
        One dict per image, as the model returns it, with `class_probs` (N, C) added.

    Raises:
        ConfigError: The model is in training mode, or its vectors cannot be recovered.
        DataError: The model computes NaN or infinity.
    """
    if model.training:
        raise ConfigError("detector: expected eval mode, got training mode; call model.eval()")
    if not images:
        return []
    followed = [name for name, _ in _modules_with(model, "postprocess_detections")]
    guarded = [name for name, _ in _modules_with(model, "filter_proposals")]
    shadow, copies = _shadow(model, [*followed, *guarded])
    found: list[_Vectors] = []
    for name in followed:
        head = copies[name]
        head.__dict__["postprocess_detections"] = _following(head, found)
        if boxes_only:
            head._modules.update({k: None for k in _EXTRA_BRANCHES if k in head._modules})
    for name in guarded:
        rpn = copies[name]
        rpn.__dict__["filter_proposals"] = _guarding(getattr(rpn, "filter_proposals"))  # noqa: B009
    outputs = _as_outputs(shadow(list(images)), len(images))
    if all("class_probs" in output for output in outputs):
        return outputs
    vectors = found[0] if len(found) == 1 else []
    if isinstance(vectors, BrokenTrailError):
        raise vectors
    if len(vectors) != len(outputs):
        raise BrokenTrailError(
            f"class vectors: expected 'class_probs' in the model's output, or one call of a "
            f"torchvision postprocess_detections for all {len(images)} images; got keys "
            f"{sorted(outputs[0])} and {len(found)} calls from {type(model).__name__}; "
            f"{WAYS_TO_VECTORS}"
        )
    for output, (scores, labels, rows) in zip(outputs, vectors, strict=True):
        kept = f"expected the {len(rows)} detections of postprocess_detections"
        if len(output["scores"]) != len(rows):
            raise BrokenTrailError(
                f"class vectors: {kept}, got {len(output['scores'])} from {type(model).__name__}, "
                f"and which ones these are cannot be told; {WAYS_TO_VECTORS}"
            )
        if not (torch.equal(output["scores"], scores) and torch.equal(output["labels"], labels)):
            raise BrokenTrailError(
                f"class vectors: {kept}, got others, or another order, from "
                f"{type(model).__name__}; {WAYS_TO_VECTORS}"
            )
        output["class_probs"] = rows
    return outputs


def detect_with_one_hot_vectors(
    model: nn.Module, images: Sequence[Tensor], *, n_classes: int | None = None
) -> list[dict[str, Tensor]]:
    """Return the model's own detections with made-up vectors: the score at the label, else 0.

    Args:
        model: A detector in eval mode that returns boxes, labels and scores.
        images: (3, H, W) float tensors, 0 to 1.
        n_classes: Length of the vectors; None means max(3, largest label + 1), per call.

    Returns:
        One dict per image with `class_probs` (N, C); one that the model returns itself is kept.

    Raises:
        ConfigError: The model is in training mode.
        DataError: The output lacks a key, or a label does not fit into `n_classes`.
    """
    if model.training:
        raise ConfigError("detector: expected eval mode, got training mode; call model.eval()")
    outputs = _as_outputs(model(list(images)), len(images))
    largest = max((int(o["labels"].max()) for o in outputs if len(o["labels"])), default=0)
    length = n_classes if n_classes is not None else max(3, largest + 1)
    if largest >= length:
        raise DataError(f"detector output: expected labels below {length}, got {largest}")
    for output in outputs:
        if "class_probs" not in output:
            vectors = output["scores"].new_zeros((len(output["scores"]), length))
            vectors[torch.arange(len(vectors)), output["labels"].long()] = output["scores"]
            output["class_probs"] = vectors
    return outputs


def has_recoverable_vectors(model: nn.Module) -> bool:
    """Return whether the model holds a `postprocess_detections` that can be followed."""
    return len(_modules_with(model, "postprocess_detections")) == 1


def _modules_with(model: nn.Module, method: str) -> list[tuple[str, nn.Module]]:
    return [(name, m) for name, m in model.named_modules() if callable(getattr(m, method, None))]


def _shadow(model: nn.Module, names: Iterable[str]) -> tuple[nn.Module, dict[str, nn.Module]]:
    """Return copies of the model and of the modules on the way to `names`, all else shared."""
    root = _shallow_copy(model)
    copies = {"": root}
    for name in names:
        path, parent = "", root
        for part in name.split(".") if name else ():
            path = f"{path}.{part}" if path else part
            if path not in copies:
                child = parent._modules[part]
                if child is None:
                    raise BrokenTrailError(f"class vectors: module {path} is gone")
                copies[path] = _shallow_copy(child)
                parent._modules[part] = copies[path]
            parent = copies[path]
    return root, copies


def _shallow_copy(module: nn.Module) -> nn.Module:
    twin: nn.Module = object.__new__(type(module))
    for name, value in module.__dict__.items():
        # A method that was put on the module itself is the twin's own, or it would run the module.
        is_own = isinstance(value, MethodType) and value.__self__ is module
        twin.__dict__[name] = MethodType(value.__func__, twin) if is_own else value
    twin.__dict__["_modules"] = copy.copy(module._modules)
    return twin


def _following(head: nn.Module, found: list[_Vectors]) -> Callable[..., Any]:
    postprocess: Callable[..., Any] = getattr(head, "postprocess_detections")  # noqa: B009

    def postprocess_detections(*args: Any, **kwargs: Any) -> Any:
        _check_finite("the detector's heads", (args, kwargs))
        trail = RowTrail(_class_logits(args, kwargs))
        with trail:
            result = postprocess(*args, **kwargs)
        try:
            # Copies: what is done to the detections afterwards must show.
            found.append(
                [
                    (scores.clone(), labels.clone(), trail.class_vectors(scores, labels))
                    for scores, labels in _scores_and_labels(result)
                ]
            )
        except BrokenTrailError as error:
            # No fault if the model turns out to return its vectors itself.
            found.append(error)
        return result

    return postprocess_detections


def _scores_and_labels(result: Any) -> list[tuple[Tensor, Tensor]]:
    """Return the columns of each image, from RoI heads (a tuple) or a dense detector (dicts)."""
    if isinstance(result, tuple) and len(result) == 3:
        _, scores, labels = result
        return list(zip(scores, labels, strict=True))
    if isinstance(result, list) and all(isinstance(output, Mapping) for output in result):
        return [(output["scores"], output["labels"]) for output in result]
    raise BrokenTrailError(
        f"class vectors: expected (boxes, scores, labels) or a list of dicts from "
        f"postprocess_detections, got {type(result).__name__}; {WAYS_TO_VECTORS}"
    )


def _class_logits(args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Tensor]:
    """Return the class logits that a post-processing was given; none if it is of another kind."""
    logits = args[0] if args else kwargs.get("class_logits", kwargs.get("head_outputs"))
    if isinstance(logits, Mapping):
        logits = logits.get("cls_logits")
    tensors = logits if isinstance(logits, list | tuple) else [logits]
    return [tensor for tensor in tensors if isinstance(tensor, Tensor)]


def _guarding(filter_proposals: Callable[..., Any]) -> Callable[..., Any]:
    # NaN proposals vanish in a comparison and leave "nothing found", so they are met before it.
    def guarded(*args: Any, **kwargs: Any) -> Any:
        _check_finite("the region proposals", (args, kwargs))
        return filter_proposals(*args, **kwargs)

    return guarded


def _check_finite(where: str, value: Any) -> None:
    if isinstance(value, Tensor):
        if value.is_floating_point() and not bool(value.isfinite().all()):
            n_bad = int((~value.isfinite()).sum())
            raise DataError(
                f"detector output: expected finite numbers from {where}, got {n_bad} NaN or "
                f"infinite of {value.numel()}; look at the weights, the precision and the mutation"
            )
    elif isinstance(value, Mapping):
        _check_finite(where, list(value.values()))
    elif isinstance(value, list | tuple):
        for item in value:
            _check_finite(where, item)


def _shown_result(result: Any) -> str:
    if not isinstance(result, list | tuple):
        return type(result).__name__
    kinds = ", ".join(sorted({type(item).__name__ for item in result}))
    return f"{type(result).__name__} of {len(result)} ({kinds})"


def _as_outputs(result: Any, n_images: int) -> list[dict[str, Tensor]]:
    """Return a copy of the model's output that is a list of dicts with the three columns."""
    if (
        not isinstance(result, list | tuple)
        or len(result) != n_images
        or not all(isinstance(output, Mapping) for output in result)
    ):
        raise DataError(
            f"detector output: expected a list of {n_images} dicts with boxes, labels and scores, "
            f"got {_shown_result(result)}"
        )
    outputs = [dict(output) for output in result]
    for output in outputs:
        missing = {"boxes", "labels", "scores"} - set(output)
        if missing:
            raise DataError(
                f"detector output: expected boxes, labels and scores, got {sorted(output)}"
            )
        _check_finite("the model", output)
        _check_columns(output)
    return outputs


def _check_columns(output: Mapping[str, Tensor]) -> None:
    names = [name for name in ("labels", "scores", "class_probs") if name in output]
    rows = {"boxes": output["boxes"].numel() // 4}
    rows |= {name: output[name].shape[0] if output[name].ndim else 1 for name in names}
    if len(set(rows.values())) > 1 or output["boxes"].numel() % 4:
        raise DataError(
            f"detector output: expected a row for each box in every column, got "
            f"{', '.join(f'{count} {name}' for name, count in rows.items())}"
        )
