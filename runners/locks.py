"""Locks between the processes of one folder, on one machine or several."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


@contextlib.contextmanager
def locked(handle: int) -> Iterator[None]:
    """Return a context in which no other process holds the lock of an open file; it waits for it.

    A process that dies gives its lock up. File systems without locks are used without: what is
    written is the same bytes from every process, so that a lost race costs work and no result.

    Args:
        handle: A file descriptor that may be written to.
    """
    if fcntl is None:
        yield
        return
    is_held = True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
    except OSError:
        is_held = False
    try:
        yield
    finally:
        if is_held:
            fcntl.flock(handle, fcntl.LOCK_UN)


@contextlib.contextmanager
def folder_locked(folder: Path) -> Iterator[None]:
    """Return a context in which no other process holds the lock of a folder, which is made."""
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder / ".lock", os.O_WRONLY | os.O_CREAT, 0o644)
    try:
        with locked(handle):
            yield
    finally:
        os.close(handle)
