"""The four packages import in one direction, and scoring loads no GPU library."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ORDER = ("scoring", "mutators", "runners", "uamt")
"""Each package imports only those before it."""


def imported_names(source: str) -> set[str]:
    """Return every module that a file imports, also inside functions and by name."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            # A relative import stays in its package.
            names |= {node.module} if node.module and not node.level else set()
        elif isinstance(node, ast.Call):
            called = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if called in ("import_module", "__import__"):
                names |= {arg.value for arg in node.args if isinstance(arg, ast.Constant)}
    return names


def top_level_imports(package: str) -> dict[str, set[str]]:
    """Return the top-level packages that each file of a package imports."""
    return {
        str(path.relative_to(ROOT)): {
            name.partition(".")[0] for name in imported_names(path.read_text(encoding="utf-8"))
        }
        for path in sorted((ROOT / package).rglob("*.py"))
    }


def run_python(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_imports_are_seen_wherever_they_stand() -> None:
    source = (
        "import a.b, c\nfrom d.e import f\nfrom . import g\n"
        "def h():\n    import i\n    import importlib\n    importlib.import_module('j.k')\n"
    )
    assert imported_names(source) == {"a.b", "c", "d.e", "i", "importlib", "j.k"}


@pytest.mark.parametrize("package", ORDER)
def test_a_package_imports_only_those_below_it(package: str) -> None:
    files = top_level_imports(package)
    assert files
    above = set(ORDER[ORDER.index(package) + 1 :]) | {"tests", "scripts"}
    wrong = {path: sorted(names & above) for path, names in files.items() if names & above}
    assert wrong == {}


TORCH_ON_CALL = {"scoring/metrics_mut/ms.py"}
"""`yolo_to_absolute` is documented to return tensors; only calling it imports torch."""


def test_scoring_never_imports_torch() -> None:
    heavy = {"torch", "torchvision"}
    files = top_level_imports("scoring")
    assert {path for path, names in files.items() if names & heavy} == TORCH_ON_CALL


@pytest.mark.parametrize(
    "module",
    [
        "scoring.sweep, scoring.suites",
        "scoring.metrics_mut.ms, scoring.metrics_mut.ms_calcu, scoring.metrics_mut.helper",
        "scoring.metrics_dl",
        "uamt",
        "uamt.reporting",
    ],
)
def test_torch_is_not_loaded(module: str) -> None:
    code = f"import sys, {module}; print(*sorted({{'torch', 'torchvision'}} & set(sys.modules)))"
    assert run_python(code) == ""


def test_rows_load_neither_statistics_nor_charts() -> None:
    code = (
        "import sys, scoring.rows; "
        "print(*sorted({'scipy.stats', 'statsmodels', 'matplotlib'} & set(sys.modules)))"
    )
    assert run_python(code) == ""


def test_scoring_starts_in_under_a_second() -> None:
    """By the processor's clock, and the least of three: the machine may be busy."""
    code = "import time, scoring.sweep, scoring.suites; print(time.process_time())"
    assert min(float(run_python(code)) for _ in range(3)) < 1
