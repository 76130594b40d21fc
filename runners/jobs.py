"""Jobs: images, which the engines hand to their workers."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence

from runners.campaign import Prepared
from runners.curtailed import in_turn
from runners.execution import OnUnit, Summary, finished_entries, run_images
from runners.images import ImageRef
from runners.ledger import Entry, Ledger, Unit
from runners.settings import arithmetic
from scoring.errors import ConfigError

Job = tuple[int, tuple[ImageRef, ...]]
"""Number of a campaign, and images of it that follow each other: one, or those of a suite."""

Entries = Iterable[tuple[Entry, bool]]
"""What became of units, and whether each was run now."""


class Jobs:
    """The images of campaigns that are left to do, and the account of what workers report.

    Args:
        campaigns: As `prepare` returns them.
        workers: Number of workers, at least 1.
        on_unit: Called with each unit's entry, image by image, and whether it was run now.

    Raises:
        ConfigError: The number of workers is below 1.
    """

    def __init__(
        self, campaigns: Sequence[Prepared], workers: int, on_unit: OnUnit | None = None
    ) -> None:
        if workers < 1:
            raise ConfigError(f"workers: expected a whole number from 1 up, got {workers!r}")
        self._started = time.perf_counter()
        self._on_unit = on_unit
        self._summaries = [Summary() for _ in campaigns]
        self.campaigns = campaigns
        self.done: list[Mapping[Unit, Entry]] = []
        self.left: list[Job] = []
        for number, prepared in enumerate(campaigns):
            ledger = Ledger(prepared.campaign.root)
            ledger.close_torn_line()
            self.done.append(ledger.latest())
            campaign = prepared.campaign
            for images in in_turn(campaign.own_images, campaign.settings.curtailment):
                finished = finished_entries(prepared, images, self.done[number])
                if finished is None:
                    self.left.append((number, images))
                else:
                    self.count(number, ((entry, False) for entry in finished))
        self.workers = min(workers, len(self.left))

    def count(self, number: int, entries: Entries) -> None:
        """Count the units of a job of a campaign."""
        for entry, is_new in entries:
            self._summaries[number].add(entry, is_new=is_new)
            if self._on_unit:
                self._on_unit(entry, is_new)

    def summaries(self) -> list[Summary]:
        """Return what was done, per campaign; the time is that of all of them."""
        for summary in self._summaries:
            summary.seconds = time.perf_counter() - self._started
        return self._summaries


def run_job(
    prepared: Prepared, images: Sequence[ImageRef], done: Mapping[Unit, Entry]
) -> list[tuple[Entry, bool]]:
    """Run the images of a job in a worker.

    Raises:
        DataError: See `run_images`.
    """
    ledger = Ledger(prepared.campaign.root)
    settings = prepared.campaign.settings
    with arithmetic(settings.threads, settings.precision):
        return list(run_images(prepared, images, done, ledger))
