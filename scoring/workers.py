"""Workers: the images of a sweep over processes, with the same findings in the same order."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager
from dataclasses import replace
from types import TracebackType
from typing import Self

from scoring.errors import ConfigError, DataError
from scoring.fast import expect_pairs
from scoring.findings import Findings, examine_sweep
from scoring.rules import DEEPLUQ, Rules
from scoring.sweep import Sweep
from scoring.worker_pool import WorkerPool

_MOST_IMAGES = 16
"""Images of one job."""
_JOBS_AHEAD = 3
"""Jobs per worker that are under way at once, so that memory does not grow with the images."""

_Part = list[tuple[str, Findings]]


class Workers(AbstractContextManager["Workers"]):
    """Processes that examine images, started once for all sweeps; with one, none is started.

    The processes are spawned: a script that asks for more than one keeps its work below
    `if __name__ == "__main__":`.

    Args:
        number: Processes, at least 1.
        pairs: Image x mutant pairs that all sweeps together have.

    Raises:
        ConfigError: The number is below 1.
    """

    def __init__(self, number: int, pairs: int) -> None:
        if number < 1:
            raise ConfigError(f"workers: expected a whole number from 1 up, got {number!r}")
        self._number = number
        self._pool = None
        if number > 1:
            self._pool = WorkerPool(number, expect_pairs, pairs // number)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._pool:
            # Workers write nothing, so they may be stopped anywhere.
            (self._pool.stop if kind else self._pool.close)()

    def examine(
        self, sweep: Sweep, *, n_passes: int | None = None, rules: Rules = DEEPLUQ
    ) -> Iterator[tuple[str, Findings]]:
        """Yield what `scoring.findings.examine_sweep` yields, in the same order.

        Raises:
            DataError: As there, of the first image that is at fault; or a worker died.
        """
        if self._pool is None:
            yield from examine_sweep(sweep, n_passes=n_passes, rules=rules)
            return
        size = min(_MOST_IMAGES, max(1, len(sweep.stems) // (2 * self._number)))
        waiting: deque[Future[_Part]] = deque()
        try:
            for start in range(0, len(sweep.stems), size):
                part = _part_of(sweep, sweep.stems[start : start + size])
                waiting.append(self._pool.submit(_examine, part, n_passes, rules))
                if len(waiting) >= _JOBS_AHEAD * self._number:
                    yield from waiting.popleft().result()
            while waiting:
                yield from waiting.popleft().result()
        except BrokenProcessPool as error:
            raise DataError(
                "a worker process died (out of memory, or killed); score with fewer --workers"
            ) from error


def _part_of(sweep: Sweep, stems: Sequence[str]) -> Sweep:
    chosen = set(stems)
    crashed = frozenset(pair for pair in sweep.crashed if pair[0] in chosen)
    return replace(sweep, stems=tuple(stems), crashed=crashed)


def _examine(sweep: Sweep, n_passes: int | None, rules: Rules) -> _Part:
    return list(examine_sweep(sweep, n_passes=n_passes, rules=rules))
