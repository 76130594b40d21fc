"""A detector's output as a prediction file: true scores and the full class vector."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from scoring.errors import DataError
from scoring.predictions import convert_detection_output

BOXES = [[0.0, 0.0, 2.0, 1.0], [1.0, 1.0, 4.0, 3.0]]
PROBS = [[0.1, 0.2, 0.3, 0.4], [0.25, 0.5, 0.125, 0.125]]


def vectors(output: dict[str, dict[str, Any]]) -> list[list[float]]:
    return [value["logit"] for value in output.values()]


def test_with_class_vectors_score_and_vector_are_the_true_ones() -> None:
    output = convert_detection_output(
        {"boxes": BOXES, "labels": [3, 1], "scores": [0.4, 0.5], "class_probs": PROBS}
    )
    assert output == {
        "label_0": {"box": BOXES[0], "label": 3, "score": 0.4, "logit": PROBS[0]},
        "label_1": {"box": BOXES[1], "label": 1, "score": 0.5, "logit": PROBS[1]},
    }


def test_with_scores_alone_the_vector_is_the_score_at_the_label() -> None:
    output = convert_detection_output({"boxes": BOXES, "labels": [1, 0], "scores": [0.4, 0.5]})
    assert vectors(output) == [[0.0, 0.4, 0.0], [0.5, 0.0, 0.0]]
    assert [value["score"] for value in output.values()] == [0.4, 0.5]


def test_with_neither_the_vector_is_one_hot_of_the_default_score() -> None:
    output = convert_detection_output({"boxes": BOXES, "labels": [2, 1]})
    assert vectors(output) == [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
    assert [value["score"] for value in output.values()] == [1.0, 1.0]
    output = convert_detection_output({"boxes": BOXES, "labels": [2, 1]}, default_score=0.25)
    assert vectors(output) == [[0.0, 0.0, 0.25], [0.0, 0.25, 0.0]]
    assert [value["score"] for value in output.values()] == [0.25, 0.25]


@pytest.mark.parametrize(("largest", "length"), [(0, 3), (1, 3), (2, 3), (3, 4), (90, 91)])
def test_a_made_up_vector_has_three_entries_or_room_for_the_largest_label(
    largest: int, length: int
) -> None:
    output = convert_detection_output({"boxes": BOXES, "labels": [0, largest]})
    assert [len(vector) for vector in vectors(output)] == [length, length]


def test_a_given_vector_may_be_shorter_than_three() -> None:
    output = convert_detection_output(
        {"boxes": BOXES[:1], "labels": [1], "scores": [0.5], "class_probs": [[0.5, 0.5]]}
    )
    assert vectors(output) == [[0.5, 0.5]]


@pytest.mark.parametrize("boxes", [[], np.empty((0, 4)), np.empty((0,))])
def test_nothing_found_is_an_empty_object(boxes: Any) -> None:
    assert convert_detection_output({"boxes": boxes, "labels": []}) == {}
    everything = {"boxes": boxes, "labels": [], "scores": [], "class_probs": np.empty((0, 91))}
    assert convert_detection_output(everything) == {}


def test_order_is_the_order_given() -> None:
    output = convert_detection_output({"boxes": BOXES, "labels": [1, 1], "scores": [0.1, 0.9]})
    assert [value["box"] for value in output.values()] == BOXES


def test_tensors_give_the_numbers_of_arrays() -> None:
    torch = pytest.importorskip("torch")
    tensors = {
        "boxes": torch.tensor(BOXES, requires_grad=True),
        "labels": torch.tensor([3, 1]),
        "scores": torch.tensor([0.4, 0.5]),
        "class_probs": torch.tensor(PROBS),
    }
    arrays = {
        key: value.detach().numpy().astype(np.int64 if key == "labels" else np.float32)
        for key, value in tensors.items()
    }
    for keys in (("boxes", "labels"), ("boxes", "labels", "scores"), tuple(tensors)):
        output = convert_detection_output({key: tensors[key] for key in keys})
        assert output == convert_detection_output({key: arrays[key] for key in keys})
        assert [type(value["label"]) for value in output.values()] == [int, int]
    # single precision is kept exactly
    assert output["label_0"]["score"] == float(np.float32(0.4))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_tensors_are_kept_exactly(dtype: str) -> None:
    torch = pytest.importorskip("torch")
    boxes = torch.tensor(BOXES, dtype=getattr(torch, dtype))
    scores = torch.tensor([0.1, 0.9], dtype=getattr(torch, dtype))
    output = convert_detection_output(
        {"boxes": boxes, "labels": torch.tensor([1, 1]), "scores": scores}
    )
    assert [value["box"] for value in output.values()] == BOXES
    assert [value["score"] for value in output.values()] == scores.double().tolist()


@pytest.mark.parametrize(
    ("pred", "said"),
    [
        ({"labels": [1]}, "expected boxes"),
        ({"boxes": BOXES}, "expected labels"),
        ({}, "expected boxes and labels"),
        ({"boxes": BOXES[0], "labels": [1]}, r"expected shape \(N, 4\), got \(4,\)"),
        ({"boxes": np.zeros((2, 2)), "labels": [1]}, r"expected shape \(N, 4\), got \(2, 2\)"),
        ({"boxes": np.zeros((2, 3)), "labels": [1, 1]}, r"expected shape \(N, 4\), got \(2, 3\)"),
        ({"boxes": 7, "labels": [1]}, r"expected shape \(N, 4\)"),
        ({"boxes": BOXES, "labels": [1, 1, 1]}, r"one per box, shape \(2,\), got \(3,\)"),
        ({"boxes": BOXES, "labels": [1, 1], "scores": [0.5]}, r"one per box.* and \(1,\)"),
        ({"boxes": BOXES, "labels": [1, 1], "scores": 0.5}, r"one per box.* and \(\)"),
        ({"boxes": BOXES, "labels": [1, 1], "class_probs": PROBS[:1]}, r"expected shape \(2, C\)"),
        ({"boxes": BOXES, "labels": [1, 1], "class_probs": PROBS[0]}, r"expected shape \(2, C\)"),
        ({"boxes": BOXES, "labels": [1, -1]}, "label -1: expected labels from 0 up"),
        ({"boxes": BOXES, "labels": ["a", "b"]}, "made up for whole-number labels only"),
        ({"boxes": BOXES, "labels": [1.5, 2.0]}, "expected whole numbers or strings"),
        ({"boxes": BOXES, "labels": [1, 1], "scores": [0.5, np.nan]}, "label_1: .* not finite"),
    ],
)
def test_what_does_not_fit_is_refused(pred: dict[str, Any], said: str) -> None:
    with pytest.raises(DataError, match=said):
        convert_detection_output(pred)
