"""Runs that are going on: who shares a folder, who is refused, and that the dead hold nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from runners.going_on import going_on, is_going_on
from runners.shards import Shard
from scoring.errors import ConfigError

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="locks of a Unix")


def enter(root: Path, shard: Shard | None = None, model: str = "net") -> None:
    with going_on(root, model, shard):
        pass


def test_a_second_run_is_refused_and_told_who_is_there(tmp_path: Path) -> None:
    with (
        going_on(tmp_path, "net"),
        pytest.raises(
            ConfigError, match=rf"a run of model 'net' .*process {os.getpid()} on .*--out"
        ),
    ):
        enter(tmp_path)
    enter(tmp_path)


def test_other_models_and_other_folders_are_free(tmp_path: Path) -> None:
    with going_on(tmp_path / "a", "net"):
        enter(tmp_path / "a", model="other")
        enter(tmp_path / "b")


def test_shards_of_one_division_share_a_folder(tmp_path: Path) -> None:
    with going_on(tmp_path, "net", Shard(1, 3)), going_on(tmp_path, "net", Shard(2, 3)):
        enter(tmp_path, Shard(3, 3))
        with pytest.raises(ConfigError, match="shard 2/3 of model 'net' is going on"):
            enter(tmp_path, Shard(2, 3))
        with pytest.raises(ConfigError, match=r"divide the images into 3, got 1/2"):
            enter(tmp_path, Shard(1, 2))
        with pytest.raises(ConfigError, match="a run of model 'net' is going on"):
            enter(tmp_path)
    enter(tmp_path, Shard(1, 2))
    enter(tmp_path)


def test_a_shard_is_refused_beside_a_run_of_all_images(tmp_path: Path) -> None:
    with (
        going_on(tmp_path, "net"),
        pytest.raises(ConfigError, match="a run of model 'net' is going on"),
    ):
        enter(tmp_path, Shard(1, 2))


def test_the_first_shard_may_end_before_the_others(tmp_path: Path) -> None:
    second = going_on(tmp_path, "net", Shard(2, 2))
    with going_on(tmp_path, "net", Shard(1, 2)):
        second.__enter__()
    with pytest.raises(ConfigError, match="a run of model 'net' is going on"):
        enter(tmp_path)
    enter(tmp_path, Shard(1, 2))
    second.__exit__(None, None, None)
    enter(tmp_path)


@pytest.mark.parametrize("shard", ["None", "Shard(1, 2)"])
def test_a_killed_run_keeps_nobody_out(tmp_path: Path, shard: str) -> None:
    code = (
        "import sys, time; from pathlib import Path; from runners.going_on import going_on\n"
        "from collections import namedtuple; Shard = namedtuple('Shard', 'number count')\n"
        f"with going_on(Path(sys.argv[1]), 'net', {shard}): print('in', flush=True); time.sleep(60)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    with process.stdout as output:
        assert output.readline() == b"in\n"
        with pytest.raises(ConfigError, match=f"process {process.pid} on"):
            enter(tmp_path)
        assert is_going_on(tmp_path, "net")
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert not is_going_on(tmp_path, "net")
    enter(tmp_path)
    enter(tmp_path, Shard(1, 2))


def test_looking_writes_nothing_and_finds_what_is_there(tmp_path: Path) -> None:
    assert not is_going_on(tmp_path, "net")
    assert list(tmp_path.iterdir()) == []
    with going_on(tmp_path, "net"):
        assert is_going_on(tmp_path, "net")
        assert not is_going_on(tmp_path, "other")
    with going_on(tmp_path, "net", Shard(1, 2)):
        assert is_going_on(tmp_path, "net")
    assert not is_going_on(tmp_path, "net")


def test_a_file_system_without_locks_lets_everybody_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unsupported(handle: int, how: int) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr("runners.locks.fcntl.flock", unsupported)
    with going_on(tmp_path, "net"):
        enter(tmp_path)
        assert not is_going_on(tmp_path, "net")
