"""Print what a mask costs beside torch.rand and F.dropout, and as a share of a detector's pass.

Everything is measured in the same run. The shares are those of the masks at the default sites
(preset `uamters`), at 480x640, with random weights.

Usage: python scripts/bench_masks.py [--device cuda] [--shape 10 256 50 68] [--threads 1]
           [--model fasterrcnn_resnet50_fpn ...]
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from mutators import MaskKey, RowKeys, mc_dropblock, mc_dropout, resolve_sites
from mutators.dropblock import DropBlockMutation
from mutators.dropout import DropoutMutation
from mutators.injection import inject
from mutators.masks import Masked, drop_mask, drop_rate, word_threshold
from runners.detectors import Detector, load_detector

RATE = 0.3


def best_seconds(job: Callable[[], Tensor], device: torch.device, repeats: int) -> float:
    """Return the shortest of several runs: the others met other work on the machine."""
    job()
    seconds = []
    for _ in range(repeats):
        _wait(device)
        start = time.perf_counter()
        job()
        _wait(device)
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


class Timed:
    """A mutation that notes the seconds its masks take.

    Args:
        mutation: What is timed.
        device: Where its tensors are.
    """

    is_identity = False

    def __init__(self, mutation: DropoutMutation | DropBlockMutation, device: torch.device) -> None:
        self.operator, self.tag = mutation.operator, mutation.tag
        self.seconds = 0.0
        self._mutation, self._device = mutation, device

    def perturb(self, x: Tensor, rows: RowKeys) -> Masked:
        """Return x under the mutation's mask."""
        _wait(self._device)
        start = time.perf_counter()
        masked = self._mutation.perturb(x, rows)
        _wait(self._device)
        self.seconds += time.perf_counter() - start
        return masked


def print_shares(detector: Detector, repeats: int) -> None:
    """Print the median share of the masks in plain passes over one image."""
    rate = drop_rate(RATE)
    image = torch.rand(3, 480, 640, generator=torch.Generator().manual_seed(0))
    image = image.to(detector.device)
    mutations = {
        "mc_dropout": DropoutMutation(rate),
        "mc_dropblock 3": DropBlockMutation(rate, 3),
        "mc_dropblock 9": DropBlockMutation(rate, 9),
    }
    for name, mutation in mutations.items():
        shares = []
        for t in range(repeats):
            timed = Timed(mutation, image.device)
            with inject(detector.model, resolve_sites(detector.model, "uamters"), timed) as masks:
                masks.begin("a.jpg", (t,), 0)
                start = time.perf_counter()
                detector.detect([image])
                _wait(image.device)
            shares.append(timed.seconds / (time.perf_counter() - start))
        print(f"{detector.name:32}{name:16}{statistics.median(shares):8.1%} of a pass", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--shape", type=int, nargs="+", default=[10, 256, 50, 68])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--model", nargs="*", default=(), help="also their share of a pass")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    device = torch.device(args.device)
    x = torch.randn(args.shape, device=device)
    key = {"seed": 0, "image": "a.jpg", "operator": "mc_dropout", "tag": "0.3", "site": "s"}
    rows = RowKeys.for_batch([MaskKey(t=t, call=0, **key).halves() for t in range(len(x))])
    jobs = {
        "torch.rand": lambda: torch.rand(x.shape, device=device),
        "F.dropout": lambda: functional.dropout(x, RATE, training=True),
        "mask alone": lambda: drop_mask(rows, x[0].numel(), word_threshold(RATE), device),
        "mc_dropout": lambda: mc_dropout(x, RATE, rows),
    }
    if x.dim() == 4:
        for block in (3, 9):
            jobs[f"mc_dropblock {block}"] = lambda block=block: mc_dropblock(x, RATE, block, rows)
    seconds = {name: best_seconds(job, device, args.repeats) for name, job in jobs.items()}
    print(f"{tuple(x.shape)} on {device}, {args.threads} threads, torch {torch.__version__}")
    print(f"{'':16}{'ns/element':>12}{'of torch.rand':>16}{'of F.dropout':>16}")
    for name, spent in seconds.items():
        print(
            f"{name:16}{spent / x.numel() * 1e9:12.2f}"
            f"{spent / seconds['torch.rand']:16.2f}{spent / seconds['F.dropout']:16.2f}"
        )
    for name in args.model:
        print_shares(load_detector(name, device=args.device), args.repeats)


if __name__ == "__main__":
    main()
