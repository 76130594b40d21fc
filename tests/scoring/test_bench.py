"""The benchmark runs, without and with what it can do without."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "scripts" / "bench_scoring.py"


def test_the_benchmark_prints_a_row_that_compares_with_the_plain_loop() -> None:
    few = ["--objects", "2", "--images", "1", "--repeats", "1", "--sample", "1"]
    done = subprocess.run(
        [sys.executable, str(SCRIPT), *few], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    about, header, row = done.stdout.splitlines()
    assert "54 mutants, T = 10" in about
    assert "plain loop" in header
    assert row.split()[:2] == ["2", "3"]
    assert all(float(cell) > 0 for cell in row.split()[2:])
