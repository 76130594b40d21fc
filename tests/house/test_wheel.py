"""The wheel holds the four packages with their data, and nothing else."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("uamt", "mutators", "runners", "scoring")
BUILD = "from setuptools import build_meta; print(build_meta.build_wheel('dist'))"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """Build from a copy: a build leaves folders behind."""
    copy = tmp_path_factory.mktemp("wheel") / "tree"
    copy.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    for name in (*PACKAGES, "tests", "scripts", "docs"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    done = subprocess.run(
        [sys.executable, "-c", BUILD], cwd=copy, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    (built,) = (copy / "dist").glob("*.whl")
    return zipfile.ZipFile(built)


def info(wheel: zipfile.ZipFile, name: str) -> str:
    (path,) = (n for n in wheel.namelist() if n.endswith(f".dist-info/{name}"))
    return wheel.read(path).decode()


def test_the_file_is_named_for_the_distribution(wheel: zipfile.ZipFile) -> None:
    assert wheel.filename is not None
    assert Path(wheel.filename).name.startswith("uamt_detect-")
    assert Path(wheel.filename).name.endswith("-py3-none-any.whl")


def test_exactly_the_four_packages_lie_at_the_top(wheel: zipfile.ZipFile) -> None:
    top = {name.partition("/")[0] for name in wheel.namelist()}
    others = top - set(PACKAGES)
    assert top >= set(PACKAGES)
    assert len(others) == 1
    assert others.pop().startswith("uamt_detect-")


def test_every_module_and_all_data_are_in_it(wheel: zipfile.ZipFile) -> None:
    """Against the tree, so that a new package or kind of data cannot be forgotten."""
    expected = {
        path.relative_to(ROOT).as_posix()
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and not path.name.startswith(".")
    }
    packed = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert packed == expected


def test_weights_images_and_templates_are_packed(wheel: zipfile.ZipFile) -> None:
    names = wheel.namelist()
    suites = {name.split("/")[3] for name in names if name.endswith(".png")}
    assert suites == {"plain", "dim", "crowded"}
    assert all(sum(f"/suites/{suite}/" in name for name in names) >= 12 for suite in suites)
    assert any(
        name.startswith("runners/builtin/weights/") and name.endswith(".pt") for name in names
    )
    assert any(name.startswith("uamt/templates/") for name in names)
    assert {f"{package}/py.typed" for package in PACKAGES} <= set(names)


def test_the_metadata_names_distribution_licence_and_needs(wheel: zipfile.ZipFile) -> None:
    metadata = Parser().parsestr(info(wheel, "METADATA"))
    assert metadata["Name"] == "uamt-detect"
    assert metadata["Requires-Python"] == ">=3.11"
    needs = metadata.get_all("Requires-Dist") or []
    assert any(need.startswith("torch>=2.5") for need in needs)
    assert not any(
        "==" in need.partition(";")[0] or "<" in need.partition(";")[0] for need in needs
    )


def test_the_command_is_uamt(wheel: zipfile.ZipFile) -> None:
    lines = info(wheel, "entry_points.txt").split()
    assert lines == ["[console_scripts]", "uamt", "=", "uamt.cli:main"]
