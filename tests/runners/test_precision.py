"""Precision: asked for by name, and as before behind the run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch

from runners.precision import float32_precision
from runners.settings import Settings, arithmetic
from scoring.errors import ConfigError

NEWER = hasattr(torch.backends.cudnn, "conv")


def switches() -> list[Any]:
    """Every switch of both kinds, as a user reads them."""
    matmul, cudnn = torch.backends.cuda.matmul, torch.backends.cudnn
    found: list[Any] = [matmul.allow_tf32, cudnn.allow_tf32, cudnn.benchmark]
    if NEWER:
        found += [matmul.fp32_precision, cudnn.conv.fp32_precision, cudnn.rnn.fp32_precision]
    return found


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    before = switches()
    yield
    torch.backends.cuda.matmul.allow_tf32 = before[0]
    torch.backends.cudnn.allow_tf32 = before[1]
    if NEWER:
        torch.backends.cuda.matmul.fp32_precision = before[3]
        torch.backends.cudnn.conv.fp32_precision = before[4]
        torch.backends.cudnn.rnn.fp32_precision = before[5]
    assert switches() == before


@pytest.mark.parametrize(("precision", "is_tf32"), [("fp32", False), ("tf32", True)])
def test_both_kinds_of_switches_say_the_same(precision: Any, is_tf32: bool) -> None:
    with arithmetic(1, precision):
        found = switches()
    assert found[:2] == [is_tf32, is_tf32]
    assert set(found[3:]) <= {"tf32" if is_tf32 else "ieee"}


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("precision", ["fp32", "tf32"])
def test_switches_are_restored_also_behind_an_error(first: bool, precision: Any) -> None:
    torch.backends.cuda.matmul.allow_tf32 = first
    torch.backends.cudnn.allow_tf32 = not first
    before = switches()
    with pytest.raises(KeyError), arithmetic(1, precision):
        raise KeyError
    assert switches() == before


@pytest.mark.skipif(not NEWER, reason="this torch has the older switches alone")
@pytest.mark.parametrize("precision", ["fp32", "tf32"])
def test_switches_that_the_older_ones_cannot_read_are_restored(precision: Any) -> None:
    torch.backends.cudnn.conv.fp32_precision = "tf32"
    torch.backends.cudnn.rnn.fp32_precision = "ieee"
    with pytest.raises(RuntimeError, match="mix"):
        switches()
    with float32_precision(precision):
        wanted = "tf32" if precision == "tf32" else "ieee"
        assert torch.backends.cudnn.conv.fp32_precision == wanted
        assert torch.backends.cudnn.rnn.fp32_precision == wanted
    assert torch.backends.cudnn.conv.fp32_precision == "tf32"
    assert torch.backends.cudnn.rnn.fp32_precision == "ieee"


def test_an_unknown_precision_is_refused() -> None:
    with pytest.raises(ConfigError, match="fp32 or tf32, got 'bf16'"):
        Settings(precision="bf16")  # type: ignore[arg-type]
