"""Every row of the table of differences: its example under both choices, others left alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from scoring.levels import object_ratios
from scoring.measures import measure
from scoring.objects import ghost_objects, match_objects
from scoring.passes import Passes
from scoring.rows import COLUMNS, score_image
from scoring.rules import DEEPLUQ, DIFFERING, STRICT, Rules, rules_named
from scoring.tracks import track
from scoring.vectors import looks_sigmoid, read_vectors
from tests.scoring.scenes import Box, found, passes, random_base, random_passes

A: Box = (0, 0, 10, 10)
B: Box = (100, 0, 110, 10)
IOU_98: Box = (0, 0, 10, 9.8)
IOU_80: Box = (100, 0, 110, 8)


def strict_in(field: str, base: Rules = DEEPLUQ) -> Rules:
    """Return the rules with this one choice as in `strict`."""
    return base.with_(**{field: getattr(STRICT, field)})


def cells(original: Passes, mutant: Passes, rules: Rules) -> dict[str, float]:
    return dict(zip(COLUMNS, score_image(original, [mutant], rules)[0].tolist(), strict=True))


def in_both(field: str, original: Passes, mutant: Passes, column: str) -> list[float]:
    """Return a cell as published and with this one choice as in `strict`."""
    return [cells(original, mutant, rules)[column] for rules in (DEEPLUQ, strict_in(field))]


def always(box: Box, probs: Any = (0.0, 1.0, 0.0), n: int = 10) -> Passes:
    return Passes.from_list([found([box], probs=[probs])] * n)


def test_the_rule_sets_differ_in_eighteen_fields_and_by_name() -> None:
    assert len(DIFFERING) == 18
    assert all(getattr(DEEPLUQ, name) != getattr(STRICT, name) for name in DIFFERING)
    assert DEEPLUQ.with_(name="strict", **{n: getattr(STRICT, n) for n in DIFFERING}) == STRICT
    assert (rules_named("deepluq"), rules_named("strict")) == (DEEPLUQ, STRICT)


def test_row_2_one_box_with_two_labels_is_two_objects() -> None:
    original = Passes.from_list([found([A, A], [1, 2])] * 10)
    mutant = Passes.from_list([found([IOU_98, IOU_98], [1, 2])] * 10)
    rates = in_both("original_objects", original, mutant, "[match] match_rate")
    losses = in_both("original_objects", original, mutant, "[match] iou_mean")
    assert rates == [2, 1]
    assert losses == pytest.approx([-0.96, 0.02])


def test_row_2_a_jitter_of_a_thousandth_pixel_is_one_object() -> None:
    jittered = passes(*([(0, 0, 10 + t / 1000, 10)] for t in range(10)))
    published, tracked = (
        match_objects([track(jittered, jittered, rules)], rules)
        for rules in (DEEPLUQ, strict_in("original_objects"))
    )
    assert published.rate.tolist() == pytest.approx([0.1] * 10)
    assert tracked.rate.tolist() == [1]


def test_row_2_rates_are_shares_of_the_passes_that_contain_the_object() -> None:
    original = passes(*([[A]] * 5), *([[]] * 5))
    mutant = passes(*([[A]] * 3), *([[]] * 7))
    assert in_both("original_objects", original, mutant, "[match] match_rate") == [0.3, 0.6]
    assert in_both("original_objects", original, mutant, "[miss] miss_rate") == [0.2, 0.4]


def test_row_3_two_overlapping_ghosts_are_two_objects() -> None:
    ghosts = passes(*([[A, IOU_98]] * 10))
    tables = [
        ghost_objects([track(passes(*([[]] * 10)), ghosts)], rules=rules)
        for rules in (DEEPLUQ, strict_in("ghost_objects"))
    ]
    assert [table.rate.tolist() for table in tables] == [[2], [1, 1]]


def test_row_4_the_entropy_of_a_ghost_is_not_a_sum() -> None:
    """Ten (.5, .5, 0): 10 bit against 1 bit; r / (1 + k) at rate 1."""
    ghosts = always(A, (0.5, 0.5, 0.0))
    got = in_both("ghost_entropy", passes(*([[]] * 10)), ghosts, "[ghost] ie_diff")
    assert got == pytest.approx([1 / 11, 1 / 2])


def test_row_5_ghosts_are_a_share_of_what_the_mutant_found() -> None:
    """m 2, s 3, g 1: 1/6 against 1/3; 0/0 is NaN."""
    counts = np.array([[2, 3, 1]])
    assert object_ratios(counts)[2] == pytest.approx(1 / 6)
    assert object_ratios(counts, strict_in("ghost_ratio"))[2] == pytest.approx(1 / 3)
    only_missed = np.array([[0, 3, 0]])
    assert object_ratios(only_missed)[2] == 0
    assert np.isnan(object_ratios(only_missed, strict_in("ghost_ratio"))[2:4]).all()


def test_row_6_overlap_is_lost_per_pair() -> None:
    """10 pairs of IoU 1 and one of .8, seen once in 10 passes: .46 against .0182."""
    original = passes(*([[A, B]] * 10))
    mutant = passes([A, IOU_80], *([[A]] * 9))
    got = in_both("overlap_loss", original, mutant, "[match] iou_mean")
    assert got == pytest.approx([0.46, 0.2 / 11])
    assert round(got[1], 4) == 0.0182


def box_measures(boxes: Any, rules: Rules) -> list[float]:
    boxes = np.asarray(boxes, dtype=float)
    area = np.array([10_000.0]) if rules.box_scale == "object_area" else None
    probs = np.full((len(boxes), 2), 0.5)
    return measure(probs, boxes, np.array([len(boxes)]), area, rules)[0, 3:].tolist()


def test_row_7_the_surface_is_an_area() -> None:
    """Four boxes on a 4 x 3 rectangle: 4 x 14 against 4 x 12."""
    xy = np.array([[0, 0], [4, 0], [4, 3], [0, 3]])
    boxes, area = np.hstack([xy, xy + 10]), strict_in("surface")
    assert [box_measures(boxes, rules)[1] for rules in (DEEPLUQ, area)] == [56, 48]
    assert [box_measures(boxes[:2], rules)[1] for rules in (DEEPLUQ, area)] == [
        0,
        pytest.approx(np.nan, nan_ok=True),
    ]
    on_a_line = [(t, 2 * t, 50 + t, 60 + 2 * t) for t in range(4)]
    assert box_measures(on_a_line, area)[1] == 0


def test_row_8_box_measures_are_in_units_of_the_area() -> None:
    """(0, 0, 100, 100) moved by (+-2, +-2): .9552 and .9846 against .00213 and .00636."""
    moves = np.array([(-2, -2), (-2, 2), (2, -2), (2, 2)])
    boxes = np.array([0, 0, 100, 100]) + np.hstack([moves, moves])
    scaled = strict_in("surface", strict_in("box_scale"))
    published, got = (np.array(box_measures(boxes, rules)) for rules in (DEEPLUQ, scaled))
    assert (published / (1 + published)).round(4).tolist() == [0.9552, 0.9846]
    assert (got / (1 + got)).round(5).tolist() == [0.00213, 0.00636]
    assert np.isnan(box_measures(boxes[:1], strict_in("box_scale"))[0])
    assert box_measures(boxes[:1], DEEPLUQ)[0] == 0


def test_row_9_the_original_has_an_uncertainty_of_its_own() -> None:
    """(.9, .1) x 5 and (.6, .4) x 5: 0 against .0913 bit."""
    torn = Passes.from_list(
        [found([A], probs=[[0.9, 0.1]])] * 5 + [found([A], probs=[[0.6, 0.4]])] * 5
    )
    tracks = [track(torn, torn)]
    squashed = [
        match_objects(tracks, rules).original[0, 2]
        for rules in (DEEPLUQ, strict_in("original_uncertainty"))
    ]
    assert squashed[0] == pytest.approx(0, abs=1e-5)
    assert round(squashed[1] / (1 - squashed[1]), 4) == 0.0913


def test_row_10_a_rare_match_is_no_uncertainty() -> None:
    """The same one-hot prediction found in 5 of 10 passes: .5 against 0."""
    mutant = passes(*([[A]] * 5), *([[]] * 5))
    for measure_name in ("vr", "ie", "mi", "var", "ps"):
        got = in_both("difference", always(A), mutant, f"[match] {measure_name}_diff")
        assert got == pytest.approx([0.5, 0], abs=1e-9)


def test_row_11_entropy_is_exact() -> None:
    """Mutual information of ten (.7, .2, .1): 3.5e-7 against 2e-16."""
    probs, boxes = np.tile([0.7, 0.2, 0.1], (10, 1)), np.tile([0.0, 0, 1, 1], (10, 1))
    published, exact = (
        measure(probs, boxes, np.array([10]), None, rules)[0]
        for rules in (DEEPLUQ, strict_in("entropy"))
    )
    assert published[2] == pytest.approx(3.5e-7, rel=0.02)
    assert exact[2] < 1e-15
    assert published[1] == 1.15678
    assert exact[1] == pytest.approx(1.1567796494470395, abs=1e-14)
    never = measure(np.array([[1.0, 0.0]]), boxes[:1], np.array([1]), None, strict_in("entropy"))
    assert never[0, 1] == 0


def test_row_12_a_sigmoid_vector_gets_the_probability_of_no_class() -> None:
    """(.5, .1): (.8333, .1667) against (.4545, .0909, .4545)."""
    declared = strict_in("class_vectors").with_(scores="sigmoid")
    raw = np.array([[0.5, 0.1]])
    assert read_vectors(raw, DEEPLUQ).rows.round(4).tolist() == [[0.8333, 0.1667]]
    assert read_vectors(raw, declared).rows.round(4).tolist() == [[0.4545, 0.0909, 0.4545]]


def test_row_12_no_class_cannot_be_voted_for() -> None:
    declared = strict_in("class_vectors").with_(scores="sigmoid")
    for rules in (declared, strict_in("argmax", declared)):
        assert read_vectors(np.array([[0.1, 0.2]]), rules).votes.tolist() == [1]


@pytest.mark.parametrize(
    ("scores", "vector", "is_broken"),
    [
        ("softmax", (0.5, 0.5), False),
        ("softmax", (1 + 5e-7, -5e-7), False),
        ("softmax", (1 + 2e-6, 0.0), True),
        ("softmax", (1.0, -2e-6), True),
        ("softmax", (0.0, 0.0), True),
        ("sigmoid", (0.0, 0.0), False),
        ("sigmoid", (0.9, 1.1), True),
    ],
)
def test_row_12_a_vector_that_is_no_probability_leaves_no_measure(
    scores: str, vector: tuple[float, ...], is_broken: bool
) -> None:
    rules = strict_in("class_vectors").with_(scores=scores)
    probs = np.array([vector, (0.5, 0.5), (0.5, 0.5)])
    boxes = np.tile([0.0, 0, 1, 1], (3, 1))
    both = measure(probs, boxes, np.array([2, 1]), None, rules)
    assert np.isnan(both[0, :3]).tolist() == [is_broken] * 3
    assert not np.isnan(both[1]).any()
    assert not np.isnan(both[:, 3:]).any()


@pytest.mark.parametrize(
    ("vectors", "expected"),
    [
        ([(0.5, 0.5), (0.3, 0.705)], False),
        ([(0.5, 0.5), (0.3, 0.6)], True),
        ([(0.0, 0.0)], False),
        ([(-0.1, 0.5)], False),
        ([(1.2, 0.5)], False),
    ],
)
def test_row_12_undeclared_vectors_are_sigmoid_if_one_cannot_be_softmax(
    vectors: Any, expected: bool
) -> None:
    assert looks_sigmoid(np.array(vectors)) is expected


def test_row_13_votes_are_counted_in_double_precision() -> None:
    """.5 +- 1e-9: variation ratio 0 against .5."""
    probs = np.array([[0.5 + 1e-9, 0.5 - 1e-9], [0.5 - 1e-9, 0.5 + 1e-9]])
    boxes = np.tile([0.0, 0, 1, 1], (2, 1))
    got = [
        measure(probs, boxes, np.array([2]), None, rules)[0, 0]
        for rules in (DEEPLUQ, strict_in("argmax"))
    ]
    assert got == [0, 0.5]


def test_row_14_everything_missed_is_not_a_perfect_overlap() -> None:
    got = in_both("nothing", always(A), passes(*([[]] * 10)), "[match] iou_mean")
    assert got[0] == 0
    assert np.isnan(got[1])


@pytest.mark.parametrize("others", ["deepluq", "strict"])
def test_row_14_what_is_a_true_zero_stays_zero(others: str) -> None:
    rules = strict_in("nothing", rules_named(others))
    nothing = passes(*([[]] * 10))
    missed = cells(always(A), nothing, rules)
    assert missed["[match] match_rate"] == 0
    assert np.isnan([missed[f"[match] {m}_diff"] for m in ("vr", "ie", "mi", "var", "ps")]).all()
    kept = cells(always(A), always(A), rules)
    assert {v for k, v in kept.items() if k.startswith(("[miss]", "[ghost]"))} == {0.0}
    empty = cells(nothing, nothing, rules)
    by_group = {
        group: [v for k, v in empty.items() if k.startswith(group)]
        for group in ("[match]", "[miss]", "[ghost]")
    }
    assert np.isnan(by_group["[match]"] + by_group["[miss]"]).all()
    assert set(by_group["[ghost]"]) == {0.0}


def test_row_15_rates_average_over_all_originals() -> None:
    """Two objects, one never matched: 1 against .5; one missed once in ten: .1 against .05."""
    original = passes(*([[A, B]] * 10))
    never = passes(*([[A]] * 10))
    once = passes([A], *([[A, B]] * 9))
    assert in_both("rate_mean", original, never, "[match] match_rate") == [1, 0.5]
    assert in_both("rate_mean", original, once, "[miss] miss_rate") == pytest.approx([0.1, 0.05])
    assert in_both("rate_mean", original, once, "[miss] ie_diff") == pytest.approx([0.1, 0.05])


def test_row_15_one_unknown_missed_object_leaves_no_miss_mean() -> None:
    """B is in one pass only, so that its variance is NaN; A's alone would not be the mean."""
    original = passes([A, B], *([[A]] * 9))
    mutant = passes(*([[]] * 10))
    row = cells(original, mutant, STRICT)
    assert np.isnan(row["[miss] var_diff"])
    assert row["[miss] ie_diff"] == 1
    only_a = cells(original, passes([B], *([[]] * 9)), STRICT)
    assert only_a["[miss] var_diff"] == 0.5


# Rows of the table that decide about suites, not about an image.
OF_SUITES = ("kill", "noise_floor", "equivalence")
REACH: dict[str, tuple[str, ...]] = {
    "ghost_entropy": ("[ghost] ie_diff",),
    "ghost_ratio": ("[obj_level] kill_rate_ghost_",),
    "overlap_loss": ("[match] iou_mean",),
    "surface": ("[match] ps", "[miss] ps", "[ghost] ps"),
    "box_scale": tuple(f"[{g}] {m}" for g in ("match", "miss", "ghost") for m in ("var", "ps")),
    "original_uncertainty": ("[match] ", "[miss] "),
    "difference": ("[match] vr", "[match] ie", "[match] mi", "[match] var", "[match] ps"),
    "entropy": tuple(f"[{g}] {m}" for g in ("match", "miss", "ghost") for m in ("ie", "mi")),
    "class_vectors": tuple(
        f"[{g}] {m}" for g in ("match", "miss", "ghost") for m in ("vr", "ie", "mi")
    ),
    "argmax": tuple(f"[{g}] vr" for g in ("match", "miss", "ghost")),
    "nothing": ("[match] ", "[miss] "),
    "rate_mean": ("[match] match_rate", "[miss] "),
    "ghost_objects": ("[ghost] ",),
    "original_objects": ("[match] ", "[miss] "),
    "matching": ("[",),
} | dict.fromkeys(OF_SUITES, ())


@pytest.mark.parametrize("field", DIFFERING)
@pytest.mark.parametrize("others", ["deepluq", "strict"])
def test_a_choice_reaches_the_columns_it_is_about_and_no_others(field: str, others: str) -> None:
    base = rules_named(others)
    turned = base.with_(**{field: getattr(DEEPLUQ if others == "strict" else STRICT, field)})
    random = np.random.default_rng(17)
    reached = set()
    for _ in range(25):
        boxes = random_base(random, int(random.integers(0, 4)))
        sides = [random_passes(random, 4, boxes, 3) for _ in "om"]
        before, after = (cells(*sides, rules) for rules in (base, turned))
        reached |= {
            name
            for name in COLUMNS
            if not np.array_equal(before[name], after[name], equal_nan=True)
        }
    assert all(name.startswith(REACH[field]) for name in reached) if REACH[field] else not reached


def test_any_mixture_of_choices_scores_any_image() -> None:
    random = np.random.default_rng(29)
    for _ in range(150):
        taken = [name for name in DIFFERING if random.random() < 0.5]
        rules = DEEPLUQ.with_(
            **{name: getattr(STRICT, name) for name in taken},
            scores=random.choice(["softmax", "sigmoid"]),
        )
        boxes = random_base(random, int(random.integers(0, 4)))
        original, *mutants = (random_passes(random, 3, boxes, 3) for _ in range(3))
        rows = score_image(original, mutants, rules)
        assert rows.shape == (2, len(COLUMNS))
        assert not np.isinf(rows).any()
