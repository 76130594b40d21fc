"""The doctor on models of users: each fault is a line that says what is wrong and what to do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from runners.detectors import load_detector
from tests.builders import image
from tests.uamt.conftest import Command, copy_photos
from uamt.doctor import examine
from uamt.doctor_checks import Check

Output = dict[str, Tensor]


class Finder(nn.Module):
    """Finds two boxes; what it says of them is changed by a function."""

    def __init__(
        self,
        change: Callable[[Output], Output],
        most_images: int = 9,
        is_looping: bool = False,
    ) -> None:
        super().__init__()
        self.cells = nn.AdaptiveAvgPool2d(4)
        self.site = nn.Conv2d(3, 4, 1)
        self.change = change
        self.most_images = most_images
        self.is_looping = is_looping

    def forward(self, images: list[Tensor]) -> list[Output]:
        if len(images) > self.most_images:
            raise ValueError(f"batch of {len(images)}")
        found = []
        cells = [self.cells(picture[None]) for picture in images]
        rows = [self.site(c) for c in cells] if self.is_looping else [*self.site(torch.cat(cells))]
        for row in rows:
            vector = row.reshape(4, -1).mean(1).softmax(0)
            vectors = torch.stack([vector, vector.flip(0)])
            labels = vectors.argmax(1)
            output = {
                "boxes": torch.tensor([[0.0, 0.0, 9.0, 9.0], [20.0, 20.0, 40.0, 40.0]]),
                "labels": labels,
                "scores": vectors.gather(1, labels[:, None])[:, 0],
                "class_probs": vectors,
            }
            found.append(self.change(output))
        return found


def sound() -> nn.Module:
    return Finder(lambda output: output)


def one_image_only() -> nn.Module:
    return Finder(lambda output: output, most_images=1)


def looping() -> nn.Module:
    return Finder(lambda output: output, is_looping=True)


def first_image_only() -> nn.Module:
    class FirstOnly(Finder):
        def forward(self, images: list[Tensor]) -> list[Output]:
            return super().forward(images[:1])

    return FirstOnly(lambda output: output)


def objectness() -> nn.Module:
    return Finder(lambda output: {**output, "scores": output["scores"] * 0.9})


def off_by_one() -> nn.Module:
    return Finder(
        lambda o: {**o, "class_probs": o["class_probs"].roll(1, 1), "scores": o["scores"]}
    )


def label_beyond() -> nn.Module:
    return Finder(lambda output: {**output, "labels": output["labels"] + 4})


def fewer_vectors() -> nn.Module:
    return Finder(lambda output: {**output, "class_probs": output["class_probs"][:1]})


def broken() -> nn.Module:
    def fail(output: Output) -> Output:
        raise KeyError("anchors")

    return Finder(fail)


def examined(factory: str, **options: int) -> dict[str, Check]:
    detector = load_detector(f"{__name__}:{factory}")
    checks = examine(detector, {"a": image(1)}, "site", 0.0, **options)
    return {check.claim: check for check in checks}


VECTORS = "the class vector (a probability per class) of every detection fits"


def test_a_sound_model_passes() -> None:
    assert {check.outcome for check in examined("sound").values()} == {"ok"}


@pytest.mark.parametrize(
    ("factory", "reason"),
    [
        ("one_image_only", "batch of 2"),
        ("first_image_only", "expected 2 rows"),
        ("looping", "expected 2 rows"),
    ],
)
def test_a_model_of_one_image_at_a_time_is_examined_one_by_one(factory: str, reason: str) -> None:
    found = examined(factory)
    assert {check.outcome for check in found.values()} == {"ok"}
    detail = found["the model takes several images at once"].detail
    assert "--chunk 1" in detail
    assert reason in detail


def test_a_score_that_is_more_than_a_class_probability_is_no_fault() -> None:
    check = examined("objectness")[VECTORS]
    assert check.outcome == "ok"
    assert "2 do not hold the score of their label, which is right for" in check.detail


@pytest.mark.parametrize(
    ("factory", "claim", "reason"),
    [
        ("off_by_one", VECTORS, "only 0 labels have the largest entry; return class_probs whose"),
        ("label_beyond", VECTORS, "2 labels have no entry there, such as label "),
        (
            "fewer_vectors",
            "the model runs on the images",
            "got 2 boxes, 2 labels, 2 scores, 1 class_probs",
        ),
        ("broken", "the model runs on the images", "KeyError: 'anchors' ("),
    ],
)
def test_a_fault_is_a_line_with_its_reason(factory: str, claim: str, reason: str) -> None:
    check = examined(factory)[claim]
    assert check.outcome == "FAILED"
    assert reason in check.detail


def test_a_mutant_that_fails_is_a_line_with_its_reason() -> None:
    detector = load_detector(f"{__name__}:sound")

    def fails_when_hooked(output: Output) -> Output:
        if detector.model.site._forward_hooks:  # type: ignore[union-attr]
            raise RuntimeError("no hooks, please")
        return output

    detector.model.change = fails_when_hooked
    checks = examine(detector, {"a": image(1)}, "site", 0.0)
    failed = {check.claim for check in checks if check.outcome == "FAILED"}
    assert failed == {f"mc_{name} runs on the images" for name in ("dropout", "dropblock")}
    assert all("no hooks, please" in c.detail for c in checks if c.outcome == "FAILED")


def test_the_seed_reaches_the_masks(monkeypatch: pytest.MonkeyPatch) -> None:
    from runners import passes

    seeds = []
    sound_run = passes.run_mutant

    def recorded(*args: object, **kwargs: object) -> object:
        seeds.append(args[4].seed)  # type: ignore[attr-defined]
        return sound_run(*args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(passes, "run_mutant", recorded)
    examined("sound", seed=7)
    assert set(seeds) == {7}


def test_the_flag_reaches_the_doctor(
    uamt: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from uamt import doctor

    seen = {}

    def examine(*args: object, **kwargs: object) -> list[Check]:
        seen.update(kwargs)
        return [Check("all", "ok", "")]

    monkeypatch.setattr(doctor, "examine", examine)
    photos = copy_photos(tmp_path / "photos", 1)
    assert uamt("doctor", "demo_retinanet", "--images", photos, "--seed", "5")[0] == 0
    assert seen["seed"] == 5


def without_vectors() -> nn.Module:
    return Finder(lambda o: {key: value for key, value in o.items() if key != "class_probs"})


def test_a_model_without_vectors_is_told_of_both_ways_and_passes_with_made_up_ones(
    uamt: Command, tmp_path: Path
) -> None:
    photos = copy_photos(tmp_path / "photos", 1)
    model = (f"{__name__}:without_vectors", "--images", photos, "--sites", "site")
    code, _, stderr = uamt("doctor", *model)
    assert code == 2
    assert "a probability for every class of each detection as 'class_probs' (N, C)" in stderr
    assert "--one-hot (docs/own-models.md)" in stderr
    code, _, stderr = uamt("doctor", *model, "--one-hot")
    assert code == 2
    assert "give it with --n-classes" in stderr
    flags = ("--one-hot", "--n-classes", "4", "--score-threshold", "0")
    code, stdout, _ = uamt("doctor", *model, *flags)
    assert code == 0, stdout
    assert "--one-hot --n-classes 4" in stdout


def test_random_weights_that_leave_nothing_to_mask_are_no_fault() -> None:
    args = ["num_classes=3", "topk_candidates=20", "detections_per_img=10"]
    detector = load_detector("ssdlite320_mobilenet_v3_large", model_args=args)
    checks = examine(detector, {"a": image(1)}, score_threshold=0.0)
    outcomes = {check.outcome for check in checks if "changes detections" in check.claim}
    assert outcomes == {"inconclusive"}
    assert not [check for check in checks if check.outcome == "FAILED"]


RUN = ("--sites", "site", "--operators", "mc_dropout", "--dropout-rates", "0.5", "--passes", "3")


def test_a_run_of_such_a_model_goes_one_by_one_or_says_so(uamt: Command, tmp_path: Path) -> None:
    photos = copy_photos(tmp_path / "photos", 1)
    model = ("--model", f"{__name__}:one_image_only", "--images", photos, "--out", tmp_path / "out")
    code, _, stderr = uamt("run", *model, *RUN, "--chunk", "3")
    assert code == 2
    assert "chunk 3: the model fails on two images at once, though not on one" in stderr
    assert "run it with --chunk 1" in stderr
    assert not list((tmp_path / "out").rglob("prediction_*.json"))
    assert uamt("run", *model, *RUN)[0] == 0
    assert len(list((tmp_path / "out").rglob("prediction_*.json"))) == 6
