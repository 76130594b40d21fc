"""Disks that are full or refuse, and files that vanish in mid-run: what is told, and the way on."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from runners.execution import run_images
from tests.uamt.conftest import Command
from tests.uamt.quick_experiment import (
    MODEL,
    results,
    run_flags,
    unit_folder,
)

REPOSITORY = Path(__file__).parents[2]


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
    assert (code, "1 unit (" in stdout) == (0, True)
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
