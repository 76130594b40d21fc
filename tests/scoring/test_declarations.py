"""What a manifest says of a model's class vectors, and what it leaves open."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scoring.declarations import Declared, read_declarations
from scoring.errors import DataError


def write(root: Path, scores: object) -> None:
    section = {"settings": {"model": {"scores": scores}}, "original_is_deterministic": True}
    (root / "manifest.json").write_text(json.dumps({"format": 1, "models": {"m": section}}))


@pytest.mark.parametrize(
    ("scores", "declared"),
    [
        ("softmax", "softmax"),
        ("sigmoid", "sigmoid"),
        ("one_hot", "softmax"),
        ("given", None),  # vectors that a user's model returns itself
        (None, None),  # an import that does not say
    ],
)
def test_every_kind_that_a_manifest_may_hold_is_read(
    tmp_path: Path, scores: str | None, declared: str | None
) -> None:
    write(tmp_path, scores)
    assert read_declarations(tmp_path) == {"m": Declared(declared, True)}


def test_any_other_kind_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "logits")
    with pytest.raises(DataError, match=r"manifest.json.*'logits'"):
        read_declarations(tmp_path)


def test_without_a_manifest_nothing_is_declared(tmp_path: Path) -> None:
    assert read_declarations(tmp_path) == {}
