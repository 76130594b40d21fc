"""Reads a report: its numbers with the cells that they say they are, and its texts."""

from __future__ import annotations

import csv
import json
import math
from dataclasses import dataclass, field
from functools import lru_cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

VOID = {"meta", "br", "hr", "img", "link", "input", "col"}


@dataclass
class Element:
    tag: str
    attributes: dict[str, str]
    text: str = ""


@dataclass
class Cell:
    """A number of the page, and where it says that it comes from."""

    value: str
    text: str
    form: str
    table: str
    row: str
    image: str
    column: str
    section: str


@dataclass
class Page(HTMLParser):
    """What a page holds."""

    path: Path
    cells: list[Cell] = field(default_factory=list)
    elements: list[Element] = field(default_factory=list)
    loose: dict[str, str] = field(default_factory=dict)
    """Text of each section that is neither a number, a name, code nor drawn."""

    def __post_init__(self) -> None:
        super().__init__()
        self._open: list[Element] = []
        self.feed(self.path.read_text(encoding="utf-8"))

    def around(self, name: str) -> str:
        return next((e.attributes[name] for e in reversed(self._open) if name in e.attributes), "")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.elements.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_endtag(self, tag: str) -> None:
        element = self._open[-1]
        assert element.tag == tag, f"<{element.tag}> is closed by </{tag}>"
        if tag == "data":
            own = element.attributes
            image = own.get("data-image", "")
            self.cells.append(
                Cell(
                    own["value"],
                    element.text,
                    own.get("data-form") or form_of(own["value"], element.text),
                    self.around("data-csv"),
                    "" if image else self.around("data-row"),
                    image,
                    own["data-column"],
                    self.section(),
                )
            )
        self._open.pop()

    def section(self) -> str:
        sections = [e.attributes.get("id", "") for e in self._open if e.tag == "section"]
        return sections[0] if sections else ""

    def handle_data(self, data: str) -> None:
        if not self._open:
            return
        self._open[-1].text += data
        hidden = {"data", "bdi", "b", "code", "svg", "script", "style", "th", "select", "h3"}
        if not hidden & {element.tag for element in self._open}:
            self.loose[self.section()] = self.loose.get(self.section(), "") + data

    def all(self, tag: str) -> list[Element]:
        return [element for element in self.elements if element.tag == tag]

    def json(self) -> Any:
        script = next(e for e in self.all("script") if e.attributes.get("id") == "report-data")

        def refuse(token: str) -> None:
            raise AssertionError(f"{token} is no JSON")

        return json.loads(script.text, parse_constant=refuse)


def form_of(value: str, text: str) -> str:
    """How a number is written, by its text: one that is no number is a text."""
    try:
        float(value)
    except ValueError:
        return "text"
    return {0: "whole", 2: "two", 3: "three"}[len(text.partition(".")[2])]


@lru_cache(maxsize=512)
def table(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV as it is written, read by another reader than the program's."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def csv_text(cell: Cell, results: Path) -> str:
    """What the CSV has where a number says that it comes from."""
    rows = table(results / cell.table)
    if cell.image:
        (row,) = [row for row in rows if row["test_suite"] == cell.image]
    else:
        row = rows[int(cell.row)]
    return row[cell.column]


def shown(cell: Cell) -> float:
    """The number that a reader sees."""
    text = cell.text.replace(",", "").replace("\u2212", "-")
    return float(text.rstrip("%")) / (
        100 if text.endswith("%") or cell.form in ("points", "tenths") else 1
    )


HALF = {
    "whole": 0.0,
    "percent": 0.005,
    "points": 0.005,
    "tenths": 0.0005,
    "three": 0.0005,
    "two": 0.005,
}


def check_cell(cell: Cell, results: Path) -> None:
    """Raise if a number is not the cell that it says it is, in full and as it is shown."""
    written = csv_text(cell, results)
    where = f"{cell.table} {cell.row}{cell.image} {cell.column}"
    if cell.form == "text":
        assert cell.value == written, where
        assert cell.text == (written or "-"), where
    elif not written:
        assert (cell.value, cell.text) == ("", "-"), where
    else:
        assert float(cell.value) == float(written), where
        distance = abs(shown(cell) - float(written))
        assert distance <= HALF[cell.form] + 1e-12, f"{where}: {cell.text} for {written}"
        assert math.isfinite(float(written)), where
