"""Small outputs of other tools, and the commands that import them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from scoring.layout import Branch
from tests.uamt.conftest import Command

DATASET = {
    "images": [
        {"id": 42, "file_name": "val/38_Tennis.v1.jpg", "width": 100, "height": 80},
        {"id": "b", "file_name": "val/b.png", "width": 50, "height": 40},
    ],
    "categories": [{"id": 90, "name": "toothbrush"}, {"id": 1, "name": "person"}],
}
"""Ids with gaps, out of order: position says nothing."""

COMMON = ("--model", "yolo11", "--operator", "mc_dropout")


def entry(image: Any = 42, category: int = 90, score: float = 0.5, **others: Any) -> dict[str, Any]:
    return {
        "image_id": image,
        "category_id": category,
        "bbox": [10.0, 20.0, 30.0, 5.0],
        "score": score,
        "class_probs": [0.25, 0.75],
    } | others


def bare(*arguments: Any, **others: Any) -> dict[str, Any]:
    made = entry(*arguments, **others)
    del made["class_probs"]
    return made


def import_coco(
    tmp_path: Path, uamt: Command, passes: list[Any], *options: object, tag: str = "0.1"
) -> tuple[int, str, str]:
    """Import passes of entries as files; returns exit code, stdout, stderr."""
    dataset = tmp_path / "dataset.json"
    if not dataset.exists():
        dataset.write_text(json.dumps(DATASET))
    files = []
    for t, entries in enumerate(passes):
        files.append(tmp_path / f"run_{t}.json")
        text = entries if isinstance(entries, str) else json.dumps(entries)
        files[-1].write_text(text)
    where = ("--annotations", dataset, "--out", tmp_path / "out")
    return uamt("import", "coco", *files, *where, *COMMON, "--tag", tag, *options)


def folder(tmp_path: Path, stem: str, tag: str = "0.1", suite: str = "orig") -> Path:
    return Branch("mc_dropout", "yolo11", suite).folder(tmp_path / "out", tag, stem)


def manifest(tmp_path: Path) -> dict[str, Any]:
    return dict(json.loads((tmp_path / "out" / "manifest.json").read_text())["models"]["yolo11"])
