"""What a user's own code raised, in a line: its message and its place."""

from __future__ import annotations

import traceback


def shown_failure(error: Exception) -> str:
    """Return kind, message and place of an error, for a message that comes without a traceback."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if not frame.filename.startswith("<")]
    text = f"{type(error).__name__}: {error}".removesuffix(": ")
    return f"{text} ({own[-1].filename}, line {own[-1].lineno})" if own else text
