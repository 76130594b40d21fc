"""The doctor: proves on a detector that mutation works, and that it leaves nothing behind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from scoring.detections import Detections

if TYPE_CHECKING:
    from torch import Tensor, nn

    from mutators import Mutant, Operator
    from runners.detectors import Detector
    from runners.settings import Settings

Outcome = Literal["ok", "FAILED", "inconclusive"]

STRONG_RATE = 0.5


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
    on_step: Callable[[], None] = lambda: None,
) -> list[Check]:
    """Return what was found on these images.

    A check is inconclusive where the original finds nothing: then nothing could change.

    Args:
        detector: The model; it is as before behind the call.
        images: (3, H, W) float32 tensors by name.
        sites: Where noise enters.
        score_threshold: Detections below it do not count, as in a run.
        on_step: Called when the images have been run once more.

    Raises:
        ConfigError: The sites do not exist in this model.
    """
    from mutators import MCDropBlock, MCDropout
    from runners.passes import run_mutant, run_original
    from runners.settings import Settings, arithmetic
    from uamt.experiments import fitting

    settings = Settings(passes=2, score_threshold=score_threshold)
    operators, notes = fitting(
        detector,
        [
            MCDropout(rates=(STRONG_RATE,), sites=sites),
            MCDropBlock(rates=(STRONG_RATE,), blocks=(3,), sites=sites),
        ],
    )
    before = _Snapshot.of(detector.model)
    with arithmetic(settings.threads):
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
        checks = [_finds_something(found, len(images), score_threshold)]
        checks.append(_class_vectors(detector, plain, found))
        for operator in operators:
            zero = mutated(operator.original())
            strong = mutated(operator.mutants()[0])
            checks.append(
                _rate_zero(operator.name, _count_differing(plain, zero), is_deterministic)
            )
            checks.append(
                _strong_rate(operator.name, _count_differing(plain, strong), len(images), found)
            )
            replayed = _with_memo(detector, images, operator, settings)
            on_step()
            checks.append(
                _memo(operator.name, _count_differing(strong, replayed), is_deterministic)
            )
        after = _Snapshot.of(detector.model)
        behind = {key: run_original(detector, image, settings) for key, image in images.items()}
        checks += _nothing_left(before, after, operators[0].mutants()[0], detector.model)
        checks.append(_same_outputs(_count_differing(plain, behind), is_deterministic))
    checks += [Check("every operator can run here", "ok", note) for note in notes]
    return checks


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

    claim = "the class vector of every detection fits"
    if not found:
        return Check(claim, "inconclusive", "nothing was found")
    every = [passes[0] for passes in plain.values()]
    lengths = {d.n_classes for d in every if len(d)}
    expected = len(detector.label_names)
    if len(lengths) > 1 or (expected and lengths != {expected}):
        return Check(claim, "FAILED", f"lengths {sorted(lengths)}, expected {expected}")
    at_label = np.concatenate([d.probs[np.arange(len(d)), d.labels.astype(int)] for d in every])
    scores = np.concatenate([d.scores for d in every])
    # FCOS ranks by the geometric mean of class and centerness, which is not above the larger one.
    has_own_scores = any(isinstance(module, FCOS) for module in detector.model.modules())
    wrong = int((at_label < scores**2).sum() if has_own_scores else (at_label != scores).sum())
    detail = f"{found} vectors of {lengths.pop()} entries ({detector.scores})"
    if wrong:
        return Check(claim, "FAILED", f"{detail}; {wrong} do not hold the score of their label")
    return Check(claim, "ok", f"{detail}, each with the score of its label")


def _rate_zero(operator: str, differing: int, is_deterministic: bool) -> Check:
    claim = f"{operator} at rate 0 is bit-identical"
    if not is_deterministic:
        return Check(claim, "inconclusive", "the original itself differs from run to run")
    if differing:
        return Check(claim, "FAILED", f"{differing} images differ")
    return Check(claim, "ok", "boxes, labels, scores and vectors equal the untouched model's")


def _strong_rate(operator: str, differing: int, n_images: int, found: int) -> Check:
    claim = f"{operator} at rate {STRONG_RATE} changes detections"
    detail = f"{differing} of {n_images} images changed"
    if differing:
        return Check(claim, "ok", detail)
    if not found:
        return Check(claim, "inconclusive", f"{detail}, and the original finds nothing on them")
    return Check(claim, "FAILED", f"{detail}; choose other --sites")


def _memo(operator: str, differing: int, is_deterministic: bool) -> Check:
    claim = f"{operator} is bit-identical where passes share what no mask reaches"
    if not is_deterministic:
        return Check(claim, "ok", "the original differs from run to run, so nothing is shared")
    if differing:
        return Check(claim, "FAILED", f"{differing} images differ; run with --no-memo")
    return Check(claim, "ok", "boxes, labels, scores and vectors equal those of whole passes")


def _same_outputs(differing: int, is_deterministic: bool) -> Check:
    claim = "the model's outputs are as before"
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
            "parameters and buffers are untouched",
            outcome(before.state == after.state),
            f"sha256 {after.state[:16]}",
        ),
        Check(
            "norm layers are untouched",
            outcome(before.norms == after.norms and before.modules == after.modules),
            "state, classes and training flags of every module as before",
        ),
        Check(
            "hooks are gone",
            outcome(before.hooks == after.hooks),
            f"{after.hooks} hooks, as before",
        ),
        Check(
            "hooks are gone after an exception",
            outcome(hooks_inside > before.hooks and hooks_behind == before.hooks),
            f"{hooks_inside - before.hooks} of ours inside, {hooks_behind - before.hooks} behind",
        ),
    ]


class _StopHere(Exception):  # noqa: N818 - no error, a way out
    """Raised on purpose, to see what an exception leaves behind."""
