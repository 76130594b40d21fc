"""Every kept detection carries the class vector of the row it came from, and nothing else moves."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torchvision.models.detection import FCOS, FasterRCNN, RetinaNet
from torchvision.ops import clip_boxes_to_image

from runners.class_vectors import (
    detect_with_class_vectors,
)
from runners.fingerprints import state_hash
from scoring.errors import DataError
from tests.builders import BUILDERS, image, small_model

Outputs = list[dict[str, Tensor]]


@pytest.fixture(autouse=True)
def _no_gradients() -> Iterator[None]:
    with torch.inference_mode():
        yield


@pytest.fixture(scope="module", params=BUILDERS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module", params=[7, 3, 91])
def found(request: pytest.FixtureRequest, name: str) -> SimpleNamespace:
    """One image through a model: the stock outputs, ours, and what post-processing was given."""
    model = small_model(name, request.param)
    images = [image(0)]
    with torch.inference_mode():
        stock = model(images)
        seen, ours = watched(model, images)
    return SimpleNamespace(
        model=model, n_classes=request.param, images=images, stock=stock, seen=seen, ours=ours
    )


def head_of(model: nn.Module) -> nn.Module:
    return model.roi_heads if isinstance(model, FasterRCNN) else model


def watched(model: nn.Module, images: list[Tensor]) -> tuple[SimpleNamespace, Outputs]:
    """Our detections, with the arguments and boxes of the model's own post-processing."""
    head, seen = head_of(model), SimpleNamespace()
    original = head.postprocess_detections

    def spy(*args: Any) -> Any:
        seen.args = args
        result = original(*args)
        seen.boxes = result[0] if isinstance(result, tuple) else [r["boxes"] for r in result]
        return result

    head.postprocess_detections = spy
    try:
        return seen, detect_with_class_vectors(model, images, boxes_only=True)
    finally:
        del head.postprocess_detections


def all_rows(model: nn.Module, args: Any, i: int) -> tuple[Tensor, Tensor]:
    """Every candidate of image i: boxes (R, C or 1, 4) and class probabilities (R, C)."""
    head = head_of(model)
    if isinstance(model, FasterRCNN):
        logits, deltas, proposals, shapes = args
        rows = slice(sum(map(len, proposals[:i])), sum(map(len, proposals[: i + 1])))
        boxes = head.box_coder.decode(deltas, proposals)[rows]
        return clip_boxes_to_image(boxes, shapes[i]), logits[rows].softmax(-1)
    outputs, anchors, shapes = args
    if not isinstance(model, RetinaNet | FCOS):
        boxes = head.box_coder.decode_single(outputs["bbox_regression"][i], anchors[i])
        return clip_boxes_to_image(boxes, shapes[i])[:, None], outputs["cls_logits"][i].softmax(-1)
    decode = head.box_coder.decode if isinstance(model, FCOS) else head.box_coder.decode_single
    levels = zip(outputs["bbox_regression"], anchors[i], strict=True)
    boxes = torch.cat([decode(deltas[i], level) for deltas, level in levels])
    logits = torch.cat([level[i] for level in outputs["cls_logits"]])
    return clip_boxes_to_image(boxes, shapes[i])[:, None], logits.sigmoid()


def assert_right_rows(model: nn.Module, seen: SimpleNamespace, outputs: Outputs) -> None:
    """By brute force: each vector is the row of a candidate whose box and label are the ones."""
    for i, output in enumerate(outputs):
        boxes, probs = all_rows(model, seen.args, i)
        for box, label, vector in zip(
            seen.boxes[i], output["labels"], output["class_probs"], strict=True
        ):
            own = boxes[:, label if boxes.shape[1] > 1 else 0]
            candidates = ((own - box).abs().amax(1) < 1e-3).nonzero()[:, 0]
            assert len(candidates)
            assert (probs[candidates] - vector).abs().amax(1).min() < 1e-6


def test_small_models_find_twenty_objects_of_two_labels(found: SimpleNamespace) -> None:
    assert len(found.stock[0]["scores"]) >= 20
    assert len(found.stock[0]["labels"].unique()) >= 2


def test_detections_are_bit_identical_to_the_untouched_model(found: SimpleNamespace) -> None:
    for key in ("boxes", "labels", "scores"):
        assert torch.equal(found.ours[0][key], found.stock[0][key])


def test_every_vector_is_the_row_of_its_box(found: SimpleNamespace) -> None:
    assert found.ours[0]["class_probs"].shape == (len(found.ours[0]["scores"]), found.n_classes)
    assert_right_rows(found.model, found.seen, found.ours)


def test_score_follows_from_the_vector(found: SimpleNamespace) -> None:
    output = found.ours[0]
    at_label = output["class_probs"].gather(1, output["labels"][:, None])[:, 0]
    if isinstance(found.model, FCOS):
        assert (output["scores"] <= at_label.sqrt()).all()
    else:
        assert torch.equal(at_label, output["scores"])
    if not isinstance(found.model, RetinaNet | FCOS):
        torch.testing.assert_close(output["class_probs"].sum(1), torch.ones(len(at_label)))


@pytest.fixture(scope="module")
def model(name: str) -> nn.Module:
    return small_model(name, 7)


def tie_scores(model: nn.Module) -> Callable[[], None]:
    """Let every row tie at label 1 and differ elsewhere; return what undoes it."""

    def tied(logits: Tensor) -> Tensor:
        generator = torch.Generator().manual_seed(5)
        if isinstance(model, RetinaNet | FCOS):
            marked = -6 - 3 * torch.rand(logits.shape, generator=generator)
        else:
            marked = torch.zeros(logits.shape)
            row = torch.arange(marked[..., 0].numel()).reshape(marked.shape[:-1])
            # One column of five has no weight: the sum is the same whichever it is.
            marked.scatter_(-1, (2 + row % 5)[..., None], -100.0)
        marked[..., 1] = 1.0 if isinstance(model, RetinaNet | FCOS) else 5.0
        return marked

    if isinstance(model, FasterRCNN):
        return model.roi_heads.box_predictor.register_forward_hook(
            lambda _m, _i, output: (tied(output[0]), output[1])
        ).remove

    def hook(_module: nn.Module, _inputs: Any, output: dict[str, Any]) -> dict[str, Any]:
        logits = output["cls_logits"]
        output["cls_logits"] = tied(logits)
        if "bbox_ctrness" in output:
            output["bbox_ctrness"] = torch.ones_like(output["bbox_ctrness"])
        return output

    return model.head.register_forward_hook(hook).remove


def test_tied_scores_do_not_mix_up_the_rows(model: nn.Module) -> None:
    undo = tie_scores(model)
    try:
        seen, outputs = watched(model, [image(3), image(4)])
    finally:
        undo()
    for output in outputs:
        assert len(output["scores"]) >= 10
        assert len(output["scores"].unique()) == 1
        assert len(output["class_probs"].unique(dim=0)) >= 3
    assert_right_rows(model, seen, outputs)


def test_an_image_in_a_batch_gets_the_vectors_it_gets_alone(model: nn.Module) -> None:
    alone = detect_with_class_vectors(model, [image(3)], boxes_only=True)[0]
    batch = detect_with_class_vectors(model, [image(4), image(3), image(3)], boxes_only=True)
    for key in alone:
        assert torch.equal(batch[1][key], batch[2][key])
    assert len(batch[1]["scores"]) == len(alone["scores"])
    # A batch of another size uses other kernels: nearly equal scores may change places.
    for box, vector in zip(alone["boxes"], alone["class_probs"], strict=True):
        is_same_box = (batch[1]["boxes"] - box).abs().amax(1) < 1e-2
        assert (batch[1]["class_probs"][is_same_box] - vector).abs().amax(1).min() < 1e-3


def test_an_image_without_detections_has_vectors_of_shape_zero_by_c(
    model: nn.Module, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(head_of(model), "score_thresh", 1.5)
    for output in detect_with_class_vectors(model, [image(3), image(4)], boxes_only=True):
        assert output["class_probs"].shape == (0, 7)
        assert output["boxes"].shape == (0, 4)


def test_a_run_leaves_the_model_as_it_was(model: nn.Module) -> None:
    def look() -> Any:
        # torchvision's own forward replaces the cell anchors by equal ones.
        return [
            (name, type(m), {k: id(v) for k, v in vars(m).items() if k != "cell_anchors"})
            for name, m in model.named_modules()
        ]

    before, state = look(), state_hash(model)
    detect_with_class_vectors(model, [image(3)], boxes_only=True)
    assert look() == before
    with pytest.raises(DataError):
        detect_with_class_vectors(model, [image(3) * float("nan")], boxes_only=True)
    assert look() == before
    assert state_hash(model) == state


@pytest.mark.parametrize("layer", ["rpn.head.bbox_pred", "rpn.head.cls_logits", "backbone.body"])
@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_nan_before_the_proposals_is_an_error_and_not_an_empty_image(
    layer: str, bad: float
) -> None:
    model = small_model("fasterrcnn_mobilenet_v3_large_320_fpn")

    def spoil(_module: nn.Module, _inputs: Any, output: Any) -> Any:
        if isinstance(output, dict):
            return {key: value * bad for key, value in output.items()}
        return output * bad

    handle = model.get_submodule(layer).register_forward_hook(spoil)
    try:
        with pytest.raises(DataError, match="NaN or infinite"):
            detect_with_class_vectors(model, [image(3)])
    finally:
        handle.remove()


def test_a_single_nan_logit_is_an_error(name: str, model: nn.Module) -> None:
    def spoil(_module: nn.Module, _inputs: Any, output: Any) -> Any:
        logits = output[0] if isinstance(output, tuple) else output["cls_logits"]
        logits.reshape(-1)[-1] = float("nan")
        return output

    part = model.roi_heads.box_predictor if "rcnn" in name else model.head
    handle = part.register_forward_hook(spoil)
    try:
        with pytest.raises(DataError, match="got 1 NaN or infinite"):
            detect_with_class_vectors(model, [image(3)], boxes_only=True)
    finally:
        handle.remove()


@pytest.mark.parametrize("name_", ["maskrcnn_resnet50_fpn", "keypointrcnn_resnet50_fpn"])
def test_the_extra_branch_runs_only_when_asked_for(name_: str) -> None:
    model = small_model(name_)
    key = "masks" if "mask" in name_ else "keypoints"
    assert key not in detect_with_class_vectors(model, [image(3)], boxes_only=True)[0]
    assert key in detect_with_class_vectors(model, [image(3)])[0]


def test_two_threads_may_share_a_model() -> None:
    model = small_model("ssdlite320_mobilenet_v3_large")
    images = [image(seed) for seed in range(4)]
    expected = [detect_with_class_vectors(model, [x])[0]["class_probs"] for x in images]
    got: dict[int, Tensor] = {}

    def work(i: int) -> None:
        with torch.inference_mode():
            got[i] = detect_with_class_vectors(model, [images[i]])[0]["class_probs"]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i, vectors in enumerate(expected):
        torch.testing.assert_close(got[i], vectors, atol=1e-5, rtol=1e-4)


def test_a_model_inside_another_module_is_followed() -> None:
    class Wrapper(nn.Module):
        def __init__(self, inner: nn.Module) -> None:
            super().__init__()
            self.inner = nn.ModuleDict({"detector": inner})

        def forward(self, images: list[Tensor]) -> Any:
            return self.inner["detector"](images)

    inner = small_model("fasterrcnn_mobilenet_v3_large_320_fpn")
    expected = detect_with_class_vectors(inner, [image(3)])[0]
    got = detect_with_class_vectors(Wrapper(inner).eval(), [image(3)])[0]
    assert torch.equal(got["class_probs"], expected["class_probs"])
