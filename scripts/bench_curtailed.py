"""Print which share of the passes curtailed campaigns save on the built-in detectors and suites.

A full campaign of the demo's sweep (12 mutants, 36 images, T = 10) runs once per detector with one
pass a batch; then the curtailed ones, whose kills, Img-MS and kill shares must be those of the
full one. Passes are those of mutants.

Usage: OMP_NUM_THREADS=1 python scripts/bench_curtailed.py [--images 12] [--passes 10]
           [--models demo_fasterrcnn demo_retinanet]
"""

from __future__ import annotations

import argparse
import itertools
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from mutators import MCDropBlock, MCDropout
from runners.builtin import suites as builtin_suites
from runners.campaign import Campaign, prepare
from runners.detectors import load_detector
from runners.execution import Summary, run_serially
from runners.images import list_images
from runners.settings import Settings
from scoring.curtailment import OPEN
from scoring.rows import KINDS
from scoring.suites import SuiteScores
from uamt.demo import DROPBLOCK_BLOCKS, DROPBLOCK_RATES, DROPOUT_RATES
from uamt.scores import score_root

RULES = ("any", "significant")
CURTAILED: list[dict[str, Any]] = [
    *({"curtail": k, "kill_rule": r} for k, r in itertools.product(("miss_ghost", "all"), RULES)),
    *({"curtail": k, "kill_rule": "significant"} for k in ("miss", "ghost")),
    *({"curtail": "miss_ghost", "kill_rule": r, "curtail_mutants": True} for r in RULES),
]


def run(campaign: Campaign) -> tuple[Summary, list[SuiteScores]]:
    summary = run_serially(prepare(campaign))
    return summary, score_root(campaign.root).suites


def differences(ours: SuiteScores, full: SuiteScores, settings: Settings) -> Iterator[str]:
    """Yield what a curtailed campaign says otherwise about what it settles."""
    targets = settings.curtailment.targets if settings.curtailment else KINDS
    for kind in targets:
        rule = settings.kill_rule
        found, wanted = ours.verdicts(kind, rule), full.verdicts(kind, rule)
        settled = found != OPEN
        pairs = [
            ("verdicts", bool((found[settled] == wanted[settled]).all()), True),
            ("Img-MS", ours.image_score(kind, rule), full.image_score(kind, rule)),
        ]
        if not settings.curtail_mutants:
            share, whole = ours.kill_share(kind, rule).value, full.kill_share(kind, rule).value
            pairs.append(("kill share", share, whole))
        for name, one, other in pairs:
            if one != other:
                yield f"{ours.model} {ours.suite} {kind} {rule}: {name} {one}, in full {other}"


def rows(model: str, arguments: argparse.Namespace, folder: Path) -> Iterator[dict[str, Any]]:
    suites = {
        name: list_images(path, name, "stem")[: arguments.images]
        for name, path in builtin_suites().items()
    }
    campaign = Campaign(
        detector=load_detector(model),
        suites=suites,
        operators=(
            MCDropout(rates=DROPOUT_RATES),
            MCDropBlock(rates=DROPBLOCK_RATES, blocks=DROPBLOCK_BLOCKS),
        ),
        settings=Settings(passes=arguments.passes, chunk=1),
        root=folder / model / "full",
    )
    whole, full = run(campaign)
    for number, how in enumerate(CURTAILED):
        settings = Settings(passes=arguments.passes, **how)
        curtailed = replace(campaign, settings=settings, root=folder / model / str(number))
        summary, ours = run(curtailed)
        faults = [
            f
            for one, other in zip(ours, full, strict=True)
            for f in differences(one, other, settings)
        ]
        if faults:
            sys.exit("\n".join(faults))
        yield {
            "model": model,
            "curtail": how["curtail"],
            "rule": how["kill_rule"],
            "mutants dropped": "yes" if how.get("curtail_mutants") else "no",
            "passes": summary.n_passes,
            "of": whole.n_passes,
            "saved": 1 - summary.n_passes / whole.n_passes,
            "seconds": summary.seconds,
            "in full": whole.seconds,
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=12, help="of each suite")
    parser.add_argument("--passes", type=int, default=10)
    parser.add_argument("--models", nargs="+", default=["demo_fasterrcnn", "demo_retinanet"])
    arguments = parser.parse_args()
    print("| model | `--curtail` | `--kill-rule` | `--curtail-mutants` | passes | saved | time |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for model in arguments.models:
            for row in rows(model, arguments, Path(folder)):
                print(
                    f"| {row['model']} | {row['curtail']} | {row['rule']} | "
                    f"{row['mutants dropped']} | {row['passes']:,} of {row['of']:,} | "
                    f"{row['saved']:.0%} | {row['seconds']:.0f} s of {row['in full']:.0f} s |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
