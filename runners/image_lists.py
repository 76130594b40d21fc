"""Files that list images: COCO JSON, YOLO's data.yaml, text files, Pascal VOC's lists of ids."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from scoring.errors import DataError
from scoring.exchange import read_json
from scoring.faults import shown
from scoring.image_names import check_image_name, check_length
from scoring.limits import MAX_LIST_BYTES, MAX_YAML_BYTES
from scoring.reading import read_bounded, read_text
from scoring.stems import IMAGE_SUFFIXES

_SPLITS = ("train", "val", "test")


class Listed(NamedTuple):
    """An image of a set: its path below the set's folder, NFC, and where it is."""

    relative_path: str
    path: Path


Walk = Callable[[Path], list[Listed]]


def coco_images(file: Path, image_root: Path | None = None) -> list[Listed]:
    """Return what `images` of a COCO JSON lists; nothing else in it is looked at.

    Args:
        file: JSON with `images` (file_name).
        image_root: Folder of the images; None means the file's own.

    Raises:
        DataError: The file is broken, an image leads out of the folder or is there twice, or none
            of them is there.
    """
    content = read_json(file)
    entries = content.get("images") if isinstance(content, dict) else None
    if not isinstance(entries, list) or not entries:
        raise DataError(f"{file}: expected a COCO JSON with a list 'images', which is not there")
    names = []
    for number, entry in enumerate(entries):
        name = entry.get("file_name") if isinstance(entry, dict) else None
        where = f"{file}: images[{number}]"
        if not isinstance(name, str):
            raise DataError(f"{where}: expected a file_name that is text, got {shown(name)}")
        names.append(_inside(name, where))
    return _below(image_root or file.parent, names, file)


def listed_images(file: Path, image_root: Path | None = None) -> list[Listed]:
    """Return the images that a text file lists, a path a line, or a VOC image id.

    Args:
        file: The list; below a folder `ImageSets` that stands beside `JPEGImages`, it lists ids.
        image_root: Folder of the images; None means the file's own (VOC: `JPEGImages`).

    Raises:
        DataError: As `coco_images`.
    """
    try:
        lines = read_text(file, MAX_LIST_BYTES, "a list with an image a line").splitlines()
    except FileNotFoundError as error:
        raise DataError(f"{file}: cannot be read ({error.strerror})") from error
    numbered = [(n, line.strip()) for n, line in enumerate(lines, start=1) if line.strip()]
    if not numbered:
        raise DataError(f"{file}: expected an image a line, got none")
    folder = _voc_folder(file)
    if folder is None:
        root = image_root or file.parent
        names = [_inside(line, f"{file}: line {n}", root) for n, line in numbered]
        return _below(root, names, file)
    root = image_root or folder
    by_id = {
        path.stem: path.name
        for path in sorted(root.iterdir())
        if path.suffix.lower() in IMAGE_SUFFIXES
    }
    names = []
    for number, line in numbered:
        if len(line.split()) != 1:
            raise DataError(
                f"{file}: line {number}: expected one image id, got {shown(line)}; lists of one "
                f"class say which images hold it, not which belong to a set"
            )
        names.append(by_id.get(line) or _inside(f"{line}.jpg", f"{file}: line {number}"))
    return _below(root, names, file)


def _voc_folder(file: Path) -> Path | None:
    """Return the folder of the images whose ids a VOC list holds; None if it is no such list."""
    for above in file.absolute().parents:
        if above.name == "ImageSets" and (above.parent / "JPEGImages").is_dir():
            return above.parent / "JPEGImages"
    return None


def yolo_splits(file: Path, image_root: Path | None, walk: Walk) -> dict[str, list[Listed]]:
    """Return the images of a YOLO data set by split, as its `data.yaml` names them.

    Args:
        file: YAML with `train`, `val` or `test`: a folder, a list of images (`.txt`), or several
            of them, below `path`.
        image_root: Folder of the data set, in place of `path`; None means `path` below the
            file's folder.
        walk: Returns the images of a folder.

    Raises:
        DataError: The file is broken, a path leads out of the folder, or nothing is there.
    """
    content = _read_yaml(file)
    base = image_root
    if base is None:
        given = content.get("path") or "."
        if not isinstance(given, str):
            raise DataError(f"{file}: path: expected text, got {shown(given)}")
        base = file.parent / (given if given == "." else _inside(given, f"{file}: path"))
    splits: dict[str, list[Listed]] = {}
    for split in _SPLITS:
        entries = content.get(split)
        if not entries:
            continue
        found: dict[Listed, None] = {}
        for entry in entries if isinstance(entries, list) else [entries]:
            where = f"{file}: {split}"
            if not isinstance(entry, str):
                raise DataError(f"{where}: expected paths, got {shown(entry)}")
            found.update(dict.fromkeys(_of_entry(base, entry, where, walk)))
        splits[split] = list(found)
    if not splits:
        raise DataError(f"{file}: expected {', '.join(_SPLITS)}, found none of them")
    return splits


def _of_entry(base: Path, entry: str, where: str, walk: Walk) -> list[Listed]:
    """Return the images of one path of a split, below the data set's folder."""
    check_length(entry, where)
    stripped = entry.replace("\\", "/")
    while stripped.startswith("../"):
        # One exporter writes paths as seen from a folder below the one that the file is in.
        stripped = stripped.removeprefix("../")
    name = stripped if (base / stripped).exists() else entry
    path = base / _inside(name, where, base)
    if path.is_dir():
        above = os.path.relpath(path, base).replace(os.sep, "/")
        return [
            Listed(relative if above == "." else f"{above}/{relative}", image)
            for relative, image in walk(path)
        ]
    if path.is_file() and path.suffix.lower() == ".txt":
        return listed_images(path, base)
    raise DataError(
        f"{where}: expected a folder or a list of images at '{path}', found "
        f"{'a file' if path.exists() else 'nothing'}; give the data set's folder with --image-root"
    )


def _read_yaml(file: Path) -> Mapping[str, Any]:
    try:
        content = read_bounded(file, MAX_YAML_BYTES, "a YOLO data.yaml")
    except FileNotFoundError as error:
        raise DataError(f"{file}: cannot be read ({error.strerror})") from error
    try:
        # Of all loaders the one that makes nothing but texts, lists and mappings.
        loaded = yaml.load(content, Loader=yaml.BaseLoader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        words = " ".join(str(error).split())[:200] or type(error).__name__
        raise DataError(f"{file}: expected YAML, got: {words}") from error
    if not isinstance(loaded, dict):
        raise DataError(f"{file}: expected keys and values, got a {type(loaded).__name__}")
    return loaded


def _inside(name: str, where: str, root: Path | None = None) -> str:
    """Return a path below its folder; an absolute one that is inside of `root` is one too."""
    check_length(name, where)
    if root is not None and Path(name).is_absolute():
        base = os.path.normpath(root.absolute())
        if os.path.commonpath([base, os.path.normpath(name)]) == base:
            name = os.path.relpath(name, base)
    try:
        return check_image_name(name, where)
    except DataError as error:
        if "leads out" not in str(error):
            raise
        raise DataError(
            f"{error}; give a folder that holds all images with --image-root"
        ) from error


def _below(root: Path, names: Sequence[str], file: Path) -> list[Listed]:
    twice = _first_twice(names)
    if twice is not None:
        raise DataError(f"{file}: image '{twice}' is there twice")
    found = [Listed(unicodedata.normalize("NFC", name), root / name) for name in names]
    if not any(image.path.exists() for image in found):
        raise DataError(
            f"{file}: none of its {len(found)} images is there, such as '{found[0].path}'; give "
            f"their folder with --image-root"
        )
    return found


def _first_twice(names: Iterable[str]) -> str | None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None
