"""The memo changes no bit at custom sites (at presets: test_runs_of_builders.py), and is used."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
import torch

from mutators import MCDropBlock, MCDropout, Operator, resolve_sites
from runners.detectors import Detector
from runners.memo import Memo
from runners.passes import run_mutant, run_original_once
from runners.settings import Settings
from tests.builders import image, small_model
from tests.runners.test_runs_of_builders import detector_of, files

TWO_PASSES = Settings(passes=2, score_threshold=0.0, seed=3, chunk=1)

CUSTOM_SITES = [
    ("fasterrcnn_mobilenet_v3_large_320_fpn", ("roi_heads.box_roi_pool@in",)),
    ("fasterrcnn_mobilenet_v3_large_320_fpn", ("rpn.head",)),
    ("fasterrcnn_mobilenet_v3_large_320_fpn", ("roi_heads.box_predictor@in",)),
    ("fasterrcnn_resnet50_fpn", ("backbone.body.layer2.1.bn3", "roi_heads.box_head.fc7@in")),
    ("fasterrcnn_resnet50_fpn", ("backbone.body.relu",)),
    ("fasterrcnn_resnet50_fpn", ("backbone.body.bn1", "backbone.body.layer4.*.conv2@in")),
    ("retinanet_resnet50_fpn", ("head.regression_head.bbox_reg@in",)),
    ("ssdlite320_mobilenet_v3_large", ("backbone.features.1.2.block.*",)),
]


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def site_names(detector: Detector, operator: Operator) -> set[str]:
    return {site.name for site in resolve_sites(detector.model, operator.sites)}  # type: ignore[attr-defined]


def assert_equal_runs(
    detector: Detector, operators: Sequence[Operator], original: list[bytes]
) -> None:
    """An image in the order of a campaign: the original fills the memo, the mutants read it."""
    picture, memo = image(1), Memo(image(1))
    names = set().union(*(site_names(detector, operator) for operator in operators))
    filling = run_original_once(detector, picture, TWO_PASSES, memo=memo, sites=names)
    assert files(filling) == original
    assert memo.kept_bytes > 0
    for operator in operators:
        mutant = operator.mutants()[0]
        replayed, report = run_mutant(detector, picture, "a.png", mutant, TWO_PASSES, memo=memo)
        plain, plain_report = run_mutant(detector, picture, "a.png", mutant, TWO_PASSES)
        assert files(replayed) == files(plain), operator
        assert report == plain_report, operator


@pytest.mark.parametrize(("builder", "sites"), CUSTOM_SITES)
def test_custom_sites_give_the_bits_of_a_plain_run(builder: str, sites: tuple[str, ...]) -> None:
    detector = detector_of(builder)
    original = files(run_original_once(detector, image(1), TWO_PASSES))
    assert_equal_runs(detector, [MCDropout(rates=(0.2,), sites=sites)], original)


def test_operators_at_different_sites_share_one_memo() -> None:
    detector, picture = detector_of("fasterrcnn_resnet50_fpn"), image(2)
    operators = (
        MCDropout(rates=(0.2,), sites="head"),
        MCDropBlock(rates=(0.3,), blocks=(3,), sites="uamters"),
        MCDropout(rates=(0.1,), sites="backbone"),
        MCDropout(rates=(0.3,), sites="last"),
    )
    names = set().union(*(site_names(detector, operator) for operator in operators))
    memo = Memo(picture)
    run_original_once(detector, picture, TWO_PASSES, memo=memo, sites=names)
    for mutant in [operator.mutants()[0] for operator in (*operators, *operators)]:
        replayed, _ = run_mutant(detector, picture, "a", mutant, TWO_PASSES, memo=memo)
        plain, _ = run_mutant(detector, picture, "a", mutant, TWO_PASSES)
        assert files(replayed) == files(plain)


def test_the_masked_part_alone_runs_in_a_second_pass() -> None:
    model = small_model("fasterrcnn_mobilenet_v3_large_320_fpn")
    detector, picture = detector_of("fasterrcnn_mobilenet_v3_large_320_fpn"), image(1)
    (mutant,) = MCDropout(rates=(0.2,), sites="head").mutants()
    ran: list[str] = []
    memo = Memo(picture)
    run_original_once(detector, picture, TWO_PASSES, memo=memo, sites=("roi_heads.box_head.fc6",))
    names = {id(module): name for name, module in model.named_modules()}
    with pytest.MonkeyPatch.context() as patch:
        for kind in {type(module) for module in model.modules()}:
            if "forward" in vars(kind):
                patch.setattr(kind, "forward", noting(kind.forward, names, ran))
        run_mutant(detector, picture, "a", mutant, Settings(passes=1), memo=memo)
    assert ran == [
        "roi_heads.box_head",
        "roi_heads.box_head.fc7",
        "roi_heads.box_predictor",
        "roi_heads.box_predictor.cls_score",
        "roi_heads.box_predictor.bbox_pred",
    ]


def noting(forward, names, ran):  # type: ignore[no-untyped-def]
    def noted(module, *args, **kwargs):  # type: ignore[no-untyped-def]
        if id(module) in names:  # the model and its RoI heads run as copies
            ran.append(names[id(module)])
        return forward(module, *args, **kwargs)

    return noted
