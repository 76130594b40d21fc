"""Two runs at once, a look while one is going on, and mutants that crash."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import orjson
import pytest

from tests.uamt.conftest import Command
from tests.uamt.quick_experiment import (
    BRANCH,
    MODEL,
    ledger_units,
    pictures,
    run_flags,
)

REPOSITORY = Path(__file__).parents[2]


@pytest.mark.skipif(sys.platform == "win32", reason="stops a process")
def test_a_second_run_is_refused_and_scores_are_of_what_is_finished(
    uamt: Command, folder: Path
) -> None:
    names = [f"n{number}" for number in range(20)]
    pictures(folder / "photos", *names)
    words = run_flags(folder, "--passes", "20")
    first = subprocess.Popen(
        [sys.executable, "-m", "uamt.cli", *map(str, words)],
        cwd=REPOSITORY,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        wait_for(folder / "out" / "ledger.jsonl", lines=6)
        first.send_signal(signal.SIGSTOP)
        code, _, stderr = uamt(*words)
        assert code == 2
        assert f"a run of model '{MODEL}' is going on there (process {first.pid} on" in stderr
        code, _, stderr = uamt(*run_flags(folder, "--shard", "1/2"))
        assert code == 2
        code, _, stderr = uamt("score", folder / "out")
        assert code == 4
        assert "not finished and left out; a run is going on: score again once it is done" in stderr
        code, stdout, _ = uamt("verify", folder / "out")
        assert code == 1
        assert "; a run is going on\n" in stdout
        assert f"To do: wait: a run of '{MODEL}' is going on" in stdout
    finally:
        first.send_signal(signal.SIGCONT)
        _, stderr_of_first = first.communicate(timeout=120)
    assert (first.returncode, stderr_of_first) == (0, b"")
    code, stdout, _ = uamt(*words)
    assert (code, "0 units (" in stdout) == (0, True)
    assert uamt("verify", folder / "out")[0] == 0
    units = ledger_units(folder / "out")
    assert len(units) == len(set(units)) == 23 * 3


def wait_for(path: Path, lines: int) -> None:
    end = time.monotonic() + 60
    while not path.is_file() or path.read_bytes().count(b"\n") < lines:
        assert time.monotonic() < end
        time.sleep(0.005)


def test_an_image_on_which_mutants_crash_takes_one_line(
    uamt: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from runners.passes import run_mutant

    def crashing(detector: object, image: object, key: str, *args: object, **kw: object) -> object:
        if key == "b.png":
            raise RuntimeError("no kernel for this size")
        return run_mutant(detector, image, key, *args, **kw)  # type: ignore[arg-type]

    monkeypatch.setattr("runners.subject.run_mutant", crashing)
    code, stdout, stderr = uamt(*run_flags(folder))
    assert code == 4
    crashed = "RuntimeError: no kernel for this size"
    assert stderr == f"crashed: 2 mutants on 'photos/b.png': {crashed}\n"
    assert "2 crashes" in stdout
    code, stdout, _ = uamt("score", folder / "out")
    assert code == 4
    assert "2 image x mutant pairs have no scores" in stdout
    facts = BRANCH.table(folder / "out" / "scores", "out", "0").with_name("facts.json")
    assert orjson.loads(facts.read_bytes())["crashed"] == {"0.3": ["b"], "0.5": ["b"]}


def test_a_mutant_that_crashes_on_every_image_takes_one_line_and_is_counted(
    uamt: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mutators import Mutant
    from runners.passes import run_mutant

    def crashing(
        detector: object, image: object, key: str, mutant: Mutant, *args: object, **kw: object
    ) -> object:
        if mutant.tag == "0.5":
            raise RuntimeError("no kernel")
        return run_mutant(detector, image, key, mutant, *args, **kw)  # type: ignore[arg-type]

    monkeypatch.setattr("runners.subject.run_mutant", crashing)
    code, _, stderr = uamt(*run_flags(folder))
    assert (code, stderr) == (4, "crashed: mc_dropout 0.5 on 3 images: RuntimeError: no kernel\n")
    code, stdout, _ = uamt("score", folder / "out")
    assert code == 4
    assert re.search(r"photos +3 +2 ", stdout)
    assert "3 image x mutant pairs have no scores" in stdout
    table = BRANCH.table(folder / "out" / "scores", "out", "0.5")
    assert len(table.read_text().splitlines()) == 1
    code, _, stderr = uamt("suites", folder / "out" / "scores")
    assert code == 4
    assert "3 image x mutant pairs have no row" in stderr
