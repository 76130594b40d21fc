"""Names that become folders: checked before anything is written under them."""

from __future__ import annotations

import unicodedata

from scoring.errors import ConfigError

_FORBIDDEN = frozenset('/\\:*?"<>|')


def check_folder_name(name: str, what: str) -> str:
    """Return the name in NFC if it can be a folder's name on every system.

    Args:
        name: The name.
        what: What it names, for the message: "model", "suite".

    Raises:
        ConfigError: It is empty, begins or ends with a dot or a space, or holds a separator,
            a control character or one of `: * ? " < > |`.
    """
    bad = sorted({c for c in name if c in _FORBIDDEN or unicodedata.category(c) == "Cc"})
    if bad or not name or name != name.strip(" .") or len(name.encode()) > 200:
        reason = f"it holds {' '.join(map(repr, bad))}" if bad else "see its ends and its length"
        raise ConfigError(
            f"{what} name {name!r}: expected a folder name (1 to 200 bytes, no separator, no dot "
            f"or space at either end); {reason}; choose another"
        )
    return unicodedata.normalize("NFC", name)
