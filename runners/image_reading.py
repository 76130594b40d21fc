"""Read one image file as the tensor that detectors take."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from PIL import Image, ImageOps
from torch import Tensor

from runners.image_files import ImageError, opened

_16_BIT = frozenset({"I", "I;16", "I;16L", "I;16B", "I;16N"})


def read_image(path: Path) -> Tensor:
    """Return the image as a (3, H, W) float32 tensor of RGB values 0 to 1.

    The rule, in this order:

    * Only the first frame counts. Colour profiles are ignored.
    * An orientation in the EXIF data is applied.
    * 1-bit, L, P, YCbCr, HSV, LAB and CMYK become 8-bit RGB as Pillow converts them; grey is
      repeated three times.
    * Transparency (RGBA, LA, PA, a transparent palette entry or colour) is composited over white.
    * 8-bit values are divided by 255. 16-bit grey is divided by 65535 and keeps its precision;
      16-bit colour is read by Pillow as its upper 8 bits.

    Args:
        path: The file.

    Raises:
        ImageError: The file is missing, empty, truncated, no image, of a mode without a rule
            (floats, 32-bit integers beyond 65535), or has more than
            `runners.image_files.MAX_PIXELS` pixels.
    """
    with opened(path) as image:
        return torch.from_numpy(_to_rgb_array(path, ImageOps.exif_transpose(image)))


def _to_rgb_array(path: Path, image: Image.Image) -> np.ndarray:
    """Return (3, H, W) float32, 0 to 1; a large image is held in as few copies as can be."""
    if image.mode in _16_BIT:
        grey = np.asarray(image)
        if grey.min() < 0 or grey.max() > 65535:
            raise ImageError(
                path,
                f"expected grey values 0 to 65535, got {grey.min()} to {grey.max()}; convert it "
                f"to 8 or 16 bits",
            )
        return np.repeat((grey.astype(np.float32) / np.float32(65535))[None], 3, axis=0)
    if image.mode == "F":
        raise ImageError(
            path,
            "expected 8 or 16 bits a channel, got floats, whose range is unknown; convert it",
        )
    if image.has_transparency_data:
        layer = image.convert("RGBA")
        white = Image.new("RGBA", layer.size, (255, 255, 255, 255))
        image = Image.alpha_composite(white, layer)
    channels = np.asarray(image.convert("RGB")).transpose(2, 0, 1)
    values = channels.astype(np.float32, order="C")
    values /= np.float32(255)
    return values
