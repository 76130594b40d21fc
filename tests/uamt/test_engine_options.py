"""Where a run runs: options that fit together, and progress that tells the truth."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from runners.ledger import Entry, Unit
from tests.uamt.conftest import SMALL_RUN, Command
from uamt import progress
from uamt.progress import unit_progress

DEMO = ("--model", "demo_retinanet")


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--shard", "3/2"), "shard: expected I/N with I from 1 to N, got 3/2"),
        (("--shard", "0/2"), "a scheduler that counts from 0 needs 1 added"),
        (("--shard", "half"), "expected I/N, such as 1/4, got 'half'"),
        (("--chunk", "all"), "--chunk: expected auto or a whole number, got 'all'"),
        (("--chunk", "9"), "chunk: expected auto, or 1 to 3 passes in a batch, got 9"),
        (("--address", "host:1"), "--address: expected --engine ray with it"),
        (("--gpu-fraction", "0.5"), "--gpu-fraction: expected --engine ray with it"),
        (("--engine", "ray", "--gpu-fraction", "2"), "GPU fraction: expected 0 to 1, got 2"),
        (("--engine", "dask"), "--engine: expected local or ray, got 'dask'"),
    ],
)
def test_options_that_do_not_fit_say_what_would(
    uamt: Command, photos: Path, tmp_path: Path, flags: tuple[str, ...], message: str
) -> None:
    arguments = (*DEMO, "--images", photos, "--out", tmp_path / "out", *SMALL_RUN, *flags)
    for command in ("run", "plan"):
        code, stdout, stderr = uamt(command, *arguments)
        assert (code, stdout) == (2, "")
        assert message in stderr
    assert not (tmp_path / "out").exists()


def test_ray_that_is_not_installed_is_named_with_its_extra(
    uamt: Command, photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    out = tmp_path / "out"
    code, _, stderr = uamt(
        "run", *DEMO, "--images", photos, "--out", out, *SMALL_RUN, "--engine", "ray"
    )
    assert code == 2
    assert "Ray is not installed; install the extra 'ray' (pip install '.[ray]'" in stderr
    assert not out.exists()


def test_a_shard_is_no_part_of_the_saved_configuration(
    uamt: Command, photos: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    arguments = (*DEMO, "--images", photos, "--out", out, *SMALL_RUN)
    code, stdout, _ = uamt("run", *arguments, "--shard", "2/2")
    assert code == 0
    assert "Shard 2/2: 1 of 2 images." in stdout
    assert stdout.splitlines()[-1].endswith("   # once all 2 shards are done")
    code, stdout, _ = uamt("run", out / "experiment_demo_retinanet.toml")
    assert (code, "5 done before" in stdout) == (0, True)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Work:
    """As much of a campaign as progress looks at."""

    own_images = range(10)

    def mutants(self) -> range:
        return range(10)


def test_units_that_were_done_before_do_not_count_into_the_rate(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = [0.0]
    monkeypatch.setattr("tqdm.std.time", lambda: clock[0])
    terminal = Terminal()
    monkeypatch.setattr(progress.sys, "stderr", terminal)
    entry = Entry(Unit("m", "s", "i", "o", "t"), "done", "", "i")
    with unit_progress([Work()]) as on_unit:  # type: ignore[list-item]
        for _ in range(80):
            clock[0] += 0.05  # files are checked
            on_unit(entry, False)
        for _ in range(10):
            clock[0] += 2.0
            on_unit(entry, True)
    last = terminal.getvalue().split("\r")[-1]
    assert "90/100" in last
    assert "<00:20" in last
    assert "2.00s/unit" in last
