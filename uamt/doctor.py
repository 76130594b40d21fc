"""The doctor: proves on a detector that mutation works, and that it leaves nothing behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from scoring.detections import Detections
from scoring.errors import ConfigError, UamtError

if TYPE_CHECKING:
    from torch import Tensor, nn

    from mutators import Mutant, Operator
    from runners.detectors import Detector
    from runners.settings import Settings

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


def examine(
    detector: Detector,
    images: Mapping[str, Tensor],
    sites: str | Sequence[str] = "uamters",
    score_threshold: float = 0.5,
    *,
    seed: int = 0,
    on_step: Callable[[], None] = lambda: None,
) -> list[Check]:
    """Return what was found on these images.

    A check is inconclusive where the original finds nothing: then nothing could change.

    Args:
        detector: The model; it is as before behind the call.
        images: (3, H, W) float32 tensors by name.
        sites: Where noise enters.
        score_threshold: Detections below it do not count, as in a run.
        seed: Of the masks.
        on_step: Called when the images have been run once more.

    Raises:
        ConfigError: The sites do not exist in this model.
    """
    from runners.chunks import batch_fault
    from runners.passes import run_mutant, run_original
    from runners.settings import Settings, arithmetic

    settings = Settings(passes=2, score_threshold=score_threshold, seed=seed)
    operators, notes = _sweeps(detector, sites)
    before = _Snapshot.of(detector.model)
    with arithmetic(settings.threads):
        checks: list[Check] = []
        fault = ""
        with _failing("the model runs on the images", checks):
            for image in images.values():
                detector.detect([image])
            key, image = next(iter(images.items()))
            fault = batch_fault(detector, image, key, operators[0].mutants()[0])
        if checks:
            return checks
        if fault:
            settings = replace(settings, chunk=1)
            checks.append(_one_by_one(fault))
        plain = {key: run_original(detector, image, settings) for key, image in images.items()}
        on_step()

        def mutated(mutant: Mutant) -> dict[str, list[Detections]]:
            passes = {
                key: run_mutant(detector, image, key, mutant, settings)[0]
                for key, image in images.items()
            }
            on_step()
            return passes

        found = sum(len(passes[0]) for passes in plain.values())
        again = {key: run_original(detector, image, settings) for key, image in images.items()}
        is_deterministic = _count_differing(plain, again) == 0
        checks.append(_finds_something(found, len(images), score_threshold))
        checks.append(_class_vectors(detector, plain, found))
        for operator in operators:
            with _failing(f"{operator.name} runs on the images", checks):
                zero = mutated(operator.original())
                differing = _count_differing(plain, zero)
                checks.append(_rate_zero(operator.name, differing, is_deterministic))
                strong = mutated(operator.mutants()[0])
                differing = _count_differing(plain, strong)
                checks.append(_strong_rate(operator.name, differing, found, detector, len(images)))
                replayed = _with_memo(detector, images, operator, settings)
                on_step()
                differing = _count_differing(strong, replayed)
                checks.append(_memo(operator.name, differing, is_deterministic))
        after = _Snapshot.of(detector.model)
        behind = {key: run_original(detector, image, settings) for key, image in images.items()}
        checks += _nothing_left(before, after, operators[0].mutants()[0], detector.model)
        checks.append(_same_outputs(_count_differing(plain, behind), is_deterministic))
    checks += [Check("every operator can run here", "ok", note) for note in notes]
    return checks


@contextmanager
def _failing(claim: str, checks: list[Check]) -> Iterator[None]:
    """Return a context whose failure becomes a check: what a user's model raises is not known."""
    from runners.failures import is_out_of_memory, shown_failure

    try:
        yield
    except ConfigError:
        raise
    except Exception as error:
        if is_out_of_memory(error):
            raise
        reason = str(error) if isinstance(error, UamtError) else shown_failure(error)
        checks.append(Check(claim, "FAILED", reason))


def _one_by_one(fault: str) -> Check:
    return Check(
        "the model takes several images at once",
        "ok",
        f"no: {fault}; uamt run goes one by one by itself, or with --chunk 1",
    )


def _sweeps(detector: Detector, sites: str | Sequence[str]) -> tuple[list[Operator], list[str]]:
    """Return what is examined, and a note on each operator that cannot run here."""
    from mutators import MCDropBlock, MCDropout
    from uamt.experiments import fitting

    return fitting(
        detector,
        [
            MCDropout(rates=(STRONG_RATE,), sites=sites),
            MCDropBlock(rates=(STRONG_RATE,), blocks=(3,), sites=sites),
        ],
    )


def n_of_steps(detector: Detector, sites: str | Sequence[str]) -> int:
    """Return how often `examine` calls `on_step` if nothing fails.

    Raises:
        ConfigError: The sites do not exist in this model.
    """
    return 1 + 3 * len(_sweeps(detector, sites)[0])


def _with_memo(
    detector: Detector, images: Mapping[str, Tensor], operator: Operator, settings: Settings
) -> dict[str, list[Detections]]:
    """Return the passes of the operator's first mutant as a campaign computes them."""
    from runners.memo import Memo
    from runners.passes import run_mutant, run_original_once

    mutant = operator.mutants()[0]
    with mutant.mutation.on_model(detector.model) as injection:
        sites = {site.name for site in injection.sites}
    passes = {}
    for key, image in images.items():
        memo = Memo(image.to(detector.device))
        run_original_once(detector, image, settings, memo=memo, sites=sites)
        # Twice: what the model does to kept values shows the second time.
        for _ in range(2):
            passes[key], _ = run_mutant(detector, image, key, mutant, settings, memo=memo)
        memo.clear()
    return passes


def _equal(one: Detections, other: Detections) -> bool:
    return all(
        np.array_equal(getattr(one, column), getattr(other, column))
        for column in ("boxes", "labels", "scores", "probs")
    )


def _count_differing(
    some: Mapping[str, Sequence[Detections]], others: Mapping[str, Sequence[Detections]]
) -> int:
    """Return on how many images any pass differs in any bit."""
    return sum(
        not all(_equal(a, b) for a, b in zip(some[key], others[key], strict=True)) for key in some
    )


def _finds_something(found: int, n_images: int, threshold: float) -> Check:
    claim = "the original finds objects"
    detail = f"{found} detections of score {threshold} or more on {n_images} images"
    if found:
        return Check(claim, "ok", detail)
    return Check(
        claim,
        "inconclusive",
        f"{detail}; give images that it knows with --images, or lower --score-threshold",
    )


def _class_vectors(
    detector: Detector, plain: Mapping[str, Sequence[Detections]], found: int
) -> Check:
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


def _rate_zero(operator: str, differing: int, is_deterministic: bool) -> Check:
    claim = f"{operator} at rate 0 changes nothing"
    if not is_deterministic:
        return Check(claim, "inconclusive", "the original itself differs from run to run")
    if differing:
        return Check(claim, "FAILED", f"{differing} images differ")
    return Check(
        claim, "ok", "all that is found equals what the untouched model finds, bit for bit"
    )


def _strong_rate(
    operator: str, differing: int, found: int, detector: Detector, n_images: int
) -> Check:
    claim = f"{operator} at rate {STRONG_RATE} changes detections"
    detail = f"{differing} of {n_images} images changed"
    if differing:
        return Check(claim, "ok", detail)
    if not found:
        return Check(claim, "inconclusive", f"{detail}, and the original finds nothing on them")
    if detector.weights.get("kind") == "random":
        return Check(
            claim,
            "inconclusive",
            f"{detail}; random weights can leave nothing to mask: give --weights",
        )
    return Check(claim, "FAILED", f"{detail}; choose other --sites")


def _memo(operator: str, differing: int, is_deterministic: bool) -> Check:
    claim = f"{operator} is the same where layers before it run only once"
    if not is_deterministic:
        return Check(claim, "ok", "the original differs from run to run, so all layers always run")
    if differing:
        return Check(claim, "FAILED", f"{differing} images differ; run with --no-memo")
    return Check(
        claim, "ok", "equal, bit for bit, to running all layers in every pass; this saves time"
    )


def _same_outputs(differing: int, is_deterministic: bool) -> Check:
    claim = "the model finds the same as before"
    if not is_deterministic:
        return Check(claim, "inconclusive", "the original itself differs from run to run")
    outcome: Outcome = "FAILED" if differing else "ok"
    return Check(claim, outcome, f"{differing} images differ after all mutants ran")


@dataclass(frozen=True, slots=True)
class _Snapshot:
    """What a mutation must leave as it was."""

    state: str
    norms: str
    hooks: int
    modules: tuple[tuple[str, str, bool], ...]

    @classmethod
    def of(cls, model: nn.Module) -> _Snapshot:
        from torch import nn

        from runners.fingerprints import state_hash

        norms = nn.ModuleDict(
            {
                name.replace(".", "/"): module
                for name, module in model.named_modules()
                if "Norm" in type(module).__name__
            }
        )
        return cls(
            state=state_hash(model),
            norms=state_hash(norms),
            hooks=count_hooks(model),
            modules=tuple(
                (name, type(module).__qualname__, module.training)
                for name, module in model.named_modules()
            ),
        )


def count_hooks(model: nn.Module) -> int:
    """Return the number of forward hooks on all modules of a model."""
    return sum(
        len(module._forward_hooks) + len(module._forward_pre_hooks) for module in model.modules()
    )


def _nothing_left(
    before: _Snapshot, after: _Snapshot, mutant: Mutant, model: nn.Module
) -> list[Check]:
    def outcome(holds: bool) -> Outcome:
        return "ok" if holds else "FAILED"

    hooks_inside = -1
    with suppress(_StopHere), mutant.mutation.on_model(model):
        hooks_inside = count_hooks(model)
        raise _StopHere
    hooks_behind = count_hooks(model)
    return [
        Check(
            "the weights are as before",
            outcome(before.state == after.state),
            f"parameters and buffers, sha256 {after.state[:16]}",
        ),
        Check(
            "the layers are as before",
            outcome(before.norms == after.norms and before.modules == after.modules),
            "statistics of batch norms; type and train or eval mode of every module",
        ),
        Check(
            "nothing stays attached to the model",
            outcome(before.hooks == after.hooks),
            f"{after.hooks} hooks, as before",
        ),
        Check(
            "nothing stays attached after an error either",
            outcome(hooks_inside > before.hooks and hooks_behind == before.hooks),
            f"{hooks_inside - before.hooks} hooks while a mutant ran, "
            f"{hooks_behind - before.hooks} once an error had ended it",
        ),
    ]


class _StopHere(Exception):  # noqa: N818 - no error, a way out
    """Raised on purpose, to see what an exception leaves behind."""
