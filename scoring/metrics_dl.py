"""The five uncertainty measures of one object, by their public names."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from scoring import uncertainty
from scoring.detections import to_array
from scoring.errors import DataError
from scoring.measures import MEASURES, measure
from scoring.rules import DEEPLUQ, Rules

Floats = npt.NDArray[np.float64]


class DLMetrics:
    """Uncertainty of an object that was seen in several passes; each method keeps its last result.

    Args:
        rules: Which definition each number follows, such as `STRICT`: exact entropies, votes in
            double precision, hull areas.

    Attributes:
        variation_ratio: Last result of `cal_vr`; this and the following five are -1 at first.
        shannon_entropy: Last result of `calcu_entropy`.
        mutual_information: Last result of `calcu_mi` or `calcu_mutual_information`.
        total_var_center_point: Last result of `calcu_tv` for centres.
        total_var_bounding_box: Last result of `calcu_tv` for boxes.
        prediction_surface: Last result of `calcu_prediction_surface`.
        box: (N, 4) the boxes last given to `calcu_prediction_surface`; None at first.
        hull: For each of their four corners the (V, 2) positions on the convex hull, none where
            they lie on a line; None at first and for fewer than 3 boxes.

    Source: scoring.md, sections 2 and 5.

    Example:
        >>> metrics = DLMetrics()
        >>> metrics.cal_vr([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.6, 0.4]])
        0.25
        >>> metrics.variation_ratio, metrics.shannon_entropy
        (0.25, -1)
    """

    def __init__(self, *, rules: Rules = DEEPLUQ) -> None:
        self.rules = rules
        self.variation_ratio: float = -1
        self.shannon_entropy: float = -1
        self.mutual_information: float = -1
        self.total_var_center_point: float = -1
        self.total_var_bounding_box: float = -1
        self.prediction_surface: float = -1
        self.hull: Any = None
        self.box: Floats | None = None

    def cal_vr(self, events: Any) -> float:
        """Return the variation ratio: the share of rows that do not vote for the commonest class.

        Args:
            events: (N, C) class vectors, one per pass.
        """
        rows = _rows(events, "events")
        if self.rules.argmax == "float64":
            self.variation_ratio = self._measured(rows, "vr")
        else:
            self.variation_ratio = float(uncertainty.variation_ratio(rows)[0])
        return self.variation_ratio

    def calcu_entropy(
        self, events: Any, eps: float = uncertainty.EPSILON, base: float = 2
    ) -> float:
        """Return the Shannon entropy of one class vector, rounded to 5 decimals, not below 0.

        Args:
            events: (C,) probabilities.
            eps: Added to a probability before its logarithm; exact entropies need none.
            base: Base of the logarithm; 2 gives bits.
        """
        row = _rows(to_array(events)[None], "events")
        if self.rules.entropy == "exact":
            self.shannon_entropy = self._measured(row, "ie") / math.log2(base)
        else:
            self.shannon_entropy = float(uncertainty.entropy(row, eps, base)[0])
        return self.shannon_entropy

    def calcu_mi(self, events: Any, eps: float = uncertainty.EPSILON, base: float = 2) -> float:
        """Return the mutual information between prediction and model, not below 0.

        Args:
            events: (N, C) class vectors, one per pass.
            eps: Added to a probability before its logarithm; exact entropies need none.
            base: Base of the logarithm; 2 gives bits.
        """
        rows = _rows(events, "events")
        if self.rules.entropy == "exact":
            self.mutual_information = self._measured(rows, "mi") / math.log2(base)
        else:
            information = uncertainty.mutual_information(rows, epsilon=eps, base=base)
            self.mutual_information = float(information[0])
        return self.mutual_information

    def calcu_tv(self, matrix: Any, tag: str) -> float:
        """Return the sum of the columns' sample variances, in square pixels; NaN for one row.

        Args:
            matrix: (N, 4) boxes or (N, 2) centres, one per pass, in pixels.
            tag: `bounding_box` or `center_point`: which attribute keeps the result.

        Raises:
            ValueError: The tag is neither.
        """
        if tag not in ("bounding_box", "center_point"):
            raise ValueError(f"tag: expected 'bounding_box' or 'center_point', got {tag!r}")
        rows = _rows(matrix, "matrix")
        total = float(uncertainty.total_variance(rows)[0]) if len(rows) > 1 else float("nan")
        setattr(self, f"total_var_{tag}", total)
        return total

    def calcu_mutual_information(self, X: Any, Y: Any, Z: Any) -> float:
        """Return the total correlation of three discrete variables in bits, not below 0.

        The sum of p log2(p / (px py pz)) over the triples that occur, with observed shares.

        Args:
            X: (n,) values.
            Y: (n,) values, likewise.
            Z: (n,) values, likewise.

        Raises:
            DataError: The three differ in length, or are empty.

        Example:
            >>> DLMetrics().calcu_mutual_information([0, 1], [0, 1], [0, 1])
            2.0
        """
        columns = [to_array(values).reshape(-1) for values in (X, Y, Z)]
        n = len(columns[0])
        if not n or any(len(column) != n for column in columns):
            raise DataError(
                f"expected three arrays of one length, got {[len(column) for column in columns]}"
            )
        codes = [np.unique(column, return_inverse=True)[1].reshape(-1) for column in columns]
        triples, numbers = np.unique(np.stack(codes), axis=1, return_counts=True)
        joint = numbers / n
        product = np.ones(len(joint))
        for code, values in zip(codes, triples, strict=True):
            product *= (np.bincount(code) / n)[values]
        total = float((joint * np.log2(joint / product)).sum())
        self.mutual_information = max(0.0, total)
        return self.mutual_information

    def calcu_prediction_surface(self, boxes: Any) -> float:
        """Return the hull perimeters of the four corners' positions, added up, in pixels.

        Rules with `surface="area"` take the areas, in square pixels.

        Args:
            boxes: (N, 4) x1, y1, x2, y2 in pixels, one per pass.

        Returns:
            -1 for fewer than 3 boxes; 0 where all corners move on lines.
        """
        self.box = _rows(boxes, "boxes", length=4, at_least=0)
        self.hull = None
        self.prediction_surface = -1
        if len(self.box) > 2:
            self.hull = [_hull(self.box[:, list(corner)]) for corner in uncertainty.CORNERS]
            votes = np.ones((len(self.box), 1))
            self.prediction_surface = self._measured(votes, "ps", self.box)
        return self.prediction_surface

    def _measured(self, rows: Floats, name: str, boxes: Floats | None = None) -> float:
        """Return one measure of an object by the rules."""
        boxes = np.zeros((len(rows), 4)) if boxes is None else boxes
        values = measure(rows, boxes, np.array([len(rows)]), None, self.rules)
        return float(values[0, MEASURES.index(name)])


def _hull(points: Floats) -> Floats:
    from scipy.spatial import ConvexHull, QhullError

    try:
        return np.asarray(points[ConvexHull(points).vertices], dtype=np.float64)
    except (QhullError, ValueError):
        return np.empty((0, 2))


def _rows(values: Any, name: str, length: int | None = None, at_least: int = 1) -> Floats:
    """Return (N, length) rows of numbers.

    Raises:
        DataError: The values are no rows of numbers, or too few.
    """
    try:
        rows = to_array(values).astype(np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{name}: expected rows of numbers ({error})") from error
    if not rows.size:
        rows = rows.reshape(0, length or 1)
    if rows.ndim != 2 or (length is not None and rows.shape[1] != length):
        raise DataError(f"{name}: expected shape (N, {length or 'C'}), got {rows.shape}")
    if len(rows) < at_least:
        raise DataError(f"{name}: expected at least {at_least} row of numbers, got none")
    return rows
