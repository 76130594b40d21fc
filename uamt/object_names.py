"""What objects and their uncertainty are called, on the page and in pictures alike."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from scoring.object_uncertainty import ObjectUncertainty
from scoring.objects import MEASURES
from scoring.rules import Rules

MEASURE_NAMES: Mapping[str, str] = MappingProxyType(
    dict(
        zip(
            MEASURES,
            ("class variation", "entropy", "mutual information", "box variance", "box spread"),
            strict=True,
        )
    )
)


def measure_units(rules: Rules) -> dict[str, str]:
    """Return the unit of each of the five measures, as the rules have it; empty without one."""
    areas = rules.box_scale == "object_area"
    variance = "areas" if areas else "px\u00b2"
    spread = variance if rules.surface == "area" else "px"
    return dict(zip(MEASURES, ("", "bits", "bits", variance, spread), strict=True))


def object_number(seen: ObjectUncertainty, number: int) -> str:
    """Return what an object is called: 1, 2, ... of the original, g1, g2, ... of ghosts."""
    if seen.is_ghost(number):
        return f"g{number - seen.n_originals + 1}"
    return str(number + 1)
