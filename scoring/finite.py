"""Passes that hold a NaN or infinity, and scoring without them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from scoring.errors import DataError
from scoring.passes import Passes
from scoring.rules import Rules

Flags = npt.NDArray[np.bool_]


def finite_passes(passes: Passes) -> Flags:
    """Return (T,) True where every number of a pass is finite."""
    broken = passes.pass_of_row[~passes.detections.is_finite()]
    return np.asarray(np.bincount(broken, minlength=passes.n_passes) == 0)


def only(passes: Passes, kept: Flags) -> Passes:
    """Return the passes where `kept` (T,) is True, in their order."""
    return Passes(passes.detections.take(kept[passes.pass_of_row]), passes.counts[kept])


def in_finite_passes(
    original: Passes, mutants: Sequence[Passes], rules: Rules
) -> Iterator[tuple[list[int], Passes, list[Passes]]]:
    """Yield mutants with the original in the passes that the rules compare.

    Under `nonfinite="skip"` a pass that is broken on either side leaves both, so that T falls by
    one. Mutants that keep the same passes come together; one that keeps none does not come at all.
    Else all come with all their passes.

    Args:
        original: The original's T passes.
        mutants: The T passes of each mutant.
        rules: What to do with numbers that are not finite.

    Yields:
        Numbers of the mutants, the original's passes, and theirs.

    Raises:
        DataError: The numbers of passes differ.

    Source: scoring.md, section 2, on rule set `strict`.
    """
    if rules.nonfinite != "skip":
        yield list(range(len(mutants))), original, list(mutants)
        return
    if any(mutant.n_passes != original.n_passes for mutant in mutants):
        raise DataError(f"expected {original.n_passes} passes of every mutant, as of the original")
    sound = finite_passes(original)
    kept = [sound & finite_passes(mutant) for mutant in mutants]
    for mask in dict.fromkeys(k.tobytes() for k in kept):
        numbers = [number for number, k in enumerate(kept) if k.tobytes() == mask]
        flags = kept[numbers[0]]
        if flags.any():
            yield numbers, only(original, flags), [only(mutants[n], flags) for n in numbers]
