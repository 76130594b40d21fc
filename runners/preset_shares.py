"""How much of a pass lies behind the first of some sites: what a mutation itself costs."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import torch
from torch import Tensor

from mutators import Site, family_presets, resolve_sites
from runners.detectors import Detector

_ROUNDS = 3


def sites_of_presets(detector: Detector) -> dict[str, list[Site]]:
    """Return the sites of every preset of the detector's family."""
    presets = family_presets(detector.model)
    return {preset: resolve_sites(detector.model, preset) for preset in presets}


def shares_behind(
    detector: Detector, image: Tensor, sites: Mapping[str, Sequence[Site]]
) -> dict[str, float]:
    """Return the share of a pass that lies behind the first site, 0 to 1, by the name of the sites.

    All are seen in the same passes, so that equal sites have equal shares. A plain pass over one
    image runs some times; when a value first leaves (or enters) a site is
    seen by hooks. The median counts. Everything before that is the same in all passes.

    Args:
        detector: The model; it is as before behind the call.
        image: (3, H, W) float32, 0 to 1.
        sites: Sites by a name.

    Raises:
        DataError: The model computes NaN or infinity.
    """
    clock = _Clock(detector.device)
    first: dict[str, float] = {}

    def reached(name: str) -> Callable[..., None]:
        def hook(*_: Any) -> None:
            if name not in first:
                first[name] = clock.now()

        return hook

    shares: dict[str, list[float]] = {name: [] for name in sites}
    with ExitStack() as hooks:
        for name, places in sites.items():
            for site in places:
                module = detector.model.get_submodule(site.name)
                handle = (
                    module.register_forward_pre_hook(reached(name))
                    if site.at_input
                    else module.register_forward_hook(reached(name))
                )
                hooks.callback(handle.remove)
        for _ in range(_ROUNDS + 1):
            first.clear()
            started = clock.now()
            detector.detect([image])
            ended = clock.now()
            for name in sites:
                behind = ended - first.get(name, ended)
                shares[name].append(behind / (ended - started))
    # The first pass sets things up.
    return {name: sorted(values[1:])[_ROUNDS // 2] for name, values in shares.items()}


class _Clock:
    """Seconds at which what was asked of a device is done."""

    def __init__(self, device: torch.device) -> None:
        self._device = device

    def now(self) -> float:
        """Return the time in seconds."""
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)
        return time.perf_counter()
