"""scripts/gpu_check.py: its logic on a CPU, and what it says where there is no CUDA device."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import torch

from runners.detectors import load_detector

SCRIPT = Path(__file__).parents[2] / "scripts" / "gpu_check.py"
CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def check() -> Iterator[ModuleType]:
    spec = importlib.util.spec_from_file_location("gpu_check", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["gpu_check"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["gpu_check"]


def test_without_a_device_it_says_so(
    check: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert check.main([]) == 3
    assert "expected a CUDA device" in capsys.readouterr().out


def test_all_checks_hold_between_a_cpu_and_itself(
    check: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check, "SHAPES", check.SHAPES[:2])
    monkeypatch.setattr(check, "BUILTIN", check.BUILTIN[1:])
    effort = check.Effort(images=1, passes=2, rounds=1, height=64, width=64)
    assert check.report(check.run_checks(CPU, "demo_retinanet", effort)) == 0
    out = capsys.readouterr().out
    assert "All checks hold." in out
    assert "boxes 0.0e+00 px, scores 0.0e+00" in out
    assert out.count("passes a second") == 8


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device, and there is none")
def test_all_checks_hold_on_a_gpu(check: ModuleType) -> None:
    effort = check.Effort(images=2, passes=4, rounds=1, height=96, width=96)
    assert check.report(check.run_checks(torch.device("cuda"), "demo_retinanet", effort)) == 0


def test_another_mask_is_found(check: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    dropout, calls = check.mc_dropout, []

    def wrong(x: torch.Tensor, rate: float, rows: object) -> torch.Tensor:
        calls.append(rate)
        found = dropout(x, rate, rows)
        return -found if len(calls) == 1 else found

    monkeypatch.setattr(check, "mc_dropout", wrong)
    (outcome,) = check.mask_checks(CPU, [(4, 3, 9, 9)])
    assert (outcome.holds, outcome.found) == (False, "5 of 6 masked tensors")


def test_other_detections_and_growing_memory_are_found(
    check: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    effort = check.Effort(images=1, passes=1, height=64, width=64)
    detector = load_detector("demo_retinanet")
    from runners.builtin import suites
    from runners.images import list_images, read_image

    ref = list_images(suites()["crowded"], "crowded", "stem")[0]
    settings = check.Settings(passes=1, chunk=1)
    (found, _) = check._run(detector, {"a": read_image(ref.path)}, settings, "fp32")
    gone = [detections.take([0]) for detections in found]
    assert check._closeness("net", [found], [found], "fp32").holds
    assert not check._closeness("net", [found], [gone], "fp32").holds
    held = iter(range(100, 200, 10))
    monkeypatch.setattr(check, "_allocated", lambda device: next(held))
    outcome = check.memory_check(detector, effort, images=4)
    assert outcome.holds is False
    assert check.report(iter([outcome])) == 1
    assert "1 checks failed" in capsys.readouterr().out
