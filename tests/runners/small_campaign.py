"""A small campaign: one detector, two pictures, three mutants; and what became of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

from mutators import MCDropBlock, MCDropout
from runners.campaign import Campaign, prepare
from runners.execution import Summary, run_serially
from runners.ledger import Entry

SWEEPS = (MCDropout(rates=(0.1, 0.3)), MCDropBlock(rates=(0.2,), blocks=(3,)))


def changed(campaign: Campaign, **fields: object) -> Campaign:
    return dataclasses.replace(campaign, **fields)  # type: ignore[arg-type]


def tree(root: Path) -> dict[str, bytes]:
    """Everything that a run decides: predictions and manifest, not the ledger's times."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and path.name != "ledger.jsonl"
    }


def written(root: Path) -> dict[Path, tuple[int, int]]:
    """Which file stands where, and when it was written last."""
    return {p: (p.stat().st_ino, p.stat().st_mtime_ns) for p in root.rglob("*") if p.is_file()}


def run(campaign: Campaign, on_unit: Callable[[Entry, bool], None] | None = None) -> Summary:
    return run_serially(prepare(campaign), on_unit)
