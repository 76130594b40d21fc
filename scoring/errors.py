"""The project's own exceptions: what was expected, what came, where, and what to do."""

from __future__ import annotations

from typing import ClassVar


class UamtError(Exception):
    """Any error that this project raises on purpose; `exit_code` is what a command ends with."""

    exit_code: ClassVar[int] = 1


class ConfigError(UamtError):
    """Wrong usage or configuration: nothing was run."""

    exit_code: ClassVar[int] = 2


class DataError(UamtError):
    """Data that is missing, broken or of the wrong kind."""

    exit_code: ClassVar[int] = 3
