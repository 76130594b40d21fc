"""A plan: what is left of a campaign, and what it will take, from units that were really run."""

from __future__ import annotations

import math
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from torch import Tensor

from mutators import Site
from runners.campaign import Campaign, Prepared
from runners.estimates import Estimate, estimate
from runners.execution import OnUnit
from runners.images import ImageRef, read_image
from runners.ledger import Ledger
from runners.plan_samples import original_bytes, run_plain, run_sample, spread_images
from runners.preset_shares import shares_behind, sites_of_presets
from runners.settings import arithmetic
from runners.unit_files import is_whole
from scoring.errors import DataError
from scoring.layout import Branch

_MOST_SAMPLES = 9
_MOST_ORIGINALS = 60
_SAMPLE_SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class Plan:
    """What a campaign is, what is left of it, and what that takes.

    Args:
        prepared: The campaign as it will run.
        n_units: Units of this run's images.
        n_left: Of these, units to do.
        n_images_left: Images that have units to do.
        own_share: Share of a pass that lies behind the first of the campaign's sites.
        shares: The same per preset of the family.
        estimate: None where nothing is left to do.
    """

    prepared: Prepared
    n_units: int
    n_left: int
    n_images_left: int
    own_share: float
    shares: Mapping[str, float]
    estimate: Estimate | None

    def seconds_with(self, workers: int, start_seconds: float = 0.0) -> float:
        """Return the time that this many workers take, each on a core of its own.

        Args:
            workers: Number of workers; each takes whole images.
            start_seconds: Of starting worker processes, where there is more than one.
        """
        if self.estimate is None:
            return 0.0
        turns = math.ceil(self.n_images_left / workers)
        seconds = self.estimate.seconds * turns / self.n_images_left
        return seconds + (start_seconds if workers > 1 else 0.0)


def make_plan(
    prepared: Prepared, n_samples: int | None = None, on_unit: OnUnit | None = None
) -> Plan:
    """Return the plan of a campaign. The experiment's folder is only read.

    Args:
        prepared: As `preview` returns it.
        n_samples: Images to sample; None means as many as a quarter of a minute allows, and one
            at least.
        on_unit: Called with the entry of each sampled unit, and whether it was run now.

    Raises:
        DataError: No image can be read, or a sampled unit crashes.
    """
    campaign = prepared.campaign
    left = _places_left(prepared)
    image = read_image(_readable(campaign.images, 1)[0].path)
    with arithmetic(campaign.settings.threads):
        own, shares = _shares(campaign, image)
    images_left = [ref for ref in campaign.own_images if left[ref]]
    readable = _readable(images_left, _MOST_ORIGINALS) if images_left else []
    return Plan(
        prepared=prepared,
        n_units=len(campaign.own_images) * len(campaign.mutants()),
        n_left=sum(map(len, left.values())),
        n_images_left=len(images_left),
        own_share=own,
        shares=shares,
        estimate=_estimate(prepared, left, readable, n_samples, on_unit) if readable else None,
    )


Places = list[tuple[str, int]]
"""Operators, each with the place of a mutant in its sweep; place 0 is the original."""


def _places_left(prepared: Prepared) -> dict[ImageRef, Places]:
    """Return, per image, the units that are not done."""
    campaign = prepared.campaign
    done = Ledger(campaign.root).latest()
    left: dict[ImageRef, Places] = {}
    for ref in campaign.own_images:
        left[ref] = []
        for operator in campaign.operators:
            branch = Branch(operator.name, campaign.detector.name, ref.suite)
            for place, mutant in enumerate((operator.original(), *operator.mutants())):
                entry = done.get(prepared.unit(ref, mutant))
                is_done = (
                    entry is not None
                    and entry.configuration == prepared.configuration(ref, mutant)
                    and prepared.may_have(mutant, len(entry.sha256))
                    and is_whole(branch.folder(campaign.root, mutant.tag, ref.stem), entry)
                )
                if not is_done:
                    left[ref].append((operator.name, place))
    return left


def _readable(images: Sequence[ImageRef], at_most: int) -> list[ImageRef]:
    """Return some images that can be read, evenly spread."""
    readable, fault = [], ""
    for ref in spread_images(images, at_most) if at_most > 1 else images:
        try:
            read_image(ref.path)
        except DataError as error:
            fault = str(error)
            continue
        readable.append(ref)
        if len(readable) == at_most:
            break
    if not readable:
        raise DataError(f"none of the images to plan with can be read; one of them: {fault}")
    return readable


def _shares(campaign: Campaign, image: Tensor) -> tuple[float, dict[str, float]]:
    """Return the share behind the campaign's own sites, and those of the presets."""
    sites: list[Site] = []
    for operator in campaign.operators:
        with operator.original().mutation.on_model(campaign.detector.model) as injection:
            sites += injection.sites
    shares = shares_behind(
        campaign.detector, image, {"": sites, **sites_of_presets(campaign.detector)}
    )
    return shares.pop(""), shares


def _estimate(
    prepared: Prepared,
    left: Mapping[ImageRef, Places],
    readable: Sequence[ImageRef],
    n_samples: int | None,
    on_unit: OnUnit | None,
) -> Estimate:
    """Sample units into a folder on the experiment's disk, and extrapolate."""
    with _folder_beside(prepared.campaign.root) as folder:
        plain = run_plain(prepared, readable[0], folder)
        started = time.perf_counter()
        samples = run_sample(prepared, spread_images(readable, 1), folder / "first", on_unit)
        took = time.perf_counter() - started
        n_more = min(_MOST_SAMPLES, int(_SAMPLE_SECONDS / took)) if n_samples is None else n_samples
        if n_more > 1:
            more = spread_images(readable, n_more)
            samples += run_sample(prepared, more, folder / "more", on_unit)
        n_originals = max(1, int(_SAMPLE_SECONDS / plain.plain_seconds))
        if n_samples is not None:
            n_originals = _MOST_ORIGINALS
        sizes = original_bytes(prepared, spread_images(readable, n_originals))
    return estimate(
        prepared,
        Counter(place for places in left.values() for place in places),
        sum(1 for places in left.values() if places),
        samples,
        plain,
        sizes,
    )


@contextmanager
def _folder_beside(root: Path) -> Iterator[Path]:
    """Return a context with an empty folder on the experiment's disk, or elsewhere if need be."""
    above = next(parent for parent in root.resolve().parents if parent.is_dir())
    try:
        folder = tempfile.TemporaryDirectory(prefix=".uamt-plan-", dir=above)
    except OSError:
        folder = tempfile.TemporaryDirectory(prefix="uamt-plan-")
    with folder as path:
        yield Path(path)
