"""`uamt suites`: from the mutants' CSVs to the tables of suites and models, and gates for CI."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uamt.freshness import stale_note
from uamt.gathered import Gathering, add_options, gaps, gather, kill_shares, unused
from uamt.outcome import DONE, FAILED, INCOMPLETE, Notes, Outcome
from uamt.presentation import (
    KILL_RULE_HEADS,
    SHARE_RULES,
    aligned,
    count_of,
    number_text,
    paragraph,
    percent_text,
    share_meaning,
    share_text,
)

if TYPE_CHECKING:
    import pandas as pd

    from scoring.gates import GateResult

ABOUT = "the tables of suites and models, by every kill rule; a gate for CI"
EXAMPLES = (
    "uamt suites experiment",
    "uamt suites experiment --fail-under kill_share=.6 --fail-under night:ms_iou=.05",
)

LEGEND = (
    "Kills, kill share, Img-MS and mildest: as below the table of 'uamt score' (docs/scores.md). "
    "Equivalent: changes nothing on any image, and counts for no score. Trivial: killed by every "
    "image (sig.). No pass, all passes: share of pairs that have a miss or a ghost in none, or in "
    "each. The files have the same for misses alone and for ghosts alone (docs/study.md)."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `uamt suites`."""
    add_options(parser)
    parser.add_argument("--out", metavar="FOLDER", help="of the tables; default: beside the scores")
    parser.add_argument(
        "--fail-under",
        action="append",
        default=[],
        metavar="GATE",
        help="exit with 1 where a score is lower: SCORE=VALUE for every suite and model, "
        "SUITE:SCORE=VALUE or MODEL/SUITE:SCORE=VALUE for one; may be repeated; scores: "
        "kill_share, kill_share_low, img_ms, obj_ms, ms_iou, match_vr, ... (docs/gate.md)",
    )


def run(arguments: argparse.Namespace) -> Outcome:
    """Write the tables; say one row per model and suite, and which gates fail."""
    from scoring.gates import Gate, check_gates
    from scoring.suite_tables import suite_tables, write_tables

    gates = [Gate.parse(text) for text in arguments.fail_under]
    gathering = Gathering.of(arguments)
    models = gather(gathering)
    out = Path(arguments.out) if arguments.out else gathering.results
    tables = suite_tables(models)
    results = check_gates(models, tables, gates)
    written = write_tables(out, tables)
    notes = Notes()
    for note in unused(models):
        notes.say(note)
    left_out = gaps(models, gathering.results)
    # What old scores say of a gate says nothing of what lies there now.
    is_stale = bool(stale_note(gathering.results))
    for gap in left_out:
        notes.say(gap)
    failed = [result for result in results if not result.holds]
    for result in failed:
        notes.say(str(result), "gate failed")
    shares = kill_shares(models, tables)
    shown = shown_table(shares)
    said = f"{paragraph(LEGEND)}\n\n{paragraph(share_meaning(shown['suite'].nunique()))}"
    text = f"{aligned(shown, ('model', 'suite'))}\n\n{said}"
    done = f"{count_of(len(written), 'table')} of {count_of(len(models), 'model')} written."
    if results:
        done += f" {_gates_text(results)}"
    return Outcome(
        done,
        INCOMPLETE if is_stale else FAILED if failed else INCOMPLETE if left_out else DONE,
        text,
        {"tables": out.resolve()},
        shlex.join(["uamt", "report", arguments.results]),
        "which images kill which mutants" if failed else "the same as one page, with pictures",
        counts={"tables": len(written), "models": len(models), "gates_failed": len(failed)},
        tables={"kill_shares": shares},
        facts={"gates": [_gate_record(result) for result in results]},
        notes=notes.all(),
    )


def _gates_text(results: Sequence[GateResult]) -> str:
    failed = sum(not result.holds for result in results)
    each = " (one for each suite and model)" if len(results) > 1 else ""
    if not failed:
        return f"{count_of(len(results), 'gate')} passed{each}."
    return f"{failed} of {count_of(len(results), 'gate')} FAILED{each}."


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
    for rule, name in SHARE_RULES:
        shown[f"kill share {name}"] = share_text(row, rule)
    for rule, name in SHARE_RULES:
        mildest = row[f"mildest_rate_{rule}"]
        shown[f"mildest {name}"] = mildest if isinstance(mildest, str) else "none"
    for rule, name in KILL_RULE_HEADS:
        shown[f"Img-MS {name}"] = number_text(row[f"ms_{rule}"])
    return shown | {
        "no pass": percent_text(row["share_at_0"]),
        "all passes": percent_text(row["share_at_T"]),
    }


def _whole(value: Any) -> str:
    import pandas as pd

    return "-" if pd.isna(value) else str(int(value))
