"""The ledger: an append-only account of which units of a campaign are done."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, get_args

import orjson

from runners.locks import locked
from scoring.errors import DataError
from scoring.layout import LEDGER_NAME
from scoring.limits import MAX_LEDGER_LINE_BYTES
from scoring.shapes import Shape, is_number, is_text, is_yes_or_no, list_of, misfit, one_of

Status = Literal["done", "runtime_error", "unreadable_image", "dropped"]


@dataclass(frozen=True, slots=True, order=True)
class Unit:
    """One image under one mutant: what is run, written and resumed as a whole.

    Args:
        model: The model's folder name.
        suite: The suite's name.
        image: Path of the image below the suite's folder.
        operator: The mutant's operator.
        tag: The mutant's tag.
    """

    model: str
    suite: str
    image: str
    operator: str
    tag: str


@dataclass(frozen=True, slots=True)
class Entry:
    """What became of a unit.

    Args:
        unit: Which one.
        status: Done; or why there are no passes: the mutant crashed, the image cannot be read, or
            an earlier image of the suite killed the mutant (curtailed mutants).
        configuration: Hash of everything that decides the unit's result.
        stem: Name under which the image's results are written.
        sha256: Of each file: T, or fewer where passes were curtailed.
        equals_original: Whether every pass found what the original found.
        seconds: Time it took.
        host: Where.
        message: What went wrong.
        killed: Kinds by which the passes kill the mutant, where passes were curtailed.
    """

    unit: Unit
    status: Status
    configuration: str
    stem: str
    sha256: tuple[str, ...] = ()
    equals_original: bool = False
    seconds: float = 0.0
    host: str = ""
    message: str = ""
    killed: tuple[str, ...] = ()


_UNIT = {key: Shape("a text", is_text) for key in ("model", "suite", "image", "operator", "tag")}
_ENTRY = {
    "unit": Shape("a unit", lambda value: not misfit(value, _UNIT)),
    "status": Shape("a status", one_of(*get_args(Status))),
    "configuration": Shape("a hash", is_text),
    "stem": Shape("a text", is_text),
    "sha256": Shape("a list of hashes", list_of(is_text), is_needed=False),
    "equals_original": Shape("true or false", is_yes_or_no, is_needed=False),
    "seconds": Shape("a number", is_number, is_needed=False),
    "host": Shape("a text", is_text, is_needed=False),
    "message": Shape("a text", is_text, is_needed=False),
    "killed": Shape("a list of kinds", list_of(is_text), is_needed=False),
}


def ledger_line(entry: Entry) -> bytes:
    """Return an entry as the ledger holds it."""
    return orjson.dumps(asdict(entry)) + b"\n"


def _append_whole(handle: int, line: bytes) -> None:
    end = os.lseek(handle, 0, os.SEEK_END)
    # A disk that fills up takes a part, and says nothing before the next write.
    if os.write(handle, line) < len(line):
        os.ftruncate(handle, end)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class Ledger:
    """The ledger of an experiment.

    Args:
        root: The experiment's folder.
    """

    def __init__(self, root: Path) -> None:
        self.path = root / LEDGER_NAME

    def append(self, entry: Entry) -> None:
        """Add one entry as one line, in one write, so that writers do not tear each other's.

        Raises:
            OSError: The disk is full or the ledger cannot be written; no part of the line is left.
        """
        line = ledger_line(entry)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self._locked(os.O_WRONLY | os.O_APPEND | os.O_CREAT) as handle:
                _append_whole(handle, line)
                os.fsync(handle)
        except OSError as error:
            raise OSError(error.errno, error.strerror or str(error), str(self.path)) from error

    def close_torn_line(self) -> None:
        """End a last line that a killed writer left half written."""
        if not self.path.is_file():
            return
        with self._locked(os.O_RDWR) as handle:
            if os.lseek(handle, 0, os.SEEK_END):
                os.lseek(handle, -1, os.SEEK_END)
                if os.read(handle, 1) != b"\n":
                    os.write(handle, b"\n")

    @contextmanager
    def _locked(self, flags: int) -> Iterator[int]:
        """Return a context with the open file; on a network file system appends need the lock."""
        handle = os.open(self.path, flags, 0o644)
        try:
            with locked(handle):
                yield handle
        finally:
            os.close(handle)

    def latest(self) -> dict[Unit, Entry]:
        """Return the last entry of every unit; a line that is no entry is passed over."""
        entries: dict[Unit, Entry] = {}
        for line in self._lines():
            try:
                fields = orjson.loads(line)
            except orjson.JSONDecodeError:
                continue  # the half line of a killed writer: its unit is run again
            if misfit(fields, _ENTRY):
                continue
            unit = Unit(**fields.pop("unit"))
            for name in ("sha256", "killed"):
                fields[name] = tuple(fields.get(name, ()))
            entries[unit] = Entry(unit, **fields)
        return entries

    def _lines(self) -> Iterator[bytes]:
        """Yield the lines of the file, those apart that are longer than any entry.

        Raises:
            DataError: The file cannot be read.
        """
        if not self.path.is_file():
            return
        try:
            with self.path.open("rb") as file:
                is_start = True
                while line := file.readline(MAX_LEDGER_LINE_BYTES):
                    is_end = line.endswith(b"\n") or len(line) < MAX_LEDGER_LINE_BYTES
                    if is_start and is_end:
                        yield line
                    is_start = is_end
        except OSError as error:
            raise DataError(f"{self.path}: cannot be read ({error.strerror})") from error
