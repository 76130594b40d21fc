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
    work = (
        "10 units (one image under one mutant or original, 3 passes): 2 images under 3 mutants and "
        "2 originals (one for each kind of noise: mc_dropout, mc_dropblock), 1 suite"
    )
    assert lines["Work"] == work
    assert lines["Done"] == "0 units; to do: 10"
    assert lines["Batch"] == "3 passes of an image at once (--chunk; as asked for)"
    assert "times as long" in lines["Sites"]
    assert "--sites last (" in lines["Faster"]
    assert list(lines)[:2] == ["Time", "Disk"]
    assert "with 1 worker, " in lines["Time"]
    assert "with 3 workers" in lines["Time"]
    assert lines["Disk"].startswith("30 files, ")
    assert "10 units to run, which takes about " in stdout
    assert "with 3 workers and " in stdout
    assert lines["Next:"].startswith("uamt run")
    assert not out.exists()
    assert [path.name for path in tmp_path.iterdir()] == ["photos"]

    assert uamt("run", *arguments)[0] == 0
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    code, stdout, _ = uamt("plan", *arguments)
    assert (code, "10 units; to do: 0" in stdout, "Time" in stdout) == (0, True, False)
    code, stdout, stderr = uamt("plan", *arguments, "--seed", "5")
    assert (code, stdout) == (2, "")
    assert "settings.seed was 0, is 5" in stderr
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before
