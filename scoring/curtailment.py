"""Curtailment: how few passes tell whether a mutant is killed, and what is told after how many."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from scoring.errors import ConfigError
from scoring.kill import least_kill
from scoring.rows import KINDS
from scoring.rules import DEEPLUQ, Rules

CurtailedKinds = Literal["miss_ghost", "miss", "ghost", "all"]
CurtailedRule = Literal["any", "significant"]

KILLED, SURVIVED, OPEN = 1, 0, -1
"""What the passes that were run say: decided by T passes either way, or not yet."""


def verdicts(
    counts: npt.ArrayLike, n_run: npt.ArrayLike, passes: npt.ArrayLike, critical_count: int
) -> npt.NDArray[np.int8]:
    """Return what T passes will say, as far as the first ones tell.

    Args:
        counts: Changed passes among those that were run; NaN where nothing is told.
        n_run: Passes that were run, of a shape that fits.
        passes: T, likewise.
        critical_count: Changed passes that make a kill.

    Returns:
        KILLED where the count is reached, SURVIVED where the passes that are left cannot reach it
        any more, else OPEN.

    Example:
        >>> verdicts([2, 1, 0, 0], [2, 2, 9, 8], 10, 2).tolist()
        [1, -1, 0, -1]
    """
    changed = np.asarray(counts, dtype=np.float64)
    at_most = changed + np.asarray(passes) - np.asarray(n_run)
    told = np.where(at_most < critical_count, SURVIVED, OPEN)
    return np.asarray(np.where(changed >= critical_count, KILLED, told), dtype=np.int8)


@dataclass(frozen=True, slots=True)
class Curtailment:
    """When the passes of an image under a mutant may stop.

    The noise floor is the fixed one, for neither an estimated one nor Holm's correction is known
    before all passes of all images are.

    Args:
        passes: T, the passes of a full campaign.
        kinds: The kind that must be settled, or all three.
        rule: What makes a kill: one changed pass, or the fewest whose p value is below .05.
        per_mutant: A mutant that an image of a suite kills meets no later image of it.

    Raises:
        ConfigError: A value is none of the choices.

    Source: scoring.md, sections 2 and 4; execution.md, section 6.
    """

    passes: int
    kinds: CurtailedKinds = "miss_ghost"
    rule: CurtailedRule = "significant"
    per_mutant: bool = False

    def __post_init__(self) -> None:
        if self.passes < 1:
            raise ConfigError(f"curtailed passes: expected T of at least 1, got {self.passes!r}")
        if self.kinds not in (*KINDS, "all"):
            raise ConfigError(
                f"curtail: expected miss_ghost, miss, ghost or all, got {self.kinds!r}"
            )
        if self.rule not in ("any", "significant"):
            raise ConfigError(
                f"kill rule: curtailed passes know 'any' and 'significant', got {self.rule!r}; "
                f"Holm's correction needs all passes of all images"
            )

    @property
    def targets(self) -> tuple[str, ...]:
        """The kinds that must be settled."""
        return KINDS if self.kinds == "all" else (self.kinds,)

    @property
    def critical_count(self) -> int:
        """k*, the changed passes that make a kill by the rule; above T if none can."""
        if self.rule == "any":
            return 1
        return least_kill(self.passes, DEEPLUQ.null_rate, DEEPLUQ.alpha)

    def settled(self, changed: Sequence[int], n_run: int) -> dict[str, bool]:
        """Return the kinds that are settled, and whether they are kills.

        A killed miss or ghost settles both together, for a pass with either counts there; and
        where those cannot reach k* any more, neither kind alone can.

        Args:
            changed: Passes with a miss, a ghost, and either, among those that were run.
            n_run: Passes that were run.

        Example:
            >>> Curtailment(10).settled([2, 0, 2], 2)
            {'miss': True, 'miss_ghost': True}
        """
        found = verdicts(changed, n_run, self.passes, self.critical_count).tolist()
        return {
            kind: verdict == KILLED
            for kind, verdict in zip(KINDS, found, strict=True)
            if verdict != OPEN
        }

    def is_enough(
        self, changed: Sequence[int], n_run: int, already_killed: Collection[str] = ()
    ) -> bool:
        """Return whether no further pass is needed.

        Args:
            changed: As in `settled`.
            n_run: Passes that were run.
            already_killed: Kinds by which an earlier image of the suite kills the mutant, where
                the rule is per mutant.
        """
        if n_run >= self.passes:
            return True
        settled = self.settled(changed, n_run)
        return all(kind in settled or kind in already_killed for kind in self.targets)

    def is_dropped(self, already_killed: Collection[str]) -> bool:
        """Return whether a mutant meets no further image of a suite."""
        return self.per_mutant and set(self.targets) <= set(already_killed)

    def section(self) -> dict[str, Any]:
        """Return what the manifest says, T apart, which stands beside it."""
        return {
            "kinds": self.kinds,
            "rule": self.rule,
            "critical_count": self.critical_count,
            "per_mutant": self.per_mutant,
        }

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Self | None:
        """Return the curtailment of a manifest's settings; None for a full campaign.

        Raises:
            KeyError, TypeError, ConfigError: The section is not one that `section` returned.
        """
        said = settings.get("curtail")
        if said is None:
            return None
        return cls(settings["passes"], said["kinds"], said["rule"], said["per_mutant"])


def refuse_unsuitable_rules(curtailment: Curtailment, rules: Rules, passes: int | None) -> None:
    """Refuse rules under which fewer passes settle nothing.

    Raises:
        ConfigError: Kills follow Holm's correction or a measured noise floor, or T is another.
    """
    if rules.kill == "holm" or rules.noise_floor == "measured":
        raise ConfigError(
            f"rule set {rules.name}: its kills follow Holm's correction and a noise floor that is "
            f"measured, which need all {curtailment.passes} passes of every image; these were "
            f"curtailed ({curtailment.kinds}, rule '{curtailment.rule}'): score with --rules "
            f"deepluq, or run without --curtail into another --out"
        )
    if passes is not None and passes != curtailment.passes:
        raise ConfigError(
            f"--passes {passes}: the passes were curtailed for T = {curtailment.passes} and tell "
            f"nothing of another T; score without --passes"
        )
    if rules.nonfinite == "skip":
        raise ConfigError("--skip-nonfinite: curtailed passes hold no such numbers; leave it out")
