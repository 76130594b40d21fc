"""The ledger: an append-only account of which units of a campaign are done."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import orjson

from runners.locks import locked
from scoring.layout import LEDGER_NAME

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


def ledger_line(entry: Entry) -> bytes:
    """Return an entry as the ledger holds it."""
    return orjson.dumps(asdict(entry)) + b"\n"


class Ledger:
    """The ledger of an experiment.

    Args:
        root: The experiment's folder.
    """

    def __init__(self, root: Path) -> None:
        self.path = root / LEDGER_NAME

    def append(self, entry: Entry) -> None:
        """Add one entry as one line, in one write, so that writers do not tear each other's."""
        line = ledger_line(entry)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            # On a network file system appending is one step only under a lock.
            with locked(handle):
                os.write(handle, line)
                os.fsync(handle)
        finally:
            os.close(handle)

    def close_torn_line(self) -> None:
        """End a last line that a killed writer left half written."""
        if self.path.is_file() and not self.path.read_bytes().endswith(b"\n"):
            with self.path.open("ab") as file:
                if file.tell():
                    file.write(b"\n")

    def latest(self) -> dict[Unit, Entry]:
        """Return the last entry of every unit; a line that is no entry is passed over."""
        entries: dict[Unit, Entry] = {}
        if not self.path.is_file():
            return entries
        for line in self.path.read_bytes().splitlines():
            try:
                fields = orjson.loads(line)
                unit = Unit(**fields.pop("unit"))
                for name in ("sha256", "killed"):
                    fields[name] = tuple(fields.get(name, ()))
                entries[unit] = Entry(unit, **fields)
            except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError):
                continue  # the half line of a killed writer: its unit is run again
        return entries
