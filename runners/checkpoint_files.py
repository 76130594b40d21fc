"""Checkpoint files of strangers: looked through before torch reads them, and read without code."""

from __future__ import annotations

import argparse
import pickle
import pickletools
import re
import struct
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import torch

from scoring.errors import DataError
from scoring.faults import shown
from scoring.limits import MAX_CHECKPOINT_PICKLE_BYTES, MAX_TUPLE_LEAVES

_ZIP, _LEGACY = b"PK\x03\x04", b"\x80\x02"
_LEGACY_PICKLES = 5
"""Magic number, version, system, the object, names of storages: then the numbers follow."""
_ADVICE = "save model.state_dict() with torch.save"
_BOMBS = frozenset({"builtins bytearray", "__builtin__ bytearray"})
"""Classes that torch lets a file call, and that fill the memory at its word."""

# What torch and pickletools raise on files that are no checkpoints, or broken ones.
_BROKEN = (
    RuntimeError,
    EOFError,
    OSError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    AssertionError,
    ArithmeticError,
    MemoryError,
    NotImplementedError,
    struct.error,
    pickle.UnpicklingError,
    zipfile.BadZipFile,
)


def load_checkpoint(path: Path) -> Any:
    """Return what a checkpoint file holds, on the CPU: tensors, containers and plain values.

    No code in it is run (`weights_only=True`), and nothing that it says makes more memory of it
    than it has bytes, or time without end.

    Raises:
        DataError: The file is missing, no checkpoint, broken, or holds other objects.
    """
    if not path.is_file():
        raise DataError(f"weights '{path}': expected a file that holds a state_dict, found none")
    try:
        _look_through(path)
        # torchvision's own training script stores its options as a Namespace: names and plain
        # values, nothing that runs.
        with warnings.catch_warnings(), torch.serialization.safe_globals([argparse.Namespace]):
            warnings.simplefilter("ignore")  # of an unusual protocol, which is read all the same
            return torch.load(path, map_location="cpu", weights_only=True)
    except _BROKEN as error:
        named = re.search(r"GLOBAL ([\w.]+)", str(error))
        if named:
            raise _refused(path, f"Python objects ({shown(named[1])})") from error
        raise DataError(
            f"weights '{path}': expected a file written by torch.save, got: {_words(error)}; "
            f"{_ADVICE}"
        ) from error


def _refused(path: Path, what: str) -> DataError:
    return DataError(
        f"weights '{path}': expected a plain state_dict, got {what}, which are not loaded because "
        f"they can run code; {_ADVICE} instead of the model"
    )


def _words(error: Exception) -> str:
    """Return what is wrong in a line, without advice to trust the file and terminal colours."""
    text = str(error).partition("WeightsUnpickler error:")[2] or str(error)
    line = text.strip().partition("\n")[0]
    return re.sub(r"\x1b\[[0-9;]*m", "", line)[:200] or type(error).__name__


def _look_through(path: Path) -> None:
    """Raise if the file is of another kind, or its pickles would make more than they hold."""
    with path.open("rb") as file:
        start = file.read(16)
        file.seek(0)
        if start.startswith(_ZIP):
            for content in _pickles_of_zip(path):
                _check_pickle(path, content)
        elif start.startswith(_LEGACY):
            for _ in range(_LEGACY_PICKLES):
                _check_pickle(path, file)
        elif not start:
            raise DataError(f"weights '{path}': expected a file written by torch.save, got 0 bytes")
        else:
            raise DataError(
                f"weights '{path}': expected a file written by torch.save, got one that begins "
                f"with {start!r}; {_ADVICE}"
            )


def _pickles_of_zip(path: Path) -> Iterator[bytes]:
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        if any(member.filename.endswith("/constants.pkl") for member in members):
            raise DataError(
                f"weights '{path}': expected a state_dict, got a TorchScript archive; {_ADVICE}"
            )
        for member in members:
            if member.compress_type != zipfile.ZIP_STORED:
                raise DataError(
                    f"weights '{path}': expected a file written by torch.save, got one whose "
                    f"{shown(member.filename)} is compressed, which torch.save never does"
                )
        pickles = [member for member in members if member.filename.endswith("/data.pkl")]
        if not pickles:
            raise DataError(
                f"weights '{path}': expected a file written by torch.save, got an archive without "
                f"data.pkl; {_ADVICE}"
            )
        for member in pickles:
            if member.file_size > MAX_CHECKPOINT_PICKLE_BYTES:
                raise DataError(
                    f"weights '{path}': expected names and shapes of at most "
                    f"{MAX_CHECKPOINT_PICKLE_BYTES} bytes, got {member.file_size}"
                )
            yield archive.read(member)


def _check_pickle(path: Path, content: bytes | IO[bytes]) -> None:
    """Follow a pickle without making anything, and count the leaves of its tuples.

    A tuple that holds itself twice over in a hundred steps has 2^100 leaves, and to hash it as the
    key of a dict takes for ever.
    """
    stack: list[int | None] = []  # leaves of what stands there; None is a mark
    memo: dict[Any, int] = {}
    for opcode, argument, _ in pickletools.genops(content):
        name = opcode.name
        if name in ("GLOBAL", "INST") and argument in _BOMBS:
            raise _refused(path, f"Python objects ({shown(argument)})")
        if name in ("PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE"):
            memo[len(memo) if argument is None else argument] = stack[-1] or 1
        elif name in ("GET", "BINGET", "LONG_BINGET"):
            stack.append(memo[argument])
        else:
            taken = _take(stack, [thing.name for thing in opcode.stack_before])
            leaves = sum(taken) if name.startswith("TUPLE") or name == "DUP" else 0
            if leaves > MAX_TUPLE_LEAVES:
                raise DataError(
                    f"weights '{path}': expected names and shapes, got tuples of more than "
                    f"{MAX_TUPLE_LEAVES} entries in each other"
                )
            made = [None if thing.name == "mark" else 1 + leaves for thing in opcode.stack_after]
            stack.extend(made)


def _take(stack: list[int | None], things: list[str]) -> list[int]:
    """Take what an instruction takes from the stack, and return the leaves of each."""
    taken: list[int] = []
    if "mark" in things:
        taken.extend(iter(stack.pop, None))
        things = things[: things.index("mark")]
    return taken + [stack.pop() or 1 for _ in things]
