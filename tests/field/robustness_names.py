"""Names that file systems, terminals and folders do not take, or that lead somewhere else."""

from __future__ import annotations

import json
import os
from pathlib import Path

from scoring.layout import Branch
from tests.field.robustness import Case, adds_to
from tests.field.robustness_images import PHOTOS, photo

CASES: list[Case] = []
case = adds_to(CASES)


@case(
    "Unicode, spaces, dots and digits, a leading dash: all are read",
    *PHOTOS,
    shows="units",
    vague=r"run in.*",
)
def usual_names(folder: Path) -> None:
    for name in ("Zoë à Köln 1.png", "図.png", "image_086_png.rf.795f.png", "0.1_3.png", "-x.png"):
        photo(folder, f"photos/{name}")


@case("a file name that is no UTF-8", *PHOTOS)
def latin1(folder: Path) -> None:
    os.link(photo(folder), os.fsencode(folder / "photos") + b"/caf\xe9.png")


@case(
    "a name beyond ASCII where Python takes names for ASCII",
    *PHOTOS,
    environment={"LC_ALL": "C", "PYTHONUTF8": "0"},
)
def ascii_locale(folder: Path) -> None:
    photo(folder, "photos/été.png")


@case("a file name that would clear the terminal", *PHOTOS)
def escapes(folder: Path) -> None:
    photo(folder, "photos/a\x1b[2J.png")


@case("a file name of 255 bytes", *PHOTOS)
def longest(folder: Path) -> None:
    photo(folder, f"photos/{'x' * 251}.png")


@case("A.png beside a.png", *PHOTOS)
def case_twins(folder: Path) -> None:
    photo(folder, "photos/A.png")
    photo(folder, "photos/a.png")


@case("a source that is no UTF-8", "run", "--images", "caf\udce9")
def latin1_source(folder: Path) -> None:
    photo(folder)


@case("a suite that leads out of the folder", "run", "--suites", "../evil=photos")
def suite_out(folder: Path) -> None:
    photo(folder)


@case("a suite that is a device of Windows", "run", "--suites", "NUL=photos")
def suite_device(folder: Path) -> None:
    photo(folder)


@case("suites that differ in case alone", "run", "--suites", "a=photos", "--suites", "A=photos")
def suite_twins(folder: Path) -> None:
    photo(folder)


@case("a model's name that leads out of the folder", *PHOTOS, "--name", "../evil")
def model_out(folder: Path) -> None:
    photo(folder)


@case("a model's name with a control character", *PHOTOS, "--name", "a\nb")
def model_line(folder: Path) -> None:
    photo(folder)


@case("a model's name of 300 bytes", *PHOTOS, "--name", "m" * 300)
def model_long(folder: Path) -> None:
    photo(folder)


def predictions(folder: Path) -> None:
    """Write an original and a mutant of one image that found nothing."""
    branch = Branch("mc_dropout", "detector", "photos")
    for tag in ("0", "0.5"):
        place = branch.folder(folder / "out", tag, "a")
        place.mkdir(parents=True)
        (place / "prediction_0.json").write_text("{}")


for what, name in (
    ("leads out of the folder", "../evil"),
    ("is absolute", "/evil"),
    ("is the folder above", ".."),
    ("is empty", ""),
    ("is a device of Windows", "aux.txt"),
):
    case(f"a case study's name that {what}", "score", "out", "--case-study", name)(predictions)


@case("a suite of tables that leads out", "suites", "out", "--suite", "../evil=list.txt")
def table_suite_out(folder: Path) -> None:
    (folder / "list.txt").write_text("a.png\n")


TO = ("--model", "m", "--operator", "mc_dropout", "--out", "out")
IMPORT = ("import", "coco", "pass.json", "--annotations", "coco.json", "--one-hot")


def coco(folder: Path, file_name: str = "a.png", **image: object) -> None:
    content = {
        "images": [{"id": 1, "file_name": file_name, **image}],
        "categories": [{"id": 1, "name": "cat"}],
    }
    (folder / "coco.json").write_text(json.dumps(content))
    (folder / "pass.json").write_text("[]")


@case("import: an image's name that leads out", *IMPORT, *TO, "--tag", "0.1")
def import_out(folder: Path) -> None:
    coco(folder, "../../etc/cron.d/a.png")


@case("import: an output name that leads out", *IMPORT, *TO, "--tag", "0.2")
def import_stem(folder: Path) -> None:
    coco(folder, stem="/../../../evil")


@case("import: an image's name of 300 bytes", *IMPORT, *TO, "--tag", "0.3")
def import_long(folder: Path) -> None:
    coco(folder, f"{'x' * 296}.png")


@case(
    "import: an image's name of 250 bytes, too long with the mutant's", *IMPORT, *TO, "--tag", "0.4"
)
def import_rather_long(folder: Path) -> None:
    coco(folder, f"{'x' * 246}.png")


@case("import: a tag that leads out", *IMPORT, *TO, "--tag", "../0.1")
def import_tag(folder: Path) -> None:
    coco(folder)


@case(
    "import: another operator's tag that leads out",
    *IMPORT,
    *("--model", "m", "--operator", "weights", "--out", "out"),
    *("--tag", "../../evil"),
)
def import_other_tag(folder: Path) -> None:
    coco(folder)


@case(
    "import: an operator that leads out",
    *IMPORT,
    *("--model", "m", "--operator", "../evil", "--out", "out", "--tag", "0.1"),
)
def import_operator(folder: Path) -> None:
    coco(folder)
