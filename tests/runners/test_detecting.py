"""Detecting: a loaded detector gives what its model gives, and refuses what is no image."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from runners.class_vectors import detect_with_class_vectors
from runners.detectors import Detector, load_detector
from scoring.errors import DataError
from tests.builders import image, small_model
from tests.runners.test_detectors import LITE, SMALL, here


def as_detector(model: nn.Module) -> Detector:
    return Detector(model, "m", "m", {}, {}, (), "softmax", torch.device("cpu"))


@pytest.mark.parametrize("name", ["maskrcnn_resnet50_fpn", "fcos_resnet50_fpn", LITE])
def test_detections_are_those_of_the_model_by_falling_score(name: str) -> None:
    model = small_model(name)
    (found,) = as_detector(model).detect([image(3)])
    with torch.inference_mode():
        expected = detect_with_class_vectors(model, [image(3)], boxes_only=True)[0]
    assert (found.scores[:-1] >= found.scores[1:]).all()
    assert found.boxes.tolist() == expected["boxes"].double().tolist()
    assert found.labels.tolist() == expected["labels"].tolist()
    assert found.scores.tolist() == expected["scores"].double().tolist()
    assert found.probs.tolist() == expected["class_probs"].double().tolist()


def test_boxes_are_in_the_frame_of_their_own_image() -> None:
    (found,) = as_detector(small_model(SMALL)).detect([image(3, 256, 320)])
    assert 160 < found.boxes[:, 2].max() <= 320
    assert 128 < found.boxes[:, 3].max() <= 256


@pytest.mark.parametrize("name", [SMALL, LITE, "retinanet_resnet50_fpn"])
def test_an_image_does_not_depend_on_neighbours_of_another_size(name: str) -> None:
    detector = as_detector(small_model(name))
    images = [image(3), image(4, 200, 90), image(5, 90, 200)]
    for alone, among in zip(
        [detector.detect([x])[0] for x in images], detector.detect(images), strict=True
    ):
        assert among.boxes.tolist() == alone.boxes.tolist()
        assert among.probs.tolist() == alone.probs.tolist()


def test_no_images_no_detections() -> None:
    assert as_detector(small_model(SMALL)).detect([]) == []


@pytest.mark.parametrize(
    "bad", [torch.zeros(4, 5), torch.zeros(4, 5, 5), torch.zeros(3, 5, 5, dtype=torch.uint8)]
)
def test_an_image_of_another_shape_or_type_is_an_error(bad: Tensor) -> None:
    with pytest.raises(DataError, match="image 1 of 2"):
        as_detector(small_model(SMALL)).detect([image(3), bad])


def test_nan_is_an_error_and_not_an_empty_image() -> None:
    with pytest.raises(DataError, match="NaN or infinite"):
        as_detector(small_model(LITE)).detect([image(3) * float("nan")])
    detector = load_detector(
        here("two_boxes"), model_args={"bad": float("inf")}, one_hot=True, n_classes=3
    )
    with pytest.raises(DataError, match="NaN or infinite"):
        detector.detect([image(3)])
