"""Charts (RQ3): a score over the rate with its interval, and over rate and block size."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd

from scoring.ratios import BLOCK, RATE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from mpl_toolkits.mplot3d.axes3d import Axes3D

ImageFormat = Literal["png", "svg"]

_DPI = 150
# Okabe and Ito's colours, which are told apart with any kind of colour vision, and in print by
# their markers.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")


def file_stem(metric: str) -> str:
    """Return a metric's name as part of a file's name.

    Example:
        >>> file_stem("[obj_level] kill_rate_miss_mean")
        'obj_level_kill_rate_miss_mean'
    """
    return re.sub(r"\W+", "_", metric).strip("_")


def line_chart(
    ratios: Mapping[str, pd.DataFrame], metric: str, image_format: ImageFormat = "png"
) -> bytes | None:
    """Return a chart of one score over the drop rate: a line and a 95 % band per model.

    Args:
        ratios: Rows of `mc_dropout_mutation_ratio.csv` by the model's label.
        metric: One of the 19 scores.
        image_format: Of the returned file.

    Returns:
        The file's content; None where no model has a value.

    Source: scoring.md, section 4, number 5.
    """
    known = {label: table for label, table in ratios.items() if table[metric].notna().any()}
    if not known:
        return None
    figure = _figure(6.4, 4.2)
    axes: Axes = figure.add_subplot()
    for number, (label, table) in enumerate(known.items()):
        rows = table.sort_values(RATE)
        rates, means, widths = (
            rows[column].to_numpy(np.float64) for column in (RATE, metric, f"{metric}_CI95")
        )
        colour = _COLOURS[number % len(_COLOURS)]
        marker = _MARKERS[number % len(_MARKERS)]
        axes.plot(rates, means, color=colour, marker=marker, markersize=5, label=_plain(label))
        if not np.isnan(widths).all():
            axes.fill_between(
                rates, means - widths, means + widths, color=colour, alpha=0.15, linewidth=0
            )
    axes.set_xlabel("dropout rate")
    axes.set_ylabel(metric)
    axes.set_title(f"{metric}: mean over suites, 95% interval", fontsize=11)
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, fontsize=9)
    return _content(figure, image_format)


def surface_chart(
    ratios: Mapping[str, pd.DataFrame], metric: str, image_format: ImageFormat = "png"
) -> bytes | None:
    """Return a chart of one score over rate and block size: a surface per model.

    Args:
        ratios: Rows of `mc_dropblock_mutation_ratio.csv` by the model's label.
        metric: One of the 19 scores.
        image_format: Of the returned file.

    Returns:
        The file's content; None where no model has two rates and two block sizes with values.

    Source: scoring.md, section 4, number 5.
    """
    grids = {
        label: table.pivot_table(index=RATE, columns=BLOCK, values=metric, dropna=False)
        for label, table in ratios.items()
        if table[metric].notna().any()
    }
    grids = {label: grid for label, grid in grids.items() if min(grid.shape) >= 2}
    if not grids:
        return None
    n_columns = min(3, len(grids))
    n_rows = math.ceil(len(grids) / n_columns)
    figure = _figure(5.0 * n_columns, 4.6 * n_rows)
    for number, (label, grid) in enumerate(grids.items(), start=1):
        axes: Axes3D = figure.add_subplot(n_rows, n_columns, number, projection="3d")
        blocks, rates = np.meshgrid(
            grid.columns.to_numpy(np.float64), grid.index.to_numpy(np.float64)
        )
        axes.plot_surface(
            rates, blocks, grid.to_numpy(np.float64), cmap="viridis", edgecolor="#404040", lw=0.3
        )
        axes.set_xlabel("drop rate")
        axes.set_ylabel("block size")
        axes.set_yticks(grid.columns.to_numpy(np.float64))
        axes.locator_params(axis="x", nbins=5)
        axes.set_title(_plain(label), fontsize=11)
        axes.view_init(elev=25, azim=-125)
        axes.tick_params(labelsize=8)
        # The vertical axis is labelled by the title: three-dimensional labels are cut off.
    figure.suptitle(f"{metric} (vertical)", fontsize=12)
    return _content(figure, image_format)


def _plain(label: str) -> str:
    """Return a label that is no formula, whatever it holds."""
    return label.replace("$", r"\$")


def _figure(width: float, height: float) -> Figure:
    # Without pyplot: no window, and no state that outlives the figure.
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def _content(figure: Figure, image_format: ImageFormat) -> bytes:
    from matplotlib import rc_context

    file = io.BytesIO()
    # The same figure gives the same bytes: no date, and names of parts that are not drawn by lot.
    metadata = {"Date": None} if image_format == "svg" else {"Software": None}
    with rc_context({"svg.hashsalt": "uamt"}):
        figure.savefig(file, format=image_format, dpi=_DPI, metadata=metadata)
    return file.getvalue()
