"""Execution: the units of a campaign, run one after the other, written and accounted for."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from torch import Tensor

from mutators import Mutant
from runners.campaign import Prepared
from runners.images import ImageRef, read_image
from runners.ledger import Entry, Ledger, Unit
from runners.memo import Memo
from runners.passes import run_mutant, run_original, run_original_once
from runners.settings import arithmetic
from runners.unit_files import UnitFiles, is_whole
from scoring.detections import Detections
from scoring.errors import DataError
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
    try:
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
    finally:
        subject.close()


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

    @cached_property
    def memo(self) -> Memo | None:
        """What all passes over the image share; None where nothing is, or it is not wanted."""
        campaign = self.prepared.campaign
        if not campaign.use_memo or not self.prepared.is_deterministic:
            return None
        return Memo(self.image.to(campaign.detector.device))

    def close(self) -> None:
        """Free what is kept of the image."""
        # Asked for by name, for reading it would make one.
        memo = self.__dict__.pop("memo", None)
        if memo:
            memo.clear()

    def original(self) -> list[bytes]:
        """Return the files of the original's passes; a crash is remembered, not repeated."""
        if self._fault:
            raise self._fault
        if self._original is None:
            try:
                passes = self._run_original()
                self._original = [encode_prediction(detections) for detections in passes]
            except _CRASHES as error:
                self._fault = error
                raise
        return self._original

    def _run_original(self) -> list[Detections]:
        campaign = self.prepared.campaign
        if not self.prepared.is_deterministic:
            return run_original(campaign.detector, self.image, campaign.settings)
        return run_original_once(
            campaign.detector,
            self.image,
            campaign.settings,
            memo=self.memo,
            sites=campaign.site_names(),
        )

    def mutated(self, mutant: Mutant) -> list[bytes]:
        """Return the files of a mutant's passes."""
        campaign = self.prepared.campaign
        passes, _ = run_mutant(
            campaign.detector,
            self.image,
            self.ref.relative_path,
            mutant,
            campaign.settings,
            memo=self.memo,
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
        for ref in campaign.own_images:
            for entry, is_new in run_image(prepared, ref, done, ledger):
                summary.add(entry, is_new=is_new)
                if on_unit:
                    on_unit(entry, is_new)
    summary.seconds = time.perf_counter() - started
    return summary
