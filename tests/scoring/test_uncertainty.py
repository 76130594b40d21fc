"""The five measures equal numbers by hand and plain loops over objects, and their invariants."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from scoring import uncertainty as u
from scoring.hull import hull_perimeter
from tests.scoring.scenes import steadily

Floats = npt.NDArray[np.float64]
NAN = float("nan")
CORNERS = ((0, 1), (2, 1), (0, 3), (2, 3))


def plain_negative(row: Floats) -> float:
    return float(sum(q * math.log2(q + 1e-15) for q in row.tolist()))


def plain_entropy(row: Floats) -> float:
    if np.isnan(row).any():
        return NAN
    return max(0.0, round(-plain_negative(row), 5))


def plain_ratio(rows: Floats) -> float:
    votes: dict[int, int] = {}
    for row in rows:
        vote = int(np.argmax(row.astype(np.float32)))
        votes[vote] = votes.get(vote, 0) + 1
    return 1 - max(votes.values()) / len(rows)


def plain_information(rows: Floats) -> float:
    if np.isnan(rows).any():
        return NAN
    information = plain_entropy(rows.mean(axis=0)) + np.mean([plain_negative(row) for row in rows])
    return float(max(0.0, information))


def plain_variance(boxes: Floats) -> float:
    return float(np.var(boxes, axis=0, ddof=1).sum()) if len(boxes) > 1 else 0.0


def plain_surface(boxes: Floats) -> float:
    if len(boxes) < 3:
        return 0.0
    perimeters = [hull_perimeter(boxes[:, list(corner)]) for corner in CORNERS]
    return 0.0 if any(math.isnan(p) for p in perimeters) else sum(perimeters)


def segments(values: Floats, counts: npt.NDArray[np.int64]) -> list[Floats]:
    return np.split(values, np.cumsum(counts)[:-1])


@pytest.mark.parametrize("n_classes", [1, 2, 3, 91])
def test_class_measures_equal_plain_loops(n_classes: int) -> None:
    random = np.random.default_rng(n_classes)
    counts = random.integers(1, 25, 60)
    # Few and coarse values, so that equal entries and equal votes occur.
    probs = random.integers(0, 4, (counts.sum(), n_classes)) / 3.0
    probs[probs.sum(axis=1) == 0] = 0.25
    rows = u.normalise(probs)
    each = segments(rows, counts)
    close = {"rtol": 0, "atol": 1e-12}
    np.testing.assert_allclose(rows.sum(axis=1), 1)
    np.testing.assert_allclose(
        u.variation_ratio(rows, counts), [plain_ratio(s) for s in each], **close
    )
    np.testing.assert_allclose(u.mean_rows(rows, counts), [s.mean(axis=0) for s in each], **close)
    np.testing.assert_allclose(
        u.mutual_information(rows, counts),
        [plain_information(s) for s in each],
        rtol=0,
        atol=1.01e-5,
    )
    np.testing.assert_allclose(u.entropy(rows), [plain_entropy(row) for row in rows], **close)
    # At most one of many sums may round the other way in its fifth decimal.
    differing = ~np.isclose(
        u.mutual_information(rows, counts), [plain_information(s) for s in each], **close
    )
    assert differing.sum() <= 1


def test_box_measures_equal_plain_loops() -> None:
    random = np.random.default_rng(8)
    counts = random.integers(1, 16, 80)
    boxes = (
        random.normal(size=(counts.sum(), 4)) * random.choice([0, 1, 30], (counts.sum(), 1)) + 300
    )
    each = segments(boxes, counts)
    np.testing.assert_allclose(
        u.total_variance(boxes, counts), [plain_variance(s) for s in each], rtol=1e-12, atol=1e-12
    )
    np.testing.assert_allclose(
        u.prediction_surface(boxes, counts), [plain_surface(s) for s in each], rtol=0, atol=1e-9
    )


def test_without_counts_all_rows_are_of_one_object() -> None:
    random = np.random.default_rng(9)
    rows, boxes = u.normalise(random.random((7, 3))), random.random((7, 4))
    one = np.array([7])
    for measure in (u.variation_ratio, u.mutual_information, u.mean_rows):
        np.testing.assert_array_equal(measure(rows), measure(rows, one))
    for measure in (u.total_variance, u.prediction_surface):
        np.testing.assert_array_equal(measure(boxes), measure(boxes, one))


def test_entropy_is_rounded_to_five_decimals_and_never_negative() -> None:
    # -(.7 log2 .7 + .2 log2 .2 + .1 log2 .1) = 1.156779649...
    assert u.entropy(np.array([[0.7, 0.2, 0.1]])).tolist() == [1.15678]
    certain = u.entropy(np.array([[1.0, 0.0]]))
    assert certain.tolist() == [0.0]
    assert not np.signbit(certain).any()


def test_uniform_vectors_have_the_logarithm_of_the_number_of_classes() -> None:
    assert u.entropy(np.full((1, 8), 0.125)).tolist() == [3.0]


def test_information_is_what_the_mean_adds_to_the_parts() -> None:
    # mean (.75, .25): .811278 bits; the parts have 0 and 1 bit
    rows = np.array([[1.0, 0.0], [0.5, 0.5]])
    assert u.mutual_information(rows)[0] == pytest.approx(0.81128 - 0.5, abs=1e-9)


def test_equal_vectors_leave_only_the_rounding_of_the_entropy() -> None:
    # H rounds up from 1.156779649 by 3.5e-7; (.5, .3, .2) has 1.485475297 and rounds up as well
    ten = np.tile([[0.7, 0.2, 0.1]], (10, 1))
    assert u.mutual_information(ten)[0] == pytest.approx(3.5e-7, abs=5e-9)


def test_information_below_zero_becomes_zero() -> None:
    # H(.6, .4) = .970950594 rounds down to .97095
    assert u.mutual_information(np.array([[0.6, 0.4]])).tolist() == [0.0]


def test_votes_that_differ_only_beyond_single_precision_are_equal() -> None:
    """The first of equals wins, so that both rows vote for class 0."""
    rows = np.array([[0.5 + 1e-9, 0.5 - 1e-9], [0.5 - 1e-9, 0.5 + 1e-9]])
    assert u.variation_ratio(rows).tolist() == [0.0]
    apart = np.array([[0.5 + 1e-6, 0.5 - 1e-6], [0.5 - 1e-6, 0.5 + 1e-6]])
    assert u.variation_ratio(apart).tolist() == [0.5]


def test_a_nan_is_the_largest_entry_of_its_row() -> None:
    rows = np.array([[0.1, NAN, 0.9], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    assert u.variation_ratio(rows)[0] == pytest.approx(1 / 3)


def test_nan_stays_in_its_object() -> None:
    rows = np.array([[0.5, 0.5], [NAN, NAN], [1.0, 0.0]])
    counts = np.array([1, 1, 1])
    for measure in (u.mutual_information, lambda r, c: u.entropy(u.mean_rows(r, c))):
        assert np.isnan(measure(rows, counts)).tolist() == [False, True, False]
    boxes = np.arange(32.0).reshape(8, 4) ** 2 % 17
    boxes[5, 2] = NAN
    pairs = np.array([4, 4])
    assert np.isnan(u.total_variance(boxes, pairs)).tolist() == [False, True]
    surface = u.prediction_surface(boxes, pairs)
    assert surface[0] > 0
    assert surface[1] == 0


def test_vectors_without_a_sum_become_nan_or_infinite_in_silence() -> None:
    rows = u.normalise(np.array([[0.0, 0.0], [1.0, -1.0], [0.2, 0.6]]))
    assert np.isnan(rows[0]).all()
    assert np.isinf(rows[1]).all()
    assert rows[2] == pytest.approx([0.25, 0.75])
    counts = np.array([3])
    assert np.isnan(u.mutual_information(rows, counts)).all()
    opposite = u.normalise(np.array([[1.0, -1.0], [-1.0, 1.0]]))
    assert np.isnan(u.mean_rows(opposite)).all()
    assert np.isnan(u.mutual_information(opposite)).all()


def test_no_object_at_all_gives_no_value() -> None:
    none = np.empty(0, np.int64)
    rows, boxes = np.empty((0, 3)), np.empty((0, 4))
    assert u.normalise(rows).shape == (0, 3)
    assert u.mean_rows(rows, none).shape == (0, 3)
    for values in (
        u.entropy(rows),
        u.variation_ratio(rows, none),
        u.mutual_information(rows, none),
        u.total_variance(boxes, none),
        u.prediction_surface(boxes, none),
    ):
        assert values.shape == (0,)


def test_one_class_has_no_uncertainty() -> None:
    rows = u.normalise(np.array([[0.3], [0.9]]))
    assert u.variation_ratio(rows).tolist() == [0.0]
    assert u.mutual_information(rows)[0] == pytest.approx(0, abs=1e-14)  # log2(1 + 1e-15)
    assert u.entropy(u.mean_rows(rows)).tolist() == [0.0]


def test_variance_by_hand() -> None:
    # x1: 0, 2, 4 has sample variance 4; y2: 0, 0, 3 has 3
    boxes = np.array([[0.0, 5, 9, 0], [2, 5, 9, 0], [4, 5, 9, 3]])
    assert u.total_variance(boxes).tolist() == [7.0]


@pytest.mark.parametrize("n", [1, 2])
def test_too_few_boxes_have_no_surface(n: int) -> None:
    assert u.prediction_surface(np.arange(4.0 * n).reshape(n, 4) ** 2).tolist() == [0.0]


def test_a_single_box_has_no_variance() -> None:
    assert u.total_variance(
        np.array([[1.0, 2, 3, 4], [1, 2, 3, 4]]), np.array([1, 1])
    ).tolist() == [0, 0]


def test_surface_adds_the_four_corners() -> None:
    # (x1, y1) and (x1, y2) each go round a 3-4-5 triangle; x2 stays, so that (x2, .) is a line
    boxes = np.array([[0.0, 0, 50, 20], [4, 0, 50, 20], [4, 3, 50, 23]])
    assert u.prediction_surface(boxes)[0] == pytest.approx(24.0)


coarse = arrays(np.float64, st.tuples(st.integers(3, 9), st.just(4)), elements=st.integers(-64, 64))
vectors = arrays(np.float64, st.tuples(st.integers(1, 9), st.just(4)), elements=st.integers(1, 16))


@steadily
@given(rows=vectors, boxes=coarse, seed=st.integers(0, 2**16))
def test_the_order_of_detections_does_not_matter(rows: Floats, boxes: Floats, seed: int) -> None:
    random = np.random.default_rng(seed)
    rows = u.normalise(rows)
    other_rows, other_boxes = random.permutation(rows), random.permutation(boxes)
    assert u.variation_ratio(other_rows) == u.variation_ratio(rows)
    # The rounding to 5 decimals may fall on the other side.
    assert u.mutual_information(other_rows) == pytest.approx(u.mutual_information(rows), abs=1.1e-5)
    assert u.total_variance(other_boxes) == pytest.approx(u.total_variance(boxes), abs=1e-9)
    assert u.prediction_surface(other_boxes) == pytest.approx(u.prediction_surface(boxes), abs=1e-9)


@steadily
@given(rows=vectors, seed=st.integers(0, 2**16))
def test_the_numbers_of_the_classes_do_not_matter(rows: Floats, seed: int) -> None:
    # Distinct entries: among equals, the first wins, and that is not the same class.
    rows = u.normalise(rows + np.array([0, 0.125, 0.25, 0.375]))
    other = rows[:, np.random.default_rng(seed).permutation(4)]
    assert u.variation_ratio(other) == u.variation_ratio(rows)
    assert u.mutual_information(other) == pytest.approx(u.mutual_information(rows), abs=1.1e-5)
    assert u.entropy(other) == pytest.approx(u.entropy(rows), abs=1.1e-5)


@steadily
@given(boxes=coarse, shift=st.integers(-1024, 1024), power=st.integers(-3, 10))
def test_variance_and_surface_follow_translation_and_scale(
    boxes: Floats, shift: int, power: int
) -> None:
    scale = 2.0**power
    variance, surface = u.total_variance(boxes), u.prediction_surface(boxes)
    assert u.total_variance(boxes + shift) == pytest.approx(variance, rel=1e-9, abs=1e-9)
    assert u.prediction_surface(boxes + shift) == pytest.approx(surface, rel=1e-9, abs=1e-9)
    assert u.total_variance(boxes * scale) == variance * scale**2
    assert u.prediction_surface(boxes * scale) == pytest.approx(surface * scale, rel=1e-12)


@pytest.mark.parametrize("most", [1, 2, 25, 200])
def test_means_do_not_depend_on_the_other_objects(most: int) -> None:
    random = np.random.default_rng(8)
    counts = random.integers(1, most + 1, 60)
    rows = random.dirichlet(np.ones(91), counts.sum())
    means = u.mean_rows(rows, counts)
    for mean, own in zip(means, np.split(rows, np.cumsum(counts)[:-1]), strict=True):
        np.testing.assert_array_equal(mean, u.mean_rows(own)[0])
        np.testing.assert_allclose(mean, own.mean(axis=0), rtol=1e-14)
