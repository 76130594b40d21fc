"""Charts of a report: a score over the rate, a line per model, as inline SVG.

Each line is the mean over the suites; around it stands its interval, or each suite where they are
too few for one.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pandas as pd

from scoring.aggregates import MEAN_COLUMNS
from scoring.ratios import BLOCK, MODEL_KEYS, RATE, RATIO_COLUMNS
from scoring.suite_tables import DROPBLOCK, DROPOUT, ModelAggregates
from scoring.tags import parse_rate

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

Floats = npt.NDArray[np.float64]

N_COLOURS = 7
FEWEST_FOR_A_BAND = 4
"""Suites from which on an interval of their mean says more than the suites themselves."""
_SIGNS = {
    "\u25cb": "o",
    "\u25a1": "s",
    "\u25b3": "^",
    "\u25c7": "D",
    "\u25bd": "v",
    "\u25b7": ">",
    "\u25c1": "<",
    "\u2606": "*",
    "+": "+",
    "\u00d7": "x",
}
"""Signs of suites that are drawn themselves, and the marker that draws each; then numbers."""
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_DASHES = ("-", "--", ":", "-.")
_SUITE = "test_suite"
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


@dataclass(frozen=True, slots=True)
class SuiteMark:
    """What stands for a suite that is drawn itself.

    Args:
        suite: Its name.
        sign: As the page's legend writes it.
        marker: As charts draw it.
        colours: Numbers of the colours in which it is drawn, one per model.
    """

    suite: str
    sign: str
    marker: str
    colours: tuple[int, ...]


def score_charts(
    dropout: pd.DataFrame | None,
    dropblock: pd.DataFrame | None,
    models: Sequence[ModelAggregates],
) -> list[ScoreCharts]:
    """Return the charts of every score of the ratio tables that some mutant has.

    Args:
        dropout: `mc_dropout_mutation_ratio.csv`, or None without MC-Dropout.
        dropblock: `mc_dropblock_mutation_ratio.csv`, or None without DropBlock.
        models: Means of each suite, in the order of the colours.

    Source: scoring.md, section 4, number 3.
    """
    parts: list[tuple[str, pd.DataFrame, pd.DataFrame]] = []
    if dropout is not None:
        parts.append(("MC-Dropout", dropout, _of_suites(models, DROPOUT)))
    if dropblock is not None:
        of_suites = _of_suites(models, DROPBLOCK)
        parts += [
            (f"MC-DropBlock, block {block}", rows, of_suites[of_suites[BLOCK] == block])
            for block, rows in dropblock.groupby(BLOCK)
        ]
    keys = [model.key for model in models]
    markers = {mark.suite: mark.marker for mark in suite_marks(models)}
    canvases = [_Canvas(rows, of_suites, markers) for _, rows, of_suites in parts]
    found = []
    for column in RATIO_COLUMNS:
        values = [rows[column].to_numpy(np.float64) for _, rows, _ in parts]
        if not any(np.isfinite(value).any() for value in values):
            continue
        reached = [*values, *(suites[column].to_numpy(np.float64) for _, _, suites in parts)]
        if has_bands(models):
            widths = [rows[f"{column}_CI95"].to_numpy(np.float64) for _, rows, _ in parts]
            reached += [value + width for value, width in zip(values, widths, strict=True)]
        limits = _limits(values, reached)
        panels = [
            Panel(title, canvas.draw(column, keys, limits, f"{column}{title}"))
            for (title, _, _), canvas in zip(parts, canvases, strict=True)
        ]
        found.append(ScoreCharts(column, tuple(panels)))
    return found


def has_bands(models: Sequence[ModelAggregates]) -> bool:
    """Return whether some line has an interval around it."""
    return any(len(model.suites) >= FEWEST_FOR_A_BAND for model in models)


def suite_marks(models: Sequence[ModelAggregates]) -> tuple[SuiteMark, ...]:
    """Return the marks of suites beside lines that have too few of them for an interval.

    Args:
        models: In the order of the colours.
    """
    colours: dict[str, list[int]] = {}
    for number, model in enumerate(models):
        # Suites may differ in their mutants, so that some charts have fewer of them.
        by_panel: dict[tuple[str, str], set[str]] = {}
        for suite, means in zip(model.suites, model.means, strict=True):
            for operator, tag in means.mutants:
                if operator in (DROPOUT, DROPBLOCK):
                    by_panel.setdefault((operator, tag.partition("_")[2]), set()).add(suite)
        few = [some for some in by_panel.values() if 1 < len(some) < FEWEST_FOR_A_BAND]
        for suite in model.suites:
            if any(suite in some for some in few):
                colours.setdefault(suite, []).append(number % N_COLOURS)
    signs = [*_SIGNS.items()]
    signs += [(str(n), f"${n}$") for n in range(len(signs) + 1, len(colours) + 1)]
    return tuple(
        SuiteMark(suite, sign, marker, tuple(own))
        for (suite, own), (sign, marker) in zip(colours.items(), signs, strict=False)
    )


def _of_suites(models: Sequence[ModelAggregates], operator: str) -> pd.DataFrame:
    """Return the scores of every suite by itself: a row per model, suite and mutant."""
    rows = []
    for model in models:
        for name, means in zip(model.suites, model.means, strict=True):
            own = means.of_operator(operator)
            for (_, tag), equivalent, values in zip(
                own.mutants, own.equivalent, own.means, strict=True
            ):
                rate, _, block = tag.partition("_")
                known = np.full(len(MEAN_COLUMNS), np.nan) if equivalent else values
                keys = [*model.key, name, float(parse_rate(rate)), int(block or 0)]
                rows.append([*keys, *known.tolist()])
    return pd.DataFrame(rows, columns=[*MODEL_KEYS, _SUITE, RATE, BLOCK, *MEAN_COLUMNS])


def _limits(values: Sequence[Floats], reached: Sequence[Floats]) -> tuple[float, float]:
    """Return the shared range of the panels, from 0, or less where another tool's scores are.

    It ends where the drawing does, and for scores that are shares at 1 at the latest.
    """
    known, drawn = (np.concatenate(each) for each in (values, reached))
    low, high = float(np.nanmin(drawn)), float(np.nanmax(drawn))
    most = max(1.0, float(np.nanmax(known)))
    return min(0.0, low), min(most, high) or 1.0


class _Canvas:
    """Axes of one panel, on which the scores are drawn one after the other.

    Args:
        rows: Of the ratio table.
        of_suites: The same of every suite by itself.
        markers: Of suites that are drawn themselves.
    """

    def __init__(
        self, rows: pd.DataFrame, of_suites: pd.DataFrame, markers: Mapping[str, str]
    ) -> None:
        # Without pyplot: no window, and no state that outlives the figure. Names of models are
        # not drawn: they may hold what no font has, and the page has a legend.
        from matplotlib.figure import Figure
        from matplotlib.ticker import MaxNLocator

        keys = list(MODEL_KEYS)
        self._rows = {key: own.sort_values(RATE) for key, own in rows.groupby(keys)}
        self._of_suites = {
            key: dict(list(own.groupby(_SUITE))) for key, own in of_suites.groupby(keys)
        }
        self._markers_of_suites = markers
        self._figure = Figure(figsize=(3.4, 2.5))
        self._axes: Axes = self._figure.add_axes((0.15, 0.18, 0.79, 0.77))
        axes, rates = self._axes, rows[RATE].to_numpy(np.float64)
        margin = 0.05 * float(np.ptp(rates)) or 0.5 * float(rates[0]) or 0.05
        axes.set_xlim(rates.min() - margin, rates.max() + margin)
        axes.set_xlabel("rate", color=_INK, fontsize=9)
        axes.tick_params(colors=_INK, labelsize=8.5)
        axes.grid(color=_GRID, linewidth=0.7)
        axes.set_facecolor("none")
        axes.spines[["top", "right"]].set_visible(False)
        axes.spines[["left", "bottom"]].set_color(_INK)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(MaxNLocator(nbins=5, steps=[1, 2, 5, 10]))
        if len(set(rates.tolist())) == 1:
            axes.set_xticks([rates[0]], [f"{rates[0]:g}"])

    def draw(
        self,
        column: str,
        models: Sequence[tuple[str, str]],
        limits: tuple[float, float],
        salt: str,
    ) -> str:
        """Return the chart of one score."""
        drawn: list[Artist] = []
        for number, key in enumerate(models):
            drawn += self._line(column, key, number, limits)
        margin = 0.05 * (limits[1] - limits[0])
        self._axes.set_ylim(limits[0] - margin, limits[1] + margin)
        text = _inline(self._figure, salt)
        for artist in drawn:
            artist.remove()
        return text

    def _line(
        self, column: str, key: tuple[str, str], number: int, limits: tuple[float, float]
    ) -> list[Artist]:
        """Draw the score of a model, and return what was drawn."""
        if key not in self._rows:
            return []
        axes, rows = self._axes, self._rows[key]
        rates, means, widths = (
            rows[name].to_numpy(np.float64) for name in (RATE, column, f"{column}_CI95")
        )
        if not np.isfinite(means).any():
            return []
        suites = self._of_suites[key]
        is_alone = len(suites) == 1
        has_band = len(suites) >= FEWEST_FOR_A_BAND
        colour = _SERIES[number % N_COLOURS]
        drawn: list[Artist] = [
            *axes.plot(
                rates,
                means,
                color=colour,
                linestyle=_DASHES[number % len(_DASHES)],
                linewidth=1.8,
                marker=_MARKERS[number % N_COLOURS] if has_band or is_alone else "none",
                markersize=4.5,
            )
        ]
        if has_band and np.isfinite(widths).any():
            # A mean of shares lies between 0 and 1, however far a t interval reaches.
            band = (np.clip(means - widths, *limits), np.clip(means + widths, *limits))
            drawn.append(axes.fill_between(rates, *band, color=colour, alpha=0.16, lw=0))
        if has_band or is_alone:
            return drawn
        for suite, own in suites.items():
            drawn += axes.plot(
                own[RATE].to_numpy(np.float64),
                own[column].to_numpy(np.float64),
                color=colour,
                linestyle="none",
                marker=self._markers_of_suites[str(suite)],
                markersize=4.5,
                markerfacecolor="none",
                markeredgewidth=1.0,
            )
        return drawn


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
