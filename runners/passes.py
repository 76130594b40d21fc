"""T passes of one mutant over one image."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import ExitStack

from torch import Tensor

from mutators import Injection, InjectionReport, Mutant
from runners.curtailed import Settling
from runners.detectors import Detector
from runners.memo import Memo
from runners.settings import Settings
from scoring.detections import Detections
from scoring.errors import ConfigError


def run_original(detector: Detector, image: Tensor, settings: Settings) -> list[Detections]:
    """Return the passes of the unmutated model, each computed.

    They run in batches of the campaign's chunk, so that original and mutants use the same kernels.

    Args:
        detector: The model.
        image: (3, H, W) float32, 0 to 1.
        settings: Passes, chunk and thresholds.

    Raises:
        DataError: The model computes NaN or infinity.
    """
    return [
        found.filtered(settings.score_threshold, settings.classes)
        for passes in settings.chunks()
        for found in detector.detect([image] * len(passes))
    ][: settings.passes]


def run_original_once(
    detector: Detector,
    image: Tensor,
    settings: Settings,
    *,
    memo: Memo | None = None,
    sites: Collection[str] = (),
) -> list[Detections]:
    """Return the passes of an unmutated model that is known to be deterministic.

    One batch runs; its first row stands for every pass.

    Args:
        detector: The model.
        image: (3, H, W) float32, 0 to 1.
        settings: Passes, chunk and thresholds.
        memo: The image's memo, which is filled for the mutants.
        sites: Names of the modules where the mutants will be masked.

    Raises:
        DataError: The model computes NaN or infinity.
    """
    if memo:
        with memo.replaying(detector.model, apart=sites):
            memo.next_pass()
            found = detector.detect([memo.image] * settings.chunk_size)[0]
    else:
        found = detector.detect([image] * settings.chunk_size)[0]
    return [found.filtered(settings.score_threshold, settings.classes)] * settings.passes


def run_mutant(
    detector: Detector,
    image: Tensor,
    key: str,
    mutant: Mutant,
    settings: Settings,
    *,
    memo: Memo | None = None,
    settling: Settling | None = None,
) -> tuple[list[Detections], InjectionReport]:
    """Return the passes of a mutant over one image, and what its masks did.

    The noise of a pass depends on (seed, image, operator, tag, pass, site, call) and on nothing
    else, so that passes can run in any order.

    Args:
        detector: The model; it is as before behind the call.
        image: (3, H, W) float32, 0 to 1.
        key: The image's name in the key of its masks.
        mutant: Whose passes.
        settings: Passes, chunk, seed and thresholds.
        memo: The image's memo, for a model that is known to be deterministic: the same results
            in less time.
        settling: Says after which pass no further one is needed; None runs all T.

    Raises:
        ConfigError: No tensor passed any of the mutant's sites, or a site cannot be masked.
        DataError: The mutant computes NaN or infinity.
    """
    detections: list[Detections] = []
    with ExitStack() as contexts:
        injection = contexts.enter_context(mutant.mutation.on_model(detector.model))
        # What a mutation without sites changes is not known, so nothing is replayed.
        if memo and injection.sites:
            contexts.enter_context(memo.replaying(detector.model))
            image = memo.image
        for passes in settings.chunks():
            injection.begin(key, passes, settings.seed)
            if memo:
                memo.next_pass()
            found = detector.detect([image] * len(passes))
            detections += [d.filtered(settings.score_threshold, settings.classes) for d in found]
            if settling and settling.add(detections[-1]):
                break
        _refuse_silent_sites(injection, mutant)
        return detections[: settings.passes], injection.report


def _refuse_silent_sites(injection: Injection, mutant: Mutant) -> None:
    if injection.sites and len(injection.uncalled) == len(injection.sites):
        raise ConfigError(
            f"mutant {mutant.operator} {mutant.tag}: no mask was drawn, for no tensor passed "
            f"{', '.join(injection.uncalled)}; choose other sites"
        )
