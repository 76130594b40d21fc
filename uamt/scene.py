"""What a figure is of: an image, what became of its objects, and what all that is called."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PIL import Image

from scoring.rules import Rules
from scoring.tracks import Tracks


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """What a figure is of.

    Args:
        image: The picture, bright enough to look at.
        tracks: What became of its objects.
        rules: Which definition each number follows.
        label_names: Name of each label id.
        title: Of which image, suite and model.
        mutant: Operator and tag.
        full_passes: T of the experiment, of which `tracks` has fewer where passes were curtailed.
        remarks: Sentences on the picture.
    """

    image: Image.Image
    tracks: Tracks
    rules: Rules
    label_names: Sequence[str]
    title: str
    mutant: str
    full_passes: int
    remarks: Sequence[str] = ()
