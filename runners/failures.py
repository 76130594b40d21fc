"""What a user's own code raised: in a line, with its place, and whether memory ran out."""

from __future__ import annotations

import traceback

import torch

_CPU_ALLOCATOR = ("not enough memory", "can't allocate memory")


def shown_failure(error: Exception) -> str:
    """Return kind, message and place of an error, for a message that comes without a traceback."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if not frame.filename.startswith("<")]
    text = f"{type(error).__name__}: {error}".removesuffix(": ")
    return f"{text} ({own[-1].filename}, line {own[-1].lineno})" if own else text


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an error says that memory ran out, of a CUDA device or of the CPU."""
    if isinstance(error, torch.OutOfMemoryError):
        return True
    text = str(error)
    return isinstance(error, RuntimeError) and any(words in text for words in _CPU_ALLOCATOR)
