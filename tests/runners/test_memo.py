"""The memo on modules of all kinds: what is replayed, what is not, and what is left behind."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from mutators.dropout import DropoutMutation
from mutators.masks import Masked
from mutators.mutation import Identity, Mutant
from runners.memo import Memo
from runners.passes import run_mutant
from runners.settings import Settings
from tests.mutators.snapshot import snapshot
from tests.runners.tiny_model import (
    CALLS,
    Conv,
    Part,
    Tiny,
    detector_of,
    mutate,
    picture,
    with_part,
)


def counting(part: Part, x: Tensor) -> Tensor:
    part.count += 1
    return x * part.count


def collecting(part: Part, x: Tensor) -> Tensor:
    part.seen.append(x)
    return x * len(part.seen)


@pytest.mark.parametrize("function", [counting, collecting])
def test_a_module_that_changes_itself_runs_every_time(function: Any) -> None:
    def run(memo: Memo | None) -> list[bytes]:
        model = with_part(function, lambda model, x: model.part(x))
        return mutate(detector_of(model), picture(), memo)

    assert run(Memo(picture())) == run(None)


def test_a_module_that_adds_to_the_list_that_it_is_given_runs_every_time() -> None:
    def appending(part: Part, items: list[Tensor]) -> list[Tensor]:
        items.append(items[0] * 2)
        return items

    def call(model: Tiny, x: Tensor) -> Tensor:
        items = [x]
        model.part(items)
        return items[1]

    detector, memo = detector_of(with_part(appending, call)), Memo(picture())
    plain = mutate(detector, picture(), None)
    assert mutate(detector, picture(), memo) == mutate(detector, picture(), memo) == plain


def test_containers_are_handed_out_fresh() -> None:
    def two(part: Part, x: Tensor) -> dict[str, list[Tensor]]:
        return {"maps": [x * 2, x * 3]}

    def call(model: Tiny, x: Tensor) -> Tensor:
        return model.part(x)["maps"].pop()

    detector, memo = detector_of(with_part(two, call)), Memo(picture())
    plain = mutate(detector, picture(), None)
    CALLS.clear()
    assert mutate(detector, picture(), memo) == mutate(detector, picture(), memo) == plain
    assert CALLS.count("part") == 1


@pytest.mark.parametrize(
    "other", [{"scale": 2.0}, {"scale": -0.0}, {"scale": 0.0}, {"names": ("a", "b")}]
)
def test_values_that_are_no_tensors_are_told_apart(other: dict[str, Any]) -> None:
    def scaled(part: Part, x: Tensor, scale: float = 1.0, names: tuple[str, ...] = ()) -> Tensor:
        return x * scale + len(names) + (torch.tensor(1.0) / torch.tensor(scale)).sign()

    def call(model: Tiny, x: Tensor) -> Tensor:
        return model.part(x, scale=0.0) + 2 * model.part(x, **other)

    detector, memo = detector_of(with_part(scaled, call)), Memo(picture())
    plain = mutate(detector, picture(), None)
    assert mutate(detector, picture(), memo) == mutate(detector, picture(), memo) == plain


def test_an_argument_of_an_unknown_kind_is_no_clean_value() -> None:
    class Options:
        scale = 1.0

    def scaled(part: Part, x: Tensor, options: Options) -> Tensor:
        options.scale += 1
        return x * options.scale

    def run(memo: Memo | None) -> list[bytes]:
        options = Options()
        model = with_part(scaled, lambda model, x: model.part(x, options))
        return mutate(detector_of(model), picture(), memo)

    assert run(Memo(picture())) == run(None)


def test_a_mask_inside_a_module_of_two_names_is_drawn() -> None:
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            inner = nn.Sequential(nn.Conv2d(4, 4, 1))
            self.first, self.second = nn.Sequential(inner), nn.Sequential(inner)

        def forward(self, x: Tensor) -> Tensor:
            return self.first(x) + self.second(x)

    model = Tiny(lambda model, x: model.part(x))
    model.part = Twice()
    detector, memo = detector_of(model), Memo(picture())
    plain = mutate(detector, picture(), None, sites="part.first.0.0")
    for _ in range(2):
        assert mutate(detector, picture(), memo, sites="part.first.0.0") == plain


def test_what_goes_beyond_the_limit_is_computed_every_time() -> None:
    detector = detector_of(Tiny(lambda model, x: model.tail(model.relu(x))))
    plain = mutate(detector, picture(), None)
    for limit in (0, 5_000, 8_000):
        memo = Memo(picture(), limit_bytes=limit)
        assert mutate(detector, picture(), memo) == mutate(detector, picture(), memo) == plain
        assert memo.kept_bytes <= limit


def test_a_mutation_without_sites_is_not_replayed() -> None:
    detector = detector_of(Tiny(lambda model, x: model.tail(x)))
    memo = Memo(picture())
    CALLS.clear()
    for _ in range(2):
        run_mutant(detector, picture(), "a", Mutant.of(Identity()), Settings(passes=1), memo=memo)
    assert CALLS.count("stack") == 2
    assert memo.kept_bytes == 0


@pytest.mark.parametrize("broken_at", ["site", "tail"])
def test_an_exception_leaves_nothing_on_the_model_and_no_half_value(
    monkeypatch: pytest.MonkeyPatch, broken_at: str
) -> None:
    detector = detector_of(Tiny(lambda model, x: model.tail(model.relu(x))))
    plain, before = mutate(detector, picture(), None), snapshot(detector.model)
    memo = Memo(picture())

    def fail(*args: Any) -> Masked:
        raise RuntimeError("broken")

    with monkeypatch.context() as patch:
        if broken_at == "site":
            patch.setattr(DropoutMutation, "perturb", fail)
        else:
            patch.setattr(Conv, "forward", fail)
        with pytest.raises(RuntimeError, match="broken"):
            mutate(detector, picture(), memo)
    assert snapshot(detector.model) == before
    assert mutate(detector, picture(), memo) == plain


def test_an_image_in_inference_mode_is_taken() -> None:
    detector = detector_of(Tiny(lambda model, x: model.tail(model.relu(x))))
    with torch.inference_mode():
        image = picture()
        memo = Memo(image)
        assert mutate(detector, image, memo) == mutate(detector, picture(), None)


def test_clearing_frees_the_tensors() -> None:
    detector = detector_of(Tiny(lambda model, x: model.tail(model.relu(x))))
    memo = Memo(picture())
    mutate(detector, picture(), memo)
    kept = [weakref.ref(tensor) for entry in memo._entries.values() for tensor in entry.kept]
    gc.disable()
    try:
        memo.clear()
        assert kept
        assert not any(reference() is not None for reference in kept)
        assert memo.kept_bytes == 0
    finally:
        gc.enable()
