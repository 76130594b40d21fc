"""Fixtures of the study's tests."""

from __future__ import annotations

from tests.study.tables import paper
from tests.uamt.conftest import uamt

__all__ = ["paper", "uamt"]
