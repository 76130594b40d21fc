"""Images and their sizes, for outputs that are normalised by them."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from runners.image_files import upright_size
from runners.image_sets import ImageSet
from scoring.errors import ConfigError, DataError
from scoring.exchange_coco import read_coco_images
from scoring.faults import shown
from scoring.image_names import check_image_name
from scoring.limits import MAX_LIST_BYTES, MAX_NAME
from scoring.reading import read_text
from scoring.stems import Names, equal_names, output_names


@dataclass(frozen=True, slots=True)
class SizedImages:
    """Images with their sizes.

    Args:
        files: stem -> file name.
        sizes: stem -> width and height in pixels.
    """

    files: Mapping[str, str]
    sizes: Mapping[str, tuple[float, float]]


def sizes_of_images(source: Path, names: Names = "stem") -> SizedImages:
    """Return the images of a folder or another source, upright as detectors see them.

    Args:
        source: As `uamt run --images` takes it.
        names: Results are named by the file's stem, or by its whole path.

    Raises:
        DataError: There is no image, or one cannot be read.
        ConfigError: Two images share an output name.
    """
    found: dict[str, tuple[float, float]] = {}
    for image in ImageSet(source).images():
        found[image.relative_path] = upright_size(image.path)
    return _named(found, str(source), names)


def sizes_of_file(path: Path, names: Names = "stem") -> SizedImages:
    """Return the images that a file lists: COCO JSON with sizes, or CSV of name, width, height.

    Raises:
        DataError: The file is missing or broken, or a size is no positive number.
        ConfigError: Two images share an output name.
    """
    if path.suffix.lower() == ".json":
        coco = read_coco_images(path, names)
        for stem, file in coco.files.items():
            if stem not in coco.sizes:
                raise DataError(
                    f"{path}: image {shown(file)}: expected width and height in pixels, found none"
                )
        return SizedImages(coco.files, coco.sizes)
    found: dict[str, tuple[float, float]] = {}
    try:
        text = read_text(path, MAX_LIST_BYTES, "a CSV of name,width,height", may_be_pipe=True)
    except FileNotFoundError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from error
    rows = csv.reader(text.splitlines(), strict=True)
    try:
        for number, row in enumerate(rows, start=1):
            if not row or (number == 1 and row[1:] == ["width", "height"]):
                continue
            name, size = _sized(row)
            if not name:
                raise DataError(
                    f"{path}: line {number}: expected name,width,height in pixels, got "
                    f"{shown(','.join(row))}"
                )
            name = check_image_name(name, f"{path}: line {number}")
            if name in found:
                raise DataError(f"{path}: line {number}: image {shown(name)} is there twice")
            found[name] = size
    except csv.Error as error:
        raise DataError(f"{path}: line {rows.line_num}: no valid CSV ({error})") from error
    if not found:
        raise DataError(f"{path}: expected lines of name,width,height, found none")
    return _named(found, str(path), names)


def _sized(row: Sequence[str]) -> tuple[str, tuple[float, float]]:
    """Return an image's name and size; an empty name if the row is not as it should be."""
    try:
        name, width, height = row[0].strip(), float(row[1]), float(row[2])
    except (IndexError, ValueError):
        return "", (0, 0)
    is_size = 0 < width < 1e9 and 0 < height < 1e9
    return name if is_size and len(name) <= MAX_NAME else "", (width, height)


def _named(found: Mapping[str, tuple[float, float]], where: str, names: Names) -> SizedImages:
    files = list(found)
    stems = output_names(files, names)
    twins = equal_names(stems)
    if twins:
        pair = " and ".join(f"'{files[i]}'" for i in twins[0])
        raise ConfigError(
            f"{where}: expected one output name per image, got '{stems[twins[0][0]]}' for {pair}; "
            f"{'use --names path' if names == 'stem' else 'rename one of each'}"
        )
    return SizedImages(
        dict(zip(stems, files, strict=True)), dict(zip(stems, found.values(), strict=True))
    )
