"""A plain pool of worker processes; each takes whole images."""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool

from runners.campaign import Prepared
from runners.execution import OnUnit, Summary, finished_entries, run_image
from runners.ledger import Entry, Ledger, Unit
from runners.settings import arithmetic
from scoring.errors import ConfigError, DataError

_Job = tuple[int, int]
"""Number of a campaign, and of one of its images."""


class _Worker:
    """What a worker process holds: set once, when it starts."""

    campaigns: Sequence[tuple[Prepared, Mapping[Unit, Entry]]]


def _start(campaigns: Sequence[tuple[Prepared, Mapping[Unit, Entry]]]) -> None:
    # The parent decides when to stop: an interrupt at the terminal reaches all of the group.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _Worker.campaigns = campaigns


def _run(job: _Job) -> tuple[int, list[tuple[Entry, bool]]]:
    number, index = job
    prepared, done = _Worker.campaigns[number]
    ref = prepared.campaign.images[index]
    ledger = Ledger(prepared.campaign.root)
    with arithmetic(prepared.campaign.settings.threads):
        return number, list(run_image(prepared, ref, done, ledger))


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
        ConfigError: The number of workers is below 1.
        DataError: See `run_image`; or a worker died, which the message says how to go on from.
    """
    if workers < 1:
        raise ConfigError(f"workers: expected a whole number from 1 up, got {workers!r}")
    started = time.perf_counter()
    summaries = [Summary() for _ in campaigns]

    def count(number: int, entries: Iterable[tuple[Entry, bool]]) -> None:
        for entry, is_new in entries:
            summaries[number].add(entry, is_new=is_new)
            if on_unit:
                on_unit(entry, is_new)

    known: list[tuple[Prepared, Mapping[Unit, Entry]]] = []
    left: list[_Job] = []
    for number, prepared in enumerate(campaigns):
        ledger = Ledger(prepared.campaign.root)
        ledger.close_torn_line()
        known.append((prepared, ledger.latest()))
        for index, ref in enumerate(prepared.campaign.images):
            finished = finished_entries(prepared, ref, known[number][1])
            if finished is None:
                left.append((number, index))
            else:
                count(number, ((entry, False) for entry in finished))
    if left:
        _run_jobs(known, left, workers, count)
    for summary in summaries:
        summary.seconds = time.perf_counter() - started
    return summaries


def _run_jobs(
    campaigns: Sequence[tuple[Prepared, Mapping[Unit, Entry]]],
    jobs: Sequence[_Job],
    workers: int,
    count: Callable[[int, Iterable[tuple[Entry, bool]]], None],
) -> None:
    """Run these images in worker processes; stop all of them if anything stops this one."""
    pool = ProcessPoolExecutor(
        min(workers, len(jobs)),
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_start,
        initargs=(campaigns,),
    )
    try:
        waiting: set[Future[tuple[int, list[tuple[Entry, bool]]]]] = {
            pool.submit(_run, job) for job in jobs
        }
        while waiting:
            finished, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for future in finished:
                count(*future.result())
    except BrokenProcessPool as error:
        raise DataError(
            "a worker process died (out of memory, or killed); what is finished is kept, and the "
            "same command goes on from there"
        ) from error
    except BaseException:
        # Files appear whole or not at all, so workers may be stopped anywhere.
        for process in multiprocessing.active_children():
            process.terminate()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
