"""Verification: whether a tree of results is whole, and of the one configuration that it lists.

It reads the manifest, the ledger and every file, writes nothing, and loads no torch.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal

from runners.account import Account, ListedModel, State, read_account
from runners.going_on import is_going_on
from runners.ledger import Entry, Unit
from runners.manifest_file import configuration_hash
from scoring.errors import DataError
from scoring.files import TEMPORARY_PATTERN
from scoring.layout import (
    MANIFEST_NAME,
    expect_folder,
    find_branches,
    original_tag,
    prediction_name,
)
from scoring.predictions import read_passes

Kind = Literal[
    "not run",
    "other configuration",
    "missing",
    "empty",
    "changed",
    "passes",
    "broken",
    "stray",
    "edited manifest",
]
"""What is wrong: a unit without results, or with those of another configuration; a file that is
missing, empty, or not the bytes that were written; a number of passes that cannot be; a file that
cannot be read; something that nothing lists; or a manifest that was edited by hand."""

RUN_AGAIN: frozenset[Kind] = frozenset(
    {"not run", "other configuration", "missing", "empty", "changed", "passes"}
)
"""What running again mends."""

_LEFT_BEHIND = "a writer that was killed left it"


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a tree.

    Args:
        kind: What it is.
        model: Folder name of the model; empty where it is none's.
        path: Where, below the tree's folder.
        message: What was expected and what is there.
    """

    kind: Kind
    model: str
    path: str
    message: str


@dataclass(slots=True)
class ModelCheck:
    """What the check of one model found.

    Args:
        model: Its folder name.
        n_images: Images that the manifest lists.
        n_mutants: Mutants, originals among them.
        is_imported: Another tool made the passes, of which no ledger tells.
        is_going_on: A run of it is going on.
        states: Units by what the ledger says of them.
        n_files: Files that are as they should be.
        without_passes: Units that crashed or whose image cannot be read, with the message.
        problems: What is wrong.
    """

    model: str
    n_images: int
    n_mutants: int
    is_imported: bool
    is_going_on: bool = False
    states: Counter[State] = field(default_factory=Counter)
    n_files: int = 0
    without_passes: list[tuple[Unit, State, str]] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Verification:
    """What the check of a tree found.

    Args:
        root: The experiment's folder.
        models: By folder name.
        strays: What belongs to no model that the manifest lists.
    """

    root: Path
    models: Sequence[ModelCheck]
    strays: Sequence[Problem]

    @property
    def problems(self) -> list[Problem]:
        """All that is wrong."""
        return [*(p for model in self.models for p in model.problems), *self.strays]

    @property
    def is_whole(self) -> bool:
        """Whether nothing is."""
        return not self.problems


OnFolder = Callable[[], object]


def verify(root: str | Path, on_unit: OnFolder | None = None) -> Verification:
    """Check every file of a tree against its manifest and its ledger.

    Units that crashed, and images that cannot be read, are listed and no fault of the tree: their
    status says why they have no passes. Of an imported model, whose files no ledger tells, every
    file is read and the passes are counted.

    Args:
        root: The experiment's folder.
        on_unit: Called behind each unit.

    Raises:
        DataError: There is no such folder or no manifest in it, or it is broken.
        OSError: A folder cannot be listed.
    """
    root = Path(root)
    expect_folder(root)
    account = read_account(root)
    if account is None:
        raise DataError(
            f"{root}: expected {MANIFEST_NAME} with a list of what should be there, found none; "
            f"name the folder of an experiment that 'uamt run' or 'uamt import' made"
        )
    models = account.models.values()
    checks = [_Check(account, model).run(on_unit or _nothing) for model in models]
    return Verification(root, checks, list(_strays(account)))


def _nothing() -> None:
    """Count nothing."""


class _Check:
    """The check of one model."""

    def __init__(self, account: Account, model: ListedModel) -> None:
        self.account = account
        self.model = model
        self.found = ModelCheck(
            model.name,
            sum(map(len, model.images.values())),
            sum(map(len, model.tags.values())),
            model.is_imported,
            is_going_on(account.root, model.name),
        )

    def run(self, on_unit: OnFolder) -> ModelCheck:
        settings = self.model.section["settings"]
        recorded = self.model.section.get("settings_sha256")
        if recorded != configuration_hash(settings):
            self._add(
                "edited manifest",
                self.account.root / MANIFEST_NAME,
                "its settings are not those that their sha256 was taken of",
            )
        passes: Counter[int] = Counter()
        for unit in self.model.units():
            folder = self.model.folder(self.account.root, unit)
            there = _files_of(folder)
            if self.model.is_imported:
                passes[self._imported(folder)] += 1
                recorded_files = len(there)
            else:
                recorded_files = self._unit(unit, folder, there)
            self._leftovers(folder, there, recorded_files)
            on_unit()
        if self.model.is_imported:
            self._uneven(passes)
        else:
            self._unlisted()
        return self.found

    def _add(self, kind: Kind, path: Path, message: str) -> None:
        place = path.relative_to(self.account.root).as_posix()
        self.found.problems.append(Problem(kind, self.model.name, place, message))

    def _unit(self, unit: Unit, folder: Path, there: Mapping[str, int]) -> int:
        """Check a unit against its line, and return how many files it should have."""
        state = self.account.state(unit)
        self.found.states[state] += 1
        entry = (self.account.entries or {}).get(unit)
        if state == "not_run" or entry is None:
            is_there = any(name == prediction_name(0) for name in there)
            what = "files that no line of the ledger vouches for" if is_there else "no results"
            self._add("not run", folder, what)
            return len(there)
        if state == "changed":
            self._add(
                "other configuration",
                folder,
                "made before the manifest changed (a --redo-changed that was interrupted?)",
            )
            return len(there)
        if state != "done":
            if state != "dropped":
                self.found.without_passes.append((unit, state, entry.message))
            return 0
        self._files(unit, folder, there, entry)
        return len(entry.sha256)

    def _files(self, unit: Unit, folder: Path, there: Mapping[str, int], entry: Entry) -> None:
        most, least = self.model.n_passes, self.model.n_passes
        is_original = unit.tag == original_tag(unit.operator)
        if self.model.curtailment is not None and not is_original:
            least = 1
        if most is None or least is None or not least <= len(entry.sha256) <= most:
            listed = len(entry.sha256)
            self._add("passes", folder, f"the ledger lists {listed} passes, expected {most}")
        for t, sha256 in enumerate(entry.sha256):
            name = prediction_name(t)
            if name not in there:
                self._add("missing", folder / name, "the ledger lists it")
            elif not there[name]:
                self._add("empty", folder / name, "no byte in it")
            elif not _has_sha256(folder / name, sha256):
                self._add("changed", folder / name, "its sha256 is not the one in the ledger")
            else:
                self.found.n_files += 1

    def _leftovers(self, folder: Path, there: Mapping[str, int], n_files: int) -> None:
        expected = {prediction_name(t) for t in range(n_files)}
        for name in sorted(there):
            is_temporary = fnmatchcase(name, TEMPORARY_PATTERN)
            if is_temporary:
                self._add("stray", folder / name, _LEFT_BEHIND)
            elif name not in expected:
                self._add("stray", folder / name, "no pass of this unit")

    def _imported(self, folder: Path) -> int:
        """Read an imported unit, and return its number of passes."""
        try:
            n_passes = read_passes(folder).n_passes
        except DataError as error:
            self._add("broken", folder, str(error))
            return 0
        self.found.states["done"] += 1
        self.found.n_files += n_passes
        return n_passes

    def _uneven(self, passes: Counter[int]) -> None:
        del passes[0]
        if len(passes) > 1:
            listed = ", ".join(f"{t} ({n} units)" for t, n in sorted(passes.items()))
            self._add(
                "passes",
                self.account.root / MANIFEST_NAME,
                f"expected as many passes of original and every mutant, found units with: {listed}",
            )

    def _unlisted(self) -> None:
        """List units that the manifest cannot name: their image could not even be opened."""
        for unit, entry in (self.account.entries or {}).items():
            if self.model.is_unopened(unit, entry):
                self.found.without_passes.append((unit, "unreadable_image", entry.message))


def _files_of(folder: Path) -> dict[str, int]:
    """Return name and size of what lies in a folder; nothing where there is none."""
    try:
        with os.scandir(folder) as entries:
            return {entry.name: entry.stat().st_size for entry in entries}
    except FileNotFoundError:
        return {}


def _has_sha256(path: Path, sha256: str) -> bool:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == sha256
    except FileNotFoundError:
        return False  # it vanished behind the listing


def _strays(account: Account) -> Iterator[Problem]:
    """Yield the folders of results that the manifest does not list."""
    listed: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    for model in account.models.values():
        for unit in model.units():
            folder = model.folder(account.root, unit)
            listed[unit.operator, unit.model, unit.suite].add(folder.name)
    for branch in find_branches(account.root):
        folder = branch.suite_folder(account.root)
        names = listed.get((branch.operator, branch.model, branch.suite))
        if names is None:
            place = folder.relative_to(account.root).as_posix()
            yield Problem("stray", "", place, "a model, suite or operator the manifest lacks")
            continue
        for path in sorted(folder.iterdir()):
            if path.name not in names:
                place = path.relative_to(account.root).as_posix()
                yield Problem("stray", branch.model, place, "an image or mutant the manifest lacks")
    for path in sorted(account.root.glob(TEMPORARY_PATTERN)):
        yield Problem("stray", "", path.name, _LEFT_BEHIND)
