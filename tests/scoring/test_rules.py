"""Rules are frozen and refuse values outside their range; errors end commands by their code."""

from __future__ import annotations

from typing import Any

import pytest

from scoring.errors import ConfigError, DataError, UamtError
from scoring.rules import DEEPLUQ, DIFFERING, Rules


def test_the_default_rules_are_the_published_ones() -> None:
    assert Rules() == DEEPLUQ
    assert (DEEPLUQ.name, DEEPLUQ.iou_threshold, DEEPLUQ.null_rate, DEEPLUQ.alpha) == (
        *("deepluq", 0.5, 0.01, 0.05),
    )
    assert DEEPLUQ.binomial_n is None


def test_changed_rules_are_new_ones() -> None:
    changed = DEEPLUQ.with_(binomial_n=10)
    assert (changed.binomial_n, DEEPLUQ.binomial_n) == (10, None)
    with pytest.raises(AttributeError):
        changed.alpha = 0.1  # type: ignore[misc]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("iou_threshold", -0.1),
        ("iou_threshold", 1.1),
        ("null_rate", 2),
        ("alpha", float("nan")),
        ("binomial_n", 0),
        ("nonfinite", "ignore"),
    ],
)
def test_values_outside_their_range_are_refused_by_name(field: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=rf"rules: {field} must .*got {value!r}"):
        DEEPLUQ.with_(**{field: value})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *((field, value) for field in ("iou_threshold", "null_rate", "alpha") for value in (0, 1)),
        ("binomial_n", 1),
    ],
)
def test_the_ends_of_a_range_belong_to_it(field: str, value: float) -> None:
    assert getattr(DEEPLUQ.with_(**{field: value}), field) == value


def test_the_rule_sets_differ_in_the_choices_from_matching_to_equivalence() -> None:
    assert (DIFFERING[0], DIFFERING[-1], len(DIFFERING)) == ("matching", "equivalence", 18)


def test_every_error_has_the_documented_exit_code() -> None:
    assert (ConfigError.exit_code, DataError.exit_code) == (2, 3)
    assert issubclass(ConfigError, UamtError)
    assert issubclass(DataError, UamtError)
