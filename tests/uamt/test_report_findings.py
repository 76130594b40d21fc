"""What a report says of mutants too strong, too mild or crashed, few images, and few suites."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from scoring.detections import Detections
from scoring.layout import Branch, original_tag
from scoring.ratios import mutation_ratio
from scoring.results import read_results
from scoring.suite_tables import ModelAggregates, aggregate
from tests.study.tables import write_results
from tests.uamt.conftest import Command
from tests.uamt.report_reader import Page, check_cell
from tests.uamt.report_trees import scene, write_all
from uamt.report_charts import score_charts, suite_marks

SCORE = "[match] iou_mean"


@pytest.fixture(autouse=True)
def one_chart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("uamt.report_charts.RATIO_COLUMNS", (SCORE,))


def tree(root: Path, images: Sequence[str], *, misses_all: bool) -> Path:
    """Predictions of mutants that miss everything in every pass, or nothing in any."""
    random = np.random.default_rng(0)
    branch = Branch("mc_dropout", "net", "day")
    for image in images:
        found = scene(random, 3, 3)
        mutated = Detections.empty(3) if misses_all else found
        write_all(branch.folder(root, original_tag("mc_dropout"), image), [found] * 4)
        for tag in ("0.1", "0.4"):
            write_all(branch.folder(root, tag, image), [mutated] * 4)
    return root


def check_all(page: Page, results: Path) -> None:
    for cell in page.cells:
        check_cell(cell, results)


def page_of(root: Path, uamt: Command) -> Page:
    assert uamt("score", root)[0] == 0
    assert uamt("report", root)[0] == 0
    page = Page(root / "report.html")
    check_all(page, root / "scores")
    return page


def headline(page: Page) -> str:
    return next(element.text for element in page.all("h1"))


def lead(page: Page) -> str:
    """The sentence below the headline, without its marks and numbers' cells."""
    found = re.search(r'<p class="lead">(.*?)</p>', page.path.read_text("utf-8"), re.DOTALL)
    assert found
    return " ".join(re.sub(r"<[^>]*>", "", found[1]).split())


class TestStrength:
    def test_kills_of_everything_are_no_praise(self, tmp_path: Path, uamt: Command) -> None:
        page = page_of(tree(tmp_path / "root", "abcd", misses_all=True), uamt)
        assert headline(page) == "These mutants are too strong to judge the suite"
        said = lead(page)
        assert "every image kills every mutant significantly" in said
        assert "100% are kills (95% interval 100% to 100%)" in said
        # Nothing tells that these were run by `uamt run`, so its flags would be of no use.
        assert "--dropout-rates" not in said
        assert "mc_dropout at 0.01, 0.02, 0.05" in said

    def test_no_kill_at_all_is_no_verdict(self, tmp_path: Path, uamt: Command) -> None:
        root = tree(tmp_path / "root", "abcd", misses_all=False)
        (root / "experiment_net.toml").touch()
        page = page_of(root, uamt)
        assert headline(page) == "These mutants are too mild to judge the suite"
        said = lead(page)
        assert "no image kills any mutant significantly" in said
        assert "uamt run with --dropout-rates 0.8,0.9, then" in said

    def test_two_images_have_no_interval(self, tmp_path: Path, uamt: Command) -> None:
        page = page_of(tree(tmp_path / "root", "ab", misses_all=True), uamt)
        assert "100% are kills (2 images: too few for an interval)" in lead(page)
        text = page.path.read_text(encoding="utf-8")
        assert "(- to -)" not in re.sub(r"<[^>]*>", "", text)


def test_models_that_ran_on_different_images_are_told_apart(tmp_path: Path, uamt: Command) -> None:
    mutants = (("mc_dropout", "0.1"), ("mc_dropout", "0.3"))
    write_results(tmp_path, {"orig": ["a", "b"]}, model="net", mutants=mutants)
    write_results(tmp_path, {"orig": ["c"]}, model="other", mutants=mutants)
    assert uamt("report", tmp_path)[0] == 0
    page = Page(tmp_path / "report.html")
    check_all(page, tmp_path)
    names = [e.text for e in page.all("bdi")]
    lead = names[: names.index("orig", 2) + 2]
    assert {"net", "other"} <= set(lead)
    standings = pd.read_csv(tmp_path / "ua_ms_standings.csv")
    assert sorted(standings["model"]) == ["net", "other"]
    # Each model is ranked by itself: neither share says anything of the other model's suites.
    assert standings["rank"].tolist() == [1, 1]
    assert standings["behind"].isna().all()
    # Each model has two mutants and one suite.
    text = re.sub(r"<[^>]*>", "", page.path.read_text(encoding="utf-8"))
    assert "Of 4 mutants (2 on each suite of each model):" in text


def test_crashed_mutants_are_said(tmp_path: Path, uamt: Command) -> None:
    write_results(tmp_path, {"orig": ["a", "b"]})
    path = tmp_path / "case" / "net" / "orig" / "mc_dropout" / "mutant_0.5.csv"
    path.write_text(path.read_text().splitlines(keepends=True)[0])
    code, _, err = uamt("report", tmp_path)
    assert code == 4
    assert "2 image x mutant pairs have no row" in err
    page = Page(tmp_path / "report.html")
    check_all(page, tmp_path)
    assert "state-crashed" in page.path.read_text()
    (view,) = page.json()["views"].values()
    assert "xx" in view["levels"]


class TestCharts:
    def made(self, root: Path, number: int) -> list[ModelAggregates]:
        suites = {f"suite_{k}": ["a", "b", "c"] for k in range(number)}
        write_results(root, suites, mutants=(("mc_dropout", "0.1"), ("mc_dropout", "0.5")))
        return list(aggregate(read_results(root)))

    def chart(self, models: list[ModelAggregates], spread: float = 5.0) -> str:
        """The chart of a score whose interval is wider than any score can be."""
        ratio = mutation_ratio({m.key: m.means for m in models}, "mc_dropout")
        ratio[SCORE], ratio[f"{SCORE}_CI95"] = 0.4, spread
        (charts,) = score_charts(ratio, None, models)
        (panel,) = charts.panels
        return panel.svg

    def test_a_band_of_shares_ends_at_0_and_1(self, tmp_path: Path) -> None:
        svg = self.chart(self.made(tmp_path, 4))
        ends = heights_of_bands(svg)
        assert min(ends) == pytest.approx(height_of(svg, "1.0"), abs=0.01)
        assert max(ends) == pytest.approx(height_of(svg, "0.0"), abs=0.01)

    def test_a_narrow_band_is_as_wide_as_its_interval(self, tmp_path: Path) -> None:
        svg = self.chart(self.made(tmp_path, 4), 0.2)
        (zero, one) = (height_of(svg, text) for text in ("0.0", "0.4"))
        ends = heights_of_bands(svg)
        assert max(ends) - min(ends) == pytest.approx(zero - one, rel=0.01)

    def test_three_suites_are_marked_and_have_no_band(self, tmp_path: Path) -> None:
        svg = self.chart(self.made(tmp_path, 3))
        assert heights_of_bands(svg) == []
        marks = re.findall(r'<use xlink:href="#(\w+)"[^>]*fill-opacity: 0; stroke: var', svg)
        assert len(marks) == 6
        assert len(set(marks)) == 3

    def test_every_suite_has_a_mark_of_its_own_in_the_colour_of_its_models(
        self, tmp_path: Path
    ) -> None:
        """One suite is of six models; those that are alone or many of a model are not marked."""
        mutants = (("mc_dropout", "0.1"), ("mc_dropout", "0.5"))
        few = {f"m{k}": ["all", f"day_{k}", f"night_{k}"] for k in range(6)}
        suites = {**few, "n_alone": ["x"], "n_many": list("pqrs")}
        for model, names in suites.items():
            write_results(tmp_path, {name: ["a"] for name in names}, model=model, mutants=mutants)
        models = list(aggregate(read_results(tmp_path)))
        marks = suite_marks(models)
        assert [mark.suite for mark in marks] == list(dict.fromkeys(chain(*few.values())))
        assert marks[0].colours == tuple(range(6))
        assert [mark.colours for mark in marks[1:]] == [(k,) for k in range(6) for _ in "ab"]
        assert len({mark.sign for mark in marks}) == len({mark.marker for mark in marks}) == 13
        svg = self.chart(models)
        drawn = re.findall(r'<use xlink:href="#(\w+)"[^>]*fill-opacity: 0; stroke: var', svg)
        shapes = dict(re.findall(r'<path id="(\w+)" d="([^"]+)"', svg))
        assert len({shapes[name] for name in drawn}) == 13

    def test_the_label_of_the_one_rate_is_whole(self, tmp_path: Path) -> None:
        write_results(tmp_path, {"day": ["a", "b"]}, mutants=(("mc_dropout", "0.15"),))
        svg = self.chart(list(aggregate(read_results(tmp_path))))
        assert ">0.15</text>" in svg


def heights_of_bands(svg: str) -> list[float]:
    """Where the corners of bands are, in pixels from above."""
    shapes = re.findall(
        r'd="([^"]*)"/>\s*</defs>\s*<g[^>]*>\s*<use [^>]*y="([\d.]+)" style="[^"]*opacity: 0.16"',
        svg,
    )
    return [
        float(y) + float(offset)
        for shape, offset in shapes
        for y in re.findall(r"[ML] [\d.]+ (-?[\d.]+)", shape)
    ]


def height_of(svg: str, text: str) -> float:
    """Where the grid line of a label is: labels stand in the group of their line."""
    (group,) = re.findall(
        rf'<use [^>]*y="([\d.]+)"[^>]*>\s*</g>\s*</g>\s*<g>\s*<text [^>]*anchor: end[^>]*>{text}<',
        svg,
    )
    return float(group)
