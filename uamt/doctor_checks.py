"""What the doctor says of what it saw: one claim each, and whether it holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from scoring.detections import Detections

if TYPE_CHECKING:
    from runners.detectors import Detector

Outcome = Literal["ok", "FAILED", "inconclusive"]

STRONG_RATE = 0.5
_ROUNDING = 1e-6
"""By how much the square of a rounded root may exceed the number."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was proved, or not.

    Args:
        claim: What should hold.
        outcome: Whether it does.
        detail: What was seen.
    """

    claim: str
    outcome: Outcome
    detail: str


def finds_something(found: int, n_images: int, threshold: float) -> Check:
    """Return whether the original finds anything, without which nothing can change."""
    claim = "the original finds objects"
    detail = f"{found} detections of score {threshold} or more on {n_images} images"
    if found:
        return Check(claim, "ok", detail)
    return Check(
        claim,
        "inconclusive",
        f"{detail}; give images that it knows with --images, or lower --score-threshold",
    )


def class_vectors(
    detector: Detector, plain: Mapping[str, Sequence[Detections]], found: int
) -> Check:
    """Return whether every vector has an entry for its label, and its score there."""
    from torchvision.models.detection import FCOS

    claim = "the class vector (a probability per class) of every detection fits"
    if not found:
        return Check(claim, "inconclusive", "nothing was found")
    every = [passes[0] for passes in plain.values()]
    lengths = {d.n_classes for d in every if len(d)}
    expected = len(detector.label_names)
    if len(lengths) > 1 or (expected and lengths != {expected}):
        return Check(claim, "FAILED", f"lengths {sorted(lengths)}, expected {expected}")
    length = lengths.pop()
    detail = f"{found} vectors of {length} entries ({detector.scores})"
    labels = np.concatenate([d.labels for d in every])
    outside = [label for label in labels.tolist() if not 0 <= label < length]
    if outside:
        return Check(
            claim,
            "FAILED",
            f"{detail}; {len(outside)} labels have no entry there, such as label {outside[0]}: "
            f"labels count from 0, background included where the vector has it",
        )
    probs = np.concatenate([d.probs for d in every if len(d)])
    at_label = probs[np.arange(len(labels)), labels.astype(int)]
    scores = np.concatenate([d.scores for d in every])
    # FCOS ranks by the geometric mean of class and centerness, which is not above the larger one.
    has_own_scores = any(isinstance(module, FCOS) for module in detector.model.modules())
    is_wrong = at_label < scores**2 - _ROUNDING if has_own_scores else at_label != scores
    wrong = int(is_wrong.sum())
    if not wrong:
        return Check(claim, "ok", f"{detail}, each with the score of its label")
    detail = f"{detail}; {wrong} do not hold the score of their label"
    if detector.scores != "given":
        return Check(claim, "FAILED", detail)
    largest = int((at_label == probs.max(axis=1)).sum())
    if 2 * largest >= len(labels):
        return Check(
            claim,
            "ok",
            f"{detail}, which is right for a score that is more than the class's probability "
            f"(objectness, centerness); {largest} labels have the largest entry",
        )
    return Check(
        claim,
        "FAILED",
        f"{detail}, and only {largest} labels have the largest entry; return class_probs whose "
        f"entry number i belongs to label i (is there a background at 0?)",
    )


def rate_zero(operator: str, differing: int, is_deterministic: bool) -> Check:
    """Return whether a mutant of rate 0 is the original."""
    claim = f"{operator} at rate 0 changes nothing"
    if not is_deterministic:
        return Check(claim, "inconclusive", "the original itself differs from run to run")
    if differing:
        return Check(claim, "FAILED", f"{differing} images differ")
    return Check(
        claim, "ok", "all that is found equals what the untouched model finds, bit for bit"
    )


def strong_rate(
    operator: str, differing: int, found: int, detector: Detector, n_images: int
) -> Check:
    """Return whether a strong mutant shows."""
    claim = f"{operator} at rate {STRONG_RATE} changes detections"
    detail = f"{differing} of {n_images} images changed"
    if differing:
        enough = "; one is enough" if differing < n_images else ""
        return Check(claim, "ok", f"{detail}{enough}")
    if not found:
        return Check(claim, "inconclusive", f"{detail}, and the original finds nothing on them")
    if detector.weights.get("kind") == "random":
        return Check(
            claim,
            "inconclusive",
            f"{detail}; random weights can leave nothing to mask: give --weights",
        )
    return Check(claim, "FAILED", f"{detail}; choose other --sites")


def kept_values(operator: str, differing: int, is_deterministic: bool) -> Check:
    """Return whether a mutant is the same with the values that are kept from pass to pass."""
    claim = f"{operator} is the same where layers before it run only once"
    if not is_deterministic:
        return Check(claim, "ok", "the original differs from run to run, so all layers always run")
    if differing:
        return Check(claim, "FAILED", f"{differing} images differ; run with --no-memo")
    return Check(
        claim, "ok", "equal, bit for bit, to running all layers in every pass; this saves time"
    )


def same_outputs(differing: int, is_deterministic: bool) -> Check:
    """Return whether the original is the same after all mutants."""
    claim = "the model finds the same as before"
    if not is_deterministic:
        return Check(claim, "inconclusive", "the original itself differs from run to run")
    outcome: Outcome = "FAILED" if differing else "ok"
    return Check(claim, outcome, f"{differing} images differ after all mutants ran")
