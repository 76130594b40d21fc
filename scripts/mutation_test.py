"""Mutate our own matching, kill test, rules and masks, and list the mutants that no test notices.

cosmic-ray makes the mutants (`pip install .[mutation]`), in a copy of the tree. Each is tested by a
process that is forked from one which has torch, scipy and pytest loaded already, so that a mutant
takes a fraction of a second. Needs a system with fork.

docs/robustness.md lists the survivors and says why each may live.

Usage: python scripts/mutation_test.py [--module scoring/kill.py]...
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TESTS = {
    "scoring/matching.py": ["tests/scoring/test_matching.py"],
    "scoring/kill.py": ["scoring/kill.py", "tests/scoring/test_kill.py"],
    "scoring/rules.py": ["scoring/rules.py", "tests/scoring/test_rules.py"],
    "mutators/masks.py": ["mutators/masks.py", "tests/mutators/test_masks.py"],
}
"""The files that are mutated, each with the tests and doctests that must notice."""

_COPIED = ("scoring", "mutators", "tests", "pyproject.toml")
_LOADED = ("hypothesis", "numpy", "pandas", "pytest", "scipy.optimize", "scipy.special", "torch")
_TIMEOUT = 60
_ANNOTATIONS = "core/ReplaceBinaryOperator_BitOr_.*"
"""`int | None` stands only in annotations, which nothing evaluates."""

_ASK = """
import socket, sys
with socket.socket(socket.AF_UNIX) as asked:
    asked.connect(sys.argv[1])
    sys.exit(asked.recv(1)[0])
"""
_CONFIGURATION = """[cosmic-ray]
module-path = {module!r}
timeout = {timeout}
excluded-modules = []
test-command = {command!r}
[cosmic-ray.distributor]
name = "local"
[cosmic-ray.filters.operators-filter]
exclude-operators = [{excluded!r}]
"""


def answer(listener: socket.socket, tests: list[str], tree: Path) -> None:
    """Test the tree as it is once for each connection, in a fork, and send its exit code."""
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return  # closed: all mutants were tested
        with connection:
            child = os.fork()
            if not child:
                _run_tests(tests, tree)
            connection.sendall(bytes([_exit_code(child)]))


def _run_tests(tests: list[str], tree: Path) -> None:
    import pytest

    os.chdir(tree)
    sys.path.insert(0, str(tree))
    sys.dont_write_bytecode = True
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)
    os._exit(int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", "--doctest-modules", *tests])))


def _exit_code(child: int) -> int:
    """Return the exit code of a forked process, which is ended when it takes too long."""
    end = time.monotonic() + _TIMEOUT
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return min(abs(os.waitstatus_to_exitcode(status)), 255)
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return 1


def mutate(module: str, folder: Path) -> Path:
    """Test every mutant of a module and return the session of cosmic-ray."""
    tree = folder / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    for name in _COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, tree / name)
    session = folder / f"{Path(module).stem}.sqlite"
    (folder / "ask.py").write_text(_ASK)
    place = str(folder / "socket")
    Path(place).unlink(missing_ok=True)
    configuration = folder / "configuration.toml"
    command = f"{sys.executable} -S -E {folder / 'ask.py'} {place}"
    configuration.write_text(
        _CONFIGURATION.format(
            module=module, timeout=2.0 * _TIMEOUT, command=command, excluded=_ANNOTATIONS
        )
    )
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(place)
        listener.listen()
        server = os.fork()
        if not server:
            answer(listener, TESTS[module], tree)
            os._exit(0)
        try:
            if subprocess.run(command.split(), check=False).returncode:
                raise SystemExit(f"{module}: its tests fail without a mutant")
            for words in (
                ["cosmic-ray", "init", configuration, session],
                ["cr-filter-operators", session, configuration],
                ["cosmic-ray", "exec", configuration, session],
            ):
                tool = Path(sys.executable).parent / str(words[0])
                subprocess.run([tool, *words[1:]], cwd=tree, check=True, capture_output=True)
        finally:
            os.kill(server, signal.SIGKILL)
            os.waitpid(server, 0)
    return session


def survivors(session: Path) -> tuple[int, list[str]]:
    """Return how many mutants were tested, and those that no test noticed."""
    from cosmic_ray.work_db import WorkDB, use_db
    from cosmic_ray.work_item import TestOutcome, WorkerOutcome

    tested, found = 0, []
    with use_db(session, WorkDB.Mode.open) as database:
        mutations = {item.job_id: item.mutations[0] for item in database.work_items}
        for job, result in database.results:
            if result.worker_outcome == WorkerOutcome.SKIPPED:
                continue
            tested += 1
            if result.test_outcome == TestOutcome.SURVIVED:
                mutation = mutations[job]
                lines = "\n".join(_changed(result.diff or ""))
                found.append(f"line {mutation.start_pos[0]}, {mutation.operator_name}\n{lines}")
    return tested, sorted(found)


def _changed(diff: str) -> Iterator[str]:
    for line in diff.splitlines():
        if line[:1] in "+-" and line[:3] not in ("+++", "---"):
            yield f"    {line}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--module", action="append", choices=TESTS, help="default: all four")
    args = parser.parse_args()
    if importlib.util.find_spec("cosmic_ray") is None:
        print("cosmic-ray is not installed: pip install .[mutation]", file=sys.stderr)
        return 2
    os.environ["OMP_NUM_THREADS"] = "1"
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    for name in _LOADED:
        importlib.import_module(name)
    with tempfile.TemporaryDirectory() as folder:
        for module in args.module or TESTS:
            started = time.monotonic()
            tested, found = survivors(mutate(module, Path(folder)))
            minutes = (time.monotonic() - started) / 60
            print(f"{module}: {tested} mutants, {len(found)} survived ({minutes:.1f} min)")
            print(*found, sep="\n", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
