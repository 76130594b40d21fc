"""Interrupts: every command ends with 130 and says how to go on; pools end what is theirs."""

from __future__ import annotations

import collections
import multiprocessing
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.uamt.conftest import Command
from tests.uamt.quick_experiment import (
    run_flags,
)


def interrupts(number: int) -> Callable[..., object]:
    """Return a function that is interrupted by a real signal."""

    def interrupted(*args: object, **kwargs: object) -> None:
        signal.raise_signal(number)

    return interrupted


RESUMES = "what is finished is kept, and the same command goes on from there"
ANEW = "files that are there are whole, and the same command writes them all anew"
NOTHING = "nothing was written, and the same command starts anew"


@pytest.mark.parametrize(
    ("command", "where", "says", "number"),
    [
        ("run", "runners.execution.Subject.run", RESUMES, signal.SIGINT),
        ("run", "runners.execution.Subject.run", RESUMES, signal.SIGTERM),
        ("plan", "runners.planning.make_plan", NOTHING, signal.SIGTERM),
        ("demo", "runners.campaign.prepare", RESUMES, signal.SIGTERM),
        ("doctor", "uamt.doctor.examine", NOTHING, signal.SIGTERM),
        ("verify", "runners.verification.verify", NOTHING, signal.SIGINT),
        ("score", "scoring.workers.examine_sweep", ANEW, signal.SIGINT),
        ("suites", "scoring.suite_tables.aggregate", ANEW, signal.SIGTERM),
        ("export", "uamt.exchange.export_sweep", ANEW, signal.SIGINT),
    ],
)
def test_every_command_ends_with_130_and_says_how_to_go_on(
    uamt: Command,
    experiment: Path,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    where: str,
    says: str,
    number: int,
) -> None:
    if command == "suites":
        assert uamt("score", experiment)[0] == 0
    words: dict[str, tuple[object, ...]] = {
        "run": run_flags(folder),
        "plan": ("plan", *run_flags(folder)[1:]),
        "demo": ("demo", "--out", folder / "demo"),
        "doctor": ("doctor", "demo_retinanet"),
        "suites": ("suites", experiment / "scores"),
        "export": ("export", "coco", experiment, "--out", folder / "coco"),
    }
    monkeypatch.setattr(where, interrupts(number))
    before = signal.getsignal(signal.SIGTERM)
    code, _, stderr = uamt(*words.get(command, (command, experiment)))
    assert code == 130
    assert stderr.splitlines()[-1] == f"uamt: interrupted; {says}"
    assert "Traceback" not in stderr
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.fixture
def bystander() -> Iterator[multiprocessing.Process]:
    """A child process of the caller's own."""
    process = multiprocessing.get_context("spawn").Process(target=time.sleep, args=(60,))
    process.start()
    yield process  # type: ignore[misc]
    process.kill()
    process.join()


def test_an_interrupted_pool_ends_its_own_workers_and_no_others(
    uamt: Command,
    folder: Path,
    experiment: Path,
    bystander: multiprocessing.Process,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started: list[int] = []

    def interrupted(*args: object, **kwargs: object) -> None:
        started.append(len(multiprocessing.active_children()))
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("runners.pool.wait", interrupted)
    assert uamt(*run_flags(folder, "--workers", "2"))[0] == 130
    assert multiprocessing.active_children() == [bystander]
    waiting = type("Waiting", (collections.deque,), {"popleft": interrupted})
    monkeypatch.setattr("scoring.workers.deque", waiting)
    assert uamt("score", experiment, "--workers", "2")[0] == 130
    assert multiprocessing.active_children() == [bystander]
    assert started == [3, 3]
    assert bystander.is_alive()
