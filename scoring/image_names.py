"""Names of images that files list: kept inside the folder that the images lie in."""

from __future__ import annotations

import os
import unicodedata
from pathlib import PurePosixPath, PureWindowsPath

from scoring.errors import DataError
from scoring.faults import shown
from scoring.folder_names import is_unseen
from scoring.limits import MAX_NAME

_LONGEST_PART = 255
"""Bytes of the name of a file or folder."""


def check_image_name(name: str, where: str) -> str:
    r"""Return a listed path in its plain form: relative, `/` between folders.

    Args:
        name: As the file has it; a backslash divides folders too.
        where: What messages call the place.

    Raises:
        DataError: It is empty, absolute, leads out of its folder, is longer than file systems
            allow, or holds a control character or what is no UTF-8.

    Example:
        >>> check_image_name("./val\\a.jpg", "list.txt: line 1")
        'val/a.jpg'
    """
    unseen = sorted({c for c in name if is_unseen(c)})
    if unseen:
        raise DataError(
            f"{where}: expected the name of an image, got {ascii(name)[:80]}, which holds "
            f"{' '.join(map(ascii, unseen[:5]))}; rename the file"
        )
    check_length(name, where)
    slashed = name.replace("\\", "/")
    is_absolute = slashed.startswith("/") or bool(PureWindowsPath(slashed).drive)
    plain = os.path.normpath(slashed).replace(os.sep, "/") if slashed else "."
    if is_absolute or plain == ".." or plain.startswith("../"):
        raise DataError(
            f"{where}: expected an image below its folder, got {name!r}, which leads out of it"
        )
    if plain == "." or not PurePosixPath(plain).name.strip(" ."):
        raise DataError(f"{where}: expected the name of an image, got {name!r}")
    return plain


def check_length(name: str, where: str) -> None:
    """Raise if no file system takes a path of this length, which the system says in other words.

    Raises:
        DataError: It has more than `MAX_NAME` characters, or a part of more than 255 bytes.
    """
    parts = PureWindowsPath(name).parts
    if len(name) > MAX_NAME or any(
        len(part.encode("utf-8", "surrogatepass")) > _LONGEST_PART for part in parts
    ):
        raise DataError(
            f"{where}: expected the name of an image of at most {_LONGEST_PART} bytes, got "
            f"{shown(name)}; rename the file"
        )


def check_file_name(name: str) -> str:
    """Return the name of a file as it was found, in NFC.

    Raises:
        DataError: It holds a control character, or is no text in the encoding of file names.
    """
    unseen = sorted({c for c in name if is_unseen(c)})
    if not unseen:
        return unicodedata.normalize("NFC", name)
    raw = os.fsencode(name)
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        text = name
    if text != name:
        raise DataError(
            f"image {raw!r}: Python takes file names for ASCII here; set a locale of UTF-8 "
            f"(LC_ALL=C.UTF-8), or PYTHONUTF8=1"
        )
    raise DataError(
        f"image {raw!r}: expected a file name in UTF-8 without control characters; rename it"
    )
