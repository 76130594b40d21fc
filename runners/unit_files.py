"""The files of one unit: T predictions, written whole, and found whole again."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from runners.ledger import Entry
from scoring.files import TEMPORARY_PATTERN, write_atomic
from scoring.layout import prediction_path


@dataclass(frozen=True, slots=True)
class UnitFiles:
    """The folder of one image under one mutant.

    Args:
        folder: Where its prediction files lie.
    """

    folder: Path

    def write(self, contents: Sequence[bytes]) -> tuple[str, ...]:
        """Write one file per pass and return their sha256; nothing else stays in the folder.

        Raises:
            OSError: The disk is full or the folder cannot be written.
        """
        self._remove_others(len(contents))
        for t, content in enumerate(contents):
            write_atomic(prediction_path(self.folder, t), content)
        return tuple(hashlib.sha256(content).hexdigest() for content in contents)

    def clear(self) -> None:
        """Remove the files of an earlier run, so that none is taken for this one's."""
        self._remove_others(0)
        if self.folder.is_dir() and not any(self.folder.iterdir()):
            self.folder.rmdir()

    def _remove_others(self, n_passes: int) -> None:
        if not self.folder.is_dir():
            return
        kept = {prediction_path(self.folder, t) for t in range(n_passes)}
        leftovers = [*self.folder.glob("prediction_*.json"), *self.folder.glob(TEMPORARY_PATTERN)]
        for path in leftovers:
            if path not in kept:
                path.unlink(missing_ok=True)


def is_whole(folder: Path, entry: Entry) -> bool:
    """Return whether a unit is done and its files are what the ledger says."""
    if entry.status != "done":
        return False
    try:
        return all(
            hashlib.sha256(prediction_path(folder, t).read_bytes()).hexdigest() == sha256
            for t, sha256 in enumerate(entry.sha256)
        )
    except OSError:
        return False
