"""Every object's uncertainty is the one that the scores are made of."""

from __future__ import annotations

import numpy as np
import pytest

from scoring.detections import Detections
from scoring.object_uncertainty import ObjectUncertainty, object_uncertainty
from scoring.objects import ghost_objects, match_objects, miss_objects, rate_weighted
from scoring.passes import Passes
from scoring.rules import DEEPLUQ, STRICT, Rules
from scoring.tracks import track

CAT, DOG = [0.0, 0.8, 0.2], [0.0, 0.3, 0.7]


def seen(*detections: tuple[list[float], list[float]]) -> Detections:
    if not detections:
        return Detections.empty(3)
    boxes, probs = (list(column) for column in zip(*detections, strict=True))
    labels = [int(np.argmax(p)) for p in probs]
    return Detections(boxes, labels, [max(p) for p in probs], probs)


ONE, TWO, FAR = [0.0, 0, 16, 16], [20.0, 20, 40, 40], [60.0, 60, 70, 70]


def moved(box: list[float], by: float) -> list[float]:
    return [side + by for side in box]


ORIGINAL = Passes.from_list([seen((ONE, CAT), (TWO, DOG))] * 4)
MUTANT = Passes.from_list(
    [
        seen((ONE, CAT), (TWO, DOG)),
        seen((moved(ONE, 1), CAT), (FAR, CAT)),
        seen((moved(ONE, 2), CAT), (moved(FAR, 1), DOG), (moved(TWO, 1), DOG)),
        seen(),
    ]
)


def test_passes_and_rates_of_every_object() -> None:
    found = object_uncertainty(track(ORIGINAL, MUTANT))
    assert (len(found), found.n_originals) == (3, 2)
    assert found.n_found.tolist() == [3, 2, 2]
    assert found.n_missed.tolist() == [1, 2, 0]
    assert [found.rate(k) for k in range(3)] == [0.75, 0.5, 0.5]
    assert [found.is_ghost(k) for k in range(3)] == [False, False, True]
    assert found.of_original.tolist() == [0, 1] * 4
    assert found.of_mutant.tolist() == [0, 1, 0, 2, 0, 2, 1]


def test_measures_by_hand() -> None:
    found = object_uncertainty(track(ORIGINAL, MUTANT))
    # Object 0 was found at three places in a diagonal row: variance 1 of each coordinate.
    assert found.measure(0, "var") == pytest.approx(4.0)
    assert found.measure(0, "vr") == 0.0
    assert found.measure(0, "ie") == pytest.approx(0.72193)
    assert found.measure(0, "ps") == 0.0
    # The ghost votes for two classes, and deepluq adds up its entropies.
    assert found.measure(2, "vr") == 0.5
    assert found.measure(2, "ie") == pytest.approx(0.72193 + 0.88129)


@pytest.mark.parametrize("rules", [DEEPLUQ, STRICT], ids=["deepluq", "strict"])
def test_the_scores_are_made_of_them(rules: Rules) -> None:
    tracks = track(ORIGINAL, MUTANT, rules)
    found = object_uncertainty(tracks, rules)
    originals, ghosts = match_objects([tracks], rules), ghost_objects([tracks], rules=rules)
    assert len(originals) == 2
    assert len(ghosts) >= 1

    def weighted(chosen: slice) -> np.ndarray:
        rates = found.n_found[chosen] / found.n_passes[chosen]
        return rate_weighted(rates, found.measures[chosen])

    np.testing.assert_allclose(weighted(slice(0, 2)), originals.mutated, atol=1e-12)
    np.testing.assert_allclose(weighted(slice(2, None)), ghosts.mutated, atol=1e-12)


FLICKERING = Passes.from_list(
    [seen((ONE, CAT), (TWO, DOG)), seen((moved(ONE, 1), DOG), (TWO, CAT))] * 2
)


@pytest.mark.parametrize("original", [ORIGINAL, FLICKERING], ids=["alike", "flickering"])
@pytest.mark.parametrize("rules", [DEEPLUQ, STRICT], ids=["deepluq", "strict"])
def test_the_original_s_are_those_of_the_scores(rules: Rules, original: Passes) -> None:
    """A mutant that misses all leaves the scores nothing but the original's own measures."""
    tracks = track(original, Passes.from_list([seen()] * 4), rules)
    found, missed = object_uncertainty(tracks, rules), miss_objects([tracks], rules)
    own = found.original_measures
    np.testing.assert_array_equal(np.sort(own / (own + 1), 0), np.sort(missed.original, 0))


def test_the_original_s_entropy_by_hand() -> None:
    found = object_uncertainty(track(ORIGINAL, MUTANT))
    assert found.original_measure(0, "ie") == pytest.approx(0.72193)
    assert [found.original_measure(0, name) for name in ("vr", "var", "ps")] == [0, 0, 0]
    assert np.isnan(found.original_measure(2, "ie"))


def test_an_object_that_is_never_found_has_no_measure() -> None:
    gone = Passes.from_list([seen()] * 4)
    found = object_uncertainty(track(ORIGINAL, gone))
    assert np.isnan(found.measures).all()
    assert found.n_missed.tolist() == [4, 4]


def test_nothing_at_all() -> None:
    nothing = Passes.from_list([seen()])
    found: ObjectUncertainty = object_uncertainty(track(nothing, nothing))
    assert (len(found), found.n_originals, found.measures.shape) == (0, 0, (0, 5))
    only_ghost = object_uncertainty(track(nothing, Passes.from_list([seen((ONE, CAT))])))
    assert (len(only_ghost), only_ghost.is_ghost(0), only_ghost.rate(0)) == (1, True, 1.0)
