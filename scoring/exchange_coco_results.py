"""A prediction tree as COCO results: one JSON list per pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from scoring.detections import Detections
from scoring.errors import DataError
from scoring.files import write_atomic
from scoring.layout import original_tag
from scoring.predictions import read_passes
from scoring.sweep import Sweep


def to_entries(image_id: Any, detections: Detections, vectors: str) -> list[dict[str, Any]]:
    """Return the detections of one pass over one image as COCO results.

    Args:
        image_id: Id of the image.
        detections: Whole-number labels, which become category ids.
        vectors: Field of the class vector, which COCO itself does not have.

    Raises:
        DataError: A label is no whole number.

    Example:
        >>> one = Detections([[1, 2, 11, 7]], [3], [0.5], [[0.5, 0.25]])
        >>> to_entries(7, one, "class_probs")[0]["bbox"]
        [1.0, 2.0, 10.0, 5.0]
    """
    entries = []
    for box, label, score, vector in zip(
        detections.boxes.tolist(),
        detections.labels.tolist(),
        detections.scores.tolist(),
        detections.probs.tolist(),
        strict=True,
    ):
        if type(label) is not int:
            raise DataError(f"label {label!r}: expected a whole number, which category ids are")
        x1, y1, x2, y2 = box
        entries.append(
            {
                "image_id": image_id,
                "category_id": label,
                "bbox": [x1, y1, x2 - x1, y2 - y1],
                "score": score,
                vectors: vector,
            }
        )
    return entries


@dataclass(frozen=True, slots=True)
class CocoIds:
    """Ids that results refer to.

    Args:
        images: stem -> id, for every image.
        categories: Ids that a label may be; None means any.
    """

    images: Mapping[str, Any]
    categories: frozenset[int] | None = None


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written of one operator, model and suite.

    Args:
        folders: One per mutant, the original's first.
        n_files: Files in them, one per pass.
        labels: Every label that occurs.
        crashed: Pairs of stem and tag that have no passes and so no entries.
    """

    folders: tuple[Path, ...]
    n_files: int
    labels: frozenset[int]
    crashed: frozenset[tuple[str, str]]


def export_sweep(
    sweep: Sweep,
    out: Path,
    ids: CocoIds,
    vectors: str,
    n_passes: int | None = None,
    *,
    on_mutant: Callable[[], None] = lambda: None,
) -> Exported:
    """Write every mutant of a sweep, and its original, as `{operator}_{tag}/pass_{t}.json`.

    The text of one mutant is held in memory at a time.

    Args:
        sweep: What to write.
        out: Where the mutants' folders go.
        ids: Of images and categories.
        vectors: Field of the class vector.
        n_passes: T, the first passes; None means all.
        on_mutant: Called for each mutant that was written, and for the original.

    Raises:
        DataError: A pass is missing or broken, images differ in their number of passes, or a
            label is no whole number or no category.
    """
    folders = []
    labels: set[int] = set()
    n_files = 0
    for tag in (original_tag(sweep.branch.operator), *sweep.tags):
        passes = _mutant_entries(sweep, tag, ids, vectors, n_passes)
        labels |= passes.labels
        folder = out / f"{sweep.branch.operator}_{tag}"
        width = len(str(len(passes.texts) - 1))
        paths = [folder / f"pass_{t:0{width}d}.json" for t in range(len(passes.texts))]
        for path, texts in zip(paths, passes.texts, strict=True):
            write_atomic(path, b"[" + b",\n".join(texts) + b"]\n")
        for stale in set(folder.glob("pass_*.json")) - set(paths):
            stale.unlink()  # of an export of more passes
        n_files += len(passes.texts)
        folders.append(folder)
        on_mutant()
    return Exported(tuple(folders), n_files, frozenset(labels), sweep.crashed)


@dataclass(slots=True)
class _Entries:
    texts: list[list[bytes]]
    """(T) the entries of every pass, encoded"""
    labels: set[int]


def _mutant_entries(
    sweep: Sweep, tag: str, ids: CocoIds, vectors: str, n_passes: int | None
) -> _Entries:
    entries = _Entries([], set())
    total = n_passes
    for stem in sweep.stems:
        if (stem, tag) in sweep.crashed:
            continue
        folder = sweep.branch.folder(sweep.root, tag, stem)
        passes = read_passes(folder, total)
        total = total or passes.n_passes
        if n_passes is None and passes.n_passes != len(list(folder.glob("prediction_*.json"))):
            raise DataError(
                f"{folder} holds more than the {total} passes of the images before; take the "
                f"first ones with --passes {total}"
            )
        entries.texts += [[] for _ in range(passes.n_passes - len(entries.texts))]
        for t in range(passes.n_passes):
            try:
                found = to_entries(ids.images[stem], passes[t], vectors)
            except DataError as error:
                raise DataError(f"{folder}: pass {t}: {error}") from error
            labels = {entry["category_id"] for entry in found}
            unknown = sorted(labels - (labels if ids.categories is None else ids.categories))
            if unknown:
                raise DataError(
                    f"{folder}: pass {t}: label {unknown[0]}: expected one of the annotations' "
                    f"category ids"
                )
            entries.labels |= labels
            entries.texts[t] += [orjson.dumps(entry) for entry in found]
    return entries


def dataset(
    image_ids: Mapping[str, Any], files: Mapping[str, str], categories: Mapping[int, str]
) -> bytes:
    """Return the images and categories that results refer to, as a COCO JSON.

    Args:
        image_ids: stem -> id.
        files: stem -> file name; the stem itself where there is none.
        categories: id -> name.
    """
    content = {
        "images": [
            {"id": number, "file_name": files.get(stem, stem), "stem": stem}
            for stem, number in image_ids.items()
        ],
        "categories": [{"id": number, "name": name} for number, name in categories.items()],
    }
    return orjson.dumps(content, option=orjson.OPT_INDENT_2) + b"\n"


def ids_of(stems: Sequence[str]) -> dict[str, int]:
    """Return an id for every image, from 1 up in the order given."""
    return {stem: number for number, stem in enumerate(stems, start=1)}
