"""Which pass of a mutant is shown large where nobody chooses one."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from scoring.tracks import Tracks

_ALIKE = 1e-9
"""Sums of the same scores in another order differ by less."""


class ShownPass(NamedTuple):
    """A pass, and why it is shown.

    Args:
        t: Its number.
        by: What it has most of: misses, counted by the original's scores; ghosts, where no pass
            has a miss; nothing where no pass differs.
        is_alone: Whether no other pass has as much.
    """

    t: int
    by: Literal["misses", "ghosts", "nothing"]
    is_alone: bool


def shown_pass(tracks: Tracks) -> ShownPass:
    """Return the pass that loses the objects of which the original was surest.

    What a mutant loses of them tells more of it than a ghost, which may be an object that the
    original overlooks, or than the loss of a detection of which the original was in doubt.

    Args:
        tracks: One image under one mutant.

    Example:
        >>> from scoring.detections import Detections
        >>> from scoring.passes import Passes
        >>> from scoring.tracks import track
        >>> sure, doubtful = [0.0, 0, 10, 5], [20.0, 0, 30, 5]
        >>> def found(*seen):
        ...     boxes, scores = zip(*seen)
        ...     return Detections(boxes, [1] * len(seen), scores, [[0.0, 1]] * len(seen))
        >>> original = Passes.from_list([found((sure, 0.9), (doubtful, 0.3))] * 2)
        >>> mutant = Passes.from_list([found((sure, 0.8)), found((doubtful, 0.4))])
        >>> shown_pass(track(original, mutant))
        ShownPass(t=1, by='misses', is_alone=True)
    """
    missed = tracks.matched.missed_rows
    ghosts = tracks.counts()[:, 2]
    lost = np.bincount(
        tracks.original.pass_of_row[missed],
        weights=tracks.original.detections.scores[missed],
        minlength=tracks.n_passes,
    )
    if len(missed):
        is_most = lost >= lost.max() - _ALIKE
        return ShownPass(int(is_most.argmax()), "misses", int(is_most.sum()) == 1)
    if ghosts.any():
        is_most = ghosts == ghosts.max()
        return ShownPass(int(is_most.argmax()), "ghosts", int(is_most.sum()) == 1)
    return ShownPass(0, "nothing", is_alone=False)
