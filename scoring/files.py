"""Atomic files: a file that exists is complete."""

from __future__ import annotations

import contextlib
import glob
import os
import tempfile
from pathlib import Path

TEMPORARY_PATTERN = ".*.tmp"
"""What a writer that was killed may leave beside the file that it was writing."""

_MOST_OF_NAME = 40


def remove_leftovers(path: Path) -> None:
    """Remove what killed writers of a file left half written beside it.

    Call it where no other process writes the file.
    """
    for leftover in path.parent.glob(f".{glob.escape(path.name[:_MOST_OF_NAME])}.*.tmp"):
        leftover.unlink(missing_ok=True)


def write_atomic(path: Path, content: bytes) -> None:
    """Write a file through a temporary one in the same folder, flushed to disk before it appears.

    Args:
        path: Where the file shall stand; its folder is made.
        content: All of it.

    Raises:
        OSError: The disk is full or the folder cannot be written; it names the file, and no part
            of it is left.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary: Path | None = None
    try:
        # The name says whose it is, and is never too long for a file system.
        prefix = f".{path.name[:_MOST_OF_NAME]}."
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=prefix, suffix=".tmp")
        temporary = Path(name)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o644)
        temporary.replace(path)
    except BaseException as error:
        if temporary is not None:
            with contextlib.suppress(OSError):
                temporary.unlink()
        if isinstance(error, OSError):
            # A full disk names no file, and nobody knows the temporary one.
            raise OSError(error.errno, error.strerror or str(error), str(path)) from error
        raise
