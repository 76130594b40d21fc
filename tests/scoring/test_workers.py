"""Workers find what one process finds, in the order of the images."""

from __future__ import annotations

import shutil
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

from scoring.errors import ConfigError, DataError
from scoring.findings import Findings, examine_sweep
from scoring.layout import Branch
from scoring.predictions import write_prediction
from scoring.sweep import Sweep, find_sweep
from scoring.workers import Workers
from tests.scoring.scenes import random_base, random_passes

BRANCH = Branch("mc_dropout", "m")
STEMS = [f"image_{i:02}" for i in range(25)]


@pytest.fixture
def sweep(tmp_path: Path) -> Sweep:
    random = np.random.default_rng(1)
    for stem in STEMS:
        base = random_base(random, 3)
        for tag in ("0", "0.1", "0.5"):
            passes = random_passes(random, 2, base, 3)
            for t in range(2):
                folder = BRANCH.folder(tmp_path, tag, stem)
                write_prediction(folder / f"prediction_{t}.json", passes[t])
    return find_sweep(tmp_path, BRANCH)


def assert_same(got: Findings, expected: Findings) -> None:
    for field in fields(Findings):
        np.testing.assert_array_equal(getattr(got, field.name), getattr(expected, field.name))


def test_findings_come_in_the_order_of_the_images(sweep: Sweep) -> None:
    shutil.rmtree(BRANCH.folder(sweep.root, "0.5", STEMS[7]))
    crashed = replace(sweep, crashed=frozenset({(STEMS[7], "0.5")}))
    expected = list(examine_sweep(crashed))
    with Workers(2, pairs=50) as workers:
        # One pool serves several sweeps.
        for part in (crashed, replace(crashed, stems=crashed.stems[::-1])):
            got = list(workers.examine(part))
            assert [stem for stem, _ in got] == list(part.stems)
            for (_, mine), (_, wanted) in zip(
                sorted(got, key=lambda pair: pair[0]), expected, strict=True
            ):
                assert_same(mine, wanted)


def test_the_first_image_at_fault_is_named(sweep: Sweep) -> None:
    for number in (21, 9):
        (BRANCH.folder(sweep.root, "0.1", STEMS[number]) / "prediction_0.json").write_text("[]")
    with Workers(2, pairs=50) as workers, pytest.raises(DataError, match="'image_09'"):
        list(workers.examine(sweep))


def test_no_worker_is_refused() -> None:
    with pytest.raises(ConfigError, match="from 1 up, got 0"):
        Workers(0, pairs=1)
