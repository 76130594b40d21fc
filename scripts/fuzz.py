"""Feed every reader with broken files, and say what it takes, refuses, and costs at worst.

A reader may raise nothing but the project's own exceptions, whose message names the file, and may
take at most 2 s and 500 MB. With `atheris` installed (`pip install .[fuzz]`) inputs are guided by
the coverage of our code; without it they are mutated at random, and kept if their message is new.

What fails is saved under --findings, and read again with --target NAME --reproduce FILE.

Usage: python scripts/fuzz.py [--runs 100000] [--target NAME]... [--seed 0] [--findings FOLDER]
                              [--plain] [--reproduce FILE]
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fuzz_mutations import mutate

if TYPE_CHECKING:
    from fuzz_targets import Target

MOST_SECONDS, MOST_MB = 2.0, 500.0
_MAX_SIZE = 20_000
_HANGS_AFTER = 60
_MOST_LOG = 6_000
_PACKAGES = ["scoring", "mutators", "runners", "uamt", "tomllib", "pickletools"]
_SAME = re.compile(r"'[^']*'|\"[^\"]*\"|[-+.\w]*\d[-+.\w]*|\([^)]*\)")
"""What differs between messages of one kind."""


def peak_mb() -> float:
    """Return the largest resident size of this process so far."""
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size / (2**20 if sys.platform == "darwin" else 2**10)


class Feeding:
    """The feeding of one target.

    Args:
        target: The reader.
        runs: How many inputs.
        folder: An empty folder for the file that is read.
        findings: Folder of inputs that fail.
        report: File for what came out.
    """

    def __init__(
        self, target: Target, runs: int, folder: Path, findings: Path, report: Path
    ) -> None:
        self.target, self.runs, self.folder = target, runs, folder
        self.findings, self.report = findings, report
        self.n = self.n_accepted = 0
        self.kinds: set[str] = set()
        self.slowest = (0.0, b"")
        for seed in target.seeds:
            target.feed(folder, seed)
        self.start_mb = peak_mb()

    def feed(self, content: bytes) -> bool:
        """Feed one input and return whether its message is of a new kind.

        Raises:
            SystemExit: It fails, or it was the last one.
        """
        started, size = time.process_time(), peak_mb()
        try:
            message = self.target.feed(self.folder, content)
        except Exception as error:
            self.fail(content, error)
        seconds = time.process_time() - started
        if seconds > self.slowest[0]:
            self.slowest = seconds, content
        if seconds > MOST_SECONDS:
            self.fail(content, TimeoutError(f"{seconds:.1f} s of the processor"))
        if peak_mb() - size > MOST_MB:
            self.fail(content, MemoryError(f"{peak_mb() - size:.0f} MB more"))
        self.n += 1
        self.n_accepted += not message
        kind = _SAME.sub("", message)[:200]
        is_new = kind not in self.kinds
        self.kinds.add(kind)
        return is_new

    def fail(self, content: bytes, error: Exception) -> None:
        """Save an input that fails, report it, and end the process."""
        path = self.findings / f"{self.target.name}-{hashlib.sha1(content).hexdigest()[:12]}"
        self.findings.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        traceback.print_exception(error)
        self.end(finding=str(path))

    def end(self, finding: str = "") -> None:
        """Write the report and end the process, without what a fuzzer does at an ordinary end."""
        slowest = self.findings / f"{self.target.name}-slowest"
        self.findings.mkdir(parents=True, exist_ok=True)
        slowest.write_bytes(self.slowest[1])
        content = {
            "runs": self.n,
            "accepted": self.n_accepted,
            "kinds": len(self.kinds),
            "seconds": self.slowest[0],
            "mb": peak_mb() - self.start_mb,
            "finding": finding,
        }
        self.report.write_text(json.dumps(content))
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(1 if finding else 0)


def feed_guided(make: Callable[[], Feeding], seed: int, corpus: Path) -> None:
    """Feed inputs that atheris finds by the coverage of our code."""
    import atheris

    with atheris.instrument_imports(include=_PACKAGES, enable_loader_override=False):
        feeding = make()
    for number, content in enumerate(feeding.target.seeds):
        (corpus / f"seed_{number}").write_bytes(content)

    def one(content: bytes) -> None:
        feeding.feed(content)
        if feeding.n >= feeding.runs:
            feeding.end()

    def change(content: bytes, max_size: int, seed: int) -> bytes:
        if seed % 4:
            return mutate(content, max_size, seed, feeding.target.tokens)
        return bytes(atheris.Mutate(content, max_size))

    options = [
        *("-runs=-1", f"-seed={seed + 1}", f"-max_len={_MAX_SIZE}", f"-timeout={_HANGS_AFTER}"),
        *("-rss_limit_mb=0", f"-artifact_prefix={feeding.findings / feeding.target.name}-"),
        *("-verbosity=0", "-print_final_stats=0", str(corpus)),
    ]
    feeding.findings.mkdir(parents=True, exist_ok=True)
    atheris.Setup([sys.argv[0], *options], one, custom_mutator=change)
    atheris.Fuzz()


def feed_plainly(feeding: Feeding, seed: int) -> None:
    """Feed mutations of the seeds, and of inputs whose message was new."""
    source = random.Random(seed)
    kept = list(feeding.target.seeds)
    while feeding.n < feeding.runs:
        content = mutate(
            source.choice(kept), _MAX_SIZE, source.getrandbits(32), feeding.target.tokens
        )
        if hasattr(signal, "alarm"):
            signal.alarm(_HANGS_AFTER)
        if feeding.feed(content):
            kept.append(content)
    feeding.end()


def run_child(args: argparse.Namespace) -> None:
    """Feed one target in this process, which ends with it."""

    def make() -> Feeding:
        from fuzz_targets import TARGETS

        work = Path(args.child)
        return Feeding(
            TARGETS[args.target[0]], args.runs, work / "read", args.findings, work / "report.json"
        )

    if args.plain:
        feed_plainly(make(), args.seed)
    else:
        corpus = Path(args.child) / "corpus"
        corpus.mkdir()
        feed_guided(make, args.seed, corpus)


def run_target(name: str, args: argparse.Namespace) -> dict[str, Any]:
    """Feed one target in a process of its own and return its report."""
    shared = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shared if shared.is_dir() else None) as folder:
        command = [sys.executable, __file__, "--child", folder, "--target", name]
        command += ["--runs", str(args.runs), "--seed", str(args.seed)]
        command += ["--findings", str(args.findings), *(["--plain"] if args.plain else [])]
        started = time.monotonic()
        log, report = Path(folder) / "log.txt", Path(folder) / "report.json"
        with log.open("wb") as said:
            done = subprocess.run(command, stdout=said, stderr=said, check=False)
        found: dict[str, Any] = {"runs": 0, "accepted": 0, "kinds": 0, "seconds": 0, "mb": 0}
        if report.is_file():
            found = json.loads(report.read_text())
        else:
            # The process itself died or hung: what it read last lies in the folder.
            last = [p for p in (Path(folder) / "read").rglob("*") if p.is_file()]
            args.findings.mkdir(parents=True, exist_ok=True)
            saved = [shutil.copy(p, args.findings / f"{name}-died-{p.name}") for p in last]
            found["finding"] = f"{', '.join(map(str, saved))} (exit code {done.returncode})"
        if found["finding"]:
            print(log.read_text(errors="replace")[-_MOST_LOG:], file=sys.stderr)
        return {**found, "wall": time.monotonic() - started}


def reproduce(args: argparse.Namespace) -> int:
    """Read one saved input again and say what comes of it."""
    from fuzz_targets import TARGETS

    with tempfile.TemporaryDirectory() as folder:
        started = time.process_time()
        message = TARGETS[args.target[0]].feed(Path(folder), args.reproduce.read_bytes())
    print(message or "accepted", f"({time.process_time() - started:.3f} s, {peak_mb():.0f} MB)")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=100_000, help="inputs of each target")
    parser.add_argument("--target", action="append", help="a reader; default: all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--findings", type=Path, default=Path("fuzz_findings"))
    parser.add_argument("--plain", action="store_true", help="random mutations, without atheris")
    parser.add_argument("--reproduce", type=Path, metavar="FILE", help="read a saved input again")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    args = parser.parse_args()
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    if args.child:
        run_child(args)
    from fuzz_targets import TARGETS

    unknown = sorted(set(args.target or ()) - set(TARGETS))
    if unknown or (args.reproduce and len(args.target or ()) != 1):
        parser.error(
            f"--target: expected one of {', '.join(TARGETS)}, got {unknown or args.target}"
        )
    if args.reproduce:
        return reproduce(args)
    if not args.plain and importlib.util.find_spec("atheris") is None:
        print("atheris is not installed (pip install .[fuzz]): mutating at random", file=sys.stderr)
        args.plain = True
    columns = (("runs", 9), ("accepted", 10), ("messages", 10), ("slowest s", 11), ("MB", 7))
    print(
        f"{'target':16}{''.join(f'{name:>{width}}' for name, width in columns)}    min", flush=True
    )
    findings = []
    for name in args.target or TARGETS:
        found = run_target(name, args)
        print(
            f"{name:16}{found['runs']:>9,}{found['accepted']:>10,}{found['kinds']:>10,}"
            f"{found['seconds']:>11.3f}{found['mb']:>7.0f}{found['wall'] / 60:>7.1f}",
            flush=True,
        )
        if found["finding"]:
            findings.append(f"{name}: {found['finding']}")
    for finding in findings:
        print(f"failed: {finding}")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
