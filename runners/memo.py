"""Compute only what changes: what lies before the first site runs once an image.

All mutants and passes of an image share every value that no mask has touched. A module whose
tensors all hold such values makes of them what it made before, so that its result is handed to
the unmodified code of the detector. Values are known by the identity of their tensors and are
never compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from types import MethodType
from typing import Any

import torch
from torch import Tensor, nn

from runners.memo_clean import CleanTensors
from runners.memo_entries import Entry, Snapshot, entry_of
from runners.memo_values import Packed, pack

DEFAULT_LIMIT_BYTES = 4 << 30
"""What is kept of one image at most. A ResNet-50 with an FPN on 800x1067 pixels takes 190 MB per
row of a batch at `uamters` sites."""

# A module may be found changing itself the first time it runs, when it sets itself up.
_TRIES = 2


class Memo:
    """The unmutated values of one image in one model, kept while the image is worked on.

    Results are bit for bit those of a plain run, provided that the model is deterministic and is
    mutated by masks on modules. A kept tensor that someone writes to is noticed by its version
    count: its value is then computed anew, and handed out in copies from there on. (Writes through
    `.data` or numpy leave no such trace.) A module runs every time if it changes itself, or if its
    arguments or results hold something whose inside is not known.

    Args:
        image: (3, H, W), on the model's device. The model must be given `memo.image`, which is
            this tensor, or a copy of one made in inference mode: such a tensor has no version.
        limit_bytes: How much is kept; what goes beyond is computed every time.
    """

    def __init__(self, image: Tensor, limit_bytes: int = DEFAULT_LIMIT_BYTES) -> None:
        with torch.inference_mode(False):
            self.image = image.clone() if image.is_inference() else image
        self._limit_bytes = limit_bytes
        self.clear()

    def clear(self) -> None:
        """Drop all that is kept."""
        self.kept_bytes = 0
        self._clean = CleanTensors()
        self._clean.add(self.image, self._clean.new_value())
        self._entries: dict[Hashable, Entry] = {}
        self._failures: Counter[str] = Counter()
        self._pass = 0
        self._is_recording = False
        self._is_idle = False  # within a module that was given nothing clean

    def next_pass(self) -> None:
        """Say that a new forward begins: one call before each."""
        self._clean.end_pass()
        self._pass += 1

    @contextmanager
    def replaying(self, model: nn.Module, apart: Collection[str] = ()) -> Iterator[None]:
        """Return a context in which the model's modules are handed what they made before.

        It is opened inside that of the mutation: a module that holds a hooked one always runs,
        so that masks are drawn. On exit, also by an exception, the model is as before.

        Args:
            model: The same in all contexts of this memo.
            apart: Names of modules that are hooked at other times. What holds one runs here too,
                so that what is kept now serves then.
        """
        replaced = _replaceable(model, apart)
        for name, module in replaced.items():
            module.__dict__["forward"] = MethodType(self._forward_of(name), module)
        try:
            yield
        finally:
            for module in replaced.values():
                del module.__dict__["forward"]
            self._clean.end_pass()

    def _forward_of(self, name: str) -> Callable[..., Any]:
        def forward(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
            run = partial(type(module).forward, module, *args, **kwargs)
            if self._is_idle or self._failures[name] >= _TRIES:
                return run()
            return self._call(name, run)

        return forward

    def _call(self, name: str, run: partial[Any]) -> Any:
        """Return what a module makes of its arguments, as it made it before if they are clean."""
        given = pack((run.args[1:], run.keywords))
        if given is None or not given.tensors:
            return run()
        values = [self._clean.identify(tensor) for tensor in given.tensors]
        if all(value is None for value in values):
            return self._run_idly(run)
        if None in values:
            return run()
        key = (name, given.shape, tuple(values))
        entry = self._entries.get(key)
        if entry and entry.is_intact:
            for number, content, value in entry.written:
                given.tensors[number].copy_(content)
                self._clean.lend(given.tensors[number], value)
            return self._hand_out(entry, given.tensors)
        if self._is_recording:
            return run()  # the module around it is being kept, which is enough
        return self._record(name, key, run, given)

    def _run_idly(self, run: partial[Any]) -> Any:
        # Nothing inside can be clean, so nothing is looked up.
        self._is_idle = True
        try:
            return run()
        finally:
            self._is_idle = False

    def _record(self, name: str, key: Hashable, run: partial[Any], given: Packed) -> Any:
        """Run a module on clean values and keep what it makes, if that can be kept."""
        old = self._entries.pop(key, None)
        if old:
            self.kept_bytes -= old.n_bytes
            self._clean.drop(old.kept)
        before = Snapshot(run, given)
        self._is_recording = True
        try:
            result = run()
        finally:
            self._is_recording = False
        output = pack(result)
        entry = None
        if output and before.is_pure(run, given):
            room = self._limit_bytes - self.kept_bytes
            entry = entry_of(output, given, before.written(given), room)
        if entry is None:
            self._failures[name] += 1
            return result
        entry.number(self._clean, old)
        self.kept_bytes += entry.n_bytes
        self._entries[key] = entry
        for number, _, value in entry.written:
            self._clean.lend(given.tensors[number], value)
        return self._hand_out(entry, given.tensors)

    def _hand_out(self, entry: Entry, given: Sequence[Tensor]) -> Any:
        # Two results within a pass are two tensors in a plain run: never one tensor twice.
        is_copied = entry.is_lent or entry.last_pass == self._pass
        entry.last_pass = self._pass
        return entry.result(given, self._clean if is_copied else None)


def _replaceable(model: nn.Module, apart: Collection[str]) -> dict[str, nn.Module]:
    """Return the modules whose forward may be left out, by name.

    That is no module around a hook, and none whose post-processing is to be watched.
    """
    running = {""}
    # Every name of a module that has several: a hook is met on each way to it.
    for name, module in model.named_modules(remove_duplicate=False):
        is_watched = callable(getattr(module, "postprocess_detections", None))
        if is_watched:
            running.add(name)
        if is_watched or name in apart or module._forward_hooks or module._forward_pre_hooks:
            parts = name.split(".")
            running.update(".".join(parts[:n]) for n in range(1, len(parts)))
    shared = {id(model.get_submodule(name)) for name in running}
    return {
        name: module
        for name, module in model.named_modules()
        if id(module) not in shared
        and type(module).forward is not nn.Module.forward
        and "forward" not in vars(module)
        and not isinstance(module, torch.jit.ScriptModule)
    }
