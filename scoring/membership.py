"""Membership: which images a suite holds, from a folder, a list of names, or a study's pickle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath, PureWindowsPath

from scoring.errors import ConfigError, DataError
from scoring.faults import shown
from scoring.folder_names import check_folder_name
from scoring.json_text import read_record
from scoring.limits import MAX_LIST_BYTES, MAX_NAME
from scoring.reading import read_text
from scoring.safe_pickle import read_paths
from scoring.stems import IMAGE_SUFFIXES, output_names

_PICKLES = frozenset({".pkl", ".pickle"})
_LIST = "a list of image names"


@dataclass(frozen=True, slots=True)
class Members:
    """The images of a suite, as somebody listed them.

    Args:
        suite: The suite's name.
        images: File names or paths, `/` between folders.
        source: Where the list stands; used in messages.

    Raises:
        DataError: The list is empty.

    Example:
        >>> "a" in Members("orig", ("photos/a.jpg",), "list.txt")
        True
    """

    suite: str
    images: tuple[str, ...]
    source: str
    _stems: frozenset[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.images:
            raise DataError(f"{self.source}: expected the images of suite '{self.suite}', got none")
        # Results are named by the file's stem, or by the whole path where the run said so.
        stems = {*output_names(self.images, "stem"), *output_names(self.images, "path")}
        object.__setattr__(self, "_stems", frozenset(stems))

    def __contains__(self, stem: str) -> bool:
        return stem in self._stems


def read_members(suite: str, path: Path) -> Members:
    """Return the images of a suite.

    Args:
        suite: The suite's name.
        path: A folder of images; a pickled list of paths or names (`.pkl`); a JSON list of names
            (`.json`); or any other file with one name or path a line.

    Raises:
        DataError: The file is not there, is broken, or lists nothing.
    """
    if path.is_dir():
        files = sorted(p for p in path.rglob("*") if p.suffix.lower() in IMAGE_SUFFIXES)
        names = [file.relative_to(path).as_posix() for file in files]
    elif path.suffix.lower() in _PICKLES:
        names = [str(listed) for listed in read_paths(path)]
    else:
        names = _read_text(path)
    return Members(suite, tuple(_posix(name) for name in names), str(path))


def _posix(name: str) -> str:
    """Return a name or path with `/` between folders, also where Windows wrote it."""
    return (PureWindowsPath(name) if "\\" in name else PurePosixPath(name)).as_posix()


def _read_text(path: Path) -> list[str]:
    try:
        if path.suffix.lower() == ".json":
            names = read_record(path, MAX_LIST_BYTES, _LIST, may_be_pipe=True)
        else:
            text = read_text(path, MAX_LIST_BYTES, _LIST, may_be_pipe=True)
            names = [line.strip() for line in text.splitlines() if line.strip()]
    except FileNotFoundError as error:
        raise DataError(f"{path}: cannot be opened ({error.strerror})") from error
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise DataError(f"{path}: expected a JSON list of image names")
    for name in names:
        if len(name) > MAX_NAME:
            raise DataError(
                f"{path}: expected names of at most {MAX_NAME:,} characters, got {shown(name)}"
            )
    return names


def parse_members(options: Sequence[str]) -> list[Members]:
    """Return the suites that options of the form NAME=FILE name, in their order.

    Raises:
        ConfigError: An option has another form, or a name comes twice.
        DataError: A file cannot be read.
    """
    suites: dict[str, Members] = {}
    for option in options:
        suite, equals, file = option.partition("=")
        if not equals or not suite or not file:
            raise ConfigError(f"--suite: expected NAME=FILE, got {option!r}")
        if suite in suites:
            raise ConfigError(f"--suite: '{suite}' is given twice")
        check_folder_name(suite, "--suite")
        suites[suite] = read_members(suite, Path(file))
    return list(suites.values())
