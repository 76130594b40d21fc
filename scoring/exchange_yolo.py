"""YOLO text outputs: one file per image, `class x_centre y_centre width height confidence`."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def to_corners(centred: Floats, size: tuple[float, float]) -> Floats:
    """Return normalised boxes in pixels.

    Args:
        centred: (N, 4) x centre, y centre, width, height, 0 to 1 of the image.
        size: Width and height of the image in pixels.

    Returns:
        (N, 4) x1, y1, x2, y2 in pixels.

    Example:
        >>> to_corners(np.array([[0.5, 0.5, 0.5, 0.25]]), (100, 80)).tolist()
        [[25.0, 30.0, 75.0, 50.0]]
    """
    centres, halves = centred[:, :2], centred[:, 2:] / 2
    return np.hstack([centres - halves, centres + halves]) * np.array([*size, *size])
