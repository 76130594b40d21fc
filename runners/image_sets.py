"""Image sets: the images that a folder, a COCO file, a YOLO or a Pascal VOC data set holds."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from runners.image_lists import Listed, coco_images, listed_images, yolo_splits
from scoring.errors import ConfigError, DataError
from scoring.image_names import check_file_name
from scoring.stems import IMAGE_SUFFIXES

_VOC_IMAGES = "JPEGImages"
_YOLO_FILES = ("data.yaml", "data.yml")
_KINDS = "a folder of images, a COCO .json, a YOLO .yaml, or a .txt with an image a line"


@dataclass(frozen=True, slots=True)
class ImageSet:
    """A source of images, known by its kind.

    * A folder: all images in it and below it. Of a Pascal VOC folder (`JPEGImages`) and a YOLO
      folder (`images` beside `labels`) only those folders count; one with a `data.yaml` is what
      that file says.
    * A COCO file (`.json`): what `images` lists, by `file_name`.
    * A YOLO data set (`.yaml`): its splits `train`, `val` and `test`.
    * A list (`.txt`): a path a line; below VOC's `ImageSets`, an image id a line.

    Args:
        source: The folder or file.
        image_root: Folder below which a file's images lie; None means the file's own folder
            (VOC: `JPEGImages`).

    Raises:
        DataError: There is no such folder or file, or it is of no such kind.
        ConfigError: A folder was given an image root.
    """

    source: Path
    image_root: Path | None = None

    def __post_init__(self) -> None:
        if not self.source.exists():
            raise DataError(f"images: expected {_KINDS} at '{self.source}', found nothing")
        if not self.source.is_dir() and self._suffix not in (".json", ".yaml", ".yml", ".txt"):
            raise DataError(f"images: expected {_KINDS} at '{self.source}', found a file")
        if self.image_root is None:
            return
        if self.source.is_dir() and self._yolo_file is None:
            raise ConfigError(
                f"--image-root: expected a file that lists images, '{self.source}' is a folder"
            )
        if not self.image_root.is_dir():
            raise DataError(f"--image-root: expected a folder at '{self.image_root}', found none")

    @property
    def name(self) -> str:
        """What a suite of it is called."""
        path = self.source.resolve()
        if path.is_dir():
            return path.name or "images"
        return path.parent.name or "images" if self._yolo_file else path.stem

    @property
    def is_plain_folder(self) -> bool:
        """Whether it is a folder of which all images count, and no data set."""
        return self.source.is_dir() and self._yolo_file is None and self._folder == self.source

    @property
    def _suffix(self) -> str:
        return self.source.suffix.lower()

    @property
    def _yolo_file(self) -> Path | None:
        if not self.source.is_dir():
            return self.source if self._suffix in (".yaml", ".yml") else None
        found = (self.source / name for name in _YOLO_FILES)
        return next((path for path in found if path.is_file()), None)

    @property
    def _folder(self) -> Path:
        """The folder of the images of a folder."""
        if (self.source / _VOC_IMAGES).is_dir():
            return self.source / _VOC_IMAGES
        if (self.source / "images").is_dir() and (self.source / "labels").is_dir():
            return self.source / "images"
        return self.source

    def images(self) -> list[Listed]:
        """Return all its images, by relative path.

        Raises:
            DataError: It holds none, a file is broken, a listed image leads out of its folder, or
                a file's name is no text.
        """
        yolo = self._yolo_file
        if yolo is not None:
            splits = yolo_splits(yolo, self.image_root, images_below)
            # Splits may share images.
            found = list({image: None for images in splits.values() for image in images})
        elif self.source.is_dir():
            found = images_below(self._folder)
        elif self._suffix == ".json":
            found = coco_images(self.source, self.image_root)
        else:
            found = listed_images(self.source, self.image_root)
        if not found:
            raise DataError(
                f"images: expected images ({' '.join(sorted(IMAGE_SUFFIXES))}) under "
                f"'{self.source}', found none"
            )
        return sorted(found)

    def suites(self) -> dict[str, list[Listed]]:
        """Return its images by the first-level folder or the split that they are in.

        Raises:
            ConfigError: It has neither, or images lie beside the folders.
            DataError: As `images`.
        """
        yolo = self._yolo_file
        if yolo is not None:
            splits = yolo_splits(yolo, self.image_root, images_below)
            return {name: sorted(images) for name, images in splits.items()}
        if not self.source.is_dir() or self._folder.name == _VOC_IMAGES:
            raise ConfigError(
                f"--suites folders: expected a folder of folders or a YOLO data set, got "
                f"'{self.source}'; name each suite with --suites NAME=SOURCE"
            )
        return {
            name: ImageSet(folder).images()
            for name, folder in _first_level_folders(self._folder).items()
        }


def images_below(root: Path) -> list[Listed]:
    """Return the images in a folder and all folders below it, by relative path.

    Hidden files and folders (a leading dot) are skipped, and so is what has no image suffix.

    Raises:
        DataError: The folder cannot be listed, or the name of a file is no text.
    """
    return sorted(
        Listed(check_file_name(path.relative_to(root).as_posix()), path)
        for path in _walk(root, ())
        if path.suffix.lower() in IMAGE_SUFFIXES
    )


def _walk(folder: Path, above: tuple[str, ...]) -> Iterator[Path]:
    real = os.path.realpath(folder)
    if real in above:
        return  # a link to a folder that we are in
    try:
        entries = sorted(folder.iterdir())
    except OSError as error:
        raise DataError(f"images: expected to list '{folder}', got: {error.strerror}") from error
    for entry in entries:
        if entry.name.startswith("."):
            continue
        if entry.is_dir():
            yield from _walk(entry, (*above, real))
        else:
            yield entry


def _first_level_folders(root: Path) -> dict[str, Path]:
    entries = [e for e in sorted(root.iterdir()) if not e.name.startswith(".")]
    folders = {entry.name: entry for entry in entries if entry.is_dir()}
    loose = [e.name for e in entries if not e.is_dir() and e.suffix.lower() in IMAGE_SUFFIXES]
    if loose:
        place = "beside the folders" if folders else "and no folder"
        them = "them" if len(loose) > 1 else "it"
        raise ConfigError(
            f"--suites folders: expected a folder for each suite in '{root}', got the image "
            f"'{loose[0]}'{f' and {len(loose) - 1} more' if len(loose) > 1 else ''} {place}; leave "
            f"out --suites folders, and all of '{root}' is one suite, or move {them} into a folder"
        )
    if not folders:
        raise DataError(f"--suites folders: expected folders of images in '{root}', found none")
    return folders
