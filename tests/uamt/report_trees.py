"""Experiments for tests of reports: prediction files and pictures, made without a detector."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from scoring.detections import Detections
from scoring.layout import Branch, original_tag, prediction_path
from scoring.predictions import write_prediction

MUTANTS = {"mc_dropout": ("0.1", "0.4"), "mc_dropblock": ("0.1_1", "0.1_3", "0.4_1", "0.4_3")}
WIDTH, HEIGHT = 160, 120


def write_tree(
    root: Path,
    suites: Mapping[str, Sequence[str]],
    *,
    models: Sequence[str] = ("net",),
    mutants: Mapping[str, Sequence[str]] = MUTANTS,
    passes: int = 4,
    n_classes: int = 3,
    empty: Sequence[str] = (),
) -> Path:
    """Write predictions: the larger a mutant's rate, the more it misses and ghosts.

    Nothing is found on the images named `empty`, by anyone.
    """
    random = np.random.default_rng(0)
    for model in models:
        for suite, stems in suites.items():
            for place, stem in enumerate(stems):
                n = 0 if stem in empty else 1 + place % 4
                base = scene(random, n, n_classes)
                for operator, tags in mutants.items():
                    branch = Branch(operator, model, suite)
                    write_all(branch.folder(root, original_tag(operator), stem), [base] * passes)
                    for tag in tags:
                        rate = float(tag.split("_")[0]) * (0.3 + 0.3 * (place % 3))
                        each = [mutated(random, base, rate, stem in empty) for _ in range(passes)]
                        write_all(branch.folder(root, tag, stem), each)
    return root


def scene(random: np.random.Generator, n: int, n_classes: int) -> Detections:
    corners = random.uniform((5, 5), (WIDTH - 60, HEIGHT - 60), (n, 2))
    probs = random.dirichlet(np.ones(n_classes), n)
    boxes = np.hstack([corners, corners + random.uniform(20, 50, (n, 2))])
    return Detections(boxes, probs.argmax(axis=1), probs.max(axis=1, initial=0), probs)


def mutated(random: np.random.Generator, base: Detections, rate: float, alone: bool) -> Detections:
    kept = base.take(np.flatnonzero(random.random(len(base)) >= rate))
    moved = Detections(
        kept.boxes + random.normal(0, 4 * rate, kept.boxes.shape),
        kept.labels,
        kept.scores,
        kept.probs,
    )
    if alone or random.random() >= rate:
        return moved
    ghost = scene(random, 1, base.probs.shape[1] or 3)
    return Detections(
        np.concatenate([moved.boxes, ghost.boxes]),
        np.concatenate([moved.labels, ghost.labels]),
        np.concatenate([moved.scores, ghost.scores]),
        np.concatenate([moved.probs, ghost.probs]),
    )


def write_all(folder: Path, each: Sequence[Detections]) -> None:
    for t, detections in enumerate(each):
        write_prediction(prediction_path(folder, t), detections)


def write_pictures(folder: Path, suites: Mapping[str, Sequence[str]]) -> Path:
    """Write a picture for every image, in a folder per suite."""
    random = np.random.default_rng(1)
    for suite, stems in suites.items():
        (folder / suite).mkdir(parents=True)
        for stem in stems:
            coarse = random.integers(60, 220, (6, 8, 3), dtype=np.uint8)
            picture = Image.fromarray(coarse).resize((WIDTH, HEIGHT), Image.Resampling.BICUBIC)
            picture.save(folder / suite / f"{stem}.png")
    return folder


def write_manifest(
    root: Path, suites: Mapping[str, Sequence[str]], model: str, label_names: Sequence[str]
) -> None:
    """Write the manifest of an import, which names images and labels."""
    section = {
        "settings": {
            "imported": {"format": "coco"},
            "model": {"scores": "softmax", "label_names": list(label_names)},
        },
        "operators": {operator: {"tags": list(tags)} for operator, tags in MUTANTS.items()},
        "suites": {
            suite: {f"{stem}.png": {"stem": stem} for stem in stems}
            for suite, stems in suites.items()
        },
    }
    manifest = {"format": 1, "models": {model: section}}
    (root / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
