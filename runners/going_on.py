"""Runs that are going on in a folder: a second one of the same work is refused.

Shards of one division share the folder, and so do runs of different models. What tells is a lock,
which the kernel takes back from a process that dies, however it dies: nothing is left that would
keep the next run out.
"""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from runners.locks import folder_locked, try_lock
from scoring.errors import ConfigError

if TYPE_CHECKING:
    from runners.shards import Shard

FOLDER_NAME = ".running"
_GATE = ".gate"
_TRIES, _PAUSE_SECONDS = 20, 0.05
"""A look by `is_going_on`, or a run that is just ending, holds a lock for a moment."""


@contextlib.contextmanager
def going_on(root: Path, model: str, shard: Shard | None = None) -> Iterator[None]:
    """Return a context in which this process alone does this share of the work in a folder.

    Args:
        root: The experiment's folder, which is made.
        model: Folder name of the model that runs.
        shard: The part of the images; None means all of them.

    Raises:
        ConfigError: A run of the model, or of this shard of it, is going on there; or shards of
            another division are.
    """
    folder = root / FOLDER_NAME
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as held:
        _take(held, folder, model, shard)
        yield


def is_going_on(root: Path, model: str) -> bool:
    """Return whether a run of a model is going on in a folder; nothing is written."""
    path = root / FOLDER_NAME / model
    try:
        # Network file systems lock what may be written to; a folder that is only read has no run.
        handle = os.open(path, os.O_RDWR)
    except OSError:
        return False
    try:
        return not try_lock(handle)
    finally:
        os.close(handle)


def _take(held: ExitStack, folder: Path, model: str, shard: Shard | None) -> None:
    """Take the lock of a model, alone or shared with the other shards, until `held` is closed."""
    division = shard.count if shard else 1
    with folder_locked(folder, _GATE):
        handle = _opened(held, folder / model)
        is_taken = division > 1 and not try_lock(handle)
        if is_taken and _described(handle).get("shards") == division:
            pass  # others of this division run
        elif _locks(handle):
            _describe(handle, division)
        else:
            raise ConfigError(_refusal(folder, model, _described(handle), shard))
        if shard is None or division == 1:
            return
        own = _opened(held, folder / f"{model}.shard_{shard.number}_of_{shard.count}")
        if not _locks(own) or not _locks(handle, is_shared=True):
            raise ConfigError(_refusal(folder, model, _described(own), shard))
        _describe(own, division)


def _opened(held: ExitStack, path: Path) -> int:
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    held.callback(os.close, handle)
    return handle


def _locks(handle: int, *, is_shared: bool = False) -> bool:
    for attempt in range(_TRIES):
        if attempt:
            time.sleep(_PAUSE_SECONDS)
        if try_lock(handle, is_shared=is_shared):
            return True
    return False


def _describe(handle: int, division: int) -> None:
    """Say in the lock's file who holds it, for the message of whoever finds it held."""
    who = {"process": os.getpid(), "host": socket.gethostname(), "shards": division}
    os.ftruncate(handle, 0)
    os.lseek(handle, 0, os.SEEK_SET)
    os.write(handle, orjson.dumps(who))


def _described(handle: int) -> dict[str, Any]:
    os.lseek(handle, 0, os.SEEK_SET)
    try:
        who = orjson.loads(os.read(handle, 1000))
    except orjson.JSONDecodeError:
        return {}
    return who if isinstance(who, dict) else {}


def _refusal(folder: Path, model: str, there: dict[str, Any], shard: Shard | None) -> str:
    own, division = shard.count if shard else 1, there.get("shards", 1)
    who = f" (process {there.get('process')} on {there.get('host')})" if there else ""
    if 1 != division != own != 1:
        return (
            f"{folder.parent}: shards of model '{model}' run there{who} that divide the images "
            f"into {division}, got {shard}; take a shard of that division, or wait for them"
        )
    what = f"shard {shard}" if division == own != 1 else "a run"
    return (
        f"{folder.parent}: {what} of model '{model}' is going on there{who}; wait for it or stop "
        f"it, or use another --out; runs that share the work each need their --shard I/N"
    )
