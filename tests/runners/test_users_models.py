"""Models that are not torchvision's: their own vectors, made-up ones, and what is refused."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from types import MethodType
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from runners.class_vectors import (
    detect_with_class_vectors,
    detect_with_one_hot_vectors,
    has_recoverable_vectors,
)
from runners.row_trail import BrokenTrailError
from scoring.errors import ConfigError, DataError
from tests.builders import image, small_model


@pytest.fixture(autouse=True)
def _no_gradients() -> Iterator[None]:
    with torch.inference_mode():
        yield


def altered(name: str, postprocess: Callable[..., Any]) -> nn.Module:
    """A small model whose post-processing has this around it."""
    model = copy.copy(small_model(name))
    original = model.postprocess_detections
    model.__dict__["postprocess_detections"] = lambda *args: postprocess(original, *args)
    return model


def test_scores_that_were_computed_anew_break_the_trail() -> None:
    def rescored(original: Callable[..., Any], *args: Any) -> Any:
        return [{**d, "scores": d["scores"] + 0.0} for d in original(*args)]

    model = altered("ssdlite320_mobilenet_v3_large", rescored)
    with pytest.raises(BrokenTrailError, match="cannot be followed"):
        detect_with_class_vectors(model, [image(3)])


def test_a_broken_trail_is_no_fault_where_the_model_returns_its_vectors() -> None:
    def with_vectors(original: Callable[..., Any], *args: Any) -> Any:
        return [
            {**d, "scores": d["scores"] / 2, "class_probs": torch.zeros(len(d["scores"]), 7)}
            for d in original(*args)
        ]

    model = altered("ssdlite320_mobilenet_v3_large", with_vectors)
    assert not detect_with_class_vectors(model, [image(3)])[0]["class_probs"].any()


def test_a_method_put_on_the_model_itself_runs_with_what_is_followed() -> None:
    def forward(self: nn.Module, images: list[Tensor]) -> Any:
        return type(self).forward(self, images)

    model = copy.copy(small_model("ssdlite320_mobilenet_v3_large"))
    expected = detect_with_class_vectors(model, [image(3)])
    model.__dict__["forward"] = MethodType(forward, model)
    found = detect_with_class_vectors(model, [image(3)])
    assert torch.equal(found[0]["class_probs"], expected[0]["class_probs"])
    assert len(found[0]["scores"])


@pytest.mark.parametrize(
    ("given", "message"), [({"x": 1}, "got dict"), ((1, 2), "got tuple"), ([], "0 calls|1 calls")]
)
def test_a_postprocessing_of_another_kind_is_told_what_to_do(given: Any, message: str) -> None:
    class Odd(Plain):
        def postprocess_detections(self) -> Any:
            return given

        def forward(self, images: list[Tensor]) -> Any:
            self.postprocess_detections()
            return super().forward(images)

    with pytest.raises(ConfigError, match=f"{message}.*'class_probs'"):
        detect_with_class_vectors(Odd().eval(), [image(3)])


def test_detections_dropped_after_the_postprocessing_are_an_error() -> None:
    class Fewer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = small_model("ssdlite320_mobilenet_v3_large")

        def forward(self, images: list[Tensor]) -> Any:
            return [{k: v[:3] for k, v in output.items()} for output in self.inner(images)]

    with pytest.raises(ConfigError, match=r"expected the 40 detections .* got 3 from Fewer"):
        detect_with_class_vectors(Fewer().eval(), [image(3)])


def test_labels_that_are_not_the_columns_break_the_trail() -> None:
    def shifted(original: Callable[..., Any], *args: Any) -> Any:
        return [{**d, "labels": d["labels"] + 1} for d in original(*args)]

    model = altered("ssdlite320_mobilenet_v3_large", shifted)
    with pytest.raises(BrokenTrailError, match="labels are not the columns"):
        detect_with_class_vectors(model, [image(3)])


class Plain(nn.Module):
    """A user's detector: two fixed boxes, and what else it is told to return."""

    def __init__(self, **extra: Tensor) -> None:
        super().__init__()
        self.extra = extra

    def forward(self, images: list[Tensor]) -> Any:
        return [
            {
                "boxes": torch.tensor([[0.0, 0.0, 4.0, 4.0], [1.0, 1.0, 9.0, 9.0]]),
                "labels": torch.tensor([1, 4]),
                "scores": torch.tensor([0.5, 0.75]),
                **self.extra,
            }
            for _ in images
        ]


def test_a_users_model_returns_its_own_vectors() -> None:
    probs = torch.tensor([[0.5, 0.5], [0.25, 0.75]])
    model = Plain(class_probs=probs).eval()
    assert not has_recoverable_vectors(model)
    assert detect_with_class_vectors(model, [image(3)])[0]["class_probs"] is probs


def test_a_users_model_without_vectors_is_told_what_to_do() -> None:
    with pytest.raises(ConfigError, match=r"'class_probs' \(N, C\).*--one-hot"):
        detect_with_class_vectors(Plain().eval(), [image(3)])


def test_one_hot_vectors_hold_the_score_at_the_label() -> None:
    output = detect_with_one_hot_vectors(Plain().eval(), [image(3)])[0]
    assert output["class_probs"].tolist() == [[0, 0.5, 0, 0, 0], [0, 0, 0, 0, 0.75]]
    output = detect_with_one_hot_vectors(Plain().eval(), [image(3)], n_classes=6)[0]
    assert output["class_probs"].shape == (2, 6)


def test_one_hot_vectors_have_three_entries_at_least() -> None:
    model = Plain(labels=torch.tensor([0, 1])).eval()
    assert detect_with_one_hot_vectors(model, [image(3)])[0]["class_probs"].shape == (2, 3)


def test_a_label_beyond_the_classes_is_an_error() -> None:
    with pytest.raises(DataError, match="labels below 3, got 4"):
        detect_with_one_hot_vectors(Plain().eval(), [image(3)], n_classes=3)


def test_a_users_nan_is_an_error() -> None:
    with pytest.raises(DataError, match="NaN or infinite"):
        detect_with_one_hot_vectors(
            Plain(scores=torch.tensor([0.5, float("nan")])).eval(), [image()]
        )


def test_an_output_of_another_kind_is_an_error() -> None:
    class Odd(nn.Module):
        def forward(self, images: list[Tensor]) -> Any:
            return {"boxes": images[0]}

    with pytest.raises(DataError, match="expected a list of 1 dicts"):
        detect_with_class_vectors(Odd().eval(), [image(3)])


def test_training_mode_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"model\.eval\(\)"):
        detect_with_class_vectors(Plain().train(), [image(3)])


def test_no_images_no_outputs() -> None:
    assert detect_with_class_vectors(Plain().eval(), []) == []
