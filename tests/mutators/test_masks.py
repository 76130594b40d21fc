"""The mask function against its published vectors and a numpy reference."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from mutators import MaskKey, RowKeys, masks, mc_dropout
from mutators.masks import Masked, count_rows, drop_mask, mask_rows, mix, word_threshold
from scoring.errors import ConfigError
from tests.mutators.reference import (
    reference_dropout,
    reference_key,
    reference_mix,
    reference_words,
)

CPU = torch.device("cpu")
FIELDS = {
    "seed": 0,
    "image": "a/b.jpg",
    "operator": "mc_dropout",
    "tag": "0.1",
    "t": 0,
    "site": "backbone.fpn.inner_blocks.0.0",
    "call": 0,
}
KEYS = [(0x503FA4EE, 0xE7865975), (0, 0), (0xFFFFFFFF, 0xFFFFFFFF), (0x80000000, 0x7FFFFFFF)]


def features(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


def same_bits(left: torch.Tensor, right: torch.Tensor) -> bool:
    """Compare bytes in logical order: equal values could still differ in the sign of a zero."""
    if left.dtype != right.dtype or left.shape != right.shape:
        return False
    words = {2: torch.int16, 4: torch.int32, 8: torch.int64}[left.element_size()]
    return torch.equal(left.contiguous().view(words), right.contiguous().view(words))


def test_the_published_key_hashes_to_the_published_words():
    assert MaskKey(**FIELDS).halves() == (0x503FA4EE, 0xE7865975)


def test_the_published_key_drops_the_published_elements():
    rows = RowKeys.for_batch([MaskKey(**FIELDS).halves()])
    dropped = drop_mask(rows, 20, word_threshold(0.1), CPU)
    assert dropped.nonzero()[:, 1].tolist() == [7, 9]


@pytest.mark.parametrize(
    ("word", "below"), [(0, 0xD735BE7D), (1, 0x33B4305D), (2, 0x31F6C265), (3, 0xFAB44AC3)]
)
def test_the_published_words_are_the_thresholds_at_which_elements_drop(word, below):
    rows = RowKeys.for_batch([MaskKey(**FIELDS).halves()])
    assert not drop_mask(rows, 4, below, CPU)[0, word]
    assert drop_mask(rows, 4, below + 1, CPU)[0, word]


def test_the_published_words_are_those_of_version_1():
    assert masks.MASK_VERSION == 1


def test_an_element_drops_below_its_word_and_not_at_it():
    """Even and odd words, small and large ones."""
    rows = RowKeys.for_batch(KEYS[:1])
    for index, word in enumerate(reference_words(KEYS[0], 0, 64).tolist()):
        at, above = (drop_mask(rows, 64, limit, CPU)[0, index] for limit in (word, word + 1))
        assert (bool(at), bool(above)) == (False, True)


def test_no_row_has_no_mask():
    assert drop_mask(RowKeys.for_batch([]), 5, word_threshold(0.5), CPU).shape == (0, 5)


@pytest.mark.parametrize(("word", "mixed"), [(0, 0), (1, 0x688990C0), (0xFFFFFFFF, 0x6768824A)])
def test_mix_gives_the_published_words(word, mixed):
    assert mix(word) == mixed
    assert reference_mix(np.array([word], dtype=np.uint32))[0] == mixed


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 1},
        {"image": "a/c.jpg"},
        {"operator": "mc_dropblock"},
        {"tag": "0.15"},
        {"t": 1},
        {"site": "backbone.fpn.inner_blocks.0.0@in"},
        {"call": 1},
    ],
)
def test_every_field_of_the_key_changes_the_mask(change):
    changed = FIELDS | change
    assert MaskKey(**changed).halves() == reference_key(*changed.values())
    assert MaskKey(**changed).halves() != MaskKey(**FIELDS).halves()


def test_the_border_between_fields_is_part_of_the_key():
    left = MaskKey(**FIELDS | {"tag": "0.11", "t": 2})
    right = MaskKey(**FIELDS | {"tag": "0.1", "t": 12})
    assert left.halves() != right.halves()


def test_both_unicode_forms_of_a_path_are_one_image():
    composed, decomposed = (
        MaskKey(**FIELDS | {"image": name}) for name in ("caf\u00e9.jpg", "cafe\u0301.jpg")
    )
    assert composed.halves() == decomposed.halves()


@pytest.mark.parametrize("rate", ["0.000001", "0.1", "0.3", "0.5", "0.7", "0.999999"])
@pytest.mark.parametrize(
    "shape",
    [(4, 1), (4, 1, 1, 1), (4, 7), (4, 3, 5, 2), (4, 2, 1, 9), (4, 3, 210, 130), (4, 70_000)],
)
def test_dropout_equals_the_reference_bit_for_bit(shape, rate):
    x = features(*shape)
    expected = reference_dropout(x.numpy(), KEYS, [0] * 4, rate)
    assert same_bits(mc_dropout(x, rate, RowKeys.for_batch(KEYS)), torch.from_numpy(expected))


@pytest.mark.parametrize("counts", [(3, 0, 1, 5), (0, 0, 0, 0), (1, 700, 2, 90)])
def test_rows_that_are_rois_count_on_from_roi_to_roi_within_a_pass(counts):
    x = features(sum(counts), 6, 7, 7)
    keys = [key for key, count in zip(KEYS, counts, strict=True) for _ in range(count)]
    ranks = [rank for count in counts for rank in range(count)]
    expected = reference_dropout(x.numpy(), keys, ranks, "0.3")
    masked = mc_dropout(x, 0.3, RowKeys.for_rois(KEYS, counts))
    assert same_bits(masked, torch.from_numpy(expected))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_dropout_of_another_dtype_is_that_of_float32_cast_back(dtype):
    x = features(2, 8, 9, 5).to(dtype)
    expected = reference_dropout(x.to(torch.float32).numpy(), KEYS[:2], [0, 0], "0.15")
    masked = mc_dropout(x, "0.15", RowKeys.for_batch(KEYS[:2]))
    assert same_bits(masked, torch.from_numpy(expected).to(dtype))


def test_memory_format_changes_neither_the_mask_nor_itself():
    x = features(2, 8, 9, 5)
    strided = x.to(memory_format=torch.channels_last)
    rows = RowKeys.for_batch(KEYS[:2])
    masked = mc_dropout(strided, 0.3, rows)
    assert same_bits(masked, mc_dropout(x, 0.3, rows))
    assert masked.is_contiguous(memory_format=torch.channels_last)


def test_a_batch_of_passes_equals_the_passes_one_by_one():
    x = features(4, 5, 11, 13)
    together = mc_dropout(x, 0.25, RowKeys.for_batch(KEYS))
    for row, key in enumerate(KEYS):
        alone = mc_dropout(x[row : row + 1], 0.25, RowKeys.for_batch([key]))
        assert same_bits(together[row : row + 1], alone)


def test_an_index_runs_up_to_the_last_word_and_no_further():
    k0, k1 = (np.array([half], dtype=np.uint32) for half in KEYS[0])
    last = RowKeys(k0, k1, np.array([2**32 // 8 - 1]))
    expected = reference_words(KEYS[0], 2**32 - 8, 8) < word_threshold(0.5)
    assert drop_mask(last, 8, word_threshold(0.5), CPU)[0].tolist() == expected.tolist()
    with pytest.raises(ConfigError, match=r"at most 2\^32 elements in a sample"):
        drop_mask(RowKeys(k0, k1, np.array([2**32 // 8])), 8, word_threshold(0.5), CPU)
    # The last row alone exceeds it, and its rank is odd.
    with pytest.raises(ConfigError, match=r"at most 2\^32 .*, got 4295032830"):
        drop_mask(RowKeys(k0, k1, np.array([65537])), 65535, word_threshold(0.5), CPU)


def test_kept_values_are_scaled_by_the_float32_quotient():
    masked = mc_dropout(torch.ones(1, 1000), 0.3, RowKeys.for_batch(KEYS[:1]))
    assert set(masked.unique().tolist()) == {0.0, float(np.float32(1 / (1 - 0.3)))}


def test_the_share_dropped_is_the_rate():
    rows = RowKeys.for_batch([reference_key(0, "share", t) for t in range(200)])
    shares = (mc_dropout(torch.ones(200, 2000), 0.1, rows) == 0).double().mean(dim=1)
    z = (shares.mean() - 0.1) / (shares.std() / len(shares) ** 0.5)
    assert abs(z) < 3
    assert shares.std() == pytest.approx((0.1 * 0.9 / 2000) ** 0.5, rel=0.15)


def test_rate_zero_returns_the_tensor_itself():
    x = features(1, 3)
    assert mc_dropout(x, 0, RowKeys.for_batch(KEYS[:1])) is x


def test_the_input_is_not_written_to():
    x = features(2, 50)
    before = x.clone()
    mc_dropout(x, 0.5, RowKeys.for_batch(KEYS[:2]))
    assert torch.equal(x, before)


@pytest.mark.parametrize(
    ("x", "rate", "message"),
    [
        (torch.ones(2, 3), 1, r"rate: expected a number in \[0, 1\), got 1"),
        (torch.ones(2, 3), 10, r"rate: expected a number in \[0, 1\), got 10"),
        (torch.ones(2, 3), -0.1, r"rate: expected a number in \[0, 1\), got -0.1"),
        (torch.ones(2, 3), "half", "rate: expected a decimal number"),
        (torch.ones(2, 3, dtype=torch.int64), 0.1, "floating-point tensor, got torch.int64"),
        (torch.ones(3, 3), 0.1, r"2 rows of features, got shape \(3, 3\)"),
        (torch.ones(1, 3), 0.1, r"2 rows of features, got shape \(1, 3\)"),
        (torch.tensor(1.0), 0.1, r"2 rows of features, got shape \(\)"),
    ],
)
def test_wrong_input_is_refused(x, rate, message):
    with pytest.raises(ConfigError, match=message):
        mc_dropout(x, rate, RowKeys.for_batch(KEYS[:2]))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device, and there is none")
@pytest.mark.parametrize("shape", [(4, 1), (4, 3, 210, 130), (4, 256, 25, 34)])
def test_the_mask_on_a_gpu_is_the_mask_on_a_cpu(shape):
    x = features(*shape)
    rows = RowKeys.for_batch(KEYS)
    assert same_bits(mc_dropout(x.cuda(), 0.3, rows).cpu(), mc_dropout(x, 0.3, rows))


@pytest.mark.parametrize("most", [1, 4, 12, 20, 1000])
def test_rows_are_masked_in_portions_of_any_size_alike(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One element at a time is less than a row: then a row is masked at a time."""
    monkeypatch.setattr(masks, "_MASKED_CPU", most)
    heights = []

    def mask(x: torch.Tensor, rows: RowKeys) -> Masked:
        heights.append(len(x))
        dropped = (rows.k0.astype(np.int64) % 2).tolist()
        return Masked(x * 2, torch.tensor(sum(dropped)), torch.tensor(len(x)), 3)

    x = torch.arange(40.0).reshape(5, 8)
    keys = RowKeys(np.arange(5, dtype=np.uint32), np.zeros(5, np.uint32), np.zeros(5, np.int64))
    found = mask_rows(x, keys, mask)
    assert torch.equal(found.output, x * 2)
    assert (int(found.dropped), int(found.empty), found.block) == (2, 5, 3)
    assert max(heights) == max(1, min(5, most // 8))
    assert sum(heights) == 5


@pytest.mark.parametrize("most", [1, 3, 7, 64])
def test_a_mask_is_hashed_in_portions_of_any_size_alike(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = RowKeys(
        np.array([7, 2**32 - 3], np.uint32), np.array([5, 6], np.uint32), np.array([0, 2])
    )
    whole = drop_mask(keys, 20, 2**31, torch.device("cpu"))
    monkeypatch.setattr(masks, "_HASHED_CPU", most)
    mixed, widths = masks._mix_words, []

    def watched(words: torch.Tensor, spare: torch.Tensor) -> None:
        widths.append(words.shape[1])
        mixed(words, spare)

    monkeypatch.setattr(masks, "_mix_words", watched)
    assert torch.equal(drop_mask(keys, 20, 2**31, torch.device("cpu")), whole)
    assert max(widths) == max(1, min(20, most // 2))


def test_rows_are_counted_alike_whether_long_or_short() -> None:
    mask = torch.zeros((3, masks._LONG_ROW), dtype=torch.bool)
    mask[0, :5] = mask[2, -7:] = True
    assert count_rows(mask).tolist() == [5, 0, 7]
    assert count_rows(mask[:, :-1]).tolist() == [5, 0, 6]
