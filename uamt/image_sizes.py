"""Images and their sizes, for outputs that are normalised by them."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from runners.image_files import upright_size
from runners.image_sets import ImageSet
from scoring.errors import ConfigError, DataError
from scoring.exchange_coco import read_coco_images
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
        return SizedImages(coco.files, coco.sizes)
    found: dict[str, tuple[float, float]] = {}
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read as text ({error})") from error
    for number, row in enumerate(csv.reader(text.splitlines()), start=1):
        if not row or (number == 1 and row[1:] == ["width", "height"]):
            continue
        try:
            name, width, height = row[0].strip(), float(row[1]), float(row[2])
        except (IndexError, ValueError):
            width = height = 0.0
            name = ""
        if not name or not (0 < width < 1e9 and 0 < height < 1e9):
            raise DataError(
                f"{path}: line {number}: expected name,width,height in pixels, got {','.join(row)}"
            )
        if name in found:
            raise DataError(f"{path}: line {number}: image '{name}' is there twice")
        found[name] = (width, height)
    if not found:
        raise DataError(f"{path}: expected lines of name,width,height, found none")
    return _named(found, str(path), names)


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
