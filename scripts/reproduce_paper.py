"""Recompute every published aggregate of the UAMTERS study, and say file by file what differs.

Usage: python scripts/reproduce_paper.py --data CLONE [--out FOLDER] [--json]

CLONE is a clone of https://github.com/Simula-COMPLEX/UAMTERS, or any folder that holds the
published tables (`<case>/<model>/<suite>/<operator>/mutant_<tag>.csv`) and aggregates. The study's
data has no licence: it is read where it lies and never copied. Exit code 1 if anything differs.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path, PurePosixPath

import numpy as np
import pandas as pd

from scoring.errors import DataError, UamtError
from scoring.layout import find_tables
from scoring.membership import Members
from scoring.results import ModelResults, read_results
from scoring.safe_pickle import read_paths
from scoring.study.scores import score_grids
from scoring.study.tables import StudyOptions, comparison_tables, trend_tables
from scoring.suite_tables import ModelAggregates, Tables, aggregate, suite_tables, write_tables
from uamt.outcome import Outcome, json_of, json_of_error
from uamt.progress import step_progress

TOLERANCE = 1e-9
QUANTILE_TOLERANCE = 1e-8
"""Of half-widths: they hold a quantile of Student's t."""
ROUNDED_TOLERANCE = 0.0005 + TOLERANCE
"""Of figures that were published at three decimals."""

_REPOSITORY = "https://github.com/Simula-COMPLEX/UAMTERS"
_RATIO_NAME = "mc_dropout_mutation_ratio.csv"
_KEYS = ("case_study", "model", "dropout_rate", "block_size", "test_suite", "mutant_id")
_TEST_KEYS = ("case_study", "model", "metric", "test_suite_1", "test_suite_2")
_RENAMED = {"case": "case_study", "p": "p_value"}
_TESTS = {
    "own_unrounded/own_rq2_global.csv": "rq2_mutants.csv",
    "own_unrounded/own_rq2_merge.csv": "rq2_rows.csv",
    "own_unrounded/own_rq2_pairwise.csv": "rq2_pairs.csv",
    "own_unrounded/own_rq3_spearman.csv": "rq3_spearman.csv",
    "own_unrounded/own_rq3_ols.csv": "rq3_planes.csv",
    "repo_scripts/rq2_global_*.csv": "rq2_mutants.csv",
    "repo_scripts/rq2_merge_*.csv": "rq2_rows.csv",
    "repo_scripts/rq2_pairwise_*.csv": "rq2_pairs.csv",
}


@dataclass(frozen=True, slots=True)
class Check:
    """One published file, and how far ours is from it.

    Args:
        file: The published file.
        n_values: Values compared.
        largest: Largest difference of a number; NaN where none was compared.
        problem: What differs; empty if nothing does.
    """

    file: str
    n_values: int
    largest: float
    problem: str = ""


def compare(
    file: str, ours: pd.DataFrame, published: pd.DataFrame, keys: Sequence[str], tolerance: float
) -> Check:
    """Return how far our table is from the published one, row by row as the keys say.

    Columns that only the published table has are differences, except for a nameless index.
    """
    published = published.loc[:, [name for name in published if not name.startswith("Unnamed: ")]]
    keys = [key for key in keys if key in published and key in ours]
    missing = [name for name in published if name not in ours]
    if missing:
        return Check(file, 0, np.nan, f"we have no columns {missing}")
    left, right = (table.set_index(keys) for table in (ours, published))
    if not left.index.is_unique or set(left.index) != set(right.index):
        differing = sorted(map(str, set(left.index) ^ set(right.index)))[:3]
        return Check(file, 0, np.nan, f"other rows: {differing or 'some come twice'}")
    # The tables of the whole study may hold models in any order; elsewhere the order is published.
    in_order = "case_study" in keys or list(left.index) == list(right.index)
    left = left.loc[right.index]
    largest, problems = 0.0, [] if in_order else ["rows in another order"]
    for name in right:
        if right[name].dtype.kind not in "fiu":
            equal = left[name].astype(str).to_numpy() == right[name].astype(str).to_numpy()
            problems += [] if equal.all() else [f"{name}: {int((~equal).sum())} differ"]
            continue
        a, b = (table[name].to_numpy(np.float64) for table in (left, right))
        gaps = np.where(np.isnan(a) & np.isnan(b), 0.0, np.abs(a - b))
        allowed = max(tolerance, QUANTILE_TOLERANCE if str(name).endswith("_CI95") else 0.0)
        worst = float("inf") if np.isnan(gaps).any() else float(gaps.max(initial=0.0))
        largest = max(largest, worst)
        problems += [] if worst <= allowed else [f"{name}: by up to {worst:.2g}"]
    return Check(file, right.size, largest, "; ".join(problems))


def read_published(path: Path) -> pd.DataFrame:
    """Return a published table.

    Raises:
        DataError: It cannot be read.
    """
    try:
        return pd.read_csv(path)
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read as a published table ({error})") from error


def find_published(data: Path) -> tuple[Path, Path]:
    """Return the folders of the mutants' tables and of the aggregates.

    Raises:
        DataError: They are not there.
    """
    if not data.is_dir():
        raise DataError(
            f"{data}: expected the folder of a clone, found none; make it with 'git clone --depth "
            f"1 {_REPOSITORY} {shlex.quote(str(data))}' (a download), and give this command again"
        )
    for ratio in sorted(data.rglob(_RATIO_NAME)):
        for tables in (ratio.parent, ratio.parents[1] / "mutants"):
            if tables.is_dir() and find_tables(tables):
                return tables, ratio.parent
    raise DataError(
        f"{data}: this folder does not hold the study's tables, as an interrupted 'git clone' "
        f"leaves it; expected '{_RATIO_NAME}' beside the tables "
        f"'<case>/<model>/<suite>/<operator>/mutant_<tag>.csv', or in 'expected' beside 'mutants'; "
        f"delete it and clone {_REPOSITORY} again"
    )


def published_order(expected: Path) -> list[str]:
    """Return the suites in the order in which the models' tables list them."""
    names: dict[str, None] = {}
    for path in sorted(expected.rglob("ua_ms_model.csv")):
        names |= dict.fromkeys(read_published(path)["test_suite"])
    return list(names)


def check_aggregates(expected: Path, tables: Tables) -> Iterator[Check]:
    """Yield a check of every published aggregate."""
    for path in sorted(expected.rglob("*.csv")):
        relative = PurePosixPath(path.relative_to(expected).as_posix())
        if relative.name.startswith("mutant_"):
            continue
        if relative not in tables:
            yield Check(str(relative), 0, np.nan, "its tables of mutants are not there")
            continue
        yield compare(str(relative), tables[relative], read_published(path), _KEYS, TOLERANCE)


def check_tests(folder: Path, tables: Tables) -> Iterator[Check]:
    """Yield a check of every file of test results, unrounded or at three decimals."""
    for pattern, ours in _TESTS.items():
        for path in sorted(folder.glob(pattern)):
            published = read_published(path).rename(columns=_RENAMED)
            # Figures of scipy stand beside the same figures by another hand.
            published = published.drop(columns=["rho_scipy", "p_scipy"], errors="ignore")
            tolerance = ROUNDED_TOLERANCE if "repo_scripts" in pattern else TOLERANCE
            file = path.relative_to(folder.parent).as_posix()
            yield compare(file, tables[PurePosixPath(ours)], published, _TEST_KEYS, tolerance)


def check_latex(folder: Path, models: Sequence[ModelAggregates]) -> Iterator[Check]:
    """Yield a check of every published LaTeX table, whose text must be ours."""
    for case_study in dict.fromkeys(model.results.case_study for model in models):
        tables = {m.results.model: m.model_table() for m in models if m.key[0] == case_study}
        for name, grid in score_grids(tables).items():
            path = folder / f"{case_study}_{name}.tex"
            if path.is_file():
                text = path.read_text(encoding="utf-8").replace("test_suite", r"test\_suite")
                same = _without_labels(text) == _without_labels(grid.to_latex())
                numbers = sum(map(len, grid.numbers))
                problem = "" if same else "the text differs"
                yield Check(f"{folder.parent.name}/{folder.name}/{path.name}", numbers, 0, problem)


def _without_labels(latex: str) -> str:
    """Return a LaTeX table without the names that the authors gave to models."""
    return re.sub(r"\\textit\{[^}]*\}", "", latex.replace(r"\_", "_"))


def listed_images(data: Path) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Return the study's images of each model and of each suite, by the lists beside the tables."""
    listing = next(iter(sorted(data.rglob("suites.json"))), None)
    if listing is not None:
        content = json.loads(listing.read_text(encoding="utf-8"))
        suites = {k: v for case in content["suites"].values() for k, v in case.items()}
        return content["filtered_images"], suites
    models, suites = {}, {}
    for path in sorted(data.rglob("*.pkl")):
        name = re.fullmatch(r"common_images_(.+)_filtered", path.stem)
        if name:
            models[name.group(1)] = [p.name for p in read_paths(path)]
        elif path.parent.name.startswith("test_suites_"):
            suites[path.stem] = [p.name for p in read_paths(path)]
    return models, suites


def check_rows(
    models: Sequence[ModelResults],
    images: Mapping[str, Sequence[str]],
    suites: Mapping[str, Sequence[str]],
) -> Iterator[Check]:
    """Yield a check of the rows of every suite's tables against the study's lists of images."""
    for model in models:
        for suite in model.suites:
            scores = suite.scores
            if model.model not in images or scores.suite not in suites:
                continue
            members = Members(scores.suite, tuple(suites[scores.suite]), "suites")
            filtered = [Path(name).stem for name in images[model.model]]
            expected = [stem for stem in filtered if stem in members]
            same = list(scores.stems) == expected and not scores.n_crashed
            file = f"{model.case_study}/{model.model}/{scores.suite}/*/mutant_*.csv"
            problem = "" if same else "rows are not the suite's images in their order"
            yield Check(file, len(scores.mutants) * len(scores.stems), np.nan, problem)


def main(argv: Sequence[str] | None = None) -> int:
    """Run all checks, print a verdict for each file, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--data", type=Path, required=True, help="clone of UAMTERS")
    parser.add_argument("--out", type=Path, help="folder for our tables; default: none is written")
    parser.add_argument("--json", action="store_true", help="print one JSON object, for machines")
    parser.epilog = "example: python scripts/reproduce_paper.py --data UAMTERS --out our_tables"
    arguments = parser.parse_args(argv)
    started = time.perf_counter()
    try:
        checks = reproduce(arguments.data, arguments.out)
    except UamtError as error:
        print(f"reproduce_paper: error: {error}", file=sys.stderr)
        if arguments.json:
            seconds = time.perf_counter() - started
            print(json_of_error("reproduce_paper", error.exit_code, str(error), seconds))
        return error.exit_code
    if not arguments.json:
        return print_checks(checks, arguments.out)
    wrong = sum(bool(check.problem) for check in checks)
    outcome = Outcome(
        summary_of(checks),
        1 if wrong else 0,
        paths={"tables": arguments.out.resolve()} if arguments.out else {},
        counts={"files": len(checks), "differing": wrong},
        facts={"checks": [asdict(check) for check in checks]},
    )
    print(json_of("reproduce_paper", outcome, time.perf_counter() - started))
    return outcome.code


def print_checks(checks: Sequence[Check], out: Path | None = None) -> int:
    """Print a line for each file, where our tables lie, and a summary; return 1 if any differs."""
    width = max(len(check.file) for check in checks)
    print(f"{'file':<{width}}  {'values':>7}  {'largest':>8}  verdict")
    for check in checks:
        largest = "-" if np.isnan(check.largest) else f"{check.largest:.1e}"
        verdict = f"DIFFERS: {check.problem}" if check.problem else "same"
        print(f"{check.file:<{width}}  {check.n_values:>7}  {largest:>8}  {verdict}")
    if out is not None:
        print(f"Our tables: {out.resolve()}")
    print(summary_of(checks))
    return 1 if any(check.problem for check in checks) else 0


def summary_of(checks: Sequence[Check]) -> str:
    """Return how many files are reproduced, as a sentence."""
    right = sum(not check.problem for check in checks)
    values = sum(check.n_values for check in checks)
    return f"{right} of {len(checks)} files are reproduced ({values:,} values)."


def reproduce(data: Path, out: Path | None = None) -> list[Check]:
    """Return a check of every published file below a folder.

    Raises:
        DataError: The data is missing or broken.
    """
    folder, expected = find_published(data)
    with step_progress(len(find_tables(folder)), "reading", "table") as on_step:
        results = read_results(
            folder, order=published_order(expected), on_table=lambda path: on_step()
        )
    models = aggregate(results)
    tables = suite_tables(models)
    tests = comparison_tables(models, StudyOptions()) | trend_tables(models)
    if out is not None:
        write_tables(out, tables | tests)
    figures = expected.parent / "expected_rq"
    checks = []
    with step_progress(None, "checking", "file") as on_step:
        for check in chain(
            check_rows(results, *listed_images(data)),
            check_aggregates(expected, tables),
            check_tests(figures, tests),
            check_latex(figures / "rq1_latex", models),
        ):
            checks.append(check)
            on_step()
    return checks


if __name__ == "__main__":
    sys.exit(main())
