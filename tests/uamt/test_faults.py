"""Faults in mid-run: interrupts, full disks, files that vanish, two runs at once, changes."""

from __future__ import annotations

import collections
import errno
import multiprocessing
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import orjson
import pytest

from runners.execution import run_images
from scoring.predictions import read_passes
from tests.uamt.conftest import Command
from tests.uamt.quick_experiment import (
    BRANCH,
    MODEL,
    ledger_units,
    pictures,
    run_flags,
    unit_folder,
)

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with three pictures in `photos`; `run_flags` runs into `out`."""
    pictures(tmp_path / "photos", "a", "b", "c")
    return tmp_path


def results(root: Path) -> dict[str, bytes]:
    kept = [*root.rglob("prediction_*.json"), root / "manifest.json"]
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in kept}


# Interrupts


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


# Disks


def test_a_full_disk_names_the_file_and_the_way_on(
    uamt: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = folder / "whole"
    assert uamt(*run_flags(folder), "--out", whole)[0] == 0
    names = ("manifest.json", f"experiment_{MODEL}.toml", "prediction_1.json")
    for name in names:
        fill(monkeypatch, name)
        code, _, stderr = uamt(*run_flags(folder))
        assert code == 3
        assert stderr.startswith("uamt: error: '")
        assert f"/{name}': No space left on device; make room" in stderr
        assert "give the same command again" in stderr
        assert not list((folder / "out").rglob("*.tmp"))
    monkeypatch.undo()
    assert uamt(*run_flags(folder))[0] == 0
    assert results(folder / "out") == results(whole)


def fill(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Have the disk run full as this file is written."""
    monkeypatch.undo()
    fsync = os.fsync

    def full(handle: int) -> None:
        if f"/.{name}." in str(Path(f"/proc/self/fd/{handle}").readlink()):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        fsync(handle)

    monkeypatch.setattr("scoring.files.os.fsync", full)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a full device")
def test_a_ledger_on_a_full_disk_is_named(uamt: Command, folder: Path) -> None:
    (folder / "out").mkdir()
    (folder / "out" / "ledger.jsonl").symlink_to("/dev/full")
    code, _, stderr = uamt(*run_flags(folder))
    assert code == 3
    assert "/out/ledger.jsonl': No space left on device; make room" in stderr


def test_a_line_that_the_disk_took_a_part_of_is_taken_back(
    uamt: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert uamt(*run_flags(folder))[0] == 0
    ledger = folder / "out" / "ledger.jsonl"
    before = ledger.read_bytes().splitlines(keepends=True)[0]
    ledger.write_bytes(before)
    write = os.write
    monkeypatch.setattr("runners.ledger.os.write", lambda h, line: write(h, line[:20]))
    code, _, stderr = uamt(*run_flags(folder))
    assert code == 3
    assert "/ledger.jsonl': No space left on device" in stderr
    assert ledger.read_bytes() == before


def test_scores_on_a_disk_that_takes_no_more_are_named(experiment: Path) -> None:
    code = (
        "import resource, sys; from uamt.cli import main; "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1500, 1500)); sys.exit(main(sys.argv[1:]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "score", str(experiment)],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3
    assert ".csv': File too large; make room" in done.stderr
    assert not list(experiment.rglob("*.tmp"))


@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (errno.EROFS, "change its rights or use another --out"),
        (errno.EACCES, "change its rights or use another --out"),
        (errno.EIO, "once the disk answers"),
        (errno.EMFILE, "ulimit -n"),
    ],
)
def test_a_folder_that_cannot_be_written_is_told(
    uamt: Command, folder: Path, monkeypatch: pytest.MonkeyPatch, number: int, advice: str
) -> None:
    def refuse(path: Path, *args: object, **kwargs: object) -> None:
        raise OSError(number, os.strerror(number), str(path))

    monkeypatch.setattr("runners.going_on.Path.mkdir", refuse)
    code, _, stderr = uamt(*run_flags(folder))
    assert code == 3
    assert f"/out/.running': {os.strerror(number)}; " in stderr
    assert advice in stderr


def test_a_file_in_the_place_of_the_folder_is_told(uamt: Command, folder: Path) -> None:
    (folder / "out").write_text("")
    code, _, stderr = uamt(*run_flags(folder))
    assert code == 3
    assert "a file stands where a folder is expected" in stderr


# Files that vanish


def test_an_image_that_vanishes_is_skipped_and_done_once_it_is_back(
    uamt: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = folder / "whole"
    assert uamt(*run_flags(folder), "--out", whole)[0] == 0
    image = folder / "photos" / "c.png"
    content = image.read_bytes()

    def vanishing(*args: object) -> object:
        image.unlink(missing_ok=True)
        return run_images(*args)  # type: ignore[arg-type]

    monkeypatch.setattr("runners.execution.run_images", vanishing)
    code, _, stderr = uamt(*run_flags(folder))
    assert code == 4
    assert "skipped image 'photos/c.png': " in stderr
    assert "no such file" in stderr
    code, _, stderr = uamt("score", folder / "out")
    assert code == 4
    assert "1 image without scores" in stderr
    monkeypatch.undo()
    image.write_bytes(content)
    assert uamt(*run_flags(folder))[0] == 0
    assert results(folder / "out") == results(whole)


def test_a_prediction_that_vanishes_is_missed_and_written_again(
    uamt: Command, folder: Path
) -> None:
    assert uamt(*run_flags(folder))[0] == 0
    whole = results(folder / "out")
    victim = unit_folder(folder / "out", "0.3", "b") / "prediction_0.json"
    victim.unlink()
    assert uamt("score", folder / "out")[0] == 3
    assert uamt("verify", folder / "out")[0] == 1
    code, stdout, _ = uamt(*run_flags(folder))
    assert (code, "1 unit (image" in stdout) == (0, True)
    assert results(folder / "out") == whole


def test_a_manifest_that_is_removed_in_mid_run_is_told(
    uamt: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from runners.subject import Subject

    run = Subject.run

    def removing(self: Subject, mutant: object) -> object:
        if self.ref.relative_path == "b.png":
            (folder / "out" / "manifest.json").unlink(missing_ok=True)
        return run(self, mutant)  # type: ignore[arg-type]

    monkeypatch.setattr(Subject, "run", removing)
    code, _, stderr = uamt(*run_flags(folder))
    assert code == 3
    assert "/out/manifest.json: expected the manifest that the run wrote, but it was" in stderr
    monkeypatch.undo()
    assert uamt(*run_flags(folder))[0] == 0
    assert uamt("verify", folder / "out")[0] == 0


def test_weights_that_vanish_matter_to_the_next_run_alone(
    uamt: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    from tests.field.quick_detector import detector

    weights = folder / "weights.pt"
    torch.save(detector().state_dict(), weights)

    def vanishing(*args: object) -> object:
        weights.unlink(missing_ok=True)
        return run_images(*args)  # type: ignore[arg-type]

    monkeypatch.setattr("runners.execution.run_images", vanishing)
    words = (*run_flags(folder), "--weights", weights)
    assert uamt(*words)[0] == 0
    code, _, stderr = uamt(*words)
    assert code == 3
    assert str(weights) in stderr


# Two at once, and a look while one is going on


@pytest.mark.skipif(sys.platform == "win32", reason="stops a process")
def test_a_second_run_is_refused_and_scores_are_of_what_is_finished(
    uamt: Command, folder: Path
) -> None:
    names = [f"n{number}" for number in range(40)]
    pictures(folder / "photos", *names)
    words = run_flags(folder, "--passes", "30")
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
    assert (code, "0 units (image" in stdout) == (0, True)
    assert uamt("verify", folder / "out")[0] == 0
    units = ledger_units(folder / "out")
    assert len(units) == len(set(units)) == 43 * 3


def wait_for(path: Path, lines: int) -> None:
    end = time.monotonic() + 60
    while not path.is_file() or path.read_bytes().count(b"\n") < lines:
        assert time.monotonic() < end
        time.sleep(0.005)


# Changes


def test_an_image_that_left_its_suite_is_no_more_scored(uamt: Command, folder: Path) -> None:
    assert uamt(*run_flags(folder))[0] == 0
    root, image = folder / "out", folder / "photos" / "b.png"
    whole, content = results(root), image.read_bytes()
    image.unlink()
    code, stdout, stderr = uamt(*run_flags(folder))
    assert code == 0
    assert "1 image of earlier runs left the manifest" in stderr
    assert "photos/b.png" in stderr
    code, stdout, stderr = uamt("score", root)
    assert code == 0
    assert "3 stray folders left out, for the manifest does not list" in stderr
    assert "mc_dropout_0.3_b" in stderr
    assert re.search(r"photos +2 ", stdout)
    assert uamt("verify", root)[0] == 1
    image.write_bytes(content)
    code, stdout, stderr = uamt(*run_flags(folder))
    assert (code, stderr) == (0, "")
    assert "0 units (image" in stdout
    assert results(root) == whole
    assert uamt("verify", root)[0] == 0


def test_a_suite_that_is_not_run_keeps_its_images(uamt: Command, tmp_path: Path) -> None:
    pictures(tmp_path / "day", "a")
    pictures(tmp_path / "photos", "b")
    assert uamt(*run_flags(tmp_path))[0] == 0
    words = [
        word if word != tmp_path / "photos" else tmp_path / "day" for word in run_flags(tmp_path)
    ]
    code, _, stderr = uamt(*words)
    assert (code, stderr) == (0, "")
    suites = orjson.loads((tmp_path / "out" / "manifest.json").read_bytes())
    assert set(suites["models"][MODEL]["suites"]) == {"day", "photos"}


def test_an_interrupted_redo_is_not_scored_as_one_configuration(
    uamt: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert uamt(*run_flags(folder))[0] == 0
    again = (*run_flags(folder), "--seed", "1")
    code, _, stderr = uamt(*again)
    assert (code, "settings.seed was 0, is 1" in stderr) == (2, True)
    interrupt_at(monkeypatch, "b.png")
    assert uamt(*again, "--redo-changed")[0] == 130
    monkeypatch.undo()
    root = folder / "out"
    code, stdout, stderr = uamt("score", root)
    assert code == 4
    assert "2 images ('photos/b.png' (detector), 'photos/c.png' (detector)) left out" in stderr
    assert "another configuration than the manifest's" in stderr
    assert re.search(r"photos +1 ", stdout)
    code, stdout, _ = uamt("verify", root)
    assert code == 1
    assert "of another configuration" in stdout
    (todo,) = [line for line in stdout.splitlines() if line.startswith("To do: ")]
    assert uamt(*shlex.split(todo)[3:])[0] == 0
    assert uamt("verify", root)[0] == 0
    code, stdout, _ = uamt("score", root)
    assert code == 0
    assert re.search(r"photos +3 ", stdout)


def interrupt_at(monkeypatch: pytest.MonkeyPatch, image: str) -> None:
    from runners.subject import Subject

    run = Subject.run

    def interrupted(self: Subject, mutant: object) -> object:
        if self.ref.relative_path == image:
            raise KeyboardInterrupt
        return run(self, mutant)  # type: ignore[arg-type]

    monkeypatch.setattr(Subject, "run", interrupted)


def test_an_interrupted_run_is_scored_by_its_finished_images(
    uamt: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt_at(monkeypatch, "b.png")
    assert uamt(*run_flags(folder))[0] == 130
    code, stdout, stderr = uamt("score", folder / "out")
    assert code == 4
    assert "2 images ('photos/b.png' (detector), 'photos/c.png' (detector)) not finished" in stderr
    assert "the same 'uamt run' finishes it" in stderr
    assert re.search(r"photos +1 ", stdout)


def test_a_run_without_a_finished_image_has_no_scores(
    uamt: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.rmtree(folder / "photos")
    pictures(folder / "photos", "a")
    assert uamt(*run_flags(folder))[0] == 0
    ledger = folder / "out" / "ledger.jsonl"
    ledger.write_bytes(b"".join(ledger.read_bytes().splitlines(keepends=True)[:-1]))
    code, _, stderr = uamt("score", folder / "out")
    assert code == 3
    assert "a run has finished, found none: 1 image ('photos/a.png' (detector)) not" in stderr


def test_scores_of_results_that_change_meanwhile_are_refused(
    uamt: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert uamt(*run_flags(folder))[0] == 0

    def redone(*args: object, **kwargs: object) -> object:
        manifest = folder / "out" / "manifest.json"
        manifest.write_bytes(manifest.read_bytes().replace(b'"seed": 0', b'"seed": 1'))
        return read_passes(*args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr("scoring.sweep.read_passes", redone)
    code, _, stderr = uamt("score", folder / "out")
    assert code == 3
    assert "found none" in stderr or "results changed while they were read" in stderr


@pytest.mark.parametrize(
    ("what", "named"),
    [
        ("version", r"""settings.versions.torch was "1", is """),
        ("weights", "settings.model.weights.sha256 was "),
        ("image", "image 'photos/a.png'.sha256 was "),
        ("sites", "operators.mc_dropout.sites was "),
    ],
)
def test_a_change_is_named_with_both_values(
    uamt: Command,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    what: str,
    named: str,
) -> None:
    import torch

    from tests.field.quick_detector import detector

    weights = folder / "weights.pt"
    torch.save(detector().state_dict(), weights)
    words = (*run_flags(folder), "--weights", weights)
    if what == "version":
        monkeypatch.setattr("runners.manifest._version", lambda package: "1")
    assert uamt(*words)[0] == 0
    monkeypatch.undo()
    if what == "weights":
        torch.save(detector().state_dict(), weights)
    elif what == "image":
        pictures(folder / "photos", "b", "a")
    elif what == "sites":
        words = tuple("site@in" if word == "site" else word for word in words)
    before = results(folder / "out")
    code, _, stderr = uamt(*words)
    assert code == 2
    assert named in stderr
    assert "--redo-changed" in stderr
    assert results(folder / "out") == before
    assert uamt(*words, "--redo-changed")[0] == 0
    assert uamt("verify", folder / "out")[0] == 0


# Crashes


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
