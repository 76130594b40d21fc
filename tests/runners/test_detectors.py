"""Loading detectors by name, file and function, and every way in which that can go wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.error import URLError

import pytest
import torch
from torch import Tensor, nn
from torchvision.models import WeightsEnum
from torchvision.models.detection import FasterRCNN_MobileNet_V3_Large_320_FPN_Weights

from runners.architectures import find_weights, parse_model_args
from runners.detectors import load_detector
from runners.fingerprints import state_hash
from scoring.errors import ConfigError, DataError
from tests.builders import image, small_model

SMALL = "fasterrcnn_mobilenet_v3_large_320_fpn"
LITE = "ssdlite320_mobilenet_v3_large"


class TwoBoxes(nn.Module):
    """A user's detector without torchvision's post-processing, weakest detection first."""

    def __init__(self, bad: float = 0.0) -> None:
        super().__init__()
        self.bad = bad
        self.weight = nn.Parameter(torch.rand(3))

    def forward(self, images: list[Tensor]) -> Any:
        boxes = torch.tensor([[0.0, 0.0, 4.0, 4.0], [1.0, 1.0, 9.0, 9.0]])
        boxes[0, 0] += self.bad
        labels, scores = torch.tensor([1, 2]), torch.tensor([0.25, 0.75])
        return [{"boxes": boxes, "labels": labels, "scores": scores} for _ in images]


def two_boxes(bad: float = 0.0) -> nn.Module:
    return TwoBoxes(bad)


def small_rcnn() -> nn.Module:
    return small_model(SMALL)


def not_a_module() -> int:
    return 3


def here(function: str) -> str:
    return f"{__name__}:{function}"


def saved(tmp_path: Path, content: Any, name: str = "weights.pth") -> str:
    torch.save(content, tmp_path / name)
    return str(tmp_path / name)


# By name


def test_random_weights_come_from_the_seed_alone() -> None:
    torch.manual_seed(1)
    state = torch.get_rng_state()
    first = load_detector(LITE, seed=7)
    assert torch.equal(torch.get_rng_state(), state)
    torch.manual_seed(2)
    assert state_hash(load_detector(LITE, seed=7).model) == state_hash(first.model)
    assert state_hash(load_detector(LITE, seed=8).model) != state_hash(first.model)
    assert first.weights == {"kind": "random", "seed": 7}


@pytest.mark.parametrize(
    ("name", "scores", "first_label"),
    [
        (SMALL, "softmax", "__background__"),
        (LITE, "softmax", "__background__"),
        ("retinanet_resnet50_fpn", "sigmoid", "class_0"),
        ("fcos_resnet50_fpn", "sigmoid", "class_0"),
    ],
)
def test_a_builder_is_loaded_by_name(name: str, scores: str, first_label: str) -> None:
    detector = load_detector(name, model_args=["num_classes=4"])
    assert (detector.name, detector.architecture) == (name, name)
    assert not any(module.training for module in detector.model.modules())
    assert detector.scores == scores
    assert detector.label_names == (first_label, "class_1", "class_2", "class_3")


def test_the_name_can_be_chosen() -> None:
    assert load_detector(LITE, name="mine").name == "mine"
    with pytest.raises(ConfigError, match="model name 'a/b'"):
        load_detector(LITE, name="a/b")


def test_an_unknown_model_is_an_error_with_the_nearest_names() -> None:
    with pytest.raises(ConfigError, match=r"'fasterrcnn_resnet_fpn'.*nearest: fasterrcnn_resnet50"):
        load_detector("fasterrcnn_resnet_fpn")
    with pytest.raises(ConfigError, match=r"known: demo_fasterrcnn.*package.module:function"):
        load_detector("yolo")
    with pytest.raises(ConfigError, match="no such detector"):
        load_detector("resnet50")


def test_a_file_of_python_is_named_as_a_module_with_its_function(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConfigError, match=r"did you mean models.mine:FUNCTION\?"):
        load_detector("models/mine.py")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").touch()
    with pytest.raises(ConfigError, match=r"model 'mine': did you mean mine:FUNCTION\?"):
        load_detector("mine")
    (tmp_path / "photos").mkdir()
    with pytest.raises(ConfigError, match="got a folder; images are given with --images"):
        load_detector("photos")


@pytest.mark.parametrize("device", ["gpu", "cuda:99"])
def test_a_device_that_is_not_there_is_an_error(device: str) -> None:
    with pytest.raises(ConfigError, match=f"device '{device}'"):
        load_detector(LITE, device=device)


# Arguments


def test_model_args_are_literals_or_text() -> None:
    args = ["num_classes=3", "min_size=320", "score_thresh=0.5", "a=(1, 2)", "b=True", "c=x=y"]
    assert parse_model_args(args) == {
        "num_classes": 3,
        "min_size": 320,
        "score_thresh": 0.5,
        "a": (1, 2),
        "b": True,
        "c": "x=y",
    }


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["num_classes"], "expected key=value"),
        (["=3"], "expected key=value"),
        (["a=1", "a=2"], "got it twice"),
        (["weights=DEFAULT"], "use --weights"),
        ({"weights_backbone": None}, "use --weights"),
    ],
)
def test_bad_model_args_are_errors(args: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse_model_args(args)


@pytest.mark.parametrize("arg", ["min_sze=3", "num_classes=many", "num_classes=-3"])
def test_an_argument_that_the_builder_does_not_take_is_an_error(arg: str) -> None:
    with pytest.raises(ConfigError, match=r"retinanet_resnet50_fpn: does not take \(.*="):
        load_detector("retinanet_resnet50_fpn", model_args=[arg])


def test_a_mistyped_argument_is_not_swallowed() -> None:
    with pytest.raises(ConfigError, match=r"\(scor_thresh=...\); nearest: score_thresh"):
        load_detector(LITE, model_args=["scor_thresh=0.3"])


# The weights enum


def test_a_member_of_the_enum_is_loaded_with_its_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    published = load_detector(LITE, seed=9).model.state_dict()
    monkeypatch.setattr(WeightsEnum, "get_state_dict", lambda *_args, **_kwargs: published)
    detector = load_detector(LITE, "DEFAULT")
    assert detector.weights == {
        "kind": "enum",
        "name": "SSDLite320_MobileNet_V3_Large_Weights.COCO_V1",
    }
    assert (detector.label_names[0], detector.label_names[1]) == ("__background__", "person")
    assert len(detector.label_names) == 91
    assert all(torch.equal(v, published[k]) for k, v in detector.model.state_dict().items())


def test_a_member_may_be_dotted_but_not_of_another_builder() -> None:
    member = FasterRCNN_MobileNet_V3_Large_320_FPN_Weights.COCO_V1
    assert find_weights(SMALL, str(member)) is member
    assert find_weights(SMALL, "COCO_V1") is member
    with pytest.raises(ConfigError, match=f"expected weights of {LITE}, which are SSDLite"):
        find_weights(LITE, str(member))


def test_an_unknown_member_is_an_error_that_lists_those_there_are() -> None:
    with pytest.raises(ConfigError, match=r"'COCO_V9': expected one of COCO_V1, DEFAULT"):
        load_detector(LITE, "COCO_V9")
    with pytest.raises(ConfigError, match="expected one of COCO_V1, DEFAULT"):
        load_detector(LITE, "SSDLite320_MobileNet_V3_Large_Weights.COCO_V9")


def test_without_network_the_error_says_how_to_pass_a_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_args: Any, **_kwargs: Any) -> None:
        raise URLError("no route to host")

    monkeypatch.setattr(WeightsEnum, "get_state_dict", fail)
    with pytest.raises(DataError, match=r"COCO_V1.*no route to host.*pass it as --weights FILE"):
        load_detector(LITE, "DEFAULT")


def test_a_broken_download_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_args: Any, **_kwargs: Any) -> None:
        raise RuntimeError('invalid hash value (expected "a", got "b")')

    monkeypatch.setattr(WeightsEnum, "get_state_dict", fail)
    with pytest.raises(DataError, match=r"came broken.*delete it"):
        load_detector(LITE, "DEFAULT")


# A function


def test_a_function_gives_a_torchvision_detector() -> None:
    detector = load_detector(here("small_rcnn"))
    assert (detector.name, detector.scores, len(detector.label_names)) == (
        "small_rcnn",
        "softmax",
        7,
    )
    assert detector.weights["kind"] == "factory"
    assert detector.weights["state_sha256"] == state_hash(detector.model)


def test_a_functions_random_weights_come_from_the_seed() -> None:
    hashes = [load_detector(here("two_boxes"), seed=s).weights["state_sha256"] for s in (1, 1, 2)]
    assert hashes[0] == hashes[1] != hashes[2]


def test_a_functions_model_takes_weights_from_a_file(tmp_path: Path) -> None:
    path = saved(tmp_path, {"weight": torch.tensor([1.0, 2.0, 3.0])})
    detector = load_detector(here("two_boxes"), path)
    assert detector.model.state_dict()["weight"].tolist() == [1, 2, 3]
    assert detector.weights["file"] == "weights.pth"


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("no_such_package.models:build", r"importable module 'no_such_package.models'.*PYTHONPATH"),
        (f"{__name__}:two_boxe", "has no function 'two_boxe'; the nearest are two_boxes"),
        ("models/mine.py:build", "did you mean models.mine:build"),
        (f"{__name__}:not_a_module", r"returns a torch.nn.Module, got int"),
    ],
)
def test_a_function_that_gives_no_model_is_an_error(reference: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_detector(reference)


def test_one_hot_vectors_are_made_up_only_when_accepted() -> None:
    with pytest.raises(ConfigError, match="--one-hot"):
        load_detector(here("two_boxes")).detect([image()])
    with pytest.raises(ConfigError, match="--n-classes"):
        load_detector(here("two_boxes"), one_hot=True)
    detector = load_detector(here("two_boxes"), one_hot=True, n_classes=4)
    assert detector.label_names == ("class_0", "class_1", "class_2", "class_3")
    assert detector.scores == "one_hot"
    assert detector.detect([image()])[0].probs.tolist() == [[0, 0, 0.75, 0], [0, 0.25, 0, 0]]


def test_one_hot_means_nothing_where_there_are_vectors() -> None:
    assert load_detector(LITE, one_hot=True).scores == "softmax"


# The built-in detectors


@pytest.mark.parametrize(
    ("name", "scores"), [("demo_fasterrcnn", "softmax"), ("demo_retinanet", "sigmoid")]
)
def test_a_demo_detector_is_loaded_by_name(name: str, scores: str) -> None:
    detector = load_detector(name)
    assert detector.scores == scores
    assert detector.weights == {
        "kind": "builtin",
        "name": name,
        "sha256": state_hash(detector.model),
    }
    assert len(detector.label_names) >= 5


def test_a_demo_detector_takes_no_weights() -> None:
    with pytest.raises(ConfigError, match="drop --weights and --model-arg"):
        load_detector("demo_fasterrcnn", "DEFAULT")


# Functions that fail


def raises() -> nn.Module:
    raise KeyError("lost")


def takes(size: int) -> nn.Module:
    return nn.Conv2d(3, size, 1)


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        (here("raises"), r"the function fails: KeyError: 'lost' \(.*test_detectors.py, line \d+"),
        (here("takes"), "the function fails: TypeError: .*'size'"),
        ("uamt_broken:f", "its module fails: SyntaxError"),
        ("uamt_failing:f", "its module fails: ZeroDivisionError.*uamt_failing.py, line 1"),
        (":f", "expected package.module:function"),
        ("json:", "expected package.module:function"),
    ],
)
def test_a_function_that_fails_is_told_in_one_line(
    reference: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "uamt_broken.py").write_text("def f(:\n")
    (tmp_path / "uamt_failing.py").write_text("1 / 0\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigError, match=message):
        load_detector(reference)


# State


def test_the_state_hash_sees_names_types_shapes_and_bytes() -> None:
    def of(name: str, tensor: Tensor) -> str:
        module = nn.Module()
        module.register_buffer(name, tensor, persistent=False)
        return state_hash(module)

    zeros = torch.zeros(2, 3)
    variants = [
        of("a", zeros),
        of("b", zeros),
        of("a", zeros.reshape(3, 2)),
        of("a", zeros.int()),
        of("a", zeros + 1),
        of("a", zeros.bfloat16()),
        of("a", -zeros),
        of("a", zeros[0, 0]),
        of("a", zeros[:0]),
        of("a", zeros.bool()),
    ]
    assert len(set(variants)) == len(variants)
    assert of("a", torch.arange(6).reshape(2, 3).T) == of(
        "a", torch.tensor([[0, 3], [1, 4], [2, 5]])
    )
