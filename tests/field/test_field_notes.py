"""Every test that docs/field-notes.md names is there, and every case has some."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
CASES = 16


def rows() -> dict[int, list[tuple[str, str]]]:
    """Return file and name of the tests of each case."""
    text = (ROOT / "docs" / "field-notes.md").read_text(encoding="utf-8")
    lines = re.findall(r"^\| (\d+) \|(.*)$", text, re.MULTILINE)
    return {int(number): re.findall(r"`(tests/\S+)::(\w+)`", line) for number, line in lines}


def functions_of(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_every_case_names_tests_that_are_there() -> None:
    found = rows()
    assert sorted(found) == list(range(1, CASES + 1))
    assert all(found.values())
    missing = [
        f"{file}::{name}"
        for tests in found.values()
        for file, name in tests
        if not (ROOT / file).is_file() or name not in functions_of(ROOT / file)
    ]
    assert missing == []
