"""Which results of an experiment are scored: those that its manifest lists and its ledger knows."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from scoring.errors import DataError
from scoring.layout import MANIFEST_NAME, Branch, expect_folder, find_branches, original_tag
from scoring.sweep import Sweep, find_sweep
from scoring.tags import tag_order
from uamt.presentation import count_of

if TYPE_CHECKING:
    from runners.account import Account, ListedModel
    from runners.ledger import Entry, Unit

# Fully connected sites have no DropBlock; the study lists MC-Dropout first.
_OPERATOR_ORDER = ("mc_dropout", "mc_dropblock")

_SHOWN = 5


@dataclass(slots=True)
class Selection:
    """The results of an experiment that are scored, and what is left out.

    Args:
        root: The experiment's folder.
        sweeps: What is scored: models and suites by name, MC-Dropout before DropBlock.
        strays: Folders below the root that the manifest does not list: of a model, suite or
            operator, or of an image or mutant.
        unfinished: Images that a run has not finished.
        changed: Images with results of another configuration than the manifest's.
        without_original: Images that cannot be read, or on which the original crashed.
        going_on: Models of which a run is going on.
        random: Models that no weights were named for.
        manifest: Its bytes, by which a change is noticed; None where there is none.
    """

    root: Path
    sweeps: list[Sweep] = field(default_factory=list)
    strays: list[str] = field(default_factory=list)
    unfinished: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    without_original: list[str] = field(default_factory=list)
    going_on: list[str] = field(default_factory=list)
    random: list[str] = field(default_factory=list)
    manifest: bytes | None = None

    @property
    def is_complete(self) -> bool:
        """Whether every image that the manifest lists is scored."""
        return not (self.unfinished or self.changed or self.without_original)

    def _finishing(self) -> str:
        """Return the command that runs what is missing."""
        saved = sorted(self.root.glob("experiment_*.toml"))
        if len(saved) == 1:
            return f"'{shlex.join(['uamt', 'run', str(saved[0])])}'"
        return "the same 'uamt run', of all mutants that were ever run there,"

    def notes(self) -> list[str]:
        """Return what is left out, and how to have it scored."""
        notes = []
        if self.random:
            notes.append(
                f"the weights of {', '.join(self.random)} are RANDOM: what is found means nothing, "
                f"and neither does any score"
            )
        if self.unfinished:
            again = (
                "a run is going on: score again once it is done"
                if self.going_on
                else "the run was stopped, shards of it are missing, or some mutants have not seen "
                f"these images: {self._finishing()} finishes it"
            )
            notes.append(f"{_named(self.unfinished)} not finished and left out; {again}")
        if self.changed:
            notes.append(
                f"{_named(self.changed)} left out: results are of another configuration than the "
                f"manifest's, as an interrupted --redo-changed leaves them; the same 'uamt run' "
                f"redoes them"
            )
        if self.without_original:
            notes.append(
                f"{count_of(len(self.without_original), 'image')} without scores, unreadable or "
                f"crashed in the run: {_first(self.without_original)}"
            )
        if self.strays:
            more = ", ..." if len(self.strays) > 1 else ""
            notes.append(
                f"{count_of(len(self.strays), 'stray folder')} left out, for the manifest does "
                f"not list what they are of (as of images that the suites have no more): "
                f"{self.strays[0]}{more}; 'uamt verify' lists them"
            )
        return notes

    def refuse_changes(self) -> None:
        """Refuse what was read of these results if others took their place meanwhile.

        Raises:
            DataError: A run with another configuration has begun.
        """
        if _manifest_of(self.root) == self.manifest:
            return
        now = {(sweep.branch, stem) for sweep in select(self.root).sweeps for stem in sweep.stems}
        lost = sum((sweep.branch, s) not in now for sweep in self.sweeps for s in sweep.stems)
        if lost:
            raise DataError(
                f"{self.root}: results changed while they were read, for a run of another "
                f"configuration has begun there; wait for it and give the same command again"
            )


def _manifest_of(root: Path) -> bytes | None:
    path = root / MANIFEST_NAME
    return path.read_bytes() if path.is_file() else None


def _named(images: Sequence[str]) -> str:
    return f"{count_of(len(images), 'image')} ({_first(images)})"


def _first(names: Sequence[str]) -> str:
    return f"{', '.join(names[:_SHOWN])}{', ...' if len(names) > _SHOWN else ''}"


def select(root: Path) -> Selection:
    """Return which results of an experiment are scored.

    With a manifest these are what it lists, as far as the ledger says that an image is finished
    under its configuration; without one, all that is there.

    Raises:
        DataError: There is no such folder, it holds no prediction folders, one of them lacks
            original or mutants, the manifest is broken, or nothing of what it lists is finished.
    """
    from runners.account import read_account
    from runners.ledger import Ledger

    expect_folder(root)
    branches = find_branches(root)
    if not branches:
        raise DataError(
            f"{root}: expected folders 'experiment_results_<operator>/<model>/dataset/<suite>', "
            f"found none; name the experiment's folder: --out of 'uamt run' or of 'uamt import'"
        )
    branches.sort(key=branch_order)
    selection = Selection(root, manifest=_manifest_of(root))
    account = read_account(root)
    if account is None:
        crashed = _crashed_pairs(Ledger(root).latest())
        selection.sweeps = [
            find_sweep(root, branch, crashed=crashed.get(branch, ())) for branch in branches
        ]
        return selection
    selection.random = [name for name, model in account.models.items() if _is_random(model)]
    _Listed(account, selection).fill(branches)
    if not selection.sweeps:
        raise DataError(
            f"{root}: expected results that the manifest lists and a run has finished, found "
            f"none: {'; '.join(selection.notes()) or 'see uamt verify'}"
        )
    return selection


def _is_random(model: ListedModel) -> bool:
    """Return whether a run was of a builder for which no weights were named."""
    weights = model.section["settings"].get("model", {}).get("weights", {})
    return isinstance(weights, dict) and weights.get("kind") == "random"


def branch_order(branch: Branch) -> tuple[str, str, int, str]:
    """Return a sort key: models and suites by name, MC-Dropout before DropBlock."""
    operator = branch.operator
    known = _OPERATOR_ORDER.index(operator) if operator in _OPERATOR_ORDER else 2
    return branch.model, branch.suite, known, operator


def _crashed_pairs(entries: Mapping[Unit, Entry]) -> dict[Branch, set[tuple[str, str]]]:
    """Return the pairs of stem and tag that a ledger says crashed."""
    pairs: dict[Branch, set[tuple[str, str]]] = defaultdict(set)
    for unit, entry in entries.items():
        if entry.status == "runtime_error":
            pairs[Branch(unit.operator, unit.model, unit.suite)].add((entry.stem, unit.tag))
    return pairs


class _Listed:
    """What a manifest lists of a tree, sorted into a selection."""

    def __init__(self, account: Account, selection: Selection) -> None:
        self._account = account
        self._selection = selection
        self._stems: dict[tuple[str, str], frozenset[str]] = {}
        self._crashed = _crashed_pairs(account.entries or {})

    def fill(self, branches: Sequence[Branch]) -> None:
        from runners.going_on import is_going_on

        root, selection = self._selection.root, self._selection
        for model in self._account.models.values():
            if self._account.has_ledger(model):
                if is_going_on(root, model.name):
                    selection.going_on.append(model.name)
                for suite in model.images:
                    self._stems[model.name, suite] = frozenset(self._finished(model, suite))
        for branch in branches:
            listed = self._account.models.get(branch.model)
            if listed and branch.operator in listed.tags and branch.suite in listed.images:
                selection.sweeps += self._sweeps(listed, branch)
            else:
                selection.strays.append(_below(root, branch.suite_folder(root)))
        selection.without_original += self._unlisted()

    def _finished(self, model: ListedModel, suite: str) -> Iterator[str]:
        """Yield the stems of the images that are finished; note why others are not."""
        is_in_turn = model.curtailment is not None and model.curtailment.per_mutant
        is_open = False
        for image, listed in model.images[suite].items():
            name = f"'{suite}/{image}' ({model.name})"
            units = list(model.units_of(suite, image))
            states = {unit: self._account.state(unit) for unit in units}
            originals = [states[u] for u in units if u.tag == original_tag(u.operator)]
            if "changed" in states.values():
                self._selection.changed.append(name)
            elif "not_run" in states.values() or is_open:
                self._selection.unfinished.append(name)
            elif any(state != "done" for state in originals):
                self._selection.without_original.append(name)
                continue
            else:
                yield listed.stem
                continue
            # A mutant that an image kills meets no later one, which then says nothing by itself.
            is_open = is_in_turn

    def _sweeps(self, model: ListedModel, branch: Branch) -> Iterator[Sweep]:
        """Yield what is scored of a branch, if anything is."""
        root, tags = self._selection.root, model.tags[branch.operator][1:]
        of_suite = model.images[branch.suite]
        folder = branch.suite_folder(root)
        there = {path.name for path in folder.iterdir() if path.is_dir()}
        listed = {
            branch.folder_in(folder, tag, image.stem).name
            for tag in model.tags[branch.operator]
            for image in of_suite.values()
        }
        self._selection.strays += sorted(_below(root, folder / name) for name in there - listed)
        stems = self._stems.get((branch.model, branch.suite))
        if stems is None:
            first = branch.prefix(original_tag(branch.operator))
            stems = frozenset(i.stem for i in of_suite.values() if f"{first}{i.stem}" in there)
            if not stems or not tags:
                find_sweep(root, branch)  # says what is missing
        if not stems or not tags:
            return
        crashed = frozenset(self._crashed.get(branch, ()))
        in_order = tuple(sorted(tags, key=tag_order))
        yield Sweep(root, branch, tuple(sorted(stems)), in_order, crashed)

    def _unlisted(self) -> list[str]:
        """Return images that could not even be opened, so that the manifest cannot list them."""
        models = self._account.models.values()
        return sorted(
            {
                f"'{unit.suite}/{unit.image}' ({unit.model})"
                for unit, entry in (self._account.entries or {}).items()
                if entry.status == "unreadable_image"
                and any(model.is_unopened(unit, entry) for model in models)
            }
        )


def _below(root: Path, path: Path) -> str:
    return path.relative_to(root).as_posix()
