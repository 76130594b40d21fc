"""The documentation says what the program does."""

from __future__ import annotations

from pathlib import Path

from uamt.options import OPTIONS

ROOT = Path(__file__).parents[2]


def rows_of_options() -> list[str]:
    rows = []
    for option in OPTIONS:
        value = "" if option.default is None else f"`{option.default}`".replace("False", "false")
        text = option.help.replace("|", "\\|")
        shape = option.shape.replace("|", " or ")
        rows.append(f"| `{option.key}` | `{option.flag}` | {shape} | {value} | {text} |")
    return rows


def test_every_option_stands_in_the_table_of_keys() -> None:
    page = (ROOT / "docs" / "experiment.md").read_text()
    table = [line for line in page.splitlines() if line.startswith("| `")]
    assert table == rows_of_options()
