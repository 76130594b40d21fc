"""Class vectors: what a model's probabilities are, and what each of them votes for."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from scoring.rules import Rules
from scoring.uncertainty import normalise

Floats = npt.NDArray[np.float64]

RANGE_TOLERANCE = 1e-6
"""An entry may lie so far outside 0..1 and is clipped; beyond that its vector is broken."""
SUM_TOLERANCE = 1e-2
"""A vector whose sum is farther from 1 is no softmax."""


class Vectors(NamedTuple):
    """Class vectors, ready for the measures."""

    rows: Floats
    """(N, C) or (N, C + 1), each sums to 1"""
    votes: npt.NDArray[np.int64]
    """(N,) class of the largest entry"""
    n_classes: int
    """C, the classes that can be voted for"""
    is_broken: npt.NDArray[np.bool_]
    """(N,) the vector is no class probability; its row is NaN"""


def read_vectors(probs: Floats, rules: Rules) -> Vectors:
    """Return raw class vectors as the rules read them.

    Under `strict` softmax vectors are divided by their sum. Sigmoid vectors are independent
    probabilities: 1 - max, the probability of no class by convention, is appended before the
    division and cannot be voted for. Under `deepluq` all are divided by their sum.

    Args:
        probs: (N, C) as in the prediction files.
        rules: `class_vectors`, `scores` and `argmax`.

    Source: scoring.md, section 3, rows 12 and 13.

    Example:
        >>> from scoring.rules import STRICT
        >>> read_vectors(np.array([[0.5, 0.1]]), STRICT.with_(scores="sigmoid")).rows.round(4)
        array([[0.4545, 0.0909, 0.4545]])
    """
    n, n_classes = probs.shape
    broken = np.zeros(n, dtype=bool)
    if not n_classes:
        return Vectors(probs, np.zeros(n, np.int64), 0, broken)
    if rules.class_vectors == "divided":
        rows = normalise(probs)
    else:
        outside = (probs < -RANGE_TOLERANCE) | (probs > 1 + RANGE_TOLERANCE)
        entries = np.clip(probs, 0.0, 1.0)
        if rules.scores == "sigmoid":
            entries = np.hstack([entries, 1 - entries.max(axis=1, keepdims=True)])
        broken = np.asarray(outside.any(axis=1) | (entries.sum(axis=1) <= 0))
        entries[broken] = np.nan
        rows = normalise(entries)
    voting = probs if rules.argmax == "float64" else rows[:, :n_classes].astype(np.float32)
    return Vectors(rows, np.argmax(voting, axis=1), n_classes, broken)


def looks_sigmoid(probs: Floats) -> bool:
    """Return whether any class vector can be no softmax: its entries do not sum to 1.

    Vectors with an entry outside 0..1, or that sum to 0, say nothing. For a model whose manifest
    does not declare its scores; decided once, over the original's passes of all suites.

    Args:
        probs: (N, C) as in the prediction files.

    Source: scoring.md, section 3, row 12.

    Example:
        >>> looks_sigmoid(np.array([[0.5, 0.5], [0.9, 0.105]]))
        False
        >>> looks_sigmoid(np.array([[0.5, 0.5], [0.9, 0.3]]))
        True
    """
    if not probs.size:
        return False
    total = probs.sum(axis=1)
    is_sound = ((probs >= 0) & (probs <= 1)).all(axis=1) & (total > 0)
    return bool((is_sound & (np.abs(total - 1) > SUM_TOLERANCE)).any())
