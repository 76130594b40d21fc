"""Checkpoints of strangers: nothing in them runs, fills the memory, or takes for ever."""

from __future__ import annotations

import io
import os
import pickle
import resource
import struct
import zipfile
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from runners.checkpoints import read_state_dict
from scoring.errors import DataError


def with_pickle(path: Path, content: bytes) -> Path:
    """Write a file of torch.save with another pickle in it."""
    sound = io.BytesIO()
    torch.save({"a": torch.zeros(2)}, sound)
    with zipfile.ZipFile(sound) as source, zipfile.ZipFile(path, "w") as target:
        for member in source.infolist():
            is_pickle = member.filename.endswith("/data.pkl")
            target.writestr(member.filename, content if is_pickle else source.read(member))
    return path


class Harmful:
    """Pickled, it writes a file when it is read."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple[Callable[[str], int], tuple[str]]:
        return os.system, (f"touch {self.target}",)


@pytest.mark.parametrize("is_zip", [True, False])
def test_a_crafted_checkpoint_runs_nothing(tmp_path: Path, is_zip: bool) -> None:
    path, harm = tmp_path / "evil.pt", tmp_path / "harm"
    content = {"model": {"a.weight": Harmful(harm)}}
    torch.save(content, path, _use_new_zipfile_serialization=is_zip)
    with pytest.raises(DataError, match=r"evil.pt': .* Python objects \('posix.system'\), which"):
        read_state_dict(path)
    assert not harm.exists()
    torch.load(path, weights_only=False)  # the same file does harm where it is trusted
    assert harm.exists()


def test_a_pickled_model_is_refused_by_its_class_in_plain_words(tmp_path: Path) -> None:
    path = tmp_path / "model.pt"
    torch.save(nn.Linear(1, 1), path)
    with pytest.raises(DataError) as caught:
        read_state_dict(path)
    message = str(caught.value)
    assert "('torch.nn.modules.linear.Linear')" in message
    assert message.endswith("save model.state_dict() with torch.save instead of the model")
    assert "\x1b" not in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"epoch,loss\n1,0.5\n", "one that begins with b'epoch,loss"),
        (b"", "got 0 bytes"),
        (b"\x89PNG\r\n\x1a\n" + b"\0" * 20, "one that begins with"),
        (b"PK\x03\x04broken", "not a zip"),
        (pickle.dumps({"a": 1}, 4), "one that begins with"),
        (pickle.dumps({"a": 1}, 2), "got: "),
        (b"\x80\x02" + b"\xff" * 50, "got: "),
    ],
)
def test_other_files_are_told_by_what_they_are(
    tmp_path: Path, content: bytes, message: str
) -> None:
    path = tmp_path / "weights.pt"
    path.write_bytes(content)
    with pytest.raises(DataError) as caught:
        read_state_dict(path)
    assert message in str(caught.value)
    assert "expected a file written by torch.save" in str(caught.value)


def test_a_file_cut_off_anywhere_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "weights.pt"
    for is_zip in (True, False):
        torch.save({"a": torch.arange(50.0)}, path, _use_new_zipfile_serialization=is_zip)
        content = path.read_bytes()
        assert read_state_dict(path)["a"][-1] == 49
        for end in range(0, len(content), 37):
            path.write_bytes(content[:end])
            with pytest.raises(DataError, match=r"weights\.pt'"):
                read_state_dict(path)


def test_a_compressed_archive_is_refused(tmp_path: Path) -> None:
    """A hundred kilobytes could make a hundred megabytes."""
    sound, path = io.BytesIO(), tmp_path / "bomb.pt"
    torch.save({"a": torch.zeros(1000)}, sound)
    with zipfile.ZipFile(sound) as source, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        for member in source.infolist():
            out.writestr(member.filename, source.read(member))
    with pytest.raises(DataError, match=r"is compressed, which torch\.save never does"):
        read_state_dict(path)


def test_a_script_archive_is_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "script.pt"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("script/data.pkl", b"\x80\x02N.")
        archive.writestr("script/constants.pkl", b"\x80\x02N.")
    with pytest.raises(DataError, match="got a TorchScript archive"):
        read_state_dict(path)


def doubled_tuples(times: int) -> bytes:
    """A dict whose keys are tuples of the key before, twice."""
    start = b"\x80\x02}()q\x00N"
    return start + b"h\x00h\x00\x86q\x00N" * times + b"u."


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (doubled_tuples(100), "tuples of more than 1000000 entries"),
        (b"\x80\x02cbuiltins\nbytearray\nJ\xff\xff\xff\x7f\x85R.", "bytearray"),
        (b"\x80\x02c__builtin__\nbytearray\nJ\xff\xff\xff\x7f\x85R.", "bytearray"),
        (b"\x80\x02cbuiltins\neval\nX\x01\x00\x00\x001\x85R.", "eval"),
        (b"\x80\x02\x82\x01.", "got: "),
        (b"\x80\x02" + b"]" * 100_000 + b"a" * 99_999 + b".", "got "),
        (b"\x80\x02]r\xff\xff\xff\x7f.", "got list"),
        (b"\x80\x02h\x05.", "got: "),
        (b"\x80\x02R.", "got: "),
        (b"\x80\x02(K\x01tQ.", "got: "),
    ],
)
def test_attacks_are_refused_in_no_time_and_no_memory(
    tmp_path: Path, content: bytes, message: str
) -> None:
    path = with_pickle(tmp_path / "evil.pt", content)
    before = resource.getrusage(resource.RUSAGE_SELF)
    with pytest.raises(DataError) as caught:
        read_state_dict(path)
    after = resource.getrusage(resource.RUSAGE_SELF)
    assert message in str(caught.value)
    assert after.ru_utime - before.ru_utime < 5
    assert after.ru_maxrss - before.ru_maxrss < 200_000  # kB


def test_a_few_levels_of_tuples_are_no_attack(tmp_path: Path) -> None:
    path = with_pickle(tmp_path / "odd.pt", doubled_tuples(5))
    with pytest.raises(DataError, match="got a mapping with"):
        read_state_dict(path)


def expanded() -> torch.Tensor:
    return torch.zeros(1).expand(10**6, 1024)


@pytest.mark.parametrize(
    "tensor",
    [
        expanded,
        lambda: torch.zeros(4, 4).to_sparse(),
        lambda: torch.zeros(3, device="meta"),
    ],
)
def test_a_tensor_whose_numbers_are_not_in_the_file_is_refused(
    tmp_path: Path, tensor: Callable[[], torch.Tensor]
) -> None:
    """Its shape says how large a model is built: a million classes in a file of 1 kB."""
    path = tmp_path / "weights.pt"
    torch.save({"roi_heads.box_predictor.cls_score.weight": tensor()}, path)
    assert path.stat().st_size < 10_000
    with pytest.raises(DataError, match=r"cls_score.weight': expected a plain tensor"):
        read_state_dict(path)


def test_a_view_of_a_larger_tensor_is_plain(tmp_path: Path) -> None:
    path = tmp_path / "weights.pt"
    torch.save({"a": torch.arange(6.0).reshape(2, 3).T, "b": torch.arange(9.0)[3:5]}, path)
    state = read_state_dict(path)
    assert state["a"].tolist() == [[0, 3], [1, 4], [2, 5]]
    assert state["b"].tolist() == [3, 4]


def test_what_training_scripts_save_beside_the_weights_is_read_past(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(3, 2)).sum().backward()
    optimizer.step()
    content: dict[str, Any] = {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "epoch": 3,
        "betas": (0.9, 0.999),
        "history": [{"loss": 0.5}, OrderedDict(loss=0.25)],
    }
    path = tmp_path / "checkpoint.pt"
    for is_zip in (True, False):
        torch.save(content, path, _use_new_zipfile_serialization=is_zip)
        assert read_state_dict(path).keys() == model.state_dict().keys()


def test_a_zip_that_claims_a_huge_pickle_is_refused(tmp_path: Path) -> None:
    path = with_pickle(tmp_path / "evil.pt", b"\x80\x02N.")
    content = path.read_bytes()
    at = content.rindex(b"PK\x01\x02", 0, content.rindex(b"/data.pkl"))
    claimed = struct.pack("<II", 2**31, 2**31)  # sizes in the directory
    path.write_bytes(content[: at + 20] + claimed + content[at + 28 :])
    with pytest.raises(DataError, match=f"at most {64 * 2**20} bytes, got {2**31}"):
        read_state_dict(path)
