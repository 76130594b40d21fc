"""Ray: the images of a campaign over the machines of a cluster that share a folder."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch

from runners.campaign import Prepared
from runners.execution import OnUnit, Summary
from runners.images import ImageRef
from runners.jobs import Job, Jobs, run_job
from runners.ledger import Entry, Ledger, Unit
from scoring.errors import ConfigError, DataError

_RETRIES = 3
"""How often an image is tried again whose worker died: the image may be what kills it."""


@dataclass(frozen=True, slots=True)
class RayOptions:
    """How Ray is used.

    Args:
        address: Of a running cluster (`auto`, `HOST:PORT`); None starts one on this machine,
            which ends with the run.
        gpu_fraction: GPUs that each worker takes, 0 to 1: 0.25 puts four workers on one GPU.

    Raises:
        ConfigError: The fraction lies outside 0..1.
    """

    address: str | None = None
    gpu_fraction: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.gpu_fraction <= 1:
            raise ConfigError(f"GPU fraction: expected 0 to 1, got {self.gpu_fraction!r}")


class _Actor:
    """An actor: it holds the campaigns with their detectors, and takes whole images.

    It fetches them with its first image, and reads the ledgers then: one that is started in the
    place of a dead one passes over what that one finished.
    """

    def __init__(self) -> None:
        self._campaigns: Sequence[Prepared] | None = None
        self._done: list[Mapping[Unit, Entry]] = []

    def ready(self) -> None:
        """Return once the actor is there."""

    def run(self, shared: Sequence[Any], job: Job) -> tuple[int, list[tuple[Entry, bool]]]:
        """Run the images of a job of the campaigns that the one reference in `shared` holds."""
        if self._campaigns is None:
            self._campaigns = import_ray().get(*shared)
            self._done = [Ledger(prepared.campaign.root).latest() for prepared in self._campaigns]
        number, images = job
        return number, run_job(self._campaigns[number], images, self._done[number])


def run_on_ray(
    campaigns: Sequence[Prepared],
    workers: int,
    options: RayOptions,
    on_unit: OnUnit | None = None,
) -> list[Summary]:
    """Run campaigns on Ray; the same files as `run_serially`, and resumes.

    Workers start where the cluster has room, also later than others. One that dies is started
    again, if need be on another machine.

    Args:
        campaigns: As `prepare` returns them; their detectors must be picklable.
        workers: Number of actors, at least 1; they share all campaigns.
        options: The cluster, and what a worker takes of it.
        on_unit: Called with each unit's entry, image by image, and whether it was run now.

    Returns:
        What was done, per campaign; the time is that of all of them.

    Raises:
        ConfigError: Ray is not installed, there is no such cluster, or no worker fits on it.
        DataError: See `run_images`; or an image killed its workers.
    """
    ray = import_ray()
    jobs = Jobs([_anywhere(prepared) for prepared in campaigns], workers, on_unit)
    if jobs.left:
        with _cluster(ray, options.address):
            _run_jobs(ray, jobs, options)
    return jobs.summaries()


def _run_jobs(ray: Any, jobs: Jobs, options: RayOptions) -> None:
    """Hand one job after the other to each actor that is ready."""
    for prepared in jobs.campaigns:
        _check_device(prepared.campaign.detector.device, options)
    threads = max(prepared.campaign.settings.threads for prepared in jobs.campaigns)
    needs = {"CPU": threads, "GPU": options.gpu_fraction}
    offers = ray.cluster_resources()
    for name, amount in needs.items():
        if amount > offers.get(name, 0):
            raise ConfigError(
                f"Ray: a worker takes {amount:g} {name}, but the cluster has "
                f"{offers.get(name, 0):g}"
            )
    actor = ray.remote(_Actor).options(
        num_cpus=threads,
        num_gpus=options.gpu_fraction,
        max_restarts=-1,
        max_task_retries=_RETRIES,
    )
    # In a list, or Ray would unpack the detectors for every image.
    shared = [ray.put(jobs.campaigns)]
    actors = [actor.remote() for _ in range(jobs.workers)]
    left = iter(jobs.left)
    n_waiting = len(jobs.left)
    busy = {worker.ready.remote(): worker for worker in actors}
    try:
        while n_waiting:
            (finished, *_), _ = ray.wait(list(busy), num_returns=1)
            worker, result = busy.pop(finished), ray.get(finished)
            if result is not None:
                jobs.count(*result)
                n_waiting -= 1
            job = next(left, None)
            if job is not None:
                busy[worker.run.remote(shared, job)] = worker
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, ImportError):
            raise ConfigError(
                f"Ray: a worker cannot import what the detector is made of ({error.cause}); every "
                f"machine needs it, and this package, where 'ray start' was called"
            ) from error
        raise error.cause from error
    except ray.exceptions.RayActorError as error:
        raise DataError(
            f"a worker died {_RETRIES + 1} times over one image (out of memory?); what is "
            f"finished is kept, and the same command goes on from there: {error}"
        ) from error
    finally:
        for worker in actors:
            ray.kill(worker)


def _check_device(device: torch.device, options: RayOptions) -> None:
    # Ray shows a worker only the GPU that it was given, as number 0, and none if it took none.
    if device.type == "cuda" and (not options.gpu_fraction or device.index):
        raise ConfigError(
            f"Ray: the detector is on {device}; expected --device cuda and a --gpu-fraction above "
            f"0, got {options.gpu_fraction:g}"
        )


def import_ray() -> Any:
    """Return the module.

    Raises:
        ConfigError: It is not installed.
    """
    try:
        import ray
    except ImportError as error:
        raise ConfigError(
            "--engine ray: Ray is not installed; install the extra 'ray' (pip install '.[ray]' in "
            "uamt's folder)"
        ) from error
    return ray


@contextmanager
def _cluster(ray: Any, address: str | None) -> Iterator[None]:
    """Return a context that is connected to a cluster; one that is connected already is kept."""
    if ray.is_initialized():
        yield
        return
    # Ray runs workers at nice 15 otherwise, behind everything else on the machine.
    os.environ.setdefault("RAY_worker_niceness", "0")
    before = signal.getsignal(signal.SIGTERM)
    try:
        ray.init(
            address=address or "local",
            include_dashboard=False if address is None else None,
            log_to_driver=False,
            logging_level="ERROR",
        )
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise ConfigError(f"--address {address}: no Ray cluster answers there ({error})") from error
    try:
        if before is not None and signal.getsignal(signal.SIGTERM) is not before:
            signal.signal(signal.SIGTERM, before)  # Ray sets its own
        yield
    finally:
        ray.shutdown()


def _anywhere(prepared: Prepared) -> Prepared:
    """Return a campaign whose paths hold in any working folder."""
    campaign = prepared.campaign

    def moved(ref: ImageRef) -> ImageRef:
        return replace(ref, path=ref.path.resolve())

    suites = {name: [moved(ref) for ref in refs] for name, refs in campaign.suites.items()}
    return replace(
        prepared,
        campaign=replace(campaign, root=campaign.root.resolve(), suites=suites),
        fingerprints={moved(ref): known for ref, known in prepared.fingerprints.items()},
    )
