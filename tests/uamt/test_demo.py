"""`uamt demo`: the whole job, ending in a table, the CSVs and a page."""

from __future__ import annotations

import base64
import io
import re
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest
from PIL import Image

from scoring.layout import find_tables
from scoring.tables import read_table
from uamt.demo import DemoResult, run_demo
from uamt.presentation import summary_table


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> DemoResult:
    return run_demo(tmp_path_factory.mktemp("demo") / "out", workers=1, passes=1)


class Page(HTMLParser):
    """Cells, pictures and links of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.cells: list[str] = []
        self.sources: list[str] = []
        self.alts: list[str] = []
        self._in_cell = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        self._in_cell = tag == "td"
        if tag == "td":
            self.cells.append("")
        for name in ("src", "href"):
            if name in named:
                self.sources.append(named[name] or "")
        if tag == "img":
            self.alts.append(named.get("alt") or "")

    def handle_endtag(self, tag: str) -> None:
        self._in_cell = False

    def handle_data(self, data: str) -> None:
        if self._in_cell:
            self.cells[-1] += data


def test_there_is_a_row_per_detector_and_suite(result: DemoResult) -> None:
    pairs = result.summary[["model", "suite"]].to_numpy().tolist()
    assert pairs == [
        [model, suite]
        for model in ("demo_fasterrcnn", "demo_retinanet")
        for suite in ("plain", "dim", "crowded")
    ]
    assert set(result.summary["images"]) == {12}
    assert set(result.summary["mutants"]) == {12}
    assert result.verdict.startswith("On demo_fasterrcnn and demo_retinanet, ")


def test_there_is_a_table_per_mutant(result: DemoResult) -> None:
    assert len(result.tables) == 2 * 3 * 12
    tables = find_tables(result.page.parent / "scores")
    assert [table.path for table in tables] == sorted(result.tables)
    assert len(read_table(tables[0].path)) == 12


def test_every_number_on_the_page_is_that_of_the_summary(result: DemoResult) -> None:
    page = Page(result.page.read_text())
    written = pd.read_csv(
        result.summary_path, dtype={"mildest_rate_any": str, "mildest_rate_significant": str}
    )
    assert page.cells == summary_table(written).to_numpy().ravel().tolist()


def test_the_page_needs_nothing_from_elsewhere(result: DemoResult) -> None:
    text = result.page.read_text()
    page = Page(text)
    assert page.sources
    assert all(source.startswith("data:image/jpeg;base64,") for source in page.sources)
    assert not re.search(r"https?://", text)
    assert "<script" not in text


def test_the_pictures_open_and_have_texts(result: DemoResult) -> None:
    page = Page(result.page.read_text())
    assert 1 <= len(page.sources) <= 6
    for source, alt in zip(page.sources, page.alts, strict=True):
        data = base64.b64decode(source.partition(",")[2])
        with Image.open(io.BytesIO(data)) as picture:
            assert picture.width > picture.height
        assert "mutant mc_dro" in alt


def test_a_second_demo_runs_nothing_again(result: DemoResult) -> None:
    ledger = result.page.parent / "ledger.jsonl"
    before = ledger.read_bytes()
    again = run_demo(result.page.parent, workers=1, passes=1)
    assert ledger.read_bytes() == before
    pd.testing.assert_frame_equal(again.summary, result.summary)


def test_the_command_prints_table_verdict_and_the_page_last(
    result: DemoResult, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from uamt import demo as module
    from uamt.cli import main

    def finished(out: Path, workers: int | None) -> DemoResult:
        return result

    monkeypatch.setattr(module, "run_demo", finished)
    monkeypatch.setenv("COLUMNS", "1000")
    assert main(["demo", "--out", "anywhere"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:4] == ["model", "suite", "images", "mutants"]
    assert result.verdict in lines
    assert lines[-1] == f"Report: {result.page.resolve()}"
