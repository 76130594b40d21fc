"""Field cases 1 to 4 and 6: what mutation does to any model, and what it leaves behind."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from mutators import DropBlockMutation, DropoutMutation, MCDropBlock, MCDropout
from mutators.mutation import Mutation
from runners.detectors import load_detector
from runners.passes import run_mutant, run_original
from runners.settings import Settings
from scoring.errors import ConfigError
from tests.builders import image

HALF = 0.5
PASSES = Settings(passes=3, score_threshold=0.0, chunk=3)


class WithOwnNoise(nn.Module):
    """A detector that has dropout and batch norm of its own, as trained ones do."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 6, 3, stride=4), nn.BatchNorm2d(6), nn.ReLU())
        self.drop = nn.Dropout2d(0.5)
        self.site = nn.Conv2d(6, 4, 1)
        self.head = nn.Sequential(nn.Dropout(0.5), nn.Flatten(), nn.LazyLinear(3))

    def forward(self, images: list[Tensor]) -> list[dict[str, Tensor]]:
        pooled = nn.functional.adaptive_avg_pool2d(torch.stack(images), 32)
        rows = self.head(self.site(self.drop(self.stem(pooled)))).softmax(1)
        box = torch.tensor([[0.0, 0.0, 9.0, 9.0]])
        return [
            {"boxes": box, "labels": row.argmax()[None], "scores": row.max()[None],
             "class_probs": row[None]}
            for row in rows
        ]  # fmt: skip


def with_own_noise() -> nn.Module:
    model = WithOwnNoise()
    with torch.no_grad():
        model.train()([image(1), image(2)])  # running statistics that could move
    return model


def without_any_dropout() -> nn.Module:
    model = with_own_noise()
    model.drop, model.head[0] = nn.Identity(), nn.Identity()
    return model


def state_of(model: nn.Module) -> tuple[object, ...]:
    tensors = {**dict(model.named_parameters()), **dict(model.named_buffers())}
    return (
        {name: tensor.detach().numpy().tobytes() for name, tensor in tensors.items()},
        [(name, type(m), m.training) for name, m in model.named_modules()],
        [(len(m._forward_hooks), len(m._forward_pre_hooks)) for m in model.modules()],
    )


def scores(found: list[object]) -> list[float]:
    return [float(detections.scores[0]) for detections in found]  # type: ignore[attr-defined]


MUTATIONS = [DropoutMutation(HALF, "site@in"), DropBlockMutation(HALF, 3, "site@in")]


@pytest.mark.parametrize("factory", ["with_own_noise", "without_any_dropout"])
@pytest.mark.parametrize("operator", [MCDropout, MCDropBlock])
def test_case_1_and_2_noise_comes_from_inserted_layers_alone(
    factory: str, operator: type[MCDropout | MCDropBlock]
) -> None:
    """A model without dropout gets some; of one that has its own, that stays off."""
    detector = load_detector(f"{__name__}:{factory}")
    picture = image(1)
    before = state_of(detector.model)
    plain = scores(run_original(detector, picture, PASSES))
    assert len(set(plain)) == 1
    sweep = operator(rates=(HALF,), sites="site@in")
    zero, _ = run_mutant(detector, picture, "a", sweep.original(), PASSES)
    assert scores(zero) == plain
    noisy, report = run_mutant(detector, picture, "a", sweep.mutants()[0], PASSES)
    assert len(set(scores(noisy))) == 3
    assert [site.site for site in report.sites] == ["site@in"]
    assert state_of(detector.model) == before
    assert scores(run_original(detector, picture, PASSES)) == plain


@pytest.mark.parametrize("sites", ["nothing.*", "sit", "SITE"])
def test_case_1_no_site_is_an_error_that_lists_what_could_serve(sites: str) -> None:
    model = load_detector(f"{__name__}:without_any_dropout").model
    with pytest.raises(ConfigError, match=r"matches no module .*could serve: .*site"):
        DropoutMutation(HALF, sites).on_model(model).__enter__()


def run_and_leave(
    model: nn.Module, mutation: Mutation, pictures: list[Tensor], leave: type[BaseException]
) -> None:
    with mutation.on_model(model) as injection:
        injection.begin("a", [0, 1], 0)
        model(pictures)
        raise leave


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.operator)
@pytest.mark.parametrize(
    "leave", [RuntimeError, KeyboardInterrupt, GeneratorExit, SystemExit, MemoryError]
)
def test_case_3_however_a_context_is_left_the_model_is_as_before(
    mutation: Mutation, leave: type[BaseException]
) -> None:
    model = load_detector(f"{__name__}:with_own_noise").model
    pictures = [image(1), image(2)]
    with torch.inference_mode():
        plain, before = model(pictures), state_of(model)
        with pytest.raises(leave):
            run_and_leave(model, mutation, pictures, leave)
        assert state_of(model) == before
        again = model(pictures)
    assert all(torch.equal(a[key], b[key]) for a, b in zip(plain, again, strict=True) for key in a)


@pytest.mark.parametrize("block", range(2, 40, 2))
def test_case_4_every_even_block_is_a_clear_error(block: int) -> None:
    with pytest.raises(ConfigError, match=rf"odd whole number .*got {block}"):
        MCDropBlock(blocks=(block,))


@pytest.mark.parametrize("block", range(1, 40, 2))
def test_case_4_every_odd_block_runs_and_what_it_became_is_reported(block: int) -> None:
    detector = load_detector(f"{__name__}:without_any_dropout")
    (mutant,) = MCDropBlock(rates=(HALF,), blocks=(block,), sites="site@in").mutants()
    found, report = run_mutant(detector, image(1), "a", mutant, PASSES)
    assert len(found) == 3
    assert [site.blocks for site in report.sites] == [(min(block, 7),)]  # maps of 8 x 8


NEIGHBOURS: list[Callable[[], list[Tensor]]] = [
    lambda: [image(2)],
    lambda: [image(2), image(3, 300, 40)],
    lambda: [image(2, 20, 20), image(3, 400, 400), image(4)],
]


@pytest.mark.parametrize("model", ["demo_fasterrcnn", "demo_retinanet"])
def test_case_6_an_image_does_not_depend_on_who_comes_with_it(model: str) -> None:
    detector = load_detector(model)
    alone = detector.detect([image(1)])[0]
    for neighbours in NEIGHBOURS:
        others = neighbours()
        for place in range(len(others) + 1):
            batch = [*others[:place], image(1), *others[place:]]
            found = detector.detect(batch)[place]
            assert found.boxes == pytest.approx(alone.boxes, abs=1e-3)
            assert found.scores == pytest.approx(alone.scores, abs=1e-5)
            assert found.labels.tolist() == alone.labels.tolist()
