"""From what some units took to what the units to do will take."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from runners.campaign import Prepared
from runners.plan_samples import (
    SHA256_IN_LEDGER,
    ImageCosts,
    PassCost,
    SomeMutants,
    UnitCost,
    sampled_settings,
)


@dataclass(frozen=True, slots=True)
class Estimate:
    """What the units to do will take.

    Args:
        seconds: With one worker.
        plain_seconds: The same, every pass computed as a whole; None where no memo is used.
        write_seconds: Of encoding and writing the prediction files.
        n_files: Prediction files to come.
        n_bytes: Of these files and of their units' lines in the ledger.
        disk_bytes: The same where a file takes whole blocks of 4 KiB.
        n_sampled: Sample runs of an image; the first image may come twice.
    """

    seconds: float
    plain_seconds: float | None
    write_seconds: float
    n_files: int
    n_bytes: float
    disk_bytes: float
    n_sampled: int


def estimate(
    prepared: Prepared,
    left: Mapping[tuple[str, int], int],
    n_images: int,
    samples: Sequence[ImageCosts],
    plain: PassCost,
    original_sizes: Sequence[int],
) -> Estimate:
    """Return what the units to do will take.

    Time of a mutant, and its files' size against the original's, are interpolated over the places
    of the sweep between those that were sampled. The original's size is the mean over more images,
    for what an image holds decides more than the mutant does.

    Args:
        prepared: The campaign.
        left: Per operator and place in its sweep (0 is the original), the images that lack it.
        n_images: Images that have units to do.
        samples: As `run_sample` returns them.
        plain: As `run_plain` returns it.
        original_sizes: As `original_bytes` returns them.
    """
    campaign = prepared.campaign
    passes = campaign.settings.passes
    n_run = sampled_settings(campaign.settings).passes
    write_seconds = passes * plain.write_seconds
    first = campaign.operators[0].name
    original = float(np.mean([costs[first][0].seconds for costs in samples]))
    seconds = n_images * (original + (passes - n_run) * plain.write_seconds)
    plain_seconds = seconds
    size = float(np.mean(original_sizes))
    n_units, n_bytes, padding = 0, 0.0, 0.0
    for operator in campaign.operators:
        sweep = _Sweep.of(SomeMutants(operator), samples, passes / n_run)
        seconds += n_images * sweep.set_up_seconds
        for place in range(len(sweep.seconds)):
            n = left.get((operator.name, place), 0)
            n_units += n
            n_bytes += n * (size * sweep.sizes[place] * passes + sweep.ledger_bytes)
            n_bytes += n * SHA256_IN_LEDGER * passes
            padding += n * sweep.padding[place] * passes
            if place:
                seconds += n * sweep.seconds[place]
                plain_seconds += n * (passes * plain.plain_seconds + write_seconds)
            elif operator.name != first:
                seconds += n * write_seconds
                plain_seconds += n * write_seconds
    uses_memo = campaign.use_memo and prepared.is_deterministic
    return Estimate(
        seconds=seconds,
        plain_seconds=plain_seconds if uses_memo else None,
        write_seconds=n_units * write_seconds,
        n_files=n_units * passes,
        n_bytes=n_bytes,
        disk_bytes=n_bytes + padding,
        n_sampled=len(samples),
    )


@dataclass(frozen=True, slots=True)
class _Sweep:
    """What the units of one operator take, by their place in the sweep; place 0 is the original.

    Args:
        seconds: Of a unit; nothing for the original.
        sizes: Of a prediction file, as a share of the original's.
        padding: Bytes by which a file falls short of whole blocks.
        ledger_bytes: Of a line in the ledger, were there no passes.
        set_up_seconds: Per image, what its first mutant takes longer than the others.
    """

    seconds: npt.NDArray[np.float64]
    sizes: npt.NDArray[np.float64]
    padding: npt.NDArray[np.float64]
    ledger_bytes: float
    set_up_seconds: float

    @classmethod
    def of(cls, some: SomeMutants, samples: Sequence[ImageCosts], scale: float) -> _Sweep:
        """Interpolate over the sweep; `scale` is all passes over those that were run."""
        costs = [image[some.name] for image in samples]
        at = [0, *(1 + place for place in some.places)]
        everywhere = np.arange(1 + some.n_mutants)

        def mean(value: Callable[[UnitCost], float]) -> npt.NDArray[np.float64]:
            every = np.array([[value(unit) for unit in image] for image in costs], np.float64)
            return np.asarray(every.mean(axis=0), np.float64)

        sizes, padding = mean(lambda unit: unit.n_bytes), mean(lambda unit: unit.padding)
        sampled = mean(lambda unit: unit.seconds)
        # The first mutant of an image pays for what the memo keeps for the others.
        later = slice(2, None) if len(at) > 2 else slice(1, None)
        seconds = np.interp(everywhere, at[later], sampled[later])
        set_up = max(0.0, sampled[1] - seconds[1])
        seconds[0] = 0.0
        return cls(
            seconds=seconds * scale,
            sizes=np.interp(everywhere, at, sizes / sizes[0]),
            padding=np.interp(everywhere, at, padding),
            ledger_bytes=float(mean(lambda unit: unit.ledger_bytes).mean()),
            set_up_seconds=set_up,
        )
