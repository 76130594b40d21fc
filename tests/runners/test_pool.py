"""The pool: its workers end with it, stay quiet on an interrupt, and say what cannot be sent."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from torch import Tensor, nn

from mutators import MCDropout
from runners.builtin import suites as builtin_suites
from runners.campaign import Campaign, prepare
from runners.detectors import Detector, load_detector
from runners.images import list_suites
from runners.pool import run_in_pool
from runners.settings import Settings
from scoring import worker_pool
from scoring.errors import ConfigError

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and /proc of a Unix")


def start(out: Path) -> subprocess.Popen[str]:
    """Start a run with two workers that would take long, as the head of a process group."""
    command = [sys.executable, "-m", "uamt.cli", "run", "--model", "demo_fasterrcnn"]
    images = ["--images", str(builtin_suites()["plain"]), "--workers", "2", "--out", str(out)]
    return subprocess.Popen(
        [*command, *images], stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def children(pid: int) -> list[int]:
    """Return the worker processes of a process."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parent = (path / "stat").read_text().rpartition(")")[2].split()[1]
            is_worker = b"spawn_main" in (path / "cmdline").read_bytes()
        except OSError:
            continue
        if int(parent) == pid and is_worker:
            found.append(int(path.name))
    return found


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def holds_interrupts(pid: int) -> bool:
    """Whether SIGINT is blocked or ignored in a process."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    fields = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
    bit = 1 << (signal.SIGINT - 1)
    return bool((int(fields["SigBlk"], 16) | int(fields["SigIgn"], 16)) & bit)


def wait_for(condition: object, seconds: float = 60.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():  # type: ignore[operator]
            return True
        time.sleep(0.1)
    return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_workers_end_when_their_parent_is_killed(tmp_path: Path) -> None:
    process, workers = start(tmp_path / "out"), list[int]()
    try:
        assert wait_for(lambda: (tmp_path / "out" / "ledger.jsonl").exists())
        workers = children(process.pid)
        assert len(workers) == 2
        process.kill()
        process.wait()
        assert wait_for(lambda: not any(is_running(worker) for worker in workers), 20)
    finally:
        for pid in [*children(process.pid), *workers]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.kill()
        process.communicate()


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_an_interrupt_at_the_terminal_never_reaches_the_workers(tmp_path: Path) -> None:
    process = start(tmp_path / "out")
    assert wait_for(lambda: len(children(process.pid)) == 2)
    # While they still import, where it would end in a traceback.
    assert all(holds_interrupts(worker) for worker in children(process.pid))
    os.killpg(process.pid, signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in stderr
    assert "interrupted" in stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_any_thread_waits_until_the_workers_have_started(number: int) -> None:
    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(number, interrupt)
    end = threading.Event()
    other = threading.Thread(target=end.wait)
    other.start()  # outside of the context: nothing is blocked in it
    reached = []

    def held() -> None:
        with worker_pool._interrupts_held():
            signal.pthread_kill(other.ident or 0, number)
            time.sleep(0.2)
            reached.append(True)

    try:
        with pytest.raises(KeyboardInterrupt):
            held()
        assert reached
        assert signal.getsignal(number) is interrupt
    finally:
        end.set()
        other.join()
        signal.signal(number, before)


def local_model(inner: nn.Module) -> nn.Module:
    class Local(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = inner

        def forward(self, images: list[Tensor]) -> list[dict[str, Tensor]]:
            return self.inner(images)  # type: ignore[no-any-return]

    return Local().eval()


def test_a_model_that_cannot_be_sent_to_workers_is_refused(tmp_path: Path) -> None:
    demo = load_detector("demo_fasterrcnn")
    fields = {name: getattr(demo, name) for name in Detector.__dataclass_fields__}
    detector = Detector(**{**fields, "model": local_model(demo.model)})
    campaign = Campaign(
        detector=detector,
        suites=list_suites({"plain": builtin_suites()["plain"]}),
        operators=(MCDropout(rates=(0.1,), sites="inner.backbone.fpn.inner_blocks.*"),),
        settings=Settings(passes=2),
        root=tmp_path,
    )
    with pytest.raises(ConfigError, match=r"other processes.*Local.*one worker"):
        run_in_pool([prepare(campaign)], 2)
