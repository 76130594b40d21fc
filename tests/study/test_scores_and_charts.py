"""RQ1 tables as text, and charts as files."""

from __future__ import annotations

import io
import xml.etree.ElementTree as ET

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from scoring.aggregates import MEAN_COLUMNS, SCORE_COLUMNS
from scoring.ratios import HALF_WIDTH_COLUMNS, RATIO_COLUMNS
from scoring.study.charts import file_stem, line_chart, surface_chart
from scoring.study.scores import Grid, score_grids

NAN = float("nan")

GRID = Grid(
    "Metric",
    (("net_1", 2), ("net|2", 1)),
    (("orig", "orig"), ("50%", "50%"), ("orig", "orig")),
    (("iou", "$MS_{iou}$"),),
    ((0.12345, NAN, 1.0),),
)


def test_a_table_as_latex() -> None:
    assert GRID.to_latex() == (
        "\\begin{tabular}{lrrr}\n"
        "\\toprule\n"
        " & \\multicolumn{2}{c}{\\textit{net\\_1}} & \\multicolumn{1}{c}{\\textit{net|2}} \\\\\n"
        "Metric & orig & 50\\% & orig \\\\\n"
        "\\midrule\n"
        "$MS_{iou}$ & 0.123 & -- & 1.000 \\\\\n"
        "\\bottomrule\n"
        "\\end{tabular}\n"
    )


def test_a_table_as_csv_and_markdown() -> None:
    assert GRID.to_csv() == "Metric,net_1 orig,net_1 50%,net|2 orig\niou,0.123,,1.000\n"
    assert GRID.to_markdown() == (
        "| Metric | net_1 orig | net_1 50% | net\\|2 orig |\n"
        "| --- | ---: | ---: | ---: |\n"
        "| $MS_{iou}$ | 0.123 | - | 1.000 |\n"
    )


def model_table(offset: float) -> pd.DataFrame:
    columns = ["test_suite", *SCORE_COLUMNS, *MEAN_COLUMNS]
    numbers = offset + np.arange(28) / 1000
    return pd.DataFrame([["orig", *numbers], ["sd", *(numbers + 0.5)]], columns=columns)


def test_the_tables_of_a_case_study() -> None:
    grids = score_grids({"a": model_table(0), "b": model_table(1)}, {"a": "StDM1"})
    assert list(grids) == [
        *("img_metrics", "obj_metrics", "iou_metrics", "a_uc_metrics", "b_uc_metrics"),
    ]
    image = grids["img_metrics"]
    assert image.groups == (("StDM1", 2), ("b", 2))
    assert [sign for _, sign in image.rows] == [
        *("$MS_{img}^{miss}$", "$MS_{img}^{ghost}$", "$MS_{img}^{mg}$"),
    ]
    assert image.numbers[0] == (0, 0.5, 1, 1.5)
    assert grids["obj_metrics"].numbers[1][0] == pytest.approx(0.005)
    assert grids["iou_metrics"].rows == (("[match] iou_mean", "$MS_{iou}$"),)
    uncertainty = grids["b_uc_metrics"]
    assert len(uncertainty.columns) == 15
    assert uncertainty.columns[3] == ("[match] var_diff", "$MS_{va}^{match}$")
    assert [name for name, _ in uncertainty.rows] == ["orig", "sd"]


def ratio_table(dropblock: bool, value: float = 1.0) -> pd.DataFrame:
    rates, blocks = ([0.1, 0.3, 0.5] * 2, [1] * 3 + [3] * 3) if dropblock else ([0.5, 0.1, 0.3], [])
    table = pd.DataFrame({"dropout_rate": rates} | ({"block_size": blocks} if dropblock else {}))
    for name in (*RATIO_COLUMNS, *HALF_WIDTH_COLUMNS):
        table[name] = value * table["dropout_rate"]
    return table


METRIC = "[match] vr_diff"


@pytest.mark.parametrize(("draw", "dropblock"), [(line_chart, False), (surface_chart, True)])
def test_charts_are_pictures_and_the_same_every_time(draw: object, dropblock: bool) -> None:
    assert callable(draw)
    tables = {"one": ratio_table(dropblock), "2$_{_$": ratio_table(dropblock, 2)}
    png = draw(tables, METRIC, "png")
    with Image.open(io.BytesIO(png)) as picture:
        assert min(picture.size) >= 500
        assert len(np.unique(np.asarray(picture.convert("L")))) > 5
    svg = draw(tables, METRIC, "svg")
    assert ET.fromstring(svg).tag.endswith("svg")
    assert svg == draw(tables, METRIC, "svg")


def test_gaps_do_not_stop_a_chart() -> None:
    gapped = ratio_table(False)
    gapped.loc[1, METRIC] = NAN
    gapped[f"{METRIC}_CI95"] = NAN
    empty = ratio_table(False, NAN)
    assert line_chart({"gapped": gapped, "empty": empty}, METRIC) is not None
    assert line_chart({"empty": empty}, METRIC) is None
    one_block = ratio_table(True).query("block_size == 1")
    assert surface_chart({"flat": one_block}, METRIC) is None
    holed = ratio_table(True)
    holed.loc[2, METRIC] = NAN
    assert surface_chart({"holed": holed}, METRIC) is not None


def test_metrics_name_files() -> None:
    stems = {file_stem(metric) for metric in RATIO_COLUMNS}
    assert len(stems) == 19
    assert "match_iou_mean" in stems
    assert all(stem.isidentifier() for stem in stems)
