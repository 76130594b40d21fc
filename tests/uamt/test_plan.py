"""`uamt plan`: what a person reads before a run."""

from __future__ import annotations

from pathlib import Path

from tests.uamt.conftest import SMALL_RUN, Command

DEMO = ("--model", "demo_fasterrcnn")


def test_a_plan_says_work_cost_and_what_would_be_cheaper(
    uamt: Command, photos: Path, tmp_path: Path
) -> None:
    out = tmp_path / "experiment"
    arguments = (*DEMO, "--images", photos, "--out", out, *SMALL_RUN)
    code, stdout, stderr = uamt("plan", *arguments, "--workers", "3")
    assert (code, "into a temporary folder" in stderr) == (0, True)
    lines = dict(line.split(maxsplit=1) for line in stdout.splitlines() if line)
    assert lines["Work"].startswith("2 images in 1 suite x 5 mutants")
    assert lines["Work"].endswith("= 10 units of 3 passes")
    assert lines["Done"] == "0; to do: 10"
    assert lines["Chunk"] == "3 (as asked for)"
    assert lines["Sites"].endswith("% of a pass lies behind the first of them")
    assert "last" in lines["Cheaper"]
    assert "1 worker" in lines["Time"]
    assert "3 workers" in lines["Time"]
    assert lines["Disk"].startswith("30 files, ")
    assert "times as long" in lines["Memo"]
    assert lines["Next:"].startswith("uamt run")
    assert not out.exists()
    assert [path.name for path in tmp_path.iterdir()] == ["photos"]

    assert uamt("run", *arguments)[0] == 0
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    code, stdout, _ = uamt("plan", *arguments)
    assert (code, "10; to do: 0" in stdout, "Time" in stdout) == (0, True, False)
    code, stdout, stderr = uamt("plan", *arguments, "--seed", "5")
    assert (code, stdout) == (2, "")
    assert "settings.seed was 0, is 5" in stderr
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before
