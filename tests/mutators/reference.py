"""The mask function a second time, from its published description: numpy and plain loops.

Nothing here comes from the package, so that an error would have to be made twice.
"""

from __future__ import annotations

import hashlib
import struct
from fractions import Fraction

import numpy as np


def reference_key(*fields: object) -> tuple[int, int]:
    """Hash (seed, image, operator, tag, t, site, call)."""
    message = b""
    for field in fields:
        text = str(field).encode("utf-8")
        message += struct.pack("<I", len(text)) + text
    return struct.unpack("<II", hashlib.blake2b(message, digest_size=8).digest())


def reference_mix(x: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        x = x ^ (x >> np.uint32(16))
        x = x * np.uint32(0x7FEB352D)
        x = x ^ (x >> np.uint32(15))
        x = x * np.uint32(0x846CA68B)
        return x ^ (x >> np.uint32(16))


def reference_words(key: tuple[int, int], first: int, count: int) -> np.ndarray:
    """Words of the indices first, first + 1, ... of one key."""
    index = ((np.arange(count, dtype=np.uint64) + first) % 2**32).astype(np.uint32)
    with np.errstate(over="ignore"):
        return reference_mix(reference_mix(index + np.uint32(key[0])) ^ np.uint32(key[1]))


def reference_dropout(x, keys, ranks, rate: str):
    """Mask a float32 array (R, ...) element by element."""
    out = np.empty_like(x)
    limit = int(Fraction(rate) * 2**32)
    scale = np.float32(1 / (1 - float(rate)))
    for row, (key, rank) in enumerate(zip(keys, ranks, strict=True)):
        size = x[row].size
        kept = (reference_words(key, rank * size, size) >= limit).reshape(x[row].shape)
        out[row] = x[row] * (kept.astype(np.float32) * scale)
    return out


def reference_squares(key, rank, shape, rate: str, block: int):
    """Return the dropped cells (C, H, W) of one sample, square by square."""
    channels, height, width = shape
    side = block
    while side > min(height, width):
        side -= 2
    rows, columns = height - side + 1, width - side + 1
    limit = int(Fraction(rate) * height * width * 2**32 / (side**2 * rows * columns))
    size = channels * rows * columns
    starts = (reference_words(key, rank * size, size) < limit).reshape(channels, rows, columns)
    dropped = np.zeros(shape, dtype=bool)
    for c, i, j in np.argwhere(starts):
        for a in range(side):
            for b in range(side):
                dropped[c, i + a, j + b] = True
    return dropped


def reference_dropblock(x, keys, ranks, rate: str, block: int):
    """Mask a float32 array (R, C, H, W) square by square."""
    out = np.empty_like(x)
    for row, (key, rank) in enumerate(zip(keys, ranks, strict=True)):
        kept = ~reference_squares(key, rank, x[row].shape, rate, block)
        scale = np.float32(kept.size / kept.sum()) if kept.any() else np.float32(1)
        out[row] = x[row] * (kept.astype(np.float32) * scale)
    return out
