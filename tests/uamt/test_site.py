"""The documentation: it builds without a warning, and its worked numbers are those of the code."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path

import pytest
from PIL import Image

from scoring.gates import SCORE_NAMES
from scoring.kill import least_kill
from scoring.layout import original_tag
from scoring.object_uncertainty import object_uncertainty
from scoring.objects import MEASURES
from scoring.predictions import read_passes
from scoring.rows import COLUMNS, score_image
from scoring.suites import UA_MS_COLUMNS
from scoring.tracks import track
from tests.uamt.conftest import Command
from uamt.label_names import read_label_names

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
EXAMPLE = DOCS / "examples" / "predictions"
MISSING = [
    name for name in ("sphinx", "furo", "myst_parser", "sphinx_copybutton") if not find_spec(name)
]


@pytest.mark.skipif(bool(MISSING), reason=f"extra 'docs' is not installed: {', '.join(MISSING)}")
def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    # The builder that writes nothing reads all pages and docstrings and follows every link.
    words = ("-q", "-W", "--keep-going", "-b", "dummy", "-d", tmp_path / "read", DOCS)
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *map(str, words), str(tmp_path / "site")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_every_page_is_in_the_navigation() -> None:
    index = (DOCS / "index.md").read_text()
    listed = set(re.findall(r"^([\w/-]+)$", index, flags=re.MULTILINE))
    pages = {p.relative_to(DOCS).with_suffix("").as_posix() for p in DOCS.rglob("*.md")}
    assert {p for p in pages if not p.startswith("_build")} == listed | {"index"}


def test_every_name_of_the_facade_is_in_the_api() -> None:
    import uamt

    page = (DOCS / "api" / "uamt.md").read_text()
    for name in uamt.__all__:
        module = uamt._HOMES[name]
        assert f":: {module}.{name}\n" in page or f"automodule:: {module}\n" in page, name


def folder(tag: str) -> Path:
    from scoring.layout import Branch

    return Branch("mc_dropout", "my_detector", "day").folder(EXAMPLE, tag, "street")


class TestConcepts:
    """docs/concepts.md against the prediction files that it is about."""

    page = (DOCS / "concepts.md").read_text(encoding="utf-8")

    def worked(self) -> dict[str, str]:
        rows = re.findall(r"^\| `(\[\w+\] \w+)` \| .* \| (\S+) \|$", self.page, flags=re.MULTILINE)
        return dict(rows)

    def test_every_worked_number_is_the_score(self) -> None:
        original, mutant = (read_passes(folder(tag)) for tag in ("0", "0.3"))
        row = dict(zip(COLUMNS, score_image(original, [mutant])[0], strict=True))
        worked = self.worked()
        assert set(UA_MS_COLUMNS) < set(worked)
        for column, text in worked.items():
            digits = len(text.partition(".")[2])
            assert row[column] == pytest.approx(float(text), abs=0.5 * 10**-digits), column

    def test_every_measure_of_every_object(self) -> None:
        original, mutant = (read_passes(folder(tag)) for tag in (original_tag("mc_dropout"), "0.3"))
        found = object_uncertainty(track(original, mutant))
        for number, name in enumerate(("cat", "dog", "bush")):
            (line,) = re.findall(rf"^\| {name} \(\d passes\) \| (.*) \|$", self.page, re.MULTILINE)
            for measure, cell in zip(MEASURES, line.split(" | "), strict=True):
                text = cell.partition(" (")[0] if "=" not in cell else cell.rpartition("= ")[2]
                last = re.findall(r"[\d./]+", text)[-1].rstrip(".")
                value = float(Fraction(last))
                assert found.measure(number, measure) == pytest.approx(value, abs=5e-5), cell

    def test_the_table_of_detections_is_that_of_the_files(self) -> None:
        passes = read_passes(folder("0.3"))
        for t, line in enumerate(re.findall(r"^\| (\d) \| (.*) \|$", self.page, re.MULTILINE)):
            boxes = re.findall(r"(\d+), (\d+), (\d+), (\d+): ", line[1])
            there = passes[t].boxes.astype(int).tolist()
            assert all([int(side) for side in box] in there for box in boxes)
            n = len(boxes) + line[1].count("as the original")
            assert (int(line[0]), n) == (t, len(there))

    def test_the_labels_have_the_names_of_the_page(self, uamt: Command, tmp_path: Path) -> None:
        """The page's own command draws a cat and a dog, not labels 1 and 2."""
        (command,) = re.findall(r"^uamt (show [^`]*?[^\\])$", self.page, flags=re.MULTILINE)
        words = command.replace("\\\n", " ").split()
        names = read_label_names(ROOT / words[words.index("--label-names") + 1])
        assert f"class vector ({', '.join(names)})" in self.page
        paths = [str(ROOT / word) if word.startswith("docs/") else word for word in words]
        assert uamt(*paths, "--out", tmp_path / "street.png")[0] == 0

    def test_the_pictures_say_what_the_page_says(self) -> None:
        with Image.open(DOCS / "images" / "concepts.png") as picture:
            about = picture.text["Description"]  # type: ignore[attr-defined]
        assert "pass 1: 1 match, 1 miss, 1 ghost. 3 of 4 passes" in about
        with Image.open(DOCS / "images" / "concepts_strip.png") as picture:
            about = picture.text["Description"]  # type: ignore[attr-defined]
        assert (
            "pass 0: all match; pass 1: 1 miss, 1 ghost; pass 2: 1 ghost; pass 3: 1 miss" in about
        )


def test_the_example_is_what_the_script_writes(tmp_path: Path) -> None:
    script = ROOT / "scripts" / "draw_example.py"
    spec = importlib.util.spec_from_file_location("draw_example", script)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.write_predictions(tmp_path)
    assert contents(tmp_path) == contents(EXAMPLE)


def contents(root: Path) -> dict[str, bytes]:
    return {p.relative_to(root).as_posix(): p.read_bytes() for p in root.rglob("*.json")}


def test_the_passes_that_a_kill_takes() -> None:
    page = (DOCS / "choosing.md").read_text()
    rows = re.findall(r"^\| (\d+) \| (\d+) \|$", page, flags=re.MULTILINE)
    assert len(rows) == 8
    for passes, least in rows:
        assert least_kill(int(passes), 0.01, 0.05) == int(least)


def test_every_score_of_a_gate_is_on_its_page() -> None:
    page = (DOCS / "gate.md").read_text()
    named = set(re.findall(r"`(\w+)`", page))
    for name in SCORE_NAMES:
        plain = re.sub(r"_(any|significant|holm)$", "", name)
        group, _, measure = plain.partition("_")
        alike = {plain, f"match_{measure}", re.sub(r"low_\w+$", "low_mg", plain)}
        assert alike & named, name
        assert group
