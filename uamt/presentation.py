"""How summaries are shown to a person."""

from __future__ import annotations

import math
import re
import shutil
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


def summary_columns(row: Mapping[Any, Any]) -> dict[str, str]:
    """Return what the table shows of one row of `scoring.summary.summarise`, as text.

    A number that could not be computed is shown as a dash.
    """
    return {
        "model": row["model"],
        "suite": row["suite"],
        "images": str(row["images"]),
        "mutants": str(row["mutants"]),
        **{f"kill share {name}": share_text(row, rule) for rule, name in SHARE_RULES},
        **{f"mildest {name}": _text(row[f"mildest_rate_{rule}"]) for rule, name in SHARE_RULES},
        **{f"Img-MS {name}": number_text(row[f"img_ms_{rule}"]) for rule, name in KILL_RULE_HEADS},
        "Obj-MS": number_text(row["obj_ms"]),
        "MS_iou": number_text(row["ms_iou"]),
        "strongest UA-MS": _strongest(row),
    }


KILL_RULE_HEADS = (("any", "any"), ("significant", "sig."), ("holm", "Holm"))
"""Each kill rule, and what it is called over a column."""
SHARE_RULES = KILL_RULE_HEADS[:2]
"""The rules by which kill shares are shown."""


def summary_table(summary: pd.DataFrame) -> pd.DataFrame:
    """Return the summary as the text that the console shows."""
    import pandas as pd

    return pd.DataFrame([summary_columns(row) for row in summary.to_dict("records")])


def console_table(summary: pd.DataFrame, width: int) -> str:
    """Return the summary as it is printed: kills first, then what is killed and lost.

    Args:
        summary: As `scoring.summary.summarise` returns it.
        width: Widest line, in letters.
    """
    shown = summary_table(summary)
    text = aligned(shown, ("model", "suite"), width)
    crashed = int(summary["crashed"].sum())
    if crashed:
        text += (
            f"\n{crashed} image x mutant pairs have no scores: the mutant crashed there, or no "
            f"pass is finite."
        )
    if summary["strongest_ua_ms_is_rate"].any():
        only = (
            "rate only: nothing of this score is uncertainty; it says how often objects are "
            "missed, or ghosts are seen."
        )
        text += f"\n\n{paragraph(only, width)}"
    return text


LEGEND = (
    "A kill: on an image, a mutant misses an object that the original finds, or shows a ghost. "
    "any: in one pass (the rule of the published tables); sig.: in more passes than chance "
    "explains (binomial test against a chance of 1% of passes, p < .05); Holm: sig., corrected "
    "for the number of images. Kill share: share of image x mutant pairs that are kills, with "
    "its 95% interval (bootstrap: from drawing the images anew, 2,000 times). Mildest: smallest "
    "rate that is killed; the lower, the more the suite notices. Img-MS: share of mutants that "
    "at least one image kills. Of all others higher is more: Obj-MS, share of objects missed or "
    "ghosted; MS_iou, overlap that matched objects lose, where a pass that misses one counts as "
    "losing all; UA-MS, the largest of the 15 uncertainty-aware scores. They need not rank "
    "suites as kill shares do (docs/scores.md)."
)
"""What the columns of `console_table` mean."""


def share_meaning(n_suites: int) -> str:
    """Return what a kill share says, and what it does not.

    Args:
        n_suites: How many suites there are to compare.
    """
    if n_suites > 1:
        return (
            "Kill shares compare suites under the same mutants, and are no grade: milder mutants "
            "lower all of them. Mutants tell suites apart best where shares lie about the middle, "
            "not near 0% or 100% (docs/choosing.md); more images narrow an interval, more mutants "
            "hardly."
        )
    return (
        "One suite alone tells little yet, for milder mutants lower its kill share: score a second "
        "suite beside it, or this one again once it has changed, under the same mutants."
    )


_WIDTH, _LEAST_WIDTH = 100, 60


def terminal_width() -> int:
    """Return how many letters a line has: those of the terminal, 100 where there is none."""
    return max(_LEAST_WIDTH, shutil.get_terminal_size((_WIDTH, 24)).columns)


def paragraph(text: str, width: int | None = None, hang: int = 0) -> str:
    """Return a text in lines that fit the terminal.

    Args:
        text: Words with spaces between them.
        width: Widest line; None means by the terminal.
        hang: Spaces before all lines but the first.
    """
    widest = terminal_width() if width is None else width
    return textwrap.fill(
        text, widest, subsequent_indent=" " * hang, break_long_words=False, break_on_hyphens=False
    )


HELP_WIDTH = 78
"""Letters in a line of help."""


def examples_text(examples: str | Sequence[str]) -> str:
    """Return the end of a command's help: examples that can be copied, long ones over lines."""
    lines = []
    for example in [examples] if isinstance(examples, str) else examples:
        rows: list[str] = []
        # A flag and its value stay in one line.
        for part in re.split(r" (?=--)", example):
            if rows and len(rows[-1]) + len(part) < HELP_WIDTH - 6:
                rows[-1] += f" {part}"
            else:
                rows.append(part)
        lines.append("  " + " \\\n    ".join(rows))
    return "\n".join(["example:" if len(lines) == 1 else "examples:", *lines])


def aligned(table: pd.DataFrame, keys: Sequence[str], width: int | None = None) -> str:
    """Return a table of texts in columns; one that is too wide is several blocks below each other.

    Args:
        table: Cells as they are shown.
        keys: Columns that stand first in every block, to the left; the others to the right.
        width: Widest line; None means by the terminal.

    Example:
        >>> import pandas as pd
        >>> table = pd.DataFrame({"suite": ["day", "at night"], "a": ["1", "2"], "b": ["3", "4"]})
        >>> print(aligned(table, ["suite"], 14))
        suite     a  b
        day       1  3
        at night  2  4
        >>> print(aligned(table, ["suite"], 12))
        suite     a
        day       1
        at night  2
        <BLANKLINE>
        suite     b
        day       3
        at night  4

    Where it is too wide, names of several words stand over several lines.
    """
    widest = terminal_width() if width is None else width
    cells = {str(name): [str(cell) for cell in table[name]] for name in table}
    heads = {name: [name] for name in cells}
    if sum(max(map(len, [name, *column])) + 2 for name, column in cells.items()) - 2 > widest:
        # Names over several lines make narrow columns.
        heads = {name: _stacked(name, column) for name, column in cells.items()}
    sizes = {name: max(map(len, [*heads[name], *column])) for name, column in cells.items()}
    base = sum(sizes[key] + 2 for key in keys)
    blocks: list[list[str]] = [[]]
    used = base
    for name in sizes:
        if name in keys:
            continue
        if blocks[-1] and used + sizes[name] > widest:
            blocks.append([])
            used = base
        blocks[-1].append(name)
        used += sizes[name] + 2
    return "\n\n".join(_block([*keys, *block], len(keys), cells, heads, sizes) for block in blocks)


def _stacked(name: str, column: Sequence[str]) -> list[str]:
    """Return a column's name in lines that are no wider than its cells or its longest word."""
    widest = max(map(len, [*column, *name.split()]))
    return textwrap.wrap(name, widest, break_long_words=False, break_on_hyphens=False)


def _block(
    names: Sequence[str],
    n_keys: int,
    cells: Mapping[str, Sequence[str]],
    heads: Mapping[str, Sequence[str]],
    sizes: Mapping[str, int],
) -> str:
    """Return some columns of a table as text, names at the bottom of their lines."""
    high = max(len(heads[name]) for name in names)
    columns = [[""] * (high - len(heads[name])) + [*heads[name], *cells[name]] for name in names]
    lines = []
    for row in zip(*columns, strict=True):
        texts = [
            cell.ljust(sizes[name]) if place < n_keys else cell.rjust(sizes[name])
            for place, (name, cell) in enumerate(zip(names, row, strict=True))
        ]
        lines.append("  ".join(texts).rstrip())
    return "\n".join(lines)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "none"


def number_text(value: float) -> str:
    """Return a score in three decimals, or a dash where there is none."""
    return "-" if math.isnan(value) else f"{value:.3f}"


def percent_text(value: float) -> str:
    """Return a share of pairs in percent, or a dash where there is none."""
    return "-" if math.isnan(value) else f"{value:.0%}"


def share_text(row: Mapping[Any, Any], rule: str) -> str:
    """Return a row's kill share by a rule, with its interval if there is one.

    Example:
        >>> row = {"kill_share_any": 0.5, "kill_share_any_low": 0.25, "kill_share_any_high": 0.625}
        >>> share_text(row, "any"), share_text(row | {"kill_share_any_low": math.nan}, "any")
        ('50% (25 to 62)', '50%')
    """
    share, low, high = (row[f"kill_share_{rule}{end}"] for end in ("", "_low", "_high"))
    interval = "" if math.isnan(low) else f" ({100 * low:.0f} to {100 * high:.0f})"
    return f"{percent_text(share)}{interval}"


def _strongest(row: Mapping[Any, Any]) -> str:
    from uamt.report_words import score_name

    value = row["strongest_ua_ms_value"]
    if math.isnan(value):
        return "-"
    only = " (rate only)" if row["strongest_ua_ms_is_rate"] else ""
    return f"{score_name(row['strongest_ua_ms'])} {number_text(value)}{only}"


def count_of(number: int, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun in the right form.

    Example:
        >>> count_of(1, "image"), count_of(1200, "unit"), count_of(0, "crash", "crashes")
        ('1 image', '1,200 units', '0 crashes')
    """
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"
