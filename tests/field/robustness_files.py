"""JSON, TOML, CSV and pickles that are broken, strange, or made to cost."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path
from typing import Any

from scoring.limits import (
    MAX_EXCHANGE_BYTES,
    MAX_EXPERIMENT_BYTES,
    MAX_MANIFEST_BYTES,
    MAX_PICKLE_BYTES,
    MAX_PREDICTION_BYTES,
    MAX_TABLE_BYTES,
)
from scoring.rows import COLUMNS
from tests.field.robustness import Case, adds_to

CASES: list[Case] = []
case = adds_to(CASES)

SCORE = ("score", "tree")
GOOD: dict[str, Any] = {"box": [0, 0, 4, 2], "label": 1, "score": 0.5, "logit": [0.5, 0.5]}
BRANCH = "tree/experiment_results_mc_dropout/net/dataset/orig"
PARSER = r"(?<=broken JSON \().*(?=\);)"
"""What a parser words."""


def sparse(path: Path, size: int) -> None:
    """Write a file of this size that takes no space."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.truncate(size)


def tree(folder: Path, content: bytes | str | None = None) -> Path:
    """Write original and mutant of one image; return the mutant's second pass, as given."""
    for tag in ("0", "0.5"):
        for t in range(2):
            path = folder / BRANCH / f"mc_dropout_{tag}_a" / f"prediction_{t}.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps({"one": GOOD}))
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def detection(**changed: Any) -> str:
    return json.dumps({"one": GOOD, "odd": GOOD | changed})


@case("a prediction file cut off in the middle", *SCORE, vague=PARSER)
def cut_off(folder: Path) -> None:
    tree(folder, '{"one": {"box": [0, 0')


@case("a prediction file of 33 MiB", *SCORE)
def large(folder: Path) -> None:
    sparse(tree(folder), MAX_PREDICTION_BYTES + 2**20)


@case("half a million lists in one", *SCORE)
def many_lists(folder: Path) -> None:
    tree(folder, '{"one": [' + "[]," * 500_000 + "0]}")


@case("10,001 detections", *SCORE)
def many_detections(folder: Path) -> None:
    tree(folder, json.dumps({str(i): GOOD for i in range(10_001)}))


@case("a class vector of 100,001 entries", *SCORE)
def many_classes(folder: Path) -> None:
    tree(folder, detection(logit=[0] * 100_001))


@case("100,000 lists in each other", *SCORE)
def deep(folder: Path) -> None:
    tree(folder, "[" * 100_000)


@case("an id that is there twice", *SCORE)
def twice(folder: Path) -> None:
    tree(folder, f'{{"one": {json.dumps(GOOD)}, "one": {json.dumps(GOOD)}}}')


@case("a bare NaN", *SCORE)
def nan(folder: Path) -> None:
    tree(folder, detection(score=float("nan")))


@case("a whole number that is no float", *SCORE)
def huge(folder: Path) -> None:
    tree(folder, detection(box=[0, 0, 10**400, 1]))


@case("a whole number of 5,000 digits", *SCORE)
def digits(folder: Path) -> None:
    tree(folder, detection(box=[0, 0, 7, 1]).replace("7", "7" * 5000))


@case("half a surrogate pair", *SCORE)
def surrogate(folder: Path) -> None:
    tree(folder, detection(label="\ud800"))


@case("UTF-16 with a byte order mark, and UTF-8 with one: both are read", *SCORE, shows="^net ")
def encodings(folder: Path) -> None:
    tree(folder, detection().encode("utf-16"))
    path = folder / BRANCH / "mc_dropout_0.5_a" / "prediction_0.json"
    path.write_bytes(detection().encode("utf-8-sig"))


@case("a pipe in the place of a pass", *SCORE, vague=PARSER)
def pipe(folder: Path) -> None:
    path = tree(folder)
    path.unlink()
    os.mkfifo(path)


@case("a manifest of 257 MiB", *SCORE)
def large_manifest(folder: Path) -> None:
    tree(folder)
    sparse(folder / "tree" / "manifest.json", MAX_MANIFEST_BYTES + 2**20)


@case("a manifest with a key twice", *SCORE)
def manifest_twice(folder: Path) -> None:
    tree(folder)
    (folder / "tree" / "manifest.json").write_text('{"models": {}, "models": {}}')


@case("a manifest whose passes are NaN", *SCORE)
def manifest_nan(folder: Path) -> None:
    tree(folder)
    text = '{"models": {"net": {"settings": {"model": {}, "passes": NaN}}}}'
    (folder / "tree" / "manifest.json").write_text(text)


@case("a manifest whose tags are no list", *SCORE)
def manifest_tags(folder: Path) -> None:
    tree(folder)
    section = {"settings": {"model": {}}, "operators": {"mc_dropout": {"tags": 0.5}}}
    (folder / "tree" / "manifest.json").write_text(json.dumps({"models": {"net": section}}))


SUITES = ("suites", "scores")
TABLE = "scores/case/net/mc_dropout/mutant_0.5.csv"


def table_of(folder: Path, row: str) -> None:
    path = folder / TABLE
    path.parent.mkdir(parents=True)
    path.write_text(f"{','.join(['test_suite', *COLUMNS])}\n{row}\n")


@case("a table of 513 MiB", *SUITES)
def large_table(folder: Path) -> None:
    sparse(folder / TABLE, MAX_TABLE_BYTES + 2**20)


@case("a row of a table with a cell too many", *SUITES)
def long_row(folder: Path) -> None:
    table_of(folder, ",".join(["a", *["0"] * 38]))


@case("a table that was cut off", *SUITES)
def short_row(folder: Path) -> None:
    table_of(folder, "a,0,0")


@case("facts beside a table that hold a text for a number", *SUITES)
def facts(folder: Path) -> None:
    table_of(folder, ",".join(["a", *["0"] * 37]))
    path = (folder / TABLE).with_name("facts.json")
    path.write_text('{"rules": "deepluq", "passes": "ten"}')


PICKLED = (*SUITES, "--suite", "night=night.pkl")


@case("a pickled list of 17 MiB", *PICKLED)
def large_pickle(folder: Path) -> None:
    sparse(folder / "night.pkl", MAX_PICKLE_BYTES + 2**20)


@case("a pickle of 7 bytes that would have a memo of 16 GiB made", *PICKLED)
def memo(folder: Path) -> None:
    (folder / "night.pkl").write_bytes(b"]r\xff\xff\xff\x7f.")


@case("a pickle of tuples in each other, which would exhaust the stack", *PICKLED)
def tuples(folder: Path) -> None:
    (folder / "night.pkl").write_bytes(b"\x8f(" + b")" + b"\x85" * 200_000 + b"\x90.")


@case("a pickle of numbers", *PICKLED)
def numbers(folder: Path) -> None:
    (folder / "night.pkl").write_bytes(pickle.dumps([1, 2]))


RUN = ("run", "experiment.toml")


@case("an experiment file of 2 MiB", *RUN)
def large_experiment(folder: Path) -> None:
    sparse(folder / "experiment.toml", MAX_EXPERIMENT_BYTES + 2**20)


@case("lists in each other in an experiment file", *RUN)
def deep_experiment(folder: Path) -> None:
    (folder / "experiment.toml").write_text(f"passes = {'[' * 5000}{']' * 5000}")


@case("a key of 40,000 parts", *RUN)
def deep_key(folder: Path) -> None:
    (folder / "experiment.toml").write_text("a" + ".a" * 40_000 + " = 1")


@case("a seed beyond 64 bits", *RUN)
def seed(folder: Path) -> None:
    (folder / "experiment.toml").write_text(f"seed = {2**64}")


@case("a text with a NUL", *RUN)
def nul(folder: Path) -> None:
    (folder / "experiment.toml").write_text('out = "a\\u0000b"')


@case("an experiment file in UTF-16", *RUN)
def utf16(folder: Path) -> None:
    (folder / "experiment.toml").write_bytes("passes = 3".encode("utf-16"))


COCO = ("import", "coco", "run.json", "--annotations", "data.json", "--model", "net")
TO = ("--operator", "mc_dropout", "--tag", "0.5", "--out", "tree")


def coco(folder: Path, entries: Any) -> None:
    data = {"images": [{"id": 1, "file_name": "a.jpg"}], "categories": [{"id": 1, "name": "x"}]}
    (folder / "data.json").write_text(json.dumps(data))
    text = entries if isinstance(entries, str) else json.dumps(entries)
    (folder / "run.json").write_text(text)


ENTRY = {"image_id": 1, "category_id": 1, "bbox": [0, 0, 4, 2], "score": 0.5}


@case("COCO results of 1,025 MiB", *COCO, *TO)
def large_coco(folder: Path) -> None:
    coco(folder, [])
    sparse(folder / "run.json", MAX_EXCHANGE_BYTES + 2**20)


@case("COCO results with an infinite score", *COCO, *TO)
def infinite(folder: Path) -> None:
    coco(folder, [ENTRY | {"score": float("inf"), "class_probs": [1]}])


@case("COCO results with 10,001 detections of an image", *COCO, *TO)
def many_entries(folder: Path) -> None:
    coco(folder, [ENTRY | {"class_probs": [1]}] * 10_001)


@case("COCO results of an image that is not listed", *COCO, *TO)
def stranger(folder: Path) -> None:
    coco(folder, [ENTRY | {"image_id": [1]}])


YOLO = ("import", "yolo", "labels", "--sizes", "sizes.csv", "--model", "net")


@case("a line of YOLO text with a NaN", *YOLO, *TO)
def yolo_nan(folder: Path) -> None:
    (folder / "labels").mkdir()
    (folder / "sizes.csv").write_text("a.jpg,100,80\n")
    (folder / "labels" / "a.txt").write_text("0 .5 .5 1 1 .9 1\n0 nan .5 1 1 .9 1\n")


@case("sizes with a quotation mark that does not end", *YOLO, *TO, vague=r"(?<=CSV \().*(?=\))")
def open_quote(folder: Path) -> None:
    (folder / "labels").mkdir()
    (folder / "sizes.csv").write_text('"a.jpg,100,80\n')
