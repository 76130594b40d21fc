"""What the manifest says of a model: everything that decides its results, and nothing else.

It holds no time, host or number of workers, so that an interrupted and an undisturbed run end in
the same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import torch

from mutators import MASK_VERSION, Operator
from runners.detectors import Detector
from runners.fingerprints import FileFingerprint, state_hash
from runners.images import ImageRef
from runners.manifest_file import configuration_hash
from runners.settings import Settings
from scoring.tags import tag_order

_DECIDING_PACKAGES = ("uamt-detect", "torch", "torchvision", "pillow", "numpy")


@dataclass(frozen=True, slots=True)
class OperatorPlan:
    """An operator of a campaign: what it does where, and its mutants.

    Args:
        sites: Labels of the sites that are masked.
        preset: The preset or patterns that named them.
        options: Further fields of the operator that decide its masks.
        tags: Its mutants, the original excluded.
        effective_blocks: Per requested block size, the sizes that each site's maps allow
            (DropBlock, measured on the first image).
    """

    sites: tuple[str, ...]
    preset: str | tuple[str, ...]
    options: Mapping[str, Any]
    tags: tuple[str, ...]
    effective_blocks: Mapping[str, Mapping[str, Sequence[int]]]

    def deciding(self) -> dict[str, Any]:
        """Return what decides the operator's masks."""
        return {"sites": list(self.sites), **self.options}


def settings_section(detector: Detector, settings: Settings) -> dict[str, Any]:
    """Return everything that decides a result apart from image and mutant."""
    return {
        "versions": {package: _version(package) for package in _DECIDING_PACKAGES},
        "mask_version": MASK_VERSION,
        "model": {
            "architecture": detector.architecture,
            "weights": dict(detector.weights),
            "args": {name: repr(value) for name, value in detector.args.items()},
            "state_sha256": state_hash(detector.model),
            "scores": detector.scores,
            "label_names": list(detector.label_names),
        },
        "device": device_name(detector.device),
        "dtype": "float32",
        "precision": settings.precision,
        "passes": settings.passes,
        "chunk": settings.chunk_size,
        "curtail": settings.curtailment and settings.curtailment.section(),
        "threads": settings.threads,
        "seed": settings.seed,
        "score_threshold": settings.score_threshold,
        "classes": None if settings.classes is None else list(settings.classes),
    }


def device_name(device: torch.device) -> str:
    """Return what the manifest calls a device: its product name, or `cpu`."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def model_section(
    settings: Mapping[str, Any],
    *,
    is_deterministic: bool,
    operators: Mapping[str, OperatorPlan],
    suites: Mapping[str, Sequence[tuple[ImageRef, FileFingerprint]]],
) -> dict[str, Any]:
    """Return the manifest's section of one model."""
    return {
        "settings": dict(settings),
        "settings_sha256": configuration_hash(settings),
        "original_is_deterministic": is_deterministic,
        "operators": {
            name: {
                **plan.deciding(),
                "preset": plan.preset if isinstance(plan.preset, str) else list(plan.preset),
                "effective_blocks": plan.effective_blocks,
                "tags": sorted(plan.tags, key=tag_order),
            }
            for name, plan in operators.items()
        },
        "suites": {
            suite: {
                ref.relative_path: {"stem": ref.stem, **asdict(fingerprint)}
                for ref, fingerprint in images
            }
            for suite, images in suites.items()
        },
    }


def operator_options(operator: Operator) -> dict[str, Any]:
    """Return the fields of an operator that decide its masks, apart from rates and sites."""
    fields = asdict(operator)  # type: ignore[call-overload]
    return {k: v for k, v in fields.items() if k not in ("rates", "blocks", "sites")}
