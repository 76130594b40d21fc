"""Names that become folders: checked before anything is written under them."""

from __future__ import annotations

import unicodedata

from scoring.errors import ConfigError

_FORBIDDEN = frozenset('/\\:*?"<>|')
_RESERVED = frozenset(
    {"aux", "con", "nul", "prn", "conin$", "conout$"}
    | {f"{device}{number}" for device in ("com", "lpt") for number in "0123456789¹²³"}
)
"""Devices of Windows, which no file or folder there can be named after, whatever its suffix."""
_UNSEEN = frozenset({"Cc", "Cs", "Zl", "Zp"})
"""Unicode categories: controls, halves of characters (bytes that are no UTF-8), line breaks."""
_MOST_BYTES = 200


def is_unseen(character: str) -> bool:
    r"""Return whether a character must not stand in a name: a control, line break or stray byte.

    Example:
        >>> [is_unseen(c) for c in "a\n\x1b\udce9"]
        [False, True, True, True]
    """
    return unicodedata.category(character) in _UNSEEN


def check_folder_name(name: str, what: str) -> str:
    """Return the name in NFC if it can be a folder's name on every system.

    Args:
        name: The name.
        what: What it names, for the message: "model", "suite".

    Raises:
        ConfigError: It is empty, begins or ends with a dot or a space, holds a separator, a
            control character or one of `: * ? " < > |`, is the name of a device of Windows
            (`NUL`, `con.txt`), or takes more than 200 bytes.

    Example:
        >>> check_folder_name("faster-rcnn", "model")
        'faster-rcnn'
    """
    bad = sorted({c for c in name if c in _FORBIDDEN or is_unseen(c)})
    if bad:
        reason = f"it holds {' '.join(map(ascii, bad))}"
    elif not name or name != name.strip(" ."):
        reason = "it is empty, or has a dot or a space at an end"
    elif len(name.encode()) > _MOST_BYTES:
        reason = f"it takes {len(name.encode())} bytes"
    elif name.partition(".")[0].rstrip().casefold() in _RESERVED:
        reason = "Windows reserves it for a device"
    else:
        return unicodedata.normalize("NFC", name)
    shown = ascii(name) if bad else repr(name)
    raise ConfigError(
        f"{what} name {shown if len(shown) <= 80 else shown[:60] + '...'}: expected a folder name "
        f"(1 to {_MOST_BYTES} bytes, no separator, no dot or space at either end); {reason}; "
        f"choose another"
    )
