"""Weights from local files: what is accepted, what is read from them, and what is refused."""

from __future__ import annotations

import argparse
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torchvision.models import get_model_builder, get_model_weights
from torchvision.ops import FrozenBatchNorm2d

from runners import detectors
from runners.architectures import published_weights
from runners.checkpoints import count_classes, head_args
from runners.detectors import load_detector
from runners.fingerprints import fingerprint_file
from scoring.errors import ConfigError, DataError
from tests.builders import BUILDERS, small_model

SMALL = "fasterrcnn_mobilenet_v3_large_320_fpn"
LITE = "ssdlite320_mobilenet_v3_large"


@pytest.fixture(scope="module")
def lite_state() -> OrderedDict[str, Tensor]:
    return load_detector(LITE, model_args={"num_classes": 5}, seed=3).model.state_dict()


def saved(tmp_path: Path, content: Any, name: str = "weights.pth") -> str:
    torch.save(content, tmp_path / name)
    return str(tmp_path / name)


@pytest.mark.parametrize(
    "wrap",
    [
        lambda state: state,
        lambda state: {"model": state, "optimizer": {}, "epoch": 3},
        lambda state: {"state_dict": {f"module.{k}": v for k, v in state.items()}},
        lambda state: {"model": state, "args": argparse.Namespace(lr=0.1)},
    ],
)
def test_a_state_dict_is_loaded_and_its_classes_counted(
    tmp_path: Path, lite_state: OrderedDict[str, Tensor], wrap: Any
) -> None:
    path = saved(tmp_path, wrap(lite_state))
    detector = load_detector(LITE, path)
    assert len(detector.label_names) == 5
    assert all(torch.equal(v, lite_state[k]) for k, v in detector.model.state_dict().items())
    assert detector.weights == {
        "kind": "file",
        "file": "weights.pth",
        "sha256": fingerprint_file(Path(path)).sha256,
    }


@pytest.mark.parametrize("name", BUILDERS)
def test_the_number_of_classes_is_read_from_the_head(name: str) -> None:
    with torch.device("meta"):  # shapes without numbers
        model = get_model_builder(name)(weights=None, weights_backbone=None, num_classes=7)
    assert count_classes(model.state_dict()) == 7


def test_the_number_of_keypoints_is_read_from_the_head() -> None:
    state = small_model("keypointrcnn_resnet50_fpn").state_dict()
    assert head_args(state) == {"num_classes": 7, "num_keypoints": 17}


def test_a_head_of_another_kind_tells_no_classes() -> None:
    assert count_classes({"fc.weight": torch.zeros(3, 4)}) is None


def test_a_wrong_number_of_classes_is_an_error_with_the_right_one(
    tmp_path: Path, lite_state: OrderedDict[str, Tensor]
) -> None:
    with pytest.raises(ConfigError, match=r"of another shape: head.*--model-arg num_classes=5"):
        load_detector(LITE, saved(tmp_path, lite_state), model_args=["num_classes=3"])


def test_weights_of_another_architecture_are_an_error_that_lists_keys(
    tmp_path: Path, lite_state: OrderedDict[str, Tensor]
) -> None:
    path = saved(tmp_path, lite_state)
    with pytest.raises(ConfigError) as caught:
        load_detector(SMALL, path)
    for part in (path, f"do not fit {SMALL}", "missing in the file: ", "not in the model: "):
        assert part in str(caught.value)
    assert str(caught.value).endswith(f"; the file fits {LITE}")
    assert "--model-arg" not in str(caught.value)
    assert len(str(caught.value)) < 1500


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"gone.pth': expected a file"):
        load_detector(LITE, tmp_path / "gone.pth")
    with pytest.raises(DataError, match="expected a file"):
        load_detector(LITE, tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (lambda: nn.Linear(1, 1), "got Python objects"),
        (lambda: {"model": {"a": nn.Linear(1, 1)}}, "got Python objects"),
        (lambda: torch.zeros(3), "got Tensor"),
        (lambda: {}, "expected a state_dict"),
        (lambda: {"epoch": 3}, "a mapping with 'epoch'"),
        (lambda: argparse.Namespace(a=1), "got Namespace"),
    ],
)
def test_a_file_that_holds_no_state_dict_is_an_error(
    tmp_path: Path, content: Any, message: str
) -> None:
    with pytest.raises(DataError, match=message):
        load_detector(LITE, saved(tmp_path, content()))


@pytest.mark.parametrize("content", [b"", b"garbage", b"PK\x03\x04broken"])
def test_a_file_that_is_no_checkpoint_is_an_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "weights.pth"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"weights.pth'"):
        load_detector(LITE, path)


def test_frozen_norms_in_the_file_make_frozen_norms_in_the_model(tmp_path: Path) -> None:
    state = load_detector(SMALL, model_args={"num_classes": 3}).model.state_dict()
    frozen = {k: v for k, v in state.items() if not k.endswith("num_batches_tracked")}
    detector = load_detector(SMALL, saved(tmp_path, frozen))
    norms = [m for m in detector.model.modules() if isinstance(m, FrozenBatchNorm2d)]
    assert len(norms) == 46
    assert not any(isinstance(m, nn.BatchNorm2d) for m in detector.model.modules())
    assert all(torch.equal(v, frozen[k]) for k, v in detector.model.state_dict().items())


def test_the_published_file_is_known_by_its_hash_and_gets_no_epsilon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "fasterrcnn_resnet50_fpn"
    member = get_model_weights(name).COCO_V1
    assert published_weights(name, "258fb6c6" + "0" * 56) is member
    assert published_weights(name, "0" * 64) is None
    monkeypatch.setattr(detectors, "published_weights", lambda *_: member)
    state = load_detector(name).model.state_dict()
    frozen = {k: v for k, v in state.items() if not k.endswith("num_batches_tracked")}
    detector = load_detector(name, saved(tmp_path, frozen))
    assert {m.eps for m in detector.model.modules() if isinstance(m, FrozenBatchNorm2d)} == {0.0}
    assert detector.label_names == tuple(member.meta["categories"])
