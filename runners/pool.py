"""A plain pool of worker processes; each takes whole images."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool

from runners.campaign import Prepared
from runners.execution import OnUnit, Summary
from runners.jobs import Job, Jobs, run_job
from runners.ledger import Entry, Unit
from scoring.errors import DataError


class _Worker:
    """What a worker process holds: set once, when it starts."""

    campaigns: Sequence[Prepared]
    done: Sequence[Mapping[Unit, Entry]]


def _start(campaigns: Sequence[Prepared], done: Sequence[Mapping[Unit, Entry]]) -> None:
    # The parent decides when to stop: an interrupt at the terminal reaches all of the group.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _Worker.campaigns, _Worker.done = campaigns, done


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
        ConfigError: The number of workers is below 1.
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
        waiting: set[Future[tuple[int, list[tuple[Entry, bool]]]]] = {
            pool.submit(_run, job) for job in jobs.left
        }
        while waiting:
            finished, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for future in finished:
                jobs.count(*future.result())
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
