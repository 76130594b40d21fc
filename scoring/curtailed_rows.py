"""Curtailed rows: what each kill rule says of rows whose passes stopped early."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from scoring.branch_facts import BranchFacts
from scoring.curtailment import OPEN, SURVIVED, CurtailedKinds, CurtailedRule, verdicts
from scoring.errors import DataError


@dataclass(frozen=True, slots=True, eq=False)
class CurtailedRows:
    """What stands behind the rows of a suite whose passes were curtailed.

    Args:
        n_run: (I, M) passes that were run; 0 where the mutant was dropped before the image.
        passes: (I, M) T.
        critical_count: k* of the rule `significant`.
        rule: The rule by which passes stopped.
        kinds: The kinds that were settled.
    """

    n_run: npt.NDArray[np.int64]
    passes: npt.NDArray[np.int64]
    critical_count: int
    rule: CurtailedRule
    kinds: CurtailedKinds

    def __post_init__(self) -> None:
        if self.n_run.shape != self.passes.shape or (self.n_run > self.passes).any():
            raise DataError("curtailed rows: expected at most T passes behind each row")

    def section(self) -> dict[str, Any]:
        """Return what the facts beside the tables say."""
        return {
            "kinds": self.kinds,
            "rule": self.rule,
            "critical_count": self.critical_count,
        }

    @property
    def how(self) -> tuple[CurtailedRule, CurtailedKinds, int]:
        """Rule, kinds and k*: rows that share them can stand side by side."""
        return self.rule, self.kinds, self.critical_count

    def verdicts(self, counts: npt.NDArray[np.float64], rule: str) -> npt.NDArray[np.int8]:
        """Return (I, M) what a kill rule says of each row.

        A mutant that crashed on an image has no count and no fewer passes than T: it survives, as
        in a full campaign. Nothing is known by Holm's correction.

        Args:
            counts: (I, M) changed passes of one kind, NaN where it is not settled.
            rule: `any`, `significant` or `holm`.
        """
        if rule == "holm":
            return np.full(counts.shape, OPEN, dtype=np.int8)
        critical = 1 if rule == "any" else self.critical_count
        found = verdicts(counts, self.n_run, self.passes, critical)
        found[np.isnan(counts) & (self.n_run == self.passes)] = SURVIVED
        return found


def read_curtailed(
    facts: Mapping[str, BranchFacts],
    stems: Sequence[str],
    mutants: Sequence[tuple[str, str]],
    where: str,
) -> CurtailedRows | None:
    """Return what stands behind the rows of a suite, from the facts beside its tables.

    Args:
        facts: By operator.
        stems: I images.
        mutants: M pairs of operator and tag.
        where: What they are, for the message.

    Returns:
        None where all T passes were run.

    Raises:
        DataError: Some operators' passes were curtailed, and others not or by another rule.
    """
    parts: list[CurtailedRows | None] = []
    for operator, tag in mutants:
        known = facts.get(operator)
        if known is None or known.curtailed is None:
            parts.append(None)
            continue
        n_run = np.array([[known.passes_of(tag, stem)] for stem in stems])
        parts.append(CurtailedRows(n_run, np.full_like(n_run, known.passes), **known.curtailed))
    return beside(parts, where)


def beside(parts: Sequence[CurtailedRows | None], where: str) -> CurtailedRows | None:
    """Return the same for several sweeps over the same images, side by side.

    Args:
        parts: Of each sweep; None where all T passes were run.
        where: What they are, for the message.

    Raises:
        DataError: Some passes were curtailed, and others not or by another rule.
    """
    known = [part for part in parts if part is not None]
    if not known:
        return None
    rules = {part.how for part in known}
    if len(rules) > 1 or len(known) < len(parts):
        raise DataError(
            f"{where}: expected passes curtailed by one rule, found several: "
            f"{', '.join(f'{kinds} by {rule}' for rule, kinds, _ in sorted(rules))}"
            f"{' and full campaigns' if len(known) < len(parts) else ''}"
        )
    return CurtailedRows(
        np.concatenate([part.n_run for part in known], axis=1),
        np.concatenate([part.passes for part in known], axis=1),
        known[0].critical_count,
        known[0].rule,
        known[0].kinds,
    )
