"""Which images, passes and findings a report shows first."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from scoring.branch_facts import BranchFacts, write_facts
from scoring.results import read_results
from scoring.rows import COLUMNS
from scoring.rules import DEEPLUQ, STRICT
from scoring.suite_tables import aggregate
from scoring.tables import write_table
from tests.study.tables import row, table_path
from tests.uamt.conftest import Command
from tests.uamt.report_reader import Page, check_cell
from uamt.report_choice import in_turns
from uamt.report_tables import report_tables
from uamt.report_words import TERMS

Counts = tuple[int, int, int]
"""Passes with a miss, with a ghost, with either."""


@pytest.fixture(autouse=True)
def one_chart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("uamt.report_charts.RATIO_COLUMNS", ("[match] iou_mean",))


def write(root: Path, suites: Mapping[str, Mapping[str, Sequence[Counts]]]) -> Path:
    """Write results of suites: by mutant the changed passes, of 10, of every image."""
    others = np.full(len(COLUMNS) - 12, 0.5)
    for suite, mutants in suites.items():
        for tag, images in mutants.items():
            path = table_path(root, "mc_dropout", tag, suite, case_study="case", model="net")
            stems = [f"{suite}_{number}" for number in range(len(images))]
            write_table(path, stems, np.stack([row(counts, others) for counts in images]))
    return root


def images_of(root: Path, mutant: int = 0) -> list[int]:
    """Numbers of the images under a mutant, in the order in which they are shown."""
    tables = report_tables(list(aggregate(read_results(root))), root)
    return [image for _, _, image, number in in_turns(tables) if number == mutant]


def test_of_the_images_that_kill_a_mutant_those_by_a_miss_come_first(tmp_path: Path) -> None:
    images = [(1, 9, 10), (5, 5, 6), (0, 0, 0), (0, 10, 10), (7, 0, 7)]
    write(tmp_path, {"day": {"0.1": images}})
    # One miss alone is no kill by rule significant, which is that of the verdict.
    assert images_of(tmp_path) == [4, 1, 0, 3]


def test_what_survives_is_shown_on_the_image_that_changed_most(tmp_path: Path) -> None:
    write(tmp_path, {"day": {"0.1": [(1, 0, 1), (0, 0, 0)], "0.5": [(9, 0, 9), (9, 0, 9)]}})
    assert images_of(tmp_path) == [0, 1]


def page_of(root: Path, uamt: Command) -> Page:
    assert uamt("report", root)[0] == 0
    page = Page(root / "report.html")
    for cell in page.cells:
        check_cell(cell, root)
    return page


def card_of(page: Page) -> tuple[str, str]:
    """Heading and text of the finding about Img-MS."""
    text = page.path.read_text(encoding="utf-8")
    found = re.findall(r"<li>\s*<h2>(.*?)</h2>\s*<p>(.*?)</p>", text, re.DOTALL)
    heading, body = found[3]
    said, text = (" ".join(re.sub(r"<[^>]*>", "", part).split()) for part in (heading, body))
    return said, text


ALL, FEW, NONE = (9, 0, 9), (1, 0, 1), (0, 0, 0)


@pytest.mark.parametrize(
    ("suites", "heading", "says"),
    [
        (
            {"day": {"0.1": [ALL], "0.5": [ALL]}, "night": {"0.1": [ALL], "0.5": [ALL]}},
            "Img-MS cannot rank these suites",
            "by rule any 1.000 for every suite; by rule significant 1.000 for every suite. "
            "The kill share does not differ either.",
        ),
        (
            {"day": {"0.1": [FEW], "0.5": [ALL]}, "night": {"0.1": [ALL], "0.5": [ALL]}},
            "By rule any, Img-MS cannot rank these suites",
            "by rule any 1.000 for every suite; by rule significant 0.500 for day, 1.000 for "
            "night.",
        ),
        (
            {
                "day": {"0.1": [FEW, FEW], "0.5": [ALL, ALL]},
                "night": {"0.1": [NONE, NONE], "0.5": [ALL, FEW]},
                "rain": {"0.1": [FEW, FEW], "0.5": [ALL, ALL]},
            },
            "By rule significant, Img-MS cannot rank these suites",
            "by rule any 0.500 for night, 1.000 for all others; by rule significant 0.500 for "
            "every suite. The kill share still differs.",
        ),
        (
            {"day": {"0.1": [NONE], "0.5": [ALL]}, "night": {"0.1": [ALL], "0.5": [ALL]}},
            "Img-MS tells some suites apart",
            "by rule any 0.500 for day, 1.000 for night; by rule significant 0.500 for day, 1.000 "
            "for night.",
        ),
    ],
    ids=["none", "significant", "any", "both"],
)
def test_img_ms_ranks_by_the_rules_that_the_heading_says(
    tmp_path: Path,
    uamt: Command,
    suites: Mapping[str, Mapping[str, Sequence[Counts]]],
    heading: str,
    says: str,
) -> None:
    page = page_of(write(tmp_path, suites), uamt)
    found, text = card_of(page)
    assert found == heading
    assert text.endswith(f"is {says}")


def test_an_img_ms_that_curtailed_passes_leave_open_is_not_settled(
    tmp_path: Path, uamt: Command
) -> None:
    write(tmp_path, {"day": {"0.1": [ALL], "0.5": [ALL]}, "night": {"0.1": [ALL], "0.5": [ALL]}})
    curtailed = {"kinds": "miss_ghost", "rule": "any", "critical_count": 1}
    for suite in ("day", "night"):
        path = table_path(tmp_path, "mc_dropout", "0.1", suite, case_study="case", model="net")
        fewer = {"0.1": {"night_0": 9}} if suite == "night" else {}
        facts = BranchFacts("deepluq", 10, fewer_passes=fewer, curtailed=curtailed)
        write_facts(path.with_name("facts.json"), facts)
        if suite == "night":
            write_table(path, ["night_0"], np.full((1, len(COLUMNS)), np.nan))
    heading, text = card_of(page_of(tmp_path, uamt))
    assert heading == "Img-MS is not settled everywhere"
    assert text.endswith("by rule any 1.000 for day, not settled for night.")


def test_rules_that_agree_agree_on_mutants(tmp_path: Path, uamt: Command) -> None:
    page = page_of(write(tmp_path, {"day": {"0.1": [ALL, FEW], "0.5": [ALL, ALL]}}), uamt)
    assert "<h2>All rules agree on every mutant</h2>\n<p>" in page.path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("most", "says"),
    [
        ("3", "Drawn is a part of all pairs"),
        ("999", "All pairs of an image and a mutant are drawn"),
    ],
)
def test_a_part_is_called_one_only_where_it_is(
    made: Path, tmp_path: Path, uamt: Command, most: str, says: str
) -> None:
    out = tmp_path / "page.html"
    images = ("--images", made / "pictures")
    assert uamt("report", made / "root", *images, "--pictures", most, "--out", out)[0] == 0
    page = Page(out)
    assert [e for e in page.all("p") if e.text.startswith(says)]
    tables = report_tables(list(aggregate(read_results(made / "root" / "scores"))), made)
    n_pairs = sum(kills.scores.has_row.sum() for m in tables.models for kills in m.kills)
    cases = [e for e in page.all("details") if e.attributes.get("class") == "case"]
    assert len(cases) == min(int(most), n_pairs)


def test_beside_the_first_kill_stands_what_a_kill_does_not_say(report: Page) -> None:
    text = report.path.read_text(encoding="utf-8")
    first = text.index('<details class="case"')
    says = "not that it got worse: the original may have been wrong."
    assert first < text.index(says) < text.index('<div class="pair">')


def test_chance_is_granted_what_the_test_grants_it() -> None:
    said = f"chance is granted {DEEPLUQ.null_rate:.0%} of passes"
    assert said in TERMS["kill"][1]
    assert DEEPLUQ.null_rate == STRICT.null_rate
    assert not any("noise" in meaning for _, meaning in TERMS.values())
