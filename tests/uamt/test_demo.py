"""`uamt demo`: the whole job, ending in a table, the CSVs and a page."""

from __future__ import annotations

import base64
import io
from pathlib import Path

import pandas as pd
import pytest
from PIL import Image

from scoring.layout import find_tables
from scoring.tables import read_table
from tests.uamt.report_reader import Page, check_cell
from uamt.demo import DemoResult, run_demo


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> DemoResult:
    return run_demo(tmp_path_factory.mktemp("demo") / "out", workers=1, passes=1)


def test_there_is_a_row_per_detector_and_suite(result: DemoResult) -> None:
    pairs = result.summary[["model", "suite"]].to_numpy().tolist()
    assert pairs == [
        [model, suite]
        for model in ("demo_fasterrcnn", "demo_retinanet")
        for suite in ("plain", "dim", "crowded")
    ]
    assert set(result.summary["images"]) == {12}
    assert set(result.summary["mutants"]) == {12}
    assert result.sentences[0].startswith("On demo_fasterrcnn and demo_retinanet, ")


def test_there_is_a_table_per_mutant(result: DemoResult) -> None:
    assert len(result.tables) == 2 * 3 * 12
    tables = find_tables(result.page.parent / "scores")
    assert [table.path for table in tables] == sorted(result.tables)
    assert len(read_table(tables[0].path)) == 12


def test_it_ends_in_a_report_whose_numbers_are_those_of_the_tables(result: DemoResult) -> None:
    page = Page(result.page)
    results = result.page.parent / "scores"
    for cell in page.cells:
        check_cell(cell, results)
    views = [e for e in page.all("article") if "data-model" in e.attributes]
    assert [(e.attributes["data-model"], e.attributes["data-suite"]) for e in views] == (
        result.summary[["model", "suite"]].to_records(index=False).tolist()
    )
    (command,) = [e.text for e in page.all("code") if e.text.startswith("uamt demo")]
    assert command == f"uamt demo --out {result.page.parent}"
    assert result.summary_path == results / "summary.csv"


def test_every_image_is_there_and_every_suite_has_pictures(result: DemoResult) -> None:
    page = Page(result.page)
    images = page.all("image")
    assert len(images) == 36
    for image in images[::6]:
        data = base64.b64decode(image.attributes["href"].partition(",")[2])
        with Image.open(io.BytesIO(data)) as picture:
            assert picture.format == "JPEG"
    cases = [e for e in page.all("details") if e.attributes.get("class") == "case"]
    assert len(cases) == 72


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
    assert set(result.sentences) < set(lines)
    assert lines[-1] == f"Report: {result.page.resolve()}   # open it in a browser"
