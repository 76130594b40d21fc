"""What label ids are called, where no detector tells: a file of one name per line."""

from __future__ import annotations

from pathlib import Path

from scoring.errors import DataError
from scoring.limits import MAX_CLASSES, MAX_LIST_BYTES
from scoring.reading import read_text

_KIND = "a list of class names"


def read_label_names(path: Path) -> tuple[str, ...]:
    """Return the name of each label id, counted from 0.

    Args:
        path: UTF-8 text; line 1 names label 0, which is the background where a detector's labels
            begin at 1.

    Raises:
        DataError: There is no such file, it is too large or no text, or a line before the last
            name is empty.
    """
    try:
        lines = read_text(path, MAX_LIST_BYTES, _KIND, may_be_pipe=True).splitlines()
    except FileNotFoundError as error:
        raise DataError(f"{path}: cannot be opened ({error.strerror})") from error
    names = [line.strip() for line in lines]
    while names and not names[-1]:
        names.pop()
    if not 0 < len(names) <= MAX_CLASSES:
        raise DataError(f"{path}: expected 1 to {MAX_CLASSES:,} class names, got {len(names):,}")
    if "" in names:
        number = names.index("")
        raise DataError(
            f"{path}, line {number + 1}: expected the name of label {number}, got an empty line; "
            f"every label from 0 has a line, also one that is never found"
        )
    return tuple(names)
