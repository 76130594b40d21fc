"""How scripts/fuzz.py reads a file with each reader, and what must hold of the value."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from runners.image_sets import ImageSet
from runners.ledger import Ledger, ledger_line
from runners.manifest_file import read_manifest
from scoring.branch_facts import BranchFacts, read_facts
from scoring.curtailed_rows import read_curtailed
from scoring.declarations import read_declarations
from scoring.errors import UamtError
from scoring.exchange import check_output, to_detections
from scoring.exchange_coco import CocoImages, CocoOutput, read_coco_images
from scoring.exchange_yolo import YoloOutput
from scoring.limits import MAX_CLASSES, MAX_DETECTIONS
from scoring.membership import read_members
from scoring.predictions import encode_prediction, read_passes
from scoring.rows import COLUMNS
from scoring.tables import read_table, to_table
from uamt.configuration import resolve
from uamt.image_sizes import sizes_of_file
from uamt.label_names import read_label_names


class FindingError(Exception):
    """A reader took or said what it must not."""


def expect(holds: object, what: str) -> None:
    """Raise if what must hold of a value does not."""
    if not holds:
        raise FindingError(what)


def check_predictions(path: Path) -> None:
    found = read_passes(path.parent).detections
    expect(found.is_finite().all(), "a number that is not finite was read")
    expect(len(found) <= MAX_DETECTIONS and found.n_classes <= MAX_CLASSES, "a limit was exceeded")
    content = path.read_bytes()
    with contextlib.suppress(RecursionError):  # of the oracle, in a field that nobody reads
        values = json.loads(content.decode(json.detect_encoding(content))).values()
        expect(len(values) == len(found), "a detection was lost")
        for column, field in ((found.boxes, "box"), (found.probs, "logit")):
            expected = np.array([value[field] for value in values], dtype=np.float64)
            expect(np.array_equal(column, expected.reshape(column.shape)), f"another {field}")
        expect(found.labels.tolist() == [value["label"] for value in values], "another label")
    with contextlib.suppress(UamtError):  # labels may be texts
        encode_prediction(found)


def check_manifest(path: Path) -> None:
    for declared in read_declarations(path.parent).values():
        expect(declared.scores in (None, "softmax", "sigmoid"), "scores of no known kind")
        expect(
            all(isinstance(s, str) for stems in declared.stems.values() for s in stems), "a stem"
        )
    manifest = read_manifest(path.parent)
    expect(orjson.loads(orjson.dumps(manifest)) == manifest, "what cannot be written again")
    for section in manifest["models"].values():
        expect(all(operator["tags"] is not None for operator in section["operators"].values()), "")


def check_ledger(path: Path) -> None:
    ledger = Ledger(path.parent)
    entries = ledger.latest()
    for unit, entry in entries.items():
        expect(entry.unit == unit and isinstance(entry.stem, str), "an entry of another unit")
        expect(all(isinstance(sha256, str) for sha256 in entry.sha256), "a hash that is no text")
    ledger.close_torn_line()
    expect(ledger.latest() == entries, "a line that was ended changed the entries")
    path.write_bytes(b"".join(map(ledger_line, entries.values())))
    expect(ledger.latest() == entries, "entries that do not come back")


def check_pickle(path: Path) -> None:
    members = read_members("suite", path)
    expect(all(isinstance(image, str) for image in members.images), "an image that is no text")


def check_configuration(path: Path) -> None:
    values = resolve(path, {"model.name": "demo_retinanet", "images": "photos", "suites": "one"})
    try:
        _resolved(values)
    except UamtError:
        return  # says which option; a flag may have set it as well as the file


def _resolved(values: Mapping[str, Any]) -> None:
    # They load torch, which only this reader needs.
    from mutators import get_operator
    from runners.settings import Settings

    names = ("passes", "seed", "score_threshold", "classes", "chunk", "threads", "precision")
    settings = Settings(
        **{name: values[name] for name in (*names, "curtail", "kill_rule", "curtail_mutants")}
    )
    orjson.dumps([settings.seed, settings.classes])
    for name in values["operators"] or ("mc_dropout", "mc_dropblock"):
        prefix = f"operators.{name}."
        options = {k.removeprefix(prefix): v for k, v in values.items() if k.startswith(prefix)}
        options = {name: value for name, value in options.items() if value is not None}
        get_operator(name)(sites=values["sites"], **options)  # type: ignore[call-arg]


_IMAGES = CocoImages(
    {42: "a.v1", "b": "b"}, {"a.v1": "a.v1.jpg", "b": "b.png"}, {90: "x", 1: "y"}, {}
)


def check_coco_dataset(path: Path) -> None:
    for names in ("stem", "path"):
        images = read_coco_images(path, names)  # type: ignore[arg-type]
        expect(set(images.files) == set(images.stems.values()), "images without a name")
        expect(
            all(isinstance(i, int) for i in images.categories), "a category id that is no number"
        )
        sizes = [side for size in images.sizes.values() for side in size]
        expect(all(0 < side < math.inf for side in sizes), "a size that is none")
        orjson.dumps([*images.stems, *images.files, *images.categories.values()])


def check_coco_results(path: Path) -> None:
    for one_hot in (False, True):
        output = CocoOutput([path], _IMAGES, one_hot)
        with contextlib.suppress(UamtError) if one_hot else contextlib.nullcontext():
            _written(output)


def check_yolo(path: Path) -> None:
    for n_classes in (None, 3):
        output = YoloOutput([path.parent], {"a": "a.jpg"}, {"a": (100, 80)}, n_classes)
        with contextlib.suppress(UamtError) if n_classes else contextlib.nullcontext():
            _written(output)


def _written(output: CocoOutput | YoloOutput) -> None:
    check_output(output)
    for each in output.read(0).values():
        found = to_detections(each, output.n_made_up)
        expect(len(found) == len(each), "a detection was lost")
        expect(found.is_finite().all(), "a number that is not finite was read")
        encode_prediction(found)


def check_table(path: Path) -> None:
    table = read_table(path)
    expect(table.shape[1] == 1 + len(COLUMNS), "another number of columns")
    expect(all(isinstance(stem, str) for stem in table.iloc[:, 0]), "a stem that is no text")
    rows = table[list(COLUMNS)].to_numpy(np.float64)
    again = to_table(list(table.iloc[:, 0]), rows)
    expect(again.shape == table.shape, "what cannot be written again")


def check_facts(path: Path) -> None:
    facts = read_facts(path)
    expect(isinstance(facts, BranchFacts), "no facts")
    assert facts is not None
    expect(isinstance(facts.passes_of("0.1", "a"), int), "passes that are no number")
    read_curtailed({"mc_dropout": facts}, ["a"], [("mc_dropout", "0.1")], str(path))


def check_names(path: Path) -> None:
    for image in read_members("suite", path).images:
        image.encode()


def check_label_names(path: Path) -> None:
    names = read_label_names(path)
    expect(names and all(names), "a name that is empty")
    letters = "".join(path.read_bytes().decode("utf-8-sig").split())
    expect("".join("".join(names).split()) == letters, "a name was changed or lost")


def check_sizes(path: Path) -> None:
    images = sizes_of_file(path)
    expect(set(images.files) == set(images.sizes), "an image without a size")
    sides = [side for size in images.sizes.values() for side in size]
    expect(all(0 < side < 1e9 for side in sides), "a size that is none")


def check_image_set(path: Path) -> None:
    folder = path.parent
    (folder / "photos").mkdir(exist_ok=True)
    (folder / "photos" / "a.png").touch()
    for image in ImageSet(path).images():
        expect(image.path.resolve().is_relative_to(folder.resolve()), "an image elsewhere")
        expect("\0" not in image.relative_path, "a name that none can be")
