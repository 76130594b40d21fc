"""Stems: the names under which the results of images are written."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Literal

IMAGE_SUFFIXES = frozenset(
    {".bmp", ".gif", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp"}
)

Names = Literal["stem", "path"]


def output_stem(name: str) -> str:
    """Return the name without its suffix if that is an image suffix; stems may hold dots.

    Example:
        >>> output_stem("image_086_png.rf.795f.JPG"), output_stem("image_086_png.rf.795f")
        ('image_086_png.rf.795f', 'image_086_png.rf.795f')
    """
    suffix = PurePosixPath(name).suffix
    return name[: -len(suffix)] if suffix.lower() in IMAGE_SUFFIXES else name


def output_names(relative_paths: Sequence[str], names: Names) -> list[str]:
    """Return the name under which each image's results are written.

    Args:
        relative_paths: Images, `/` between folders.
        names: By the file's stem, or by its whole path, joined with two underscores.

    Example:
        >>> output_names(["front/1.jpg", "rear/2.jpg"], "path")
        ['front__1', 'rear__2']
    """
    if names == "stem":
        return [output_stem(PurePosixPath(path).name) for path in relative_paths]
    joined = ["__".join(PurePosixPath(path).parts) for path in relative_paths]
    stems = [output_stem(name) for name in joined]
    # Files that differ in their suffix alone keep it: a.jpg and a.png are a__jpg and a__png.
    for i in (i for group in equal_names(stems) for i in group):
        stems[i] += joined[i][len(stems[i]) :].replace(".", "__")
    return stems


def equal_names(names: Sequence[str]) -> list[list[int]]:
    """Return groups of positions whose names are one folder on some file system.

    Example:
        >>> equal_names(["a", "b", "A"])
        [[0, 2]]
    """
    groups: dict[str, list[int]] = defaultdict(list)
    for i, name in enumerate(names):
        # Case folding can undo a composition, so NFC comes last.
        folded = unicodedata.normalize("NFC", name).casefold()
        groups[unicodedata.normalize("NFC", folded)].append(i)
    return [group for group in groups.values() if len(group) > 1]
