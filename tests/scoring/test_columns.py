"""The quick way from parsed objects to arrays takes what the plain one takes, to the bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from scoring.columns import may_hold_words, plain_passes, to_detections
from scoring.detections import Detections
from scoring.errors import DataError
from scoring.predictions import read_passes

GOOD: dict[str, Any] = {"box": [0, 1.5, 7, 8], "label": 3, "score": 0.25, "logit": [0.1, 1, 0]}
FAULTS = (KeyError, TypeError, AttributeError, ValueError, OverflowError, DataError)


def quickly(values: list[Any]) -> Detections:
    """The detections of files that hold one object each."""
    read = plain_passes([orjson.dumps({"label_0": value}) for value in values])
    assert read is not None
    assert read.counts.tolist() == [1] * len(values)
    return read.detections


def test_both_ways_give_the_same_columns() -> None:
    values = [GOOD, {**GOOD, "box": [1, 2, 3, 4], "score": 1}, {**GOOD, "logit": [1, 0, 0.5]}]
    quick, plain = quickly(values), to_detections(values)
    for name in ("boxes", "labels", "scores", "probs"):
        mine, wanted = getattr(quick, name), getattr(plain, name)
        assert mine.dtype == wanted.dtype
        np.testing.assert_array_equal(mine, wanted)


@pytest.mark.parametrize("label", ["cat", 2.0, -1, 2**63 - 1])
def test_foreign_labels_are_taken_by_both(label: object) -> None:
    values = [{**GOOD, "label": label}, GOOD]
    quick, plain = quickly(values), to_detections(values)
    assert quick.labels.tolist() == plain.labels.tolist() == [label, 3]
    assert quick.labels.dtype == plain.labels.dtype


def test_missing_scores_are_zero(tmp_path: Path) -> None:
    content = orjson.dumps({"a": GOOD, "b": {k: v for k, v in GOOD.items() if k != "score"}})
    (tmp_path / "prediction_0.json").write_bytes(content)
    assert plain_passes([content]) is None
    assert read_passes(tmp_path).detections.scores.tolist() == [0.25, 0.0]


def test_passes_of_many_detections_come_in_their_order() -> None:
    sizes = [0, 3, 250, 0, 199, 1, 200, 450, 0]
    files = [
        orjson.dumps({f"label_{i}": {**GOOD, "score": t + i / 1000} for i in range(size)})
        for t, size in enumerate(sizes)
    ]
    read = plain_passes(files)
    assert read is not None
    assert read.counts.tolist() == sizes
    scores = [t + i / 1000 for t, size in enumerate(sizes) for i in range(size)]
    assert read.detections.scores.tolist() == scores


@pytest.mark.parametrize("changed", [{"logit": [1, 0]}, {"label": "cat"}])
def test_passes_of_two_kinds_are_left_to_the_plain_way(changed: dict[str, Any]) -> None:
    files = [
        orjson.dumps({f"label_{i}": {**GOOD, **more} for i in range(200)}) for more in ({}, changed)
    ]
    assert plain_passes(files) is None


@pytest.mark.parametrize(
    "content", [b"[]", b"", b"{", b"1", b'{"a": NaN}', b'{"a": 1}', b'{"a": {}}']
)
def test_other_texts_are_left_to_the_plain_way(content: bytes) -> None:
    assert plain_passes([orjson.dumps({"label_0": GOOD}), content]) is None


@pytest.mark.parametrize(
    "changed",
    [
        {"box": "1234"},
        {"box": [0, 1, 2]},
        {"box": {"1": 1, "2": 2, "3": 3, "4": 4}},
        {"box": [0, 1, 2, "3"]},
        {"box": [0, 1, 2, [3]]},
        {"box": 4},
        {"score": "0.5"},
        {"score": [1]},
        {"logit": []},
        {"logit": "0.5"},
        {"logit": [0.1, 0.2]},
        {"logit": [0.1, 0.2, "0.3"]},
        {"logit": {"0": 1, "1": 0, "2": 0}},
        {"label": [1]},
        {"label": {"1": 1}},
        {"label": 2**63},
    ],
)
def test_what_the_plain_way_refuses_the_quick_one_refuses_too(changed: dict[str, Any]) -> None:
    for values in ([GOOD, {**GOOD, **changed}], [{**GOOD, **changed}, GOOD]):
        with pytest.raises(FAULTS):
            to_detections(values)
        assert (
            plain_passes([orjson.dumps({"a": values[0]}), orjson.dumps({"b": values[1]})]) is None
        )


@pytest.mark.parametrize("word", [True, False, None])
@pytest.mark.parametrize("field", ["box", "score", "logit", "label"])
def test_true_false_and_null_are_no_numbers(tmp_path: Path, field: str, word: object) -> None:
    part = [0, 1, 2, word][-4 if field == "box" else -3 :]
    value = {**GOOD, field: part if field in ("box", "logit") else word}
    content = orjson.dumps({"label_0": GOOD, "label_1": value})
    assert may_hold_words(content)
    (tmp_path / "prediction_0.json").write_bytes(content)
    with pytest.raises(DataError, match=rf"pass 0, id 'label_1'.*{field}"):
        read_passes(tmp_path)


@pytest.mark.parametrize("n_classes", [1, 15, 16, 91])
def test_vectors_of_any_length_come_as_they_are(n_classes: int) -> None:
    vectors = np.random.default_rng(0).random((5, n_classes)).tolist()
    read = quickly([{**GOOD, "logit": vector} for vector in vectors])
    assert read.probs.tolist() == vectors
    with_text = [{**GOOD, "logit": [*vectors[0][1:], "0.5"]}]
    assert (
        plain_passes([orjson.dumps(dict(enumerate(with_text)), option=orjson.OPT_NON_STR_KEYS)])
        is None
    )


def test_files_as_written_hold_no_words() -> None:
    assert not may_hold_words(orjson.dumps({"label_0": GOOD}))
