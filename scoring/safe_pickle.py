"""Foreign pickles as data: lists of paths and strings, and nothing else, on any system."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath
from typing import BinaryIO, Never

from scoring.errors import DataError

_MODULES = frozenset({"pathlib", "pathlib._local"})
_PATHS: dict[str, type[PurePath]] = {
    "PosixPath": PurePosixPath,
    "PurePosixPath": PurePosixPath,
    "WindowsPath": PureWindowsPath,
    "PureWindowsPath": PureWindowsPath,
    "Path": PurePosixPath,
    "PurePath": PurePosixPath,
}

# What the unpickler raises on bytes that are no pickle, or one that misuses what it names.
_BROKEN = (
    pickle.UnpicklingError,
    EOFError,
    ValueError,
    TypeError,
    AttributeError,
    LookupError,
    OverflowError,
    MemoryError,
    ImportError,
)


class _PathMaker:
    """Stands in for a path class: calling it gives the path's text.

    It takes no attributes, and neither does a text: a pickle has nothing that it could change.
    """

    __slots__ = ("_make",)
    _make: type[PurePath]

    def __init__(self, make: type[PurePath]) -> None:
        object.__setattr__(self, "_make", make)

    def __setattr__(self, name: str, value: object) -> Never:
        raise AttributeError(f"a pickle tried to set '{name}'")

    def __call__(self, *parts: str) -> str:
        if not all(isinstance(part, str) for part in parts):
            raise TypeError("the parts of a path must be strings")
        return self._make(*parts).as_posix()


class _RefusedError(Exception):
    """The pickle names something that is no path class."""


class _PathUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Callable[..., str]:
        if module not in _MODULES or name not in _PATHS:
            raise _RefusedError(f"{module}.{name}")
        return _PathMaker(_PATHS[name])

    def persistent_load(self, pid: object) -> Never:
        raise _RefusedError(f"persistent object {pid!r}")


def load_paths(file: BinaryIO, where: str) -> list[PurePosixPath]:
    """Return the paths of a pickled list of pathlib paths or strings.

    No class but pathlib's path classes is ever looked up, so reading runs no foreign code.

    Args:
        file: An open binary file.
        where: What messages call it.

    Raises:
        DataError: The pickle names anything else, holds no list of paths or strings, or is broken.

    Example:
        >>> import io
        >>> content = pickle.dumps([PureWindowsPath("C:/photos/a.png"), "b.png"])
        >>> [path.name for path in load_paths(io.BytesIO(content), "names.pkl")]
        ['a.png', 'b.png']
    """
    try:
        found = _PathUnpickler(file).load()
    except _RefusedError as refused:
        raise DataError(
            f"{where}: expected a pickled list of paths or strings; it also names '{refused}', "
            f"which is not loaded"
        ) from refused
    except _BROKEN as error:
        raise DataError(f"{where}: cannot be read as a pickle of paths ({error})") from error
    if not isinstance(found, list | tuple | set | frozenset):
        raise DataError(
            f"{where}: expected a pickled list of paths, got {type(found).__name__.lstrip('_')}"
        )
    for number, item in enumerate(found):
        if not isinstance(item, str):
            raise DataError(
                f"{where}: item {number}: expected a path or a string, got "
                f"{type(item).__name__.lstrip('_')}"
            )
    return [PurePosixPath(item) for item in found]


def read_paths(path: Path) -> list[PurePosixPath]:
    """Return the paths that a pickle file lists; see `load_paths`.

    Raises:
        DataError: The file cannot be opened, or as in `load_paths`.
    """
    try:
        with path.open("rb") as file:
            return load_paths(file, str(path))
    except OSError as error:
        raise DataError(f"{path}: cannot be opened ({error.strerror})") from error
