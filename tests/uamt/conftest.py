"""A small experiment by the command line, shared by the tests of the commands."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from runners.builtin import suites as builtin_suites
from tests.uamt.quick_experiment import pictures
from tests.uamt.report_reader import Page
from tests.uamt.report_trees import write_pictures, write_tree
from uamt.cli import main

Command = Callable[..., tuple[int, str, str]]

SMALL_RUN = (
    "--dropout-rates",
    "0.1,0.3",
    "--dropblock-rates",
    "0.2",
    "--blocks",
    "3",
    "--passes",
    "3",
    "--chunk",
    "3",
)
"""Three mutants of three passes."""


@pytest.fixture
def uamt(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """Run a command and return its exit code, stdout and stderr, whose lines are not wrapped."""
    monkeypatch.setenv("COLUMNS", "1000")

    def command(*arguments: object) -> tuple[int, str, str]:
        capsys.readouterr()
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as exit_:
            code = int(exit_.code or 0)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return command


def copy_photos(folder: Path, number: int = 2, suite: str = "plain") -> Path:
    """Copy some built-in images into a folder."""
    folder.mkdir(parents=True)
    for path in sorted(builtin_suites()[suite].glob("*.png"))[:number]:
        shutil.copy(path, folder)
    return folder


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """A folder of two images."""
    return copy_photos(tmp_path / "photos")


@pytest.fixture(scope="session")
def finished_experiment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An experiment that was run; copy it before changing it."""
    root = tmp_path_factory.mktemp("finished")
    photos = copy_photos(root / "photos")
    out = root / "experiment"
    assert (
        main(
            [
                "run",
                "--model",
                "demo_retinanet",
                "--images",
                str(photos),
                "--out",
                str(out),
                *SMALL_RUN,
            ]
        )
        == 0
    )
    return out


@pytest.fixture
def experiment(finished_experiment: Path, tmp_path: Path) -> Path:
    """A copy of the finished experiment."""
    return Path(shutil.copytree(finished_experiment, tmp_path / "experiment"))


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models on two suites, scored, made without a detector; `night_0` has no detection."""
    suites = {
        "day": ["day_0", "day_1", "day_2", "day_3"],
        "night": ["night_0", "night_1", "night_2", "night_3"],
    }
    folder = tmp_path_factory.mktemp("made")
    root = write_tree(folder / "root", suites, models=("net", "other"), empty=("night_0",))
    write_pictures(folder / "pictures", suites)
    assert main(["score", str(root)]) == 0
    return folder


@pytest.fixture(scope="session")
def report(made: Path) -> Page:
    """The report of these two models."""
    assert main(["report", str(made / "root"), "--images", str(made / "pictures")]) == 0
    return Page(made / "root" / "report.html")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with three tiny pictures in `photos`; `run_flags` of it runs into `out`."""
    return pictures(tmp_path / "photos", "a", "b", "c").parent
