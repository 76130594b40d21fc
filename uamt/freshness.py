"""Freshness: whether scores are of what lies in the experiment now, or of what lay there before."""

from __future__ import annotations

import hashlib
import json
import shlex
from pathlib import Path

from scoring.errors import DataError
from scoring.files import write_atomic
from scoring.layout import LEDGER_NAME, MANIFEST_NAME
from scoring.limits import MAX_LIST_BYTES
from scoring.reading import read_text

SCORED_NAME = "scored.json"
_KEY = "of_sha256"


def state_of(root: Path) -> str | None:
    """Return what identifies the results that an experiment lists; None if it lists none.

    Args:
        root: The experiment's folder.
    """
    found = [path for path in (root / MANIFEST_NAME, root / LEDGER_NAME) if path.is_file()]
    digest = hashlib.sha256()
    for path in found:
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest() if found else None


def mark_scored(results: Path, state: str | None) -> None:
    """Keep beside scores which state of the experiment they are of.

    Args:
        results: Folder of the scores.
        state: As `state_of` returned it before anything was scored.
    """
    if state is not None:
        write_atomic(results / SCORED_NAME, json.dumps({_KEY: state}).encode())


def stale_note(results: Path, root: Path | None = None) -> str:
    """Return that an experiment was run on, or imported into, after it was scored.

    Args:
        results: Folder of the scores.
        root: The experiment's folder; None means that around the scores, if it is one.

    Returns:
        Empty where the scores are of what lies there, or nothing tells.
    """
    root = root or results.parent
    try:
        marked = json.loads(read_text(results / SCORED_NAME, MAX_LIST_BYTES, "a saved state"))
    except (FileNotFoundError, DataError, ValueError):
        return ""  # of another tool, or by hand: nothing tells
    state = state_of(root)
    if state is None or not isinstance(marked, dict) or marked.get(_KEY) in (None, state):
        return ""
    elsewhere = [] if results == root / "scores" else ["--out", str(results)]
    command = shlex.join(["uamt", "score", str(root), *elsewhere])
    return (
        f"'{root}' was run or imported into since it was scored, and these are the old scores; "
        f"'{command}' brings them up to date"
    )
