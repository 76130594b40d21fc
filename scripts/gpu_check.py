"""Prove on a CUDA device, in a few minutes, what tests on a CPU cannot, and print a table.

Masks equal the CPU's bit for bit; runs repeat bit for bit, with the memo and without; detections
are those of the CPU but for rounding, which is listed for fp32 and for tf32; memory stays flat; and
how fast passes are, by chunk and precision.

Usage: python scripts/gpu_check.py [--device cuda:0] [--model fasterrcnn_resnet50_fpn]

Exit codes: 0 all holds, 1 a check failed, 3 there is no CUDA device.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from mutators import MaskKey, MCDropBlock, MCDropout, RowKeys, mc_dropblock, mc_dropout
from runners.builtin import suites as builtin_suites
from runners.detectors import Detector, load_detector
from runners.images import list_images, read_image
from runners.memo import Memo
from runners.passes import run_mutant, run_original_once
from runners.precision import PRECISIONS, Precision
from runners.settings import Settings, arithmetic
from scoring.detections import Detections
from scoring.passes import Passes
from scoring.predictions import encode_prediction
from scoring.tracks import track

MUTANTS = (
    *MCDropout(rates=(0.1,)).mutants(),
    *MCDropBlock(rates=(0.1,), blocks=(3,)).mutants(),
)
SHAPES = ((4, 3, 1, 1), (4, 64, 8, 8), (4, 3, 210, 130), (4, 256, 25, 34), (10, 256, 50, 68))
BUILTIN = ("demo_fasterrcnn", "demo_retinanet")

CLOSE = {"fp32": (0.999, 0.1, 1e-3), "tf32": (0.95, 5.0, 0.1)}
"""Least share of matches with the CPU, most difference of boxes in pixels, and of scores."""

MOST_GROWTH = 0.05


class Outcome(NamedTuple):
    """One row of the table."""

    claim: str
    found: str
    holds: bool | None
    """None for a figure that is no claim."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is run.

    Args:
        images: Per built-in detector.
        passes: T.
        rounds: Of each timing.
        height: Of the image that is timed, in pixels.
        width: Likewise.
    """

    images: int = 4
    passes: int = 10
    rounds: int = 3
    height: int = 480
    width: int = 640


def mask_checks(device: torch.device, shapes: Sequence[tuple[int, ...]] = SHAPES) -> list[Outcome]:
    """Compare masks of many shapes, rates and blocks with the CPU's."""
    n_equal = n_all = 0
    for shape in shapes:
        x = torch.randn(shape, generator=torch.Generator().manual_seed(0))
        keys = [
            MaskKey(seed=0, image="a", operator="op", tag="0.3", t=t, site="s", call=0).halves()
            for t in range(shape[0])
        ]
        for masked in _masked(RowKeys.for_batch(keys)):
            ours, theirs = masked(x.to(device)).cpu(), masked(x)
            n_equal += torch.equal(ours.view(torch.int32), theirs.view(torch.int32))
            n_all += 1
    found = f"{n_equal} of {n_all} masked tensors"
    return [Outcome("masks equal the CPU's bit for bit", found, n_equal == n_all)]


def _masked(rows: RowKeys) -> Iterator[Callable[[Tensor], Tensor]]:
    for rate in (0.02, 0.3, 0.5):
        yield lambda x, rate=rate: mc_dropout(x, rate, rows)
    for block in (1, 3, 7):
        yield lambda x, block=block: mc_dropblock(x, 0.3, block, rows)


def detection_checks(device: torch.device, effort: Effort) -> Iterator[Outcome]:
    """Compare the built-in detectors with themselves, and with the CPU in both precisions."""
    for name in BUILTIN:
        here, there = load_detector(name, device=device), load_detector(name)
        refs = list_images(builtin_suites()["crowded"], "crowded", "stem")[: effort.images]
        images = {ref.stem: read_image(ref.path) for ref in refs}
        settings = Settings(passes=effort.passes, chunk=effort.passes)
        on_cpu = _run(there, images, settings, "fp32")
        for precision in PRECISIONS:
            found = _run(here, images, settings, precision)
            again = _run(here, images, settings, precision)
            shared = _run(here, images, settings, precision, use_memo=True)
            for claim, other in (("a second run", again), ("a run with the memo", shared)):
                same = [
                    _encoded(one) == _encoded(two) for one, two in zip(found, other, strict=True)
                ]
                yield Outcome(
                    f"{name} {precision}: {claim} gives the same bytes",
                    f"{sum(same)} of {len(same)} units",
                    all(same),
                )
            yield _closeness(f"{name} {precision}", on_cpu, found, precision)


def _run(
    detector: Detector,
    images: dict[str, Tensor],
    settings: Settings,
    precision: Precision,
    *,
    use_memo: bool = False,
) -> list[list[Detections]]:
    """Return the passes of every image and mutant."""
    found = []
    with arithmetic(1, precision):
        for key, image in images.items():
            memo = Memo(image.to(detector.device)) if use_memo else None
            if memo:
                run_original_once(detector, image, settings, memo=memo, sites=_sites(detector))
            found += [
                run_mutant(detector, image, key, mutant, settings, memo=memo)[0]
                for mutant in MUTANTS
            ]
            if memo:
                memo.clear()
    return found


def _sites(detector: Detector) -> set[str]:
    with MUTANTS[0].mutation.on_model(detector.model) as injection:
        return {site.name for site in injection.sites}


def _encoded(passes: Sequence[Detections]) -> list[bytes]:
    return [encode_prediction(detections) for detections in passes]


def _closeness(
    name: str,
    on_cpu: Sequence[Sequence[Detections]],
    found: Sequence[Sequence[Detections]],
    precision: Precision,
) -> Outcome:
    n_matched = n_changed = 0
    box = score = 0.0
    for one, other in zip(on_cpu, found, strict=True):
        first, second = Passes.from_list(one), Passes.from_list(other)
        tracks = track(first, second)
        matched, missed, ghosts = tracks.counts().sum(axis=0).tolist()
        n_matched, n_changed = n_matched + matched, n_changed + missed + ghosts
        if matched:
            a = first.detections.take(tracks.matched.original_rows)
            b = second.detections.take(tracks.matched.mutant_rows)
            box = max(box, float(np.abs(a.boxes - b.boxes).max()))
            score = max(score, float(np.abs(a.scores - b.scores).max()))
    share = n_matched / max(n_matched + n_changed, 1)
    least, most_px, most_score = CLOSE[precision]
    return Outcome(
        f"{name}: detections are the CPU's but for rounding",
        f"{n_matched} matched, {n_changed} not; boxes {box:.1e} px, scores {score:.1e}",
        share >= least and box <= most_px and score <= most_score,
    )


def memory_check(detector: Detector, effort: Effort, images: int = 12) -> Outcome:
    """Return whether the device holds as much behind the last image as behind the second."""
    settings = Settings(passes=effort.passes, chunk=effort.passes)
    held = []
    with arithmetic(1):
        for number in range(images):
            image = torch.rand(3, effort.height, effort.width)
            for mutant in MUTANTS:
                run_mutant(detector, image, str(number), mutant, settings)
            held.append(_allocated(detector.device))
    growth = (held[-1] - held[1]) / max(held[1], 1)
    return Outcome(
        f"{detector.name}: memory of the device is flat over {images} images",
        f"{held[1] / 2**20:.0f} MiB behind image 2, {held[-1] / 2**20:.0f} behind {images}",
        abs(growth) <= MOST_GROWTH,
    )


def _allocated(device: torch.device) -> int:
    return torch.cuda.memory_allocated(device) if device.type == "cuda" else 0


def speeds(detector: Detector, effort: Effort) -> Iterator[Outcome]:
    """Time passes by chunk and precision, and what the masks cost."""
    image = torch.rand(3, effort.height, effort.width)
    whole = effort.passes
    for precision in PRECISIONS:
        for chunk in dict.fromkeys((1, whole)):
            settings = Settings(passes=whole, chunk=chunk)
            plain = _seconds(lambda s=settings: _original(detector, image, s), precision, effort)
            for mutant in MUTANTS:
                masked = _seconds(
                    lambda s=settings, m=mutant: run_mutant(detector, image, "a", m, s),
                    precision,
                    effort,
                )
                yield Outcome(
                    f"{detector.name} {precision}, chunk {chunk}, {mutant.operator}",
                    f"{masked / whole * 1000:.2f} ms a pass, {whole / masked:.1f} passes a second; "
                    f"masks {max(masked / plain - 1, 0):.0%}",
                    None,
                )


def _original(detector: Detector, image: Tensor, settings: Settings) -> None:
    for passes in settings.chunks():
        detector.detect([image] * len(passes))


def _seconds(job: Callable[[], object], precision: Precision, effort: Effort) -> float:
    """Return the shortest of some runs; results are on the host at their end."""
    seconds = []
    with arithmetic(1, precision):
        job()
        for _ in range(effort.rounds):
            start = time.perf_counter()
            job()
            seconds.append(time.perf_counter() - start)
    return min(seconds)


def run_checks(device: torch.device, model: str, effort: Effort) -> Iterator[Outcome]:
    """Run everything, the cheapest first."""
    yield from mask_checks(device)
    yield from detection_checks(device, effort)
    detector = load_detector(model, device=device)
    yield memory_check(detector, effort)
    yield from speeds(detector, effort)


def report(outcomes: Iterator[Outcome]) -> int:
    """Print the table as it grows, and return the exit code."""
    print("| check | found | holds |\n|---|---|---|")
    failed = 0
    for outcome in outcomes:
        holds = {True: "yes", False: "NO", None: ""}[outcome.holds]
        failed += outcome.holds is False
        print(f"| {outcome.claim} | {outcome.found} | {holds} |", flush=True)
    print(f"\n{failed} checks failed." if failed else "\nAll checks hold.")
    return 1 if failed else 0


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--model", default="fasterrcnn_resnet50_fpn")
    parsed = parser.parse_args(arguments)
    device = torch.device(parsed.device)
    if device.type != "cuda" or not torch.cuda.is_available():
        print("gpu_check: expected a CUDA device, and torch finds none here; nothing was checked")
        return 3
    print(f"{torch.cuda.get_device_name(device)}, torch {torch.__version__}\n")
    started = time.perf_counter()
    code = report(run_checks(device, parsed.model, Effort()))
    print(f"{time.perf_counter() - started:.0f} s")
    return code


if __name__ == "__main__":
    sys.exit(main())
