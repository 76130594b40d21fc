"""Foreign pickles as data: lists of paths and strings, and nothing else, on any system.

Python's own unpickler is not used: even one that may look up no name can be made to fill the
memory, or to hash for ever, by a few bytes. Here the instructions that such lists consist of are
followed one by one, with a limit on everything they can make, and all others are refused.
"""

from __future__ import annotations

import io
import pickletools
from collections.abc import Callable, Mapping
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath
from typing import Any, BinaryIO

from scoring.errors import DataError
from scoring.limits import MAX_NAME, MAX_PICKLE_BYTES, MAX_PICKLE_CHARACTERS, MAX_PICKLE_STEPS
from scoring.reading import read_bounded, size_text

_MODULES = frozenset({"pathlib", "pathlib._local"})
_PATHS: Mapping[str, type[PurePath]] = {
    "PosixPath": PurePosixPath,
    "PurePosixPath": PurePosixPath,
    "WindowsPath": PureWindowsPath,
    "PureWindowsPath": PureWindowsPath,
    "Path": PurePosixPath,
    "PurePath": PurePosixPath,
}


class _RefusedError(Exception):
    """The pickle holds something that is neither path nor string nor a list of them."""


class _Mark:
    """Where the items of a list or tuple begin on the stack."""


class _PathClass:
    """A path class that the pickle names.

    Args:
        make: What joins its parts.
    """

    def __init__(self, make: type[PurePath]) -> None:
        self.make = make


class _List(list[Any]):
    """A list or set of the pickle."""


class _Other:
    """A value that is neither path nor string: it is not made, only called what it is.

    Args:
        kind: The name of its type.
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind


_MARK = _Mark()


class _Machine:
    """Follows the instructions of a pickle, as far as lists of paths need them."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}
        self._n_characters = 0

    def text(self, text: str) -> None:
        """Push a string."""
        if len(text) > MAX_NAME:
            raise _RefusedError(f"a text of {len(text)} characters")
        self.stack.append(text)

    def named(self, module: str, name: str) -> None:
        """Push a path class."""
        if module not in _MODULES or name not in _PATHS:
            raise _RefusedError(f"'{_short(module)}.{_short(name)}'")
        self.stack.append(_PathClass(_PATHS[name]))

    def called(self) -> None:
        """Call a path class: the only thing that a pickle may call."""
        parts, called = self.stack.pop(), self.stack.pop()
        if not isinstance(called, _PathClass):
            raise _RefusedError(f"a call of something {_kind(called)}")
        if not isinstance(parts, tuple) or not all(isinstance(part, str) for part in parts):
            raise _RefusedError("a path whose parts are no strings")
        if sum(map(len, parts)) + len(parts) > MAX_NAME:
            raise _RefusedError(f"a path of more than {MAX_NAME} characters")
        path = called.make(*parts).as_posix()
        self._count(len(path))
        self.stack.append(path)

    def _count(self, characters: int) -> None:
        self._n_characters += characters
        if self._n_characters > MAX_PICKLE_CHARACTERS:
            raise _RefusedError(f"paths of more than {MAX_PICKLE_CHARACTERS} characters together")

    def since_mark(self) -> list[Any]:
        """Return and take away what lies on the stack above the last mark."""
        items: list[Any] = []
        while (item := self.stack.pop()) is not _MARK:
            items.append(item)
        return items[::-1]

    def extend(self, items: list[Any]) -> None:
        """Add items to the list below them."""
        target = self.stack[-1]
        if not isinstance(target, _List):
            raise _RefusedError(f"items added to something {_kind(target)}")
        for item in items:
            if not isinstance(item, str):
                raise _RefusedError(f"item {len(target)} {_kind(item)}")
            self._count(len(item))
            target.append(item)

    def dict_of(self, items: list[Any]) -> None:
        """Push a dict, whose keys and values are passed over."""
        self.stack.append(_Other("dict"))
        self.set_items(items)

    def set_items(self, items: list[Any]) -> None:
        """Pass over the keys and values of a dict below them."""
        target = self.stack[-1]
        if not isinstance(target, _Other) or target.kind != "dict":
            raise _RefusedError(f"keys and values added to something {_kind(target)}")

    def tuple_of(self, count: int) -> None:
        """Push a tuple of the last items."""
        if len(self.stack) < count:
            raise IndexError
        items = tuple(self.stack[len(self.stack) - count :])
        del self.stack[len(self.stack) - count :]
        self.stack.append(items)

    def stack_global(self) -> None:
        """Push the class whose module and name lie on the stack."""
        name, module = self.stack.pop(), self.stack.pop()
        if not isinstance(name, str) or not isinstance(module, str):
            raise _RefusedError("a class whose name is no string")
        self.named(module, name)

    def global_(self, argument: str) -> None:
        """Push the class that an argument `module name` names."""
        module, _, name = argument.partition(" ")
        self.named(module, name)

    def list_of(self, items: list[Any]) -> None:
        """Push a list of items."""
        self.stack.append(_List())
        self.extend(items)

    def add_one(self) -> None:
        """Add the last item to the list below it."""
        self.extend([self.stack.pop()])

    def instance(self, argument: str) -> None:
        """Call the class that an argument names with what lies above the last mark."""
        parts = tuple(self.since_mark())
        self.global_(argument)
        self.stack.append(parts)
        self.called()


def _kind(value: object) -> str:
    if isinstance(value, _Other):
        return f"of type {value.kind}"
    names = {str: "str", tuple: "tuple", _List: "list", _PathClass: "path class"}
    return f"of type {names.get(type(value), 'mark')}"


def _short(text: str) -> str:
    text = text if len(text) <= 60 else f"{text[:57]}..."
    return text if text.isprintable() else ascii(text)[1:-1]


_Step = Callable[[_Machine, Any], object]

_OTHERS = {
    "int": ("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4"),
    "float": ("FLOAT", "BINFLOAT"),
    "bool": ("NEWTRUE", "NEWFALSE"),
    "NoneType": ("NONE",),
    "bytes": ("BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8"),
    "dict": ("EMPTY_DICT",),
}
"""Instructions that make values of other types."""


def _push(kind: str) -> _Step:
    return lambda machine, argument: machine.stack.append(_Other(kind))


_STEPS: Mapping[str, _Step] = {
    **dict.fromkeys(("PROTO", "FRAME"), lambda machine, argument: None),
    **dict.fromkeys(
        ("BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "UNICODE"),
        lambda machine, argument: machine.text(argument),
    ),
    **dict.fromkeys(
        ("STRING", "BINSTRING", "SHORT_BINSTRING"),  # of Python 2
        lambda machine, argument: machine.text(argument),
    ),
    **{name: _push(kind) for kind, names in _OTHERS.items() for name in names},
    "DICT": lambda machine, argument: machine.dict_of(machine.since_mark()),
    "SETITEM": lambda machine, argument: machine.set_items(
        [machine.stack.pop(), machine.stack.pop()]
    ),
    "SETITEMS": lambda machine, argument: machine.set_items(machine.since_mark()),
    "MARK": lambda machine, argument: machine.stack.append(_MARK),
    **dict.fromkeys(
        ("EMPTY_LIST", "EMPTY_SET"), lambda machine, argument: machine.stack.append(_List())
    ),
    **dict.fromkeys(
        ("LIST", "FROZENSET"), lambda machine, argument: machine.list_of(machine.since_mark())
    ),
    "APPEND": lambda machine, argument: machine.add_one(),
    **dict.fromkeys(
        ("APPENDS", "ADDITEMS"), lambda machine, argument: machine.extend(machine.since_mark())
    ),
    "EMPTY_TUPLE": lambda machine, argument: machine.tuple_of(0),
    "TUPLE1": lambda machine, argument: machine.tuple_of(1),
    "TUPLE2": lambda machine, argument: machine.tuple_of(2),
    "TUPLE3": lambda machine, argument: machine.tuple_of(3),
    "TUPLE": lambda machine, argument: machine.stack.append(tuple(machine.since_mark())),
    "GLOBAL": lambda machine, argument: machine.global_(argument),
    "STACK_GLOBAL": lambda machine, argument: machine.stack_global(),
    "INST": lambda machine, argument: machine.instance(argument),
    "REDUCE": lambda machine, argument: machine.called(),
    "MEMOIZE": lambda machine, argument: machine.memo.__setitem__(
        len(machine.memo), machine.stack[-1]
    ),
    **dict.fromkeys(
        ("PUT", "BINPUT", "LONG_BINPUT"),
        lambda machine, argument: machine.memo.__setitem__(argument, machine.stack[-1]),
    ),
    **dict.fromkeys(
        ("GET", "BINGET", "LONG_BINGET"),
        lambda machine, argument: machine.stack.append(machine.memo[argument]),
    ),
}


def load_paths(file: BinaryIO, where: str) -> list[PurePosixPath]:
    """Return the paths of a pickled list of pathlib paths or strings.

    No class is ever looked up and nothing is called, so reading runs no foreign code.

    Args:
        file: An open binary file.
        where: What messages call it.

    Raises:
        DataError: The pickle holds anything else, is broken, or exceeds a limit of
            `scoring.limits`.

    Example:
        >>> import pickle
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
        found = _run(content)
    except _RefusedError as refused:
        raise DataError(
            f"{where}: expected a pickled list of paths or strings; it holds {refused}, "
            f"which is not loaded"
        ) from refused
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise DataError(f"{where}: cannot be read as a pickle of paths ({error})") from error
    return [PurePosixPath(item) for item in found]


def _run(content: bytes) -> list[str]:
    """Return the strings of the list or tuple that the instructions end in."""
    machine = _Machine()
    for number, (opcode, argument, _) in enumerate(pickletools.genops(content)):
        if opcode.name == "STOP":
            break
        if number == MAX_PICKLE_STEPS:
            raise _RefusedError(f"more than {MAX_PICKLE_STEPS} instructions")
        step = _STEPS.get(opcode.name)
        if step is None:
            raise _RefusedError(f"an instruction {opcode.name}")
        step(machine, argument)
    found = machine.stack.pop()
    if isinstance(found, tuple):
        machine.list_of(list(found))
        found = machine.stack.pop()
    if not isinstance(found, _List):
        raise _RefusedError(f"something {_kind(found)} in place of the list")
    return found


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
