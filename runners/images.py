"""Suites of images: which files belong to them and under which names their results go."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from runners.fingerprints import FileFingerprint, fingerprint_file
from runners.folder_names import check_folder_name
from runners.image_reading import MAX_PIXELS, read_image
from scoring.errors import ConfigError, DataError
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
) -> dict[str, tuple[ImageRef, ...]]:
    """Return the images of every suite, by the suite's name.

    Args:
        source: A folder, or suite names with a folder each.
        names: How results are named: by the file's stem, or by its whole path below the suite's
            folder, joined with two underscores (`cam_front__0001`; `a__jpg` beside `a__png`).
        suites: A folder is one suite of its own name, or each first-level folder in it is one.
            Has no meaning when the suites are named.

    Returns:
        Suites in the order given (folders: by name), images by relative path.

    Raises:
        DataError: A folder is missing or holds no image.
        ConfigError: Two images of a suite share an output name, a suite's name cannot be a
            folder's name or is there twice, or images lie beside the folders of suites.
    """
    if suites not in ("one", "folders"):
        raise ConfigError(f"--suites: expected 'one' or 'folders', got {suites!r}")
    if isinstance(source, Mapping):
        roots = {name: Path(path) for name, path in source.items()}
        if not roots:
            raise ConfigError("suites: expected at least one suite name with its folder, got none")
    elif suites == "folders":
        roots = _first_level_folders(Path(source))
    else:
        root = _existing_folder(Path(source))
        roots = {root.resolve().name or "images": root}
    checked = {name: check_folder_name(name, "suite") for name in roots}
    folder_names = list(checked.values())
    for group in equal_names(folder_names):
        raise ConfigError(
            f"suites: expected names that differ by more than case, got "
            f"{' and '.join(repr(folder_names[i]) for i in group)}; rename one"
        )
    return {checked[name]: list_images(root, checked[name], names) for name, root in roots.items()}


def list_images(root: Path, suite: str, names: Names = "stem") -> tuple[ImageRef, ...]:
    """Return the images in a folder and all folders below it, by relative path.

    Hidden files and folders (a leading dot) are skipped, and so is what has no image suffix.

    Args:
        root: The suite's folder.
        suite: Name of the suite.
        names: As in `list_suites`.

    Raises:
        DataError: The folder is missing or holds no image.
        ConfigError: Two images share an output name, also when only case or Unicode
            normalisation tells them apart.
    """
    if names not in ("stem", "path"):
        raise ConfigError(f"--names: expected 'stem' or 'path', got {names!r}")
    files = sorted(
        (unicodedata.normalize("NFC", path.relative_to(root).as_posix()), path)
        for path in _walk(_existing_folder(root), ())
        if path.suffix.lower() in IMAGE_SUFFIXES
    )
    if not files:
        raise DataError(
            f"suite '{suite}': expected images ({' '.join(sorted(IMAGE_SUFFIXES))}) under "
            f"'{root}', found none"
        )
    stems = output_names([relative for relative, _ in files], names)
    refs = tuple(
        ImageRef(suite, relative, stem, path)
        for (relative, path), stem in zip(files, stems, strict=True)
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
    entries = [e for e in sorted(_existing_folder(root).iterdir()) if not e.name.startswith(".")]
    folders = {entry.name: entry for entry in entries if entry.is_dir()}
    loose = [e.name for e in entries if not e.is_dir() and e.suffix.lower() in IMAGE_SUFFIXES]
    if loose:
        raise ConfigError(
            f"--suites folders: expected only folders in '{root}', got the image '{loose[0]}'"
            f"{f' and {len(loose) - 1} more' if len(loose) > 1 else ''} beside them; move them "
            f"into a folder"
        )
    if not folders:
        raise DataError(f"--suites folders: expected folders of images in '{root}', found none")
    return folders


def _existing_folder(root: Path) -> Path:
    if not root.is_dir():
        what = "a file" if root.exists() else "nothing"
        raise DataError(f"images: expected a folder at '{root}', found {what}")
    return root
