"""A plain pool of worker processes; each takes whole images."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import resource_tracker

from runners.campaign import Prepared
from runners.execution import OnUnit, Summary
from runners.jobs import Job, Jobs, run_job
from runners.ledger import Entry, Unit
from scoring.errors import ConfigError, DataError


class _Worker:
    """What a worker process holds: set once, when it starts."""

    campaigns: Sequence[Prepared]
    done: Sequence[Mapping[Unit, Entry]]


def _start(campaigns: Sequence[Prepared], done: Sequence[Mapping[Unit, Entry]]) -> None:
    # The parent decides when to stop: an interrupt at the terminal reaches all of the group.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _Worker.campaigns, _Worker.done = campaigns, done


def _end_with_parent() -> None:
    """Stop this worker when its parent is gone: a killed one (SIGKILL) cannot say so."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _run(job: Job) -> tuple[int, list[tuple[Entry, bool]]]:
    number, images = job
    return number, run_job(_Worker.campaigns[number], images, _Worker.done[number])


def run_in_pool(
    campaigns: Sequence[Prepared], workers: int, on_unit: OnUnit | None = None
) -> list[Summary]:
    """Run campaigns in several processes; the same files as `run_serially`, and resumes.

    Args:
        campaigns: As `prepare` returns them; their detectors must be picklable.
        workers: Number of processes, at least 1; they share all campaigns.
        on_unit: Called with each unit's entry, image by image, and whether it was run now.

    Returns:
        What was done, per campaign; the time is that of all of them.

    Raises:
        ConfigError: The number of workers is below 1, or a detector cannot be sent to workers.
        DataError: See `run_images`; or a worker died, which the message says how to go on from.
    """
    jobs = Jobs(campaigns, workers, on_unit)
    if jobs.left:
        _run_jobs(jobs)
    return jobs.summaries()


def _run_jobs(jobs: Jobs) -> None:
    """Run the images in worker processes; stop all of them if anything stops this one."""
    pool = ProcessPoolExecutor(
        jobs.workers,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_start,
        initargs=(jobs.campaigns, jobs.done),
    )
    try:
        waiting = _submit(pool, jobs.left)
        while waiting:
            finished, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for future in finished:
                jobs.count(*future.result())
    except BrokenProcessPool as error:
        raise DataError(
            "a worker process died (out of memory, killed, or started by a script that runs this "
            "outside of 'if __name__ == \"__main__\":'); what is finished is kept, and the same "
            "command goes on from there"
        ) from error
    except BaseException:
        # Files appear whole or not at all, so workers may be stopped anywhere.
        for process in multiprocessing.active_children():
            process.terminate()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _submit(
    pool: ProcessPoolExecutor, jobs: Sequence[Job]
) -> set[Future[tuple[int, list[tuple[Entry, bool]]]]]:
    """Hand all jobs to the pool, which starts its processes."""
    try:
        with _interrupts_held():
            return {pool.submit(_run, job) for job in jobs}
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ConfigError(
            f"workers: expected a model that can be sent to other processes, got: {error}; define "
            f"its classes and functions at the top of a module, or use one worker"
        ) from error


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Return a context in which processes start that an interrupt at the terminal does not reach.

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
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        with _interrupt_blocked():
            yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        for noted in met:
            signal.raise_signal(noted)


@contextmanager
def _interrupt_blocked() -> Iterator[None]:
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    # Started by itself inside the context it would unblock the signal.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
