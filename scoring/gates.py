"""Gates: the least score that a suite must reach, and whether it does."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pandas as pd

from scoring.aggregates import MEAN_COLUMNS, SCORE_COLUMNS
from scoring.errors import ConfigError
from scoring.intervals import LEAST_IMAGES
from scoring.kill_rules import KILL_RULES
from scoring.rows import KINDS
from scoring.suite_tables import ModelAggregates, Tables, model_folder
from scoring.suites import UA_MS_COLUMNS

_SHORT_KINDS = {"miss": "miss", "ghost": "ghost", "miss_ghost": "mg"}
_GATED_RULE = "significant"
"""What a name without a kill rule means."""


def _shares_names() -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield names of scores in the table of kill shares, with kind and column."""
    for kind in KINDS:
        for rule in KILL_RULES:
            for name, column in (
                (f"img_ms_{_SHORT_KINDS[kind]}", f"ms_{rule}"),
                (f"kill_share_{_SHORT_KINDS[kind]}", f"kill_share_{rule}"),
                (f"kill_share_low_{_SHORT_KINDS[kind]}", f"kill_share_{rule}_low"),
            ):
                yield f"{name}_{rule}", (kind, column)
                if rule == _GATED_RULE:
                    yield name, (kind, column)


def _model_names() -> Iterator[tuple[str, str]]:
    """Yield names of scores in a model's table, with the column."""
    for kind in KINDS:
        yield f"obj_ms_{_SHORT_KINDS[kind]}", f"[obj_level] kill_rate_{kind}_mean"
    yield "ms_iou", "[match] iou_mean"
    for group in ("match", "miss", "ghost"):
        yield f"{group}_rate", f"[{group}] {group}_rate"
    for column in UA_MS_COLUMNS:
        group, _, measure = column.partition(" ")
        yield f"{group.strip('[]')}_{measure.removesuffix('_diff')}", column


_OF_SHARES = dict(_shares_names())
_OF_MODEL = dict(_model_names())
_COLUMNS = (*SCORE_COLUMNS, *MEAN_COLUMNS)
SCORE_NAMES = (*_OF_SHARES, *_OF_MODEL)
"""The names that a gate takes; the columns of `ua_ms_model.csv` are taken too."""


def _with_kind(score: str) -> str:
    """Return the name of a score; one that names no kind of kill means a miss or a ghost.

    Example:
        >>> _with_kind("kill_share"), _with_kind("img_ms_holm"), _with_kind("ms_iou")
        ('kill_share_mg', 'img_ms_mg_holm', 'ms_iou')
    """
    for bare in ("img_ms", "kill_share_low", "kill_share", "obj_ms"):
        if score == bare or score.removeprefix(f"{bare}_") in KILL_RULES:
            return f"{bare}_mg{score.removeprefix(bare)}"
    return score


@dataclass(frozen=True, slots=True)
class Gate:
    """The least value of a score.

    Args:
        score: As it was written: one of `SCORE_NAMES`, which may leave out the kind of kill, or a
            column of `ua_ms_model.csv`.
        least: From 0 to 1.
        suite: The suite that must reach it; None means each.
        model: The model under which it must; None means each.

    Example:
        >>> Gate.parse("kill_share=.6")
        Gate(score='kill_share', least=0.6, suite=None, model=None)
        >>> Gate.parse("ssd/night:ms_iou=0.05")
        Gate(score='ms_iou', least=0.05, suite='night', model='ssd')
    """

    score: str
    least: float
    suite: str | None = None
    model: str | None = None

    @classmethod
    def parse(cls, text: str) -> Gate:
        """Return the gate that a text means: `[[MODEL/]SUITE:]SCORE=VALUE`.

        Raises:
            ConfigError: It has another form, there is no such score (the nearest are named), or
                the value is not from 0 to 1.
        """
        left, equals, value = text.rpartition("=")
        place, _, score = left.rpartition(":")
        model, _, suite = place.rpartition("/")
        if not equals or not score:
            raise ConfigError(
                f"--fail-under: expected SCORE=VALUE, SUITE:SCORE=VALUE or "
                f"MODEL/SUITE:SCORE=VALUE, got {text!r}"
            )
        if _with_kind(score) not in SCORE_NAMES and score not in _COLUMNS:
            near = difflib.get_close_matches(score, (*SCORE_NAMES, *_COLUMNS), n=3, cutoff=0.0)
            raise ConfigError(
                f"--fail-under: no score is called {score!r}; the nearest are {', '.join(near)}"
            )
        try:
            least = float(value)
        except ValueError:
            least = math.nan
        if not 0 <= least <= 1:
            raise ConfigError(f"--fail-under: expected a value from 0 to 1, got {text!r}")
        return cls(score, least, suite or None, model or None)


@dataclass(frozen=True, slots=True)
class GateResult:
    """A gate at one model and suite.

    Args:
        gate: What was asked.
        model: The model's name.
        suite: The suite's name.
        value: The score; NaN where it cannot be told.
        reason: Why it cannot; empty where it can.
    """

    gate: Gate
    model: str
    suite: str
    value: float
    reason: str = ""

    @property
    def holds(self) -> bool:
        """Whether the score is there and is not under the gate."""
        return self.value >= self.gate.least

    def __str__(self) -> str:
        name, least = self.gate.score, self.gate.least
        found = self.reason or f"is {self.value:.4g}"
        return f"{self.model}, suite '{self.suite}': {name} {found}, expected {least:g} or more"


def check_gates(
    models: Sequence[ModelAggregates], tables: Tables, gates: Sequence[Gate]
) -> list[GateResult]:
    """Return every gate at every model and suite that it names.

    Args:
        models: As `aggregate` returns them.
        tables: As `suite_tables` returns them, of the same models.
        gates: What is asked.

    Raises:
        ConfigError: A gate names a suite or model that is not there.
    """
    results = []
    for gate in gates:
        of_gate = [
            GateResult(gate, model.results.model, suite, value, reason)
            for model in models
            for place, suite in enumerate(model.suites)
            if gate.model in (None, model.results.model) and gate.suite in (None, suite)
            for value, reason in [_value(gate.score, model, place, tables)]
        ]
        if not of_gate:
            there = [f"{model.results.model}/{suite}" for model in models for suite in model.suites]
            wanted = f"{gate.model}/{gate.suite}" if gate.model else gate.suite
            raise ConfigError(
                f"--fail-under: expected one of the suites {', '.join(there)}, got {wanted!r}"
            )
        results += of_gate
    return results


def _value(score: str, model: ModelAggregates, place: int, tables: Tables) -> tuple[float, str]:
    """Return a score of a suite, and why it cannot be told, if so."""
    folder, score = model_folder(model), _with_kind(score)
    if score in _OF_SHARES:
        kind, column = _OF_SHARES[score]
        table = tables[folder / "ua_ms_kill_shares.csv"]
        table = table[table["kind"] == kind]
    else:
        table, column = tables[folder / "ua_ms_model.csv"], _OF_MODEL.get(score, score)
    row = table.iloc[place]
    if not pd.isna(row[column]):
        return float(row[column]), ""
    if column.endswith("_low") and not pd.isna(row[column.removesuffix("_low")]):
        with_rows = int(model.kills[place].scores.has_row.any(axis=1).sum())
        images = "1 image is" if with_rows == 1 else f"{with_rows} images are"
        return math.nan, (
            f"cannot be told, for {images} too few for an interval ({LEAST_IMAGES} are the least)"
        )
    return math.nan, _why_unknown(model, place)


def _why_unknown(model: ModelAggregates, place: int) -> str:
    kills, means = model.kills[place], model.means[place]
    if means.equivalent.all():
        return "cannot be told, for every mutant is equivalent"
    if kills.scores.curtailed is not None:
        return "cannot be told, for passes were curtailed before it was settled"
    return "cannot be told, for no image has a value of it"
