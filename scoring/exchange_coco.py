"""COCO results: one JSON list per pass, with a dataset's JSON for images and categories."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scoring.errors import ConfigError, DataError
from scoring.exchange import Found, read_json
from scoring.faults import NUMBERS, kinds, shown
from scoring.image_names import check_image_name
from scoring.limits import MAX_NAME
from scoring.stems import Names, equal_names, output_names

VECTOR_FIELD = "class_probs"
"""Field of an entry that holds the class vector, unless named otherwise."""


_LARGEST = 1e300
"""Beyond it a whole number may be no float."""
_LARGEST_SIDE = 1e9
"""Pixels of no image."""


@dataclass(frozen=True, slots=True)
class CocoImages:
    """The images and categories of a COCO dataset.

    Args:
        stems: image id -> name under which results are written.
        files: The same name -> file name.
        categories: category id -> name; ids need be neither dense nor in order.
        sizes: Name under which results are written -> width and height, where the file has them.
    """

    stems: Mapping[Any, str]
    files: Mapping[str, str]
    categories: Mapping[int, str]
    sizes: Mapping[str, tuple[float, float]]


def read_coco_images(path: Path, names: Names = "stem") -> CocoImages:
    """Return the images and categories of a COCO JSON; annotations in it are not read.

    An image may carry its output name itself, as `stem`.

    Args:
        path: JSON with `images` (id, file_name) and `categories` (id, name).
        names: Results are named by the file's stem, or by its whole path.

    Raises:
        DataError: The file or a field is missing or broken, an id is there twice, or a file name
            leads out of its folder.
        ConfigError: Two images share an output name.
    """
    content = read_json(path)
    images = _listed(content, "images", ("id", "file_name"), path)
    categories = _listed(content, "categories", ("id", "name"), path)
    for field in ("file_name", "stem"):
        _refuse_other_than_names(images, "images", field, path)
    _refuse_other_than_names(categories, "categories", "name", path, {str, *NUMBERS})
    paths = [
        check_image_name(image["file_name"], f"{path}: images[{number}]")
        for number, image in enumerate(images)
    ]
    named = zip(images, output_names(paths, names), strict=True)
    stems = [image.get("stem", name) for image, name in named]
    twins = equal_names(stems)
    if twins:
        pair = " and ".join(f"'{paths[i]}'" for i in twins[0])
        raise ConfigError(
            f"{path}: expected one output name per image, got '{stems[twins[0][0]]}' for {pair}; "
            f"{'use --names path' if names == 'stem' else 'rename one of each'}"
        )
    for category in categories:
        if type(category["id"]) is not int or not -(2**63) <= category["id"] < 2**63:
            raise DataError(
                f"{path}: category id {shown(category['id'])}: expected a whole number of 64 bits"
            )
    sizes = {
        stem: (float(image["width"]), float(image["height"]))
        for image, stem in zip(images, stems, strict=True)
        if _is_size(image.get("width")) and _is_size(image.get("height"))
    }
    return CocoImages(
        _by_id(images, stems, "image", path),
        dict(zip(stems, paths, strict=True)),
        _by_id(categories, [str(category["name"]) for category in categories], "category", path),
        sizes,
    )


def _listed(content: Any, key: str, fields: Sequence[str], path: Path) -> list[Any]:
    entries = content.get(key) if isinstance(content, dict) else None
    if not isinstance(entries, list) or not entries:
        raise DataError(f"{path}: expected an object with a list '{key}', which is not there")
    for number, entry in enumerate(entries):
        missing = [f for f in fields if f not in entry] if isinstance(entry, dict) else fields
        if missing:
            raise DataError(f"{path}: {key}[{number}]: expected {' and '.join(missing)}")
        if type(entry["id"]) not in (int, str):
            raise DataError(f"{path}: {key}[{number}]: id must be a number or text")
    return entries


def _refuse_other_than_names(
    entries: Sequence[Any], key: str, field: str, path: Path, allowed: Collection[type] = (str,)
) -> None:
    for number, entry in enumerate(entries):
        name = entry.get(field, "")
        if type(name) not in allowed or len(str(name)) > MAX_NAME:
            raise DataError(
                f"{path}: {key}[{number}]: expected a text of at most {MAX_NAME:,} characters as "
                f"{field}, got {shown(name)}"
            )


def _is_size(value: Any) -> bool:
    return kinds([value]) <= NUMBERS and 0 < value < _LARGEST_SIDE


def _by_id(entries: Sequence[Any], values: Sequence[str], what: str, path: Path) -> dict[Any, str]:
    found: dict[Any, str] = {}
    for entry, value in zip(entries, values, strict=True):
        if entry["id"] in found:
            raise DataError(f"{path}: {what} id {shown(entry['id'])} is there twice")
        found[entry["id"]] = value
    return found


@dataclass(frozen=True, slots=True)
class CocoOutput:
    """COCO results of T passes, one file each.

    Args:
        results: Files, pass 0 first.
        images: What their ids mean.
        one_hot: Class vectors are made up from score and label.
        vectors: Field of the class vector.

    Raises:
        ConfigError: There is no file, or made-up vectors have no place for a category id.
    """

    results: Sequence[Path]
    images: CocoImages
    one_hot: bool = False
    vectors: str = VECTOR_FIELD

    def __post_init__(self) -> None:
        if not self.results:
            raise ConfigError("expected at least one file of COCO results")
        ids = self.images.categories
        if self.one_hot and not (min(ids) >= 0 and max(ids) < 100_000):
            raise ConfigError(
                f"--one-hot: expected category ids from 0 to 99999, got {min(ids)} to {max(ids)}"
            )

    @property
    def files(self) -> Mapping[str, str]:
        """The images: stem -> file name."""
        return self.images.files

    @property
    def n_passes(self) -> int:
        """T, the number of files."""
        return len(self.results)

    @property
    def n_made_up(self) -> int | None:
        """One more than the largest category id, if vectors are made up."""
        return max(self.images.categories) + 1 if self.one_hot else None

    def where(self, t: int, stem: str, number: int) -> str:
        """Return the words that name a detection."""
        return f"{self.results[t]}: entry {number} (image '{stem}')"

    def read(self, t: int) -> dict[str, list[Found]]:
        """Return the detections of a pass by stem.

        Raises:
            DataError: The file is broken, an id is not known, or an entry lacks a field or holds
                what is no finite number.
        """
        path = self.results[t]
        entries = read_json(path)
        if not isinstance(entries, list):
            raise DataError(
                f"{path}: expected COCO results, a list of entries with image_id, category_id, "
                f"bbox and score, got a {type(entries).__name__}"
            )
        found: dict[str, list[Found]] = defaultdict(list)
        for number, entry in enumerate(entries):
            fault = self._fault_of(entry)
            if fault:
                raise DataError(f"{path}: entry {number}: {fault}")
            x, y, width, height = entry["bbox"]
            found[self.images.stems[entry["image_id"]]].append(
                Found(
                    (x, y, x + width, y + height),
                    int(entry["category_id"]),
                    entry["score"],
                    None if self.one_hot else entry[self.vectors],
                    number,
                )
            )
        return dict(found)

    def _fault_of(self, entry: Any) -> str:
        """Return what is wrong with an entry; empty if nothing is."""
        if not isinstance(entry, dict):
            return f"expected an object, got a {type(entry).__name__}"
        for field in ("image_id", "category_id", "bbox", "score"):
            if field not in entry:
                return f"'{field}' is missing"
        for field, known in (
            ("image_id", self.images.stems),
            ("category_id", self.images.categories),
        ):
            value = entry[field]
            if type(value) not in (int, float, str) or value not in known:
                few = ", ".join(map(shown, list(known)[:5]))
                return (
                    f"{field} {shown(value)} is none of the annotations' {len(known)} ids ({few}"
                    f"{', ...' if len(known) > 5 else ''})"
                )
        box, score = entry["bbox"], entry["score"]
        if not _is_finite(box) or len(box) != 4:
            return f"bbox must be four finite numbers x, y, width, height, got {shown(box)}"
        if not _is_finite([score]):
            return f"score must be a finite number, got {shown(score)}"
        return self._vector_fault(entry)

    def _vector_fault(self, entry: Mapping[str, Any]) -> str:
        vector = entry.get(self.vectors)
        if self.one_hot:
            return "" if vector is None else f"has a class vector '{self.vectors}': not --one-hot"
        if vector is None:
            return (
                f"no class vector '{self.vectors}'; name its field with --vectors, or accept "
                f"made-up vectors with --one-hot"
            )
        if not _is_finite(vector) or not vector:
            return f"'{self.vectors}' must be finite numbers, got {shown(vector)}"
        return ""


def _is_finite(values: Any) -> bool:
    is_numbers = isinstance(values, list) and kinds(values) <= NUMBERS
    return is_numbers and all(-_LARGEST < value < _LARGEST for value in values)
