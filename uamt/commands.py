"""The commands: each takes the parsed arguments, prints its results, and returns an exit code."""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scoring.errors import ConfigError
from uamt.presentation import LEGEND, count_of, table_text

if TYPE_CHECKING:
    from torch import Tensor

    from runners.campaign import Campaign
    from runners.execution import Summary
    from scoring.rules import Rules

DONE, FAILED, MISSING, INCOMPLETE = 0, 1, 3, 4


def demo(arguments: argparse.Namespace) -> int:
    """Run the demo and print its table, its verdict, and where everything lies."""
    from uamt.demo import run_demo

    result = run_demo(Path(arguments.out), arguments.workers)
    print(table_text(result.summary))
    print(f"\n{LEGEND}\n\n{result.verdict}\n")
    print(f"{count_of(len(result.tables), 'mutant table')}: {result.tables[0].parents[3]}")
    print(f"Summary: {result.summary_path}")
    print(f"Done in {result.seconds:.0f} s. Next: uamt run --help, for a detector of your own.")
    print(f"Report: {result.page.resolve()}")
    return DONE


def doctor(arguments: argparse.Namespace) -> int:
    """Print every check of a detector; 1 if one fails, 3 if the images prove nothing."""
    from uamt.cli import given_options
    from uamt.configuration import load
    from uamt.doctor import examine
    from uamt.options import OPTIONS

    values: dict[str, Any] = {option.key: option.default for option in OPTIONS}
    values |= {"model.name": arguments.model, **given_options(arguments)}
    images = _doctor_images(values["images"], values["image_root"])
    checks = examine(load(values), images, values["sites"], values["score_threshold"])
    for check in checks:
        print(f"{check.outcome:<12}  {check.claim}: {check.detail}")
    outcomes = [check.outcome for check in checks]
    if "FAILED" in outcomes:
        print(f"{arguments.model}: {outcomes.count('FAILED')} of {len(checks)} checks failed.")
        return FAILED
    if "inconclusive" in outcomes:
        print(
            f"{arguments.model}: inconclusive; nothing failed, but "
            f"{outcomes.count('inconclusive')} of {len(checks)} checks need other images, another "
            f"threshold or model."
        )
        return MISSING
    print(
        f"{arguments.model}: all {len(checks)} checks hold. Next: uamt run --model "
        f"{arguments.model}"
    )
    return DONE


_DOCTOR_IMAGES = 4


def _doctor_images(source: str | None, image_root: str | None) -> dict[str, Tensor]:
    from runners.builtin import suites as builtin_suites
    from runners.images import list_images, read_image

    images = Path(source) if source else builtin_suites()["plain"]
    root = Path(image_root) if image_root else None
    references = list_images(images, "images", "path", root)[:_DOCTOR_IMAGES]
    return {reference.relative_path: read_image(reference.path) for reference in references}


def run(arguments: argparse.Namespace) -> int:
    """Run an experiment; resumes."""
    from uamt.cli import given_options
    from uamt.configuration import campaign, load, ray_options, resolve, save

    file = Path(arguments.experiment) if arguments.experiment else None
    values = resolve(file, given_options(arguments))
    if values["workers"] < 1:
        raise ConfigError(f"--workers: expected 1 or more, got {values['workers']}")

    from runners.campaign import prepare
    from uamt.experiments import removal_note, run_prepared
    from uamt.progress import unit_progress

    ray = ray_options(values)
    if ray:
        from runners.ray_engine import import_ray

        import_ray()  # asked for before anything is written
    built, notes = campaign(values, load(values))
    for note in notes:
        print(f"note: {note}", file=sys.stderr)
    with ExitStack() as held:
        prepared = prepare(built, redo_changed=values["redo_changed"], held=held)
        save(values, built)
        if prepared.removed:
            print(f"note: {removal_note(prepared)}", file=sys.stderr)
        with unit_progress([built]) as on_unit:
            (summary,) = run_prepared([prepared], values["workers"], on_unit, ray)
    return _print_run(summary, prepared.campaign)


def _print_run(summary: Summary, campaign: Campaign) -> int:
    for line in _without_passes(summary):
        print(line, file=sys.stderr)
    for mutant in summary.unchanged():
        print(
            f"note: {mutant} equals the original in every pass of every image and cannot be "
            f"killed; if the original finds nothing there, lower --score-threshold",
            file=sys.stderr,
        )
    settings = campaign.settings
    each = f"{settings.passes} passes each"
    if settings.curtail:
        each = f"up to {each}"
        full = settings.passes * (summary.n_mutated + summary.n_dropped)
        print(
            f"{count_of(summary.n_passes, 'pass', 'passes')} of mutants of {full:,} in a full "
            f"campaign settle '{settings.curtail}' by rule '{settings.kill_rule}'; "
            f"{count_of(summary.n_dropped, 'pair')} of image and mutant dropped."
        )
    print(
        f"{count_of(summary.n_run, 'unit')} (image x mutant, {each}) run in "
        f"{summary.seconds:.0f} s, {summary.n_skipped:,} done before, "
        f"{count_of(len(summary.crashed), 'crash', 'crashes')}, "
        f"{count_of(len(summary.unreadable), 'unreadable image')}."
    )
    root, shard = campaign.root, campaign.shard
    print(f"Predictions: {root.resolve()}")
    if shard.count > 1:
        print(
            f"Shard {shard}: {len(campaign.own_images)} of {len(campaign.images)} images. Next, "
            f"once all {shard.count} shards are done: uamt score {root}"
        )
    else:
        print(f"Next: uamt score {root}")
    return DONE if summary.is_clean else INCOMPLETE


_SHOWN = 10


def _without_passes(summary: Summary) -> Iterator[str]:
    """Yield a line for each image that was skipped, and one for each that mutants crashed on."""
    skipped = list(summary.unreadable.items())
    for (suite, image), message in skipped[:_SHOWN]:
        yield f"skipped image '{suite}/{image}': {message}"
    if len(skipped) > _SHOWN:
        yield f"skipped {len(skipped) - _SHOWN:,} more images; the ledger lists them"
    crashes: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for entry in summary.crashed:
        unit = entry.unit
        crashes[unit.suite, unit.image, entry.message].append(f"{unit.operator} {unit.tag}")
    for (suite, image, message), mutants in list(crashes.items())[:_SHOWN]:
        who = mutants[0] if len(mutants) == 1 else f"{len(mutants)} mutants"
        yield f"crashed: {who} on '{suite}/{image}': {message}"
    if len(crashes) > _SHOWN:
        rest = list(crashes.values())[_SHOWN:]
        yield f"crashed: {sum(map(len, rest)):,} more; the ledger lists them"


def score(arguments: argparse.Namespace) -> int:
    """Score an experiment and print the table of suites."""
    from scoring.files import write_atomic
    from scoring.judgement import strict_remark
    from scoring.summary import summarise, verdict
    from uamt.progress import image_progress
    from uamt.scores import score_notes, score_root
    from uamt.selection import select

    if arguments.passes is not None and arguments.passes < 1:
        raise ConfigError(f"--passes: expected 1 or more, got {arguments.passes}")
    rules = _rules(arguments)
    root = Path(arguments.root)
    out = Path(arguments.out) if arguments.out else root / "scores"
    selection = select(root)
    total = sum(len(sweep.stems) for sweep in selection.sweeps)
    with image_progress(total, "scoring") as on_image:
        scored = score_root(
            root,
            out,
            case_study=arguments.case_study,
            passes=arguments.passes,
            rules=rules,
            scores=arguments.scores,
            on_image=on_image,
            workers=arguments.workers,
            selection=selection,
        )
    summary = summarise(scored.suites, rules, scored.strict)
    write_atomic(out / "summary.csv", summary.to_csv(index=False, lineterminator="\n").encode())
    for note in score_notes(scored):
        print(f"note: {note}", file=sys.stderr)
    print(table_text(summary))
    print(f"\n{LEGEND}\n\n{verdict(scored.suites, rules)}")
    remark = strict_remark(scored.suites, scored.strict, rules)
    if remark:
        print(remark)
    print(f"\n{count_of(len(scored.tables), 'mutant table')} and summary.csv: {out.resolve()}")
    is_incomplete = not selection.is_complete or summary["crashed"].any()
    return INCOMPLETE if is_incomplete else DONE


def _rules(arguments: argparse.Namespace) -> Rules:
    """Return the rules that the flags of `uamt score` give."""
    from scoring.rules import rules_named

    if arguments.keep_nonfinite and arguments.rules == "strict":
        raise ConfigError(
            "--keep-nonfinite: rule set strict compares no NaN; use --skip-nonfinite to leave out "
            "the passes that hold one"
        )
    nonfinite = "skip" if arguments.skip_nonfinite else "refuse"
    return rules_named(arguments.rules).with_(
        binomial_n=arguments.binomial_n,
        nonfinite="keep" if arguments.keep_nonfinite else nonfinite,
    )
