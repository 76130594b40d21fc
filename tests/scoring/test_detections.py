"""Detections are checked columns: N may be 0, shapes must fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from scoring.detections import Detections
from scoring.errors import DataError

GOOD: dict[str, Any] = {
    "boxes": [[0, 0, 10, 5], [1, 1, 2, 2], [0, 0, 1, 1]],
    "labels": [1, 2, 1],
    "scores": [0.9, 0.5, 0.1],
    "probs": [[0.1, 0.9, 0.0], [0.0, 0.5, 0.5], [1.0, 0.0, 0.0]],
}


def test_columns_become_arrays_of_one_kind() -> None:
    found = Detections(**GOOD)
    assert len(found) == 3
    assert found.n_classes == 3
    assert [c.dtype.kind for c in (found.boxes, found.labels, found.scores, found.probs)] == list(
        "fiff"
    )
    assert found.boxes.dtype == np.float64


def test_nothing_found_has_shapes() -> None:
    for n_classes in (0, 91):
        none = Detections.empty(n_classes)
        assert len(none) == 0
        assert none.n_classes == n_classes
        assert (none.boxes.shape, none.labels.shape, none.scores.shape) == ((0, 4), (0,), (0,))
        assert none.labels.dtype == np.int64
        assert none.is_finite().shape == (0,)
        assert len(none.filtered(0.5, [1])) == 0


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("boxes", [[0, 0, 1]] * 3, r"boxes: expected shape \(N, 4\), got \(3, 3\)"),
        ("boxes", [], r"boxes: expected shape \(N, 4\), got \(0,\)"),
        ("boxes", np.zeros((3, 4, 1)), r"boxes: expected shape \(N, 4\)"),
        ("boxes", 5, r"boxes: expected shape \(N, 4\), got \(\)"),
        ("boxes", [[0, 0, 1, 1], [0, 0, 1]], "expected columns of numbers"),
        ("boxes", [["a", "b", "c", "d"]] * 3, "expected columns of numbers"),
        ("boxes", None, "expected shape"),
        ("labels", [1, 2], r"shape \(3,\), got \(2,\) and \(3,\)"),
        ("labels", [[1], [2], [3]], r"shape \(3,\), got \(3, 1\)"),
        ("labels", 1, r"shape \(3,\), got \(\)"),
        ("labels", [1.0, 2.0, 3.0], "labels: expected whole numbers or strings, got float64"),
        ("labels", [True, False, True], "labels: expected whole numbers or strings, got bool"),
        ("scores", [0.1, 0.2], r"got \(3,\) and \(2,\)"),
        ("scores", [0.1, 0.2, "x"], "expected columns of numbers"),
        ("probs", [[0.5, 0.5]] * 2, r"probs: expected shape \(3, C\), got \(2, 2\)"),
        ("probs", [0.5] * 3, r"probs: expected shape \(3, C\), got \(3,\)"),
        ("probs", [[0.5, 0.5], [1], [1]], "expected columns of numbers"),
    ],
)
def test_columns_that_do_not_fit_are_refused(column: str, value: Any, said: str) -> None:
    with pytest.raises(DataError, match=said):
        Detections(**{**GOOD, column: value})


def test_strings_are_labels_too() -> None:
    found = Detections(**{**GOOD, "labels": ["cat", "dog", "cat"]})
    assert found.labels.dtype == object
    assert found.filtered(classes=["cat"]).labels.tolist() == ["cat", "cat"]


def test_the_value_is_frozen() -> None:
    with pytest.raises(AttributeError):
        Detections(**GOOD).scores = np.zeros(3)  # type: ignore[misc]


def test_rows_are_taken_in_the_order_asked_for() -> None:
    found = Detections(**GOOD)
    assert found.take(np.array([2, 0])).scores.tolist() == [0.1, 0.9]
    assert found.take(found.labels == 1).boxes.tolist() == [[0, 0, 10, 5], [0, 0, 1, 1]]
    assert len(found.take(np.empty(0, np.int64))) == 0


def test_the_score_threshold_is_inclusive_and_classes_are_optional() -> None:
    found = Detections(**GOOD)
    assert found.filtered(0.5).scores.tolist() == [0.9, 0.5]
    assert found.filtered(np.nextafter(0.5, 1)).scores.tolist() == [0.9]
    assert found.filtered(classes={1}).scores.tolist() == [0.9, 0.1]
    assert found.filtered(0.5, (1,)).scores.tolist() == [0.9]
    assert len(found.filtered(classes=[])) == 0
    assert len(found.filtered()) == 3


@pytest.mark.parametrize("column", ["boxes", "scores", "probs"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_rows_that_are_not_finite_are_told_apart(column: str, value: float) -> None:
    columns = {**GOOD, column: np.array(GOOD[column], dtype=float)}
    columns[column].reshape(3, -1)[1, -1] = value
    assert Detections(**columns).is_finite().tolist() == [True, False, True]


def test_an_output_of_torchvision_is_taken_whole() -> None:
    torch = pytest.importorskip("torch")
    output = {
        "boxes": torch.tensor(GOOD["boxes"], dtype=torch.float32, requires_grad=True),
        "labels": torch.tensor(GOOD["labels"]),
        "scores": torch.tensor(GOOD["scores"]),
        "class_probs": torch.tensor(GOOD["probs"]),
        "masks": torch.zeros(3, 1, 8, 8),
    }
    found = Detections.from_torchvision(output)
    assert found.boxes.tolist() == GOOD["boxes"]
    assert found.labels.tolist() == GOOD["labels"]
    assert found.scores.tolist() == np.float32(GOOD["scores"]).tolist()
    assert found.probs.tolist() == np.float32(GOOD["probs"]).tolist()


def test_an_output_without_class_vectors_is_refused() -> None:
    with pytest.raises(DataError, match="missing class_probs, scores"):
        Detections.from_torchvision({"boxes": [], "labels": []})
