"""`uamt plan`: the work of an experiment, its cost in time and disk, and what is done already."""

from __future__ import annotations

import argparse
import math
import os
import shlex
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from uamt.options import as_flags
from uamt.outcome import Notes, Outcome
from uamt.presentation import count_of, paragraph

if TYPE_CHECKING:
    from runners.estimates import Estimate
    from runners.planning import Plan

ABOUT = "the work of a run, its cost in time and disk, and what is done; runs nothing of it"
EXAMPLE = "uamt plan experiment.toml"

_LARGE_BYTES = 1e9
_LARGE_SHARE = 0.1


def run(arguments: argparse.Namespace) -> Outcome:
    """Say the plan of an experiment."""
    from uamt.cli import given_options
    from uamt.configuration import campaign, load, ray_options, resolve

    file = Path(arguments.experiment) if arguments.experiment else None
    given = given_options(arguments)
    values = resolve(file, given)
    ray_options(values)

    from runners.campaign import preview
    from runners.planning import make_plan
    from uamt.experiments import weights_note
    from uamt.progress import step_progress

    said = Notes()
    built, notes = campaign(values, load(values))
    # What this process has computed until here is what each worker process starts with.
    start_seconds = time.process_time()
    if warning := weights_note(built.detector):
        said.say(warning, "WARNING")
    for note in notes:
        said.say(note)
    said.say("running some units into a temporary folder, to see what they take")
    with step_progress(None, "sampling", "unit") as on_step:
        plan = make_plan(
            preview(built, redo_changed=values["redo_changed"]),
            on_unit=lambda entry, is_new: on_step(),
        )
    lines = list(_lines(plan, values["workers"], start_seconds))
    if plan.estimate is None:
        took = ""
    else:
        seconds = plan.seconds_with(values["workers"], start_seconds)
        took = (
            f", which takes about {duration(seconds)} with {count_of(values['workers'], 'worker')} "
            f"and {size_of(plan.estimate.disk_bytes)} of disk"
        )
    typed = " ".join(filter(None, [shlex.quote(str(file)) if file else "", as_flags(given)]))
    return Outcome(
        f"{count_of(plan.n_left, 'unit')} to run{took}; nothing was written.",
        text="\n".join(paragraph(f"{name:<9} {text}", hang=10) for name, text in lines),
        then=f"uamt run {typed}",
        counts=_counts(plan, values["workers"], start_seconds),
        facts={"plan": dict(lines)},
        notes=said.all(),
    )


def _counts(plan: Plan, workers: int, start_seconds: float) -> dict[str, int | float]:
    """Return the numbers of a plan, for machines."""
    campaign = plan.prepared.campaign
    counts: dict[str, int | float] = {
        "images": len(campaign.own_images),
        "mutants": len(campaign.mutants()),
        "passes": campaign.settings.passes,
        "units": plan.n_units,
        "units_to_do": plan.n_left,
        "share_behind_sites": plan.own_share,
    }
    if plan.estimate is not None:
        counts["workers"] = workers
        counts["seconds_predicted"] = plan.seconds_with(workers, start_seconds)
        counts["files"] = plan.estimate.n_files
        counts["bytes"] = plan.estimate.n_bytes
    return counts


def _lines(plan: Plan, workers: int, start_seconds: float) -> Iterator[tuple[str, str]]:
    from uamt.experiments import units_text, work_text

    campaign = plan.prepared.campaign
    settings, estimate = campaign.settings, plan.estimate
    if estimate is not None:
        yield from _costs(plan, estimate, workers, start_seconds)
    n_suites = len({ref.suite for ref in campaign.own_images})
    shard = f", shard {campaign.shard}" if campaign.shard.count > 1 else ""
    yield (
        "Work",
        f"{units_text(plan.n_units, count_of(settings.passes, 'pass', 'passes'))}: "
        f"{work_text(campaign)}, {count_of(n_suites, 'suite')}{shard}",
    )
    yield "Done", f"{count_of(plan.n_units - plan.n_left, 'unit')}; to do: {plan.n_left:,}"
    yield (
        "Batch",
        f"{count_of(settings.chunk_size, 'pass', 'passes')} of an image at once "
        f"(--chunk; {plan.prepared.chunk_reason})",
    )
    reuse = "every pass is computed as a whole (--no-memo)"
    if estimate is not None and estimate.plain_seconds is not None:
        reuse = (
            f"it is computed once per image (else {duration(estimate.plain_seconds)} with 1 "
            f"worker, {estimate.plain_seconds / estimate.seconds:.1f} times as long)"
        )
    elif campaign.use_memo:
        reuse = "it is computed once per image"
    yield (
        "Sites",
        f"noise enters where {1 - plan.own_share:.0%} of a pass is computed; that part is the same "
        f"in every pass: {reuse}",
    )
    cheaper = [
        f"--sites {preset} ({1 - share:.0%})"
        for preset, share in sorted(plan.shares.items(), key=lambda item: item[1])
        if share < 0.9 * plan.own_share
    ]
    if cheaper:
        yield "Faster", f"where noise enters later: {', '.join(cheaper)}; another experiment"


def _costs(
    plan: Plan, estimate: Estimate, workers: int, start_seconds: float
) -> Iterator[tuple[str, str]]:
    cores = os.cpu_count() or 1
    numbers = sorted({1, workers, *(n for n in (2, 4, 8, 16, 32, 64) if n <= cores)})
    times = [
        f"{duration(plan.seconds_with(n, start_seconds))} with {count_of(n, 'worker')}"
        for n in numbers
    ]
    is_more = bool(plan.prepared.campaign.settings.curtail)
    yield (
        "Time",
        f"{'at most ' if is_more else ''}{', '.join(times)} (this machine has "
        f"{count_of(cores, 'core')}; estimated from "
        f"{count_of(estimate.n_sampled, 'sample run')} of an image)",
    )
    yield (
        "Disk",
        f"{'at most ' if is_more else ''}{count_of(estimate.n_files, 'file')}, "
        f"{size_of(estimate.n_bytes)} ({size_of(estimate.disk_bytes)} where a file takes blocks of "
        f"4 KiB)",
    )
    if is_more:
        yield "Curtail", "passes that need not run are counted above: it will be less"
    share = estimate.write_seconds / estimate.seconds
    if share > _LARGE_SHARE or estimate.disk_bytes > _LARGE_BYTES:
        yield (
            "Files",
            f"encoding and writing them takes {share:.0%} of the time; a higher --score-threshold, "
            f"--classes or fewer mutants make less of it",
        )


def duration(seconds: float) -> str:
    """Return a time in two units at most, from a second up.

    Example:
        >>> duration(0.2), duration(8.4), duration(167), duration(5000), duration(200000)
        ('1 s', '8 s', '2 min 47 s', '1 h 23 min', '2 d 8 h')
    """
    if seconds < 100:
        return f"{max(seconds, 1):.0f} s"
    if seconds < 600:
        return f"{seconds // 60:.0f} min {seconds % 60:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    if minutes < 48 * 60:
        return f"{minutes // 60} h {minutes % 60} min"
    hours = round(minutes / 60)
    return f"{hours // 24} d {hours % 24} h"


def size_of(n_bytes: float) -> str:
    """Return a size in decimal units.

    Example:
        >>> size_of(1234), size_of(5.25e6), size_of(3e11)
        ('1.2 kB', '5.2 MB', '300.0 GB')
    """
    units = ("B", "kB", "MB", "GB", "TB")
    power = min(len(units) - 1, max(0, int(math.log10(max(n_bytes, 1)) // 3)))
    return f"{n_bytes / 1000**power:.1f} {units[power]}"
