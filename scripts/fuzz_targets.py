"""What scripts/fuzz.py and the tests feed with broken files: every reader, and what it must hold.

A target writes one file, reads it, and looks at the value that comes back. It may raise nothing but
the project's own exceptions, whose message names the file.
"""

from __future__ import annotations

import contextlib
import json
import math
import pickle
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

import numpy as np
import orjson

from runners.image_sets import ImageSet
from runners.ledger import Entry, Ledger, Unit, ledger_line
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

GOOD: dict[str, Any] = {"box": [0, 0, 4.5, 2], "label": 1, "score": 0.5, "logit": [0.5, 0.25]}


class FindingError(Exception):
    """A reader took or said what it must not."""


@dataclass(frozen=True, slots=True)
class Target:
    """A reader to be fed.

    Args:
        name: What the command line calls it.
        file: The file that is written, below an empty folder.
        read: Reads that file and looks at the value.
        seeds: Small valid files.
        tokens: Further words that such files hold.
    """

    name: str
    file: str
    read: Callable[[Path], None]
    seeds: tuple[bytes, ...]
    tokens: tuple[bytes, ...] = ()

    def feed(self, folder: Path, content: bytes) -> str:
        """Write and read the content; return the message by which it was refused, or an empty text.

        Raises:
            FindingError: The message does not name the file, or the value is wrong.
            Exception: What the reader raised and must not.
        """
        path = folder / self.file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        try:
            self.read(path)
        except UamtError as error:
            if path.name not in str(error):
                raise FindingError(f"a message that does not name {path.name}: {error}") from error
            return str(error)
        return ""


def expect(holds: object, what: str) -> None:
    """Raise if what must hold of a value does not."""
    if not holds:
        raise FindingError(what)


def _predictions(path: Path) -> None:
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


def _manifest(path: Path) -> None:
    for declared in read_declarations(path.parent).values():
        expect(declared.scores in (None, "softmax", "sigmoid"), "scores of no known kind")
        expect(
            all(isinstance(s, str) for stems in declared.stems.values() for s in stems), "a stem"
        )
    manifest = read_manifest(path.parent)
    expect(orjson.loads(orjson.dumps(manifest)) == manifest, "what cannot be written again")
    for section in manifest["models"].values():
        expect(all(operator["tags"] is not None for operator in section["operators"].values()), "")


def _ledger(path: Path) -> None:
    ledger = Ledger(path.parent)
    entries = ledger.latest()
    for unit, entry in entries.items():
        expect(entry.unit == unit and isinstance(entry.stem, str), "an entry of another unit")
        expect(all(isinstance(sha256, str) for sha256 in entry.sha256), "a hash that is no text")
    ledger.close_torn_line()
    expect(ledger.latest() == entries, "a line that was ended changed the entries")
    path.write_bytes(b"".join(map(ledger_line, entries.values())))
    expect(ledger.latest() == entries, "entries that do not come back")


def _pickle(path: Path) -> None:
    members = read_members("suite", path)
    expect(all(isinstance(image, str) for image in members.images), "an image that is no text")


def _configuration(path: Path) -> None:
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


_DATASET = {
    "images": [
        {"id": 42, "file_name": "val/a.v1.jpg", "width": 100, "height": 80},
        {"id": "b", "file_name": "val\\b.png", "width": 50, "height": 40},
    ],
    "categories": [{"id": 90, "name": "toothbrush"}, {"id": 1, "name": "person"}],
}
_ENTRY = {"image_id": 42, "category_id": 90, "bbox": [10.0, 20, 30, 5], "score": 0.5}
_IMAGES = CocoImages(
    {42: "a.v1", "b": "b"}, {"a.v1": "a.v1.jpg", "b": "b.png"}, {90: "x", 1: "y"}, {}
)


def _coco_dataset(path: Path) -> None:
    for names in ("stem", "path"):
        images = read_coco_images(path, names)  # type: ignore[arg-type]
        expect(set(images.files) == set(images.stems.values()), "images without a name")
        expect(
            all(isinstance(i, int) for i in images.categories), "a category id that is no number"
        )
        sizes = [side for size in images.sizes.values() for side in size]
        expect(all(0 < side < math.inf for side in sizes), "a size that is none")
        orjson.dumps([*images.stems, *images.files, *images.categories.values()])


def _coco_results(path: Path) -> None:
    for one_hot in (False, True):
        output = CocoOutput([path], _IMAGES, one_hot)
        with contextlib.suppress(UamtError) if one_hot else contextlib.nullcontext():
            _written(output)


def _yolo(path: Path) -> None:
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


def _table(path: Path) -> None:
    table = read_table(path)
    expect(table.shape[1] == 1 + len(COLUMNS), "another number of columns")
    expect(all(isinstance(stem, str) for stem in table.iloc[:, 0]), "a stem that is no text")
    rows = table[list(COLUMNS)].to_numpy(np.float64)
    again = to_table(list(table.iloc[:, 0]), rows)
    expect(again.shape == table.shape, "what cannot be written again")


def _facts(path: Path) -> None:
    facts = read_facts(path)
    expect(isinstance(facts, BranchFacts), "no facts")
    assert facts is not None
    expect(isinstance(facts.passes_of("0.1", "a"), int), "passes that are no number")
    read_curtailed({"mc_dropout": facts}, ["a"], [("mc_dropout", "0.1")], str(path))


def _names(path: Path) -> None:
    for image in read_members("suite", path).images:
        image.encode()


def _sizes(path: Path) -> None:
    images = sizes_of_file(path)
    expect(set(images.files) == set(images.sizes), "an image without a size")
    sides = [side for size in images.sizes.values() for side in size]
    expect(all(0 < side < 1e9 for side in sides), "a size that is none")


def _image_set(path: Path) -> None:
    folder = path.parent
    (folder / "photos").mkdir(exist_ok=True)
    (folder / "photos" / "a.png").touch()
    for image in ImageSet(path).images():
        expect(image.path.resolve().is_relative_to(folder.resolve()), "an image elsewhere")
        expect("\0" not in image.relative_path, "a name that none can be")


def _json(value: Any) -> bytes:
    return orjson.dumps(value)


_UNIT = Unit("net", "orig", "val/a.jpg", "mc_dropout", "0.1")
_SECTION = {
    "settings": {"model": {"scores": "softmax", "weights": {}}, "passes": 10, "curtail": None},
    "settings_sha256": "0f",
    "original_is_deterministic": True,
    "operators": {"mc_dropout": {"sites": ["head.0"], "tags": ["0.1"], "effective_blocks": {}}},
    "suites": {"orig": {"val/a.jpg": {"stem": "a", "size": 3, "sha256": "0f"}}},
}
_CURTAIL = {"kinds": "miss_ghost", "rule": "significant", "critical_count": 2, "per_mutant": False}
_TOML = b"""out = "experiment"
sites = ["head", 'x']
passes = 10
score_threshold = 0.5
classes = [1, 2]
curtail = "miss_ghost"
[model]
name = "demo_retinanet"
weights = "DEFAULT"
[model.args]
num_classes = 3
[operators.mc_dropout]
rates = [0.1, 0.15]
[operators.mc_dropblock]
rates = [1e-1]
blocks = [3, 7]
"""
_ROW = ",".join(["a"] + ["1" if c.endswith("_count") else "0.25" for c in COLUMNS])

_LIST = ["photos/a.jpg", "photos/b.png"]
_PICKLES = (
    *(
        pickle.dumps([kind(name) for name in _LIST], protocol)
        for protocol in (0, 2, 4)
        for kind in (PurePosixPath, PureWindowsPath, str)
    ),
    pickle.dumps(set(_LIST)),
    pickle.dumps(tuple(_LIST)),
)

TARGETS: Mapping[str, Target] = {
    target.name: target
    for target in (
        Target(
            "predictions",
            "mc_dropout_0.1_photo/prediction_0.json",
            _predictions,
            (
                _json({"label_0": GOOD, "label_1": GOOD | {"label": "cat", "area": 3}}),
                _json({f"label_{i}": GOOD | {"score": i / 8} for i in range(3)}),
                b'{"a": {"box": [0, 0, 1, NaN], "label": 1, "logit": [1, 0]}}',
                b"{}",
            ),
            (b'"box":', b'"label":', b'"score":', b'"logit":'),
        ),
        Target(
            "manifest",
            "manifest.json",
            _manifest,
            (
                _json({"format": 1, "models": {"net": _SECTION}}),
                _json(
                    {
                        "format": 1,
                        "models": {
                            "net": _SECTION
                            | {"settings": _SECTION["settings"] | {"curtail": _CURTAIL}}  # type: ignore[operator]
                        },
                    }
                ),
                _json({"format": 1, "models": {}}),
            ),
            (b'"settings":', b'"suites":', b'"stem":', b'"tags":', b'"scores":', b'"passes":'),
        ),
        Target(
            "ledger",
            "ledger.jsonl",
            _ledger,
            (
                ledger_line(Entry(_UNIT, "done", "0f", "a", ("ab", "cd"), host="box"))
                + ledger_line(Entry(_UNIT, "runtime_error", "0f", "a", message="no")),
                ledger_line(Entry(_UNIT, "dropped", "0f", "a", killed=("miss",)))[:-9],
            ),
            (b'"unit":', b'"status":"done"', b'"sha256":', b"\n"),
        ),
        Target(
            "pickle",
            "images.pkl",
            _pickle,
            _PICKLES,
            (
                b"cpathlib\nPosixPath\n",
                b"\x85R",
                b"\x8c\x01a",
                b"\x93",
                b"r\xff\xff\xff\x7f",
                b"cos\nsystem\n",
            ),
        ),
        Target(
            "configuration",
            "experiment.toml",
            _configuration,
            (_TOML, b'shard = "1/2"\n[suites]\na = "photos"\n', b"[operators.mc_dropout]\n"),
            (b"[model.args]\n", b"inf", b"nan", b"1979-05-27T07:32:00Z", b"0xff", b'"""', b"'''"),
        ),
        Target(
            "coco-dataset",
            "instances.json",
            _coco_dataset,
            (_json(_DATASET), _json(_DATASET | {"annotations": [], "info": None})),
            (b'"id":', b'"file_name":', b'"name":', b'"stem":', b'"width":', b'"images":'),
        ),
        Target(
            "coco-results",
            "pass_0.json",
            _coco_results,
            (
                _json([_ENTRY | {"class_probs": [0.5, 0.25]}, _ENTRY | {"class_probs": [0, 1]}]),
                _json([_ENTRY, _ENTRY | {"image_id": "b", "category_id": 1}]),
                b"[]",
            ),
            (b'"image_id":', b'"category_id":', b'"bbox":', b'"score":', b'"class_probs":'),
        ),
        Target(
            "yolo",
            "labels/a.txt",
            _yolo,
            (b"0 0.5 0.5 0.25 0.5 0.9\n2 0.1 0.1 0.1 0.1 0.5\n", b"1 .5 .5 1 1 0.9 0.25 0.5\n"),
            (b"\n", b" ", b"1e309", b"nan", b"-1", b"1_0"),
        ),
        Target(
            "table",
            "mutant_0.1.csv",
            _table,
            (
                f"test_suite,{','.join(COLUMNS)}\n{_ROW}\nb{_ROW[1:]}\n".encode(),
                f'test_suite,{",".join(COLUMNS)}\n"q""x,y"{_ROW[1:]}\n'.encode(),
            ),
            (b",", b"\n", b'"', b"nan", b"1e999", b"-1", b"0.5"),
        ),
        Target(
            "image-set-coco",
            "instances.json",
            _image_set,
            (_json({"images": [{"file_name": "photos/a.png"}, {"file_name": "b.png"}]}),),
            (b'"file_name":', b'"../a.png"', b'"/a.png"', b'"C:a.png"'),
        ),
        Target(
            "image-set-list",
            "list.txt",
            _image_set,
            (b"photos/a.png\nb.png\n", b"./photos/a.png\r\n"),
            (b"../", b"/", b"\\", b"C:"),
        ),
        Target(
            "image-set-yolo",
            "data.yaml",
            _image_set,
            (b"path: .\ntrain: photos\nval: [photos]\nnames: {0: a}\n", b"test: ../photos\n"),
            (b"&a", b"*a", b"!!python/name:os.system", b": ", b"- ", b"../", b"|", b"<<: "),
        ),
        Target(
            "facts",
            "facts.json",
            _facts,
            (
                _json({"rules": "deepluq", "passes": 10, "equivalent": ["0.1"]}),
                _json(
                    {
                        "rules": "strict",
                        "passes": 10,
                        "fewer_passes": {"0.1": {"a": 3}},
                        "curtailed": {k: v for k, v in _CURTAIL.items() if k != "per_mutant"},
                    }
                ),
            ),
            (b'"fewer_passes":', b'"curtailed":', b'"kinds":', b'"critical_count":'),
        ),
        Target(
            "image-list", "names.txt", _names, (b"a.jpg\nval/b.png\n", b"\xef\xbb\xbfa.jpg\r\n")
        ),
        Target("image-list-json", "names.json", _names, (_json(["a.jpg", "val\\b.png"]),)),
        Target(
            "sizes",
            "sizes.csv",
            _sizes,
            (b"name,width,height\na.jpg,100,80\n", b'"b,c.png",50,40.5\n'),
            (b",", b"\n", b'"', b"1e9", b"nan"),
        ),
    )
}
