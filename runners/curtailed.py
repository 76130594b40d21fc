"""Curtailed passes: those of a mutant stop as soon as no further one can change its verdict."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence

from mutators import Mutant
from runners.images import ImageRef
from runners.ledger import Entry
from scoring.curtailment import Curtailment
from scoring.detections import Detections
from scoring.levels import changed_passes
from scoring.passes import Passes
from scoring.rows import KINDS
from scoring.tracks import track


class Settling:
    """What the passes of one mutant over one image have settled so far.

    Passes are matched as the scores match them, by the published rules.

    Args:
        curtailment: When passes may stop.
        original: The original's T passes.
        already_killed: Kinds by which an earlier image of the suite kills the mutant, where the
            rule is per mutant.
    """

    def __init__(
        self,
        curtailment: Curtailment,
        original: Sequence[Detections],
        already_killed: Collection[str] = (),
    ) -> None:
        self._curtailment = curtailment
        self._original = original
        self._already_killed = already_killed
        self._changed = [0, 0, 0]
        self._n_run = 0

    def add(self, found: Detections) -> bool:
        """Add the next pass, and return whether no further one is needed.

        Raises:
            DataError: Its class vectors differ in length from the original's.
        """
        original = Passes.from_list([self._original[self._n_run]])
        counts = track(original, Passes.from_list([found])).counts()
        for kind, is_changed in enumerate(changed_passes(counts)):
            self._changed[kind] += is_changed
        self._n_run += 1
        return self._curtailment.is_enough(self._changed, self._n_run, self._already_killed)

    @property
    def killed(self) -> tuple[str, ...]:
        """The kinds by which the passes so far kill the mutant."""
        settled = self._curtailment.settled(self._changed, self._n_run)
        return tuple(kind for kind in KINDS if settled.get(kind))


class Standing:
    """Which mutants of a suite no image has killed yet, where the rule is per mutant.

    Args:
        curtailment: When a mutant is dropped; None means never.
    """

    def __init__(self, curtailment: Curtailment | None) -> None:
        self._curtailment = curtailment
        self._killed: dict[tuple[str, str], set[str]] = defaultdict(set)

    def add(self, entry: Entry) -> None:
        """Take note of what an image has killed."""
        if self._curtailment is not None and self._curtailment.per_mutant:
            self._killed[entry.unit.operator, entry.unit.tag].update(entry.killed)

    def killed(self, mutant: Mutant) -> frozenset[str]:
        """Return the kinds by which an image has killed a mutant."""
        return frozenset(self._killed[mutant.operator, mutant.tag])

    def is_dropped(self, mutant: Mutant) -> bool:
        """Return whether a mutant meets no further image of the suite."""
        if self._curtailment is None or mutant.is_original:
            return False
        return self._curtailment.is_dropped(self.killed(mutant))


def in_turn(
    images: Sequence[ImageRef], curtailment: Curtailment | None
) -> list[tuple[ImageRef, ...]]:
    """Return the images that one worker takes one after the other, for each share of the work.

    Any worker may take any image, unless a mutant is dropped for the whole suite once an image
    kills it: then those of a suite follow each other in the manifest's order.
    """
    if curtailment is None or not curtailment.per_mutant:
        return [(ref,) for ref in images]
    by_suite: dict[str, list[ImageRef]] = defaultdict(list)
    for ref in images:
        by_suite[ref.suite].append(ref)
    return [tuple(sorted(refs, key=lambda ref: ref.relative_path)) for refs in by_suite.values()]
