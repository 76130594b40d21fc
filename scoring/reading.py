"""Reading files of strangers: no more of them than a limit, and no pipe that never ends."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from scoring.errors import DataError

_FLAGS = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
_NO_WAITING = getattr(os, "O_NONBLOCK", 0)
_CHUNK = 2**20


def read_bounded(path: Path, most: int, what: str, *, may_be_pipe: bool = False) -> bytes:
    """Return the content of a file of at most so many bytes.

    Args:
        path: The file.
        most: Bytes; a larger file is refused before it is read.
        what: What it should be, for messages: "a manifest".
        may_be_pipe: Whether it may be a pipe or device, as where a user names it on the command
            line. A folder from elsewhere may hold one that would be waited for without end.

    Raises:
        FileNotFoundError: There is no such file.
        DataError: It cannot be read, is no file, or is too large.
    """
    try:
        handle = os.open(path, _FLAGS | (0 if may_be_pipe else _NO_WAITING))
        with os.fdopen(handle, "rb") as file:
            status = os.fstat(handle)
            if not stat.S_ISREG(status.st_mode) and not may_be_pipe:
                raise DataError(f"{path}: expected {what}, got something that is no file")
            if status.st_size > most:
                raise _too_large(path, most, what)
            parts, left = [], most + 1
            while left > 0 and (part := file.read(min(_CHUNK, left))):
                parts.append(part)
                left -= len(part)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from error
    except ValueError as error:  # a NUL in its name
        raise DataError(f"{str(path)!r}: cannot be read ({error})") from error
    if left <= 0:
        raise _too_large(path, most, what)
    return b"".join(parts)


def _too_large(path: Path, most: int, what: str) -> DataError:
    return DataError(f"{path}: expected {what} of at most {size_text(most)}, which it exceeds")


def size_text(n_bytes: int) -> str:
    """Return a size in words.

    Example:
        >>> size_text(2**17), size_text(32 * 2**20)
        ('128 KiB', '32 MiB')
    """
    return f"{n_bytes // 2**20:,} MiB" if n_bytes >= 2**20 else f"{n_bytes // 2**10} KiB"


def read_text(path: Path, most: int, what: str, *, may_be_pipe: bool = False) -> str:
    """Return the content of a file of UTF-8 text, with or without a byte order mark.

    Args:
        path: As in `read_bounded`, and so are the others.
        most: Bytes.
        what: What it should be.
        may_be_pipe: Whether it may be a pipe.

    Raises:
        FileNotFoundError: There is no such file.
        DataError: As in `read_bounded`, or it is no UTF-8 text.
    """
    content = read_bounded(path, most, what, may_be_pipe=may_be_pipe)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: expected {what} as UTF-8 text ({error})") from error
