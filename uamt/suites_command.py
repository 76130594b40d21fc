"""`uamt suites`: from the mutants' CSVs to the tables of suites and models, and gates for CI."""

from __future__ import annotations

import argparse
import math
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uamt.gathered import Gathering, add_options, gaps, gather, kill_shares, unused
from uamt.outcome import DONE, FAILED, INCOMPLETE, Notes, Outcome
from uamt.presentation import aligned, count_of, paragraph

if TYPE_CHECKING:
    import pandas as pd

    from scoring.gates import GateResult

ABOUT = "the tables of suites and models, by every kill rule; a gate for CI"
EXAMPLES = (
    "uamt suites experiment/scores",
    "uamt suites experiment/scores --fail-under kill_share_mg=.6 --fail-under night:ms_iou=.05",
)

LEGEND = (
    "A kill is a miss or a ghost. any: one changed pass (published); sig.: the binomial test, "
    "p < .05 (documented); Holm: corrected for the number of images. Img-MS: share of mutants that "
    "some image kills. Kill share: share of image x mutant pairs, with its 95% bootstrap interval "
    "over images. Trivial: killed by every image (sig.). At 0, at T: share of pairs where no pass, "
    "or every pass, changes. Files give the same for misses and ghosts alone."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `uamt suites`."""
    add_options(parser)
    parser.add_argument("--out", metavar="FOLDER", help="of the tables; default: RESULTS")
    parser.add_argument(
        "--fail-under",
        action="append",
        default=[],
        metavar="GATE",
        help="exit with 1 where a score is lower: SCORE=VALUE for every suite and model, "
        "SUITE:SCORE=VALUE or MODEL/SUITE:SCORE=VALUE for one; may be repeated; scores: "
        "kill_share_mg, img_ms_mg, obj_ms_mg, ms_iou, match_vr, ... (docs/gate.md)",
    )


def run(arguments: argparse.Namespace) -> Outcome:
    """Write the tables; say one row per model and suite, and which gates fail."""
    from scoring.gates import Gate, check_gates
    from scoring.suite_tables import suite_tables, write_tables

    gates = [Gate.parse(text) for text in arguments.fail_under]
    models = gather(Gathering.of(arguments))
    out = Path(arguments.out or arguments.results)
    tables = suite_tables(models)
    results = check_gates(models, tables, gates)
    written = write_tables(out, tables)
    notes = Notes()
    for note in unused(models):
        notes.say(note)
    left_out = gaps(models)
    for gap in left_out:
        notes.say(gap)
    failed = [result for result in results if not result.holds]
    for result in failed:
        notes.say(str(result), "gate failed")
    shares = kill_shares(models, tables)
    shown = shown_table(shares)
    text = f"{aligned(shown, ('model', 'suite'))}\n\n{paragraph(LEGEND)}"
    done = f"{count_of(len(written), 'table')} of {count_of(len(models), 'model')} written."
    if results:
        done += f" {_gates_text(results)}"
    return Outcome(
        done,
        FAILED if failed else INCOMPLETE if left_out else DONE,
        text,
        {"tables": out.resolve()},
        f"uamt study {shlex.quote(arguments.results)}",
        "tests, trends and charts",
        counts={"tables": len(written), "models": len(models), "gates_failed": len(failed)},
        tables={"kill_shares": shares},
        facts={"gates": [_gate_record(result) for result in results]},
        notes=notes.all(),
    )


def _gates_text(results: Sequence[GateResult]) -> str:
    failed = sum(not result.holds for result in results)
    if not failed:
        return f"{count_of(len(results), 'gate')} passed."
    return f"{failed} of {count_of(len(results), 'gate')} FAILED."


def _gate_record(result: GateResult) -> dict[str, Any]:
    return {
        "model": result.model,
        "suite": result.suite,
        "score": result.gate.score,
        "value": result.value,
        "least": result.gate.least,
        "holds": result.holds,
        "reason": result.reason,
    }


def shown_table(shares: pd.DataFrame) -> pd.DataFrame:
    """Return one row per model and suite as text, for misses and ghosts together."""
    import pandas as pd

    of_both = shares[shares["kind"] == "miss_ghost"].to_dict("records")
    return pd.DataFrame([_shown_row(row) for row in of_both])


def _shown_row(row: Mapping[Any, Any]) -> dict[str, str]:
    shown = {
        "model": str(row["model"]),
        "suite": str(row["test_suite"]),
        "images": str(row["n_images"]),
        "mutants": str(row["n_mutants"]),
        "equivalent": str(row["n_equivalent"]),
        "trivial": _whole(row["n_trivial_significant"]),
    }
    for rule, name in (("any", "any"), ("significant", "sig."), ("holm", "Holm")):
        shown[f"Img-MS {name}"] = _number(row[f"ms_{rule}"])
    for rule, name in (("any", "any"), ("significant", "sig.")):
        share, low, high = (row[f"kill_share_{rule}{end}"] for end in ("", "_low", "_high"))
        interval = "" if math.isnan(low) else f" [{low:.2f}, {high:.2f}]"
        shown[f"kill share {name}"] = f"{_number(share)}{interval}"
    for rule, name in (("any", "any"), ("significant", "sig.")):
        mildest = row[f"mildest_rate_{rule}"]
        shown[f"mildest {name}"] = mildest if isinstance(mildest, str) else "none"
    return shown | {"at 0": _number(row["share_at_0"]), "at T": _number(row["share_at_T"])}


def _whole(value: Any) -> str:
    import pandas as pd

    return "-" if pd.isna(value) else str(int(value))


def _number(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.3f}"
