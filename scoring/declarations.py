"""Declarations: what an experiment says about its models, and what their passes say instead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from scoring.curtailment import Curtailment
from scoring.layout import original_tag
from scoring.manifest import read_manifest_file
from scoring.predictions import read_passes
from scoring.sweep import Sweep
from scoring.vectors import looks_sigmoid

Scores = Literal["softmax", "sigmoid"]


@dataclass(frozen=True, slots=True)
class Declared:
    """What the manifest says about a model; None where it says nothing.

    Args:
        scores: What its class vectors are. One-hot vectors are divided by their sum, as softmax is.
        is_deterministic: Whether its unmutated passes are alike.
        curtailment: When its passes stopped; None for a full campaign.
        stems: The images of each suite, in the order in which curtailed mutants meet them.
    """

    scores: Scores | None = None
    is_deterministic: bool | None = None
    curtailment: Curtailment | None = None
    stems: Mapping[str, Sequence[str]] = field(default_factory=dict)


def read_declarations(root: Path) -> dict[str, Declared]:
    """Return what an experiment's manifest says about each model; empty without a manifest.

    Raises:
        DataError: The manifest is broken, or declares scores of an unknown kind.
    """
    manifest = read_manifest_file(root)
    if manifest is None:
        return {}
    return {
        model: Declared(
            _KNOWN_SCORES[section["settings"]["model"].get("scores")],
            section.get("original_is_deterministic"),
            Curtailment.from_settings(section["settings"]),
            {
                suite: [images[path]["stem"] for path in sorted(images)]
                for suite, images in section.get("suites", {}).items()
            },
        )
        for model, section in manifest["models"].items()
    }


_KNOWN_SCORES: Mapping[str | None, Scores | None] = {
    None: None,
    "given": None,  # a model that returns its own vectors says nothing of their kind
    "softmax": "softmax",
    "one_hot": "softmax",
    "sigmoid": "sigmoid",
}


def guess_scores(sweeps: Sequence[Sweep], n_passes: int | None = None) -> Scores:
    """Return what the class vectors of a model are, by its original's passes of all suites.

    Args:
        sweeps: All of one model.
        n_passes: T, as it is scored.

    Raises:
        DataError: A pass is missing or a file broken.

    Source: scoring.md, section 3, row 12.
    """
    # The operators of a suite have copies of one original.
    by_suite: Mapping[str, Sweep] = {sweep.branch.suite: sweep for sweep in reversed(sweeps)}
    for sweep in by_suite.values():
        for stem in sweep.stems:
            tag = original_tag(sweep.branch.operator)
            folder = sweep.branch.folder(sweep.root, tag, stem)
            if looks_sigmoid(read_passes(folder, n_passes, "keep").detections.probs):
                return "sigmoid"
    return "softmax"
