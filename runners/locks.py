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


def try_lock(handle: int, *, is_shared: bool = False) -> bool:
    """Take the lock of an open file if no other process holds it, and return whether it may go on.

    The lock goes with the file's last handle, and with the process. A lock that this process holds
    by the same handle changes its kind.

    Args:
        handle: A file descriptor.
        is_shared: Let others share it, instead of holding it alone.
    """
    if fcntl is None:
        return True
    try:
        fcntl.flock(handle, (fcntl.LOCK_SH if is_shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # a file system without locks
    return True


@contextlib.contextmanager
def folder_locked(folder: Path, name: str = ".lock") -> Iterator[None]:
    """Return a context in which no other process holds the lock of a folder, which is made.

    Args:
        folder: The folder.
        name: File in it that stands for the lock, where a folder has several.
    """
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder / name, os.O_WRONLY | os.O_CREAT, 0o644)
    try:
        with locked(handle):
            yield
    finally:
        os.close(handle)
