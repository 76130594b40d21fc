"""Means, scores and ratios of small arrays, worked by hand."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from scoring.aggregates import (
    MEAN_COLUMNS,
    MutantMeans,
    image_scores,
    mutant_means,
    ua_ms,
    ua_ms_model,
    ua_ms_n_used,
)
from scoring.ratios import (
    HALF_WIDTH_COLUMNS,
    RATIO_COLUMNS,
    half_width_95,
    mean_per_parameter,
    mutation_ratio,
)
from scoring.rows import COLUMNS
from scoring.suites import SuiteScores
from tests.study.tables import row

IOU = "[match] iou_mean"
NAN = float("nan")


def suite(
    counts: list[list[int]], iou: list[list[float]], tags: tuple[str, ...] = ("0.1", "0.3")
) -> SuiteScores:
    """Return a suite of images (rows) and mutants (columns): changed passes, and one score."""
    rows = []
    for image_counts, image_iou in zip(counts, iou, strict=True):
        cells = []
        for count, value in zip(image_counts, image_iou, strict=True):
            cell = row((count, 0, count), np.zeros(25))
            cell[COLUMNS.index(IOU)] = value
            cells.append(cell)
        rows.append(cells)
    stems = tuple(f"i{n}" for n in range(len(rows)))
    mutants = tuple(("mc_dropblock" if "_" in tag else "mc_dropout", tag) for tag in tags)
    return SuiteScores("net", "orig", stems, mutants, np.array(rows))


SUITE = suite([[0, 1], [0, 3]], [[0.2, NAN], [0.4, 0.5]])


def test_a_row_per_mutant_in_the_published_columns() -> None:
    table = ua_ms(mutant_means(SUITE))
    assert list(table)[:5] == [
        "mutant_id",
        "equivalent_mutant",
        "iskill_miss",
        "iskill_ghost",
        "iskill_miss_ghost",
    ]
    assert tuple(table)[5:] == MEAN_COLUMNS
    assert len(MEAN_COLUMNS) == 25
    assert MEAN_COLUMNS[0] == "[obj_level] kill_rate_miss_mean"
    assert table["mutant_id"].tolist() == ["mutant_mc_dropout_0.1", "mutant_mc_dropout_0.3"]
    assert table["iskill_miss"].tolist() == table["iskill_miss_ghost"].tolist() == [False, True]
    assert table["iskill_ghost"].tolist() == table["equivalent_mutant"].tolist() == [False] * 2
    assert table[IOU].tolist() == pytest.approx([0.3, 0.5])
    text = table.to_csv(index=False).splitlines()[1]
    assert text.startswith("mutant_mc_dropout_0.1,False,False,False,False,0.0,")


def test_a_mean_over_nothing_is_empty_and_counted() -> None:
    means = mutant_means(suite([[0, 0]], [[NAN, 0.5]]))
    assert math.isnan(ua_ms(means).loc[0, IOU])
    n_used = ua_ms_n_used(means)
    assert list(n_used) == ["mutant_id", *MEAN_COLUMNS]
    assert n_used[IOU].tolist() == [0, 1]
    assert n_used[MEAN_COLUMNS[0]].tolist() == [1, 1]
    # the model's mean is the other mutant's
    assert ua_ms_model([("orig", means)]).loc[0, IOU] == 0.5


def test_the_rule_decides_what_is_a_kill() -> None:
    """One changed pass of ten has p = .0956."""
    scores = suite([[1, 3]], [[0.0, 0.0]])
    assert mutant_means(scores).killed[:, 0].tolist() == [True, True]
    assert mutant_means(scores, rule="significant").killed[:, 0].tolist() == [False, True]


def test_equivalent_mutants_leave_scores_and_means() -> None:
    scores = suite([[0, 1, 0]], [[0.9, 0.2, 0.4]], ("0.1", "0.3", "0.5"))
    equivalent = {("mc_dropout", "0.1")}
    means = mutant_means(scores, equivalent=equivalent)
    assert image_scores(means).tolist() == [0.5, 0, 0.5]
    assert ua_ms_model([("orig", means)]).loc[0, IOU] == pytest.approx(0.3)
    all_of_them = mutant_means(scores, equivalent=set(scores.mutants))
    assert np.isnan(image_scores(all_of_them)).all()
    table = ua_ms_model([("orig", all_of_them)])
    assert table.drop(columns="test_suite").isna().to_numpy().all()


def test_a_model_has_a_row_per_suite_and_can_be_split_by_operator() -> None:
    means = mutant_means(suite([[1, 0, 0]], [[0.6, 0.1, 0.2]], ("0.1", "0.1_1", "0.1_3")))
    table = ua_ms_model([("sd", means), ("orig", means)])
    assert table["test_suite"].tolist() == ["sd", "orig"]
    assert len(table.columns) == 29
    assert table.loc[0, "[img_level] ms_miss"] == pytest.approx(1 / 3)
    dropblock = ua_ms_model([("sd", means.of_operator("mc_dropblock"))])
    assert dropblock.loc[0, "[img_level] ms_miss"] == 0
    assert dropblock.loc[0, IOU] == pytest.approx(0.15)


def test_means_are_those_of_pandas_to_the_last_bit() -> None:
    """Rank tests see a tie only where means are equal bit for bit."""
    random = np.random.default_rng(0)
    values = random.random((300, 2, len(COLUMNS)))
    scores = SuiteScores(
        "m", "s", tuple(map(str, range(300))), (("a", "0.1"), ("a", "0.2")), values
    )
    means = mutant_means(scores).means
    for m in range(2):
        frame = pd.DataFrame(np.ascontiguousarray(values[:, m]), columns=list(COLUMNS))
        columns = [float(frame[name].mean()) for name in MEAN_COLUMNS]
        assert means[m].tolist() == columns


def test_half_widths_are_those_of_the_t_interval() -> None:
    """1, 2, 4: sd = sqrt(7/3), t(.975, 2) = 4.302653."""
    values = np.array([[1.0, 5.0, NAN], [2.0, NAN, NAN], [4.0, NAN, NAN]])
    widths = half_width_95(values)
    assert widths[0] == pytest.approx(4.302652729911275 * math.sqrt(7 / 3) / math.sqrt(3))
    assert np.isnan(widths[1:]).all()
    low, high = stats.t.interval(0.95, 2, loc=7 / 3, scale=stats.sem([1, 2, 4]))
    assert widths[0] == pytest.approx((high - low) / 2, rel=1e-12)


def ratio(values: dict[str, list[float]], operator: str = "mc_dropout") -> pd.DataFrame:
    """Return the ratio table of a mutant per tag and a suite per value."""
    n_suites = len(next(iter(values.values())))
    suites = [
        mutant_means(suite([[0] * len(values)], [[v[s] for v in values.values()]], tuple(values)))
        for s in range(n_suites)
    ]
    return mutation_ratio({("case", "net"): suites}, operator)


def test_ratios_are_means_over_suites_with_their_half_widths() -> None:
    table = ratio({"0.1": [0.2, 0.4], "0.30": [0.5, NAN]})
    assert list(table) == [
        *("case_study", "model", "dropout_rate"),
        *RATIO_COLUMNS,
        *HALF_WIDTH_COLUMNS,
    ]
    assert len(RATIO_COLUMNS) == len(HALF_WIDTH_COLUMNS) == 19
    assert table["dropout_rate"].tolist() == [0.1, 0.3]
    assert table[IOU].tolist() == pytest.approx([0.3, 0.5])
    # two suites: t(.975, 1) = 12.7062, sd / sqrt(2) = .1
    assert table[f"{IOU}_CI95"][0] == pytest.approx(1.2706204736)
    assert np.isnan(table[f"{IOU}_CI95"][1])
    assert ratio({"0.1": [0.2]})[f"{IOU}_CI95"].isna().all()


def test_ratios_of_dropblock_name_rate_and_block() -> None:
    table = ratio({"0.1_1": [0.1], "0.1_3": [0.2], "0.5_1": [0.3], "0.5_3": [0.8]}, "mc_dropblock")
    assert table[["dropout_rate", "block_size"]].to_numpy().tolist() == [
        [0.1, 1],
        [0.1, 3],
        [0.5, 1],
        [0.5, 3],
    ]
    by_block = mean_per_parameter(table, "block_size")
    assert list(by_block)[:4] == ["case_study", "model", "block_size", RATIO_COLUMNS[0]]
    assert by_block[IOU].tolist() == pytest.approx([0.2, 0.5])
    by_rate = mean_per_parameter(table, "dropout_rate")
    assert by_rate[IOU].tolist() == pytest.approx([0.15, 0.55])
    assert by_rate["dropout_rate"].tolist() == [0.1, 0.5]


def test_models_keep_their_order_and_half_widths_are_averaged() -> None:
    means: list[MutantMeans] = [
        mutant_means(suite([[0, 0]], [[a, b]], ("0.1_1", "0.5_1")))
        for a, b in ((0.1, 0.2), (0.3, 0.6))
    ]
    table = mutation_ratio({("z", "net"): means, ("a", "net"): means}, "mc_dropblock")
    by_block = mean_per_parameter(table, "block_size")
    assert by_block["case_study"].tolist() == ["z", "a"]
    half_widths = table[f"{IOU}_CI95"][:2]
    assert by_block[f"{IOU}_CI95"][0] == pytest.approx(half_widths.mean())


def test_an_equivalent_mutant_is_left_out_of_its_ratio() -> None:
    scores = suite([[0, 0]], [[0.2, 0.4]])
    means = [mutant_means(scores, equivalent={("mc_dropout", "0.1")})] * 2
    table = mutation_ratio({("case", "net"): means}, "mc_dropout")
    assert math.isnan(table[IOU][0])
    assert table[IOU][1] == 0.4
