"""The demo: the whole job on the built-in detectors and images."""

from __future__ import annotations

import os
import shlex
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from scoring.files import write_atomic
from scoring.suites import SuiteScores

DROPOUT_RATES = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5)
DROPBLOCK_RATES = (0.05, 0.1, 0.3)
DROPBLOCK_BLOCKS = (3, 7)
DETECTORS = ("demo_fasterrcnn", "demo_retinanet")


@dataclass(frozen=True, slots=True)
class DemoResult:
    """What the demo made.

    Args:
        summary: One row per model and suite.
        sentences: Which suite is stronger, and what `strict` would say otherwise.
        tables: The mutants' CSVs.
        summary_path: The summary's CSV.
        page: The HTML page.
        seconds: Time it all took.
    """

    summary: pd.DataFrame
    sentences: tuple[str, ...]
    tables: tuple[Path, ...]
    summary_path: Path
    page: Path
    seconds: float


def run_demo(out: Path, workers: int | None = None, passes: int = 10) -> DemoResult:
    """Run both built-in detectors on the three built-in suites, score them, and write the page.

    Args:
        out: Where everything goes; what is done there already is not run again.
        workers: Processes; None means one per core, at most four.
        passes: T.

    Raises:
        ConfigError: Results of another configuration lie in `out`, or a run is going on there.
    """
    from mutators import MCDropBlock, MCDropout
    from runners.builtin import suites as builtin_suites
    from runners.campaign import Campaign, prepare
    from runners.detectors import load_detector
    from runners.images import list_suites
    from runners.settings import Settings
    from scoring.judgement import strict_remark
    from scoring.summary import kinds_of_kills, summarise, verdict
    from uamt.experiments import run_prepared
    from uamt.progress import image_progress, step_progress, unit_progress
    from uamt.reporting import Request, make_report
    from uamt.scores import score_root
    from uamt.selection import select

    started = time.perf_counter()
    workers = workers or min(4, os.cpu_count() or 1)
    suites = list_suites(builtin_suites())
    operators = (
        MCDropout(rates=DROPOUT_RATES),
        MCDropBlock(rates=DROPBLOCK_RATES, blocks=DROPBLOCK_BLOCKS),
    )
    campaigns = [
        Campaign(
            detector=load_detector(name),
            suites=suites,
            operators=operators,
            settings=Settings(passes=passes),
            root=out,
        )
        for name in DETECTORS
    ]
    with ExitStack() as held, unit_progress(campaigns) as on_unit:
        prepared = [prepare(campaign, held=held) for campaign in campaigns]
        run_prepared(prepared, workers, on_unit)
    total = sum(len(sweep.stems) for sweep in select(out).sweeps)
    with image_progress(total, "scoring") as on_image:
        result = score_root(out, case_study="demo", on_image=on_image)
    scored, tables = _in_order(result.suites, list(suites)), result.tables
    strict = _in_order(result.strict, list(suites))
    summary = summarise(scored, strict=strict)
    said = (verdict(scored), kinds_of_kills(scored), strict_remark(scored, strict))
    sentences = tuple(filter(None, said))
    results = out / "scores"
    summary_path = results / "summary.csv"
    write_atomic(summary_path, summary.to_csv(index=False, lineterminator="\n").encode())
    with step_progress(None, "drawing", "picture") as on_step:
        page = make_report(
            Request(out, order=tuple(suites)),
            on_step,
            shlex.join(["uamt", "demo", "--out", str(out)]),
        ).page
    seconds = time.perf_counter() - started
    return DemoResult(summary, sentences, tuple(tables), summary_path, page, seconds)


def _in_order(scored: list[SuiteScores], suites: list[str]) -> list[SuiteScores]:
    """Return the scores by detector, suites as they were given rather than by name."""
    return sorted(scored, key=lambda s: (DETECTORS.index(s.model), suites.index(s.suite)))
