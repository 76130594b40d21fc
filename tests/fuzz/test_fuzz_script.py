"""scripts/fuzz.py: it feeds, reports, and notices every way in which a reader can fail."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from scoring.errors import DataError

SCRIPTS = Path(__file__).parents[2] / "scripts"


@pytest.fixture
def fuzz(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The script as a module that raises SystemExit where it ends its process."""
    monkeypatch.syspath_prepend(str(SCRIPTS))
    import fuzz as script

    monkeypatch.setattr(script.os, "_exit", sys.exit)
    yield script
    for name in ("fuzz", "fuzz_targets", "fuzz_readers", "fuzz_mutations"):
        sys.modules.pop(name, None)


def run(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, SCRIPTS / "fuzz.py", *words]
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)


def test_it_feeds_without_atheris_and_prints_a_row_for_each_reader(tmp_path: Path) -> None:
    done = run("--runs", 50, "--target", "facts", "--plain", "--findings", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    header, row = done.stdout.splitlines()
    assert header.split()[:2] == ["target", "runs"]
    assert row.split()[:2] == ["facts", "50"]
    assert [path.name for path in tmp_path.iterdir()] == ["facts-slowest"]


def fine(path: Path) -> None:
    """Read everything."""


def key_error(path: Path) -> None:
    raise KeyError(path.name)


def nameless(path: Path) -> None:
    raise DataError("broken")


def slow(path: Path) -> None:
    end = time.process_time() + 0.2
    while time.process_time() < end:
        pass


def large(path: Path) -> None:
    path.write_bytes(b"x" * 60_000_000)


def feeding(
    fuzz: ModuleType, read: Callable[[Path], None], folder: Path
) -> tuple[Path, Callable[[bytes], bool]]:
    from fuzz_targets import Target

    target = Target("reader", "below/file.json", read, ())
    made = fuzz.Feeding(target, 5, folder / "read", folder / "found", folder / "report.json")
    return folder / "report.json", made.feed


@pytest.mark.parametrize("read", [key_error, nameless, slow, large])
def test_a_reader_that_fails_is_noticed_and_its_input_saved(
    fuzz: ModuleType,
    read: Callable[[Path], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(fuzz, "MOST_SECONDS", 0.1)
    sizes = iter([100.0, 100.0, 160.0 if read is large else 100.0, 160.0, 160.0])
    monkeypatch.setattr(fuzz, "MOST_MB", 50)
    monkeypatch.setattr(fuzz, "peak_mb", lambda: next(sizes))
    report, feed = feeding(fuzz, read, tmp_path)
    with pytest.raises(SystemExit) as ended:
        feed(b"input")
    assert ended.value.code == 1
    saved = Path(json.loads(report.read_text())["finding"])
    assert saved.read_bytes() == b"input"
    assert saved.name.startswith("reader-")


def test_messages_that_differ_in_names_and_numbers_are_of_one_kind(
    fuzz: ModuleType, tmp_path: Path
) -> None:
    def read(path: Path) -> None:
        content = path.read_bytes().decode()
        raise DataError(f"{path}: id '{content}': expected {len(content)} of it")

    _, feed = feeding(fuzz, read, tmp_path)
    assert [feed(content) for content in (b"a", b"bb", b"ccc")] == [True, False, False]


def test_mutations_are_many_within_their_size_and_the_same_for_a_seed(fuzz: ModuleType) -> None:
    content = b'{"a": [1, 2.5, "x"], "b": {"c": null}}'
    made = [fuzz.mutate(content, 200, seed, (b'"word"',)) for seed in range(400)]
    assert made == [fuzz.mutate(content, 200, seed, (b'"word"',)) for seed in range(400)]
    assert len(set(made)) > 300
    assert max(map(len, made)) == 200
    assert any(b'"word"' in each for each in made)
    assert any(each.startswith(b"\xff\xfe") for each in made)
    assert all(fuzz.mutate(b"", 200, seed) is not None for seed in range(100))


def test_an_input_is_read_again(tmp_path: Path) -> None:
    (tmp_path / "saved").write_bytes(b"[]")
    done = run("--target", "facts", "--reproduce", tmp_path / "saved")
    assert done.returncode == 0
    assert "facts.json: no facts as 'uamt score' writes them" in done.stdout


def test_a_reader_that_is_not_there_is_wrong_usage() -> None:
    done = run("--target", "fcats")
    assert done.returncode == 2
    assert "expected one of predictions, manifest" in done.stderr
