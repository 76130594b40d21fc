"""Foreign pickles as data: lists of paths and strings, and nothing else, on any system."""

from __future__ import annotations

import io
import pickle
import pickletools
from collections.abc import Callable, Sequence
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath
from typing import BinaryIO, Never

from scoring.errors import DataError
from scoring.faults import shown
from scoring.limits import MAX_PICKLE_BYTES, MAX_PICKLE_STEPS
from scoring.reading import read_bounded, size_text

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
    Warning,  # of a text with an unknown escape, where warnings are errors
)

_MEMO_STEPS = frozenset({"PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE"})
_TUPLE_STEPS = frozenset({"EMPTY_TUPLE", "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3"})
_BEHIND_TUPLES = frozenset({"REDUCE", "NEWOBJ", "STOP"})
_CONTAINER_STEPS = frozenset({"EMPTY_LIST", "EMPTY_DICT", "EMPTY_SET", "LIST", "DICT", "FROZENSET"})
_MOST_CONTAINERS = 1000
_EXPECTED = "expected a pickled list of paths or strings"


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
        raise _RefusedError(f"persistent object {shown(pid)}")


def _refuse_bombs(content: bytes, where: str) -> None:
    """Raise if following a pickle would cost more than a list of paths does.

    A few bytes can ask for a memo of gigabytes or, as a tuple in tuples in a set, for more stack
    than there is, which ends the process.

    Raises:
        DataError: It has too many steps or containers, a memo far beyond its size, or tuples that
            are neither the parts of a path nor the list.
        Exceptions of `_BROKEN`: It is no pickle.
    """
    n_containers, before = 0, ""
    texts: list[object] = []
    for number, (step, argument, _) in enumerate(pickletools.genops(content)):
        name = step.name
        if name in _MEMO_STEPS:
            if argument is not None and argument > number:
                raise DataError(f"{where}: {_EXPECTED}, got a memo of {shown(argument)} entries")
            continue
        n_containers += name in _CONTAINER_STEPS
        if number >= MAX_PICKLE_STEPS or n_containers > _MOST_CONTAINERS:
            raise DataError(f"{where}: {_EXPECTED}, got one far too large")
        if _is_refused(name, str(argument).split(" ") if argument else texts):
            return  # the unpickler comes no further, and says what is named
        if before in _TUPLE_STEPS and name not in _BEHIND_TUPLES:
            raise DataError(f"{where}: {_EXPECTED}, got tuples in it")
        texts = [*texts[-1:], argument] if isinstance(argument, str) else []
        before = name


def _is_refused(name: str, named: Sequence[object]) -> bool:
    """Return whether a step surely names what is no path class.

    Args:
        name: The step.
        named: Module and name, as far as they are known.
    """
    if name in ("PERSID", "BINPERSID"):
        return True
    return (
        name in ("GLOBAL", "INST", "STACK_GLOBAL")
        and len(named) == 2
        and not (named[0] in _MODULES and named[1] in _PATHS)
    )


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
    content = file.read(MAX_PICKLE_BYTES + 1)
    if len(content) > MAX_PICKLE_BYTES:
        raise DataError(
            f"{where}: expected a pickled list of paths of at most {size_text(MAX_PICKLE_BYTES)}, "
            f"which it exceeds"
        )
    try:
        _refuse_bombs(content, where)
        found = _PathUnpickler(io.BytesIO(content)).load()
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
        content = read_bounded(path, MAX_PICKLE_BYTES, "a pickled list of paths", may_be_pipe=True)
    except FileNotFoundError as error:
        raise DataError(f"{path}: cannot be opened ({error.strerror})") from error
    return load_paths(io.BytesIO(content), str(path))
