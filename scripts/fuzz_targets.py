"""What scripts/fuzz.py and the tests feed with broken files: every reader, and small valid files.

A target writes one file, reads it, and looks at the value that comes back. It may raise nothing but
the project's own exceptions, whose message names the file.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

import fuzz_readers as readers
import orjson

from runners.ledger import Entry, Unit, ledger_line
from scoring.errors import UamtError
from scoring.rows import COLUMNS

GOOD: dict[str, Any] = {"box": [0, 0, 4.5, 2], "label": 1, "score": 0.5, "logit": [0.5, 0.25]}


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
                raise readers.FindingError(
                    f"a message that does not name {path.name}: {error}"
                ) from error
            return str(error)
        return ""


def _json(value: Any) -> bytes:
    return orjson.dumps(value)


_DATASET = {
    "images": [
        {"id": 42, "file_name": "val/a.v1.jpg", "width": 100, "height": 80},
        {"id": "b", "file_name": "val\\b.png", "width": 50, "height": 40},
    ],
    "categories": [{"id": 90, "name": "toothbrush"}, {"id": 1, "name": "person"}],
}
_ENTRY = {"image_id": 42, "category_id": 90, "bbox": [10.0, 20, 30, 5], "score": 0.5}
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
            readers.check_predictions,
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
            readers.check_manifest,
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
            readers.check_ledger,
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
            readers.check_pickle,
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
            readers.check_configuration,
            (_TOML, b'shard = "1/2"\n[suites]\na = "photos"\n', b"[operators.mc_dropout]\n"),
            (b"[model.args]\n", b"inf", b"nan", b"1979-05-27T07:32:00Z", b"0xff", b'"""', b"'''"),
        ),
        Target(
            "coco-dataset",
            "instances.json",
            readers.check_coco_dataset,
            (_json(_DATASET), _json(_DATASET | {"annotations": [], "info": None})),
            (b'"id":', b'"file_name":', b'"name":', b'"stem":', b'"width":', b'"images":'),
        ),
        Target(
            "coco-results",
            "pass_0.json",
            readers.check_coco_results,
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
            readers.check_yolo,
            (b"0 0.5 0.5 0.25 0.5 0.9\n2 0.1 0.1 0.1 0.1 0.5\n", b"1 .5 .5 1 1 0.9 0.25 0.5\n"),
            (b"\n", b" ", b"1e309", b"nan", b"-1", b"1_0"),
        ),
        Target(
            "table",
            "mutant_0.1.csv",
            readers.check_table,
            (
                f"test_suite,{','.join(COLUMNS)}\n{_ROW}\nb{_ROW[1:]}\n".encode(),
                f'test_suite,{",".join(COLUMNS)}\n"q""x,y"{_ROW[1:]}\n'.encode(),
            ),
            (b",", b"\n", b'"', b"nan", b"1e999", b"-1", b"0.5"),
        ),
        Target(
            "image-set-coco",
            "instances.json",
            readers.check_image_set,
            (_json({"images": [{"file_name": "photos/a.png"}, {"file_name": "b.png"}]}),),
            (b'"file_name":', b'"../a.png"', b'"/a.png"', b'"C:a.png"'),
        ),
        Target(
            "image-set-list",
            "list.txt",
            readers.check_image_set,
            (b"photos/a.png\nb.png\n", b"./photos/a.png\r\n"),
            (b"../", b"/", b"\\", b"C:"),
        ),
        Target(
            "image-set-yolo",
            "data.yaml",
            readers.check_image_set,
            (b"path: .\ntrain: photos\nval: [photos]\nnames: {0: a}\n", b"test: ../photos\n"),
            (b"&a", b"*a", b"!!python/name:os.system", b": ", b"- ", b"../", b"|", b"<<: "),
        ),
        Target(
            "facts",
            "facts.json",
            readers.check_facts,
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
            "image-list",
            "names.txt",
            readers.check_names,
            (b"a.jpg\nval/b.png\n", b"\xef\xbb\xbfa.jpg\r\n"),
        ),
        Target(
            "image-list-json", "names.json", readers.check_names, (_json(["a.jpg", "val\\b.png"]),)
        ),
        Target(
            "label-names",
            "classes.txt",
            readers.check_label_names,
            (b"background\ncat\ndog\n", b"\xef\xbb\xbfcat\r\nbig dog\r\n\r\n"),
            (b"\n", b"\r", b"\xe2\x80\xa8", b"\xc2\x85"),
        ),
        Target(
            "sizes",
            "sizes.csv",
            readers.check_sizes,
            (b"name,width,height\na.jpg,100,80\n", b'"b,c.png",50,40.5\n'),
            (b",", b"\n", b'"', b"1e9", b"nan"),
        ),
    )
}
