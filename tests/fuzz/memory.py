"""A bound on the memory that is taken."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def few_bytes(most: int = 3 * 2**20) -> Iterator[None]:
    """Fail if more memory than this is taken inside."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < most
    finally:
        tracemalloc.stop()
