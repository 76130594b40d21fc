"""What tests of campaigns share: a detector, two pictures, and a small campaign."""

from __future__ import annotations

from pathlib import Path

import pytest

from runners.builtin import suites as builtin_suites
from runners.campaign import Campaign
from runners.detectors import Detector, load_detector
from runners.images import list_suites
from runners.settings import Settings
from tests.runners.small_campaign import SWEEPS


@pytest.fixture(scope="module")
def detector() -> Detector:
    return load_detector("demo_fasterrcnn")


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    folder = tmp_path / "photos"
    folder.mkdir()
    for path in sorted(builtin_suites()["plain"].glob("*.png"))[:2]:
        (folder / path.name).write_bytes(path.read_bytes())
    return folder


@pytest.fixture
def campaign(detector: Detector, pictures: Path, tmp_path: Path) -> Campaign:
    return Campaign(
        detector=detector,
        suites=list_suites({"photos": pictures}),
        operators=SWEEPS,
        settings=Settings(passes=3, chunk=3),
        root=tmp_path / "experiment",
    )
