"""The files of passes: which there are, and their bytes, within limits."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from scoring.errors import DataError
from scoring.layout import experiment_of, prediction_name, prediction_path
from scoring.limits import MAX_DETECTIONS, MAX_MARKS, MAX_NUMBERS, MAX_PREDICTION_BYTES
from scoring.manifest import read_manifest_file
from scoring.reading import size_text

_PREDICTION_NAME = re.compile(r"prediction_\d+\.json")
_FLAGS = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
"""A pipe among the files is not waited for."""
_READ_AT_ONCE = 2**17 - 64
"""Bytes; larger blocks are mapped and unmapped each time."""
_MANY_BYTES = 2**20
"""From this size on the marks of a file are counted before it is parsed."""


def read_content(folder: Path, t: int, total: int) -> bytes:
    """Return the content of a prediction file.

    Args:
        folder: The folder of an image under a mutant.
        t: The pass.
        total: T, for messages.

    Raises:
        DataError: The file is missing, cannot be read, or exceeds a limit of `scoring.limits`.
    """
    try:
        # Half the time of Path.read_bytes, of which a sweep has hundreds of thousands.
        handle = os.open(f"{folder}{os.sep}{prediction_name(t)}", _FLAGS)
        try:
            content = os.read(handle, _READ_AT_ONCE)
            if more := os.read(handle, _READ_AT_ONCE):
                content = b"".join([content, more, *_rest(handle)])
        finally:
            os.close(handle)
    except FileNotFoundError:
        raise DataError(_missing_pass(folder, t, total)) from None
    except OSError as error:
        raise DataError(
            f"{prediction_path(folder, t)}: pass {t} cannot be read ({error.strerror})"
        ) from error
    if len(content) > _MANY_BYTES:
        _refuse_many(content, folder, t)
    return content


def _rest(handle: int) -> Iterator[bytes]:
    """Yield the rest of a file, but no more than shows that it is too large."""
    left = MAX_PREDICTION_BYTES
    while left > 0 and (part := os.read(handle, _MANY_BYTES)):
        yield part
        left -= len(part)


def _refuse_many(content: bytes, folder: Path, t: int) -> None:
    """Raise if a large file exceeds a limit, before it is parsed."""
    if len(content) > MAX_PREDICTION_BYTES:
        raise DataError(
            f"{prediction_path(folder, t)}: expected a prediction file of at most "
            f"{size_text(MAX_PREDICTION_BYTES)}, which it exceeds"
        )
    if sum(content.count(mark) for mark in (b"{", b"[", b'"')) > MAX_MARKS:
        raise DataError(
            f"{prediction_path(folder, t)}: {few_detections()}, got a file of more than "
            f"{MAX_MARKS:,} objects, lists and quotation marks"
        )
    if content.count(b",") > MAX_NUMBERS:
        raise DataError(
            f"{prediction_path(folder, t)}: expected at most {MAX_NUMBERS:,} numbers, got more"
        )


def few_detections() -> str:
    """Return what messages say of the number of detections."""
    return f"expected at most {MAX_DETECTIONS:,} detections"


def count_passes(folder: Path) -> int:
    """Return how many files `prediction_0.json`, `prediction_1.json`, ... there are up to a gap.

    Raises:
        DataError: A later file exists beyond the gap.
    """
    total = 0
    while prediction_path(folder, total).is_file():
        total += 1
    found = _files_there(folder)
    if found > total:
        raise DataError(_missing_pass(folder, total, found))
    return total


def _files_there(folder: Path) -> int:
    if not folder.is_dir():
        return 0
    return sum(1 for path in folder.iterdir() if _PREDICTION_NAME.fullmatch(path.name))


def _missing_pass(folder: Path, t: int, total: int) -> str:
    first = f", or score fewer with --passes {t}" if t else ""
    return (
        f"pass {t} is missing under {folder} (T={total}, {_files_there(folder)} files are there); "
        f"{_way_on(folder)}{first}"
    )


def _way_on(folder: Path) -> str:
    """Return how to come by the passes that a folder lacks, which depends on who wrote it."""
    place = experiment_of(folder)
    if place is None:
        return "write it too"
    root, model = place
    try:
        manifest = read_manifest_file(root) or {"models": {}}
    except DataError:
        return "write it again"  # what is wrong with the manifest is said where it is read
    section = manifest["models"].get(model)
    if section is None:
        return "write it too"
    if "imported" in section["settings"]:
        return "import all passes of it again ('uamt import')"
    return "run 'uamt run' again to finish it"
