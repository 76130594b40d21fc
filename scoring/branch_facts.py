"""Facts of a branch: what its rows cannot say, in one file beside the mutants' tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

import orjson

from scoring.curtailment import CurtailedKinds, CurtailedRule
from scoring.errors import DataError
from scoring.files import write_atomic
from scoring.json_text import read_record
from scoring.layout import Branch
from scoring.limits import MAX_FACTS_BYTES, MAX_PASSES
from scoring.shapes import (
    Shape,
    is_count,
    is_text,
    is_yes_or_no,
    list_of,
    misfit,
    none_or,
    one_of,
    table_of,
)

FACTS_NAME = "facts.json"


@dataclass(frozen=True, slots=True)
class BranchFacts:
    """What scoring found out about one operator, model and suite.

    Args:
        rules: Name of the rule set behind the tables.
        passes: T, the most passes of any image.
        scores: What the class vectors are taken for; `deepluq` makes no difference.
        original_is_deterministic: Whether the original's passes are alike on every image.
        equivalent: Tags of the mutants that equal the original on every image of this suite; a
            mutant is equivalent iff it is listed for all suites of its model. None under
            `deepluq`, to which no mutant is equivalent.
        degenerate_boxes: Boxes without area that were left out; 0 under `deepluq`, which keeps
            them.
        fewer_passes: Tag -> stem -> by how many passes an image under a mutant has fewer than T.
        nonfinite_passes: How many of those were left out because a number in them is not finite.
        curtailed: The rule by which passes stopped early, and `critical_count`, the changed passes
            that make a significant kill; None for a full campaign. Rows then hold the counts of
            settled kinds and nothing else.
        crashed: Tag -> the images on which the mutant crashed, or computed NaN or infinity, so
            that they have no row.
    """

    rules: str
    passes: int
    scores: Literal["softmax", "sigmoid"] = "softmax"
    original_is_deterministic: bool = True
    equivalent: tuple[str, ...] = ()
    degenerate_boxes: int = 0
    fewer_passes: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    nonfinite_passes: int = 0
    curtailed: Mapping[str, Any] | None = None
    crashed: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def passes_of(self, tag: str, stem: str) -> int:
        """Return T of one image under one mutant."""
        return self.passes - self.fewer_passes.get(tag, {}).get(stem, 0)


_CURTAILED = {
    "kinds": Shape("a kind", one_of(*get_args(CurtailedKinds))),
    "rule": Shape("a kill rule", one_of(*get_args(CurtailedRule))),
    "critical_count": Shape("a count", lambda value: is_count(value) and value > 0),
}
_SHAPES = {
    "rules": Shape("the name of a rule set", is_text),
    "passes": Shape(
        f"1 to {MAX_PASSES:,}", lambda value: is_count(value) and 1 <= value <= MAX_PASSES
    ),
    "scores": Shape("softmax or sigmoid", one_of("softmax", "sigmoid"), is_needed=False),
    "original_is_deterministic": Shape("true or false", is_yes_or_no, is_needed=False),
    "equivalent": Shape("a list of tags", list_of(is_text), is_needed=False),
    "degenerate_boxes": Shape("a count", is_count, is_needed=False),
    "fewer_passes": Shape("counts by tag and stem", table_of(table_of(is_count)), is_needed=False),
    "nonfinite_passes": Shape("a count", is_count, is_needed=False),
    "curtailed": Shape(
        "null, or kinds, rule and critical_count",
        none_or(lambda value: not misfit(value, _CURTAILED)),
        is_needed=False,
    ),
    "crashed": Shape("images by tag", table_of(list_of(is_text)), is_needed=False),
}


def facts_path(results: Path, case_study: str, branch: Branch) -> Path:
    """Return the file of a branch's facts, beside its tables."""
    return branch.table(results, case_study, "0").parent / FACTS_NAME


def write_facts(path: Path, facts: BranchFacts) -> None:
    """Write the facts of a branch atomically."""
    options = orjson.OPT_SORT_KEYS | orjson.OPT_INDENT_2
    write_atomic(path, orjson.dumps(asdict(facts), option=options) + b"\n")


def read_facts(path: Path) -> BranchFacts | None:
    """Return the facts of a branch; None where there is no file, as beside foreign tables.

    Raises:
        DataError: The file is broken or holds other keys.
    """
    try:
        content = read_record(path, MAX_FACTS_BYTES, "the facts of a branch")
    except FileNotFoundError:
        return None
    fault = misfit(content, _SHAPES)
    if not fault and _most_lacking(content) > content["passes"]:
        fault = f"expected at most {content['passes']} lacking passes of an image in 'fewer_passes'"
    if fault:
        raise DataError(f"{path}: no facts as 'uamt score' writes them: {fault}; score again")
    return BranchFacts(**{**content, "equivalent": tuple(content.get("equivalent", ()))})


def _most_lacking(content: Mapping[str, Any]) -> int:
    fewer = content.get("fewer_passes", {})
    return max((number for of_tag in fewer.values() for number in of_tag.values()), default=0)
