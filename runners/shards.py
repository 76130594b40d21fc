"""Shards: the part of a campaign's images that one of several independent runs takes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from runners.images import ImageRef
from scoring.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Shard:
    """Part `number` of `count` equal parts of a campaign's images.

    Args:
        number: Which part, from 1 up.
        count: How many parts there are.

    Raises:
        ConfigError: There is no such part.
    """

    number: int = 1
    count: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.number <= self.count:
            raise ConfigError(
                f"shard: expected I/N with I from 1 to N, got {self.number}/{self.count}; "
                f"a scheduler that counts from 0 needs 1 added"
            )

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Return the shard that a text such as `2/8` names.

        Example:
            >>> Shard.parse("2/8")
            Shard(number=2, count=8)

        Raises:
            ConfigError: The text has another form, or there is no such part.
        """
        match = re.fullmatch(r"\s*(\d+)\s*/\s*(\d+)\s*", text, re.ASCII)
        if match is None:
            raise ConfigError(f"shard: expected I/N, such as 1/4, got {text!r}")
        return cls(int(match[1]), int(match[2]))

    def of(self, images: Iterable[ImageRef]) -> list[ImageRef]:
        """Return the images of this part.

        Every image is in exactly one part, whatever the order in which they are given; suites
        are spread evenly over the parts.
        """
        images = list(images)
        ordered = sorted(images, key=lambda ref: (ref.suite, ref.relative_path))
        mine = set(ordered[self.number - 1 :: self.count])
        return [ref for ref in images if ref in mine]
