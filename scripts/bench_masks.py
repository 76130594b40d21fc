"""Print what a mask costs beside torch.rand and F.dropout, measured in the same run.

Usage: python scripts/bench_masks.py [--device cuda] [--shape 10 256 50 68] [--threads 1]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from mutators import MaskKey, RowKeys, mc_dropblock, mc_dropout
from mutators.masks import drop_mask, word_threshold

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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--shape", type=int, nargs="+", default=[10, 256, 50, 68])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=7)
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


if __name__ == "__main__":
    main()
