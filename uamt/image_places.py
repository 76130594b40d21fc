"""Image places: where the pictures of an experiment lie, which its results only name."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageOps

from runners.image_files import opened, size_upright
from scoring.errors import DataError
from scoring.stems import IMAGE_SUFFIXES, output_names
from uamt.image_sources import saved_sources


@dataclass(frozen=True, slots=True)
class FoundImage:
    """A file that holds an image of an experiment.

    Args:
        path: The file.
        is_same: Whether its bytes are those that were run; None where the manifest does not tell.
    """

    path: Path
    is_same: bool | None


class ImagePlaces:
    """Where the images of one model and suite are.

    They are looked for in the folder that the caller names, in those that the run's saved
    configuration names (from the current folder, and from those around the experiment), and among
    the built-in suites, and known by their bytes where the manifest holds their sha256.

    Args:
        root: The experiment's folder.
        manifest: As `read_manifest` returns it.
        model: The model's folder name.
        suite: The suite's folder name.
        folder: Named by the caller: the suite's folder or file, or the folder that holds it; None
            if not.
    """

    def __init__(
        self,
        root: Path,
        manifest: Mapping[str, Any],
        model: str,
        suite: str,
        folder: Path | None = None,
    ) -> None:
        suites = manifest["models"].get(model, {}).get("suites", {})
        self._known: Mapping[str, tuple[str, str | None]] = {
            image["stem"]: (path, image.get("sha256"))
            for path, image in suites.get(suite, {}).items()
        }
        self._where = f"suite '{suite}' of '{model}'"
        self._is_named = folder is not None
        sources = [folder] if folder else saved_sources(root, model, suite)
        self._sources = list(dict.fromkeys(sources))
        places = _named(folder, suite) if folder else _saved(root, self._sources, suite)
        there: dict[Path, Path] = {}
        for place in places:
            if place.is_dir():
                there.setdefault(place.resolve(), place)
        self._folders = list(there.values())
        self._listed: dict[Path, dict[str, Path]] = {}

    def find(self, stem: str) -> FoundImage:
        """Return the file of an image.

        A file whose bytes are others is returned only if the caller named its folder.

        Raises:
            DataError: It is not there.
        """
        relative, sha256 = self._known.get(stem, (None, None))
        other: FoundImage | None = None
        for folder in self._folders:
            path = folder / relative if relative else self._files_of(folder).get(stem)
            if path is None or not path.is_file():
                continue
            found = FoundImage(path, None if sha256 is None else _sha256(path) == sha256)
            if found.is_same is not False:
                return found
            other = other or found
        if other is not None and self._is_named:
            return other
        raise DataError(
            f"{self._where}: the picture of image '{stem}' cannot be shown, for "
            f"{self._why_missing(relative or stem, other)}; name the folder of the pictures with "
            f"--images FOLDER"
        )

    def _why_missing(self, name: str, other: FoundImage | None) -> str:
        if other is not None:
            return f"'{other.path}' is another picture than was run"
        asked = " or ".join(f"'{place}'" for place in self._folders or self._sources)
        if self._folders:
            return f"'{name}' is not in {asked}"
        if self._sources:
            return f"nothing lies at {asked}"
        return "nothing says where the images of this suite lie"

    def check(self, stem: str, path: Path) -> FoundImage:
        """Return a file that the caller takes for an image's, and whether it is the one."""
        _, sha256 = self._known.get(stem, (None, None))
        return FoundImage(path, None if sha256 is None else _sha256(path) == sha256)

    def _files_of(self, folder: Path) -> dict[str, Path]:
        """Return the images of a folder by the names that results may have, shallow ones first."""
        if folder not in self._listed:
            paths = [p for p in sorted(folder.rglob("*")) if p.suffix.lower() in IMAGE_SUFFIXES]
            relative = [p.relative_to(folder).as_posix() for p in paths]
            by_path = dict(zip(output_names(relative, "path"), paths, strict=True))
            by_stem = dict(zip(output_names(relative, "stem"), paths, strict=True))
            self._listed[folder] = {**by_stem, **by_path}
        return self._listed[folder]


def _named(source: Path, suite: str) -> Iterator[Path]:
    yield source / suite
    yield from _folders_of(source)


def _folders_of(source: Path) -> Iterator[Path]:
    """Yield where the images of a source may lie (docs/images.md); their bytes tell which it is."""
    yield source
    for folder in ("images", "JPEGImages"):
        yield source / folder
    if source.is_file():
        yield source.parent
        yield source.parent.parent
        yield source.parents[min(2, len(source.parents) - 1)] / "JPEGImages"


def _saved(root: Path, sources: Sequence[Path], suite: str) -> Iterator[Path]:
    for source in sources:
        for base in (Path(), root.resolve().parent, root):
            yield from _folders_of(base / source)
    from runners.builtin import suites as builtin_suites

    if suite in builtin_suites():
        yield builtin_suites()[suite]


def _sha256(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise DataError(f"image '{path}': cannot be read ({error.strerror})") from error


def open_upright(path: Path) -> Image.Image:
    """Return a picture as RGB of 8 bits, upright, as the detector saw it, transparency over white.

    Raises:
        DataError: It cannot be read.
    """
    return open_small(path, None)[0]


def open_small(path: Path, side_px: int | None) -> tuple[Image.Image, tuple[int, int]]:
    """Return a picture as `open_upright` does, scaled down, and its full width and height.

    Args:
        path: The file.
        side_px: Longest side of what is returned, if the picture is larger; None keeps its size.

    Raises:
        DataError: It cannot be read.
    """
    with opened(path) as picture:
        full = size_upright(picture)
        if side_px is not None:
            picture.draft("RGB", (2 * side_px, 2 * side_px))  # JPEG: decode no more than that
        # Turned before it is scaled: the orientation may swap the sides.
        image = _to_rgb(ImageOps.exif_transpose(picture))
    if side_px is not None:
        image.thumbnail((side_px, side_px), Image.Resampling.LANCZOS)
    return image, full


def _to_rgb(image: Image.Image) -> Image.Image:
    if image.mode.startswith("I"):
        grey = np.asarray(image).astype(np.int64) // 257
        return Image.fromarray(np.clip(grey, 0, 255).astype(np.uint8)).convert("RGB")
    if image.has_transparency_data:
        layer = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", layer.size, "white"), layer)
    return image.convert("RGB")
