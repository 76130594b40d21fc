"""Ten real passes of one photograph, against themselves and against shifted copies."""

from __future__ import annotations

import math
import os
from pathlib import Path

import numpy as np
import pytest

from scoring.equivalence import passes_are_alike
from scoring.identity import original_objects
from scoring.layout import Branch, prediction_path
from scoring.noise_floor import noise_floor, p_values_at
from scoring.pairing import prepared
from scoring.passes import Passes
from scoring.predictions import read_passes, write_prediction
from scoring.rows import COLUMNS, score_image
from scoring.rules import STRICT
from scoring.sweep import find_sweep, read_image, score_sweep
from scoring.tracks import track
from scoring.vectors import looks_sigmoid

REAL = Path(os.environ.get("UAMT_REAL", Path(__file__).parents[3] / "shared" / "data" / "real"))
COUNTS = [6, 6, 5, 5, 4, 4, 4, 4, 4, 4]
"""Detections of each pass: two of the six objects flicker."""


@pytest.fixture
def original() -> Passes:
    folder = REAL / "retinanet_3class_T10"
    if not folder.is_dir():
        pytest.skip(f"the real passes are not at hand ({folder}); name their parent with UAMT_REAL")
    return read_passes(folder)


def row_against(original: Passes, mutant: list[int] | Passes, root: Path) -> dict[str, float]:
    """Return the row by way of files, as `uamt score` gets it."""
    branch = Branch("mc_dropout", "retinanet_3class")
    copies = mutant if isinstance(mutant, Passes) else [original[t] for t in mutant]
    for tag, each in (("0", original), ("0.1", copies)):
        for t, detections in enumerate(each):
            write_prediction(prediction_path(branch.folder(root, tag, "photo"), t), detections)
    sweep = find_sweep(root, branch)
    read, (again,) = read_image(sweep, "photo")
    assert (read.n_passes, again.n_passes) == (10, 10)
    ((stem, rows),) = score_sweep(sweep)
    assert stem == "photo"
    return dict(zip(COLUMNS, rows[0].tolist(), strict=True))


def test_the_passes_are_read_as_they_are(original: Passes) -> None:
    assert original.counts.tolist() == COUNTS
    assert set(original.detections.labels.tolist()) == {1, 2}
    sums = original.detections.probs.sum(axis=1)
    assert 0.6 < sums.min() < 0.7
    assert sums.max() == pytest.approx(1.0, abs=5e-3)


def test_against_themselves_everything_matches(original: Passes, tmp_path: Path) -> None:
    row = row_against(original, list(range(10)), tmp_path)
    assert [
        row[f"[img_level] iskill_{kind}_count"] for kind in ("miss", "ghost", "miss_ghost")
    ] == [0] * 3
    assert [row[f"[img_level] iskill_{kind}_p_value"] for kind in ("miss", "ghost")] == [1, 1]
    assert [value for column, value in row.items() if column.startswith("[obj_level]")] == [0] * 6
    # No box repeats to 4 decimals in the ten random passes: 46 objects, each seen once in ten.
    assert len(original) == 46
    assert row["[match] match_rate"] == pytest.approx(0.1)
    assert row["[match] iou_mean"] == pytest.approx(1 - 0.1)
    assert row["[miss] miss_rate"] == row["[ghost] ghost_rate"] == 0


def test_against_the_next_pass_three_passes_change(original: Passes, tmp_path: Path) -> None:
    """From 6 to 5, from 5 to 4, and from 4 back to 6 detections: a false kill by chance alone."""
    row = row_against(original, [*range(1, 10), 0], tmp_path)
    assert row["[img_level] iskill_miss_count"] == 2
    assert row["[img_level] iskill_ghost_count"] == 1
    assert row["[img_level] iskill_miss_ghost_count"] == 3
    tail = sum(math.comb(10, k) * 0.01**k * 0.99 ** (10 - k) for k in range(3, 11))
    assert row["[img_level] iskill_miss_ghost_p_value"] == pytest.approx(tail, rel=1e-9)
    assert round(tail, 6) == 0.000114
    # misses: 1 of 6 and 1 of 5; ghosts: 2 of 4 + 0 + 2; nothing in the other seven
    assert row["[obj_level] kill_rate_miss_mean"] == pytest.approx((1 / 6 + 1 / 5) / 10)
    assert row["[obj_level] kill_rate_ghost_mean"] == pytest.approx(2 / 6 / 10)
    assert row["[obj_level] kill_rate_miss_ghost_mean"] == pytest.approx(
        (1 / 6 + 1 / 5 + 1 / 3) / 10
    )
    # 44 pairs; two objects missed once each; the two ghosts of pass 9 do not overlap
    assert row["[match] match_rate"] == row["[miss] miss_rate"] == row["[ghost] ghost_rate"] == 0.1


def test_counts_of_shifted_passes_add_up(original: Passes) -> None:
    for shift in range(1, 10):
        shifted = Passes.from_list([original[(t + shift) % 10] for t in range(10)])
        matched, missed, ghosts = track(original, shifted).counts().T
        np.testing.assert_array_equal(matched + missed, COUNTS)
        np.testing.assert_array_equal(matched + ghosts, np.roll(COUNTS, -shift))


def test_moved_far_away_everything_is_missed_and_a_ghost(original: Passes, tmp_path: Path) -> None:
    moved = Passes.from_list(
        [type(p)(p.boxes + 10_000.0, p.labels, p.scores, p.probs) for p in original]
    )
    row = row_against(original, moved, tmp_path)
    for kind in ("miss", "ghost", "miss_ghost"):
        assert row[f"[img_level] iskill_{kind}_count"] == 10
        assert row[f"[img_level] iskill_{kind}_power"] == 1
    # n / (0 + n); n / (0 + n + n); 2n / 2n
    assert [value for column, value in row.items() if column.startswith("[obj_level]")] == [
        *(1, 0, 0.5, 0, 1, 0)
    ]
    assert row["[match] match_rate"] == 0
    assert row["[miss] miss_rate"] == pytest.approx(0.1)
    # the ghosts of ten passes gather into six objects: 46 detections
    assert row["[ghost] ghost_rate"] == pytest.approx(46 / 6 / 10)


def test_strict_sees_six_objects_where_deepluq_sees_forty_six(original: Passes) -> None:
    assert looks_sigmoid(original.detections.probs)
    strict = STRICT.with_(scores="sigmoid")
    objects = original_objects(prepared(original), strict)
    assert sorted(objects.n_passes.tolist()) == [2, 4, 10, 10, 10, 10]
    row = dict(zip(COLUMNS, score_image(original, [original], strict)[0].tolist(), strict=True))
    assert (row["[match] match_rate"], row["[match] iou_mean"]) == (1, 0)
    assert {row[f"[match] {name}_diff"] for name in ("vr", "ie", "mi", "var")} == {0.0}


def test_strict_lets_a_flickering_original_kill_nothing(original: Passes) -> None:
    """Against the next pass 3 of 10 change, p = 1.1e-4 at .01; as its own control it is none."""
    shifted = Passes.from_list([original[(t + 1) % 10] for t in range(10)])
    changed = int((track(original, shifted, STRICT).counts()[:, 1:] > 0).any(axis=1).sum())
    assert changed == 3
    assert not passes_are_alike(original)
    counts = np.array([float(changed)])
    assert p_values_at(counts, 10, 0.01)[0] == pytest.approx(1.1e-4, rel=0.05)
    floor = noise_floor(1, counts, 10, is_deterministic=False)
    assert p_values_at(counts, 10, floor.rates)[0] > 0.05
