"""Execution: the units of a campaign, run one after the other, written and accounted for."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial

from mutators import Mutant
from runners.campaign import Prepared
from runners.curtailed import Standing, in_turn
from runners.images import ImageRef
from runners.ledger import Entry, Ledger, Unit
from runners.settings import arithmetic
from runners.subject import Subject
from runners.unit_files import is_whole
from runners.writing import Writer
from scoring.layout import original_tag


@dataclass(slots=True)
class Summary:
    """What a run did.

    Args:
        n_run: Units run now.
        n_skipped: Units that were done before.
        n_dropped: Units without passes, for an earlier image of the suite killed the mutant.
        n_mutated: Units of mutants that have passes, run now and before.
        n_passes: Their passes.
        crashed: Entries of units without passes, by a crash of the mutant.
        unreadable: Images that cannot be read, with the message.
        seconds: Time it took.
    """

    n_run: int = 0
    n_skipped: int = 0
    n_dropped: int = 0
    n_mutated: int = 0
    n_passes: int = 0
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
        if entry.status == "dropped":
            self.n_dropped += 1
            return
        if entry.status == "runtime_error":
            self.crashed.append(entry)
        elif entry.status == "unreadable_image":
            self.unreadable[entry.unit.suite, entry.unit.image] = entry.message
        elif entry.unit.tag != original_tag(entry.unit.operator):
            mutant = (entry.unit.operator, entry.unit.tag)
            self.n_mutated += 1
            self.n_passes += len(entry.sha256)
            self._differs[mutant] = self._differs.get(mutant, False) or not entry.equals_original
        self.n_run += is_new
        self.n_skipped += not is_new


def run_images(
    prepared: Prepared,
    images: Sequence[ImageRef],
    done: Mapping[Unit, Entry],
    ledger: Ledger,
) -> Generator[tuple[Entry, bool], None, None]:
    """Run every mutant on some images, and yield each unit's entry and whether it was run now.

    Units are written by a thread while the next ones are computed; an entry comes, and stands in
    the ledger, once its files are complete. Close the generator where it is left early: what is
    computed is then written first.

    An image is read once, and the original runs once for all operators. A unit that the ledger
    lists as done under this configuration, and whose files are whole, is not run again.

    Args:
        prepared: The campaign.
        images: Those of one share of the work, in their order.
        done: Entries of earlier runs.
        ledger: Where entries go as soon as a unit's files are complete.

    Raises:
        ConfigError: A mutant's sites cannot be masked.
        DataError: An image cannot be read, or a mutant crashed, and `on_error` is `stop`; or
            memory ran out.
        OSError: A file cannot be written.
    """
    standing: dict[str, Standing] = {}
    with Writer() as writer:
        for ref in images:
            of_suite = standing.setdefault(
                ref.suite, Standing(prepared.campaign.settings.curtailment)
            )
            yield from _run_image(Subject(prepared, ref, of_suite), done, ledger, writer)
        for entry in writer.drain():
            yield entry, True


def _run_image(
    subject: Subject, done: Mapping[Unit, Entry], ledger: Ledger, writer: Writer
) -> Iterator[tuple[Entry, bool]]:
    with closing(subject):
        for mutant in subject.prepared.campaign.mutants():
            finished = _finished(subject, mutant, done)
            if finished is not None:
                subject.standing.add(finished)
                yield finished, False
                continue
            started = time.perf_counter()
            finish = subject.run(mutant)
            write = partial(_write, finish, ledger, time.perf_counter() - started)
            for entry in writer.submit(write):
                yield entry, True


def _write(finish: Callable[[], Entry], ledger: Ledger, seconds: float) -> Entry:
    """Write a unit's files, then its line in the ledger, and return its entry."""
    started = time.perf_counter()
    entry = finish()
    seconds = round(seconds + time.perf_counter() - started, 4)
    entry = replace(entry, seconds=seconds, host=socket.gethostname())
    ledger.append(entry)
    return entry


def finished_entries(
    prepared: Prepared, images: Sequence[ImageRef], done: Mapping[Unit, Entry]
) -> list[Entry] | None:
    """Return the entries of images whose every unit is done, or None: there is work left."""
    entries = []
    curtailment = prepared.campaign.settings.curtailment
    standing: dict[str, Standing] = {}
    for ref in images:
        of_suite = standing.setdefault(ref.suite, Standing(curtailment))
        subject = Subject(prepared, ref, of_suite)
        for mutant in prepared.campaign.mutants():
            entry = _finished(subject, mutant, done)
            if entry is None:
                return None
            of_suite.add(entry)
            entries.append(entry)
    return entries


def _finished(subject: Subject, mutant: Mutant, done: Mapping[Unit, Entry]) -> Entry | None:
    prepared, ref = subject.prepared, subject.ref
    entry = done.get(prepared.unit(ref, mutant))
    if entry is None or entry.configuration != prepared.configuration(ref, mutant):
        return None
    if entry.status == "dropped":
        return entry if subject.standing.is_dropped(mutant) else None
    has_passes = prepared.may_have(mutant, len(entry.sha256))
    return entry if has_passes and is_whole(subject.folder(mutant), entry) else None


OnUnit = Callable[[Entry, bool], None]


def run_serially(prepared: Prepared, on_unit: OnUnit | None = None) -> Summary:
    """Run a campaign in this process; resumes.

    Args:
        prepared: As `prepare` returns it.
        on_unit: Called with each unit's entry, and whether it was run now.

    Raises:
        DataError: See `run_images`.
    """
    campaign = prepared.campaign
    ledger = Ledger(campaign.root)
    ledger.close_torn_line()
    done = ledger.latest()
    summary, started = Summary(), time.perf_counter()
    settings = campaign.settings
    images = [ref for turn in in_turn(campaign.own_images, settings.curtailment) for ref in turn]
    with (
        arithmetic(settings.threads, settings.precision),
        closing(run_images(prepared, images, done, ledger)) as entries,
    ):
        for entry, is_new in entries:
            summary.add(entry, is_new=is_new)
            if on_unit:
                on_unit(entry, is_new)
    summary.seconds = time.perf_counter() - started
    return summary
