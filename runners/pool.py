"""A plain pool of worker processes; each takes whole images."""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool

from runners.campaign import Prepared
from runners.execution import OnUnit, Summary
from runners.jobs import Job, Jobs, run_job
from runners.ledger import Entry, Unit
from scoring.errors import ConfigError, DataError
from scoring.worker_pool import WorkerPool


class _Worker:
    """What a worker process holds: set once, when it starts."""

    campaigns: Sequence[Prepared]
    done: Sequence[Mapping[Unit, Entry]]


def _start(campaigns: Sequence[Prepared], done: Sequence[Mapping[Unit, Entry]]) -> None:
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
        ConfigError: The number of workers is below 1, or a detector cannot be sent to workers.
        DataError: See `run_images`; or a worker died, which the message says how to go on from.
    """
    jobs = Jobs(campaigns, workers, on_unit)
    if jobs.left:
        _run_jobs(jobs)
    return jobs.summaries()


def _run_jobs(jobs: Jobs) -> None:
    """Run the images in worker processes; stop all of them if anything stops this one."""
    pool = WorkerPool(jobs.workers, _start, jobs.campaigns, jobs.done)
    try:
        waiting = _submit(pool, jobs.left)
        while waiting:
            finished, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for future in finished:
                jobs.count(*future.result())
    except BrokenProcessPool as error:
        pool.stop()
        raise DataError(
            "a worker process died (out of memory, killed, or started by a script that runs this "
            "outside of 'if __name__ == \"__main__\":'); what is finished is kept, and the same "
            "command goes on from there"
        ) from error
    except BaseException:
        # Files appear whole or not at all, so workers may be stopped anywhere.
        pool.stop()
        raise
    pool.close()


def _submit(
    pool: WorkerPool, jobs: Sequence[Job]
) -> set[Future[tuple[int, list[tuple[Entry, bool]]]]]:
    """Hand all jobs to the pool, which starts its processes."""
    try:
        return {pool.submit(_run, job) for job in jobs}
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ConfigError(
            f"workers: expected a model that can be sent to other processes, got: {error}; define "
            f"its classes and functions at the top of a module, or use one worker"
        ) from error
