"""Hostile inputs as cases: what each is, the command that meets it, and what a user then sees.

A group of cases is a module `robustness_<group>.py` beside this one with a list `CASES`. Its table
stands in docs/robustness.md between `<!-- <group> -->` and `<!-- end -->`.
"""

from __future__ import annotations

import importlib
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path

from uamt.cli import main

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PAGE = ROOT / "docs" / "robustness.md"

QUICK = {
    "--model": "tests.field.quick_detector:detector",
    "--sites": "site",
    "--operators": "mc_dropout",
    "--dropout-rates": "0.5",
    "--passes": "1",
    "--chunk": "1",
    "--score-threshold": "0",
    "--out": "out",
}
"""What `uamt run` is given besides, where a case says nothing else, to be done in no time."""


@dataclass(frozen=True, slots=True)
class Case:
    """A hostile input.

    Args:
        what: What it is, for the table.
        command: Words behind `uamt`, run in the folder of the case.
        make: Writes the input into the folder of the case, which is empty.
        vague: Pattern of what other libraries word in the message, and may word otherwise.
        shows: Pattern of the line that a user sees; None means that of the error.
        environment: Variables; with any, the command runs in a process of its own.
    """

    what: str
    command: tuple[str, ...]
    make: Callable[[Path], None]
    vague: str = ""
    shows: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Seen:
    """What a command ended with."""

    code: int
    output: str
    error: str


def cases(group: str) -> list[Case]:
    """Return the cases of a group."""
    return list(importlib.import_module(f"tests.field.robustness_{group}").CASES)


def groups() -> list[str]:
    """Return the names of all groups."""
    return sorted(path.stem.partition("_")[2] for path in HERE.glob("robustness_*.py"))


def adds_to(
    found: list[Case],
) -> Callable[..., Callable[[Callable[[Path], None]], Callable[[Path], None]]]:
    """Return a decorator that adds a function, which makes an input, to a list of cases."""

    def case(
        what: str,
        *command: str,
        vague: str = "",
        shows: str | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> Callable[[Callable[[Path], None]], Callable[[Path], None]]:
        def add(make: Callable[[Path], None]) -> Callable[[Path], None]:
            found.append(Case(what, command, make, vague, shows, environment or {}))
            return make

        return add

    return case


def observe(case: Case, box: Path) -> Seen:
    """Run a case in a folder of its own inside `box`, and return what it ended with.

    Nothing may have been written beside that folder, and nothing may have left a file `harm`,
    which is what the hostile inputs of code try to do.
    """
    folder = box / "work"
    folder.mkdir()
    case.make(folder)
    words = _whole_words(case.command)
    seen = (
        _in_process(words, folder, case.environment) if case.environment else _here(words, folder)
    )
    assert [path.name for path in box.iterdir()] == ["work"], case.what
    assert not list(box.rglob("harm")), case.what
    assert "Traceback" not in seen.error, (case.what, seen.error)
    assert "Warning" not in seen.error, (case.what, seen.error)
    return seen


def run_quietly(command: Sequence[str], folder: Path) -> None:
    """Run a command in a folder, as a part of what a case is made of."""
    _here(_whole_words(command), folder)


def _whole_words(command: Sequence[str]) -> list[str]:
    words = list(command)
    if words[0] == "run" and not (len(words) > 1 and words[1].endswith(".toml")):
        words += [w for flag, value in QUICK.items() if flag not in words for w in (flag, value)]
    return words


def _here(words: list[str], folder: Path) -> Seen:
    output, error = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    with chdir(folder), redirect_stdout(output), redirect_stderr(error):
        try:
            code = main(words)
        except SystemExit as exit_:
            code = int(exit_.code or 0)
    return Seen(code, _text(output), _text(error))


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    return stream.buffer.getvalue().decode()  # type: ignore[attr-defined, no-any-return]


def _in_process(words: list[str], folder: Path, environment: Mapping[str, str]) -> Seen:
    done = subprocess.run(
        [sys.executable, "-m", "uamt.cli", *words],
        cwd=folder,
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", **environment},
        check=False,
    )
    return Seen(done.returncode, done.stdout.decode(), done.stderr.decode())


def shown_message(case: Case, seen: Seen, folder: Path) -> str:
    """Return the line that a user sees, without what differs from place to place."""
    lines = [*seen.error.splitlines(), *seen.output.splitlines()]
    pattern = case.shows or r"^uamt[a-z ]*: error: |^skipped |^crashed"
    line = next((line for line in lines if re.search(pattern, line)), "")
    line = re.sub(r"^uamt[a-z ]*: error: ", "", line)
    line = line.replace(f"{folder.resolve()}/", "").replace(f"{folder}/", "")
    return re.sub(case.vague, "…", line) if case.vague else line


def row(case: Case, seen: Seen, folder: Path) -> str:
    """Return the case's row of the table."""
    message = shown_message(case, seen, folder)
    cells = [case.what, _code(_shown_command(case)), str(seen.code), _code(message)]
    escaped = " | ".join(cell.replace("|", "\\|") for cell in cells)
    return f"| {escaped} |"


def _shown_command(case: Case) -> str:
    words = [word if len(word) <= 60 else f"{word[:24]}..." for word in case.command]
    variables = "".join(f"{name}={value} " for name, value in case.environment.items())
    text = f"{variables}uamt {shlex.join(words)}"
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def _code(text: str) -> str:
    """Return a text as code in Markdown."""
    fence = "``" if "`" in text else "`"
    return f"{fence}{text}{fence}" if text else ""


def table(group: str, box: Path) -> list[str]:
    """Run the cases of a group and return the lines of its table."""
    lines = ["| input | command | exit | message |", "|---|---|---|---|"]
    for number, case in enumerate(cases(group)):
        place = box / str(number)
        place.mkdir()
        lines.append(row(case, observe(case, place), place / "work"))
    return lines


def documented(group: str) -> list[str]:
    """Return the lines of a group's table in the page."""
    return _parts(group)[1].strip().splitlines()


def document(group: str, lines: list[str]) -> None:
    """Write a group's table into the page."""
    before, _, behind = _parts(group)
    PAGE.write_text("\n".join([before, *lines, behind]), encoding="utf-8")


def _parts(group: str) -> tuple[str, str, str]:
    text = PAGE.read_text(encoding="utf-8")
    start, end = f"<!-- {group} -->", "<!-- end -->"
    before, found, rest = text.partition(start)
    assert found, f"docs/robustness.md: expected a line {start}"
    inside, _, behind = rest.partition(end)
    return before + start, inside, end + behind
