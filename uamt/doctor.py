"""The doctor: proves on a detector that mutation works, and that it leaves nothing behind."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from scoring.detections import Detections
from scoring.errors import ConfigError, UamtError
from uamt.doctor_checks import (
    STRONG_RATE,
    Check,
    Outcome,
    class_vectors,
    finds_something,
    kept_values,
    rate_zero,
    same_outputs,
    strong_rate,
)

if TYPE_CHECKING:
    from torch import Tensor, nn

    from mutators import Mutant, Operator
    from runners.detectors import Detector
    from runners.settings import Settings

SLOW_SECONDS = 1.0
"""Time of one image above which two images are examined, not all."""

_ENOUGH = 2


def _ignore(*_: object) -> None:
    return None


@dataclass(frozen=True, slots=True)
class Listener:
    """Who is told how an examination goes on; by default nobody.

    Args:
        on_step: Called when the images have been run once more.
        on_check: Called with each check when it is done.
        on_fewer: Called once if an image takes long, with the names of the images that are
            examined and the seconds that one takes.
    """

    on_step: Callable[[], None] = _ignore
    on_check: Callable[[Check], None] = _ignore
    on_fewer: Callable[[Sequence[str], float], None] = _ignore


class _Checks(list[Check]):
    """Checks, each told to someone when it is added."""

    def __init__(self, on_check: Callable[[Check], None]) -> None:
        super().__init__()
        self._on_check = on_check

    def append(self, check: Check) -> None:
        super().append(check)
        self._on_check(check)


def examine(
    detector: Detector,
    images: Mapping[str, Tensor],
    sites: str | Sequence[str] = "uamters",
    score_threshold: float = 0.5,
    *,
    seed: int = 0,
    listener: Listener | None = None,
) -> list[Check]:
    """Return what was found on these images.

    A check is inconclusive where the original finds nothing: then nothing could change. Where
    each of the first two images takes more than `SLOW_SECONDS`, these two are examined alone.

    Args:
        detector: The model; it is as before behind the call.
        images: (3, H, W) float32 tensors by name.
        sites: Where noise enters.
        score_threshold: Detections below it do not count, as in a run.
        seed: Of the masks.
        listener: Who is told meanwhile.

    Raises:
        ConfigError: The sites do not exist in this model.
    """
    from runners.chunks import batch_fault
    from runners.passes import run_mutant, run_original
    from runners.settings import Settings, arithmetic

    listener = listener or Listener()
    settings = Settings(passes=2, score_threshold=score_threshold, seed=seed)
    operators, notes = _sweeps(detector, sites)
    before = _Snapshot.of(detector.model)
    with arithmetic(settings.threads):
        checks = _Checks(listener.on_check)
        fault = ""
        with _failing("the model runs on the images", checks):
            images = _first_pass(detector, images, listener.on_fewer)
            key, image = next(iter(images.items()))
            fault = batch_fault(detector, image, key, operators[0].mutants()[0])
        if checks:
            return checks
        if fault:
            settings = replace(settings, chunk=1)
            checks.append(_one_by_one(fault))
        plain = {key: run_original(detector, image, settings) for key, image in images.items()}
        listener.on_step()

        def mutated(mutant: Mutant) -> dict[str, list[Detections]]:
            passes = {
                key: run_mutant(detector, image, key, mutant, settings)[0]
                for key, image in images.items()
            }
            listener.on_step()
            return passes

        found = sum(len(passes[0]) for passes in plain.values())
        checks.append(finds_something(found, len(images), score_threshold))
        checks.append(class_vectors(detector, plain, found))
        again = {key: run_original(detector, image, settings) for key, image in images.items()}
        is_deterministic = _count_differing(plain, again) == 0
        for operator in operators:
            with _failing(f"{operator.name} runs on the images", checks):
                zero = mutated(operator.original())
                differing = _count_differing(plain, zero)
                checks.append(rate_zero(operator.name, differing, is_deterministic))
                strong = mutated(operator.mutants()[0])
                differing = _count_differing(plain, strong)
                checks.append(strong_rate(operator.name, differing, found, detector, len(images)))
                replayed = _with_memo(detector, images, operator, settings)
                listener.on_step()
                differing = _count_differing(strong, replayed)
                checks.append(kept_values(operator.name, differing, is_deterministic))
        after = _Snapshot.of(detector.model)
        behind = {key: run_original(detector, image, settings) for key, image in images.items()}
        for check in _nothing_left(before, after, operators[0].mutants()[0], detector.model):
            checks.append(check)
        checks.append(same_outputs(_count_differing(plain, behind), is_deterministic))
    for note in notes:
        checks.append(Check("every operator can run here", "ok", note))
    return checks


def _first_pass(
    detector: Detector,
    images: Mapping[str, Tensor],
    on_fewer: Callable[[Sequence[str], float], None],
) -> Mapping[str, Tensor]:
    """Return the images to examine, after each of them went through the model once."""
    seconds = []
    for image in images.values():
        started = time.perf_counter()
        detector.detect([image])
        seconds.append(time.perf_counter() - started)
        # Two of them, for the first also sets the model up.
        if len(seconds) == _ENOUGH < len(images) and min(seconds) > SLOW_SECONDS:
            few = dict(islice(images.items(), _ENOUGH))
            on_fewer(list(few), min(seconds))
            return few
    return images


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
