"""Field cases 8 to 10 and 16: shapes without area, sides without a detection, names of rates."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from mutators import MCDropBlock, MCDropout
from scoring.hull import hull_perimeter
from scoring.hull_area import hull_areas
from scoring.measures import measure
from scoring.rules import DEEPLUQ, STRICT
from scoring.tables import read_table
from scoring.tags import dropblock_tag, dropout_tag
from tests.field.written import write
from uamt.cli import main


def area(points: object) -> float:
    array = np.asarray(points, dtype=float)
    return float(hull_areas(array, np.array([len(array)]))[0])


@pytest.mark.parametrize("side", [1e-3, 1, 10, 12_345.0, 1e6])
def test_case_8_the_area_of_a_square_is_its_side_squared(side: float) -> None:
    square = [[0, 0], [side, 0], [side, side], [0, side]]
    assert area(square) == pytest.approx(side**2)
    assert hull_perimeter(np.array(square, dtype=float)) == pytest.approx(4 * side)


@pytest.mark.parametrize("n", range(3, 12))
def test_case_8_the_area_of_any_polygon_is_its_volume_to_scipy(n: int) -> None:
    points = np.random.default_rng(n).uniform(0, 500, (n, 2))
    hull = ConvexHull(points)
    assert area(points) == pytest.approx(hull.volume)
    assert hull_perimeter(points) == pytest.approx(hull.area)


@pytest.mark.parametrize("direction", [(1, 0), (0, 1), (3, 1), (-7, 2), (0.1, 0.3), (1e-9, 1)])
@pytest.mark.parametrize("n", [1, 2, 3, 5, 10])
def test_case_9_points_on_a_line_have_no_area_and_raise_nothing(
    direction: tuple[float, float], n: int
) -> None:
    points = np.array([50.0, 60.0]) + np.outer(np.arange(n), direction)
    assert area(points) == pytest.approx(0, abs=1e-6)
    boxes = np.hstack([points, points + 10])
    for rules in (DEEPLUQ, DEEPLUQ.with_(surface=STRICT.surface)):
        measures = measure(np.full((n, 2), 0.5), boxes, np.array([n]), None, rules)
        surface = measures[0, 4]
        is_unknown = rules is not DEEPLUQ and n < 3  # no spread is known of fewer boxes
        assert np.isnan(surface) if is_unknown else surface == pytest.approx(0, abs=1e-5)


@pytest.mark.parametrize("n", [1, 2, 4, 10])
def test_case_9_identical_points_have_neither(n: int) -> None:
    points = np.full((n, 2), 123.456)
    assert (area(points), hull_perimeter(points)) == (0, 0)


CAT, DOG = [0, 0, 10, 10], [50, 50, 90, 90]


@pytest.mark.parametrize("rules", ["deepluq", "strict"])
@pytest.mark.parametrize("n_passes", [1, 2, 10])
@pytest.mark.parametrize("n_ghosts", [1, 2])
def test_case_10_sides_that_find_nothing_are_scored_as_what_they_are(
    tmp_path: Path, rules: str, n_passes: int, n_ghosts: int
) -> None:
    some = [CAT, DOG][:n_ghosts]
    for stem, original, mutant in (("ghosts", [], some), ("misses", some, []), ("none", [], [])):
        write(tmp_path, "0", stem, [original] * n_passes)
        write(tmp_path, "0.1", stem, [mutant] * n_passes)
    assert main(["score", str(tmp_path), "--rules", rules, "--scores", "softmax"]) == 0
    (path,) = (tmp_path / "scores").rglob("mutant_0.1.csv")
    table = read_table(path).set_index(read_table(path).columns[0])
    kinds = {"miss": "[img_level] iskill_miss_count", "ghost": "[img_level] iskill_ghost_count"}
    counts = {kind: table[column].to_dict() for kind, column in kinds.items()}
    assert counts["ghost"] == {"ghosts": n_passes, "misses": 0, "none": 0}
    assert counts["miss"] == {"ghosts": 0, "misses": n_passes, "none": 0}
    ratios = table.loc["none", [c for c in table.columns if c.startswith("[obj_level]")]]
    assert ratios.isna().all()


@pytest.mark.parametrize("start", [0.1, 0.05, 0.01, 0.001])
@pytest.mark.parametrize("count", [3, 9, 30])
def test_case_16_rates_of_any_arithmetic_have_the_name_a_person_gives_them(
    start: float, count: int
) -> None:
    wanted = [f"{Decimal(str(start)) * n:f}" for n in range(1, count + 1)]
    wanted = [text.rstrip("0").rstrip(".") for text in wanted]
    summed, total = [], 0.0
    for _ in range(count):
        total += start  # 0.30000000000000004 and its like
        summed.append(total)
    multiplied = [start * n for n in range(1, count + 1)]
    spaced = np.linspace(start, start * count, count).tolist()
    for rates in (summed, multiplied, spaced, np.float32(multiplied).tolist()):
        assert [dropout_tag(rate) for rate in rates] == wanted
        assert [dropblock_tag(rate, 3) for rate in rates] == [f"{text}_3" for text in wanted]


def test_case_16_sweeps_have_as_many_members_as_they_say() -> None:
    rates = ["0.1", "0.15", "0.2", "0.25", "0.3", "0.35", "0.4", "0.45", "0.5"]
    assert [mutant.tag for mutant in MCDropout().mutants()] == rates
    blocks = [mutant.tag for mutant in MCDropBlock().mutants()]
    assert blocks == [f"{rate}_{block}" for rate in rates for block in (1, 3, 5, 7, 9)]
