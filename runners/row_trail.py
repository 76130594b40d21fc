"""Follow each kept score back to the row of class probabilities that it came from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils.weak import WeakIdKeyDictionary

from scoring.errors import ConfigError

# Operations that move elements and leave their values alone: repeating one on the tags of its
# input gives the tags of its output.
_MOVES = frozenset(
    {
        *("__getitem__", "select", "narrow", "index_select", "masked_select"),
        *("reshape", "view", "flatten", "squeeze", "unsqueeze", "permute", "transpose"),
        *("split", "chunk", "unbind", "cat", "stack", "contiguous", "clone", "detach"),
    }
)
_ORDERINGS = frozenset({"topk", "sort"})
_ACTIVATIONS = frozenset({"softmax", "sigmoid"})
_PRODUCTS = frozenset({"mul", "__mul__", "__rmul__"})


WAYS_TO_VECTORS = (
    "let the model return a probability for every class of each detection as 'class_probs' (N, C), "
    "or have them made up from the scores with --one-hot (docs/own-models.md)"
)
"""What to do about a model whose class vectors cannot be recovered, for an error's end."""


class BrokenTrailError(ConfigError):
    """A model's scores cannot be followed back to its class logits."""


@dataclass(slots=True)
class _Source:
    """One softmax or sigmoid of class logits, and what was done to it as a whole afterwards."""

    probs: Tensor  # (rows, C), the very values that the model computed
    start: int  # the number of its first element
    factors: list[Tensor | float | None] = field(default_factory=list)  # None is a square root

    def scores_at(self, rows: Tensor, columns: Tensor) -> Tensor:
        """Return the scores of these elements, by the arithmetic that the model did."""
        scores = self.probs[rows, columns]
        for factor in self.factors:
            if factor is None:
                scores = scores.sqrt()
            elif isinstance(factor, Tensor):
                scores = scores * factor[rows, columns]
            else:
                scores = scores * factor
        return scores


@dataclass(slots=True)
class _Tag:
    """The place of every element: a column of the logits, or an element of the sources."""

    places: Tensor
    source: _Source | None = None  # set while the tensor is still a whole source, in order


class RowTrail(TorchFunctionMode):
    """Watches tensor operations and knows the class vector of every score that comes out.

    The class logits are tagged with their columns. The softmax or sigmoid of whole rows of them
    is kept, and its elements are numbered; pure data movement is repeated on the numbers. So no
    value is searched for (scores tie) and none is computed a second time.

    Args:
        logits: Tensors (..., C) of class logits.

    Source: execution.md section 5.
    """

    def __init__(self, logits: Iterable[Tensor]) -> None:
        super().__init__()
        self._logits: Any = WeakIdKeyDictionary()
        self._scores: Any = WeakIdKeyDictionary()
        self._sources: list[_Source] = []
        self._n_elements = 0
        self.n_classes = 0
        for tensor in logits:
            self.n_classes = tensor.shape[-1]
            columns = torch.arange(self.n_classes, device=tensor.device)
            self._logits[tensor] = _Tag(columns.expand(tensor.shape))

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Run the operation as it is, and tag its result."""
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        name = getattr(func, "__name__", "")
        first = args[0] if args else kwargs.get("input")
        if name in _MOVES:
            for table in (self._logits, self._scores):
                self._move(table, func, args, kwargs, result)
        elif name in _ORDERINGS:
            self._order(name, args, kwargs, result)
        elif name in _ACTIVATIONS and isinstance(first, Tensor) and first in self._logits:
            self._activate(first, name, args, kwargs, result)
        elif name in _PRODUCTS or name == "sqrt":
            self._compute(args, result)
        elif isinstance(first, Tensor) and (result is first or name == "__setitem__"):
            # Changed in place: the tag would tell of values that are gone.
            self._logits.pop(first, None)
            self._scores.pop(first, None)
        return result

    def _move(
        self,
        table: Any,
        func: Callable[..., Any],
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        result: Any,
    ) -> None:
        if not args:
            return
        moved: Any
        if isinstance(args[0], Tensor):
            tag = table.get(args[0])
            if tag is None or result is args[0]:
                return
            moved = func(tag.places, *args[1:], **kwargs)
        else:
            tags = [table.get(tensor) for tensor in args[0]]
            if not tags or None in tags:
                return
            moved = func([tag.places for tag in tags], *args[1:], **kwargs)
        if isinstance(result, Tensor):
            result, moved = [result], [moved]
        for tensor, places in zip(result, moved, strict=True):
            table[tensor] = _Tag(places)

    def _order(
        self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any], result: Any
    ) -> None:
        tag = self._scores.get(args[0]) if args else None
        if tag is None:
            return
        position = 2 if name == "topk" else 1
        dim = args[position] if len(args) > position else kwargs.get("dim", -1)
        values, order = result
        self._scores[values] = _Tag(tag.places.gather(dim, order))

    def _activate(
        self,
        logits: Tensor,
        name: str,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        probs: Tensor,
    ) -> None:
        columns = self._logits[logits].places
        whole = torch.arange(self.n_classes, device=columns.device)
        if columns.shape[-1:] != whole.shape or not bool((columns == whole).all()):
            return  # not whole rows of classes: a vector cannot be read off
        if name == "softmax":
            dim = args[1] if len(args) > 1 else kwargs.get("dim")
            if dim not in (-1, probs.ndim - 1):
                return
        source = _Source(probs.reshape(-1, self.n_classes), self._n_elements)
        self._sources.append(source)
        self._n_elements += probs.numel()
        numbers = torch.arange(source.start, self._n_elements, device=probs.device)
        self._scores[probs] = _Tag(numbers.reshape(probs.shape), source)

    def _compute(self, args: Sequence[Any], result: Any) -> None:
        tags: list[Any] = [self._scores.get(a) if isinstance(a, Tensor) else None for a in args]
        whole = [i for i, tag in enumerate(tags) if tag is not None and tag.source is not None]
        if len(whole) != 1 or len(args) > 2 or result.shape != tags[whole[0]].places.shape:
            return
        tag = tags[whole[0]]
        other: Tensor | float | None = args[1 - whole[0]] if len(args) == 2 else None
        if isinstance(other, Tensor):
            other = other.expand(result.shape).reshape(-1, self.n_classes)
        tag.source.factors.append(other)
        self._scores[result] = tag

    def class_vectors(self, scores: Tensor, labels: Tensor) -> Tensor:
        """Return (N, C): the class probabilities of the row that each score came from.

        Args:
            scores: (N,) final scores of one image, the tensor that came out of the operations.
            labels: (N,) class ids that belong to them.

        Raises:
            BrokenTrailError: The scores cannot be followed, or they are not what the model's
                arithmetic gives for the row and label found.
        """
        if not len(scores):
            return scores.new_empty((0, self.n_classes))
        tag = self._scores.get(scores)
        if tag is None:
            raise _broken("the scores went through an operation that cannot be followed")
        starts = torch.tensor([source.start for source in self._sources], device=scores.device)
        owner = torch.searchsorted(starts, tag.places, right=True) - 1
        vectors = scores.new_empty((len(scores), self.n_classes))
        replayed = torch.empty_like(scores)
        columns = tag.places % self.n_classes  # every source is whole rows
        for i in sorted(set(owner.tolist())):
            mine = owner == i
            rows = (tag.places[mine] - self._sources[i].start) // self.n_classes
            vectors[mine] = self._sources[i].probs[rows]
            replayed[mine] = self._sources[i].scores_at(rows, columns[mine])
        if not torch.equal(columns, labels):
            raise _broken("the labels are not the columns of the class logits")
        if not torch.equal(replayed, scores):
            raise _broken("the scores are not those of the rows that they were followed to")
        return vectors


def _broken(what: str) -> BrokenTrailError:
    return BrokenTrailError(
        f"class vectors: expected a postprocess_detections that only selects from the softmax or "
        f"sigmoid of its class logits; {what}; {WAYS_TO_VECTORS}"
    )
