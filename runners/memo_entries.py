"""What a module made of clean values, and whether that may stand in for running it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import Tensor

from runners.memo_clean import CleanTensors, copy_privately, memory_of, n_bytes
from runners.memo_values import Packed, build, is_same_state, pack, state_of


@dataclass(slots=True)
class Entry:
    """The result of a call.

    Args:
        shape: All of it but its tensors.
        slots: Per tensor the kept one, or the number of the argument that came back.
        written: The arguments that the module wrote to: their number, what they hold afterwards,
            and which value that is.
        values: Which value each tensor is.
        is_lent: The kept tensors stay here, and copies are handed out.
        last_pass: When it was handed out last.
    """

    shape: Hashable
    slots: list[Tensor | int]
    written: list[tuple[int, Tensor, int]]
    values: list[int] = field(default_factory=list)
    is_lent: bool = False
    last_pass: int = 0
    _versions: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self._versions = [tensor._version for tensor in self.kept]

    @property
    def kept(self) -> list[Tensor]:
        """The tensors that may be handed out."""
        return [slot for slot in self.slots if isinstance(slot, Tensor)]

    @property
    def is_intact(self) -> bool:
        """Whether nobody wrote to a kept tensor."""
        return [tensor._version for tensor in self.kept] == self._versions

    @property
    def n_bytes(self) -> int:
        """Memory that it takes."""
        return n_bytes([*self.kept, *(content for _, content, _ in self.written)])

    def number(self, clean: CleanTensors, old: Entry | None) -> None:
        """Number the values, and let the kept tensors be known as clean.

        Args:
            clean: Where numbers come from.
            old: The entry of this very call whose tensors someone wrote to. Its numbers go on, so
                that what was made of them holds; but the new tensors stay here.
        """
        if old:
            self.values, self.written, self.is_lent = old.values, old.written, True
            return
        self.values = [clean.new_value() for _ in self.slots]
        self.written = [(n, content, clean.new_value()) for n, content, _ in self.written]
        for slot, value in zip(self.slots, self.values, strict=True):
            if isinstance(slot, Tensor):
                clean.add(slot, value)

    def result(self, given: Sequence[Tensor], lender: CleanTensors | None) -> Any:
        """Return the result, with fresh containers.

        Args:
            given: The tensors of the arguments.
            lender: Where to note copies that are handed out in the place of the kept tensors;
                None hands out these.
        """
        tensors = []
        for slot, value in zip(self.slots, self.values, strict=True):
            if isinstance(slot, int):
                tensors.append(given[slot])
            elif lender is None:
                tensors.append(slot)
            else:
                with torch.inference_mode(False), torch.no_grad():
                    copy = slot.clone()
                lender.lend(copy, value)
                tensors.append(copy)
        return build(self.shape, tensors)


class Snapshot:
    """What is looked at before and after a module runs.

    Args:
        run: The call; its first argument is the module.
        given: Its other arguments.
    """

    def __init__(self, run: partial[Any], given: Packed) -> None:
        self._state = state_of(run.args[0])
        self._versions = [tensor._version for tensor in given.tensors]
        self._layouts = [(tensor.shape, tensor.stride()) for tensor in given.tensors]

    def is_pure(self, run: partial[Any], given: Packed) -> bool:
        """Return whether the call changed nothing but elements of tensors that it was given."""
        return (
            given.is_same(pack((run.args[1:], run.keywords)))
            and self._layouts == [(tensor.shape, tensor.stride()) for tensor in given.tensors]
            and is_same_state(self._state, state_of(run.args[0]))
        )

    def written(self, given: Packed) -> list[int]:
        """Return the numbers of the tensors that the call wrote to."""
        versions = enumerate(zip(given.tensors, self._versions, strict=True))
        return [number for number, (tensor, version) in versions if tensor._version != version]


def entry_of(
    output: Packed, given: Packed, written: Sequence[int], room_bytes: int
) -> Entry | None:
    """Return what is to be kept of a call, or None if it is too large, or cannot be replayed.

    Args:
        output: What the module returned.
        given: What it was given.
        written: Numbers of the tensors given that it wrote to.
        room_bytes: Largest size.
    """
    places = {id(tensor): number for number, tensor in enumerate(given.tensors)}
    made = [tensor for tensor in output.tensors if id(tensor) not in places]
    changed = [given.tensors[number] for number in written]
    shared = {memory_of(tensor) for tensor in given.tensors}
    if any(memory_of(tensor) in shared for tensor in made):
        return None  # a write to what was given, or to what came back, would be a write to both
    if any(tensor._base is not None for tensor in changed):
        return None
    if n_bytes([*made, *changed]) > room_bytes:
        return None
    copies = copy_privately([*made, *changed])
    if copies is None:
        return None
    kept = iter(copies)
    slots: list[Tensor | int] = [
        places[id(tensor)] if id(tensor) in places else next(kept) for tensor in output.tensors
    ]
    return Entry(output.shape, slots, [(number, next(kept), 0) for number in written])
