"""Lettering: fonts that have most scripts, and text that does no harm in a picture."""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from pathlib import Path

from PIL import ImageFont

Font = ImageFont.FreeTypeFont


@lru_cache(maxsize=32)
def font_of(size_px: int, *, is_bold: bool = False) -> Font:
    """Return DejaVu Sans of this size, which comes with matplotlib and has most scripts."""
    import matplotlib

    name = "DejaVuSans-Bold.ttf" if is_bold else "DejaVuSans.ttf"
    path = Path(matplotlib.get_data_path()) / "fonts" / "ttf" / name
    return ImageFont.truetype(str(path), max(1, size_px))


def plain(text: str, longest: int) -> str:
    r"""Return a text on one line, without control characters, cut to so many letters.

    Example:
        >>> plain("a\u202eb\nc", 10), plain("a long name", 6)
        ('ab c', 'a lon…')
    """
    spaced = "".join(" " if c.isspace() else c for c in text)
    kept = "".join(c for c in spaced if unicodedata.category(c)[0] != "C")
    return kept if len(kept) <= longest else f"{kept[: longest - 1]}…"


def wrapped(text: str, font: Font, width_px: float) -> list[str]:
    """Return the lines of a text that are no wider than this; words that are too long are cut.

    Args:
        text: Words with spaces between them.
        font: What it is written in.
        width_px: Widest line.
    """
    lines: list[str] = []
    for word in text.split():
        rest = word
        longer = f"{lines[-1]} {rest}" if lines else rest
        if lines and font.getlength(longer) <= width_px:
            lines[-1] = longer
            continue
        while len(rest) > 1 and font.getlength(rest) > width_px:
            fits = next(
                (n for n in range(len(rest) - 1, 1, -1) if font.getlength(rest[:n]) <= width_px), 1
            )
            lines.append(rest[:fits])
            rest = rest[fits:]
        lines.append(rest)
    return lines
