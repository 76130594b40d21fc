"""`uamt report`: one page that says which suite would notice a worse detector, with pictures."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from uamt.freshness import stale_note
from uamt.gathered import Gathering, add_options, missing_rows
from uamt.outcome import DONE, INCOMPLETE, Notes, Outcome
from uamt.presentation import count_of

ABOUT = "one HTML page of a scored experiment: the verdict, mutants, images, what kills look like"
EXAMPLES = (
    "uamt report experiment",
    "uamt report experiment --images day=photos/day --images night=photos/night --out page.html",
)
PICTURES = 72
"""Images under a mutant on a page, where nobody says how many."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `uamt report`."""
    add_options(parser, "folder of a scored experiment, or of its scores")
    parser.add_argument("--out", metavar="FILE", help="the page; default: RESULTS/report.html")
    parser.add_argument(
        "--tables",
        metavar="FOLDER",
        help="of the tables behind the page; default: that of the scores",
    )
    parser.add_argument(
        "--images",
        action="append",
        default=[],
        metavar="FOLDER",
        help="where the images are now, or SUITE=FOLDER for those of one suite; default: where "
        "the run had them",
    )
    parser.add_argument(
        "--experiment",
        metavar="ROOT",
        help="folder of the predictions, where it is neither RESULTS nor above it",
    )
    parser.add_argument(
        "--label-names",
        metavar="FILE",
        help="what labels are called: a text file, one name per line from label 0; default: as the "
        "detector told",
    )
    parser.add_argument(
        "--pictures",
        type=int,
        default=PICTURES,
        metavar="N",
        help="images drawn under a mutant with all passes, at the most, in turns over models and "
        f"suites; default: {PICTURES}",
    )


def run(arguments: argparse.Namespace) -> Outcome:
    """Write the page; say where it lies and what is missing in it."""
    from uamt.progress import step_progress
    from uamt.reporting import Request, make_report

    gathering = Gathering.of(arguments)
    request = Request(
        Path(arguments.results),
        Path(arguments.out) if arguments.out else None,
        tuple(arguments.images),
        Path(arguments.experiment) if arguments.experiment else None,
        arguments.pictures,
        gathering.suites,
        gathering.order,
        gathering.passes,
        Path(arguments.label_names) if arguments.label_names else None,
        Path(arguments.tables) if arguments.tables else None,
    )
    with step_progress(None, "drawing", "picture") as on_step:
        written = make_report(request, on_step)
    notes, without_row = Notes(), missing_rows(written.models)
    stale = stale_note(gathering.results, request.experiment)
    for note in (*written.notes, *without_row, *([stale] if stale else ())):
        notes.say(note)
    gate = shlex.join(["uamt", "suites", arguments.results])
    following = [(f"{gate} --fail-under kill_share=.5", "for CI (docs/gate.md)")]
    if written.show:
        following.insert(0, (written.show, "one kill as a picture of its own"))
    return Outcome(
        f"One page of {count_of(len(written.models), 'model')}, with "
        f"{count_of(written.n_cases, 'picture')} of an image under a mutant; "
        f"{count_of(written.n_tables, 'table')} behind its numbers written.",
        INCOMPLETE if without_row or stale else DONE,
        paths={"tables": written.results.resolve(), "report": written.page.resolve()},
        then=following[0][0],
        why=following[0][1],
        also=following[1:],
        counts={
            "models": len(written.models),
            "pictures": written.n_cases,
            "images": written.n_images,
            "tables": written.n_tables,
        },
        notes=notes.all(),
    )
