"""The account of an experiment: what its manifest lists, and what its ledger says of each unit.

Neither needs a model, and nothing here loads torch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from runners.ledger import Entry, Ledger, Unit
from runners.manifest_file import operator_configuration, read_manifest, unit_configuration
from scoring.curtailment import Curtailment
from scoring.errors import ConfigError, DataError
from scoring.folder_names import is_unseen
from scoring.layout import MANIFEST_NAME, Branch, original_tag
from scoring.manifest import read_manifest_file

State = Literal["done", "runtime_error", "unreadable_image", "dropped", "not_run", "changed"]
"""What the ledger says of a unit: its status; or that it has no line, or that its last line is of
another configuration than the manifest's."""

IN_ORDER: tuple[State, ...] = ("done", "dropped", "runtime_error", "unreadable_image")
"""States of a unit that is run, whatever came of it."""


@dataclass(frozen=True, slots=True)
class ListedImage:
    """An image as the manifest lists it: the name of its results, and its bytes' sha256."""

    stem: str
    sha256: str


@dataclass(frozen=True, slots=True)
class ListedModel:
    """One model of an experiment, as the manifest lists it.

    Args:
        name: The model's folder name.
        images: By suite and path.
        tags: By operator, the original first.
        curtailment: When passes stopped; None for a full campaign.
        section: The manifest's section.
        configurations: By operator, the hash of what decides its results; empty where another tool
            made the passes.
    """

    name: str
    images: Mapping[str, Mapping[str, ListedImage]]
    tags: Mapping[str, tuple[str, ...]]
    curtailment: Curtailment | None
    section: Mapping[str, Any]
    configurations: Mapping[str, str]

    @property
    def is_imported(self) -> bool:
        """Whether another tool made the passes, of which no ledger tells."""
        return not self.configurations

    @property
    def n_passes(self) -> int | None:
        """T; None where another tool made the passes."""
        passes = self.section["settings"].get("passes")
        return passes if isinstance(passes, int) else None

    def units_of(self, suite: str, image: str) -> Iterator[Unit]:
        """Yield the units of an image."""
        for operator, tags in self.tags.items():
            for tag in tags:
                yield Unit(self.name, suite, image, operator, tag)

    def units(self) -> Iterator[Unit]:
        """Yield all units, image by image."""
        for suite, images in self.images.items():
            for image in images:
                yield from self.units_of(suite, image)

    def lists(self, unit: Unit) -> bool:
        """Return whether a unit is one of these."""
        return unit.image in self.images.get(unit.suite, {}) and unit.tag in self.tags.get(
            unit.operator, ()
        )

    def folder(self, root: Path, unit: Unit) -> Path:
        """Return the folder of a unit's files."""
        stem = self.images[unit.suite][unit.image].stem
        return Branch(unit.operator, self.name, unit.suite).folder(root, unit.tag, stem)

    def configuration(self, unit: Unit) -> str:
        """Return the hash of everything that decides a unit's result, as the ledger has it."""
        sha256 = self.images[unit.suite][unit.image].sha256
        return unit_configuration(self.configurations[unit.operator], unit.tag, unit.image, sha256)

    def is_unopened(self, unit: Unit, entry: Entry) -> bool:
        """Return whether a unit's image could not be opened, so that it cannot be listed."""
        of_operator = self.configurations.get(unit.operator)
        return (
            unit.model == self.name
            and entry.status == "unreadable_image"
            and of_operator is not None
            and not self.lists(unit)
            and entry.configuration == unit_configuration(of_operator, unit.tag, unit.image, "")
        )


@dataclass(frozen=True, slots=True)
class Account:
    """What an experiment's manifest lists, and what its ledger says of it.

    Args:
        root: The experiment's folder.
        models: By folder name.
        entries: The last line of every unit; None where there is no ledger.
    """

    root: Path
    models: Mapping[str, ListedModel]
    entries: Mapping[Unit, Entry] | None

    def has_ledger(self, model: ListedModel) -> bool:
        """Return whether the ledger tells of a model's units."""
        return self.entries is not None and not model.is_imported

    def state(self, unit: Unit) -> State:
        """Return what the ledger says of a listed unit."""
        entry = (self.entries or {}).get(unit)
        if entry is None:
            return "not_run"
        if entry.configuration != self.models[unit.model].configuration(unit):
            return "changed"
        return entry.status if entry.status in IN_ORDER else "not_run"


def read_account(root: Path) -> Account | None:
    """Return the account of an experiment.

    None where there is no manifest, or one that only declares something of passes that came from
    elsewhere, and lists nothing.

    Raises:
        DataError: The manifest is broken.
    """
    manifest = read_manifest_file(root)
    if manifest is None or "format" not in manifest:
        return None
    sections = read_manifest(root)["models"]
    try:
        models = {name: _listed(name, section) for name, section in sections.items()}
    except (KeyError, TypeError, AttributeError, ValueError, ConfigError) as error:
        raise DataError(
            f"{root / MANIFEST_NAME}: expected the manifest of an experiment "
            f"({type(error).__name__}: {error}); 'uamt run' or 'uamt import' into another folder "
            f"writes a whole one"
        ) from error
    ledger = Ledger(root)
    return Account(root, models, ledger.latest() if ledger.path.is_file() else None)


def _listed(name: str, section: Mapping[str, Any]) -> ListedModel:
    images = {
        _named(suite): {
            _seen(path): ListedImage(_named(image["stem"]), image.get("sha256", ""))
            for path, image in sorted(of_suite.items())
        }
        for suite, of_suite in section["suites"].items()
    }
    tags = {
        _named(operator): (original_tag(operator), *map(_named, listed["tags"]))
        for operator, listed in section["operators"].items()
    }
    is_imported = "imported" in section["settings"]
    configurations = {o: operator_configuration(section, o) for o in tags if not is_imported}
    curtailment = Curtailment.from_settings(section["settings"])
    return ListedModel(_named(name), images, tags, curtailment, section, configurations)


def _named(name: str) -> str:
    """Return a name that becomes a folder's, or a part of it, and leads nowhere else.

    Raises:
        ValueError: It does.
    """
    if name in ("", ".", "..") or any(c in name for c in "/\\"):
        raise ValueError(f"{name!r} is no folder's name")
    return _seen(name)


def _seen(text: str) -> str:
    """Return a text that can be shown.

    Raises:
        ValueError: It holds what a terminal would obey.
    """
    if any(is_unseen(character) for character in text):
        raise ValueError(f"{text!a} holds a control character")
    return text
