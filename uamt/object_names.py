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


COUNTS_TWICE = (
    "Where a pass holds two boxes of an object, both count: it can be found or missed more often "
    "than there are passes."
)
"""What is said where numbers of an object exceed its passes."""


def counts_twice(n_found: int, n_missed: int, n_passes: int) -> bool:
    """Return whether an object's detections are more than its passes.

    Example:
        >>> counts_twice(14, 6, 10), counts_twice(8, 2, 10)
        (True, False)
    """
    return n_found + n_missed > n_passes


def object_number(seen: ObjectUncertainty, number: int) -> str:
    """Return what an object is called: 1, 2, ... of the original, g1, g2, ... of ghosts."""
    if seen.is_ghost(number):
        return f"g{number - seen.n_originals + 1}"
    return str(number + 1)
