"""Detectors: a model with its name, the provenance of its weights, and how its vectors are made."""

from __future__ import annotations

import difflib
import importlib
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn
from torchvision.models.detection import FCOS, FasterRCNN, RetinaNet
from torchvision.models.detection.ssd import SSD
from torchvision.models.detection.transform import GeneralizedRCNNTransform

from runners.architectures import (
    ModelArgs,
    build,
    builder_names,
    drawn_from,
    find_weights,
    parse_model_args,
    published_weights,
    unknown_model,
    unknown_weights,
)
from runners.checkpoints import (
    count_classes,
    freeze_batch_norms,
    head_args,
    load_state,
    read_state_dict,
)
from runners.class_vectors import (
    detect_with_class_vectors,
    detect_with_one_hot_vectors,
    has_recoverable_vectors,
)
from runners.failures import shown_failure
from runners.fingerprints import fingerprint_file, state_hash
from scoring.detections import Detections
from scoring.errors import ConfigError, DataError, UamtError
from scoring.folder_names import check_folder_name

Scores = Literal["softmax", "sigmoid", "given", "one_hot"]

# Their published weights were trained with norms that had no epsilon; torchvision sets it to 0
# when it loads them by the enum (its pull request 2933).
_NO_EPSILON = frozenset(
    f"{family}_resnet50_fpn" for family in ("fasterrcnn", "maskrcnn", "keypointrcnn", "retinanet")
)


@dataclass(frozen=True, slots=True, eq=False)
class Detector:
    """A detector that is ready to run.

    Args:
        model: The module, in eval mode.
        name: The model's folder name.
        architecture: The name it was loaded by.
        weights: Where its weights come from: `kind` (enum, file, random, builtin or factory) and
            what identifies them (a name, file and sha256, a seed).
        args: Arguments of the builder or function, such as `min_size`: they decide results too.
        label_names: Name of each label id; empty where the number of classes is unknown.
        scores: What its class vectors hold: a softmax with background at 0, independent
            sigmoids, vectors that the model returns itself, or made-up one-hot vectors.
        device: Where it runs.
    """

    model: nn.Module
    name: str
    architecture: str
    weights: Mapping[str, str | int]
    args: Mapping[str, Any]
    label_names: tuple[str, ...]
    scores: Scores
    device: torch.device

    def detect(self, images: Sequence[Tensor]) -> list[Detections]:
        """Return what the detector finds on each image, by falling score.

        The model's own thresholds hold, no other. Mask and keypoint branches do not run. Images
        of one size run as one batch; other sizes run apart, so that no image is padded because
        of its neighbours.

        Args:
            images: (3, H, W) float32 tensors, 0 to 1.

        Returns:
            One `Detections` per image, boxes in the image's own frame.

        Raises:
            ConfigError: The class vectors cannot be recovered.
            DataError: An image has another shape or type, is too narrow for the model's scaling,
                or the model computes NaN or infinity.
        """
        by_size: dict[tuple[int, ...], list[int]] = defaultdict(list)
        for i, image in enumerate(images):
            if image.ndim != 3 or image.shape[0] != 3 or not image.is_floating_point():
                raise DataError(
                    f"image {i} of {len(images)}: expected a float tensor (3, H, W), got "
                    f"{tuple(image.shape)} {image.dtype}"
                )
            _check_shape(self.model, image.shape[-2], image.shape[-1])
            by_size[tuple(image.shape)].append(i)
        found: dict[int, Detections] = {}
        for positions in by_size.values():
            # One image in many passes is moved once.
            moved = {id(images[i]): images[i].to(self.device) for i in positions}
            batch = [moved[id(images[i])] for i in positions]
            found.update(zip(positions, _to_host(self._forward(batch)), strict=True))
        return [found[i] for i in range(len(images))]

    def _forward(self, batch: Sequence[Tensor]) -> list[dict[str, Tensor]]:
        with torch.inference_mode():
            if self.scores == "one_hot":
                return detect_with_one_hot_vectors(
                    self.model, batch, n_classes=len(self.label_names) or None
                )
            return detect_with_class_vectors(self.model, batch, boxes_only=True)


def _check_shape(model: nn.Module, height: int, width: int) -> None:
    """Refuse an image that torchvision's transform would scale to nothing."""
    for module in model.modules():
        if isinstance(module, GeneralizedRCNNTransform) and not module.fixed_size:
            short, long = min(height, width), max(height, width)
            scale = min(module.min_size[-1] / short, module.max_size / long)
            if int(short * scale) < 1:
                raise DataError(
                    f"image of {width} x {height} px: the model scales its long side to "
                    f"{int(long * scale)} px, which leaves nothing of the short one; cut it, or "
                    f"give the model a larger max_size"
                )


def _to_host(outputs: Sequence[Mapping[str, Tensor]]) -> list[Detections]:
    """Return the detections of a batch, moved to the CPU at once; the device keeps nothing."""
    images = [_ordered(output) for output in outputs]
    columns = [column for image in images for column in image]
    # Double, since numpy has no bfloat16 and every narrower float and every label is exact in it.
    flat = torch.cat([column.reshape(-1).double() for column in columns]).cpu().numpy()
    ends = np.cumsum([column.numel() for column in columns])
    parts = iter(np.split(flat, ends[:-1]))
    found = []
    for image in images:
        boxes, labels, scores, probs = (next(parts).reshape(tuple(c.shape)) for c in image)
        # Labels that are no whole numbers stay what they are, to be refused.
        is_whole = not image[1].is_floating_point()
        found.append(
            Detections(boxes, labels.astype(np.int64) if is_whole else labels, scores, probs)
        )
    return found


def _ordered(output: Mapping[str, Tensor]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    # Stable, so that torchvision's order of equal scores stays.
    order = output["scores"].argsort(descending=True, stable=True)
    boxes, labels, scores, probs = (
        output[name][order] for name in ("boxes", "labels", "scores", "class_probs")
    )
    return boxes.reshape(-1, 4), labels, scores, probs


def load_detector(
    model: str,
    weights: str | Path | None = None,
    *,
    model_args: ModelArgs | Sequence[str] | None = None,
    device: str | torch.device = "cpu",
    name: str | None = None,
    one_hot: bool = False,
    n_classes: int | None = None,
    seed: int = 0,
) -> Detector:
    """Return a detector by name.

    Args:
        model: A detection builder of torchvision (`fasterrcnn_resnet50_fpn`), a built-in demo
            detector (`demo_fasterrcnn`), or `package.module:function` that returns an `nn.Module`
            with torchvision's detection interface.
        weights: A member of the builder's weights enum (`DEFAULT`, `COCO_V1`, or dotted), or a
            file that holds a state_dict. None: random weights (builder), the detector's own
            (built-in, function).
        model_args: Arguments of the builder or function, as a mapping or `key=value` strings.
            The number of classes and key points is read from a weights file if not given.
        device: Where it runs: `cpu`, `cuda`, `cuda:1`.
        name: The model's folder name; None means the builder's or function's name.
        one_hot: Accept a function's model that cannot tell class vectors, and make them up.
        n_classes: Number of label ids from 0 up, for a function's model whose head does not tell;
            needed for made-up vectors, which must all have one length.
        seed: Seed of random weights. The global random state is left alone.

    Raises:
        ConfigError: No such model, weights or device, or weights that do not fit.
        DataError: The weights file is missing, broken or no state_dict, or the download failed.
    """
    args = parse_model_args(model_args)
    target = _find_device(device)
    chosen = None if weights is None else str(weights)
    if ":" in model:
        module, source, labels = _from_factory(model, chosen, args, seed)
    elif model in builder_names():
        module, source, labels = _from_torchvision(model, chosen, args, seed)
        one_hot = False
    else:
        module, source, labels = _from_builtin(model, chosen, args)
        one_hot = False
    label_names = labels or _made_up_labels(module, n_classes)
    if one_hot and not label_names:
        raise ConfigError(
            f"model {model}: made-up class vectors must all have one length, and nothing tells how "
            f"many classes there are; give it with --n-classes"
        )
    return Detector(
        model=module.eval().to(target),
        name=check_folder_name(name or model.rpartition(":")[2], "model"),
        architecture=model,
        weights=source,
        args=args,
        label_names=label_names,
        scores="one_hot" if one_hot else _kind_of_scores(module),
        device=target,
    )


_Loaded = tuple[nn.Module, dict[str, str | int], tuple[str, ...]]


def _from_torchvision(
    builder: str, weights: str | None, args: dict[str, Any], seed: int
) -> _Loaded:
    if weights is None:
        return build(builder, args, seed=seed), {"kind": "random", "seed": seed}, ()
    member = find_weights(builder, weights)
    if member is not None:
        module = build(builder, args, seed=seed, weights=member)
        return module, {"kind": "enum", "name": str(member)}, tuple(member.meta["categories"])
    path = Path(weights)
    if not path.exists() and path.name == weights and not path.suffix:
        raise unknown_weights(builder, weights)
    state = read_state_dict(path)
    source = _file_source(path)
    published = published_weights(builder, str(source["sha256"]))
    module = build(builder, head_args(state) | args, seed=seed)
    freeze_batch_norms(module, state, 0.0 if published and builder in _NO_EPSILON else None)
    load_state(module, state, source=weights, model_name=builder)
    return module, source, tuple(published.meta["categories"]) if published else ()


def _from_factory(reference: str, weights: str | None, args: dict[str, Any], seed: int) -> _Loaded:
    factory = _find_factory(reference)
    try:
        with drawn_from(seed):
            module = factory(**args)
    except UamtError:
        raise
    except Exception as error:
        raise ConfigError(
            f"model {reference}: the function fails: {shown_failure(error)}"
        ) from error
    if not isinstance(module, nn.Module):
        raise ConfigError(
            f"model {reference}: expected a function that returns a torch.nn.Module, got "
            f"{type(module).__name__}"
        )
    source: dict[str, str | int] = {"kind": "factory", "factory": reference}
    if weights is not None:
        load_state(module, read_state_dict(Path(weights)), source=weights, model_name=reference)
        source |= {k: v for k, v in _file_source(Path(weights)).items() if k != "kind"}
    return module, source | {"state_sha256": state_hash(module)}, ()


def _find_factory(reference: str) -> Callable[..., Any]:
    module_name, _, function = reference.partition(":")
    if not module_name or not function.isidentifier():
        raise ConfigError(f"model {reference}: expected package.module:function")
    if module_name.endswith(".py"):
        module_name = module_name.removesuffix(".py").replace("/", ".")
        raise ConfigError(f"model {reference}: did you mean {module_name}:{function}?")
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise ConfigError(
            f"model {reference}: expected an importable module {module_name!r}, got: {error}; "
            f"install its package or add its folder to PYTHONPATH"
        ) from error
    except Exception as error:
        raise ConfigError(f"model {reference}: its module fails: {shown_failure(error)}") from error
    factory = getattr(module, function, None)
    if not callable(factory):
        own = [k for k, v in vars(module).items() if getattr(v, "__module__", "") == module_name]
        near = difflib.get_close_matches(function, own, n=3, cutoff=0.0)
        raise ConfigError(
            f"model {reference}: module {module_name} has no function {function!r}"
            f"{'; the nearest are ' if near else ''}{', '.join(near)}"
        )
    return factory  # type: ignore[no-any-return]


def _from_builtin(name: str, weights: str | None, args: dict[str, Any]) -> _Loaded:
    from runners.builtin.models import LABEL_NAMES, builtin_names, load_builtin

    if name not in builtin_names():
        raise unknown_model(name, [*builtin_names(), *builder_names()])
    if weights is not None or args:
        raise ConfigError(
            f"model {name}: the demo detectors have weights and arguments of their own; drop "
            f"--weights and --model-arg"
        )
    module = load_builtin(name)
    return module, {"kind": "builtin", "name": name, "sha256": state_hash(module)}, LABEL_NAMES


def _file_source(path: Path) -> dict[str, str | int]:
    return {"kind": "file", "file": path.name, "sha256": fingerprint_file(path).sha256}


def _find_device(device: str | torch.device) -> torch.device:
    try:
        target = torch.device(device)
    except RuntimeError as error:
        raise ConfigError(f"device {device!r}: expected cpu, cuda or cuda:N ({error})") from error
    if target.type == "cuda" and (target.index or 0) >= torch.cuda.device_count():
        raise ConfigError(
            f"device {device!r}: this machine offers {torch.cuda.device_count()} CUDA devices; "
            f"use cpu"
        )
    return target


def _kind_of_scores(module: nn.Module) -> Scores:
    if not has_recoverable_vectors(module):
        return "given"
    is_sigmoid = any(isinstance(part, RetinaNet | FCOS) for part in module.modules())
    return "sigmoid" if is_sigmoid else "softmax"


def _made_up_labels(module: nn.Module, n_classes: int | None) -> tuple[str, ...]:
    detectors = [m for m in module.modules() if isinstance(m, FasterRCNN | RetinaNet | FCOS | SSD)]
    if n_classes is None and detectors:
        n_classes = count_classes(detectors[0].state_dict())
    names = [f"class_{i}" for i in range(n_classes or 0)]
    if names and detectors and isinstance(detectors[0], FasterRCNN | SSD):
        names[0] = "__background__"
    return tuple(names)
