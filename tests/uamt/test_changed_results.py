"""Changes under results: which are named, and what is scored of results of several runs."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import orjson
import pandas as pd
import pytest

from scoring.predictions import read_passes
from tests.uamt.conftest import Command
from tests.uamt.quick_experiment import (
    MODEL,
    interrupt_at,
    pictures,
    results,
    run_flags,
)


def test_an_image_that_left_its_suite_is_no_more_scored(uamt: Command, folder: Path) -> None:
    assert uamt(*run_flags(folder))[0] == 0
    root, image = folder / "out", folder / "photos" / "b.png"
    whole, content = results(root), image.read_bytes()
    image.unlink()
    code, stdout, stderr = uamt(*run_flags(folder))
    assert code == 0
    assert "1 image of earlier runs left the manifest" in stderr
    assert "photos/b.png" in stderr
    code, stdout, stderr = uamt("score", root)
    assert code == 0
    assert "3 stray folders left out, for the manifest does not list" in stderr
    assert "mc_dropout_0.3_b" in stderr
    assert re.search(r"photos +2 ", stdout)
    assert uamt("verify", root)[0] == 1
    image.write_bytes(content)
    code, stdout, stderr = uamt(*run_flags(folder))
    assert (code, stderr) == (0, "")
    assert "0 units (" in stdout
    assert results(root) == whole
    assert uamt("verify", root)[0] == 0


@pytest.mark.parametrize(
    "command", [("suites",), ("report", "--pictures", "0"), ("study", "--charts", "none")]
)
def test_scores_older_than_the_run_are_told_from_new_ones(
    uamt: Command, folder: Path, command: tuple[str, ...]
) -> None:
    """A run of one more mutant after scoring: a gate must not pass on the old scores unnoticed."""
    root = folder / "out"
    assert uamt(*run_flags(folder))[0] == 0
    assert uamt("score", root)[0] == 0
    said = f"'uamt score {root}' brings them up to date"
    # The model has no DropBlock results, which the tables of suites and studies say.
    fresh = 0 if command[0] == "report" else 4
    code, _, stderr = uamt(*command, root)
    assert (code, said in stderr) == (fresh, False)
    assert uamt(*run_flags(folder))[0] == 0  # nothing is left to run
    assert said not in uamt(*command, root)[2]
    other = ["0.4" if word == "0.3,0.5" else word for word in run_flags(folder)]
    _, stdout, _ = uamt(*other)
    n_mutants = int(re.findall(r"With those of earlier runs (\d+) mutants lie there", stdout)[0])
    assert n_mutants == 1 + pd.read_csv(root / "scores" / "summary.csv")["mutants"][0]
    code, _, stderr = uamt(*command, root)
    assert (code, said in stderr) == (4, True)
    assert uamt("score", root)[0] == 0
    assert said not in uamt(*command, root)[2]


def test_the_saved_file_runs_the_mutants_of_all_runs_over_a_new_image(
    uamt: Command, folder: Path
) -> None:
    """Another rate beside the first ones, then one image more: the named command finishes all."""
    root = folder / "out"
    assert uamt(*run_flags(folder))[0] == 0
    other = ["0.4" if word == "0.3,0.5" else word for word in run_flags(folder)]
    assert uamt(*other)[0] == 0
    pictures(folder / "photos", "a", "b", "c", "d")
    assert uamt(*other)[0] == 0
    code, stdout, stderr = uamt("score", root)
    assert (code, "1 image ('photos/d.png'" in stderr) == (4, True)
    assert "1 image ('photos/d.png'" in uamt("report", root)[2]
    assert "1 image (&#39;photos/d.png&#39;" in (root / "report.html").read_text()
    command = re.findall(r"'uamt (run [^']*)' finishes it", stderr)[0]
    assert uamt(*shlex.split(command))[0] == 0
    code, stdout, stderr = uamt("score", root)
    assert (code, stderr) == (0, "")
    assert re.search(r"photos +4 +3 ", stdout)


def test_scores_under_a_name_that_the_folder_had_before_are_named(
    uamt: Command, folder: Path
) -> None:
    assert uamt(*run_flags(folder))[0] == 0
    assert uamt("score", folder / "out") == uamt("score", folder / "out")
    renamed = (folder / "out").rename(folder / "renamed")
    code, _, stderr = uamt("score", renamed)
    assert code == 0
    assert f"{renamed / 'scores' / 'out'} holds scores of this folder under another name" in stderr


def test_a_suite_that_is_not_run_keeps_its_images(uamt: Command, tmp_path: Path) -> None:
    pictures(tmp_path / "day", "a")
    pictures(tmp_path / "photos", "b")
    assert uamt(*run_flags(tmp_path))[0] == 0
    words = [
        word if word != tmp_path / "photos" else tmp_path / "day" for word in run_flags(tmp_path)
    ]
    code, _, stderr = uamt(*words)
    assert (code, stderr) == (0, "")
    suites = orjson.loads((tmp_path / "out" / "manifest.json").read_bytes())
    assert set(suites["models"][MODEL]["suites"]) == {"day", "photos"}


def test_an_interrupted_redo_is_not_scored_as_one_configuration(
    uamt: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert uamt(*run_flags(folder))[0] == 0
    again = (*run_flags(folder), "--seed", "1")
    code, _, stderr = uamt(*again)
    assert (code, "settings.seed was 0, is 1" in stderr) == (2, True)
    interrupt_at(monkeypatch, "b.png")
    assert uamt(*again, "--redo-changed")[0] == 130
    monkeypatch.undo()
    root = folder / "out"
    code, stdout, stderr = uamt("score", root)
    assert code == 4
    assert "2 images ('photos/b.png' (detector), 'photos/c.png' (detector)) left out" in stderr
    assert "another configuration than the manifest's" in stderr
    assert re.search(r"photos +1 ", stdout)
    code, stdout, _ = uamt("verify", root)
    assert code == 1
    assert "of another configuration" in stdout
    (todo,) = [line for line in stdout.splitlines() if line.startswith("To do: ")]
    assert uamt(*shlex.split(todo)[3:])[0] == 0
    assert uamt("verify", root)[0] == 0
    code, stdout, _ = uamt("score", root)
    assert code == 0
    assert re.search(r"photos +3 ", stdout)


def test_an_interrupted_run_is_scored_by_its_finished_images(
    uamt: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt_at(monkeypatch, "b.png")
    assert uamt(*run_flags(folder))[0] == 130
    code, stdout, stderr = uamt("score", folder / "out")
    assert code == 4
    assert "2 images ('photos/b.png' (detector), 'photos/c.png' (detector)) not finished" in stderr
    saved = folder / "out" / f"experiment_{MODEL}.toml"
    assert f"'uamt run {saved}' finishes it" in stderr
    assert re.search(r"photos +1 ", stdout)


def test_a_run_without_a_finished_image_has_no_scores(
    uamt: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.rmtree(folder / "photos")
    pictures(folder / "photos", "a")
    assert uamt(*run_flags(folder))[0] == 0
    ledger = folder / "out" / "ledger.jsonl"
    ledger.write_bytes(b"".join(ledger.read_bytes().splitlines(keepends=True)[:-1]))
    code, _, stderr = uamt("score", folder / "out")
    assert code == 3
    assert "a run has finished, found none: 1 image ('photos/a.png' (detector)) not" in stderr


def test_scores_of_results_that_change_meanwhile_are_refused(
    uamt: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert uamt(*run_flags(folder))[0] == 0

    def redone(*args: object, **kwargs: object) -> object:
        manifest = folder / "out" / "manifest.json"
        manifest.write_bytes(manifest.read_bytes().replace(b'"seed": 0', b'"seed": 1'))
        return read_passes(*args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr("scoring.sweep.read_passes", redone)
    code, _, stderr = uamt("score", folder / "out")
    assert code == 3
    assert "found none" in stderr or "results changed while they were read" in stderr


@pytest.mark.parametrize(
    ("what", "named"),
    [
        ("version", r"""settings.versions.torch was "1", is """),
        ("weights", "configuration (the model itself); use another --out or --name, or --redo-ch"),
        ("weights", "settings.model.weights.sha256 was "),
        ("image", "configuration (image 'photos/a.png', image 'photos/b.png'); use another"),
        ("image", "image 'photos/a.png'.sha256 was "),
        ("sites", "configuration (mc_dropout); use another --out or --name, or --redo-changed to"),
        ("sites", 'operators.mc_dropout.sites was "site", is "site@in" (--sites)'),
    ],
)
def test_a_change_is_named_with_both_values(
    uamt: Command,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    what: str,
    named: str,
) -> None:
    import torch

    from tests.field.quick_detector import detector

    weights = folder / "weights.pt"
    torch.save(detector().state_dict(), weights)
    words = (*run_flags(folder), "--weights", weights)
    if what == "version":
        monkeypatch.setattr("runners.manifest._version", lambda package: "1")
    assert uamt(*words)[0] == 0
    monkeypatch.undo()
    if what == "weights":
        torch.save(detector().state_dict(), weights)
    elif what == "image":
        pictures(folder / "photos", "b", "a")
    elif what == "sites":
        words = tuple("site@in" if word == "site" else word for word in words)
    before = results(folder / "out")
    code, _, stderr = uamt(*words)
    assert code == 2
    assert named in stderr
    assert "--redo-changed" in stderr
    assert not re.search("[0-9a-f]{20}", stderr.replace(str(folder), "")), "a hash in full"
    assert results(folder / "out") == before
    assert uamt(*words, "--redo-changed")[0] == 0
    assert uamt("verify", folder / "out")[0] == 0
