"""How summaries are shown to a person."""

from __future__ import annotations

import math
from collections.abc import Mapping
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
        "Img-MS any": _number(row["img_ms_any"]),
        "Img-MS sig.": _number(row["img_ms_significant"]),
        "Img-MS Holm": _number(row["img_ms_holm"]),
        "kill share any": _interval(row, "kill_share_any"),
        "kill share sig.": _interval(row, "kill_share_significant"),
        "mildest any": _text(row["mildest_rate_any"]),
        "mildest sig.": _text(row["mildest_rate_significant"]),
        "Obj-MS": _number(row["obj_ms"]),
        "MS_iou": _number(row["ms_iou"]),
        "strongest UA-MS": _strongest(row),
    }


def summary_table(summary: pd.DataFrame) -> pd.DataFrame:
    """Return the summary as the text that the console and the page show."""
    import pandas as pd

    return pd.DataFrame([summary_columns(row) for row in summary.to_dict("records")])


def table_text(summary: pd.DataFrame) -> str:
    """Return the summary as an aligned table."""
    shown = summary_table(summary)
    crashed = int(summary["crashed"].sum())
    text = shown.to_string(index=False)
    if crashed:
        text += (
            f"\n{crashed} image x mutant pairs have no scores: the mutant crashed there, or no "
            f"pass is finite."
        )
    return text


LEGEND = (
    "Img-MS: share of mutants that at least one image kills. Kill share: share of image x mutant "
    "pairs that are kills (a miss or a ghost), with its 95% bootstrap interval over images. "
    "any: one changed pass is a kill; sig.: the binomial test says so (p < .05); "
    "Holm: the same after correction for the number of images. "
    "Mildest: the smallest rate that kills. Obj-MS: share of objects missed or ghosted. "
    "MS_iou: loss of overlap. Strongest UA-MS: the largest of the 15 uncertainty-aware scores."
)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "none"


def _number(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.3f}"


def _interval(row: Mapping[Any, Any], name: str) -> str:
    if math.isnan(row[name]):
        return "-"
    return f"{row[name]:.2f} [{row[f'{name}_low']:.2f}, {row[f'{name}_high']:.2f}]"


def _strongest(row: Mapping[Any, Any]) -> str:
    value = row["strongest_ua_ms_value"]
    return "-" if math.isnan(value) else f"{row['strongest_ua_ms']} {_number(value)}"


def count_of(number: int, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun in the right form.

    Example:
        >>> count_of(1, "image"), count_of(1200, "unit"), count_of(0, "crash", "crashes")
        ('1 image', '1,200 units', '0 crashes')
    """
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"
