"""Uncertainty-aware mutation testing for object detectors.

Would your image suites notice if the detector got worse, and which images carry that power?

Example:
    >>> import uamt
    >>> detector = uamt.load_detector("demo_fasterrcnn")
    >>> detector.label_names[0]
    'background'
"""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mutators import MCDropBlock, MCDropout
    from runners.detectors import Detector, load_detector
    from runners.verification import verify
    from scoring.detections import Detections
    from scoring.errors import ConfigError, DataError, UamtError
    from scoring.rules import DEEPLUQ, STRICT, Rules, rules_named
    from uamt.experiments import run
    from uamt.gathered import suites
    from uamt.reporting import report
    from uamt.scores import score
    from uamt.showing import show

_HOMES = {
    "ConfigError": "scoring.errors",
    "DEEPLUQ": "scoring.rules",
    "DataError": "scoring.errors",
    "Detections": "scoring.detections",
    "Detector": "runners.detectors",
    "MCDropBlock": "mutators",
    "MCDropout": "mutators",
    "Rules": "scoring.rules",
    "STRICT": "scoring.rules",
    "UamtError": "scoring.errors",
    "load_detector": "runners.detectors",
    "report": "uamt.reporting",
    "rules_named": "scoring.rules",
    "run": "uamt.experiments",
    "score": "uamt.scores",
    "show": "uamt.showing",
    "suites": "uamt.gathered",
    "verify": "runners.verification",
}

__all__ = [
    "DEEPLUQ",
    "STRICT",
    "ConfigError",
    "DataError",
    "Detections",
    "Detector",
    "MCDropBlock",
    "MCDropout",
    "Rules",
    "UamtError",
    "load_detector",
    "report",
    "rules_named",
    "run",
    "score",
    "show",
    "suites",
    "verify",
]


def _refuse_strangers() -> None:
    """Refuse to start beside another distribution that holds a package of one of our names."""
    here = Path(__file__).resolve().parent.parent
    for name in ("scoring", "mutators", "runners"):
        spec = find_spec(name)
        origin = spec.origin if spec else None
        found = Path(origin).resolve().parent.parent if origin else None
        if found != here:
            raise ImportError(
                f"package '{name}' comes from {origin or 'nowhere'}, but uamt ({__file__}) needs "
                f"its own under {here}; uninstall the other distribution, or use a fresh "
                f"environment with 'pip install .' in uamt's folder"
            )


_refuse_strangers()


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'uamt' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
