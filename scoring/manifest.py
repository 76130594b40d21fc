"""The manifest of an experiment, read: what every reader of one may rely on."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

from scoring.curtailment import CurtailedKinds, CurtailedRule
from scoring.errors import DataError
from scoring.json_text import read_record
from scoring.layout import MANIFEST_NAME
from scoring.limits import MAX_MANIFEST_BYTES, MAX_PASSES
from scoring.shapes import (
    Shape,
    is_count,
    is_text,
    is_yes_or_no,
    list_of,
    misfit,
    none_or,
    one_of,
    table_of,
)

_SCORES = (None, "given", "softmax", "one_hot", "sigmoid")
_MODEL = {"scores": Shape(f"one of {', '.join(map(str, _SCORES))}", one_of(*_SCORES), False)}
_CURTAIL = {
    "kinds": Shape("a kind", one_of(*get_args(CurtailedKinds))),
    "rule": Shape("a kill rule", one_of(*get_args(CurtailedRule))),
    "per_mutant": Shape("true or false", is_yes_or_no),
}


def _anything(value: object) -> bool:
    return True


_OBJECT = table_of(_anything)
_OPERATOR = {
    "tags": Shape("a list of tags", list_of(is_text)),
    "effective_blocks": Shape("an object", _OBJECT, False),
}
_IMAGE = {"stem": Shape("the name of its results", is_text)}
_PASSES = Shape(f"1 to {MAX_PASSES:,}", lambda value: is_count(value) and 0 < value <= MAX_PASSES)


def read_manifest_file(root: Path) -> dict[str, Any] | None:
    """Return the manifest of an experiment; None where there is none.

    Its `models` is an object. Every section in it has `settings` with a `model`, and `passes` where
    they were curtailed; its operators, where it has any, have `tags`, and its images a `stem`.

    Raises:
        DataError: It is broken, or not as it should be. The message names the place.
    """
    path = root / MANIFEST_NAME
    try:
        manifest = read_record(path, MAX_MANIFEST_BYTES, "a manifest")
    except FileNotFoundError:
        return None
    fault = misfit(manifest, {"models": Shape("an object", _OBJECT)}, is_open=True)
    if not fault:
        for model, section in manifest["models"].items():
            fault = _section_fault(section)
            if fault:
                fault = f"model '{model:.80}'{fault}"
                break
    if fault:
        raise DataError(f"{path}: expected the manifest of an experiment; {fault}")
    return dict(manifest)


def _section_fault(section: Any) -> str:
    """Return where a model's section is wrong, and how; empty if it is not."""
    shapes = {
        "settings": Shape("an object", _OBJECT),
        "original_is_deterministic": Shape("true or false", is_yes_or_no, False),
        "operators": Shape("an object", _OBJECT, False),
        "suites": Shape("an object", table_of(_OBJECT), False),
    }
    if fault := misfit(section, shapes, is_open=True):
        return f": {fault}"
    settings = section["settings"]
    is_curtailed = settings.get("curtail") is not None
    of_settings = {
        "model": Shape("an object", _OBJECT),
        "curtail": Shape("an object", none_or(_OBJECT), False),
        "passes": Shape(_PASSES.expected, _PASSES.fits, is_curtailed),
    }
    if fault := misfit(settings, of_settings, is_open=True):
        return f": settings: {fault}"
    if fault := misfit(settings["model"], _MODEL, is_open=True):
        return f": settings.model: {fault}"
    if is_curtailed and (fault := misfit(settings["curtail"], _CURTAIL, is_open=True)):
        return f": settings.curtail: {fault}"
    for name, operator in section.get("operators", {}).items():
        if fault := misfit(operator, _OPERATOR, is_open=True):
            return f": operator '{name:.80}': {fault}"
    for suite, images in section.get("suites", {}).items():
        for image, entry in images.items():
            if fault := misfit(entry, _IMAGE, is_open=True):
                return f": image '{suite:.80}/{image:.80}': {fault}"
    return ""
