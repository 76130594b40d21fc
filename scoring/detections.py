"""Detections: the boxes of one pass, as columns."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from scoring.errors import DataError
from scoring.limits import MAX_COORDINATE


def to_array(value: Any) -> npt.NDArray[Any]:
    """Return an array, also for a tensor that lies on a device or carries a gradient."""
    detach = getattr(value, "detach", None)
    if detach is None:
        return np.asarray(value)
    tensor = detach().cpu()
    # Exact from every float type, and numpy has no bfloat16.
    return np.asarray((tensor.double() if tensor.is_floating_point() else tensor).numpy())


@dataclass(frozen=True, slots=True, eq=False)
class Detections:
    """What one pass of a detector found on one image.

    Args:
        boxes: (N, 4) x1, y1, x2, y2 in pixels of the image's own frame.
        labels: (N,) class ids of the model; foreign files may hold strings.
        scores: (N,) confidence, 0 to 1.
        probs: (N, C) class-probability vector of each kept proposal or anchor.

    Raises:
        DataError: The columns do not have these shapes.

    Example:
        >>> found = Detections([[0, 0, 10, 5]], [1], [0.9], [[0.1, 0.9]])
        >>> len(found), found.n_classes
        (1, 2)
    """

    boxes: npt.NDArray[np.float64]
    labels: npt.NDArray[Any]
    scores: npt.NDArray[np.float64]
    probs: npt.NDArray[np.float64]

    def __post_init__(self) -> None:
        try:
            boxes = np.asarray(self.boxes, dtype=np.float64)
            labels = np.asarray(self.labels)
            scores = np.asarray(self.scores, dtype=np.float64)
            probs = np.asarray(self.probs, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise DataError(f"detections: expected columns of numbers ({error})") from error
        n = len(boxes) if boxes.ndim else 0
        if boxes.shape != (n, 4):
            raise DataError(f"boxes: expected shape (N, 4), got {boxes.shape}")
        if labels.shape != (n,) or scores.shape != (n,):
            raise DataError(
                f"labels and scores: expected one per box, shape ({n},), "
                f"got {labels.shape} and {scores.shape}"
            )
        if probs.ndim != 2 or len(probs) != n:
            raise DataError(f"probs: expected shape ({n}, C), got {probs.shape}")
        if not n:
            labels = labels.astype(np.int64)
        elif labels.dtype.kind in "US":
            labels = labels.astype(object)
        elif labels.dtype.kind not in "iuO":
            raise DataError(f"labels: expected whole numbers or strings, got {labels.dtype}")
        for name, column in (
            ("boxes", boxes),
            ("labels", labels),
            ("scores", scores),
            ("probs", probs),
        ):
            object.__setattr__(self, name, column)

    def __len__(self) -> int:
        return len(self.boxes)

    @property
    def n_classes(self) -> int:
        """C, the length of the class vectors."""
        return int(self.probs.shape[1])

    @classmethod
    def empty(cls, n_classes: int = 0) -> Self:
        """Return a pass that found nothing, with (0, 4) boxes and (0, C) vectors."""
        return cls(np.empty((0, 4)), np.empty(0, np.int64), np.empty(0), np.empty((0, n_classes)))

    @classmethod
    def from_torchvision(cls, output: Mapping[str, Any]) -> Self:
        """Return the detections of one torchvision output.

        Args:
            output: `boxes` (N, 4), `labels` (N,), `scores` (N,) and `class_probs` (N, C), tensors
                on any device or arrays.

        Raises:
            DataError: A key is missing or the shapes do not fit.
        """
        missing = {"boxes", "labels", "scores", "class_probs"} - set(output)
        if missing:
            raise DataError(
                f"detector output: expected boxes, labels, scores and class_probs; missing "
                f"{', '.join(sorted(missing))}"
            )
        return cls(*(to_array(output[k]) for k in ("boxes", "labels", "scores", "class_probs")))

    def take(self, rows: npt.NDArray[Any]) -> Self:
        """Return the detections at these rows (indices or a mask), in their order."""
        return type(self)(self.boxes[rows], self.labels[rows], self.scores[rows], self.probs[rows])

    def filtered(
        self, score_threshold: float = 0.0, classes: Collection[int] | None = None
    ) -> Self:
        """Return the detections with at least this score, of these classes (None: of all)."""
        keep = self.scores >= score_threshold
        if classes is not None:
            keep &= np.isin(self.labels, list(classes))
        return self.take(keep)

    def is_finite(self) -> npt.NDArray[np.bool_]:
        """Return (N,) True where box, score and class vector hold no NaN or infinity.

        A coordinate of 1e100 or more counts as infinite: areas overflow.
        """
        # A comparison with NaN fails.
        ordinary = (np.abs(self.boxes) < MAX_COORDINATE).all(axis=1)
        finite = ordinary & np.isfinite(self.scores)
        return np.asarray(finite & np.isfinite(self.probs).all(axis=1), dtype=np.bool_)
