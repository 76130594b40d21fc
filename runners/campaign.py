"""A campaign: every image of some suites under every mutant, written as prediction files."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from torch import Tensor

from mutators import Mutant, Operator, dropblock_sites, resolve_sites
from runners.detectors import Detector
from runners.fingerprints import FileFingerprint
from runners.images import ImageRef, read_image
from runners.ledger import Entry, Ledger, Unit
from runners.manifest import (
    OperatorPlan,
    configuration_hash,
    merge_model,
    model_section,
    operator_options,
    read_manifest,
    settings_section,
)
from runners.passes import run_mutant, run_original, run_original_once
from runners.settings import OnError, Settings, arithmetic
from runners.unit_files import UnitFiles, is_whole
from scoring.errors import ConfigError, DataError
from scoring.layout import Branch, original_tag
from scoring.predictions import encode_prediction

_CRASHES = (
    RuntimeError,
    ValueError,
    ArithmeticError,
    LookupError,
    TypeError,
    AssertionError,
    DataError,
)
"""What a mutated model may raise: of torch, of the model's own checks, or NaN in its outputs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Campaign:
    """What is to be run, and where it goes.

    Args:
        detector: The model.
        suites: Images by suite, as `list_suites` returns them.
        operators: Sweeps, each of its own name.
        settings: What decides a result besides.
        root: The experiment's folder.
        on_error: Whether an unreadable image or a crash is recorded and passed over, or stops.
    """

    detector: Detector
    suites: Mapping[str, Sequence[ImageRef]]
    operators: Sequence[Operator]
    settings: Settings
    root: Path
    on_error: OnError = "skip"

    @property
    def images(self) -> list[ImageRef]:
        """All images, suite by suite."""
        return [ref for images in self.suites.values() for ref in images]

    def mutants(self) -> list[Mutant]:
        """Return all mutants in the order in which an image runs them, each original first."""
        return [
            mutant
            for operator in self.operators
            for mutant in (operator.original(), *operator.mutants())
        ]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A campaign whose manifest is written: what a worker needs besides.

    Args:
        campaign: What is to be run.
        is_deterministic: Whether the original gives equal bytes twice.
        operator_hashes: Per operator, the hash of settings, sites and options.
        fingerprints: Size and sha256 of each image; None where it cannot be read.
    """

    campaign: Campaign
    is_deterministic: bool
    operator_hashes: Mapping[str, str]
    fingerprints: Mapping[ImageRef, FileFingerprint | None]

    def unit(self, ref: ImageRef, mutant: Mutant) -> Unit:
        """Return the unit of an image and a mutant."""
        name = self.campaign.detector.name
        return Unit(name, ref.suite, ref.relative_path, mutant.operator, mutant.tag)

    def configuration(self, ref: ImageRef, mutant: Mutant) -> str:
        """Return the hash of everything that decides the result of a unit."""
        fingerprint = self.fingerprints[ref]
        sha256 = fingerprint.sha256 if fingerprint else ""
        return configuration_hash(
            self.operator_hashes[mutant.operator], mutant.tag, ref.relative_path, sha256
        )


@dataclass(slots=True)
class Summary:
    """What a run did.

    Args:
        n_run: Units run now.
        n_skipped: Units that were done before.
        crashed: Entries of units without passes, by a crash of the mutant.
        unreadable: Images that cannot be read, with the message.
        seconds: Time it took.
    """

    n_run: int = 0
    n_skipped: int = 0
    crashed: list[Entry] = field(default_factory=list)
    unreadable: dict[tuple[str, str], str] = field(default_factory=dict)
    seconds: float = 0.0
    _differs: dict[tuple[str, str], bool] = field(default_factory=dict, repr=False)

    def unchanged(self) -> list[str]:
        """Return the mutants that equal the original in every pass of every image."""
        return [
            f"{operator} {tag}" for (operator, tag), differs in self._differs.items() if not differs
        ]

    @property
    def is_clean(self) -> bool:
        """Whether every image and mutant has its passes."""
        return not self.crashed and not self.unreadable

    def add(self, entry: Entry, *, is_new: bool) -> None:
        """Count one unit."""
        if entry.status == "runtime_error":
            self.crashed.append(entry)
        elif entry.status == "unreadable_image":
            self.unreadable[entry.unit.suite, entry.unit.image] = entry.message
        elif entry.unit.tag != original_tag(entry.unit.operator):
            mutant = (entry.unit.operator, entry.unit.tag)
            self._differs[mutant] = self._differs.get(mutant, False) or not entry.equals_original
        self.n_run += is_new
        self.n_skipped += not is_new


def check_operators(detector: Detector, operators: Sequence[Operator]) -> None:
    """Refuse sweeps that cannot run on a detector, before anything does.

    Raises:
        ConfigError: No operator, two of one name, sites that do not exist, or DropBlock where
            there is no four-dimensional site.
    """
    names = [operator.name for operator in operators]
    if not names:
        raise ConfigError("operators: expected at least one, got none")
    if len(set(names)) < len(names):
        raise ConfigError(f"operators: expected each once, got {', '.join(names)}")
    for operator in operators:
        mutants = operator.mutants()
        if not mutants:
            raise ConfigError(f"operator {operator.name}: expected at least one rate above 0")
        with mutants[0].mutation.on_model(detector.model):
            pass


def applicable_operators(
    detector: Detector, operators: Sequence[Operator]
) -> tuple[list[Operator], list[Operator]]:
    """Return the operators of a default sweep that a detector can run, and those it cannot.

    DropBlock needs maps of four dimensions, which fully connected sites do not have.
    """
    runs: list[Operator] = []
    cannot: list[Operator] = []
    for operator in operators:
        needs_maps = operator.name == "mc_dropblock"
        sites = getattr(operator, "sites", ())
        has_maps = not needs_maps or bool(dropblock_sites(detector.model, sites))
        (runs if has_maps else cannot).append(operator)
    return runs, cannot


def prepare(campaign: Campaign, *, redo_changed: bool = False) -> Prepared:
    """Check a campaign, measure what its manifest says, and write the manifest.

    The original runs twice on the first readable image, to find out whether it is deterministic.

    Raises:
        ConfigError: The sweeps cannot run, or results are there under another configuration.
        DataError: No image can be read, or the model computes NaN or infinity.
    """
    detector, settings = campaign.detector, campaign.settings
    check_operators(detector, campaign.operators)
    fingerprints = {ref: _fingerprint(ref) for ref in campaign.images}
    before = read_manifest(campaign.root)["models"].get(detector.name, {})
    with arithmetic(settings.threads):
        key, image = _first_image(campaign)
        is_deterministic = before.get("original_is_deterministic")
        if is_deterministic is None or redo_changed:
            twice = [run_original(detector, image, settings) for _ in range(2)]
            is_deterministic = len({encode_prediction(d) for passes in twice for d in passes}) == 1
        plans = {
            operator.name: _plan(campaign, operator, key, image) for operator in campaign.operators
        }
    section = settings_section(detector, settings)
    suites = {
        suite: [(ref, known) for ref in images if (known := fingerprints[ref]) is not None]
        for suite, images in campaign.suites.items()
    }
    merge_model(
        campaign.root,
        detector.name,
        model_section(section, is_deterministic=is_deterministic, operators=plans, suites=suites),
        redo_changed=redo_changed,
    )
    hashes = {
        name: configuration_hash(section, plan.deciding(), is_deterministic)
        for name, plan in plans.items()
    }
    return Prepared(campaign, is_deterministic, hashes, fingerprints)


def _fingerprint(ref: ImageRef) -> FileFingerprint | None:
    try:
        return ref.fingerprint()
    except DataError:
        return None


def _first_image(campaign: Campaign) -> tuple[str, Tensor]:
    faults = []
    for ref in campaign.images:
        try:
            return ref.relative_path, read_image(ref.path)
        except DataError as error:
            if campaign.on_error == "stop":
                raise
            faults.append(str(error))
    raise DataError(f"none of the {len(faults)} images can be read; the first: {faults[0]}")


def _plan(campaign: Campaign, operator: Operator, key: str, image: Tensor) -> OperatorPlan:
    """Return the operator's plan; its block sizes are seen in one pass with the largest block."""
    detector, mutants = campaign.detector, operator.mutants()
    preset = getattr(operator, "sites", "")
    blocks = tuple(getattr(operator, "blocks", ()))
    sites = (dropblock_sites if blocks else resolve_sites)(detector.model, preset)
    effective: dict[str, dict[str, list[int]]] = {}
    if blocks:
        largest = next(m for m in mutants if m.tag.endswith(f"_{max(blocks)}"))
        once = Settings(passes=1, seed=campaign.settings.seed)
        _, report = run_mutant(detector, image, key, largest, once)
        effective = {
            str(block): {
                site.site: sorted({min(block, size) for size in site.blocks})
                for site in report.sites
            }
            for block in sorted(blocks)
        }
    return OperatorPlan(
        sites=tuple(site.label for site in sites),
        preset=preset,
        options=operator_options(operator),
        tags=tuple(mutant.tag for mutant in mutants),
        effective_blocks=effective,
    )


def run_image(
    prepared: Prepared, ref: ImageRef, done: Mapping[Unit, Entry], ledger: Ledger
) -> Iterator[tuple[Entry, bool]]:
    """Run every mutant on one image, and yield each unit's entry and whether it was run now.

    The image is read once, and the original runs once for all operators. A unit that the ledger
    lists as done under this configuration, and whose files are whole, is not run again.

    Args:
        prepared: The campaign.
        ref: The image.
        done: Entries of earlier runs.
        ledger: Where entries go as soon as a unit's files are complete.

    Raises:
        ConfigError: A mutant's sites cannot be masked.
        DataError: The image cannot be read, or a mutant crashed, and `on_error` is `stop`.
    """
    subject = _Subject(prepared, ref)
    for mutant in prepared.campaign.mutants():
        finished = _finished(prepared, ref, mutant, done)
        if finished is not None:
            yield finished, False
            continue
        started = time.perf_counter()
        entry = _run_unit(subject, mutant, _folder(prepared, ref, mutant))
        seconds = round(time.perf_counter() - started, 4)
        entry = replace(entry, seconds=seconds, host=socket.gethostname())
        ledger.append(entry)
        yield entry, True


def finished_entries(
    prepared: Prepared, ref: ImageRef, done: Mapping[Unit, Entry]
) -> list[Entry] | None:
    """Return the entries of an image whose every unit is done, or None: there is work left."""
    entries = []
    for mutant in prepared.campaign.mutants():
        entry = _finished(prepared, ref, mutant, done)
        if entry is None:
            return None
        entries.append(entry)
    return entries


def _folder(prepared: Prepared, ref: ImageRef, mutant: Mutant) -> Path:
    branch = Branch(mutant.operator, prepared.campaign.detector.name, ref.suite)
    return branch.folder(prepared.campaign.root, mutant.tag, ref.stem)


def _finished(
    prepared: Prepared, ref: ImageRef, mutant: Mutant, done: Mapping[Unit, Entry]
) -> Entry | None:
    entry = done.get(prepared.unit(ref, mutant))
    if entry is None or entry.configuration != prepared.configuration(ref, mutant):
        return None
    return entry if is_whole(_folder(prepared, ref, mutant), entry) else None


class _Subject:
    """One image of a campaign: read, and run through the original, once and when needed.

    Args:
        prepared: The campaign.
        ref: The image.
    """

    def __init__(self, prepared: Prepared, ref: ImageRef) -> None:
        self.prepared = prepared
        self.ref = ref
        self._original: list[bytes] | None = None
        self._fault: BaseException | None = None

    @cached_property
    def image(self) -> Tensor:
        return read_image(self.ref.path)

    def original(self) -> list[bytes]:
        """Return the files of the original's passes; a crash is remembered, not repeated."""
        if self._fault:
            raise self._fault
        if self._original is None:
            run = run_original_once if self.prepared.is_deterministic else run_original
            campaign = self.prepared.campaign
            try:
                passes = run(campaign.detector, self.image, campaign.settings)
                self._original = [encode_prediction(detections) for detections in passes]
            except _CRASHES as error:
                self._fault = error
                raise
        return self._original

    def mutated(self, mutant: Mutant) -> list[bytes]:
        """Return the files of a mutant's passes."""
        campaign = self.prepared.campaign
        passes, _ = run_mutant(
            campaign.detector, self.image, self.ref.relative_path, mutant, campaign.settings
        )
        return [encode_prediction(detections) for detections in passes]


def _run_unit(subject: _Subject, mutant: Mutant, folder: Path) -> Entry:
    """Run one unit, write its files, and return its entry."""
    prepared, ref = subject.prepared, subject.ref
    unit, configuration = prepared.unit(ref, mutant), prepared.configuration(ref, mutant)
    is_skipping = prepared.campaign.on_error == "skip"
    files = UnitFiles(folder)
    try:
        subject.image  # noqa: B018 - read here, to tell a bad image from a crash
    except DataError as error:
        if not is_skipping:
            raise
        files.clear()
        return Entry(unit, "unreadable_image", configuration, ref.stem, message=str(error))
    try:
        original = subject.original()
        contents = original if mutant.is_original else subject.mutated(mutant)
    except _CRASHES as error:
        message = f"{type(error).__name__}: {error}"
        if not is_skipping:
            raise DataError(
                f"image '{ref.suite}/{ref.relative_path}', mutant {mutant.operator} {mutant.tag}: "
                f"{message}; with --on-error skip this is recorded and the run goes on"
            ) from error
        files.clear()
        return Entry(unit, "runtime_error", configuration, ref.stem, message=message)
    return Entry(
        unit,
        "done",
        configuration,
        ref.stem,
        sha256=files.write(contents),
        equals_original=not mutant.is_original and contents == original,
    )


OnUnit = Callable[[Entry, bool], None]


def run_serially(prepared: Prepared, on_unit: OnUnit | None = None) -> Summary:
    """Run a campaign in this process; resumes.

    Args:
        prepared: As `prepare` returns it.
        on_unit: Called with each unit's entry, and whether it was run now.

    Raises:
        DataError: See `run_image`.
    """
    campaign = prepared.campaign
    ledger = Ledger(campaign.root)
    ledger.close_torn_line()
    done = ledger.latest()
    summary, started = Summary(), time.perf_counter()
    with arithmetic(campaign.settings.threads):
        for ref in campaign.images:
            for entry, is_new in run_image(prepared, ref, done, ledger):
                summary.add(entry, is_new=is_new)
                if on_unit:
                    on_unit(entry, is_new)
    summary.seconds = time.perf_counter() - started
    return summary
