"""Disks, folders, runs and changes that go wrong, and mutants that do."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from PIL import Image

from runners.going_on import going_on
from scoring.layout import Branch
from tests.field.robustness import Case, adds_to, run_quietly

CASES: list[Case] = []
case = adds_to(CASES)

PHOTOS = ("run", "--images", "photos")
NOTE = r"^note: "
BRANCH = Branch("mc_dropout", "detector", "photos")
_HELD = ExitStack()
"""Locks of runs that are going on, as long as the tests do."""


def photos(folder: Path, *names: str) -> None:
    (folder / "photos").mkdir()
    for number, name in enumerate(names or ("a", "b")):
        Image.new("RGB", (8, 6), (40 * number, 90, 160)).save(folder / "photos" / f"{name}.png")


def run(folder: Path) -> Path:
    """Run an experiment of two images and return its folder."""
    photos(folder)
    run_quietly(PHOTOS, folder)
    return folder / "out"


def unit(root: Path, tag: str, image: str) -> Path:
    return BRANCH.folder(root, tag, image)


def change(path: Path, old: bytes, new: bytes) -> None:
    content = path.read_bytes()
    assert old in content
    path.write_bytes(content.replace(old, new))


@case("a file where the experiment's folder should be", *PHOTOS)
def file_as_folder(folder: Path) -> None:
    photos(folder)
    (folder / "out").write_text("")


@case("a disk that is full (here under the ledger)", *PHOTOS)
def full_disk(folder: Path) -> None:
    photos(folder)
    (folder / "out").mkdir()
    (folder / "out" / "ledger.jsonl").symlink_to("/dev/full")


@case(
    "a second run while one is going on",
    *PHOTOS,
    vague=r"(?<=process )\d+ on \S+(?=\))",
)
def second_run(folder: Path) -> None:
    photos(folder)
    _HELD.enter_context(going_on(folder / "out", "detector"))


@case("scores while a run is going on, with one image of two finished", "score", "out", shows=NOTE)
def score_meanwhile(folder: Path) -> None:
    root = run(folder)
    change_ledger(root, keep=2)
    _HELD.enter_context(going_on(root, "detector"))


def change_ledger(root: Path, keep: int) -> None:
    path = root / "ledger.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:keep]))


@case("scores of a run that was interrupted", "score", "out", shows=NOTE)
def score_of_interrupted(folder: Path) -> None:
    change_ledger(run(folder), keep=2)


@case("scores behind an interrupted --redo-changed", "score", "out", shows=NOTE)
def score_of_redone(folder: Path) -> None:
    root = run(folder)
    lines = (root / "ledger.jsonl").read_bytes().splitlines(keepends=True)
    own = lines[-1].partition(b'"configuration":"')[2][:64]
    change(root / "ledger.jsonl", own, b"0" * 64)


@case("a prediction file that vanished: scores", "score", "out")
def vanished_prediction(folder: Path) -> None:
    (unit(run(folder), "0.5", "a") / "prediction_0.json").unlink()


@case("an image that left its suite: the next run", *PHOTOS, shows=NOTE)
def removed_image(folder: Path) -> None:
    run(folder)
    (folder / "photos" / "b.png").unlink()


@case("an image that left its suite: scores", "score", "out", shows=NOTE)
def scores_without_removed_image(folder: Path) -> None:
    removed_image(folder)
    run_quietly(PHOTOS, folder)


@case("a setting that changed under results", *PHOTOS, "--passes", "2")
def changed_setting(folder: Path) -> None:
    run(folder)


@case(
    "an image that changed under results",
    *PHOTOS,
    vague=r"\b[0-9a-f]{8}\.\.\.|(?<=was )[0-9]+(?=,)|(?<=is )[0-9]+\b",
)
def changed_image(folder: Path) -> None:
    run(folder)
    Image.new("RGB", (9, 6)).save(folder / "photos" / "a.png")


@case("verify: a whole tree", "verify", "out", shows=r"^out: ")
def whole_tree(folder: Path) -> None:
    run(folder)


@case("verify: a prediction file that is gone", "verify", "out", shows=r"^ +experiment_results")
def verify_missing(folder: Path) -> None:
    vanished_prediction(folder)


@case("verify: a prediction file that was changed", "verify", "out", shows=r"^ +experiment_results")
def verify_changed(folder: Path) -> None:
    path = unit(run(folder), "0.5", "a") / "prediction_0.json"
    path.write_bytes(path.read_bytes() + b" ")


@case("verify: a file that no run wrote", "verify", "out", shows=r"^ +experiment_results")
def verify_stray(folder: Path) -> None:
    (unit(run(folder), "0.5", "a") / "prediction_1.json").write_text("{}")


@case("verify: results of another configuration", "verify", "out", shows=r"^ +experiment_results")
def verify_mixed(folder: Path) -> None:
    score_of_redone(folder)


@case("verify: a manifest that was edited", "verify", "out", shows=r"^ +manifest")
def verify_edited(folder: Path) -> None:
    change(run(folder) / "manifest.json", b'"seed": 0', b'"seed": 1')


@case("verify: no manifest", "verify", "out")
def verify_nothing(folder: Path) -> None:
    (folder / "out").mkdir()


@case(
    "a model that fails on one image",
    *PHOTOS,
    "--model",
    "tests.field.quick_detector:fragile",
)
def crash(folder: Path) -> None:
    photos(folder)
    Image.new("RGB", (9, 6)).save(folder / "photos" / "nine.png")


@case(
    "a model that computes NaN on one image",
    *PHOTOS,
    "--model",
    "tests.field.quick_detector:drifting",
)
def not_finite(folder: Path) -> None:
    crash(folder)


@case(
    "scores of an experiment with crashes",
    "score",
    "out",
    shows=NOTE,
)
def score_of_crashed(folder: Path) -> None:
    crash(folder)
    run_quietly((*PHOTOS, "--model", "tests.field.quick_detector:fragile"), folder)
