"""Print the CPU time of scoring per image and mutant, from files and from memory.

`files` scores prediction files, `facts` adds what `uamt score` says beside the rows (what rule set
`strict` would decide), `memory` begins with what was read. Ours is compared with the reference
implementation in the same run, where a checkout of it is given, else with the plain loop that the
tests hold to be equal. One process, one thread; the sides take turns, the table holds medians.

Usage: OMP_NUM_THREADS=1 python scripts/bench_scoring.py [--objects 5 20 50 100] [--classes 3]
           [--reference PATH] [--memory]
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import importlib.util
import io
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy
from scoring_memory import print_memory
from scoring_scenes import N_MUTANTS, PASSES, Scene, branches, make_scene, write_scene

from scoring.fast import VARIABLE
from scoring.findings import examine_sweep
from scoring.passes import Passes
from scoring.rows import score_image
from scoring.sweep import Sweep, score_sweep

MODEL = "model"
Job = Callable[[], object]


def milliseconds(job: Job) -> float:
    """Return the CPU time of one run of a job."""
    start = time.process_time()
    job()
    return (time.process_time() - start) * 1e3


def medians(jobs: dict[str, tuple[Job, int]], repeats: int) -> dict[str, float]:
    """Return the median CPU time per unit of each job; the jobs take turns.

    Args:
        jobs: What to run, and how many image x mutant pairs one run scores.
        repeats: Rounds, after one that warms up.
    """
    spent: dict[str, list[float]] = {name: [] for name in jobs}
    for turn in range(repeats + 1):
        for name, (job, units) in jobs.items():
            taken = milliseconds(job) / units
            if turn:
                spent[name].append(taken)
    return {name: statistics.median(values) for name, values in spent.items()}


def in_mode(mode: str, job: Job) -> Job:
    """Return the job with the compiled kernel `on` or `off`."""

    def run() -> None:
        os.environ[VARIABLE] = mode
        job()

    return run


def ours_from_files(root: Path, stems: list[str]) -> None:
    for branch, tags in branches(MODEL).items():
        for _ in score_sweep(Sweep(root, branch, tuple(stems), tags)):
            pass


def ours_with_facts(root: Path, stems: list[str]) -> None:
    for branch, tags in branches(MODEL).items():
        for _ in examine_sweep(Sweep(root, branch, tuple(stems), tags)):
            pass


def ours_from_memory(scenes: list[Scene]) -> None:
    for scene in scenes:
        score_image(scene.original, list(scene.mutants.values()))


def plain_loop(original: Passes, mutants: list[Passes]) -> None:
    # It stands among the tests, which are not installed.
    sys.path.append(str(Path(__file__).parent.parent))
    from tests.scoring.plain_scorer import plain_row

    for mutant in mutants:
        plain_row(*([side[t] for t in range(PASSES)] for side in (original, mutant)))


def reference_job(checkout: Path, root: Path, stem: str, sample: int) -> tuple[Job, int]:
    """Return the reference's own function on some mutants of an image, from the same files.

    Its imports are its own matter: scikit-learn and torch among them.
    """
    sys.path.append(str(checkout / "src"))
    score = importlib.import_module("deepluq.metrics_mut.ms_calcu").ms_per_test_case_mutant
    dropout, dropblock = branches(MODEL)
    pairs: list[tuple[str, object]] = [
        (dropout.operator, float(tag)) for tag in branches(MODEL)[dropout][:sample]
    ]
    for tag in branches(MODEL)[dropblock][:sample]:
        rate, block = tag.split("_")
        pairs.append((dropblock.operator, (float(rate), int(block))))

    def job() -> None:
        with contextlib.redirect_stdout(io.StringIO()):
            for operator, mutant in pairs:
                score(Path(f"{stem}.jpg"), MODEL, operator, mutant, str(root), T=PASSES)

    return job, len(pairs)


def measure_scene(args: argparse.Namespace, n_objects: int, n_classes: int) -> list[str]:
    """Return the cells of one row of the table."""
    scenes = [make_scene(seed, n_objects, n_classes) for seed in range(args.images)]
    stems = [f"image_{i}" for i in range(args.images)]
    pairs = N_MUTANTS * args.images
    sample = args.sample
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for stem, scene in zip(stems, scenes, strict=True):
            write_scene(root, MODEL, stem, scene)
        jobs: dict[str, tuple[Job, int]] = {}
        for mode in args.modes:
            jobs[f"files {mode}"] = in_mode(mode, lambda: ours_from_files(root, stems)), pairs
            jobs[f"facts {mode}"] = in_mode(mode, lambda: ours_with_facts(root, stems)), pairs
            jobs[f"memory {mode}"] = in_mode(mode, lambda: ours_from_memory(scenes)), pairs
        if args.reference:
            jobs["other"] = reference_job(args.reference, root, stems[0], sample)
        else:
            some = list(scenes[0].mutants.values())[: 2 * sample]
            jobs["other"] = (lambda: plain_loop(scenes[0].original, some), len(some))
        spent = medians(jobs, args.repeats)
    other = spent.pop("other")
    cells = [f"{n_objects}", f"{n_classes}", f"{other:.2f}"]
    for ours in spent.values():
        cells += [f"{ours:.3f}", f"{other / ours:.0f}"]
    return cells


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--objects", type=int, nargs="+", default=[5, 20, 50, 100])
    parser.add_argument("--classes", type=int, nargs="+", default=[3])
    parser.add_argument("--images", type=int, default=2, help="images of a scene's size")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument(
        "--sample", type=int, default=2, help="mutants of each operator that the other side scores"
    )
    parser.add_argument("--reference", type=Path, help="checkout of the reference implementation")
    parser.add_argument(
        "--memory", action="store_true", help="measure the peak memory at 100 and 2,000 images"
    )
    args = parser.parse_args()
    args.modes = ["on", "off"] if importlib.util.find_spec("numba") else ["off"]
    if args.memory:
        print_memory(args.modes)
        return
    other = "reference" if args.reference else "plain loop"
    print(
        f"CPU ms per image x mutant; {N_MUTANTS} mutants, T = {PASSES}; {platform.machine()}, "
        f"Python {platform.python_version()}, numpy {np.__version__}, scipy {scipy.__version__}"
    )
    header = ["objects", "classes", other]
    for mode in args.modes:
        name = {"on": "kernel", "off": "numpy"}[mode]
        for job in ("files", "facts", "memory"):
            header += [f"{name} {job}", "times"]
    print("".join(f"{name:>14}" for name in header))
    for n_classes in args.classes:
        for n_objects in args.objects:
            print(
                "".join(f"{cell:>14}" for cell in measure_scene(args, n_objects, n_classes)),
                flush=True,
            )


if __name__ == "__main__":
    main()
