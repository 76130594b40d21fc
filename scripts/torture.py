"""Kill small campaigns at random moments, go on, and compare with one that was never disturbed.

    python scripts/torture.py --kills 100

Every campaign runs a built-in detector, with one process or with two workers. It is killed several
times, each time once it has written a random number of files (the seed decides, and is printed):
by SIGKILL of its process group or of its main process alone, by SIGTERM or SIGINT. Then it runs to
its end. Predictions and manifest must be those of the undisturbed campaign byte for byte, the
ledger must list the same units and each of them once (none that was finished ran again), no
temporary file may be left, and `uamt verify` must be content. Exit code 1 if anything differs.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import multiprocessing
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from multiprocessing.context import ForkServerProcess
from pathlib import Path

import orjson

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

_FLAGS = (
    *("--model", "demo_retinanet", "--passes", "2", "--chunk", "2", "--dropout-rates", "0.1,0.3"),
    *("--dropblock-rates", "0.2", "--blocks", "3"),
)
_N_IMAGES = 6
_KILLS_A_CAMPAIGN = 4
_MOST_NEW_FILES = 20
"""Files that a campaign writes at most before the next kill; it has 60."""
_LONGEST_START = 1.0
_PATIENCE_SECONDS = 300.0
_PRELOADED = [
    "uamt.commands",
    "uamt.configuration",
    "uamt.experiments",
    "uamt.progress",
    "runners.campaign",
    "runners.execution",
    "runners.pool",
    "runners.detectors",
    "runners.builtin.models",
]
"""What a campaign imports, so that it starts in no time: forked from a process that has it."""


@dataclass(frozen=True, slots=True)
class Kill:
    """How a campaign is killed: by which signal, whom it reaches, and after how many files."""

    number: signal.Signals
    is_of_group: bool
    new_files: int
    delay_seconds: float

    def __str__(self) -> str:
        whom = "" if self.is_of_group else " alone"
        return f"{self.number.name[3:]}{whom}@{self.new_files}"


@dataclass(slots=True)
class Round:
    """A campaign that was killed some times and then ran to its end.

    Args:
        workers: Worker processes.
        kills: Those that met it before it was through.
        faults: What was not as it should be.
    """

    workers: int
    kills: list[Kill] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


class Torture:
    """Campaigns in a folder, and the undisturbed one that they are compared with.

    Args:
        folder: Where they go.
        seed: Decides every kill.
    """

    def __init__(self, folder: Path, seed: int) -> None:
        from runners.builtin import suites

        self._folder = folder
        self._random = random.Random(seed)
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(_PRELOADED)
        self._log = folder / "log.txt"
        self._started = folder / "started"
        photos = folder / "photos"
        photos.mkdir()
        for path in sorted(suites()["plain"].glob("*.png"))[:_N_IMAGES]:
            shutil.copy(path, photos)
        self._whole = folder / "whole"
        code = self._run_to_end(self._whole, 1)
        if code:
            raise SystemExit(f"the undisturbed campaign ends with {code}: {self._log.read_text()}")

    def campaign(self, number: int, n_kills: int) -> Round:
        """Run one campaign, killed at most this often, and return what came of it."""
        found = Round(workers=1 + number % 2)
        root = self._folder / f"killed_{number}"
        for _ in range(n_kills):
            kill = self._next_kill()
            if not self._killed(root, found, kill):
                break
            found.kills.append(kill)
        code = self._run_to_end(root, found.workers)
        if code:
            found.faults.append(f"the last run ends with {code}: {self._log.read_text()[-300:]}")
        found.faults += self._differences(root)
        shutil.rmtree(root)
        return found

    def _next_kill(self) -> Kill:
        choose = self._random
        number = choose.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
        return Kill(
            number,
            is_of_group=choose.random() < 0.5,
            new_files=choose.randint(0, _MOST_NEW_FILES),
            delay_seconds=choose.random(),
        )

    def _start(self, root: Path, workers: int) -> ForkServerProcess:
        self._started.unlink(missing_ok=True)
        flags = [*_FLAGS, "--images", self._folder / "photos", "--workers", workers, "--out", root]
        process = self._context.Process(
            target=run_campaign, args=([str(f) for f in flags], self._log, self._started)
        )
        process.start()
        _wait_until(self._started.exists)
        return process

    def _run_to_end(self, root: Path, workers: int) -> int | None:
        process = self._start(root, workers)
        process.join(_PATIENCE_SECONDS)
        return process.exitcode

    def _killed(self, root: Path, found: Round, kill: Kill) -> bool:
        """Start the campaign and kill it; return False if it was through before."""
        before = _n_files(root)
        process = self._start(root, found.workers)
        if kill.new_files:
            _wait_until(lambda: _n_files(root) >= before + kill.new_files or not process.is_alive())
            time.sleep(0.02 * kill.delay_seconds)
        else:
            process.join(_LONGEST_START * kill.delay_seconds + 0.05)
        if process.exitcode is not None:
            return False
        assert process.pid is not None
        with contextlib.suppress(ProcessLookupError):
            (os.killpg if kill.is_of_group else os.kill)(process.pid, kill.number)
        process.join(_PATIENCE_SECONDS)
        if process.exitcode == 0:
            return False
        found.faults += self._wrong_end(kill, process.exitcode)
        return True

    def _wrong_end(self, kill: Kill, code: int | None) -> Iterator[str]:
        if kill.number == signal.SIGKILL:
            return
        said = self._log.read_text()
        if code != 130 or "the same command goes on from there" not in said or "Traceback" in said:
            yield f"{kill}: expected exit code 130 and how to go on, got {code}: {said[-300:]}"

    def _differences(self, root: Path) -> Iterator[str]:
        from uamt.cli import main

        expected, there = _results(self._whole), _results(root)
        for name in sorted({*expected, *there}):
            if expected.get(name) != there.get(name):
                yield f"{name} differs"
        lines = Counter(_units(root))
        if set(lines) != set(_units(self._whole)):
            yield "the ledger lists other units"
        again = sum(n > 1 for n in lines.values())
        if again:
            yield f"{again} finished units ran again"
        for path in root.rglob("*.tmp"):
            yield f"{path.relative_to(root)} is left"
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            code = main(["verify", str(root)])
        if code:
            yield f"uamt verify ends with {code}: {output.getvalue()}"


def run_campaign(flags: list[str], log: Path, started: Path) -> None:
    """Be the process of a campaign, the head of a group of its own."""
    from uamt.cli import main

    os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    os.dup2(handle, 1)
    os.dup2(handle, 2)
    started.touch()
    sys.exit(main(["run", *flags]))


def _wait_until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + _PATIENCE_SECONDS
    while not holds():
        if time.monotonic() > end:
            raise SystemExit(f"nothing happens for {_PATIENCE_SECONDS:.0f} s")
        time.sleep(0.003)


def _n_files(root: Path) -> int:
    return sum(name.startswith("prediction_") for _, _, names in os.walk(root) for name in names)


def _results(root: Path) -> dict[str, bytes]:
    kept = [*root.rglob("prediction_*.json"), root / "manifest.json"]
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in kept}


def _units(root: Path) -> list[tuple[str, ...]]:
    units = []
    for line in (root / "ledger.jsonl").read_bytes().splitlines():
        with contextlib.suppress(orjson.JSONDecodeError):  # half of one, of a killed writer
            units.append(tuple(orjson.loads(line)["unit"].values()))
    return units


def torture(n_kills: int, seed: int, folder: Path) -> list[Round]:
    """Kill campaigns this often, print a row for each, and return them."""
    from uamt.presentation import count_of

    started = time.monotonic()
    machine = Torture(folder, seed)
    print(f"{'campaign':>8} {'workers':>7}  {'result':<9}  kills (signal@new files)")
    rounds: list[Round] = []
    done = 0
    while done < n_kills:
        one = machine.campaign(len(rounds), min(_KILLS_A_CAMPAIGN, n_kills - done))
        rounds.append(one)
        done += len(one.kills)
        result = "DIFFERENT" if one.faults else "same"
        print(
            f"{len(rounds):>8} {one.workers:>7}  {result:<9}  {', '.join(map(str, one.kills))}",
            flush=True,
        )
        for fault in one.faults:
            print(f"         {fault}")
    good = sum(len(one.kills) for one in rounds if not one.faults)
    print(
        f"{good} of {done} kills, in {count_of(len(rounds), 'campaign')}, end as undisturbed; seed "
        f"{seed}; {time.monotonic() - started:.0f} s"
    )
    return rounds


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Kill small campaigns at random moments and compare with an undisturbed one."
    )
    parser.add_argument("--kills", type=int, default=100, help="default: 100")
    parser.add_argument("--seed", type=int, default=0, help="of the moments; default: 0")
    arguments = parser.parse_args()
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"  # processes are forked, which threads would not survive
    # What killed processes leave is cleaned up, which is told as if it were a fault.
    os.environ["PYTHONWARNINGS"] = "ignore:resource_tracker:UserWarning"
    with tempfile.TemporaryDirectory(prefix="uamt-torture-") as folder:
        rounds = torture(arguments.kills, arguments.seed, Path(folder))
    return 1 if any(one.faults for one in rounds) else 0


if __name__ == "__main__":
    sys.exit(main())
