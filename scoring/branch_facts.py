"""Facts of a branch: what its rows cannot say, in one file beside the mutants' tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import orjson

from scoring.errors import DataError
from scoring.files import write_atomic
from scoring.layout import Branch

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

    def passes_of(self, tag: str, stem: str) -> int:
        """Return T of one image under one mutant."""
        return self.passes - self.fewer_passes.get(tag, {}).get(stem, 0)


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
        content: Any = orjson.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, orjson.JSONDecodeError) as error:
        raise DataError(f"{path}: cannot be read as the facts of a branch ({error})") from error
    try:
        facts = BranchFacts(**content)
        return BranchFacts(**{**content, "equivalent": tuple(facts.equivalent)})
    except TypeError as error:
        raise DataError(
            f"{path}: expected the facts that 'uamt score' writes ({error}); score again"
        ) from error
