"""The doctor: holds on a sound detector, fails on a fault, and says when it proves nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
from PIL import Image
from torch import nn

from mutators import DropoutMutation, Injection
from runners.builtin import suites
from runners.detectors import load_detector
from runners.images import list_images, read_image
from runners.memo_entries import Entry
from runners.memo_values import build
from tests.runners.test_runs_of_builders import detector_of
from tests.uamt.conftest import Command, copy_photos
from uamt.doctor import Listener, count_hooks, examine, n_of_steps
from uamt.doctor_checks import Check
from uamt.doctor_command import first_run


def outcomes(checks: list[Check]) -> dict[str, str]:
    return {check.claim: check.outcome for check in checks}


def pictures(number: int = 2) -> dict[str, torch.Tensor]:
    refs = list_images(suites()["plain"], "plain")[:number]
    return {ref.relative_path: read_image(ref.path) for ref in refs}


def test_the_next_run_has_a_folder_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for expected in ("experiment", "experiment_2", "experiment_3"):
        assert first_run("demo_retinanet", None, [])["out"] == expected
        (tmp_path / expected).mkdir()


@pytest.mark.parametrize("model", ["demo_fasterrcnn", "demo_retinanet"])
def test_every_check_holds_on_the_demo_detectors(uamt: Command, model: str) -> None:
    code, stdout, _ = uamt("doctor", model)
    checks, said = stdout.split("\n\n")
    assert code == 0, stdout
    assert all(line.startswith("ok ") for line in checks.splitlines())
    assert said.splitlines() == [
        f"{model}, on built-in pictures, for no --images name yours: fit for mutation testing: all "
        f"{len(checks.splitlines())} checks hold.",
        f"Next: uamt run --out experiment --model {model} --images photos/ "
        f"--dropout-rates 0.02,0.05,0.1 --dropblock-rates 0.1 --blocks 3   "
        f"# a first small run; without the rates: the study's 54 mutants",
    ]
    for claim in (
        "mc_dropout at rate 0 changes nothing",
        "mc_dropblock at rate 0 changes nothing",
        "mc_dropout at rate 0.5 changes detections",
        "mc_dropblock at rate 0.5 changes detections",
        "mc_dropout is the same where layers before it run only once",
        "mc_dropblock is the same where layers before it run only once",
        "class vector",
        "the layers are as before",
        "the weights are as before",
        "nothing stays attached after an error either",
    ):
        assert claim in stdout


@pytest.mark.parametrize("builder", ["fcos_resnet50_fpn", "ssdlite320_mobilenet_v3_large"])
def test_every_check_holds_on_other_families(builder: str) -> None:
    from tests.builders import image

    detector, steps, told = detector_of(builder), [], []
    listener = Listener(on_step=lambda: steps.append(1), on_check=told.append)
    checks = examine(detector, {"a": image(1)}, score_threshold=0.0, listener=listener)
    assert told == checks
    assert set(outcomes(checks).values()) == {"ok"}, checks
    assert len(steps) == n_of_steps(detector, "uamters")


@pytest.mark.parametrize(("slow", "number"), [(0.0, 2), (60.0, 3)])
def test_a_slow_model_is_examined_on_two_images(
    uamt: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, slow: float, number: int
) -> None:
    monkeypatch.setattr("uamt.doctor.SLOW_SECONDS", slow)
    photos = copy_photos(tmp_path / "photos", 3)
    code, stdout, stderr = uamt("doctor", "demo_retinanet", "--images", photos)
    first, *others = [line for line in stderr.splitlines() if line.startswith("note: ")]
    assert code == 0
    assert first == "note: examining on 3 images; each check is said when it is done"
    assert f"detections of score 0.5 or more on {number} images" in stdout
    assert f"0 images differ after all mutants ran\n\ndemo_retinanet, on {number} " in stdout
    if number == 2:
        assert others == ["note: on 2 of 3 images, for one takes 0 s"]
        assert "on 2 of 3 images (plain_00.png, plain_01.png), for one takes 0 s: fit" in stdout
    else:
        assert others == []


@pytest.mark.parametrize("flags", [(), ("--json",)])
def test_a_check_is_said_when_it_is_done_but_not_beside_an_object(
    uamt: Command,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    flags: tuple[str, ...],
) -> None:
    said = []

    def examine(*_: object, listener: Listener, **__: object) -> list[Check]:
        check = Check("all is \x1b[2Jwell", "ok", "seen")
        listener.on_check(check)
        said.append(capsys.readouterr().out)
        return [check]

    monkeypatch.setattr("uamt.doctor.examine", examine)
    code, stdout, _ = uamt("doctor", "demo_retinanet", *flags)
    assert code == 0
    if flags:
        assert said == [""]
        assert [check["detail"] for check in json.loads(stdout)["checks"]] == ["seen"]
    else:
        assert said == ["ok            all is \\x1b[2Jwell: seen\n"]
        assert stdout.startswith("\ndemo_retinanet, on built-in pictures")


def test_it_is_inconclusive_where_the_original_finds_nothing(uamt: Command, tmp_path: Path) -> None:
    Image.new("RGB", (64, 64), "black").save(tmp_path / "black.png")
    code, stdout, _ = uamt("doctor", "demo_fasterrcnn", "--images", tmp_path)
    assert code == 3
    assert "inconclusive  the original finds objects: 0 detections" in stdout
    assert "give images that it knows with --images" in stdout
    assert "FAILED" not in stdout
    assert "inconclusive; nothing failed" in stdout


def test_fully_connected_sites_are_examined_with_dropout_alone(uamt: Command) -> None:
    code, stdout, _ = uamt("doctor", "demo_fasterrcnn", "--sites", "head", "--seed", "4")
    assert code == 0
    assert "--images photos/ --dropout-rates 0.02,0.05,0.1 --sites head --seed 4 " in stdout
    assert "mc_dropblock is left out" in stdout
    assert "mc_dropblock at rate" not in stdout


def test_a_hook_left_behind_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    sound = DropoutMutation.on_model

    @contextmanager
    def leaking(self: DropoutMutation, model: nn.Module) -> Iterator[Injection]:
        with sound(self, model) as injection:
            yield injection
        next(model.children()).register_forward_hook(lambda *_: None)

    monkeypatch.setattr(DropoutMutation, "on_model", leaking)
    detector = load_detector("demo_retinanet")
    found = outcomes(examine(detector, pictures()))
    assert found["nothing stays attached to the model"] == "FAILED"
    assert count_hooks(detector.model) > 0


@pytest.mark.parametrize("what", ["parameter", "buffer"])
def test_a_changed_model_is_found(monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    sound = DropoutMutation.on_model

    @contextmanager
    def changing(self: DropoutMutation, model: nn.Module) -> Iterator[Injection]:
        with sound(self, model) as injection:
            yield injection
        norm = model.get_submodule("backbone.body.bn1")
        with torch.no_grad():
            (norm.weight if what == "parameter" else norm.running_mean).mul_(1.5)

    monkeypatch.setattr(DropoutMutation, "on_model", changing)
    found = outcomes(examine(load_detector("demo_retinanet"), pictures()))
    assert found["the weights are as before"] == "FAILED"
    assert found["the layers are as before"] == "FAILED"
    assert found["the model finds the same as before"] == "FAILED"


def test_a_mutation_without_effect_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    from mutators.masks import Masked

    monkeypatch.setattr(
        DropoutMutation,
        "perturb",
        lambda self, x, rows: Masked(x, torch.tensor(0), torch.tensor(0)),
    )
    found = outcomes(examine(load_detector("demo_retinanet"), pictures()))
    assert found["mc_dropout at rate 0.5 changes detections"] == "FAILED"
    assert found["mc_dropblock at rate 0.5 changes detections"] == "ok"


def test_an_operator_that_changes_at_rate_zero_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DropoutMutation, "is_identity", property(lambda self: False))
    monkeypatch.setattr(
        DropoutMutation,
        "perturb",
        lambda self, x, rows: type(
            "M",
            (),
            {
                "output": x * 1.01,
                "dropped": torch.tensor(0),
                "empty": torch.tensor(0),
                "block": None,
            },
        )(),
    )
    found = outcomes(examine(load_detector("demo_retinanet"), pictures()))
    assert found["mc_dropout at rate 0 changes nothing"] == "FAILED"
    assert found["mc_dropblock at rate 0 changes nothing"] == "ok"


def test_vectors_that_do_not_fit_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    import dataclasses

    from runners.detectors import Detector
    from scoring.detections import Detections

    sound = Detector.detect

    def swapped(self: Detector, images: list[torch.Tensor]) -> list[Detections]:
        return [
            dataclasses.replace(d, probs=d.probs[::-1] if len(d) > 1 else d.probs * 0.5)
            for d in sound(self, images)
        ]

    monkeypatch.setattr(Detector, "detect", swapped)
    found = outcomes(examine(load_detector("demo_fasterrcnn"), pictures()))
    assert found["the class vector (a probability per class) of every detection fits"] == "FAILED"


def test_unknown_sites_are_wrong_usage(uamt: Command) -> None:
    code, _, stderr = uamt("doctor", "demo_fasterrcnn", "--sites", "no.such.*")
    assert code == 2
    assert "matches no module" in stderr


def test_a_memo_that_hands_out_other_values_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def halved(entry: Entry, given: Sequence[torch.Tensor], lender: object) -> object:
        return build(entry.shape, [tensor / 2 for tensor in entry.kept])

    monkeypatch.setattr(Entry, "result", halved)
    checks = outcomes(examine(load_detector("demo_retinanet"), pictures(1)))
    assert {claim for claim, outcome in checks.items() if outcome == "FAILED"} == {
        "mc_dropout is the same where layers before it run only once",
        "mc_dropblock is the same where layers before it run only once",
    }
