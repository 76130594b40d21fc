"""DropBlock: squares, shares, scales and clipping."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
import torch

from mutators import (
    RowKeys,
    block_density,
    effective_block,
    exact_density,
    expected_share,
    mc_dropblock,
)
from mutators.masks import word_threshold
from scoring.errors import ConfigError
from tests.mutators.reference import reference_dropblock, reference_key
from tests.mutators.test_masks import KEYS, features, same_bits


@pytest.mark.parametrize("block", [1, 3, 5, 7])
def test_every_small_map_equals_the_reference_bit_for_bit(block):
    for height, width in itertools.product(range(1, 8), repeat=2):
        x = features(4, 3, height, width)
        expected = reference_dropblock(x.numpy(), KEYS, [0] * 4, "0.35", block)
        masked = mc_dropblock(x, 0.35, block, RowKeys.for_batch(KEYS))
        assert same_bits(masked, torch.from_numpy(expected)), (height, width)


@pytest.mark.parametrize(("rate", "block"), [("0.1", 3), ("0.5", 9), ("0.25", 1), ("0.999999", 5)])
def test_a_large_map_equals_the_reference_bit_for_bit(rate, block):
    x = features(2, 9, 100, 90)
    expected = reference_dropblock(x.numpy(), KEYS[:2], [0, 0], rate, block)
    masked = mc_dropblock(x, rate, block, RowKeys.for_batch(KEYS[:2]))
    assert same_bits(masked, torch.from_numpy(expected))


def test_rows_that_are_rois_count_on_along_the_lattice_within_a_pass():
    counts = (3, 0, 1, 40)
    x = features(44, 6, 7, 7)
    keys = [key for key, count in zip(KEYS, counts, strict=True) for _ in range(count)]
    ranks = [rank for count in counts for rank in range(count)]
    expected = reference_dropblock(x.numpy(), keys, ranks, "0.3", 3)
    masked = mc_dropblock(x, 0.3, 3, RowKeys.for_rois(KEYS, counts))
    assert same_bits(masked, torch.from_numpy(expected))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_float32_cast_back(dtype):
    # 512 x 16 x 16 cells are more than float16 can count.
    x = features(2, 512, 16, 16).to(dtype)
    expected = reference_dropblock(x.to(torch.float32).numpy(), KEYS[:2], [0, 0], "0.3", 5)
    masked = mc_dropblock(x, 0.3, 5, RowKeys.for_batch(KEYS[:2]))
    assert same_bits(masked, torch.from_numpy(expected).to(dtype))


def test_memory_format_changes_neither_the_mask_nor_itself():
    x = features(2, 8, 9, 6)
    rows = RowKeys.for_batch(KEYS[:2])
    masked = mc_dropblock(x.to(memory_format=torch.channels_last), 0.3, 3, rows)
    assert same_bits(masked, mc_dropblock(x, 0.3, 3, rows))
    assert masked.is_contiguous(memory_format=torch.channels_last)


def test_a_batch_of_passes_equals_the_passes_one_by_one():
    x = features(4, 5, 11, 13)
    together = mc_dropblock(x, 0.25, 3, RowKeys.for_batch(KEYS))
    for row, key in enumerate(KEYS):
        alone = mc_dropblock(x[row : row + 1], 0.25, 3, RowKeys.for_batch([key]))
        assert same_bits(together[row : row + 1], alone)


def dropped_cells(rate, block, *, height, width, samples=40, channels=50, exact_rate=False):
    rows = RowKeys.for_batch([reference_key(0, "share", t, block, rate) for t in range(samples)])
    ones = torch.ones(samples, channels, height, width)
    return mc_dropblock(ones, rate, block, rows, exact_rate=exact_rate) == 0


@pytest.mark.parametrize(("height", "width"), [(12, 9), (5, 8), (7, 7)])
@pytest.mark.parametrize("block", [3, 5, 7])
def test_every_dropped_cell_lies_in_a_whole_dropped_block(height, width, block):
    side = effective_block(block, height, width)
    dropped = dropped_cells(0.3, block, height=height, width=width, samples=4, channels=8).numpy()
    whole = np.zeros_like(dropped)
    for i, j in itertools.product(range(height - side + 1), range(width - side + 1)):
        square = dropped[:, :, i : i + side, j : j + side].all(axis=(2, 3))
        whole[:, :, i : i + side, j : j + side] |= square[:, :, None, None]
    assert dropped.any()
    assert (dropped == whole).all()


TABLE = [
    ((25, 34), 3, (0.095, 0.261, 0.397)),
    ((25, 34), 5, (0.095, 0.255, 0.383)),
    ((25, 34), 7, (0.094, 0.250, 0.373)),
    ((25, 34), 9, (0.093, 0.246, 0.364)),
    ((8, 8), 3, (0.095, 0.256, 0.386)),
    ((8, 8), 5, (0.094, 0.250, 0.373)),
    ((8, 8), 7, (0.096, 0.266, 0.409)),
    ((8, 8), 9, (0.096, 0.266, 0.409)),
    ((5, 5), 3, (0.095, 0.257, 0.390)),
    ((5, 5), 5, (0.1, 0.3, 0.5)),
    ((5, 5), 9, (0.1, 0.3, 0.5)),
]


@pytest.mark.parametrize(("sides", "block", "shares"), TABLE)
def test_expected_shares_are_those_of_the_published_table(sides, block, shares):
    side = effective_block(block, *sides)
    found = [
        expected_share(float(block_density(rate, side, *sides)), side, *sides)
        for rate in (0.1, 0.3, 0.5)
    ]
    assert [round(share, 3) for share in found] == list(shares)


@pytest.mark.parametrize("exact_rate", [False, True])
@pytest.mark.parametrize("rate", [0.1, 0.5])
@pytest.mark.parametrize(
    ("height", "width", "block"), [(25, 34, 5), (8, 8, 3), (5, 9, 7), (1, 6, 3)]
)
def test_the_share_dropped_is_the_expected_one(height, width, block, rate, exact_rate):
    side = effective_block(block, height, width)
    gamma = float(block_density(rate, side, height, width))
    expected = rate if exact_rate else expected_share(gamma, side, height, width)
    dropped = dropped_cells(rate, block, height=height, width=width, exact_rate=exact_rate)
    shares = dropped.double().mean(dim=(2, 3)).flatten()
    z = (shares.mean() - expected) / (shares.std() / len(shares) ** 0.5)
    assert abs(z) < 3.5


def test_every_cell_is_dropped_as_often_as_the_blocks_over_it_say():
    dropped = dropped_cells(0.4, 3, height=5, width=6, samples=100, channels=60).double()
    gamma = float(block_density(0.4, 3, 5, 6))
    for i, j in itertools.product(range(5), range(6)):
        blocks = min(i + 1, 5 - i, 3) * min(j + 1, 6 - j, 3)
        expected = 1 - (1 - gamma) ** blocks
        z = (dropped[:, :, i, j].mean() - expected) / (expected * (1 - expected) / 6000) ** 0.5
        assert abs(z) < 4


def test_block_one_drops_exactly_the_rate():
    assert block_density("0.15", 1, 25, 34) == Fraction(15, 100)
    assert word_threshold(block_density("0.15", 1, 25, 34)) == word_threshold(Fraction(15, 100))


@pytest.mark.parametrize("rate", [0.1, 0.3, 0.5, 0.95])
@pytest.mark.parametrize(("height", "width", "block"), [(25, 34, 7), (8, 8, 3), (1, 1, 1)])
def test_the_exact_density_reaches_the_rate_from_below(height, width, block, rate):
    gamma = exact_density(rate, block, height, width)
    assert expected_share(gamma, block, height, width) == pytest.approx(rate, abs=1e-12)
    assert expected_share(gamma, block, height, width) <= rate


def test_the_scale_is_that_of_each_sample_alone():
    x = torch.ones(4, 6, 9, 9)
    masked = mc_dropblock(x, 0.3, 3, RowKeys.for_batch(KEYS))
    kept = (masked != 0).sum(dim=(1, 2, 3))
    assert len(set(kept.tolist())) > 1
    for row in range(4):
        scale = float(np.float32(6 * 81 / int(kept[row])))
        assert set(masked[row].unique().tolist()) == {0.0, scale}


def test_a_sample_that_keeps_nothing_becomes_zeros():
    rows = RowKeys.for_batch([reference_key(t) for t in range(50)])
    masked = mc_dropblock(torch.ones(50, 1, 3, 3), 0.9, 3, rows)
    nothing = (masked == 0).all(dim=(1, 2, 3))
    assert 0 < nothing.sum() < 50
    assert (masked[~nothing] == 1).all()


@pytest.mark.parametrize(
    ("block", "sides", "effective"),
    [(9, (8, 8), 7), (9, (25, 4), 3), (7, (1, 40), 1), (5, (2, 2), 1), (3, (3, 3), 3)],
)
def test_a_block_that_does_not_fit_is_clipped_to_the_largest_odd_one(block, sides, effective):
    assert effective_block(block, *sides) == effective


def test_rate_zero_returns_the_tensor_itself():
    x = features(1, 2, 3, 3)
    assert mc_dropblock(x, 0, 3, RowKeys.for_batch(KEYS[:1])) is x


@pytest.mark.parametrize(
    ("shape", "rate", "block", "message"),
    [
        ((1, 2, 8, 8), 0.1, 2, r"block: expected an odd whole number of cells .*, got 2"),
        ((1, 2, 8, 8), 0.1, 0, "block: expected an odd whole number of cells"),
        ((1, 2, 8, 8), 0.1, 3.0, "block: expected an odd whole number of cells"),
        ((1, 2, 8, 8), 1.0, 3, r"rate: expected a number in \[0, 1\), got 1.0"),
        ((1, 8), 0.1, 3, r"maps of four dimensions .*, got 2"),
        ((2, 2, 8, 8), 0.1, 3, "1 rows of features"),
    ],
)
def test_wrong_input_is_refused(shape, rate, block, message):
    with pytest.raises(ConfigError, match=message):
        mc_dropblock(torch.ones(shape), rate, block, RowKeys.for_batch(KEYS[:1]))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device, and there is none")
@pytest.mark.parametrize("shape", [(4, 3, 1, 1), (4, 256, 25, 34), (4, 64, 8, 8)])
def test_the_mask_on_a_gpu_is_the_mask_on_a_cpu(shape):
    x = features(*shape)
    rows = RowKeys.for_batch(KEYS)
    assert same_bits(mc_dropblock(x.cuda(), 0.3, 7, rows).cpu(), mc_dropblock(x, 0.3, 7, rows))
