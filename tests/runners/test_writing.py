"""The writing thread: entries behind whole files, bounded waiting, errors in the run."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from mutators import MCDropout
from runners.builtin import suites as builtin_suites
from runners.campaign import Campaign, prepare
from runners.detectors import load_detector
from runners.execution import run_serially
from runners.images import list_images
from runners.ledger import Entry, Ledger, Unit
from runners.settings import Settings
from runners.unit_files import UnitFiles, is_whole
from runners.writing import Writer
from scoring.layout import Branch


def entry(number: int) -> Entry:
    return Entry(Unit("m", "s", f"{number}.png", "op", "0.1"), "done", "hash", str(number))


def writes(number: int, log: list[int], wait: threading.Event | None = None) -> Callable[[], Entry]:
    def write() -> Entry:
        if wait:
            wait.wait(10)
        log.append(number)
        return entry(number)

    return write


def test_units_are_written_in_their_order_and_each_entry_comes_once() -> None:
    log: list[int] = []
    found: list[Entry] = []
    with Writer(2) as writer:
        for number in range(10):
            found += writer.submit(writes(number, log))
        found += writer.drain()
        assert list(writer.drain()) == []
    assert log == list(range(10))
    assert [one.stem for one in found] == [str(number) for number in range(10)]


def test_no_more_units_wait_than_may() -> None:
    disk = threading.Event()
    given: list[int] = []

    def give() -> None:
        with Writer(2) as writer:
            for number in range(6):
                for _ in writer.submit(writes(number, [], disk)):
                    pass
                given.append(number)

    thread = threading.Thread(target=give)
    thread.start()
    time.sleep(0.3)
    assert given == [0, 1]
    disk.set()
    thread.join(10)
    assert given == list(range(6))


def test_an_error_of_the_thread_is_one_of_the_run() -> None:
    def full() -> Entry:
        raise OSError(28, "No space left on device")

    log: list[int] = []

    def give() -> None:
        with Writer() as writer:
            for write in (writes(0, log), full, writes(1, log)):
                list(writer.submit(write))
            list(writer.drain())

    with pytest.raises(OSError, match="No space left"):
        give()
    assert log in ([0, 1], [0])  # the error ends the run before the next unit, or behind it


def test_what_was_given_is_written_also_behind_an_interrupt() -> None:
    log: list[int] = []

    def give() -> None:
        with Writer() as writer:
            list(writer.submit(writes(0, log, disk)))
            disk.set()
            raise KeyboardInterrupt

    disk = threading.Event()
    with pytest.raises(KeyboardInterrupt):
        give()
    assert log == [0]


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    refs = list_images(builtin_suites()["plain"], "plain", "stem")[:2]
    return Campaign(
        detector=load_detector("demo_retinanet"),
        suites={"plain": refs},
        operators=(MCDropout(rates=(0.1, 0.3)),),
        settings=Settings(passes=2, chunk=2),
        root=tmp_path / "experiment",
    )


def test_a_line_of_the_ledger_is_written_behind_whole_files(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    append = Ledger.append

    def checked(self: Ledger, one: Entry) -> None:
        unit = one.unit
        branch = Branch(unit.operator, unit.model, unit.suite)
        seen.append(is_whole(branch.folder(campaign.root, unit.tag, one.stem), one))
        append(self, one)

    monkeypatch.setattr(Ledger, "append", checked)
    run_serially(prepare(campaign))
    assert seen == [True] * 6


def test_a_full_disk_ends_the_run_and_what_was_written_stays(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = UnitFiles.write
    calls: list[Path] = []

    def failing(self: UnitFiles, contents: list[bytes]) -> tuple[str, ...]:
        calls.append(self.folder)
        if len(calls) == 3:
            raise OSError(28, "No space left on device")
        return write(self, contents)

    monkeypatch.setattr(UnitFiles, "write", failing)
    with pytest.raises(OSError, match="No space left"):
        run_serially(prepare(campaign))
    n_done = len(Ledger(campaign.root).latest())
    assert n_done == len(calls) - 1
    monkeypatch.undo()
    summary = run_serially(prepare(campaign))
    assert (summary.n_skipped, summary.n_run) == (n_done, 6 - n_done)
