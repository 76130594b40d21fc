"""How well `uamt plan` predicts: plan the demo's campaigns, run them, and compare.

Run from the project's folder: python scripts/bench_plan.py [--images N] [--passes T]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from mutators import MCDropBlock, MCDropout
from runners.builtin import suites as builtin_suites
from runners.campaign import Campaign, prepare, preview
from runners.detectors import load_detector
from runners.execution import run_serially
from runners.images import list_suites
from runners.planning import make_plan
from runners.settings import Settings
from uamt.demo import DETECTORS, DROPBLOCK_BLOCKS, DROPBLOCK_RATES, DROPOUT_RATES


def compare(name: str, n_images: int, passes: int, folder: Path) -> None:
    operators = (
        MCDropout(rates=DROPOUT_RATES),
        MCDropBlock(rates=DROPBLOCK_RATES, blocks=DROPBLOCK_BLOCKS),
    )
    suites = {suite: refs[:n_images] for suite, refs in list_suites(builtin_suites()).items()}
    campaign = Campaign(
        detector=load_detector(name),
        suites=suites,
        operators=operators,
        settings=Settings(passes=passes),
        root=folder / name,
    )
    plan = make_plan(preview(campaign))
    if plan.estimate is None:
        raise SystemExit(f"{name}: nothing to do")
    run = run_serially(prepare(campaign))
    written = [*campaign.root.rglob("prediction_*.json"), campaign.root / "ledger.jsonl"]
    n_bytes = sum(path.stat().st_size for path in written)
    disk = sum(-(-path.stat().st_size // 4096) * 4096 for path in written)
    estimate = plan.estimate
    for what, expected, found in (
        ("seconds", estimate.seconds, run.seconds),
        ("bytes", estimate.n_bytes, n_bytes),
        ("bytes in blocks", estimate.disk_bytes, disk),
    ):
        print(
            f"| {name} | {plan.n_units} | {what} | {expected:,.0f} | {found:,.0f} | "
            f"{expected / found - 1:+.0%} |",
            flush=True,
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=12, help="of each suite")
    parser.add_argument("--passes", type=int, default=10)
    given = parser.parse_args()
    print("| detector | units | what | planned | found | off by |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as place:
        for detector in DETECTORS:
            compare(detector, given.images, given.passes, Path(place))
