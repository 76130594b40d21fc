"""Models that write to their tensors in place: a kept value is never a changed one."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from runners.memo import Memo
from runners.passes import run_original_once
from tests.runners.tiny_model import CALLS, THREE_PASSES, Tiny, detector_of, mutate, picture


def adds_in_place(model: Tiny, x: Tensor) -> Tensor:
    x += 1
    return model.tail(x)


def ignores_what_relu_returns(model: Tiny, x: Tensor) -> Tensor:
    model.relu(x)
    return model.tail(x)


def reads_before_and_after_relu(model: Tiny, x: Tensor) -> Tensor:
    before = model.tail(x)
    return before + model.tail(model.relu(x))


def writes_through_a_view(model: Tiny, x: Tensor) -> Tensor:
    x[:, :1].mul_(2)
    return model.tail(x)


def writes_to_what_another_name_holds(model: Tiny, x: Tensor) -> Tensor:
    same = model.same(x)
    same.sub_(0.5)
    return model.tail(x)


def writes_to_a_flattened_view(model: Tiny, x: Tensor) -> Tensor:
    model.flat(x).abs_()
    return model.tail(x)


def calls_twice_and_writes_to_one(model: Tiny, x: Tensor) -> Tensor:
    one, two = model.tail(x), model.tail(x)
    one.neg_()
    return one + 3 * two


def reshapes_in_place(model: Tiny, x: Tensor) -> Tensor:
    y = model.tail(x)
    y.unsqueeze_(0)
    return y[0] * 2


def relu_of_two_rounds(model: Tiny, x: Tensor) -> Tensor:
    for _ in range(2):
        x = model.relu(model.tail(x))
        x -= 0.01
    return x


HABITS = [
    adds_in_place,
    ignores_what_relu_returns,
    reads_before_and_after_relu,
    writes_through_a_view,
    writes_to_what_another_name_holds,
    writes_to_a_flattened_view,
    calls_twice_and_writes_to_one,
    reshapes_in_place,
    relu_of_two_rounds,
]


@pytest.mark.parametrize("habit", HABITS)
def test_a_model_that_writes_in_place_gives_the_bits_of_a_plain_run(habit: Any) -> None:
    detector = detector_of(Tiny(habit))
    image, memo = picture(), Memo(picture())
    plain = mutate(detector, image, None)
    assert len(set(plain)) == 3
    for _ in range(3):
        assert mutate(detector, image, memo) == plain
    assert torch.equal(memo.image, image)


def test_a_module_between_kept_ones_runs_once_though_it_writes_in_place() -> None:
    detector = detector_of(Tiny(lambda model, x: model.tail(model.relu(x))))
    memo = Memo(picture())
    CALLS.clear()
    run_original_once(detector, picture(), THREE_PASSES, memo=memo, sites=("site",))
    for _ in range(4):
        mutate(detector, picture(), memo)
    # Every batch has one size; the stem runs again once it is seen that its result is written to.
    assert CALLS.count("stack") == 1
    assert CALLS.count("conv") == 1 + 1 + 1
