"""Charts of a report: a score over the rate, a line with its interval per model, as inline SVG."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from scoring.ratios import BLOCK, MODEL_KEYS, RATE, RATIO_COLUMNS

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

N_COLOURS = 7
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_DASHES = ("-", "--", ":", "-.")
_INK, _GRID = "#010203", "#010204"
_SERIES = tuple(f"#0102{number:02x}" for number in range(16, 16 + N_COLOURS))
"""Colours that the page's own take the place of, so that charts follow it into the dark."""


@dataclass(frozen=True, slots=True)
class Panel:
    """One chart.

    Args:
        title: Which mutants it shows.
        svg: The chart.
    """

    title: str
    svg: str


@dataclass(frozen=True, slots=True)
class ScoreCharts:
    """The charts of one score.

    Args:
        column: The score.
        panels: MC-Dropout, and DropBlock by block size.
    """

    column: str
    panels: tuple[Panel, ...]


def score_charts(
    dropout: pd.DataFrame | None,
    dropblock: pd.DataFrame | None,
    models: Sequence[tuple[str, str]],
) -> list[ScoreCharts]:
    """Return the charts of every score of the ratio tables that some mutant has.

    Args:
        dropout: `mc_dropout_mutation_ratio.csv`, or None without MC-Dropout.
        dropblock: `mc_dropblock_mutation_ratio.csv`, or None without DropBlock.
        models: Case study and name of each, in the order of the colours.

    Source: scoring.md, section 4, number 3.
    """
    parts: list[tuple[str, pd.DataFrame]] = []
    if dropout is not None:
        parts.append(("MC-Dropout", dropout))
    if dropblock is not None:
        parts += [
            (f"MC-DropBlock, block {block}", rows) for block, rows in dropblock.groupby(BLOCK)
        ]
    canvases = [_Canvas(rows) for _, rows in parts]
    found = []
    for column in RATIO_COLUMNS:
        values = [rows[column].to_numpy(np.float64) for _, rows in parts]
        if not any(np.isfinite(value).any() for value in values):
            continue
        widths = [rows[f"{column}_CI95"].to_numpy(np.float64) for _, rows in parts]
        limits = _limits(np.concatenate(values), np.concatenate(widths))
        panels = [
            Panel(title, canvas.draw(column, models, limits, f"{column}{title}"))
            for (title, _), canvas in zip(parts, canvases, strict=True)
        ]
        found.append(ScoreCharts(column, tuple(panels)))
    return found


def _limits(values: np.ndarray, widths: np.ndarray) -> tuple[float, float]:
    """Return the shared range of the panels; wide intervals are cut at what scores can be."""
    known = values[np.isfinite(values)]
    low, high = float(known.min()), float(known.max())
    spread = np.nan_to_num(widths)
    bottom = max(min(0.0, low), float(np.nanmin(values - spread)))
    top = min(max(1.0, high), float(np.nanmax(values + spread)))
    margin = 0.05 * (top - bottom) or 0.05
    return bottom - margin, top + margin


class _Canvas:
    """Axes of one panel, on which the scores are drawn one after the other.

    Args:
        rows: Of the ratio table.
    """

    def __init__(self, rows: pd.DataFrame) -> None:
        # Without pyplot: no window, and no state that outlives the figure. Names of models are
        # not drawn: they may hold what no font has, and the page has a legend.
        from matplotlib.figure import Figure
        from matplotlib.ticker import MaxNLocator

        self._rows = rows
        self._figure = Figure(figsize=(3.4, 2.5))
        self._axes: Axes = self._figure.add_axes((0.15, 0.18, 0.82, 0.77))
        axes, rates = self._axes, rows[RATE].to_numpy(np.float64)
        margin = 0.05 * float(np.ptp(rates)) or 0.05
        axes.set_xlim(rates.min() - margin, rates.max() + margin)
        axes.set_xlabel("rate", color=_INK, fontsize=9)
        axes.tick_params(colors=_INK, labelsize=8.5)
        axes.grid(color=_GRID, linewidth=0.7)
        axes.set_facecolor("none")
        axes.spines[["top", "right"]].set_visible(False)
        axes.spines[["left", "bottom"]].set_color(_INK)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(MaxNLocator(nbins=5, steps=[1, 2, 5, 10]))

    def draw(
        self,
        column: str,
        models: Sequence[tuple[str, str]],
        limits: tuple[float, float],
        salt: str,
    ) -> str:
        """Return the chart of one score."""
        axes, rows = self._axes, self._rows
        drawn: list[Artist] = []
        for number, key in enumerate(models):
            of_model = rows[(rows[list(MODEL_KEYS)] == list(key)).all(axis=1)].sort_values(RATE)
            rates, means, widths = (
                of_model[name].to_numpy(np.float64) for name in (RATE, column, f"{column}_CI95")
            )
            if not np.isfinite(means).any():
                continue
            colour = _SERIES[number % N_COLOURS]
            drawn += axes.plot(
                rates,
                means,
                color=colour,
                linestyle=_DASHES[number % len(_DASHES)],
                linewidth=1.8,
                marker=_MARKERS[number % N_COLOURS],
                markersize=4.5,
            )
            if np.isfinite(widths).any():
                band = (means - widths, means + widths)
                drawn.append(axes.fill_between(rates, *band, color=colour, alpha=0.16, lw=0))
        axes.set_ylim(*limits)
        text = _inline(self._figure, salt)
        for artist in drawn:
            artist.remove()
        return text


def _inline(figure: object, salt: str) -> str:
    """Return a figure as SVG that stands in a page: its colours, and ids of its own."""
    from matplotlib import rc_context

    file = io.StringIO()
    with rc_context({"svg.hashsalt": salt, "svg.fonttype": "none"}):
        figure.savefig(  # type: ignore[attr-defined]
            file, format="svg", transparent=True, metadata={"Date": None, "Creator": None}
        )
    text = file.getvalue()
    text = text[text.index("<svg") :]
    # A style sheet in here would hold for the whole page.
    text = re.sub(r"<(metadata|style).*?</\1>", "", text, flags=re.DOTALL)
    text = re.sub(r"font-family: [^;]*; ", "", text)
    used = set(re.findall(r"#([\w.-]+)\)|href=\"#([\w.-]+)\"", text))
    kept = {name for pair in used for name in pair if name}
    text = re.sub(r' id="([^"]+)"', lambda found: found[0] if found[1] in kept else "", text)
    for number, colour in enumerate(_SERIES):
        text = text.replace(colour, f"var(--series-{number})")
    text = text.replace(_INK, "currentColor").replace(_GRID, "var(--line)")
    return re.sub(r"\n\s*", "\n", text).replace("<svg ", '<svg aria-hidden="true" ', 1)
