"""Print the CPU time of a pass: computed as a whole, with the memo, and the least it could be.

The limit is the time of a whole pass over that of its part behind the first tensor at a site, in
the same passes. The memo can exceed it: of several sites, what lies between them is shared too.
The sides take turns, the table holds medians over rounds, and times are of the process, so that
neighbours on the machine count little. Weights are random.

Usage: OMP_NUM_THREADS=1 python scripts/bench_running.py [--model NAME ...] [--preset NAME ...]
           [--rounds 3] [--passes 2] [--operator mc_dropblock]
"""

from __future__ import annotations

import argparse
import platform
import statistics
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
import torchvision
from torch import Tensor

from mutators import MCDropBlock, MCDropout, Mutant, Site, family_presets, resolve_sites
from runners.detectors import Detector, load_detector
from runners.memo import Memo
from runners.passes import run_mutant, run_original_once
from runners.settings import Settings, arithmetic
from scoring.detections import Detections

MODELS = ("fasterrcnn_resnet50_fpn", "retinanet_resnet50_fpn", "fcos_resnet50_fpn")
PRESETS = ("uamters", "head", "last")
HEIGHT, WIDTH = 480, 640
N_CAMPAIGN = 540
"""Passes over an image of a sweep of 54 mutants, T = 10."""

Times = dict[str, list[float]]


class Watched:
    """A detector that notes the CPU time behind the first tensor at a site, pass by pass.

    Args:
        detector: What is watched.
        sites: Where it will be masked.
    """

    def __init__(self, detector: Detector, sites: Sequence[Site]) -> None:
        self.model = detector.model
        self.seconds: list[float] = []
        self._detector, self._sites = detector, sites
        self._first: float | None = None

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Return a context with hooks on the sites, to be opened before that of the masks."""
        with ExitStack() as hooks:
            for site in self._sites:
                module = self.model.get_submodule(site.name)
                register: Any = module.register_forward_hook
                if site.at_input:
                    register = module.register_forward_pre_hook
                hooks.callback(register(self._note).remove)
            yield

    def _note(self, *_: object) -> None:
        if self._first is None:
            self._first = time.process_time()

    def detect(self, images: Sequence[Tensor]) -> list[Detections]:
        """Return what the detector finds."""
        self._first = None
        found = self._detector.detect(images)
        if self._first is not None:
            self.seconds.append(time.process_time() - self._first)
        return found


def sweep_of(operator: str, preset: str) -> list[Mutant]:
    """Return two mutants."""
    if operator == "mc_dropblock":
        return MCDropBlock(rates=(0.1, 0.3), blocks=(3,), sites=preset).mutants()
    return MCDropout(rates=(0.1, 0.3), sites=preset).mutants()


def run_all(
    detector: Any, image: Tensor, mutants: Sequence[Mutant], settings: Settings, memo: Memo | None
) -> float:
    """Return the CPU seconds per pass."""
    start = time.process_time()
    for mutant in mutants:
        run_mutant(detector, image, "image.png", mutant, settings, memo=memo)
    return (time.process_time() - start) / (len(mutants) * settings.passes)


def measure_round(
    detector: Detector, image: Tensor, preset: str, mutants: Sequence[Mutant], passes: int
) -> dict[str, float]:
    """Return the seconds of one round, by side."""
    sites = resolve_sites(detector.model, preset)
    names = {site.name for site in sites}
    watched = Watched(detector, sites)
    single, batch = Settings(passes=passes, chunk=1), Settings(passes=passes)
    seconds = {}
    with watched.watching():
        seconds["plain"] = run_all(watched, image, mutants, single, None)
    seconds["suffix"] = statistics.mean(watched.seconds)
    for side, settings in (("memo", single), ("chunks", batch)):
        memo = Memo(image)
        start = time.process_time()
        run_original_once(detector, image, settings, memo=memo, sites=names)
        seconds[f"{side} original"] = time.process_time() - start
        # What a module does to its arguments shows after a pass; the campaign meets that once.
        start = time.process_time()
        run_all(detector, image, mutants[:1], settings, memo)
        seconds[f"{side} first"] = time.process_time() - start
        seconds[side] = run_all(detector, image, mutants, settings, memo)
        seconds[f"{side} MB"] = memo.kept_bytes / 1e6
        memo.clear()
    return seconds


def print_rows(args: argparse.Namespace, model: str) -> None:
    """Measure a model under each preset and print a row of the table for each."""
    detector = load_detector(model)
    generator = torch.Generator().manual_seed(0)
    image = torch.rand(3, HEIGHT, WIDTH, generator=generator)
    presets = [preset for preset in args.preset if preset in family_presets(detector.model)]
    times: dict[str, Times] = {preset: defaultdict(list) for preset in presets}
    for _ in range(args.rounds):
        for preset in presets:
            mutants = sweep_of(args.operator, preset)
            measured = measure_round(detector, image, preset, mutants, args.passes)
            for side, seconds in measured.items():
                times[preset][side].append(seconds)
    for preset in presets:
        m = {side: statistics.median(values) for side, values in times[preset].items()}
        limit, gain = m["plain"] / m["suffix"], m["plain"] / m["memo"]
        rest = N_CAMPAIGN - args.passes
        whole = m["memo original"] + m["memo first"] + rest * m["memo"]
        cells = [
            model,
            preset,
            f"{m['plain'] * 1e3:.0f}",
            f"{m['suffix'] * 1e3:.1f}",
            f"{m['memo'] * 1e3:.1f}",
            f"{m['chunks'] * 1e3:.1f}",
            f"{limit:.3g}",
            f"{gain:.3g}",
            f"{gain / limit:.2f}",
            f"{(N_CAMPAIGN + 1) * m['plain'] / whole:.3g}",
            f"{m['memo MB']:.0f}",
        ]
        print("| " + " | ".join(cells) + " |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", nargs="+", default=MODELS)
    parser.add_argument("--preset", nargs="+", default=PRESETS)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--passes", type=int, default=2, help="T, and the batch of 'chunks'")
    parser.add_argument("--operator", choices=("mc_dropout", "mc_dropblock"), default="mc_dropout")
    args = parser.parse_args()
    print(
        f"CPU ms a pass at {HEIGHT}x{WIDTH}, one thread, two mutants of {args.operator}, "
        f"T = {args.passes}, {args.rounds} rounds; {platform.machine()}, Python "
        f"{platform.python_version()}, torch {torch.__version__}, torchvision "
        f"{torchvision.__version__}\n"
    )
    header = (
        "model",
        "sites",
        "plain",
        "behind the first site",
        "memo",
        f"memo, chunk {args.passes}",
        "limit",
        "memo x",
        "of limit",
        f"x over {N_CAMPAIGN} passes",
        "kept MB",
    )
    print("| " + " | ".join(header) + " |")
    print("|---|---|" + "---:|" * (len(header) - 2))
    with arithmetic(1):
        for model in args.model:
            print_rows(args, model)


if __name__ == "__main__":
    main()
