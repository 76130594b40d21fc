"""A plain pool of worker processes; each takes whole images."""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool

from runners.campaign import OnUnit, Prepared, Summary, finished_entries, run_image
from runners.ledger import Entry, Ledger, Unit
from runners.settings import arithmetic
from scoring.errors import ConfigError, DataError


class _Worker:
    """What a worker process holds: set once, when it starts."""

    prepared: Prepared
    done: Mapping[Unit, Entry]


def _start(prepared: Prepared, done: Mapping[Unit, Entry]) -> None:
    # The parent decides when to stop: an interrupt at the terminal reaches all of the group.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _Worker.prepared, _Worker.done = prepared, done


def _run(index: int) -> list[tuple[Entry, bool]]:
    prepared = _Worker.prepared
    ref = prepared.campaign.images[index]
    with arithmetic(prepared.campaign.settings.threads):
        return list(run_image(prepared, ref, _Worker.done, Ledger(prepared.campaign.root)))


def run_in_pool(prepared: Prepared, workers: int, on_unit: OnUnit | None = None) -> Summary:
    """Run a campaign in several processes; the same files as `run_serially`, and resumes.

    Args:
        prepared: As `prepare` returns it; its detector must be picklable.
        workers: Number of processes, at least 1.
        on_unit: Called with each unit's entry, image by image, and whether it was run now.

    Raises:
        ConfigError: The number of workers is below 1.
        DataError: See `run_image`; or a worker died, which the message says how to go on from.
    """
    if workers < 1:
        raise ConfigError(f"workers: expected a whole number from 1 up, got {workers!r}")
    ledger = Ledger(prepared.campaign.root)
    ledger.close_torn_line()
    done = ledger.latest()
    summary, started = Summary(), time.perf_counter()

    def count(entries: Iterable[tuple[Entry, bool]]) -> None:
        for entry, is_new in entries:
            summary.add(entry, is_new=is_new)
            if on_unit:
                on_unit(entry, is_new)

    left: list[int] = []
    for index, ref in enumerate(prepared.campaign.images):
        finished = finished_entries(prepared, ref, done)
        if finished is None:
            left.append(index)
        else:
            count((entry, False) for entry in finished)
    if left:
        _run_images(prepared, done, left, workers, count)
    summary.seconds = time.perf_counter() - started
    return summary


def _run_images(
    prepared: Prepared,
    done: Mapping[Unit, Entry],
    images: Sequence[int],
    workers: int,
    count: Callable[[Iterable[tuple[Entry, bool]]], None],
) -> None:
    """Run these images in worker processes; stop all of them if anything stops this one."""
    pool = ProcessPoolExecutor(
        min(workers, len(images)),
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_start,
        initargs=(prepared, done),
    )
    try:
        waiting: set[Future[list[tuple[Entry, bool]]]] = {
            pool.submit(_run, index) for index in images
        }
        while waiting:
            finished, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for future in finished:
                count(future.result())
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
