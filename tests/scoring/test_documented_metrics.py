"""The documented calls by numbers worked by hand, and where the reference fails."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from scoring.errors import ConfigError, DataError
from scoring.metrics_dl import DLMetrics
from scoring.metrics_mut.helper import init_metrics, print_metric, update_metrics
from scoring.metrics_mut.ms import (
    calcu_mean,
    check_kill_binomial_test,
    compute_iou,
    convert_detection_output,
    identify_matches_misses_ghosts,
    iskill_img,
    kill_count_img,
    kill_rate_obj,
    spatial_aware,
    un_ms_calcu,
    yolo_to_absolute,
)
from scoring.metrics_mut.ms_calcu import (
    calcu_mutation_score,
    ms_calcu_exec,
    ms_per_test_case_mutant,
    process_ghost_set_dbscan,
    process_match_metrics,
    process_missing_set,
)
from scoring.predictions import convert_detection_output as home_of_conversion
from scoring.rules import DEEPLUQ, STRICT


def record(box: list[float], label: Any = 1, logit: tuple[float, ...] = (0.0, 1.0)) -> dict:
    return {"box": box, "label": label, "score": 0.9, "logit": list(logit)}


def test_overlap_and_rate_weighting_by_hand() -> None:
    assert compute_iou([0, 0, 4, 2], [2, 0, 6, 2]) == pytest.approx(1 / 3)
    assert compute_iou((0, 0, 0, 0), np.zeros(4)) == 0
    assert isinstance(compute_iou([0, 0, 4, 2], [0, 0, 4, 2]), float)
    assert spatial_aware(0.25, 0.8, 0.4) == pytest.approx(0.5)
    with pytest.raises(DataError, match="four numbers each"):
        compute_iou([0, 0, 4], [0, 0, 4, 2])


def test_the_dicts_themselves_come_back_in_the_original_s_order() -> None:
    far, near, other = record([50, 50, 60, 60]), record([0, 0, 10, 10]), record([90, 0, 99, 9])
    near2, far2, swapped = (
        record([0, 0, 10, 9]),
        record([50, 50, 60, 59]),
        record([90, 0, 99, 9], 2),
    )
    for rules in (None, DEEPLUQ, STRICT):
        matches, misses, ghosts = identify_matches_misses_ghosts(
            {"f": far, "n": near, "o": other}, {5: near2, 6: swapped, 7: far2}, rules=rules
        )
        assert [(id(o), id(m)) for o, m in matches] == [(id(far), id(far2)), (id(near), id(near2))]
        assert misses == [other]
        assert misses[0] is other
        assert ghosts[0] is swapped


def test_the_threshold_is_the_argument_s_or_the_rules() -> None:
    orig, mut = {"a": record([0, 0, 10, 10])}, {"a": record([0, 0, 10, 6])}  # IoU .6
    assert len(identify_matches_misses_ghosts(orig, mut)[0]) == 1
    assert len(identify_matches_misses_ghosts(orig, mut, 0.6)[0]) == 0
    rules = DEEPLUQ.with_(iou_threshold=0.7)
    assert len(identify_matches_misses_ghosts(orig, mut, rules=rules)[0]) == 0
    assert len(identify_matches_misses_ghosts(orig, mut, 0.4, rules=rules)[0]) == 1


def test_strict_rules_match_by_label_and_leave_out_flat_boxes() -> None:
    """The table of docs/rules.md: A against another label at IoU 1 and its own at .961."""
    orig = {"a": record([0, 0, 100, 100])}
    mut = {
        "x": record([0, 0, 100, 100], 2),
        "y": record([0, 0, 100, 96.1]),
        "z": record([5, 5, 5, 9]),
    }
    counts = [
        list(map(len, identify_matches_misses_ghosts(orig, mut, rules=rules)))
        for rules in (DEEPLUQ, STRICT)
    ]
    assert counts == [[0, 1, 3], [1, 0, 1]]


def test_kills_by_hand() -> None:
    miss_s, ghost_s = [["a"], [], [], ["b", "c"]], [["d"], ["e"], [], []]
    assert kill_count_img(miss_s, ghost_s) == (2, 2, 3)
    miss, ghost, either = iskill_img(miss_s, ghost_s)
    assert (miss, ghost) == (check_kill_binomial_test(2, 4, 0.01),) * 2
    assert (either["sample_size"], either["observed_success"], either["observed_p1"]) == (
        4,
        3,
        0.75,
    )
    assert iskill_img(miss_s, ghost_s, rules=DEEPLUQ.with_(binomial_n=10))[0]["sample_size"] == 10


@pytest.mark.parametrize(
    ("count", "p_value", "cohens_h", "power"),
    [(0, 1, -0.2003, 0), (1, 0.095618, 0.4432, 0.263901), (2, 0.004266, 0.7270, 0.624190)],
)
def test_the_kill_test_is_the_published_table(
    count: int, p_value: float, cohens_h: float, power: float
) -> None:
    test = check_kill_binomial_test(count, 10, 0.01)
    assert list(test) == [
        "sample_size",
        "observed_success",
        "observed_p1",
        "null_p0",
        "cohens_h",
        "p_value",
        "critical_threshold",
        "power",
    ]
    assert test["p_value"] == pytest.approx(p_value, abs=1e-6)
    assert test["cohens_h"] == pytest.approx(cohens_h, abs=1e-4)
    assert test["power"] == pytest.approx(power, abs=1e-6)
    assert (test["critical_threshold"], test["null_p0"]) == (2, 0.01)


def test_object_ratios_by_hand() -> None:
    match_s, miss_s, ghost_s = [["a", "b"], ["c"]], [["x", "y", "z"], []], [["g"], []]
    rates = kill_rate_obj(match_s, miss_s, ghost_s)
    assert rates["kill_rate_miss_mean"] == pytest.approx(0.3)  # 3/5 and 0
    assert rates["kill_rate_miss_std"] == pytest.approx(0.3)
    assert rates["kill_rate_ghost_mean"] == pytest.approx((1 / 6) / 2)
    assert rates["kill_rate_miss_ghost_mean"] == pytest.approx((4 / 6) / 2)
    strict = kill_rate_obj(match_s, miss_s, ghost_s, rules=STRICT)
    assert strict["kill_rate_ghost_mean"] == pytest.approx((1 / 3) / 2)
    assert np.isnan(kill_rate_obj([[]], [[]], [[]])["kill_rate_miss_mean"])
    with pytest.raises(DataError, match="as many repetitions of each set, got 2, 1 and 2"):
        kill_rate_obj(match_s, [[]], ghost_s)


def test_objects_of_pairs_misses_and_ghosts_by_hand() -> None:
    original, partner = record([0, 0, 10, 10], "car", (0.5, 0.5)), record([0, 0, 10, 8], "car")
    (match,) = process_match_metrics([[(original, partner)], []])
    assert (match["id"], match["label"], match["match_rate"]) == (0, "car", 0.5)
    assert match["ie_orig"] == pytest.approx(0.5)  # 1 bit, squashed
    assert match["ie_mut"] == pytest.approx(0.5)  # 0 bit half the time, else the penalty 1
    assert match["avg_iou"] == pytest.approx(0.4)
    (miss,) = process_missing_set([[original], [original], [], []])
    assert (miss["miss_rate"], miss["ie_miss"], miss["vr_miss"]) == (0.5, 0.75, 0.5)
    (ghost,) = process_ghost_set_dbscan([[original, partner]])
    assert (ghost["ghost_rate"], ghost["label"]) == (2, "car")
    assert len(process_ghost_set_dbscan([[original, partner]], iou_threshold=0.9)) == 2
    strict = process_ghost_set_dbscan([[original, partner]], rules=STRICT)
    assert [one["ghost_rate"] for one in strict] == [1, 1]


def test_rules_that_one_set_cannot_decide_are_refused() -> None:
    for process in (process_match_metrics, process_missing_set):
        with pytest.raises(
            ConfigError, match=r"original_objects='tracked'.*ms_per_test_case_mutant"
        ):
            process([[]], rules=STRICT)
    with pytest.raises(ConfigError, match="difference='measures'"):
        process_match_metrics([[]], rules=DEEPLUQ.with_(difference="measures"))
    with pytest.raises(ConfigError, match="original_uncertainty='own_passes'"):
        process_missing_set([[]], rules=DEEPLUQ.with_(original_uncertainty="own_passes"))


def test_scores_are_added_to_new_dicts() -> None:
    names = ("vr", "ie", "mi", "var", "ps")
    match = {
        "avg_iou": 0.75,
        **{f"{m}_orig": 0.25 for m in names},
        **{f"{m}_mut": 1 for m in names},
    }
    miss, ghost = ({f"{m}_{kind}": 0.75 for m in names} for kind in ("miss", "ghost"))
    before = dict(match)
    matches, misses, ghosts = un_ms_calcu([match], [miss], [ghost])
    assert match == before
    assert matches[0] == match | {f"{m}_ms": 0.75 for m in names} | {"iou_ms": 0.25}
    assert misses[0] == miss | {f"{m}_ms": 0.25 for m in names}
    assert ghosts[0] == ghost | {f"{m}_ms": 0.25 for m in names}
    assert un_ms_calcu([], [], []) == ([], [], [])


def test_means_skip_what_is_not_known() -> None:
    objects = [{"a": 1.0, "b": np.nan}, {"a": np.nan, "b": np.nan}, {"a": 3, "b": np.nan}]
    means = calcu_mean(objects, ["a", "b"])
    assert means["a"] == 2
    assert np.isnan(means["b"])
    assert calcu_mean([], ["a", "b"]) == {"a": 0, "b": 0}
    with pytest.raises(DataError, match=r"object 1: expected b"):
        calcu_mean([{"a": 1, "b": 1}, {"a": 1}], ["a", "b"])


def test_labels_above_two_can_be_converted() -> None:
    assert convert_detection_output is home_of_conversion
    output = convert_detection_output({"boxes": [[0, 0, 1, 1]], "labels": [4], "scores": [0.5]})
    assert output["label_0"]["logit"] == [0, 0, 0, 0, 0.5]


def test_yolo_rows_become_tensors_in_pixels() -> None:
    torch = pytest.importorskip("torch")
    found = yolo_to_absolute([[2, 0.5, 0.5, 0.25, 0.5]])
    assert found["boxes"].tolist() == [[480, 184, 800, 552]]
    assert (found["labels"].tolist(), found["labels"].dtype) == ([2], torch.int64)
    assert found["areas"].tolist() == [320 * 368]
    assert yolo_to_absolute(torch.tensor([[0, 0.5, 0.5, 1, 1]]), 10, 20)["boxes"].tolist() == [
        [0, 0, 10, 20]
    ]
    empty = yolo_to_absolute([])
    assert {key: tuple(value.shape) for key, value in empty.items()} == {
        "boxes": (0, 4),
        "labels": (0,),
        "areas": (0,),
    }
    for wrong in ([[1, 2, 3]], [1, 2, 3, 4, 5], [["a"] * 5]):
        with pytest.raises(DataError, match="YOLO labels"):
            yolo_to_absolute(wrong)


def test_objects_are_printed_as_three_aligned_tables(capsys: pytest.CaptureFixture[str]) -> None:
    one = record([0, 0, 10, 10])
    print_metric(process_match_metrics([[(one, one)]]), process_missing_set([[one]]), [])
    text = capsys.readouterr().out
    blocks = text.split("\n\n")
    assert [block.splitlines()[0] for block in blocks] == ["Matches: 1", "Misses: 1", "Ghosts: 0"]
    for block in blocks[:2]:
        header, row = block.splitlines()[1:]
        assert len(header) == len(row)
    assert "match_rate" in blocks[0]
    assert "var_miss" in blocks[1]


def test_columns_take_the_results_of_a_test_case() -> None:
    assert len(init_metrics()) == 38
    assert init_metrics() is not init_metrics()
    kills = iskill_img([["a"]], [[]])
    rates = kill_rate_obj([[]], [["a"]], [[]])
    with pytest.raises(DataError, match="the seven results of ms_per_test_case_mutant, got 4"):
        update_metrics(init_metrics(), "a", *kills, rates)
    table = init_metrics()
    with pytest.raises(DataError, match=r"\[match\] iou_mean is missing"):
        update_metrics(table, "a", *kills, rates, {}, {}, {})
    assert not any(table.values())


def test_measures_by_hand_and_kept() -> None:
    metrics = DLMetrics()
    names = (
        "variation_ratio",
        "shannon_entropy",
        "mutual_information",
        "total_var_center_point",
        "total_var_bounding_box",
        "prediction_surface",
    )
    assert [getattr(metrics, name) for name in names] == [-1] * 6
    assert (metrics.hull, metrics.box) == (None, None)
    assert metrics.cal_vr([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.6, 0.4]]) == 0.25
    assert metrics.calcu_entropy([0.5, 0.25, 0.25]) == 1.5
    assert metrics.calcu_mi([[1, 0], [0, 1]]) == pytest.approx(1)
    assert metrics.calcu_tv([[0, 0], [2, 0], [4, 6]], "center_point") == pytest.approx(4 + 12)
    assert metrics.calcu_tv([[0, 0, 4, 4], [2, 0, 4, 4]], "bounding_box") == 2
    xy = np.array([[0.0, 0], [4, 0], [4, 3], [0, 3]])
    assert metrics.calcu_prediction_surface(np.hstack([xy, xy + 10])) == 56
    assert [getattr(metrics, name) for name in names] == [0.25, 1.5, pytest.approx(1), 16, 2, 56]
    assert [len(hull) for hull in metrics.hull] == [4] * 4
    assert metrics.box.shape == (4, 4)


def test_entropies_take_a_base_and_an_epsilon() -> None:
    metrics = DLMetrics()
    assert metrics.calcu_entropy([0.25] * 4, base=4) == 1
    assert metrics.calcu_entropy([1.0, 0.0], eps=1.0) == 0  # log2(2) = 1 bit below zero
    assert metrics.calcu_mi([[1, 0], [0, 1]], base=4) == pytest.approx(0.5)
    assert metrics.calcu_entropy([0.5, 0.5], base=np.e) == pytest.approx(np.log(2), abs=1e-5)


def test_few_or_flat_boxes_have_no_surface() -> None:
    metrics = DLMetrics()
    assert metrics.calcu_prediction_surface([]) == -1
    assert metrics.calcu_prediction_surface([[0, 0, 1, 1]] * 2) == -1
    assert metrics.calcu_prediction_surface([[0, 0, k, k] for k in range(4)]) == 0
    assert [len(hull) for hull in metrics.hull] == [0] * 4
    assert np.isnan(metrics.calcu_tv([[0, 0, 1, 1]], "bounding_box"))


def test_three_variables_share_information() -> None:
    metrics = DLMetrics()
    assert metrics.calcu_mutual_information([0, 1] * 2, [0, 0, 1, 1], [7] * 4) == 0
    assert metrics.calcu_mutual_information(["a", "b"], [0, 1], [2.5, 3.5]) == 2
    # Z = X xor Y: pairs independent, the triple not: log2((1/4) / (1/8)) = 1
    assert metrics.calcu_mutual_information([0, 0, 1, 1], [0, 1, 0, 1], [0, 1, 1, 0]) == 1
    with pytest.raises(DataError, match=r"one length, got \[1, 2, 2\]"):
        metrics.calcu_mutual_information([1], [1, 2], [1, 2])


def test_strict_measures_are_exact() -> None:
    strict = DLMetrics(rules=STRICT)
    rows = [[0.7, 0.2, 0.1]] * 10
    assert strict.calcu_mi(rows) < 1e-14 < 1e-7 < DLMetrics().calcu_mi(rows)
    assert strict.calcu_entropy([0.7, 0.2, 0.1]) != DLMetrics().calcu_entropy([0.7, 0.2, 0.1])
    near_tie = [[0.5 + 1e-9, 0.5 - 1e-9], [0.5 - 1e-9, 0.5 + 1e-9]]
    assert (DLMetrics().cal_vr(near_tie), strict.cal_vr(near_tie)) == (0, 0.5)
    xy = np.array([[0.0, 0], [4, 0], [4, 3], [0, 3]])
    assert strict.calcu_prediction_surface(np.hstack([xy, xy + 10])) == 48


def test_what_is_no_number_is_refused() -> None:
    metrics = DLMetrics()
    with pytest.raises(ValueError, match="tag: expected 'bounding_box' or 'center_point'"):
        metrics.calcu_tv([[0, 0]], "box")
    with pytest.raises(DataError, match="events: expected at least 1 row"):
        metrics.cal_vr([])
    with pytest.raises(DataError, match=r"boxes: expected shape \(N, 4\)"):
        metrics.calcu_prediction_surface([[0, 0, 1]] * 3)
    with pytest.raises(DataError, match="events: expected rows of numbers"):
        metrics.calcu_entropy(["a"])


@pytest.mark.parametrize(
    ("call", "arguments"),
    [
        (compute_iou, "boxA, boxB"),
        (spatial_aware, "rate, metric, penalty"),
        (identify_matches_misses_ghosts, "orig_objs, mut_objs, iou_threshold=0.5"),
        (kill_count_img, "miss_s, ghost_s"),
        (iskill_img, "miss_s, ghost_s"),
        (check_kill_binomial_test, "success, n, p_null, alpha=0.05"),
        (kill_rate_obj, "match_s, miss_s, ghost_s"),
        (un_ms_calcu, "match_metrics, miss_metrics, ghost_metrics"),
        (calcu_mean, "results, cols_to_mean"),
        (convert_detection_output, "pred, default_score=1.0"),
        (yolo_to_absolute, "yolo_labels, img_w=1280, img_h=736"),
        (process_match_metrics, "repetitions"),
        (process_missing_set, "repetitions"),
        (process_ghost_set_dbscan, "repetitions, iou_threshold=0.5"),
        (
            ms_per_test_case_mutant,
            "test_case, org_model, mutation_operator, mutation_rate, case_study, T=10",
        ),
        (
            calcu_mutation_score,
            "test_set, org_model, mutation_operator, case_study_p, case_study_n, save_folder, "
            "mutation_rates=None",
        ),
        (ms_calcu_exec, "case_study_name, case_study, save_folder"),
        (init_metrics, ""),
        (print_metric, "match_metrics, miss_metrics, ghost_metrics"),
        (DLMetrics.cal_vr, "self, events"),
        (DLMetrics.calcu_entropy, "self, events, eps=1e-15, base=2"),
        (DLMetrics.calcu_mi, "self, events, eps=1e-15, base=2"),
        (DLMetrics.calcu_tv, "self, matrix, tag"),
        (DLMetrics.calcu_mutual_information, "self, X, Y, Z"),
        (DLMetrics.calcu_prediction_surface, "self, boxes"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_positional_arguments_are_the_documented_ones(
    call: Callable[..., Any], arguments: str
) -> None:
    given = [
        parameter.name if parameter.default is parameter.empty else f"{parameter.name}={default}"
        for parameter in inspect.signature(call).parameters.values()
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD
        for default in [parameter.default]
    ]
    assert ", ".join(given) == arguments
