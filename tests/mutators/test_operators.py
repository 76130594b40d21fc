"""The operators: sweeps, registry, reports."""

from __future__ import annotations

import pickle
from decimal import Decimal

import pytest
import torch

from mutators import (
    OPERATORS,
    DropBlockMutation,
    InjectionReport,
    MCDropBlock,
    MCDropout,
    SiteReport,
    get_operator,
    register_operator,
    same_distribution,
)
from scoring.errors import ConfigError


@pytest.mark.parametrize("name", OPERATORS)
def test_the_examples_of_every_operator_mutate_a_detector(tiny_detector, image, name):
    for example in OPERATORS[name].examples():
        original, mutants = example.original(), example.mutants()
        assert original.is_original
        assert mutants
        assert len({mutant.tag for mutant in (original, *mutants)}) == len(mutants) + 1
        with torch.inference_mode():
            untouched = tiny_detector([image])[0]
            for mutant in (original, *mutants):
                assert mutant.operator == name
                with mutant.mutation.on_model(tiny_detector) as injection:
                    injection.begin("a.png", [0], 0)
                    found = tiny_detector([image])[0]
                same = len(found["scores"]) == len(untouched["scores"]) and torch.equal(
                    found["scores"], untouched["scores"]
                )
                assert same == mutant.is_original
                assert (injection.report.masks == 0) == mutant.is_original


def test_the_default_sweeps_are_those_of_the_study():
    dropout = [mutant.tag for mutant in MCDropout().mutants()]
    assert dropout == ["0.1", "0.15", "0.2", "0.25", "0.3", "0.35", "0.4", "0.45", "0.5"]
    dropblock = [mutant.tag for mutant in MCDropBlock().mutants()]
    assert len(dropblock) == 45
    assert dropblock[:6] == ["0.1_1", "0.1_3", "0.1_5", "0.1_7", "0.1_9", "0.15_1"]
    assert MCDropout().original().tag == "0"
    assert MCDropBlock().original().tag == "0_1"


def test_rate_zero_in_a_sweep_is_the_original_and_no_mutant():
    assert [mutant.tag for mutant in MCDropout(rates=(0, 0.5)).mutants()] == ["0.5"]


def test_operators_and_mutants_are_values():
    assert MCDropBlock(rates=[0.1], sites=["a", "b"]) == MCDropBlock(("0.10",), sites=("a", "b"))
    assert len({*MCDropout(rates=[0.1]).mutants(), *MCDropout(rates=[0.1]).mutants()}) == 1


@pytest.mark.parametrize("operator", OPERATORS.values())
def test_mutants_reach_another_process_unchanged(operator):
    for example in operator.examples():
        assert pickle.loads(pickle.dumps(example.mutants())) == example.mutants()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MCDropout(rates=(0.1, 1.0)), r"rate: expected a number in \[0, 1\), got 1.0"),
        (lambda: MCDropout(rates=(0.1, "0.10")), "rates: 0.1 is given more than once"),
        (lambda: MCDropout(rates=0.1), "rates: expected a sequence"),
        (lambda: MCDropout(rates="0.1"), "rates: expected a sequence"),
        (lambda: MCDropBlock(rates=(-0.1,)), "rate: expected a number in"),
        (lambda: MCDropBlock(blocks=(3, 4)), "block: expected an odd whole number .*got 4"),
        (lambda: MCDropBlock(blocks=(3, 3)), "blocks: 3 is given more than once"),
        (lambda: get_operator("mc_drop"), "operator 'mc_drop' is unknown; the nearest are mc_drop"),
        (lambda: register_operator(MCDropout), "'mc_dropout' is registered already"),
    ],
)
def test_wrong_usage_is_refused(make, message):
    with pytest.raises(ConfigError, match=message):
        make()


def report_of(mutant, model, image):
    with torch.inference_mode(), mutant.mutation.on_model(model) as injection:
        injection.begin("a.png", [0, 1], 0)
        model([image, image])
    return injection.report


def test_a_report_counts_masks_drops_and_effective_blocks(tiny_detector, image):
    mutant = MCDropBlock(rates=(0.5,), blocks=(9,)).mutants()[0]
    report = report_of(mutant, tiny_detector, image)
    assert [site.site for site in report.sites] == [
        f"backbone.fpn.{kind}_blocks.{level}" for kind in ("inner", "layer") for level in (0, 1)
    ]
    # The maps have 16 x 16 and 8 x 8 cells.
    assert [site.blocks for site in report.sites] == [(9,), (7,)] * 2
    assert [site.elements for site in report.sites] == [2 * 16 * 256, 2 * 16 * 64] * 2
    assert report.masks == 8
    assert all(0.2 < site.dropped / site.elements < 0.6 for site in report.sites)


def test_a_report_counts_samples_that_keep_nothing(roi_model):
    mutation = DropBlockMutation(Decimal("0.99"), 1, "roi_heads.box_head")
    with mutation.on_model(roi_model) as injection:
        injection.begin("a.png", [0, 1], 0)
        rows = roi_model((30, 20))
    assert injection.report.empty == int((rows == 0).all(dim=(1, 2, 3)).sum()) > 0


def test_mutants_with_equal_effective_blocks_are_one_distribution(tiny_detector, image):
    mutants = [
        mutant
        for mutant in MCDropBlock(rates=(0.1, 0.5), blocks=(3, 7, 9), sites="backbone").mutants()
    ]
    reports = {mutant: report_of(mutant, tiny_detector, image) for mutant in mutants}
    tags = [[mutant.tag for mutant in group] for group in same_distribution(reports)]
    assert tags == [["0.1_7", "0.1_9"], ["0.5_7", "0.5_9"]]


def test_dropout_mutants_are_never_one_distribution(tiny_detector, image):
    mutants = MCDropout(rates=(0.1, 0.2)).mutants()
    assert same_distribution({m: report_of(m, tiny_detector, image) for m in mutants}) == []


def site_report(blocks, site="a", **counts):
    zero = dict.fromkeys(("calls", "masks", "elements", "dropped", "empty"), 0)
    return SiteReport(site=site, blocks=blocks, **zero | counts)


def test_reports_of_several_images_add_up():
    total = InjectionReport((site_report((3,), calls=2, masks=4, dropped=5),)) + InjectionReport(
        (site_report((1, 3), calls=1, masks=2, empty=1),)
    )
    assert total.sites == (site_report((1, 3), calls=3, masks=6, dropped=5, empty=1),)
    assert (total.masks, total.empty, total.uncalled) == (6, 1, ())


def test_reports_of_different_sites_do_not_add_up():
    with pytest.raises(ConfigError, match="expected the sites"):
        InjectionReport((site_report((3,)),)) + InjectionReport((site_report((3,), site="b"),))
