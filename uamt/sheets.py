"""Sheets: headings, pictures, legend and table below each other on white paper."""

from __future__ import annotations

from collections.abc import Sequence

from PIL import Image, ImageDraw

from uamt.drawing import GAP_PX, STYLES, Kind
from uamt.lettering import font_of, wrapped
from uamt.outlines import Outline, Pen, draw_outlines

INK, SOFT, LINE = "#1c2430", "#4a5563", "#c4ccd6"

_CELL = 12
"""Size of the letters of a table."""

_MEANINGS: dict[Kind, str] = {
    "match": "both find it",
    "miss": "the mutant loses it",
    "ghost": "only the mutant has it",
}


class Sheet:
    """Blocks one below the other on white paper.

    Args:
        scale: Size of letters and lines.
    """

    def __init__(self, scale: float) -> None:
        self.scale = scale
        self.width = 0
        self._blocks: list[Image.Image] = []

    def _px(self, length: float) -> int:
        return max(1, round(length * self.scale))

    def _block(self, height: int) -> tuple[Image.Image, ImageDraw.ImageDraw]:
        block = Image.new("RGB", (self.width, height), "white")
        self._blocks.append(block)
        return block, ImageDraw.Draw(block)

    def text(self, text: str, size: int, *, is_bold: bool = False, colour: str = INK) -> None:
        """Add a text, wrapped."""
        font = font_of(self._px(size), is_bold=is_bold)
        if not text:
            return
        lines = wrapped(text, font, self.width)
        step = self._px(size * 1.35)
        _, canvas = self._block(step * len(lines) + self._px(2))
        for number, line in enumerate(lines):
            canvas.text((0, number * step), line, fill=colour, font=font)

    def row(self, images: Sequence[Image.Image], heads: Sequence[str], of: int = 0) -> None:
        """Add pictures beside each other, each below its heading, as if there were `of` of them."""
        n = max(of, len(images))
        wide, high = images[0].size
        pitch = max(wide + GAP_PX, (self.width + GAP_PX) // n)
        size = 15 if n <= 2 else 13
        font = font_of(self._px(size), is_bold=n <= 2)
        lines = [wrapped(head, font, pitch - GAP_PX) for head in heads]
        step = self._px(size * 1.35)
        top = self._px(8) + step * max(len(head) for head in lines) + self._px(3)
        block, canvas = self._block(top + high)
        for number, (image, head) in enumerate(zip(images, lines, strict=True)):
            x = number * pitch
            for row, line in enumerate(head):
                canvas.text((x, self._px(8) + row * step), line, fill=INK, font=font)
            block.paste(image, (x, top))

    def legend(self, tags: str) -> None:
        """Add what colours and lines mean, and what stands at the boxes."""
        font = font_of(self._px(13))
        high, swatch, between = self._px(20), self._px(42), self._px(28)
        styles = list(STYLES.values())
        texts = [f"{style.word}: {_MEANINGS[kind]}" for kind, style in STYLES.items()]
        widths = [font.getlength(text) for text in (*texts, tags)]
        x = 0.0
        places: list[tuple[float, int]] = []
        for wide in [*(swatch + wide for wide in widths[:-1]), widths[-1]]:
            row = places[-1][1] if places else 0
            if x + wide > self.width and x:
                x, row = 0.0, row + 1
            places.append((x, row))
            x += wide + between
        step = high + self._px(6)
        block, canvas = self._block(step * (places[-1][1] + 1) + self._px(10))
        pen = Pen.of(max(0.75, self.scale))
        for style, text, (x, row) in zip([*styles, None], [*texts, tags], places, strict=True):
            y = self._px(10) + row * step
            if style is not None:
                left, right = round(x) + self._px(4), round(x) + self._px(34)
                box = left, y + self._px(2), right, y + high - self._px(2)
                draw_outlines(block, [Outline(box, style.colour, style.line)], pen)
                x += swatch
            canvas.text((x, y + self._px(1)), text, fill=INK, font=font)

    def column_widths(self, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[float]:
        """Return how wide the columns of a table are, the gaps behind them among it, in pixels."""
        fonts = font_of(self._px(_CELL), is_bold=True), font_of(self._px(_CELL))
        return [
            max(
                *(fonts[0].getlength(line) for line in head.splitlines()),
                *(fonts[1].getlength(cell) for cell in cells),
            )
            + self._px(14)
            for head, *cells in zip(heads, *rows, strict=True)
        ]

    def table(self, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Add a table, its heads of one line or two; nothing without rows."""
        if not rows:
            return
        fonts = font_of(self._px(_CELL), is_bold=True), font_of(self._px(_CELL))
        step = self._px(_CELL * 1.5)
        top = step * (1 + any(head.partition("\n")[2] for head in heads))
        columns = list(zip(heads, *rows, strict=True))
        widths = self.column_widths(heads, rows)
        _, canvas = self._block(top + step * len(rows) + self._px(6))
        x = 0.0
        for wide, (head, *cells) in zip(widths, columns, strict=True):
            for number, line in enumerate(head.splitlines()):
                canvas.text((x, number * step), line, fill=INK, font=fonts[0])
            for number, cell in enumerate(cells):
                canvas.text((x, top + number * step), cell, fill=INK, font=fonts[1])
            x += wide
        y = top - self._px(2)
        canvas.line((0, y, min(self.width, sum(widths)), y), fill=LINE, width=self._px(1))

    def image(self) -> Image.Image:
        """Return the sheet with a margin."""
        margin = self._px(16)
        height = sum(block.height for block in self._blocks)
        sheet = Image.new("RGB", (self.width + 2 * margin, height + 2 * margin), "white")
        y = margin
        for block in self._blocks:
            sheet.paste(block, (margin, y))
            y += block.height
        return sheet
