"""Presets and patterns: which modules they mean, and what is refused."""

from __future__ import annotations

import pytest
from torch import nn

from mutators import Site, dropblock_sites, resolve_sites
from scoring.errors import ConfigError


def labels(model, sites):
    return [site.label for site in resolve_sites(model, sites)]


@pytest.fixture
def plain():
    """A model of no family."""
    block = nn.Sequential(nn.Conv2d(3, 4, 1), nn.ReLU())
    return nn.ModuleDict({"conv": nn.Conv2d(3, 3, 1), "blocks": nn.ModuleList([block, nn.ReLU()])})


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("blocks.*", ["blocks.0", "blocks.1"]),
        ("**.0.0", ["blocks.0.0"]),
        ("con*", ["conv"]),
        ("*", ["conv"]),
        ("blocks.{0,1}", ["blocks.0", "blocks.1"]),
        ("**.conv", ["conv"]),
        ("blocks.0.**", ["blocks.0.0", "blocks.0.1"]),
        ("blocks.*.*", ["blocks.0.0", "blocks.0.1"]),
        ("conv@in", ["conv@in"]),
        ("blocks.*@in", ["blocks.0@in", "blocks.1@in"]),
        (["blocks.1", "conv", "blocks.0"], ["conv", "blocks.0", "blocks.1"]),
        (["conv", "c*"], ["conv"]),
        (["conv", "conv@in"], ["conv@in", "conv"]),
    ],
)
def test_a_pattern_means_these_modules(plain, pattern, expected):
    assert labels(plain, pattern) == expected


@pytest.mark.parametrize(
    ("sites", "message"),
    [
        ("blokcs.0.0", r"'blokcs.0.0' matches no module .*could serve: .*blocks\.0\.0"),
        ("blocks", "'blocks' matches no module"),
        (["conv", "nothing.*"], r"'nothing\.\*' matches no module"),
        (["uamters"], r"matches no module of ModuleDict \(a preset is given alone, not in a list"),
        ([], "expected a preset or a pattern, got none"),
        ("blocks.**", r"'blocks\.0\.0' lies inside 'blocks\.0'"),
        (["blocks.0@in", "blocks.0.1"], r"'blocks\.0\.1' lies inside 'blocks\.0@in'"),
        (
            "uamters",
            r"one FasterRCNN, .* ModuleDict holds none; .* such as --sites blocks\.0\.0 \(docs",
        ),
    ],
)
def test_sites_that_make_no_sense_are_refused(plain, sites, message):
    with pytest.raises(ConfigError, match=message):
        resolve_sites(plain, sites)


def test_a_preset_that_the_family_lacks_is_refused_with_those_it_has(tiny_detector):
    with pytest.raises(ConfigError, match="no preset 'icst'; it has uamters, head, last, backbone"):
        resolve_sites(tiny_detector, "icst")


def test_a_preset_name_in_a_list_is_a_pattern(tiny_detector):
    assert labels(tiny_detector, ["backbone"]) == ["backbone"]
    assert labels(tiny_detector, "backbone") == ["backbone.body.layer4"]


def test_a_preset_knows_which_of_its_sites_are_maps(tiny_detector):
    assert resolve_sites(tiny_detector, "last") == [Site("roi_heads.box_head", dims=2)]
    assert dropblock_sites(tiny_detector, "last") == []
    assert len(dropblock_sites(tiny_detector, "uamters")) == 4


def test_a_pattern_leaves_it_to_the_forward_whether_a_site_is_a_map(tiny_detector):
    assert dropblock_sites(tiny_detector, "**.fc6") == [Site("roi_heads.box_head.fc6")]
