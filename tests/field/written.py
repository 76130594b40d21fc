"""Prediction files of given boxes."""

from __future__ import annotations

import json
from pathlib import Path

from scoring.layout import Branch

BRANCH = Branch("mc_dropout", "m", "s")


def write(root: Path, tag: str, stem: str, passes: list[list[list[float]]]) -> None:
    """Write an image's passes, each a list of boxes of one label, score and class vector."""
    folder = BRANCH.folder(root, tag, stem)
    folder.mkdir(parents=True)
    for t, boxes in enumerate(passes):
        objects = {
            f"label_{i}": {"box": box, "label": 1, "score": 0.9, "logit": [0.25, 0.75]}
            for i, box in enumerate(boxes)
        }
        (folder / f"prediction_{t}.json").write_text(json.dumps(objects))
