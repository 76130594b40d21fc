"""Print the resident memory of a run by the number of images behind it.

A built-in detector runs six mutants over copies of the built-in images, in one process.

Usage: OMP_NUM_THREADS=1 python scripts/running_memory.py [--images 200] [--every 20]
           [--model demo_retinanet]
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path

from mutators import MCDropBlock, MCDropout
from runners.builtin import suites as builtin_suites
from runners.campaign import Campaign, prepare
from runners.detectors import load_detector
from runners.execution import run_serially
from runners.images import list_suites
from runners.ledger import Entry
from runners.settings import Settings

OPERATORS = (MCDropout(rates=(0.02, 0.1, 0.3)), MCDropBlock(rates=(0.05, 0.1, 0.3), blocks=(3,)))


def resident_mib() -> float:
    """Return the resident memory of this process now (Linux)."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def copy_images(folder: Path, n_images: int) -> None:
    """Write a suite of copies of the built-in images."""
    paths = [path for suite in builtin_suites().values() for path in sorted(suite.glob("*.png"))]
    folder.mkdir()
    for i in range(n_images):
        shutil.copyfile(paths[i % len(paths)], folder / f"{i:04}.png")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--images", type=int, default=200)
    parser.add_argument("--every", type=int, default=20)
    parser.add_argument("--model", default="demo_retinanet")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        photos = Path(folder, "photos")
        copy_images(photos, args.images)
        campaign = Campaign(
            detector=load_detector(args.model),
            suites=list_suites(photos),
            operators=OPERATORS,
            settings=Settings(),
            root=Path(folder, "experiment"),
        )
        seen: set[str] = set()
        print(f"{args.model}, 6 mutants, T = 10\n{'images':>8}{'resident MiB':>14}{'':4}of first")
        first = 0.0

        def on_unit(entry: Entry, is_new: bool) -> None:
            nonlocal first
            if entry.unit.image in seen:
                return
            done = len(seen)  # images behind the one that begins
            seen.add(entry.unit.image)
            if done and done % args.every == 0:
                now = resident_mib()
                first = first or now
                print(f"{done:>8}{now:>14.1f}{now / first:>12.3f}", flush=True)

        run_serially(prepare(campaign), on_unit)
        print(f"{len(seen):>8}{resident_mib():>14.1f}{resident_mib() / first:>12.3f}")


if __name__ == "__main__":
    main()
