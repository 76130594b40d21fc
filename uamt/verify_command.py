"""`uamt verify`: whether a tree of results is whole and of one configuration, and what to redo."""

from __future__ import annotations

import argparse
import shlex
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uamt.outcome import DONE, FAILED, Outcome
from uamt.presentation import count_of

if TYPE_CHECKING:
    from runners.account import State
    from runners.verification import ModelCheck, Problem, Verification

ABOUT = "is a tree whole and of one configuration: every file against manifest and ledger"
EXAMPLE = "uamt verify experiment/"

_SHOWN = 5
"""Problems of a kind, and images without passes, that are printed one by one."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `uamt verify`."""
    parser.add_argument("root", metavar="ROOT", help="folder of the experiment")


def run(arguments: argparse.Namespace) -> Outcome:
    """Say what the check found and what to do; 1 if the tree is not whole."""
    from runners.verification import verify
    from uamt.progress import step_progress

    root = Path(arguments.root)
    with step_progress(None, "verifying", "folder") as on_unit:
        found = verify(root, on_unit)
    todo = redo(found)
    done = f"{found.root}: whole, and of one configuration."
    if not found.is_whole:
        done = f"{found.root}: not whole, {count_of(len(found.problems), 'problem')}."
        done += "".join(f"\nTo do: {what}" for what in todo)
    return Outcome(
        done,
        DONE if found.is_whole else FAILED,
        "\n".join(_lines(found)),
        then=f"uamt score {_quoted(root)}" if found.is_whole else None,
        why="a CSV per mutant",
        counts={"problems": len(found.problems)},
        facts=as_json(found),
    )


def as_json(found: Verification) -> dict[str, Any]:
    """Return all that the check found, as values of JSON."""
    return {
        "root": str(found.root),
        "is_whole": found.is_whole,
        "models": {
            model.model: {
                "images": model.n_images,
                "mutants": model.n_mutants,
                "is_imported": model.is_imported,
                "is_going_on": model.is_going_on,
                "units": dict(model.states),
                "whole_files": model.n_files,
                "without_passes": [
                    {
                        "suite": unit.suite,
                        "image": unit.image,
                        "operator": unit.operator,
                        "tag": unit.tag,
                        "status": state,
                        "message": message,
                    }
                    for unit, state, message in model.without_passes
                ],
            }
            for model in found.models
        },
        "problems": [
            {"kind": p.kind, "model": p.model, "path": p.path, "message": p.message}
            for p in found.problems
        ],
        "redo": redo(found),
    }


def redo(found: Verification) -> list[str]:
    """Return what to do about the problems: commands, and what is to be done by hand."""
    from runners.verification import RUN_AGAIN

    todo = []
    for model in found.models:
        kinds = {problem.kind for problem in model.problems}
        if model.is_imported and kinds:
            todo.append(
                f"import the files of '{model.model}' named above once more: "
                f"uamt import ... --model {model.model} --replace --out {_quoted(found.root)}"
            )
        elif kinds & RUN_AGAIN:
            todo.append(_run_command(found.root, model))
        if "edited manifest" in kinds:
            todo.append("put back the manifest of the run, or run into another --out")
    if any(problem.kind == "stray" for problem in found.problems):
        todo.append(
            "delete the strays, or bring back the images that they are of and run again; "
            "'uamt score' leaves them out"
        )
    return todo


def _run_command(root: Path, model: ModelCheck) -> str:
    from uamt.configuration import saved_path

    if model.is_going_on:
        return f"wait: a run of '{model.model}' is going on"
    saved = saved_path(root, model.model)
    if saved.is_file():
        return f"uamt run {_quoted(saved)} --out {_quoted(root)}"
    return f"uamt run with the options of '{model.model}' and --out {_quoted(root)}"


def _quoted(path: Path) -> str:
    return shlex.quote(str(path))


def _lines(found: Verification) -> Iterator[str]:
    for model in found.models:
        yield from _lines_of(model)
    by_kind: dict[str, list[Problem]] = defaultdict(list)
    for problem in found.problems:
        by_kind[problem.kind].append(problem)
    for kind, problems in by_kind.items():
        yield f"{kind}: {len(problems):,}"
        yield from (f"  {p.path}: {p.message}" for p in problems[:_SHOWN])
        if len(problems) > _SHOWN:
            yield f"  and {len(problems) - _SHOWN:,} more (--json lists all)"


def _lines_of(model: ModelCheck) -> Iterator[str]:
    units = model.n_images * model.n_mutants
    how = "imported" if model.is_imported else "originals among them"
    yield (
        f"{model.model}: {count_of(model.n_images, 'image')} x "
        f"{count_of(model.n_mutants, 'mutant')} ({how}) = {count_of(units, 'unit')}; "
        f"{_states(model)}; {count_of(model.n_files, 'file')} as written"
        f"{'; a run is going on' if model.is_going_on else ''}"
    )
    by_cause = Counter(
        (state, f"{unit.suite}/{unit.image}", message)
        for unit, state, message in model.without_passes
    )
    shown: Sequence[tuple[tuple[str, str, str], int]] = by_cause.most_common(_SHOWN)
    for (state, image, message), number in shown:
        yield f"  {state}: {count_of(number, 'mutant')} on '{image}': {message}"
    if len(by_cause) > _SHOWN:
        yield f"  and on {len(by_cause) - _SHOWN:,} more (--json lists all)"


_IN_WORDS: dict[State, str] = {
    "done": "done",
    "dropped": "dropped as killed",
    "runtime_error": "crashed",
    "unreadable_image": "of unreadable images",
    "not_run": "not run",
    "changed": "of another configuration",
}


def _states(model: ModelCheck) -> str:
    states = model.states
    return ", ".join(f"{states[s]:,} {words}" for s, words in _IN_WORDS.items() if states[s])
