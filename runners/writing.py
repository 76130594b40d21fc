"""Writing: the files of finished units, by a thread, while the next units are computed."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Self

from runners.ledger import Entry

_MOST_WAITING = 4
"""Units whose detections are held at once, so that memory stays flat before a slow disk."""


class Writer:
    """A thread that writes units in the order in which they are given, as a context.

    What was given is written also if the context is left by an exception or an interrupt: it is
    computed, and the ledger should know it.

    Args:
        most_waiting: Units that may wait; then the caller waits.
    """

    def __init__(self, most_waiting: int = _MOST_WAITING) -> None:
        self._most_waiting = most_waiting
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="uamt-writer")
        self._waiting: deque[Future[Entry]] = deque()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._thread.shutdown(wait=True)

    def submit(self, write: Callable[[], Entry]) -> Iterator[Entry]:
        """Have a unit written, and yield the entries of those that are.

        Args:
            write: Writes a unit's files and then its line in the ledger, and returns its entry.

        Raises:
            DataError, OSError: An earlier unit could not be written.
        """
        self._waiting.append(self._thread.submit(write))
        while len(self._waiting) > self._most_waiting or (
            self._waiting and self._waiting[0].done()
        ):
            yield self._waiting.popleft().result()

    def drain(self) -> Iterator[Entry]:
        """Yield the entries of all units that were given and not yet yielded.

        Raises:
            DataError, OSError: A unit could not be written.
        """
        while self._waiting:
            yield self._waiting.popleft().result()
