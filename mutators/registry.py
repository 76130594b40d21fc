"""The operators that can be asked for by name."""

from __future__ import annotations

import difflib
from types import MappingProxyType
from typing import TypeVar

from mutators.mutation import Operator
from scoring.errors import ConfigError

_OPERATORS: dict[str, type[Operator]] = {}

OPERATORS = MappingProxyType(_OPERATORS)
"""Every registered operator class, by its name."""

OperatorClass = TypeVar("OperatorClass", bound=type[Operator])


def register_operator(operator: OperatorClass) -> OperatorClass:
    """Register an operator class under its name; a decorator.

    Raises:
        ConfigError: The name is taken.
    """
    if operator.name in _OPERATORS:
        raise ConfigError(f"operator '{operator.name}' is registered already")
    _OPERATORS[operator.name] = operator
    return operator


def get_operator(name: str) -> type[Operator]:
    """Return the operator class of a name.

    Raises:
        ConfigError: No operator has this name; the nearest names are given.
    """
    if name not in _OPERATORS:
        near = difflib.get_close_matches(name, _OPERATORS, cutoff=0.0)
        raise ConfigError(f"operator '{name}' is unknown; the nearest are {', '.join(near)}")
    return _OPERATORS[name]
