"""Words of a figure: its headline, which pass it shows, and what stands at its boxes."""

from __future__ import annotations

from collections.abc import Sequence

from scoring.levels import changed_passes, image_levels
from uamt.object_names import MEASURE_NAMES
from uamt.presentation import count_of
from uamt.scene import Scene
from uamt.shown_pass import shown_pass


def counts_text(counts: Sequence[int]) -> str:
    """Return matches, misses and ghosts in words.

    Example:
        >>> counts_text([3, 1, 0])
        '3 matches, 1 miss, 0 ghosts'
    """
    matches, misses, ghosts = (int(count) for count in counts)
    return (
        f"{count_of(matches, 'match', 'matches')}, {count_of(misses, 'miss', 'misses')}, "
        f"{count_of(ghosts, 'ghost')}"
    )


def headline(scene: Scene) -> str:
    """Return whether the image kills the mutant, and of how many passes that is said.

    Passes that were curtailed leave that open: only how many passes differ is said.
    """
    changed, n, p_value = _verdict(scene)
    text = _changed_text(changed, n)
    if p_value is None:
        return f"{text}; the other {scene.full_passes - n} were not run (curtailed)"
    is_kill = p_value < scene.rules.alpha
    verb = "kills" if is_kill else "does not kill"
    if not changed:
        return f"Image does not kill mutant: {text}"
    word = "significant" if is_kill else "not significant"
    return f"Image {verb} mutant: {text} (p = {p_value:.2g}, {word})"


def verdict_text(scene: Scene) -> str:
    """Return how many passes differ, and what the kill test says of that, as a sentence."""
    changed, n, p_value = _verdict(scene)
    text = _changed_text(changed, n)
    if p_value is None:
        return f"{text}; the other {scene.full_passes - n} were not run, for passes were curtailed."
    is_kill = p_value < scene.rules.alpha
    verb = "kills" if is_kill else "does not kill"
    if not changed:
        return f"{text}: the image does not kill the mutant."
    if is_kill and changed == 1:
        return (
            f"{text}, and of so few passes one is significant already (p = {p_value:.2g}): the "
            f"image kills the mutant."
        )
    return f"{text}: the image {verb} the mutant significantly (p = {p_value:.2g})."


def _changed_text(changed: int, n: int) -> str:
    verb = "has" if changed == 1 else "have"
    return f"{changed} of {count_of(n, 'pass', 'passes')} {verb} a miss or a ghost"


def _verdict(scene: Scene) -> tuple[int, int, float | None]:
    """Return how many passes differ, of how many, and the p-value; None where some were not run."""
    counts = scene.tracks.counts()
    changed, n = int(changed_passes(counts)[2]), scene.tracks.n_passes
    if n < scene.full_passes:
        return changed, n, None
    return changed, n, float(image_levels(counts[None], scene.rules)[0, 8])


def pass_text(t: int, n: int, why: str = "") -> str:
    """Return which pass is shown.

    Example:
        >>> pass_text(1, 10, "the one with the most ghosts")
        'Pass 1 (the 10 passes are numbered 0 to 9), the one with the most ghosts'
    """
    which = f"the {n} passes are numbered 0 to {n - 1}" if n > 1 else "the only one"
    return f"Pass {t} ({which}){why and ', '}{why}"


def chosen_pass(scene: Scene) -> tuple[int, str]:
    """Return the pass that is shown where nobody chooses one, and why, if there is a choice."""
    t, by, is_alone = shown_pass(scene.tracks)
    if by == "nothing" or scene.tracks.n_passes == 1:
        return t, ""
    if by == "ghosts":
        return t, f"{'the one' if is_alone else 'the first of those'} with the most ghosts"
    which = "the one that misses" if is_alone else "the first of those that miss"
    return t, f"{which} most, counted by the original's scores"


def tag_text(measure: str | None) -> str:
    """Return what stands at each box of a figure, for its legend.

    Example:
        >>> tag_text("ie")
        'at each box: number, class, score, entropy over the passes'
    """
    beside = "" if measure is None else f", {MEASURE_NAMES[measure]} over the passes"
    return f"at each box: number, class, score{beside}"


def note_text(measure: str, value: str, *, is_sum: bool) -> str:
    """Return a measure as it stands at a box; one that is a sum is none that can be compared.

    Example:
        >>> note_text("ie", "4.40", is_sum=True), note_text("mi", "0.02", is_sum=False)
        ('entropy sum 4.40', 'mutual information 0.02')
    """
    return f"{MEASURE_NAMES[measure]}{' sum' if is_sum else ''} {value}"
