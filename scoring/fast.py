"""The compiled kernel: chosen where numba is installed and the work is worth its loading."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from scoring import fast_kernels
from scoring.errors import ConfigError

VARIABLE = "UAMT_KERNEL"
"""Environment variable: `auto` (the default), `on`, or `off`."""

WORTH_LOADING = 2000
"""Image x mutant pairs from which `auto` loads the kernel: loading takes a second, which is what
it saves on them."""

_MODES = ("auto", "on", "off")


@dataclass(frozen=True, slots=True)
class Kernel:
    """The compiled loops of `scoring.fast_kernels`, by the same names."""

    walk_corners: Callable[..., Any]


_in_use: list[Kernel] = []


def kernel() -> Kernel | None:
    """Return the kernel if it is to be used; None means numpy alone.

    The results are the same to the last bit. By default it is used once `expect_pairs` found it
    worthwhile.

    Raises:
        ConfigError: `UAMT_KERNEL` is none of its values, or is `on` without numba.
    """
    mode = _mode()
    if mode == "off":
        return None
    if mode == "on" and not _in_use:
        loaded = _load()
        if loaded is None:
            raise ConfigError(f"{VARIABLE}=on: expected numba, which the extra 'fast' installs")
        _in_use.append(loaded)
    return _in_use[0] if _in_use else None


def expect_pairs(number: int) -> None:
    """Load the kernel if it is installed, not switched off, and so many pairs are worth it.

    Args:
        number: Image x mutant pairs that are going to be scored.

    Raises:
        ConfigError: As `kernel`.
    """
    if _mode() == "auto" and number >= WORTH_LOADING and not _in_use:
        loaded = _load()
        if loaded is not None:
            _in_use.append(loaded)


def _mode() -> str:
    mode = os.environ.get(VARIABLE, "auto")
    if mode not in _MODES:
        raise ConfigError(f"{VARIABLE}: expected {', '.join(_MODES)}, got {mode!r}")
    return mode


@cache
def _load() -> Kernel | None:
    """Return the compiled kernel; None without numba."""
    try:
        import numba
    except ImportError:
        return None

    compiler: Any = numba.njit

    def compiled(loop: Callable[..., Any]) -> Any:
        try:
            return compiler(cache=True)(loop)
        except RuntimeError:
            # There is no folder that the machine code could be kept in.
            return compiler(loop)

    return Kernel(walk_corners=compiled(fast_kernels.walk_corners))
