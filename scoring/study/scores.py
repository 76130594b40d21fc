"""Scores (RQ1): the models' tables at three decimals, as CSV, LaTeX and Markdown."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from csv import writer
from dataclasses import dataclass

import numpy as np
import pandas as pd

from scoring.aggregates import SCORE_COLUMNS
from scoring.rows import KINDS
from scoring.suites import UA_MS_COLUMNS
from scoring.tables import STEM_COLUMN

_KIND_SIGNS = {"miss": "miss", "ghost": "ghost", "miss_ghost": "mg"}
_MEASURE_SIGNS = {"vr": "vr", "ie": "ie", "mi": "mi", "var": "va", "ps": "ps"}

_LATEX_ESCAPES = {
    "\\": r"\textbackslash{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}


@dataclass(frozen=True, slots=True)
class Grid:
    """A table of numbers under two lines of headers.

    Args:
        corner: What stands over the names of the rows.
        groups: Label and number of columns of each group, from left to right.
        columns: Names of the columns, as data and as a formula (the same where there is none).
        rows: Names of the rows, likewise.
        numbers: One line per row.
    """

    corner: str
    groups: tuple[tuple[str, int], ...]
    columns: tuple[tuple[str, str], ...]
    rows: tuple[tuple[str, str], ...]
    numbers: tuple[tuple[float, ...], ...]

    def to_csv(self) -> str:
        """Return the table as CSV; the group stands before a column's name; NaN is empty."""
        labels = [label for label, width in self.groups for _ in range(width)]
        text = io.StringIO()
        lines = writer(text, lineterminator="\n")
        heads = [f"{label} {plain}" for label, (plain, _) in zip(labels, self.columns, strict=True)]
        lines.writerow([self.corner, *heads])
        for (plain, _), numbers in zip(self.rows, self.numbers, strict=True):
            lines.writerow([plain, *(_decimals(number, "") for number in numbers)])
        return text.getvalue()

    def to_latex(self) -> str:
        """Return the table as a `tabular` for the booktabs package; NaN is a dash."""
        groups = [
            f"\\multicolumn{{{width}}}{{c}}{{\\textit{{{_latex(label)}}}}}"
            for label, width in self.groups
        ]
        heads = [_formula(*name) for name in self.columns]
        lines = [
            f"\\begin{{tabular}}{{l{'r' * len(self.columns)}}}",
            "\\toprule",
            f" & {' & '.join(groups)} \\\\",
            f"{_latex(self.corner)} & {' & '.join(heads)} \\\\",
            "\\midrule",
        ]
        for name, numbers in zip(self.rows, self.numbers, strict=True):
            cells = " & ".join(_decimals(number, "--") for number in numbers)
            lines.append(f"{_formula(*name)} & {cells} \\\\")
        return "\n".join([*lines, "\\bottomrule", "\\end{tabular}", ""])

    def to_markdown(self) -> str:
        """Return the table as Markdown; NaN is a dash."""
        labels = [label for label, width in self.groups for _ in range(width)]
        heads = [f"{label} {sign}" for label, (_, sign) in zip(labels, self.columns, strict=True)]
        lines = [[self.corner, *heads], ["---", *["---:"] * len(heads)]]
        for (_, sign), numbers in zip(self.rows, self.numbers, strict=True):
            lines.append([sign, *(_decimals(number, "-") for number in numbers)])
        return "".join(
            "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines
        )


def _decimals(number: float, unknown: str) -> str:
    return unknown if np.isnan(number) else f"{number:.3f}"


def _latex(text: str) -> str:
    return "".join(_LATEX_ESCAPES.get(sign, sign) for sign in text)


def _formula(plain: str, sign: str) -> str:
    return sign if sign != plain else _latex(plain)


def _sign_of(column: str) -> str:
    """Return the formula of an uncertainty-aware score.

    Example:
        >>> _sign_of("[miss] var_diff")
        '$MS_{va}^{miss}$'
    """
    group, name = column.removeprefix("[").split("] ")
    return f"$MS_{{{_MEASURE_SIGNS[name.removesuffix('_diff')]}}}^{{{group}}}$"


def score_grids(
    models: Mapping[str, pd.DataFrame], labels: Mapping[str, str] | None = None
) -> dict[str, Grid]:
    """Return the tables of one case study by name.

    Args:
        models: `ua_ms_model.csv` of each model, in the order of the columns.
        labels: What to call a model; its own name where missing.

    Returns:
        `img_metrics`, `obj_metrics` and `iou_metrics` over all models and suites, and
        `{model}_uc_metrics` with the 15 uncertainty-aware scores of one model.

    Source: scoring.md, section 4, number 5.
    """
    labels = labels or {}
    image = {column: f"$MS_{{img}}^{{{_KIND_SIGNS[kind]}}}$" for column, kind in _by_kind()}
    objects = {
        f"[obj_level] kill_rate_{kind}_mean": f"$MS_{{obj}}^{{{sign}}}$"
        for kind, sign in _KIND_SIGNS.items()
    }
    grids = {
        "img_metrics": _metrics_by_suite(models, labels, image),
        "obj_metrics": _metrics_by_suite(models, labels, objects),
        "iou_metrics": _metrics_by_suite(models, labels, {"[match] iou_mean": "$MS_{iou}$"}),
    }
    for model, table in models.items():
        suites = [str(name) for name in table[STEM_COLUMN]]
        grids[f"{model}_uc_metrics"] = Grid(
            STEM_COLUMN,
            ((labels.get(model, model), len(UA_MS_COLUMNS)),),
            tuple((column, _sign_of(column)) for column in UA_MS_COLUMNS),
            tuple((name, name) for name in suites),
            tuple(map(tuple, table[list(UA_MS_COLUMNS)].to_numpy(np.float64).tolist())),
        )
    return grids


def _by_kind() -> Sequence[tuple[str, str]]:
    return tuple(zip(SCORE_COLUMNS, KINDS, strict=True))


def _metrics_by_suite(
    models: Mapping[str, pd.DataFrame], labels: Mapping[str, str], signs: Mapping[str, str]
) -> Grid:
    suites = [str(name) for table in models.values() for name in table[STEM_COLUMN]]
    numbers = pd.concat([table[list(signs)] for table in models.values()]).to_numpy(np.float64)
    return Grid(
        "Metric",
        tuple((labels.get(model, model), len(table)) for model, table in models.items()),
        tuple((name, name) for name in suites),
        tuple(signs.items()),
        tuple(map(tuple, numbers.T.tolist())),
    )
