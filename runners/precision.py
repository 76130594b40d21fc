"""Precision: whether float32 products on CUDA are exact or rounded to TensorFloat-32."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, get_args

import torch

Precision = Literal["fp32", "tf32"]
PRECISIONS: tuple[Precision, ...] = get_args(Precision)


@contextmanager
def float32_precision(precision: Precision) -> Iterator[None]:
    """Return a context in which float32 products and convolutions on CUDA have this precision.

    Torch has two sets of switches for it since 2.9, and refuses to read the older ones where the
    two disagree: both are set alike, and both are as they were behind the context.

    Args:
        precision: `fp32`, or `tf32`: 10 bits of mantissa, on devices that have it.
    """
    older, newer = _older_switches(), _newer_switches()
    is_tf32 = precision == "tf32"
    try:
        _set_older([(switch, is_tf32) for switch, _ in older])
        for switch, _ in newer:
            switch.fp32_precision = "tf32" if is_tf32 else "ieee"
        yield
    finally:
        # The older ones set the newer ones too, which therefore come last.
        _set_older(older)
        for switch, before in newer:
            switch.fp32_precision = before


def _set_older(values: Sequence[tuple[Any, bool]]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # some versions advise the newer ones alone
        for switch, value in values:
            switch.allow_tf32 = value


def _older_switches() -> list[tuple[Any, bool]]:
    switches: list[Any] = [torch.backends.cuda.matmul, torch.backends.cudnn]
    try:
        return [(switch, switch.allow_tf32) for switch in switches]
    except RuntimeError:
        return []  # the newer ones were set to something that these cannot say


def _newer_switches() -> list[tuple[Any, str]]:
    cudnn: Any = torch.backends.cudnn
    if not hasattr(cudnn, "conv"):
        return []
    switches = [torch.backends.cuda.matmul, cudnn.conv, cudnn.rnn]
    return [(switch, switch.fp32_precision) for switch in switches]
