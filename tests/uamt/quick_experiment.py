"""An experiment that is run in no time: tiny pictures, and a detector of a few cells."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest
from PIL import Image

from scoring.layout import Branch

MODEL = "detector"
SUITE = "photos"
BRANCH = Branch("mc_dropout", MODEL, SUITE)
QUICK = (
    *("--model", "tests.field.quick_detector:detector", "--sites", "site", "--chunk", "1"),
    *("--operators", "mc_dropout", "--dropout-rates", "0.3,0.5", "--score-threshold", "0"),
)
PASSES = ("--passes", "2")


def pictures(folder: Path, *names: str) -> Path:
    """Write pictures that differ, and return their folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, name in enumerate(names):
        Image.new("RGB", (8, 6), (40 * number, 90, 160)).save(folder / f"{name}.png")
    return folder


def run_flags(folder: Path, *further: object) -> tuple[object, ...]:
    """Return the words of `uamt run` on the pictures in a folder, into the folder beside it."""
    words = ("run", *QUICK, "--images", folder / SUITE, "--out", folder / "out")
    return (*words, *further) if "--passes" in further else (*words, *PASSES, *further)


def unit_folder(root: Path, tag: str, image: str) -> Path:
    """Return the folder of an image under a mutant."""
    return BRANCH.folder(root, tag, image)


def ledger_units(root: Path) -> list[tuple[str, str, str]]:
    """Return image, tag and status of every line of the ledger."""
    lines = [orjson.loads(line) for line in (root / "ledger.jsonl").read_bytes().splitlines()]
    return [(one["unit"]["image"], one["unit"]["tag"], one["status"]) for one in lines]


def results(root: Path) -> dict[str, bytes]:
    """Return what a run decides: predictions and manifest."""
    kept = [*root.rglob("prediction_*.json"), root / "manifest.json"]
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in kept}


def interrupt_at(monkeypatch: pytest.MonkeyPatch, image: str) -> None:
    """Have runs interrupted before the first unit of an image."""
    from runners.subject import Subject

    run = Subject.run

    def interrupted(self: Subject, mutant: object) -> object:
        if self.ref.relative_path == image:
            raise KeyboardInterrupt
        return run(self, mutant)  # type: ignore[arg-type]

    monkeypatch.setattr(Subject, "run", interrupted)
