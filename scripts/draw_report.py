"""Draw docs/images/report.png: three parts of a report as a browser shows them, below each other.

Usage: python scripts/draw_report.py uamt_demo/report.html

Needs the extra 'browser' and chromium on the path, or named by UAMT_CHROMIUM.
"""

from __future__ import annotations

import io
import os
import shutil
import sys
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw
from playwright.sync_api import Page, sync_playwright

OUT = Path(__file__).resolve().parent.parent / "docs" / "images" / "report.png"
WIDTH_PX, SCALE = 1060, 0.75
"""Of the window, and how large a pixel of it is drawn."""
GAP_PX = 28
LEVELS = 63
"""Of a channel: a step of four of 255 is not seen, and makes the file a third smaller."""


def parts(page: Page) -> list[tuple[str, str]]:
    """Open what is to be seen, and return the first and last element of each part."""
    page.locator("#mutants td.state-killed a:visible").nth(1).click()
    page.evaluate("document.activeElement.blur()")
    page.locator("#toolbar").evaluate("bar => bar.style.position = 'static'")
    return [
        ("header", "#suites .ranking"),
        ("#toolbar", "#mutants article:not([hidden]) .split"),
        ("#pictures", "#pictures article:not([hidden]) details[open] .strip li"),
    ]


def shot(page: Page, first: str, last: str) -> Image.Image:
    extent = "e => [0, e.offsetHeight].map(y => y + e.getBoundingClientRect().top + scrollY)"
    top, _ = page.locator(first).first.evaluate(extent)
    _, bottom = page.locator(last).first.evaluate(extent)
    clip = {"x": 0, "y": top, "width": WIDTH_PX, "height": bottom - top}
    content = page.screenshot(full_page=True, clip=clip)  # type: ignore[arg-type]
    return Image.open(io.BytesIO(content)).convert("RGB")


def below_each_other(images: list[Image.Image]) -> Image.Image:
    height = sum(image.height + GAP_PX for image in images)
    width = max(image.width for image in images)
    sheet = Image.new("RGB", (width, height), "white")
    canvas = ImageDraw.Draw(sheet)
    y = GAP_PX // 2
    for number, image in enumerate(images):
        if number:
            for x in range(0, width, 14):
                canvas.line((x, y - GAP_PX // 2, x + 8, y - GAP_PX // 2), fill="#9aa6b4", width=2)
        sheet.paste(image, (0, y))
        y += image.height + GAP_PX
    return sheet


def main() -> None:
    report = Path(sys.argv[1]).resolve()
    names = ("chromium", "chromium-browser", "google-chrome", "chrome")
    chromium = os.environ.get("UAMT_CHROMIUM") or next(filter(None, map(shutil.which, names)))
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(
            viewport={"width": WIDTH_PX, "height": 1000}, device_scale_factor=SCALE
        )
        page.goto(report.as_uri(), wait_until="load")
        sheet = below_each_other([shot(page, *part) for part in parts(page)])
        browser.close()
    pixels = np.rint(np.rint(np.asarray(sheet) / 255 * LEVELS) * 255 / LEVELS)
    Image.fromarray(pixels.astype(np.uint8)).save(OUT, optimize=True)


if __name__ == "__main__":
    main()
