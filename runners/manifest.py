"""The manifest: everything that decides the results of an experiment, and nothing else.

It holds no time, host or number of workers, so that an interrupted and an undisturbed run end in
the same bytes. Settings may not change under results that are there; images and mutants may be
added.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import orjson
import torch

from mutators import MASK_VERSION, Operator
from runners.detectors import Detector
from runners.fingerprints import FileFingerprint, state_hash
from runners.images import ImageRef
from runners.settings import Settings
from scoring.errors import ConfigError, DataError
from scoring.files import write_atomic
from scoring.layout import MANIFEST_NAME
from scoring.tags import tag_order

FORMAT = 1

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
    device = detector.device
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"
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
        "device": name,
        "dtype": "float32",
        "tf32": False,
        "passes": settings.passes,
        "chunk": settings.chunk_size,
        "threads": settings.threads,
        "seed": settings.seed,
        "score_threshold": settings.score_threshold,
        "classes": None if settings.classes is None else list(settings.classes),
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def configuration_hash(*parts: Any) -> str:
    """Return the sha256 of values, as canonical JSON."""
    return hashlib.sha256(orjson.dumps(parts, option=orjson.OPT_SORT_KEYS)).hexdigest()


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


def read_manifest(root: Path) -> dict[str, Any]:
    """Return the manifest of an experiment; empty sections where there is none.

    Raises:
        DataError: It is broken or of another format.
    """
    path = root / MANIFEST_NAME
    if not path.is_file():
        return {"format": FORMAT, "models": {}}
    try:
        manifest = orjson.loads(path.read_bytes())
    except orjson.JSONDecodeError as error:
        raise DataError(f"{path}: broken JSON ({error})") from error
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise DataError(f"{path}: expected a manifest of format {FORMAT}")
    return manifest


def merge_model(
    root: Path, model: str, section: Mapping[str, Any], *, redo_changed: bool = False
) -> None:
    """Write the manifest with this model's section; images and mutants there are stay in it.

    Args:
        root: The experiment's folder.
        model: The model's folder name.
        section: As `model_section` returns it.
        redo_changed: Accept changed settings and images: what they touch is run again.

    Raises:
        ConfigError: A setting or an image changed; the fields are named with both values.
    """
    manifest = read_manifest(root)
    before = manifest["models"].get(model)
    merged = dict(section)
    if before is not None:
        changes = list(_changes(before, section))
        if changes and not redo_changed:
            raise ConfigError(
                f"{root / MANIFEST_NAME}: results of model '{model}' are there under another "
                f"configuration: {'; '.join(changes[:8])}"
                f"{f' and {len(changes) - 8} more' if len(changes) > 8 else ''}; use another "
                f"--out or --name, or --redo-changed to run again what this touches"
            )
        merged["operators"] = {**before["operators"], **section["operators"]}
        for name, operator in section["operators"].items():
            old = before["operators"].get(name, {})
            merged["operators"][name] = {
                **operator,
                "tags": sorted({*old.get("tags", ()), *operator["tags"]}, key=tag_order),
                "effective_blocks": {
                    **operator["effective_blocks"],
                    **old.get("effective_blocks", {}),
                },
            }
        merged["suites"] = {
            suite: {**before["suites"].get(suite, {}), **section["suites"].get(suite, {})}
            for suite in {**before["suites"], **section["suites"]}
        }
    manifest["models"][model] = merged
    options = orjson.OPT_SORT_KEYS | orjson.OPT_INDENT_2
    write_atomic(root / MANIFEST_NAME, orjson.dumps(manifest, option=options) + b"\n")


def _changes(before: Mapping[str, Any], section: Mapping[str, Any]) -> Iterator[str]:
    yield from _differing("settings", before["settings"], section["settings"])
    for name, operator in section["operators"].items():
        if name in before["operators"]:
            own, old = (
                {k: v for k, v in fields.items() if k not in ("tags", "effective_blocks")}
                for fields in (operator, before["operators"][name])
            )
            yield from _differing(f"operators.{name}", old, own)
    for suite, images in section["suites"].items():
        for path, image in images.items():
            old_image = before["suites"].get(suite, {}).get(path, image)
            yield from _differing(f"image '{suite}/{path}'", old_image, image)


def _differing(where: str, old: Any, new: Any) -> Iterator[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted({*old, *new}):
            yield from _differing(f"{where}.{key}", old.get(key), new.get(key))
    elif old != new:
        yield f"{where} was {_shown(old)}, is {_shown(new)}"


def _shown(value: Any) -> str:
    text = orjson.dumps(value).decode()
    return text if len(text) <= 60 else f"{text[:57]}..."
