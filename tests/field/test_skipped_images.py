"""Images that cannot be read: counted, named in the manifest, visible in the exit code."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from PIL import Image

from tests.field.robustness import QUICK
from uamt.cli import main

OPTIONS = [word for option in QUICK.items() for word in option]


@pytest.fixture
def photos(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "photos").mkdir()
    for name in ("a", "b", "c"):
        Image.new("RGB", (8, 6), "grey").save(tmp_path / "photos" / f"{name}.png")
    return tmp_path / "photos"


def run(*options: str) -> int:
    return main(["run", "--images", "photos", *OPTIONS, *options])


def skipped() -> object:
    return json.loads(Path("out/manifest.json").read_bytes())["models"]["detector"].get("skipped")


def test_the_manifest_names_them_until_they_are_mended(
    photos: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sound = (photos / "b.png").read_bytes()
    (photos / "b.png").write_bytes(sound[:40])
    assert run() == 4
    assert skipped() == {"photos": ["b.png"]}
    captured = capsys.readouterr()
    (line,) = [line for line in captured.err.splitlines() if "b.png" in line]
    assert line.startswith("skipped image 'photos/b.png': expected an image file that can be read")
    assert line.count("image '") == 1
    assert "1 unreadable image." in captured.out
    before = Path("out/manifest.json").read_bytes()
    assert run() == 4
    assert Path("out/manifest.json").read_bytes() == before

    (photos / "b.png").write_bytes(sound)
    assert run("--redo-changed") == 0
    assert skipped() is None


def test_a_run_without_them_leaves_no_trace_in_the_manifest(photos: Path) -> None:
    assert run() == 0
    assert "skipped" not in Path("out/manifest.json").read_text()


def test_an_image_that_is_run_elsewhere_stays_named(photos: Path) -> None:
    shutil.copytree(photos, "more")
    Path("more/a.png").write_bytes(b"")
    assert main(["run", "--suites", "more=more", *OPTIONS]) == 4
    assert run() == 0
    assert skipped() == {"more": ["a.png"]}


@pytest.mark.parametrize("order", [("1/2", "2/2"), ("2/2", "1/2")])
def test_shards_name_what_one_run_names(photos: Path, order: tuple[str, str]) -> None:
    for name in ("a.png", "b.png"):
        (photos / name).write_bytes(b"")
    codes = [run("--shard", shard) for shard in order]
    assert sorted(codes) == [4, 4]
    in_parts = Path("out/manifest.json").read_bytes()
    assert skipped() == {"photos": ["a.png", "b.png"]}
    assert run("--out", "whole") == 4
    assert Path("whole/manifest.json").read_bytes() == in_parts


def test_many_are_counted_and_some_are_shown(
    photos: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(15):
        (photos / f"z{number:02}.png").write_bytes(b"")
    assert run() == 4
    captured = capsys.readouterr()
    assert captured.err.count("skipped image ") == 10
    assert "skipped: 5 more images; manifest.json names them" in captured.err
    assert "15 unreadable images." in captured.out


def test_stop_ends_before_anything_is_run(photos: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (photos / "a.png").write_bytes(b"")
    assert run("--on-error", "stop") == 3
    assert "image 'photos/a.png': expected an image file" in capsys.readouterr().err
    assert not list(Path("out").rglob("prediction_*.json"))


def test_stop_keeps_what_is_finished(photos: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (photos / "c.png").write_bytes(b"")
    assert run("--on-error", "stop") == 3
    assert "c.png" in capsys.readouterr().err
    assert len(list(Path("out").rglob("prediction_*.json"))) == 4
