"""Which tensors hold values that no mask has touched."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class _Clean:
    tensor: Tensor  # held, so that its id belongs to no other
    version: int
    value: int


class CleanTensors:
    """Tensors known by identity, each with the number of the unmutated value that it holds.

    Equal numbers mean equal values. A tensor that was written to, which its version count tells,
    is clean no more; a view of a clean tensor is clean.
    """

    def __init__(self) -> None:
        self._known: dict[int, _Clean] = {}
        self._lent: set[int] = set()
        self._n_values = 0

    def new_value(self) -> int:
        """Return a number that no value has."""
        self._n_values += 1
        return self._n_values

    def add(self, tensor: Tensor, value: int) -> None:
        """Know a tensor until it is dropped; it must have a version count."""
        self._lent.discard(id(tensor))
        self._known[id(tensor)] = _Clean(tensor, tensor._version, value)

    def lend(self, tensor: Tensor, value: int) -> None:
        """Know a tensor, as it is now, until the pass ends."""
        self.add(tensor, value)
        self._lent.add(id(tensor))

    def drop(self, tensors: Sequence[Tensor]) -> None:
        """Know these no longer."""
        for tensor in tensors:
            self._lent.discard(id(tensor))
            self._known.pop(id(tensor), None)

    def end_pass(self) -> None:
        """Know no longer what was lent."""
        for number in self._lent:
            self._known.pop(number, None)
        self._lent.clear()

    def identify(self, tensor: Tensor) -> Hashable | None:
        """Return what tells which unmutated value this is, or None if it is not known to be one."""
        value = self._value(tensor)
        if value is not None:
            return value
        base = tensor._base
        if base is None or tensor.is_complex():
            return None
        value = self._value(base)
        if value is None:
            return None
        # Elements of the base at these places: the same values, whoever took the view.
        return value, tensor.dtype, tensor.shape, tensor.stride(), tensor.storage_offset()

    def _value(self, tensor: Tensor) -> int | None:
        clean = self._known.get(id(tensor))
        # The version is asked of known tensors only: those of inference mode have none.
        if clean is None or clean.tensor._version != clean.version:
            return None
        return clean.value


def copy_privately(tensors: Sequence[Tensor]) -> list[Tensor] | None:
    """Return copies that nobody else holds, or None if one cannot stand in for its tensor.

    It must have the same strides, for kernels are chosen by them; and no two of the tensors may
    share memory, for a write to one would then be seen in the other.

    The copies have a version count, which tensors made in inference mode do not.
    """
    if any(tensor.layout is not torch.strided or tensor.is_complex() for tensor in tensors):
        return None
    if len({memory_of(tensor) for tensor in tensors}) < len(tensors):
        return None
    with torch.inference_mode(False), torch.no_grad():
        copies = [tensor.clone() for tensor in tensors]
    same = all(a.stride() == b.stride() for a, b in zip(copies, tensors, strict=True))
    return copies if same else None


def memory_of(tensor: Tensor) -> int:
    """Return what identifies the memory that a tensor looks at, while the tensor lives."""
    return int(tensor.untyped_storage()._cdata)


def n_bytes(tensors: Sequence[Tensor]) -> int:
    """Return the size of the tensors' elements in bytes."""
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)
