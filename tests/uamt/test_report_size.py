"""The report of 500 photographs: small enough to send, whatever the pictures hold."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from scoring.detections import Detections
from scoring.kill import binomial_test
from scoring.passes import Passes
from scoring.results import ModelResults, SuiteResults
from scoring.rows import COLUMNS, IMAGE_COLUMNS
from scoring.rules import DEEPLUQ, Rules
from scoring.suite_tables import aggregate
from scoring.suites import SuiteScores
from scoring.tracks import Tracks, track
from tests.uamt.report_reader import Page
from uamt import report_cases, report_page
from uamt.report_cases import build_gallery
from uamt.report_page import render
from uamt.report_tables import report_tables
from uamt.report_tags import tags_of
from uamt.report_views import Shown

RATES = [f"{rate:.2f}".rstrip("0") for rate in np.arange(0.1, 0.51, 0.05)]
MUTANTS = (
    *(("mc_dropout", rate) for rate in RATES),
    *(("mc_dropblock", f"{rate}_{block}") for rate in RATES for block in (1, 3, 5, 7, 9)),
)
N_IMAGES, N_SUITES, N_PASSES = 500, 2, 10


def suite_of(number: int) -> SuiteResults:
    random = np.random.default_rng(number)
    stems = tuple(f"photo_{number}_{k:04d}_of_a_long_walk" for k in range(N_IMAGES // N_SUITES))
    shape = (len(stems), len(MUTANTS))
    rates = [float(tag.split("_")[0]) for _, tag in MUTANTS]
    power = random.random((len(stems), 1))
    counts = random.binomial(N_PASSES, np.broadcast_to(power * rates, shape))
    levels = np.array(
        [
            [test.p_value, test.cohens_h, test.power, test.count]
            for test in (binomial_test(k, N_PASSES) for k in range(N_PASSES + 1))
        ]
    )
    values = random.random((*shape, len(COLUMNS)))
    values[:, :, : len(IMAGE_COLUMNS)] = np.tile(levels[counts], 3)
    return SuiteResults(SuiteScores("net", f"suite {number}", stems, MUTANTS, values))


@cache
def crowd() -> tuple[Tracks, Rules]:
    """20 objects of 91 classes in every pass, some missed and some ghosted."""
    random = np.random.default_rng(0)
    corners = random.uniform(0, 560, (20, 2))
    probs = random.dirichlet(np.ones(91), 20)
    boxes = np.hstack([corners, corners + random.uniform(20, 80, (20, 2))])
    found = Detections(boxes, probs.argmax(axis=1), probs.max(axis=1), probs)
    each = [found.take(np.flatnonzero(random.random(20) < 0.8)) for _ in range(N_PASSES)]
    return track(Passes.from_list([found] * N_PASSES), Passes.from_list(each)), DEEPLUQ


class Photographs:
    """The same few photographs, over and over."""

    def __init__(self, folder: Path) -> None:
        random = np.random.default_rng(0)
        self.paths = []
        for number in range(4):
            # Noise at two scales: a JPEG of it is larger than that of any photograph.
            coarse = random.integers(0, 256, (48, 64, 3), dtype=np.uint8)
            smooth = Image.fromarray(coarse).resize((640, 480), Image.Resampling.BICUBIC)
            fine = random.normal(0, 25, (480, 640, 3))
            noisy = np.clip(np.asarray(smooth) + fine, 0, 255).astype(np.uint8)
            self.paths.append(folder / f"{number}.jpg")
            Image.fromarray(noisy).save(self.paths[-1], quality=90)

    def find(self, model: str, suite: str, stem: str) -> Path:
        return self.paths[int(stem.split("_")[2]) % len(self.paths)]


def test_500_photographs_take_less_than_10_megabytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report_cases, "read_case", lambda *_: crowd())
    # Every case is the same crowd, whose names find their places but once.
    placed = cache(lambda boxes, width, height, beside: tags_of(boxes, width, height, dict(beside)))
    monkeypatch.setattr(
        report_page,
        "tags_of",
        lambda b, w, h, beside: placed(tuple(b), w, h, tuple(beside.items())),
    )
    results = ModelResults("case", "net", tuple(suite_of(n) for n in range(N_SUITES)))
    tables = report_tables(aggregate([results]), tmp_path)
    names = [f"class number {k}" for k in range(91)]
    photographs: Any = Photographs(tmp_path)
    gallery = build_gallery(tables, tmp_path, photographs, {"net": names}, 10_000)
    shown = Shown(tmp_path, {}, None)
    page = render(tables, gallery, facts=(), command="uamt report", shown=shown)
    path = tmp_path / "page.html"
    path.write_text(page, encoding="utf-8")
    assert 4e6 < path.stat().st_size < 10e6
    assert len(gallery.cases) > 20
    (sampled,) = [note for note in gallery.notes if "have a thumbnail" in note]
    assert sampled.split(" of ")[1].startswith("500 images")
    images = Page(path).all("image")
    assert len(images) == len(gallery.rasters) == int(sampled.split()[0])
