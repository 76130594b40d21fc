"""The context on a model: keys of rows, counts, restoration."""

from __future__ import annotations

import copy
from collections import OrderedDict, namedtuple
from decimal import Decimal

import numpy as np
import pytest
import torch
from torch import nn

from mutators import DropBlockMutation, DropoutMutation, Identity
from scoring.errors import ConfigError
from tests.mutators.reference import reference_dropblock, reference_dropout, reference_key
from tests.mutators.snapshot import snapshot

HALF = Decimal("0.5")


def run(model, mutation, inputs, *, image="a.png", passes=(0, 1), seed=0):
    with torch.inference_mode(), mutation.on_model(model) as injection:
        injection.begin(image, passes, seed)
        return model(inputs), injection


class Levels(nn.Module):
    """Calls one module once per level, and returns a container."""

    def __init__(self, container):
        super().__init__()
        self.scale = nn.Identity()
        self.pack = Pack(container)
        self.after = nn.ReLU(inplace=True)

    def forward(self, x):
        return self.pack([self.scale(x), self.scale(x[..., :2]), self.after(x)])


class Pack(nn.Module):
    def __init__(self, container):
        super().__init__()
        self.container = container

    def forward(self, tensors):
        return self.container(tensors)


@pytest.fixture
def levels():
    return Levels(list).eval()


@pytest.fixture
def x():
    return torch.rand(2, 3, 4, 4, generator=torch.Generator().manual_seed(0)) + 1


def expected_dropout(x, *, call=0, site="scale", passes=(0, 1), image="a.png", seed=0):
    keys = [reference_key(seed, image, "mc_dropout", "0.5", t, site, call) for t in passes]
    return torch.from_numpy(reference_dropout(x.numpy(), keys, [0] * len(passes), "0.5"))


def test_a_row_is_masked_by_the_key_of_its_pass_and_a_call_by_its_number(levels, x):
    out, injection = run(levels, DropoutMutation(HALF, "scale"), x, passes=(7, 3))
    assert torch.equal(out[0], expected_dropout(x, passes=(7, 3)))
    smaller = x[..., :2].contiguous()
    assert torch.equal(out[1], expected_dropout(smaller, call=1, passes=(7, 3)))
    assert torch.equal(out[2], x)
    assert injection.calls == {"scale": 2}


def test_calls_count_anew_for_each_forward(levels, x):
    with DropoutMutation(HALF, "scale").on_model(levels) as injection:
        injection.begin("a.png", [0, 1], 0)
        first = levels(x)
        injection.begin("a.png", [0, 1], 0)
        second = levels(x)
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))
    assert injection.calls == {"scale": 2}
    assert injection.report.sites[0].calls == 4


def test_the_input_of_a_module_can_be_masked(levels, x):
    out, _ = run(levels, DropoutMutation(HALF, "after@in"), x)
    assert torch.equal(out[2], expected_dropout(x, site="after@in"))


Pair = namedtuple("Pair", "a b c")


@pytest.mark.parametrize(
    "container",
    [
        list,
        tuple,
        lambda tensors: OrderedDict(zip("abc", tensors, strict=True)),
        lambda tensors: Pair(*tensors),
        lambda tensors: [tensors[:2], {"c": tensors[2]}],
    ],
    ids=["list", "tuple", "dict", "namedtuple", "nested"],
)
def test_a_container_is_rebuilt_and_each_of_its_tensors_is_one_call(container, x):
    model = Levels(container).eval()
    out, injection = run(model, DropoutMutation(HALF, "pack"), x)
    assert type(out) is type(container([x, x, x]))
    flat = out.values() if isinstance(out, dict) else out
    last = list(flat)[-1]
    last = last["c"] if isinstance(last, dict) else last
    assert torch.equal(last, expected_dropout(x, site="pack", call=2))
    assert injection.calls == {"pack": 3}


def test_a_masked_tensor_is_a_new_one(levels, x):
    before = x.clone()
    seen = []
    handle = levels.scale.register_forward_hook(lambda module, args, output: seen.append(output))
    out, _ = run(levels, DropoutMutation(HALF, "scale"), x)
    handle.remove()
    assert seen[0] is not out[0]
    assert torch.equal(seen[0], before)


@pytest.mark.parametrize("counts", [(3, 1, 6), (0, 4, 2), (0, 0, 0)])
@pytest.mark.parametrize("site", ["roi_heads.box_head", "roi_heads.box_roi_pool"])
def test_rois_belong_to_passes_by_the_proposals_that_enter_the_pooling(roi_model, counts, site):
    passes = (2, 0, 5)
    out, injection = run(roi_model, DropBlockMutation(HALF, 1, site), counts, passes=passes)
    keys = [
        reference_key(0, "a.png", "mc_dropblock", "0.5_1", t, site, 0)
        for t, count in zip(passes, counts, strict=True)
        for _ in range(count)
    ]
    ranks = [rank for count in counts for rank in range(count)]
    ones = np.ones((sum(counts), 4, 2, 2), dtype=np.float32)
    assert torch.equal(out, torch.from_numpy(reference_dropblock(ones, keys, ranks, "0.5", 1)))
    assert injection.report.masks == sum(counts)


def test_features_that_enter_the_pooling_are_rows_of_the_batch(roi_model):
    _, injection = run(
        roi_model, DropoutMutation(HALF, "roi_heads.box_roi_pool@in"), (3, 1, 6), passes=(0, 1, 2)
    )
    assert injection.report.masks == 3


def test_a_batch_of_passes_has_the_detections_of_the_passes_one_by_one(tiny_detector, image):
    for sites in ("uamters", "head", "last"):
        mutation = DropoutMutation(Decimal("0.3"), sites)
        together, _ = run(tiny_detector, mutation, [image] * 3, passes=(0, 1, 2))
        for t in range(3):
            (alone,), _ = run(tiny_detector, mutation, [image], passes=(t,))
            assert len(alone["boxes"]) > 0
            assert torch.equal(alone["labels"], together[t]["labels"])
            torch.testing.assert_close(alone["boxes"], together[t]["boxes"], rtol=0, atol=1e-3)


def features(model, mutation, picture, **key):
    """Return the bytes of the maps that leave the backbone."""
    kept = []
    handle = model.backbone.register_forward_hook(lambda module, args, out: kept.append(out))
    run(model, mutation, [picture] * 2, **key)
    handle.remove()
    return [level.clone().numpy().tobytes() for level in kept[0].values()]


@pytest.mark.parametrize(
    "mutation", [DropoutMutation(HALF), DropBlockMutation(HALF, 3)], ids=lambda m: m.operator
)
def test_the_same_key_gives_the_same_bytes_and_another_key_others(tiny_detector, image, mutation):
    once = features(tiny_detector, mutation, image)
    assert features(tiny_detector, mutation, image) == once
    for key in ({"seed": 1}, {"image": "b.png"}, {"passes": (2, 3)}):
        assert features(tiny_detector, mutation, image, **key) != once


def test_global_random_state_neither_matters_nor_changes(tiny_detector, image):
    before = torch.get_rng_state()
    once = features(tiny_detector, DropoutMutation(HALF), image)
    assert torch.equal(torch.get_rng_state(), before)
    with torch.random.fork_rng():
        torch.manual_seed(99)
        assert features(tiny_detector, DropoutMutation(HALF), image) == once


class FaultError(Exception):
    pass


@pytest.mark.parametrize("sites", ["uamters", "head", "backbone@in", "roi_heads.box_roi_pool"])
def test_an_exception_inside_leaves_the_model_as_it_was(tiny_detector, image, sites):
    def fail(module, args):
        raise FaultError

    with torch.inference_mode():
        untouched = tiny_detector([image])
        before = snapshot(tiny_detector)
        handle = tiny_detector.roi_heads.box_predictor.register_forward_pre_hook(fail)
        with pytest.raises(FaultError):
            run(tiny_detector, DropoutMutation(HALF, sites), [image], passes=[0])
        handle.remove()
        assert snapshot(tiny_detector) == before
        again = tiny_detector([image])
    assert all(torch.equal(untouched[0][key], again[0][key]) for key in untouched[0])


def test_hooks_of_others_stay(tiny_detector, image):
    calls = []
    handle = tiny_detector.backbone.register_forward_hook(lambda *args: calls.append(1))
    run(tiny_detector, DropoutMutation(HALF, ["backbone"]), [image], passes=[0])
    with torch.inference_mode():
        tiny_detector([image])
    handle.remove()
    assert calls == [1, 1]


def test_a_model_can_be_copied_after_a_context(tiny_detector, image):
    run(tiny_detector, DropoutMutation(HALF), [image], passes=[0])
    assert snapshot(copy.deepcopy(tiny_detector)) == snapshot(tiny_detector)


def test_the_identity_has_no_site_and_draws_no_mask(tiny_detector, image):
    _, injection = run(tiny_detector, Identity(), [image], passes=[0])
    assert injection.sites == ()
    assert injection.report.masks == 0


def test_a_site_that_nothing_passes_is_named(roi_model, levels, x):
    levels.spare = nn.Identity().eval()
    _, injection = run(levels, DropoutMutation(HALF, ["scale", "spare"]), x)
    assert injection.uncalled == ("spare",)
    assert injection.report.uncalled == ("spare",)


class Pieces(nn.Module):
    """Outputs that noise cannot enter."""

    def __init__(self):
        super().__init__()
        self.count = Pack(lambda x: torch.ones(2, 3, dtype=torch.int64))
        self.text = Pack(lambda x: "text")
        self.fewer = Pack(lambda x: x[:1])
        self.flat = Pack(lambda x: x.flatten(1))
        self.named = Pack(lambda x: x)

    def forward(self, x):
        self.count(x), self.text(x), self.fewer(x), self.flat(x)
        return self.named(tensors=x)


@pytest.mark.parametrize(
    ("mutation", "message"),
    [
        (DropoutMutation(HALF, "count"), "site 'count', call 0: .*floating-point"),
        (DropoutMutation(HALF, "text"), "site 'text': expected a tensor.*got str"),
        (DropoutMutation(HALF, "fewer"), r"site 'fewer', call 0: expected 2 rows \(images\)"),
        (DropoutMutation(HALF, "named@in"), "site 'named@in': .*keyword arguments only"),
        (DropBlockMutation(HALF, 3, "flat"), r"site 'flat', call 0: DropBlock needs maps of four"),
    ],
)
def test_a_tensor_that_noise_cannot_enter_is_refused_by_site(x, mutation, message):
    model = Pieces().eval()
    before = snapshot(model)
    with pytest.raises(ConfigError, match=message):
        run(model, mutation, x)
    assert snapshot(model) == before


def test_a_forward_without_begin_is_refused(levels, x):
    with (
        pytest.raises(ConfigError, match="must say which passes"),
        DropoutMutation(HALF, "scale").on_model(levels),
    ):
        levels(x)


def test_a_forward_of_no_pass_is_refused(levels):
    with (
        pytest.raises(ConfigError, match="at least one pass"),
        DropoutMutation(HALF, "scale").on_model(levels) as injection,
    ):
        injection.begin("a.png", [], 0)


def test_a_model_in_training_mode_is_refused_and_stays_so(levels):
    levels.scale.train()
    with (
        pytest.raises(ConfigError, match=r"\(scale is one\); call model.eval\(\)"),
        DropoutMutation(HALF, "scale").on_model(levels),
    ):
        pass
    assert levels.scale.training
    assert not levels.training


def test_rois_without_a_pooling_before_them_are_refused(x):
    model = nn.ModuleDict({"roi_heads": nn.ModuleDict({"box_head": nn.Identity()})}).eval()
    with (
        pytest.raises(ConfigError, match=r"no module 'roi_heads\.box_roi_pool'"),
        DropoutMutation(HALF, "roi_heads.box_head").on_model(model),
    ):
        pass
