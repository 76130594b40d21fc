"""What some units of a campaign take, by really running them into a folder of their own."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mutators import Mutant, Operator
from runners.campaign import Prepared
from runners.execution import OnUnit, run_serially
from runners.images import ImageRef, read_image
from runners.ledger import Entry, Ledger, ledger_line
from runners.passes import run_mutant, run_original_once
from runners.settings import Settings, arithmetic
from runners.shards import Shard
from runners.unit_files import UnitFiles
from scoring.errors import DataError
from scoring.layout import Branch, prediction_path
from scoring.predictions import encode_prediction

MUTANTS_PER_OPERATOR = 5

_BLOCK = 4096
"""Bytes that a file takes at least on most file systems."""

SHA256_IN_LEDGER = 67
"""Bytes of one pass's sha256 in a line of the ledger, with quotes and comma."""


@dataclass(frozen=True, slots=True)
class UnitCost:
    """What one unit took.

    Args:
        seconds: Its time, files written.
        n_bytes: Of the prediction file of a pass, in the mean.
        padding: Bytes by which such a file falls short of whole blocks of the disk.
        ledger_bytes: Of its line in the ledger, were there no passes.
    """

    seconds: float
    n_bytes: float
    padding: float
    ledger_bytes: float


ImageCosts = dict[str, list[UnitCost]]
"""Of one image: per operator, its original first, then its sampled mutants in their order."""


class SomeMutants(Operator):
    """An operator's sweep reduced to the mutants at some places.

    Args:
        operator: The whole sweep.
    """

    def __init__(self, operator: Operator) -> None:
        self.name = operator.name  # type: ignore[misc]
        self._operator = operator
        self.n_mutants = len(operator.mutants())
        self.places = _spread(self.n_mutants, MUTANTS_PER_OPERATOR)

    def original(self) -> Mutant:
        """Return the whole sweep's original."""
        return self._operator.original()

    def mutants(self) -> list[Mutant]:
        """Return the mutants at the places."""
        every = self._operator.mutants()
        return [every[place] for place in self.places]

    @classmethod
    def examples(cls) -> list[SomeMutants]:
        """Return none: it is no operator to be asked for."""
        return []


def _spread(n: int, at_most: int) -> list[int]:
    """Return places in 0..n-1, the first and the last among them, evenly spread."""
    if n <= at_most:
        return list(range(n))
    return [round(i * (n - 1) / (at_most - 1)) for i in range(at_most)]


def spread_images(images: Sequence[ImageRef], at_most: int) -> list[ImageRef]:
    """Return some images, evenly spread, so that every part of every suite has its share."""
    n = min(at_most, len(images))
    return [images[(2 * i + 1) * len(images) // (2 * n)] for i in range(n)]


def sampled_settings(settings: Settings) -> Settings:
    """Return the settings under which units are sampled: one batch, or two passes one by one."""
    passes = settings.chunk_size if settings.chunk_size > 1 else min(2, settings.passes)
    return replace(
        settings, passes=passes, chunk=settings.chunk_size, curtail=None, curtail_mutants=False
    )


def run_sample(
    prepared: Prepared,
    images: Sequence[ImageRef],
    folder: Path,
    on_unit: OnUnit | None = None,
) -> list[ImageCosts]:
    """Run some mutants of every operator on some images, and return what each image took.

    Args:
        prepared: The campaign; its folder is left alone.
        images: Which images.
        folder: An empty folder for what is written.
        on_unit: Called with each unit's entry, and whether it was run now.

    Raises:
        DataError: An image cannot be read, or a unit crashed.
    """
    campaign = prepared.campaign
    suites: dict[str, list[ImageRef]] = {}
    for ref in images:
        suites.setdefault(ref.suite, []).append(ref)
    sample = replace(
        campaign,
        root=folder,
        suites=suites,
        operators=[SomeMutants(operator) for operator in campaign.operators],
        settings=sampled_settings(campaign.settings),
        on_error="stop",
        shard=Shard(),
    )
    summary = run_serially(replace(prepared, campaign=sample), on_unit)
    entries = Ledger(folder).latest()
    # Units overlap where a thread writes them, and what lies between them counts too.
    scale = summary.seconds / sum(entry.seconds for entry in entries.values())
    return [
        {
            operator.name: [
                _cost(folder, ref, entries[prepared.unit(ref, mutant)], scale)
                for mutant in (operator.original(), *operator.mutants())
            ]
            for operator in sample.operators
        }
        for ref in images
    ]


def _cost(root: Path, ref: ImageRef, entry: Entry, scale: float) -> UnitCost:
    unit = entry.unit
    folder = Branch(unit.operator, unit.model, unit.suite).folder(root, unit.tag, ref.stem)
    n = len(entry.sha256)
    sizes = [prediction_path(folder, t).stat().st_size for t in range(n)]
    return UnitCost(
        seconds=entry.seconds * scale,
        n_bytes=sum(sizes) / n,
        padding=sum(-size % _BLOCK for size in sizes) / n,
        ledger_bytes=len(ledger_line(entry)) - n * SHA256_IN_LEDGER,
    )


def original_bytes(prepared: Prepared, images: Sequence[ImageRef]) -> list[int]:
    """Return the size of the original's prediction file, per image; unreadable ones are left out.

    How much is found differs more between images than between passes.

    Raises:
        DataError: The model computes NaN or infinity.
    """
    campaign = prepared.campaign
    one = replace(sampled_settings(campaign.settings), passes=1, chunk=1)
    sizes = []
    with arithmetic(one.threads):
        for ref in images:
            try:
                image = read_image(ref.path)
            except DataError:
                continue
            found = run_original_once(campaign.detector, image, one)
            sizes.append(len(encode_prediction(found[0])))
    return sizes


@dataclass(frozen=True, slots=True)
class PassCost:
    """What a pass takes apart from the memo.

    Args:
        plain_seconds: Of a pass of a mutant that is computed as a whole.
        write_seconds: Of encoding and writing what it found.
    """

    plain_seconds: float
    write_seconds: float


def run_plain(prepared: Prepared, ref: ImageRef, folder: Path) -> PassCost:
    """Run one mutant without the memo, and write its files.

    Raises:
        DataError: The image cannot be read, or the model computes NaN or infinity.
    """
    campaign = prepared.campaign
    settings = sampled_settings(campaign.settings)
    mutant = campaign.operators[0].mutants()[0]
    image = read_image(ref.path)
    with arithmetic(settings.threads):
        started = time.perf_counter()
        found, _ = run_mutant(campaign.detector, image, ref.relative_path, mutant, settings)
        computed = time.perf_counter()
        UnitFiles(folder / "plain").write([encode_prediction(passes) for passes in found])
        written = time.perf_counter()
    return PassCost((computed - started) / settings.passes, (written - computed) / settings.passes)
