"""The commands: each takes the parsed arguments, does its job, and returns what it did."""

from __future__ import annotations

import argparse
import shlex
import shutil
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from scoring.errors import ConfigError
from uamt.outcome import DONE, INCOMPLETE, Notes, Outcome
from uamt.presentation import (
    LEGEND,
    console_table,
    count_of,
    paragraph,
    share_meaning,
    terminal_width,
)

if TYPE_CHECKING:
    import pandas as pd

    from runners.campaign import Campaign
    from runners.execution import Summary
    from runners.ledger import Unit
    from scoring.rules import Rules


def demo(arguments: argparse.Namespace) -> Outcome:
    """Run the demo; say its table, its verdict, and where everything lies."""
    from uamt.demo import run_demo

    result = run_demo(Path(arguments.out), arguments.workers)
    return Outcome(
        f"Two detectors run, mutated and scored on three suites in {result.seconds:.0f} s; "
        f"{count_of(len(result.tables), 'mutant table')} written.",
        text=_score_text(result.summary, result.sentences),
        paths={
            "tables": result.tables[0].parents[3].resolve(),
            "summary": result.summary_path.resolve(),
            "report": result.page.resolve(),
        },
        then=_in_this_shell("uamt doctor --help"),
        why="for a detector of your own; README.md, walk 1, goes on from there",
        counts={"tables": len(result.tables)},
        tables={"summary": result.summary},
        facts={"verdict": " ".join(result.sentences)},
    )


def _in_this_shell(command: str) -> str:
    """Return a command of ours as it can be typed where a virtual environment is not active."""
    is_active = shutil.which("uamt") is not None
    activate = Path(sys.prefix) / "bin" / "activate"
    if is_active or not activate.is_file():
        return command
    here = Path.cwd()
    path = activate.relative_to(here) if activate.is_relative_to(here) else activate
    return f"source {shlex.quote(str(path))} && {command}"


def _score_text(summary: pd.DataFrame, sentences: Sequence[str]) -> str:
    """Return the table of suites, what it says, the verdict first, and what its columns mean."""
    first, *further = sentences
    meaning = share_meaning(summary["suite"].nunique())
    said = "\n".join(map(paragraph, (first, *further, meaning)))
    return f"{console_table(summary, terminal_width())}\n\n{said}\n\n{paragraph(LEGEND)}"


def run(arguments: argparse.Namespace) -> Outcome:
    """Run an experiment; resumes."""
    from uamt.cli import given_options
    from uamt.configuration import campaign, load, ray_options, resolve, save

    file = Path(arguments.experiment) if arguments.experiment else None
    values = resolve(file, given_options(arguments))
    if values["workers"] < 1:
        raise ConfigError(f"--workers: expected 1 or more, got {values['workers']}")

    from runners.campaign import prepare
    from uamt.experiments import removal_note, run_prepared, weights_note
    from uamt.progress import unit_progress

    ray = ray_options(values)
    if ray:
        from runners.ray_engine import import_ray

        import_ray()  # asked for before anything is written
    said = Notes()
    built, notes = campaign(values, load(values))
    if warning := weights_note(built.detector):
        said.say(warning, "WARNING")
    for note in notes:
        said.say(note)
    with ExitStack() as held:
        prepared = prepare(built, redo_changed=values["redo_changed"], held=held)
        save(values, built)
        if prepared.removed:
            said.say(removal_note(prepared))
        with unit_progress([built]) as on_unit:
            (summary,) = run_prepared([prepared], values["workers"], on_unit, ray)
    return _run_outcome(summary, prepared.campaign, said)


def _run_outcome(summary: Summary, campaign: Campaign, notes: Notes) -> Outcome:
    from uamt.experiments import units_text, work_text

    for word, line in _without_passes(summary):
        notes.say(line, word)
    for mutant in summary.unchanged():
        notes.say(
            f"{mutant} equals the original in every pass of every image and cannot be killed; if "
            f"the original finds nothing there, lower --score-threshold"
        )
    settings = campaign.settings
    each = count_of(settings.passes, "pass", "passes")
    text = ""
    if settings.curtail:
        each = f"up to {each}"
        full = settings.passes * (summary.n_mutated + summary.n_dropped)
        text = paragraph(
            f"{count_of(summary.n_passes, 'pass', 'passes')} of mutants of {full:,} in a full "
            f"campaign settle '{settings.curtail}' by rule '{settings.kill_rule}'; "
            f"{count_of(summary.n_dropped, 'pair')} of image and mutant dropped."
        )
    done = (
        f"{units_text(summary.n_run, each)} run in {summary.seconds:.0f} s, loading apart, "
        f"{summary.n_skipped:,} done before: {work_text(campaign)}; "
        f"{count_of(len(summary.crashed), 'crash', 'crashes')}, "
        f"{count_of(len(summary.unreadable), 'unreadable image')}."
    )
    total = _n_listed(campaign)
    if total > len(campaign.mutants()) - len(campaign.operators):
        done += f" With those of earlier runs {total} mutants lie there, and are scored together."
    root, shard = campaign.root, campaign.shard
    why = "how many mutants the images notice, and which suite notices more"
    if shard.count > 1:
        done += f" Shard {shard}: {len(campaign.own_images)} of {len(campaign.images)} images."
        why = f"once all {shard.count} shards are done"
    return Outcome(
        done,
        DONE if summary.is_clean else INCOMPLETE,
        text,
        {"predictions": root.resolve()},
        f"uamt score {shlex.quote(str(root))}",
        why,
        counts={
            "units_run": summary.n_run,
            "units_done_before": summary.n_skipped,
            "units_dropped": summary.n_dropped,
            "crashed": len(summary.crashed),
            "unreadable_images": len(summary.unreadable),
            "passes": settings.passes,
            "images": len(campaign.own_images),
            "mutants": len(campaign.mutants()),
        },
        notes=notes.all(),
    )


def _n_listed(campaign: Campaign) -> int:
    """Return how many mutants of the model its experiment lists, those of earlier runs included."""
    from runners.manifest_file import read_manifest

    model = read_manifest(campaign.root)["models"][campaign.detector.name]
    return sum(len(operator["tags"]) for operator in model["operators"].values())


_SHOWN = 10


def _without_passes(summary: Summary) -> Iterator[tuple[str, str]]:
    """Yield a note for each image that was skipped, and one for each cause of crashes."""
    skipped = list(summary.unreadable.items())
    for (suite, image), message in skipped[:_SHOWN]:
        yield f"skipped image '{suite}/{image}'", message
    if len(skipped) > _SHOWN:
        yield "skipped", f"{len(skipped) - _SHOWN:,} more images; manifest.json names them"
    causes: dict[str, list[Unit]] = defaultdict(list)
    for entry in summary.crashed:
        causes[entry.message].append(entry.unit)
    for message, units in list(causes.items())[:_SHOWN]:
        mutants = {f"{unit.operator} {unit.tag}" for unit in units}
        images = {f"'{unit.suite}/{unit.image}'" for unit in units}
        who = mutants.pop() if len(mutants) == 1 else count_of(len(mutants), "mutant")
        where = images.pop() if len(images) == 1 else count_of(len(images), "image")
        yield "crashed", f"{who} on {where}: {message}"
    if len(causes) > _SHOWN:
        rest = list(causes.values())[_SHOWN:]
        yield "crashed", f"{sum(map(len, rest)):,} more; 'uamt verify' lists them"


def score(arguments: argparse.Namespace) -> Outcome:
    """Score an experiment and print the table of suites."""
    from scoring.files import write_atomic
    from scoring.judgement import strict_remark
    from scoring.summary import kinds_of_kills, summarise, verdict
    from uamt.image_sources import has_sources
    from uamt.mutant_strength import strength
    from uamt.progress import image_progress
    from uamt.scores import (
        case_study_name,
        few_passes_remark,
        other_names,
        score_notes,
        score_root,
    )
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
    notes = Notes()
    for note in score_notes(scored):
        notes.say(note)
    if not arguments.out:
        for name in other_names(out, case_study_name(root, arguments.case_study)):
            notes.say(
                f"{out / name} holds scores of this folder under another name, which it had "
                f"before; suites and report show both, until that folder is removed"
            )
    told, remark = (
        verdict(scored.suites, rules),
        strict_remark(scored.suites, scored.strict, rules),
    )
    wrong = strength(scored.suites, root, rules)
    few = few_passes_remark(scored, rules)
    kinds = kinds_of_kills(scored.suites, rules)
    sentences = [told, kinds, wrong.remark if wrong else "", few, remark]
    of_report = shlex.join(
        ["uamt", "report", *([str(out), "--experiment"] if arguments.out else []), str(root)]
    )
    gate = shlex.join(["uamt", "suites", str(out if arguments.out else root)])
    is_known = any(has_sources(root, suite.model, suite.suite) for suite in scored.suites)
    pictures = (
        ", with pictures of kills"
        if is_known
        else "; where the images lie, and so pictures of kills, it learns by --images FOLDER"
    )
    following = [
        (of_report, f"the same as one page{pictures}"),
        (f"{gate} --fail-under kill_share=.5", "for CI (docs/gate.md)"),
    ]
    if wrong and wrong.command:
        following.insert(0, (wrong.command, "more mutants beside these; then score again"))
    is_incomplete = not selection.is_complete or summary["crashed"].any()
    return Outcome(
        f"{count_of(len(scored.tables), 'mutant table')} and summary.csv written.",
        INCOMPLETE if is_incomplete else DONE,
        _score_text(summary, [sentence for sentence in sentences if sentence]),
        {"scores": out.resolve(), "summary": (out / "summary.csv").resolve()},
        *following[0],
        also=following[1:],
        counts={"tables": len(scored.tables)},
        tables={"summary": summary},
        facts={
            "verdict": told,
            "strict_remark": remark or None,
            "strength_remark": wrong.remark if wrong else None,
        },
        notes=notes.all(),
    )


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
