"""The key of a mask: what it depends on, and what it hashes to."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskKey:
    """Everything a mask depends on.

    Args:
        seed: Campaign seed.
        image: Path relative to the campaign's image root, with `/`; any Unicode form.
        operator: Name of the operator, such as `mc_dropout`.
        tag: Tag of the mutant as in its folder name, such as `0.1` or `0.1_3`.
        t: Number of the pass (not its place in a batch).
        site: Module name, with `@in` where its input is masked.
        call: How often this site was called before in this pass.

    Source:
        docs/masks.md, "Key".
    """

    seed: int
    image: str
    operator: str
    tag: str
    t: int
    site: str
    call: int

    def halves(self) -> tuple[int, int]:
        """Return the two 32-bit words (k0, k1) that the key hashes to.

        Example:
            >>> key = MaskKey(seed=0, image="a/b.jpg", operator="mc_dropout", tag="0.1", t=0,
            ...               site="backbone.fpn.inner_blocks.0.0", call=0)
            >>> [f"{half:08x}" for half in key.halves()]
            ['503fa4ee', 'e7865975']
        """
        image = unicodedata.normalize("NFC", self.image)
        fields = (self.seed, image, self.operator, self.tag, self.t, self.site, self.call)
        texts = [str(field).encode() for field in fields]
        framed = b"".join(len(text).to_bytes(4, "little") + text for text in texts)
        digest = hashlib.blake2b(framed, digest_size=8).digest()
        return int.from_bytes(digest[:4], "little"), int.from_bytes(digest[4:], "little")


@dataclass(frozen=True, slots=True, eq=False)
class RowKeys:
    """The key of every row of a tensor, and where its elements start counting.

    Args:
        k0: (R,) first word of each row's key.
        k1: (R,) second word.
        ranks: (R,) place of the row within its pass; 0 where a row is a whole pass.
    """

    k0: npt.NDArray[np.uint32]
    k1: npt.NDArray[np.uint32]
    ranks: npt.NDArray[np.int64]

    @classmethod
    def for_batch(cls, halves: Sequence[tuple[int, int]]) -> Self:
        """Return the keys of a batch: one row per pass.

        Args:
            halves: (k0, k1) of each row's `MaskKey`.
        """
        return cls.for_rois(halves, [1] * len(halves))

    @classmethod
    def for_rois(cls, halves: Sequence[tuple[int, int]], counts: Sequence[int]) -> Self:
        """Return the keys of rows that are regions of interest, pass after pass.

        Args:
            halves: (k0, k1) of each pass.
            counts: Number of regions of each pass; their sum is the number of rows.
        """
        words = np.array(halves, dtype=np.uint32).reshape(-1, 2)
        ranks = [np.arange(count, dtype=np.int64) for count in counts]
        return cls(
            np.repeat(words[:, 0], counts),
            np.repeat(words[:, 1], counts),
            np.concatenate(ranks) if ranks else np.zeros(0, dtype=np.int64),
        )

    def part(self, start: int, stop: int) -> Self:
        """Return the keys of some of the rows."""
        return type(self)(self.k0[start:stop], self.k1[start:stop], self.ranks[start:stop])

    def __len__(self) -> int:
        return len(self.ranks)
