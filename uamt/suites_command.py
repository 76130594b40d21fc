"""`uamt suites`: from the mutants' CSVs to the tables of suites and models."""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uamt.gathered import add_options, gaps, gather, unused
from uamt.presentation import count_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from scoring.suite_tables import ModelAggregates

ABOUT = "the tables of suites and models, by every kill rule"
EXAMPLE = "uamt suites experiment/scores"

LEGEND = (
    "A kill is a miss or a ghost. any: one changed pass (published); sig.: the binomial test, "
    "p < .05 (documented); holm: corrected for the number of images. Img-MS: share of mutants that "
    "some image kills. Kill share: share of image x mutant pairs, with its 95% bootstrap interval "
    "over images. Trivial: killed by every image (sig.). At 0, at T: share of pairs where no pass, "
    "or every pass, changes. Files give the same for misses and ghosts alone."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `uamt suites`."""
    add_options(parser)
    parser.add_argument("--out", help="folder of the tables; default: RESULTS")


def run(arguments: argparse.Namespace) -> int:
    """Write the tables and print one row per model and suite."""
    from scoring.suite_tables import suite_tables, write_tables

    models = gather(arguments)
    out = Path(arguments.out or arguments.results)
    written = write_tables(out, suite_tables(models))
    print(shown_table(models).to_string(index=False))
    print(f"\n{LEGEND}\n")
    for note in unused(models):
        print(f"note: {note}", file=sys.stderr)
    left_out = gaps(models)
    for gap in left_out:
        print(f"note: {gap}", file=sys.stderr)
    print(
        f"{count_of(len(written), 'table')} of {count_of(len(models), 'model')}: {out.resolve()}. "
        f"Next: uamt study {arguments.results}"
    )
    return 4 if left_out else 0


def shown_table(models: Sequence[ModelAggregates]) -> pd.DataFrame:
    """Return one row per model and suite as text, for misses and ghosts together."""
    import pandas as pd

    rows = []
    for model in models:
        shares = model.kill_shares()
        of_both = shares[shares["kind"] == "miss_ghost"].to_dict("records")
        rows += [{"model": model.results.model} | _shown_row(row) for row in of_both]
    return pd.DataFrame(rows)


def _shown_row(row: dict[Any, Any]) -> dict[str, str]:
    shown = {
        "suite": str(row["test_suite"]),
        "images": str(row["n_images"]),
        "mutants": str(row["n_mutants"]),
        "equivalent": str(row["n_equivalent"]),
        "trivial": _whole(row["n_trivial_significant"]),
    }
    for rule, name in (("any", "any"), ("significant", "sig."), ("holm", "holm")):
        shown[f"Img-MS {name}"] = _number(row[f"ms_{rule}"])
    for rule, name in (("any", "any"), ("significant", "sig.")):
        share, low, high = (row[f"kill_share_{rule}{end}"] for end in ("", "_low", "_high"))
        interval = "" if math.isnan(share) else f" [{low:.2f}, {high:.2f}]"
        shown[f"kill share {name}"] = f"{_number(share)}{interval}"
        mildest = row[f"mildest_rate_{rule}"]
        shown[f"mildest {name}"] = mildest if isinstance(mildest, str) else "none"
    return shown | {"at 0": _number(row["share_at_0"]), "at T": _number(row["share_at_T"])}


def _whole(value: Any) -> str:
    import pandas as pd

    return "-" if pd.isna(value) else str(int(value))


def _number(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.3f}"
