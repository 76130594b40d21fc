"""T passes of one mutant over one image."""

from __future__ import annotations

from torch import Tensor

from mutators import Injection, InjectionReport, Mutant
from runners.detectors import Detector
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
    ]


def run_original_once(detector: Detector, image: Tensor, settings: Settings) -> list[Detections]:
    """Return the passes of an unmutated model that is known to be deterministic.

    One batch runs; its first row stands for every pass.
    """
    found = detector.detect([image] * settings.chunk_size)[0]
    return [found.filtered(settings.score_threshold, settings.classes)] * settings.passes


def run_mutant(
    detector: Detector, image: Tensor, key: str, mutant: Mutant, settings: Settings
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

    Raises:
        ConfigError: No tensor passed any of the mutant's sites, or a site cannot be masked.
        DataError: The mutant computes NaN or infinity.
    """
    detections: list[Detections] = []
    with mutant.mutation.on_model(detector.model) as injection:
        for passes in settings.chunks():
            injection.begin(key, passes, settings.seed)
            found = detector.detect([image] * len(passes))
            detections += [d.filtered(settings.score_threshold, settings.classes) for d in found]
        _refuse_silent_sites(injection, mutant)
        return detections, injection.report


def _refuse_silent_sites(injection: Injection, mutant: Mutant) -> None:
    if injection.sites and len(injection.uncalled) == len(injection.sites):
        raise ConfigError(
            f"mutant {mutant.operator} {mutant.tag}: no mask was drawn, for no tensor passed "
            f"{', '.join(injection.uncalled)}; choose other sites"
        )
