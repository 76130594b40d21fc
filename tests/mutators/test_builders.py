"""Every detection builder of torchvision: sites, calls, and a model left as it was."""

from __future__ import annotations

from decimal import Decimal

import pytest
import torch

from mutators import (
    DropBlockMutation,
    DropoutMutation,
    dropblock_sites,
    family_presets,
    resolve_sites,
)
from scoring.errors import ConfigError
from tests.builders import BUILDERS, image, small_model
from tests.mutators.snapshot import snapshot

# Sites, calls in one forward, and sites that DropBlock can mask.
R_CNN = {"uamters": (8, 8, 8), "head": (2, 2, 0), "last": (1, 1, 0), "backbone": (1, 1, 1)}
R_CNN_V2 = R_CNN | {"head": (5, 5, 4)}
MOBILE = R_CNN | {"uamters": (4, 4, 4)}
DENSE = {"uamters": (6, 6, 6), "head": (8, 40, 8), "last": (2, 10, 2), "backbone": (1, 1, 1)}
TABLE = {
    "fasterrcnn_resnet50_fpn": R_CNN,
    "fasterrcnn_resnet50_fpn_v2": R_CNN_V2,
    "fasterrcnn_mobilenet_v3_large_fpn": MOBILE,
    "fasterrcnn_mobilenet_v3_large_320_fpn": MOBILE,
    "maskrcnn_resnet50_fpn": R_CNN,
    "maskrcnn_resnet50_fpn_v2": R_CNN_V2,
    "keypointrcnn_resnet50_fpn": R_CNN,
    "retinanet_resnet50_fpn": DENSE,
    "retinanet_resnet50_fpn_v2": DENSE,
    "fcos_resnet50_fpn": DENSE,
    "ssd300_vgg16": {
        "uamters": (12, 12, 12),
        "icst": (1, 6, 1),
        "last": (1, 6, 1),
        "backbone": (1, 1, 1),
    },
    "ssdlite320_mobilenet_v3_large": {
        "uamters": (12, 12, 12),
        "last": (12, 12, 12),
        "backbone": (1, 1, 1),
    },
}
NAMES = {
    ("fasterrcnn_resnet50_fpn", "backbone"): {"backbone.body.layer4"},
    ("fasterrcnn_resnet50_fpn", "head"): {"roi_heads.box_head.fc6", "roi_heads.box_head.fc7"},
    ("fasterrcnn_resnet50_fpn_v2", "head"): {f"roi_heads.box_head.{i}" for i in (0, 1, 2, 3, 5)},
    ("fasterrcnn_mobilenet_v3_large_fpn", "backbone"): {"backbone.body.16"},
    ("fcos_resnet50_fpn", "last"): {
        "head.classification_head.conv.11",
        "head.regression_head.conv.11",
    },
    ("ssd300_vgg16", "icst"): {"backbone"},
    ("ssdlite320_mobilenet_v3_large", "backbone"): {"backbone.features.1"},
}


@pytest.fixture(scope="module", params=TABLE)
def builder(request):
    """A builder's name and its model; the parameter groups the tests, so each is built once.

    Mask and keypoint branches are off, as in a run: no site lies in them, and they are slow.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    model = small_model(request.param)
    branches = [
        (model.roi_heads, pool, getattr(model.roi_heads, pool))
        for pool in ("mask_roi_pool", "keypoint_roi_pool")
        if getattr(getattr(model, "roi_heads", None), pool, None) is not None
    ]
    for heads, pool, _ in branches:
        setattr(heads, pool, None)
    yield request.param, model
    for heads, pool, module in branches:
        setattr(heads, pool, module)
    torch.set_num_threads(threads)


def test_the_table_knows_every_builder():
    assert set(TABLE) == set(BUILDERS)


def test_every_preset_masks_the_sites_of_the_table_and_leaves_the_model_as_it_was(builder):
    name, model = builder
    before = snapshot(model)
    assert set(family_presets(model)) == set(TABLE[name])
    for preset, (sites, calls, maps) in TABLE[name].items():
        with (
            torch.inference_mode(),
            DropoutMutation(Decimal("0.3"), preset).on_model(model) as injection,
        ):
            injection.begin("a.png", [0], 0)
            model([image()])
        assert len(injection.sites) == sites
        assert sum(injection.calls.values()) == calls
        assert injection.uncalled == ()
        assert len(dropblock_sites(model, preset)) == maps
        if (name, preset) in NAMES:
            assert {site.name for site in injection.sites} == NAMES[name, preset]
    assert snapshot(model) == before


def test_dropblock_masks_the_maps_of_a_preset_and_refuses_one_without(builder):
    name, model = builder
    for preset, (_, _, maps) in TABLE[name].items():
        mutation = DropBlockMutation(Decimal("0.3"), 3, preset)
        if not maps:
            with pytest.raises(ConfigError, match="no map of four dimensions"):
                mutation.on_model(model)
    preset = "head" if name.startswith(("faster", "mask")) and "v2" in name else "uamters"
    mutation = DropBlockMutation(Decimal("0.3"), 3, preset)
    with torch.inference_mode(), mutation.on_model(model) as injection:
        injection.begin("a.png", [0], 0)
        model([image()])
    assert injection.report.masks > 0
    assert all(set(site.blocks) <= {1, 3} for site in injection.report.sites)


def test_rate_zero_leaves_every_detection_bit_identical(builder):
    name, model = builder
    with torch.inference_mode():
        untouched = model([image()])
        for preset in TABLE[name]:
            with DropoutMutation(Decimal(0), preset).on_model(model) as injection:
                injection.begin("a.png", [0], 0)
                unmasked = model([image()])
            assert injection.report.masks == 0
            assert all(injection.calls.values())
            for key in ("boxes", "labels", "scores"):
                assert torch.equal(untouched[0][key], unmasked[0][key])


def test_a_preset_of_another_family_is_refused(builder):
    name, model = builder
    for preset in {"uamters", "head", "last", "backbone", "icst"} - set(TABLE[name]):
        with pytest.raises(ConfigError, match=f"no preset '{preset}'; it has uamters"):
            resolve_sites(model, preset)
