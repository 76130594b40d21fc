"""`scripts/torture.py`: two kills end as an undisturbed campaign, and a difference is told."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "torture.py"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="kills process groups of a Unix")


def test_two_kills_end_as_the_undisturbed_campaign() -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--kills", "2", "--seed", "3"],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert "2 of 2 kills, in 1 campaign, end as undisturbed; seed 3" in done.stdout


@pytest.fixture
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("torture", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["torture"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("name", "content", "fault"),
    [
        ("experiment_results_x/prediction_0.json", b"{}", "prediction_0.json differs"),
        ("ledger.jsonl", b'{"unit": {"tag": "0"}}\n' * 2, "1 finished units ran again"),
        ("ledger.jsonl", b'{"unit": {"tag": "1"}}\n', "the ledger lists other units"),
        ("experiment_results_x/.a.tmp", b"", "experiment_results_x/.a.tmp is left"),
        ("manifest.json", b"{}", "manifest.json differs"),
    ],
)
def test_every_kind_of_difference_is_told(
    script: ModuleType, tmp_path: Path, name: str, content: bytes, fault: str
) -> None:
    roots = [tmp_path / "whole", tmp_path / "killed"]
    for root in roots:
        (root / "experiment_results_x").mkdir(parents=True)
        (root / "manifest.json").write_bytes(b'{"format": 1, "models": {}}')
        (root / "ledger.jsonl").write_bytes(b'{"unit": {"tag": "0"}}\n{"unit": {')
    machine = script.Torture.__new__(script.Torture)
    machine._whole = roots[0]
    assert list(machine._differences(roots[1])) == []
    (roots[1] / name).write_bytes(content)
    assert any(fault in told for told in machine._differences(roots[1]))


def test_an_interrupt_that_ends_otherwise_is_told(script: ModuleType, tmp_path: Path) -> None:
    machine = script.Torture.__new__(script.Torture)
    machine._log = tmp_path / "log.txt"
    machine._log.write_text("uamt: interrupted; the same command goes on from there")
    interrupt = script.Kill(script.signal.SIGINT, True, 3, 0.0)
    assert list(machine._wrong_end(interrupt, 130)) == []
    assert list(machine._wrong_end(interrupt, 1))
    assert list(machine._wrong_end(script.Kill(script.signal.SIGKILL, True, 3, 0.0), -9)) == []
    machine._log.write_text("Traceback: the same command goes on from there")
    assert list(machine._wrong_end(interrupt, 130))
