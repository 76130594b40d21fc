"""The README's walks, typed as they stand in a folder with nothing but the clone's own folders.

The clone of the study's repository, which walk 3 downloads, is replaced by a small folder of the
same layout.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from PIL import Image

from scoring.results import read_results
from scoring.suite_tables import aggregate, suite_tables, write_tables
from tests.study.tables import write_results

ROOT = Path(__file__).parents[2]
FOLDERS = ("runners", "docs", "scripts")


def walks() -> dict[int, list[str]]:
    """The console blocks of each walk."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    parts = re.split(r"^### Walk (\d):", text, flags=re.MULTILINE)
    return {
        int(number): re.findall(r"^```console\n(.*?)^```", part, flags=re.MULTILINE | re.DOTALL)
        for number, part in zip(parts[1::2], parts[2::2], strict=True)
    }


def type_all(blocks: list[str], folder: Path) -> str:
    """Type blocks into a shell that stops at the first command that fails; return what it said."""
    tools = folder / ".tools"
    tools.mkdir(parents=True)
    for name, words in (("uamt", "-m uamt.cli"), ("python", "")):
        tool = tools / name
        tool.write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n')
        tool.chmod(0o755)
    for name in FOLDERS:
        (folder / name).symlink_to(ROOT / name)
    environment = {
        **os.environ,
        "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "OMP_NUM_THREADS": "1",
    }
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", "\n".join(blocks)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_there_are_three_walks_and_each_types_something() -> None:
    assert {number: len(blocks) > 0 for number, blocks in walks().items()} == {
        1: True,
        2: True,
        3: True,
    }


def test_walk_1_ends_in_a_picture_of_a_kill_and_a_summary(tmp_path: Path) -> None:
    said = type_all(walks()[1], tmp_path)
    assert re.search(
        r"my_detector:build, on 4 of 8 images \(crowded/crowded_00.png, .*plain_06.png\): fit for "
        r"mutation testing: all \d+ checks hold\.",
        said,
    )
    (run,) = (block for block in walks()[1] if block.startswith("uamt run"))
    assert f"Next: {' '.join(run.replace(chr(92), ' ').split())}   #" in said
    assert "On my_detector, suite 'crowded' is the strongest" in said
    with Image.open(tmp_path / "kill.png") as picture:
        about = picture.text["Description"]  # type: ignore[attr-defined]
    assert "Image crowded_03, suite crowded, model my_detector, mutant mc_dropblock 0.1_3" in about
    assert not about.startswith("0 of")
    summary = pd.read_csv(tmp_path / "experiment" / "scores" / "summary.csv")
    assert summary[["model", "suite", "images", "mutants"]].to_numpy().tolist() == [
        ["my_detector", "crowded", 4, 4],
        ["my_detector", "simple", 4, 4],
    ]
    # Strong enough to kill, and mild enough for suites to differ.
    crowded, simple = summary["kill_share_significant"]
    assert 0 < simple < crowded < 1
    page = (tmp_path / "my_report.html").read_text(encoding="utf-8")
    assert "my_detector" in page
    assert "triangle" in page
    assert "class_3" not in page
    assert f"Report: {tmp_path / 'my_report.html'}" in said


def test_walk_2_ends_in_the_scores_of_the_concepts_page(tmp_path: Path) -> None:
    said = type_all(walks()[2], tmp_path)
    scores = tmp_path / "example_scores" / "predictions" / "my_detector" / "day"
    table = pd.read_csv(scores / "mc_dropout" / "mutant_0.3.csv")
    assert table["[match] ps_diff"][0] == pytest.approx((14 / 15 + 0.5) / 2)
    page = (tmp_path / "example_scores" / "report.html").read_text(encoding="utf-8")
    assert "with 2 pictures" in said
    assert "dog" in page
    imported = pd.read_csv(tmp_path / "imported" / "scores" / "summary.csv")
    assert imported["model"].tolist() == ["mine"]
    assert imported["obj_ms"][0] == pytest.approx(5 / 12)
    assert "On mine, suite 'day' kills 100%" in said


def test_the_python_lines_give_tables_a_page_and_a_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (lines,) = re.findall(r"^## The same in Python\n\n.*?```python\n(.*?)^```", text, re.M | re.S)
    pictures = tmp_path / "my_photos" / "crowded"
    pictures.mkdir(parents=True)
    shutil.copy(ROOT / "runners" / "builtin" / "suites" / "crowded" / "crowded_03.png", pictures)
    monkeypatch.chdir(tmp_path)
    values: dict[str, pd.DataFrame] = {}
    exec(lines, values)
    assert values["table"]["mutants"].tolist() == [3]
    assert values["shares"]["kind"].tolist() == ["miss", "ghost", "miss_ghost"]
    assert (tmp_path / "in_python" / "report.html").is_file()
    with Image.open(tmp_path / "kill_in_python.png") as picture:
        assert picture.size == values["picture"].size


def test_walk_3_ends_in_how_many_files_are_reproduced(tmp_path: Path) -> None:
    published = tmp_path / "published" / "results"
    write_results(published, {"orig": ["a", "b"], "sd": ["c"]}, model="one")
    tables = suite_tables(aggregate(read_results(published)))
    ours = ("ua_ms_kill", "ua_ms_n_used")
    write_tables(published, {p: t for p, t in tables.items() if not p.name.startswith(ours)})
    blocks, folder = walks()[3], tmp_path / "walk"
    clone = "git clone --depth 1 https://github.com/Simula-COMPLEX/UAMTERS"
    assert clone in blocks[0]
    shutil.copytree(tmp_path / "published", folder / "UAMTERS")
    said = type_all([block.replace(clone, "test -d UAMTERS") for block in blocks], folder)
    assert said.splitlines()[-1].startswith("9 of 9 files are reproduced")
    assert (folder / "our_tables" / "case" / "one" / "ua_ms_model.csv").is_file()
