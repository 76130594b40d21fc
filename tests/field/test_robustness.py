"""The table of docs/robustness.md says what a user sees of every hostile input.

`ROBUSTNESS_ACCEPT=1 python -m pytest tests/field/test_robustness.py` writes the table anew; read
the difference before it is committed.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.field.robustness import cases, document, documented, groups, table


@pytest.mark.parametrize("group", groups())
def test_the_page_says_what_a_user_sees(
    group: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")  # tables are as wide as the terminal
    lines = table(group, tmp_path)
    if os.environ.get("ROBUSTNESS_ACCEPT"):
        document(group, lines)
    assert documented(group) == lines


@pytest.mark.parametrize("group", groups())
def test_every_input_is_one_row(group: str) -> None:
    found = [case.what for case in cases(group)]
    assert found
    assert len(set(found)) == len(found)
