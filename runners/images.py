"""Suites of images: which files belong to them and under which names their results go."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from runners.fingerprints import FileFingerprint, fingerprint_file
from runners.image_files import MAX_PIXELS
from runners.image_lists import Listed
from runners.image_reading import read_image
from runners.image_sets import ImageSet
from scoring.errors import ConfigError
from scoring.folder_names import check_folder_name
from scoring.stems import IMAGE_SUFFIXES, Names, equal_names, output_names, output_stem

__all__ = [
    "IMAGE_SUFFIXES",
    "MAX_PIXELS",
    "ImageRef",
    "list_images",
    "list_suites",
    "output_stem",
    "read_image",
]


@dataclass(frozen=True, slots=True)
class ImageRef:
    """One image of a suite.

    Args:
        suite: Name of the suite.
        relative_path: Path below the suite's folder, `/` between the parts, NFC; the key of the
            image in a campaign.
        stem: Name under which its results are written.
        path: Where the file is.
    """

    suite: str
    relative_path: str
    stem: str
    path: Path

    def fingerprint(self) -> FileFingerprint:
        """Return size and sha256 of the file."""
        return fingerprint_file(self.path)


def list_suites(
    source: str | Path | Mapping[str, str | Path],
    *,
    names: Names = "stem",
    suites: Literal["one", "folders"] = "one",
    image_root: str | Path | None = None,
) -> dict[str, tuple[ImageRef, ...]]:
    """Return the images of every suite, by the suite's name.

    Args:
        source: A folder, a COCO file, a YOLO or VOC data set or a list (see
            `runners.image_sets.ImageSet`), or suite names with a source each.
        names: How results are named: by the file's stem, or by its whole path below the suite's
            folder, joined with two underscores (`cam_front__0001`; `a__jpg` beside `a__png`).
        suites: The source is one suite of its own name, or each first-level folder in it (YOLO:
            each split) is one. Has no meaning when the suites are named.
        image_root: Folder of the images that a file lists; None means the file's own.

    Returns:
        Suites in the order given (folders: by name), images by relative path.

    Raises:
        DataError: A folder or file is missing or broken, holds no image, or lists one outside of
            its folder.
        ConfigError: Two images of a suite share an output name, a suite's name cannot be a
            folder's name or is there twice, or images lie beside the folders of suites.
    """
    if suites not in ("one", "folders"):
        raise ConfigError(f"--suites: expected 'one' or 'folders', got {suites!r}")
    if names not in ("stem", "path"):
        raise ConfigError(f"--names: expected 'stem' or 'path', got {names!r}")
    root = None if image_root is None else Path(image_root)
    if isinstance(source, Mapping):
        sets = {name: ImageSet(Path(path), root) for name, path in source.items()}
        if not sets:
            raise ConfigError("suites: expected at least one suite name with its folder, got none")
        _check_suite_names(sets)
        listed = {name: images.images() for name, images in sets.items()}
    else:
        one = ImageSet(Path(source), root)
        listed = one.suites() if suites == "folders" else {one.name: one.images()}
        _check_suite_names(listed)
    return {
        (checked := check_folder_name(name, "suite")): _named(images, checked, names)
        for name, images in listed.items()
    }


def _check_suite_names(suites: Iterable[str]) -> None:
    folder_names = [check_folder_name(name, "suite") for name in suites]
    for group in equal_names(folder_names):
        raise ConfigError(
            f"suites: expected names that differ by more than case, got "
            f"{' and '.join(repr(folder_names[i]) for i in group)}; rename one"
        )


def list_images(
    source: Path, suite: str, names: Names = "stem", image_root: Path | None = None
) -> tuple[ImageRef, ...]:
    """Return the images of one suite, by relative path.

    Args:
        source: As in `list_suites`.
        suite: Name of the suite.
        names: As in `list_suites`.
        image_root: As in `list_suites`.

    Raises:
        DataError: As `list_suites`.
        ConfigError: Two images share an output name, also when only case or Unicode
            normalisation tells them apart.
    """
    return _named(ImageSet(source, image_root).images(), suite, names)


def _named(images: Sequence[Listed], suite: str, names: Names) -> tuple[ImageRef, ...]:
    stems = output_names([image.relative_path for image in images], names)
    refs = tuple(
        ImageRef(suite, image.relative_path, stem, image.path)
        for image, stem in zip(images, stems, strict=True)
    )
    twins = equal_names(stems)
    if twins:
        raise ConfigError(_collision_message(suite, refs, twins, names))
    return refs


def _collision_message(
    suite: str, refs: Sequence[ImageRef], twins: list[list[int]], names: Names
) -> str:
    shown = [" = ".join(f"'{refs[i].relative_path}'" for i in group) for group in twins]
    by_path = output_names([ref.relative_path for ref in refs], "path")
    if names == "stem" and not equal_names(by_path):
        advice = f"use --names path ('{by_path[twins[0][0]]}')"
    else:
        advice = "rename one of each"
    return (
        f"suite '{suite}': expected one output name per image, got the same for "
        f"{'; '.join(shown[:10])}{f' and {len(shown) - 10} more' if len(shown) > 10 else ''}; "
        f"{advice}"
    )
