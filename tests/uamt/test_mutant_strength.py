"""Mutants that every image kills, or none: what is said, and what to run instead."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from scoring.kill import binomial_test
from scoring.rows import COLUMNS
from scoring.suites import SuiteScores
from uamt.mutant_strength import strength

MUTANTS = (("mc_dropout", "0.1"), ("mc_dropout", "0.3"), ("mc_dropblock", "0.2_3"))


def suite(
    count: float, mutants: tuple[tuple[str, str], ...] = MUTANTS, model: str = "net"
) -> SuiteScores:
    """Return a suite of four images under which every mutant changes in so many of ten passes."""
    values = np.zeros((4, len(mutants), len(COLUMNS)))
    values[:, :, COLUMNS.index("[img_level] iskill_miss_ghost_count")] = count
    p_value = binomial_test(int(count), 10).p_value
    values[:, :, COLUMNS.index("[img_level] iskill_miss_ghost_p_value")] = p_value
    return SuiteScores(model, "day", ("a", "b", "c", "d"), mutants, values)


def test_mutants_that_all_images_kill_are_too_strong(tmp_path: Path) -> None:
    saved = tmp_path / "my experiment" / "experiment_net.toml"
    saved.parent.mkdir()
    saved.touch()
    found = strength([suite(10)], saved.parent)
    assert found is not None
    assert found.remark.startswith("Every image kills every mutant significantly: ")
    flags = "--dropout-rates 0.01,0.02,0.05 --dropblock-rates 0.02,0.04,0.1"
    assert found.remark.endswith(f"Run milder ones, for example {flags}.")
    assert found.command == f"uamt run '{saved}' {flags}"


def test_mutants_that_no_image_kills_are_too_mild(tmp_path: Path) -> None:
    """One changed pass of ten is a kill by `any` alone."""
    found = strength([suite(1)], tmp_path)
    assert found is not None
    assert found.remark.startswith("No image kills any mutant significantly: ")
    # Nothing tells that these were run by `uamt run`, so its flags would be of no use.
    rates = "mc_dropout at 0.6, 0.9 and mc_dropblock at 0.4, 0.9"
    assert found.remark.endswith(f"Run stronger ones, for example {rates}.")
    assert found.command is None


def test_mutants_that_tell_images_apart_are_right(tmp_path: Path) -> None:
    mixed = suite(10)
    mixed.values[0] = suite(0).values[0]
    assert strength([mixed], tmp_path) is None
    assert strength([suite(10), suite(0)], tmp_path) is None


@pytest.mark.parametrize(
    ("mutants", "count", "end"),
    [
        ((("blur", "3"),), 10, "Run milder ones."),
        ((("mc_dropout", "mine"), ("mc_dropout", "0.000001")), 10, "Run milder ones."),
        ((("mc_dropout", "0.9"),), 0, "Run stronger ones."),
        ((("mc_dropout", "0"), ("mc_dropout", "0.4")), 0, "for example mc_dropout at 0.8, 0.9."),
    ],
)
def test_rates_are_named_where_there_are_some(
    mutants: tuple[tuple[str, str], ...], count: float, end: str, tmp_path: Path
) -> None:
    found = strength([suite(count, mutants)], tmp_path)
    assert found is not None
    assert found.remark.endswith(end)
    assert found.command is None
