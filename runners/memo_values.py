"""Arguments and results of modules taken apart into tensors and all the rest, and put back."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torchvision.models.detection.image_list import ImageList

_PLAIN = (bool, int, float, str, type(None), torch.Size, torch.dtype, torch.device)
_TENSOR, _VALUE, _ITEMS, _PAIRS, _IMAGES = range(5)


@dataclass(frozen=True, slots=True)
class Packed:
    """A value taken apart.

    Args:
        shape: All but the tensors, hashable; two values of one shape differ in tensors only. It
            says which places hold one and the same tensor.
        tensors: The tensors, each once, in the order of their first places.
    """

    shape: Hashable
    tensors: tuple[Tensor, ...]

    def is_same(self, other: Packed | None) -> bool:
        """Return whether the other value has this shape and holds these very tensors."""
        return (
            other is not None
            and self.shape == other.shape
            and all(a is b for a, b in zip(self.tensors, other.tensors, strict=True))
        )


def pack(value: Any) -> Packed | None:
    """Return a value taken apart, or None if it holds something whose inside is not known.

    Known are tensors (no subclass), numbers, texts, and lists, tuples, dicts and torchvision's
    `ImageList` of what is known.
    """
    places: dict[int, int] = {}
    tensors: list[Tensor] = []
    try:
        shape = _take_apart(value, places, tensors)
    except _UnknownError:
        return None
    return Packed(shape, tuple(tensors))


class _UnknownError(TypeError):
    pass


def _take_apart(value: Any, places: dict[int, int], tensors: list[Tensor]) -> Hashable:
    kind = type(value)
    if kind is Tensor:
        if id(value) not in places:
            places[id(value)] = len(tensors)
            tensors.append(value)
        return _TENSOR, places[id(value)]
    if kind in _PLAIN:
        # The text tells 0.0 from -0.0.
        return _VALUE, kind, repr(value), value
    if kind is list or kind is tuple or (isinstance(value, tuple) and hasattr(value, "_fields")):
        return _ITEMS, kind, tuple(_take_apart(item, places, tensors) for item in value)
    if kind is dict or kind is OrderedDict:
        pairs = tuple(
            (_take_apart(key, places, tensors), _take_apart(item, places, tensors))
            for key, item in value.items()
        )
        return _PAIRS, kind, pairs
    if kind is ImageList:
        return _IMAGES, _take_apart((value.tensors, value.image_sizes), places, tensors)
    raise _UnknownError


def build(shape: Any, tensors: Sequence[Tensor]) -> Any:
    """Return a value of this shape with these tensors, its containers fresh."""
    tag = shape[0]
    if tag == _TENSOR:
        return tensors[shape[1]]
    if tag == _VALUE:
        return shape[3]
    if tag == _IMAGES:
        return ImageList(*build(shape[1], tensors))
    kind = shape[1]
    if tag == _PAIRS:
        return kind((build(key, tensors), build(item, tensors)) for key, item in shape[2])
    items = [build(item, tensors) for item in shape[2]]
    return kind(*items) if hasattr(kind, "_fields") else kind(items)


def state_of(module: nn.Module) -> list[Any]:
    """Return what a module and those in it hold, to be compared with `is_same_state`.

    That is every attribute; of containers their items, of tensors also their version.
    """
    return [part for m in module.modules() for value in vars(m).values() for part in _parts(value)]


def _parts(value: Any) -> Iterator[Any]:
    items: Sequence[Any] = (value,)
    if isinstance(value, Mapping):
        items = tuple(value.values())
        yield len(items)
    elif isinstance(value, list | tuple | set | frozenset):
        items = tuple(value)
        yield len(items)
    for item in items:
        yield item
        if isinstance(item, Tensor) and not item.is_inference():
            yield item._version


def is_same_state(before: Sequence[Any], after: Sequence[Any]) -> bool:
    """Return whether nothing was set, added or written to in between."""
    return len(before) == len(after) and all(
        a is b or (type(a) is type(b) and isinstance(a, _PLAIN) and a == b)
        for a, b in zip(before, after, strict=True)
    )
