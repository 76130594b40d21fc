"""Passes: the detections of T passes over one image, in one table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from scoring.detections import Detections
from scoring.errors import DataError


@dataclass(frozen=True, slots=True, eq=False)
class Passes:
    """The detections of T passes, one after the other, with the number of each pass.

    Args:
        detections: All N detections, ordered by pass.
        counts: (T,) number of detections in each pass; sums to N.

    Raises:
        DataError: The counts do not add up.

    Example:
        >>> one = Detections([[0, 0, 10, 5]], [1], [0.9], [[0.1, 0.9]])
        >>> passes = Passes.from_list([one, Detections.empty(), one])
        >>> passes.n_passes, len(passes), passes.pass_of_row.tolist()
        (3, 2, [0, 2])
    """

    detections: Detections
    counts: npt.NDArray[np.int64]

    def __post_init__(self) -> None:
        counts = np.asarray(self.counts, dtype=np.int64)
        if counts.ndim != 1 or (counts < 0).any() or counts.sum() != len(self.detections):
            raise DataError(
                f"passes: expected counts that add up to {len(self.detections)} detections, "
                f"got {counts.tolist()}"
            )
        object.__setattr__(self, "counts", counts)

    def __len__(self) -> int:
        return len(self.detections)

    @property
    def n_passes(self) -> int:
        """T, the number of passes."""
        return len(self.counts)

    @property
    def starts(self) -> npt.NDArray[np.int64]:
        """(T + 1,) first row of each pass, and the number of rows."""
        return np.concatenate(([0], np.cumsum(self.counts)))

    @property
    def pass_of_row(self) -> npt.NDArray[np.int64]:
        """(N,) the pass that each row belongs to."""
        return np.repeat(np.arange(self.n_passes), self.counts)

    def __getitem__(self, t: int) -> Detections:
        if not 0 <= t < self.n_passes:
            raise IndexError(f"pass {t}: expected 0 to {self.n_passes - 1}")
        start, stop = self.starts[t : t + 2]
        return self.detections.take(np.arange(start, stop))

    @classmethod
    def from_list(cls, passes: Sequence[Detections]) -> Self:
        """Return the passes in the order given; a pass without detections fits any other.

        Raises:
            DataError: The class vectors of two passes differ in length.
        """
        found = [detections for detections in passes if len(detections)]
        lengths = {detections.n_classes for detections in found}
        if len(lengths) > 1:
            raise DataError(f"passes: expected class vectors of one length, got {sorted(lengths)}")
        counts = np.array([len(detections) for detections in passes], dtype=np.int64)
        if not found:
            return cls(passes[0] if passes else Detections.empty(), counts)
        labels = [detections.labels for detections in found]
        if len({array.dtype.kind for array in labels}) > 1:
            labels = [array.astype(object) for array in labels]
        together = Detections(
            np.concatenate([detections.boxes for detections in found]),
            np.concatenate(labels),
            np.concatenate([detections.scores for detections in found]),
            np.concatenate([detections.probs for detections in found]),
        )
        return cls(together, counts)
