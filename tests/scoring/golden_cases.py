"""The golden cases, and the prediction trees that they describe."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from scoring.layout import Branch, original_tag, prediction_path

HERE = Path(__file__).parent / "golden"
WHOLE_SET = Path(
    os.environ.get("UAMT_GOLDEN", Path(__file__).parents[3] / "shared" / "data" / "golden")
)


def decode(value: Any) -> Any:
    """Return the value with `"NaN"` and `"Infinity"` as numbers."""
    if isinstance(value, dict):
        return {key: decode(item) for key, item in value.items()}
    if isinstance(value, list):
        return [decode(item) for item in value]
    if value in ("NaN", "Infinity", "-Infinity"):
        return float(value.replace("Infinity", "inf"))
    return value


def read_cases(folder: Path) -> list[dict[str, Any]]:
    """Return all cases of a folder, in the order of their names."""
    return [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]


def write_tree(root: Path, case: dict[str, Any]) -> Branch:
    """Write the documented layout of one case, with bare NaN tokens where it has them."""
    branch = Branch(case["operator"], case["model"])
    sides = {original_tag(branch.operator): case["orig"]}
    sides |= {tag: mutant["pred"] for tag, mutant in case["mutants"].items()}
    for tag, passes in sides.items():
        folder = branch.folder(root, tag, case["stem"])
        folder.mkdir(parents=True)
        for t, detections in enumerate(passes):
            prediction_path(folder, t).write_text(json.dumps(decode(detections)))
    return branch
