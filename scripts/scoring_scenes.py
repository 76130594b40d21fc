"""Scenes that the scoring benchmark measures: detections of an original and of its mutants."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from scoring.detections import Detections
from scoring.layout import Branch, prediction_path
from scoring.passes import Passes
from scoring.predictions import encode_prediction

PASSES = 10
RATES = tuple(f"{rate / 100:g}" for rate in (10, 15, 20, 25, 30, 35, 40, 45, 50))
DROPOUT_TAGS = RATES
DROPBLOCK_TAGS = tuple(f"{rate}_{block}" for rate in RATES for block in (1, 3, 5, 7, 9))
N_MUTANTS = len(DROPOUT_TAGS) + len(DROPBLOCK_TAGS)

_FRAME = np.array([1280.0, 720.0])
_MISSED = 0.2
_GHOSTS_PER_OBJECT = 0.2
_JITTER_PX = 2.0


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """An original that finds the same in every pass, and mutants that find most of it."""

    original: Passes
    mutants: dict[str, Passes]
    """by tag, MC-Dropout first"""


def make_scene(seed: int, n_objects: int, n_classes: int) -> Scene:
    """Return a scene of 54 mutants; each of their passes misses a fifth and finds some ghosts."""
    random = np.random.default_rng([seed, n_objects, n_classes])
    boxes = _boxes(random, n_objects)
    probs = random.dirichlet(np.full(n_classes, 0.3), n_objects)
    found = _detections(boxes, probs)
    original = Passes.from_list([found] * PASSES)
    return Scene(
        original,
        {
            tag: Passes.from_list([_mutated(random, boxes, probs) for _ in range(PASSES)])
            for tag in (*DROPOUT_TAGS, *DROPBLOCK_TAGS)
        },
    )


def _boxes(random: np.random.Generator, n: int) -> npt.NDArray[np.float64]:
    size = random.uniform(30, 150, (n, 2))
    corner = random.random((n, 2)) * (_FRAME - size)
    return np.hstack([corner, corner + size])


def _detections(boxes: npt.NDArray[np.float64], probs: npt.NDArray[np.float64]) -> Detections:
    return Detections(boxes, probs.argmax(axis=1), probs.max(axis=1), probs)


def _mutated(
    random: np.random.Generator,
    boxes: npt.NDArray[np.float64],
    probs: npt.NDArray[np.float64],
) -> Detections:
    n, n_classes = probs.shape
    kept = random.random(n) >= _MISSED
    moved = boxes[kept] + random.normal(scale=_JITTER_PX, size=(int(kept.sum()), 4))
    noise = random.dirichlet(np.full(n_classes, 0.3), len(moved))
    n_ghosts = int(random.poisson(_GHOSTS_PER_OBJECT * n))
    ghosts = random.dirichlet(np.full(n_classes, 0.3), n_ghosts)
    return _detections(
        np.vstack([moved, _boxes(random, n_ghosts)]),
        np.vstack([0.9 * probs[kept] + 0.1 * noise, ghosts]),
    )


def write_scene(root: Path, model: str, stem: str, scene: Scene) -> None:
    """Write the prediction files of a scene, with each operator's own copy of the original."""
    for branch, tags in branches(model).items():
        original_tag = "0" if branch.operator == "mc_dropout" else "0_1"
        for tag in (original_tag, *tags):
            folder = branch.folder(root, tag, stem)
            folder.mkdir(parents=True)
            passes = scene.mutants.get(tag, scene.original)
            for t in range(PASSES):
                prediction_path(folder, t).write_bytes(encode_prediction(passes[t]))


def branches(model: str) -> dict[Branch, tuple[str, ...]]:
    """Return the mutants of each operator."""
    return {
        Branch("mc_dropout", model): DROPOUT_TAGS,
        Branch("mc_dropblock", model): DROPBLOCK_TAGS,
    }
