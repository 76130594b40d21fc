"""Memory: what happens where a batch of passes does not fit."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import torch

from mutators import Mutant
from runners.detectors import Detector
from runners.failures import is_out_of_memory
from runners.image_files import ImageError, upright_size
from runners.images import ImageRef, read_image
from runners.passes import run_mutant
from runners.settings import Settings
from scoring.errors import DataError

Result = TypeVar("Result")

_LOG = logging.getLogger(__name__)


class OutOfMemoryError(DataError):
    """A batch of passes does not fit into the memory of the device."""


def out_of_memory(where: str, settings: Settings, root: Path, model: str) -> OutOfMemoryError:
    """Return the error of a batch that does not fit, with the command that goes on.

    Args:
        where: Image and mutant.
        settings: Of the campaign, whose results hold its chunk.
        root: The experiment's folder.
        model: The model's folder name.
    """
    size = settings.chunk_size
    if size == 1:
        return OutOfMemoryError(
            f"{where}: memory ran out with one pass in a batch; free memory on the device, use "
            f"fewer workers on it, or smaller images; what is finished is kept, and the same "
            f"command goes on from there"
        )
    configuration = root / f"experiment_{model}.toml"
    return OutOfMemoryError(
        f"{where}: memory ran out with {size} passes in a batch; another chunk makes another "
        f"experiment, since a batch of another size rounds otherwise: go on with 'uamt run "
        f"{configuration} --chunk {size // 2} --redo-changed', which runs again what is there, or "
        f"free memory on the device and give the same command again"
    )


def with_fitting_chunk(
    settings: Settings,
    attempt: Callable[[Settings], Result],
    *,
    may_change: bool,
    fault: Callable[[Settings], OutOfMemoryError],
) -> tuple[Settings, Result]:
    """Return what an attempt returns, and the settings with which it did not run out of memory.

    Args:
        settings: Of a campaign that is about to start.
        attempt: Runs the heaviest batches.
        may_change: Whether the chunk may be halved: no result holds it yet.
        fault: Returns the error of settings that do not fit.

    Raises:
        OutOfMemoryError: Memory ran out, and the chunk may not be halved or is 1.
    """
    while True:
        size = settings.chunk_size
        try:
            return settings, attempt(settings)
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
            if size == 1 or not may_change:
                raise fault(settings) from error
        # Behind the handler, whose traceback keeps the tensors of the attempt alive.
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        settings = replace(settings, chunk=size // 2)
        _LOG.warning("memory ran out with %d passes in a batch; trying %d", size, size // 2)


def run_heaviest(
    detector: Detector,
    images: Sequence[ImageRef],
    sweeps: Sequence[Sequence[Mutant]],
    settings: Settings,
) -> None:
    """Run one batch of the last mutant of each sweep over the largest image that can be read.

    What fits here fits later, so that memory runs out before anything is written or not at all. A
    mutant that crashes here is left to the run, which records it.

    Args:
        detector: The model.
        images: Of the campaign.
        sweeps: Mutants of each operator, mildest first.
        settings: Passes, chunk, seed and thresholds.

    Raises:
        RuntimeError: Memory ran out.
    """
    one_batch = replace(settings, passes=settings.chunk_size, curtail=None, curtail_mutants=False)
    for ref in sorted(images, key=_pixels, reverse=True):
        try:
            image = read_image(ref.path)
        except DataError:
            continue
        for mutants in sweeps:
            try:
                run_mutant(detector, image, ref.relative_path, mutants[-1], one_batch)
            except Exception as error:  # what a user's model raises is not known
                if is_out_of_memory(error):
                    raise
        return


def _pixels(ref: ImageRef) -> int:
    try:
        width, height = upright_size(ref.path)
    except ImageError:
        return 0  # one that cannot be read is found where it is
    return width * height
