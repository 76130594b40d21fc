"""A pool of worker processes: quiet on an interrupt, and ended with the process that started it."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import resource_tracker
from multiprocessing.context import SpawnContext, SpawnProcess
from typing import Any

_INTERRUPTS = (signal.SIGINT, signal.SIGTERM)


class WorkerPool:
    """Spawned processes that run functions; those of a caller's own are never touched.

    An interrupt at the terminal reaches every process of its group, and so does a scheduler's
    signal. The workers pass over both: the parent decides when to stop, and they end at once if it
    is gone.

    Args:
        number: Most processes that run at once.
        start: Called in each process when it starts.
        arguments: Its arguments, which are pickled.
    """

    def __init__(self, number: int, start: Callable[..., object], *arguments: object) -> None:
        self._context = _OwnProcesses()
        self._executor = ProcessPoolExecutor(
            number, mp_context=self._context, initializer=_start, initargs=(start, arguments)
        )

    def submit(self, function: Callable[..., Any], *arguments: object) -> Future[Any]:
        """Hand a call to the pool, which starts a process for it while there may be more.

        Raises:
            Exception: What `start` or its arguments raise while they are pickled.
            BrokenProcessPool: A process died.
        """
        with _interrupts_held():
            return self._executor.submit(function, *arguments)

    def close(self) -> None:
        """Wait until all calls are done, and end the processes."""
        self._executor.shutdown(wait=True)

    def stop(self) -> None:
        """End the processes where they are."""
        for process in self._context.started:
            if process.is_alive():
                process.kill()
        self._executor.shutdown(wait=True, cancel_futures=True)


class _Process(SpawnProcess):
    """A process that passes over SIGTERM, so that ending it takes more."""

    def terminate(self) -> None:
        self.kill()


class _OwnProcesses(SpawnContext):
    """The way in which a pool starts its processes; it knows which these are."""

    def __init__(self) -> None:
        super().__init__()
        self.started: list[SpawnProcess] = []

    def Process(self, *args: Any, **kwargs: Any) -> SpawnProcess:  # type: ignore[override]  # noqa: N802
        process = _Process(*args, **kwargs)
        self.started.append(process)
        return process


def _start(start: Callable[..., object], arguments: tuple[object, ...]) -> None:
    for interrupt in _INTERRUPTS:
        signal.signal(interrupt, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    start(*arguments)


def _end_with_parent() -> None:
    """End this process when its parent is gone: a killed one (SIGKILL) cannot say so."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Return a context in which processes start that no interrupt reaches.

    They inherit what is blocked here, so that they are quiet while they still import. An interrupt
    of this process meanwhile is met behind the context: half a start leaves workers that nobody
    ends. Blocking it is not enough for that, since a signal may reach any thread, and its handler
    runs in the main one all the same.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # handlers run elsewhere, and cannot be set here
        return
    met: list[int] = []
    handlers = {
        number: signal.signal(number, lambda number, _: met.append(number))
        for number in _INTERRUPTS
    }
    try:
        with _interrupts_blocked():
            yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        for noted in met:
            signal.raise_signal(noted)


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    # Started by itself inside the context it would unblock the signals.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _INTERRUPTS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
