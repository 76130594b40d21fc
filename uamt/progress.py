"""Progress: a bar on stderr, and nothing where stderr is no terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tqdm import tqdm

if TYPE_CHECKING:
    from runners.campaign import Campaign
    from runners.ledger import Entry
    from scoring.sweep import Sweep


@contextmanager
def unit_progress(campaigns: Sequence[Campaign]) -> Iterator[Callable[[Entry, bool], None]]:
    """Return a context that counts the units of all campaigns, over all workers.

    The rate and the time left are those of the units that are run: what was done before counts
    as done, and takes no time.
    """
    total = sum(len(campaign.own_images) * len(campaign.mutants()) for campaign in campaigns)
    with _bar(total, "running", "unit") as bar:
        yield lambda entry, is_new: (_step if is_new else _skip)(bar)


@contextmanager
def image_progress(total: int, name: str) -> Iterator[Callable[[Sweep, str], None]]:
    """Return a context that counts scored images."""
    with _bar(total, name, "image") as bar:
        yield lambda sweep, stem: _step(bar)


@contextmanager
def step_progress(
    total: int | None, name: str, unit: str, *, is_below_lines: bool = False
) -> Iterator[Callable[[], None]]:
    """Return a context that counts steps of any kind; its bar shows after a second.

    Args:
        total: How many there are; None if nobody knows.
        name: What is done.
        unit: What a step is.
        is_below_lines: Whether lines are said meanwhile by `say_above_bars`; then the bar shows at
            once, and is gone at the end.
    """
    delay = 0 if is_below_lines else 1
    with _bar(total, name, unit, delay=delay, leave=not is_below_lines) as bar:
        yield lambda: _step(bar)


def say_above_bars(text: str) -> None:
    """Print a line at once; a bar that shows moves below it."""
    with tqdm.external_write_mode():
        print(text, flush=True)


def _step(bar: tqdm[Any]) -> None:
    bar.update()


def _skip(bar: tqdm[Any]) -> None:
    if bar.disable:
        return
    bar.unpause()
    bar.initial += 1
    bar.n += 1
    bar.last_print_n += 1


def _bar(
    total: int | None, name: str, unit: str, delay: float = 0, leave: bool = True
) -> tqdm[Any]:
    # Workers report in bursts, so the rate is that of the whole run: smoothing 0.
    return tqdm(
        total=total,
        desc=name,
        unit=unit,
        file=sys.stderr,
        smoothing=0,
        delay=delay,
        leave=leave,
        disable=not sys.stderr.isatty(),
    )
