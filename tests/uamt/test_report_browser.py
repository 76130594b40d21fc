"""The report in a browser: sizes, themes, print, mouse, keyboard, and who cannot see it well."""

from __future__ import annotations

import io
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.uamt.report_reader import Cell, Page, check_cell, form_of
from uamt.drawing import STYLES

playwright = pytest.importorskip(
    "playwright.sync_api", reason="needs the extra 'browser': pip install .[browser]"
)

CHROMIUM = os.environ.get("UAMT_CHROMIUM") or next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))),
    None,
)

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="needs chromium on the path, or named by UAMT_CHROMIUM"
)

DESKTOP, PHONE = {"width": 1440, "height": 900}, {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as started:
        # Tests may run as root in a container, where the sandbox cannot start.
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


class Opened:
    """A report in a tab, with what the browser had to say about it."""

    def __init__(self, browser: Any, report: Page, **context: Any) -> None:
        self.context = browser.new_context(**{"viewport": DESKTOP, **context})
        self.tab = self.context.new_page()
        self.said: list[str] = []
        self.requests: list[str] = []
        self.tab.on("console", lambda message: self.said.append(message.text))
        self.tab.on("pageerror", lambda error: self.said.append(str(error)))
        self.tab.on("request", lambda request: self.requests.append(request.url))
        self.url = report.path.resolve().as_uri()
        self.tab.goto(self.url, wait_until="load")

    def close(self) -> None:
        self.context.close()


@pytest.fixture
def opened(browser: Any, report: Page) -> Iterator[Opened]:
    opened = Opened(browser, report)
    yield opened
    opened.close()


@pytest.mark.parametrize(
    "context",
    [
        {"viewport": DESKTOP},
        {"viewport": PHONE},
        {"viewport": PHONE, "color_scheme": "dark"},
        {"viewport": DESKTOP, "java_script_enabled": False},
    ],
    ids=["desktop", "phone", "dark", "without script"],
)
def test_it_fits_says_nothing_and_asks_for_nothing(
    browser: Any, report: Page, context: dict[str, Any]
) -> None:
    opened = Opened(browser, report, **context)
    assert opened.said == []
    assert [url for url in opened.requests if not url.startswith("data:")] == [opened.url]
    if context.get("java_script_enabled", True):
        wide = opened.tab.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0
    else:
        assert opened.tab.locator("table.grid").count() == 4
        assert all(grid.is_visible() for grid in opened.tab.locator("table.grid").all())
        assert not opened.tab.locator("#toolbar").is_visible()
    opened.close()


LOW, MIDDLE = {"width": 844, "height": 390}, {"width": 800, "height": 1000}


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE, MIDDLE], ids=["desktop", "phone", "middle"])
def test_what_is_shown_can_be_chosen_beside_all_that_it_governs(
    browser: Any, report: Page, viewport: dict[str, int]
) -> None:
    opened = Opened(browser, report, viewport=viewport, reduced_motion="reduce")
    places = """target => {
        location.hash = target;
        const top = (selector) => document.querySelector(selector).getBoundingClientRect();
        return [top("#toolbar").top, top("#toolbar").bottom, top(`${target} h2`).top];
    }"""
    for section in ("#mutants", "#images", "#pictures"):
        top, bottom, heading = opened.tab.evaluate(places, section)
        assert 0 <= top < bottom < heading < viewport["height"] / 4
        assert bottom - top < viewport["height"] / 5
    top, bottom, heading = opened.tab.evaluate(places, "#counts")
    assert bottom < 0 < heading
    opened.close()


def test_in_a_low_window_the_choice_takes_no_room(browser: Any, report: Page) -> None:
    opened = Opened(browser, report, viewport=LOW, reduced_motion="reduce")
    opened.tab.evaluate("location.hash = '#pictures'")
    bottom = opened.tab.locator("#toolbar").evaluate("bar => bar.getBoundingClientRect().bottom")
    assert bottom < 0
    opened.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_table_that_is_cut_has_a_shade_where_there_is_more(
    browser: Any, report: Page, scheme: str
) -> None:
    opened = Opened(browser, report, viewport=PHONE, color_scheme=scheme)
    wide = "table => table.parentElement.scrollWidth - table.parentElement.clientWidth"
    assert opened.tab.locator(".ranking").evaluate(wide) <= 0
    table = opened.tab.locator("table.scores")
    assert table.evaluate(wide) > 0

    def brightness() -> tuple[float, float]:
        """Of the left and of the right edge, between two lines of the table."""
        shot = opened.tab.locator(".scroll:has(table.scores)").screenshot()
        grey = np.asarray(Image.open(io.BytesIO(shot)).convert("L"), dtype=np.float64)
        return float(np.median(grey[:, 1])), float(np.median(grey[:, -2]))

    left, right = brightness()
    assert abs(left - right) > 40
    table.evaluate("table => { table.parentElement.scrollLeft = 9999; }")
    far_left, far_right = brightness()
    assert (far_left, far_right) == pytest.approx((right, left), abs=6)
    opened.close()


def test_sections_have_the_name_by_which_they_are_found(opened: Opened) -> None:
    heading = opened.tab.locator("#counts h2").inner_text()
    assert opened.tab.locator('nav a[href="#counts"]').inner_text() == heading


def test_in_print_there_is_nothing_to_choose_and_all_is_there(opened: Opened) -> None:
    opened.tab.emulate_media(media="print")
    assert not opened.tab.locator("#toolbar").is_visible()
    assert not opened.tab.locator("nav").is_visible()
    for section in ("verdict", "suites", "mutants", "pictures", "provenance"):
        assert opened.tab.locator(f"#{section}").is_visible()
    content = opened.tab.pdf(format="A4")
    assert content.startswith(b"%PDF")
    assert len(re.findall(rb"/Type\s*/Page\b", content)) < 12


def shown(opened: Opened, selector: str) -> Any:
    return opened.tab.locator(f"{selector}:visible")


def test_by_mouse_from_a_mutant_to_its_images_to_a_film_strip(opened: Opened) -> None:
    cell = shown(opened, "td.state-killed a, td.state-trivial a").first
    name = opened.tab.evaluate(
        "cell => document.querySelector(cell.getAttribute('href')).dataset.name",
        cell.element_handle(),
    )
    cell.click()
    panel = shown(opened, ".panel")
    assert panel.locator("h4").inner_text() == name
    panel.locator(".killers a").first.click()
    case = shown(opened, "details.case:focus-within")
    assert case.get_attribute("open") is not None
    assert name in case.locator("summary").inner_text()
    frames = case.locator(".strip button")
    assert frames.count() == 4
    frames.nth(3).click()
    assert case.locator(".which").inner_text() == "pass 3"
    assert frames.nth(3).get_attribute("aria-pressed") == "true"
    missed = frames.nth(3).locator("path.miss").count()
    assert (case.locator("[data-side=original] path.miss").count() > 0) == (missed > 0)
    outlines = "nodes => nodes.map((node) => [node.getAttribute('class'), node.getAttribute('d')])"
    large = case.locator("[data-side=mutant] path:not(.leader, .end)").evaluate_all(outlines)
    assert large == frames.nth(3).locator("path").evaluate_all(outlines)
    assert opened.said == []


def test_by_keyboard_the_same(opened: Opened) -> None:
    keyboard = opened.tab.keyboard
    cell = shown(opened, "td.state-killed a, td.state-trivial a").first
    for _ in range(60):
        keyboard.press("Tab")
        if opened.tab.evaluate("document.activeElement.matches('.cell a')"):
            break
    assert opened.tab.evaluate("document.activeElement.matches('.cell a')")
    cell.focus()
    keyboard.press("Enter")
    assert opened.tab.evaluate("document.activeElement.className") == "panel"
    keyboard.press("Escape")
    assert opened.tab.evaluate("document.activeElement.matches('.cell a')")
    keyboard.press("Enter")
    keyboard.press("Tab")  # the button that closes it
    keyboard.press("Tab")
    keyboard.press("Enter")
    assert opened.tab.evaluate("document.activeElement.tagName") == "SUMMARY"
    keyboard.press("Tab")
    focused = "document.activeElement.closest('.strip li').dataset.pass"
    assert opened.tab.evaluate(focused) == "0"
    keyboard.press("Tab")
    keyboard.press("Enter")
    case = shown(opened, "details.case:focus-within")
    assert case.locator(".which").inner_text() == "pass 1"
    assert opened.said == []


def cells_of(opened: Opened, selector: str) -> list[Cell]:
    found = opened.tab.evaluate(
        """selector => [...document.querySelectorAll(selector)].map((data) => {
            const around = (name) => data.closest(`[${name}]`)?.getAttribute(name) ?? "";
            const image = data.getAttribute("data-image") ?? "";
            return [data.value, data.textContent, data.dataset.form ?? "", around("data-csv"),
                    image ? "" : around("data-row"), image, data.dataset.column, ""];
        })""",
        selector,
    )
    return [
        Cell(value, text, form or form_of(value, text), *rest) for value, text, form, *rest in found
    ]


def test_numbers_that_the_script_shows_are_those_of_the_tables(opened: Opened, made: Path) -> None:
    results = made / "root" / "scores"
    for model in ("net", "other"):
        opened.tab.select_option("#choose-model", model)
        for option in ("3", "7", "21"):
            opened.tab.select_option("#choose-score", option)
            cells = cells_of(opened, ".view:not([hidden]) .grid data")
            assert len(cells) == 6
            assert len({cell.column for cell in cells}) == 1
            assert all(cell.table.split("/")[1] == model for cell in cells)
            for cell in cells:
                check_cell(cell, results)
        opened.tab.select_option("#choose-score", "")
        assert len(cells_of(opened, ".view:not([hidden]) .grid data")) == 12
        shown(opened, ".cell a").last.click()
        killers = cells_of(opened, ".view:not([hidden]) .panel data")
        assert killers
        for cell in killers:
            check_cell(cell, results)


def test_the_uncertainty_beside_boxes_can_be_chosen(opened: Opened) -> None:
    case = shown(opened, "details.case[open]").first
    options = opened.tab.locator("#choose-measure option").all_inner_texts()
    assert {"class variation (vr)", "entropy (ie), bits"} <= set(options)
    for measure in ("var", "ie"):
        opened.tab.select_option("#choose-measure", measure)
        tags = case.locator('[data-side=mutant] text[data-level="0"]').all()
        assert tags
        for tag in tags:
            number = tag.get_attribute("data-object")
            value = case.locator(
                f'tr[data-object="{number}"] [data-measure={measure}]'
            ).inner_text()
            is_sum = measure == "ie" and "ghost" in (tag.get_attribute("class") or "")
            sign = f"{measure} sum" if is_sum else measure
            beside = tag.locator(".beside").text_content()
            assert beside == ("" if value == "-" else f" {sign} {value}")


def test_kinds_are_drawn_as_in_the_pictures(opened: Opened) -> None:
    """Full line, dashes and round dots, on the page and in its legend."""
    drawn = opened.tab.evaluate(
        """() => Object.fromEntries(["match", "miss", "ghost"].map((kind) => [kind,
            [".key", ".case [data-side] .picture"].map((where) => {
                const svg = document.querySelector(where);
                const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
                path.setAttribute("class", kind);
                svg.append(path);
                const line = getComputedStyle(path);
                return [line.stroke, line.strokeDasharray, line.strokeLinecap, line.strokeWidth];
            })]))"""
    )
    for kind, style in STYLES.items():
        legend, large = drawn[kind]
        code = style.colour.lstrip("#")
        rgb = ", ".join(str(int(code[k : k + 2], 16)) for k in (0, 2, 4))
        assert legend == large
        stroke, dashes, cap, width = large
        assert stroke == f"rgb({rgb})"
        lengths = [float(n) for n in re.findall(r"[\d.]+", dashes)]
        if style.line == "full":
            assert dashes == "none"
        elif style.line == "dashes":
            assert cap == "butt"
            assert lengths[0] > lengths[1] > 0
        else:
            assert cap == "round"
            assert lengths[0] == 0
            assert lengths[1] > float(width.removesuffix("px"))


def test_cells_of_the_film_strip_have_the_numbers_of_misses_and_ghosts(opened: Opened) -> None:
    case = shown(opened, "details.case[open]").first
    for item in case.locator(".strip li").all():
        numbers = item.locator("svg text").all_text_contents()
        item.locator("button").click()
        large = case.locator("[data-side=mutant] text:not(.match)")
        objects = large.evaluate_all("nodes => nodes.map((node) => node.dataset.object)")
        assert sorted(numbers) == sorted(objects)
        small = case.locator("[data-side=mutant] text:not([data-object])")
        assert small.count() == 0


def test_all_states_of_mutants_have_one_border(opened: Opened) -> None:
    borders = opened.tab.evaluate(
        """() => [...document.querySelectorAll(".grid td.cell, .legend .cell")].map((cell) => {
            const { borderTopWidth, borderTopStyle, borderTopColor } = getComputedStyle(cell);
            return [borderTopWidth, borderTopStyle, borderTopColor].join(" ");
        })"""
    )
    assert len(borders) > 4
    assert len(set(borders)) == 1


def test_one_model_and_suite_at_a_time(opened: Opened) -> None:
    assert shown(opened, "table.grid").count() == 1
    opened.tab.select_option("#choose-suite", "night")
    heading = shown(opened, "#mutants h3").inner_text()
    assert heading.endswith("on suite night")
    assert shown(opened, "#images h3").inner_text() == heading
    assert shown(opened, ".charts").count() == 1
    opened.tab.select_option("#choose-chart", "3")
    assert shown(opened, ".charts h3").inner_text() == "overlap lost (MS_iou)"


def test_a_link_to_a_picture_opens_it(browser: Any, report: Page) -> None:
    opened = Opened(browser, report)
    last = [e for e in report.all("details") if e.attributes.get("class") == "case"][-1]
    opened.tab.goto(f"{opened.url}#{last.attributes['id']}")
    opened.tab.reload()
    assert opened.tab.locator(f"#{last.attributes['id']} .pair").is_visible()
    opened.close()


def test_a_term_is_explained_where_it_stands(opened: Opened) -> None:
    shown(opened, "button.term").first.click()
    assert "An image kills a mutant" in shown(opened, "[popover]").inner_text()
    opened.tab.keyboard.press("Escape")
    assert shown(opened, "[popover]").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(browser: Any, report: Page, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-core")
    # The page's own policy forbids the checker's script as well.
    opened = Opened(browser, report, color_scheme=scheme, bypass_csp=True)
    shown(opened, ".cell a").first.click()
    found = axe.Axe().run(opened.tab).response["violations"]
    serious = [
        (violation["id"], violation["nodes"][0]["html"])
        for violation in found
        if violation["impact"] in ("serious", "critical")
    ]
    assert serious == []
    opened.close()
