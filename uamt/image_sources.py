"""Image sources: from which folders and files a run took its images, kept beside its results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scoring.errors import UamtError
from scoring.files import write_atomic
from scoring.limits import MAX_EXPERIMENT_BYTES
from scoring.reading import read_text
from uamt.toml_text import parse_toml

if TYPE_CHECKING:
    from runners.images import ImageRef


def save_sources(
    root: Path,
    model: str,
    images: str | Path | Mapping[str, str | Path],
    suites: str,
    image_root: str | Path | None,
) -> None:
    """Write where the images of a run from Python lie, so that a report finds them.

    Runs by command save their whole configuration (`uamt.configuration.save`), which says it too.

    Args:
        root: The experiment's folder.
        model: The model's folder name.
        images: As `uamt.run` takes them.
        suites: `one` or `folders`.
        image_root: Folder of the images that a file lists.
    """
    import tomli_w

    from runners.locks import folder_locked

    sources: dict[str, Any] = {}
    if image_root is not None:
        sources["image_root"] = str(image_root)
    if isinstance(images, Mapping):
        sources["suites"] = {name: str(source) for name, source in images.items()}
    else:
        sources |= {"images": str(images), "suites": suites}
    with folder_locked(root):
        write_atomic(_path(root, model), tomli_w.dumps(sources).encode())


def merged_note(source: Path, images: Sequence[ImageRef]) -> str | None:
    """Return what a person may not have meant whose folders of images are one suite.

    Args:
        source: As `--images` names it.
        images: The images of the one suite that it is.

    Returns:
        None where the source is a data set or a file, where images lie in it beside its folders,
        or where one folder holds them all.
    """
    from runners.image_sets import ImageSet

    parts = [image.relative_path.split("/") for image in images]
    folders = sorted({part[0] for part in parts})
    if len(folders) < 2 or any(len(part) < 2 for part in parts):
        return None
    if not ImageSet(source).is_plain_folder:
        return None
    shown = f"{', '.join(folders[:5])}{', ...' if len(folders) > 5 else ''}"
    return (
        f"the images of '{source}' lie in {len(folders)} folders ({shown}), and are taken for one "
        f"suite, '{images[0].suite}'; with --suites folders each folder is a suite"
    )


def saved_sources(root: Path, model: str, suite: str) -> Iterator[Path]:
    """Yield the sources of a suite that a run saved: by command, or from Python."""
    for path in (root / f"experiment_{model}.toml", _path(root, model)):
        yield from _named_in(path, suite)


def has_sources(root: Path, model: str, suite: str) -> bool:
    """Return whether a suite's images may be found without being asked for."""
    from runners.builtin import suites as builtin_suites

    return any(True for _ in saved_sources(root, model, suite)) or suite in builtin_suites()


def _path(root: Path, model: str) -> Path:
    return root / f"images_{model}.toml"


def _named_in(path: Path, suite: str) -> Iterator[Path]:
    try:
        saved = parse_toml(read_text(path, MAX_EXPERIMENT_BYTES, "a saved file"), str(path))
    except (FileNotFoundError, UamtError):
        return  # written by hand or not at all: nothing depends on it
    if isinstance(saved.get("image_root"), str):
        yield Path(saved["image_root"])
    suites, images = saved.get("suites"), saved.get("images")
    if isinstance(suites, dict) and isinstance(suites.get(suite), str):
        yield Path(suites[suite])
    elif isinstance(images, str):
        if suites == "folders":
            yield Path(images) / suite
        yield Path(images)
