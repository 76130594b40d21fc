"""Open image files of strangers: by content, within a limit of pixels, without a warning."""

from __future__ import annotations

import struct
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image

from scoring.errors import DataError

MAX_PIXELS = 50_000_000
"""An image with more pixels is refused by its header: as float32 it would take over 600 MB."""

FORMATS = ("BMP", "GIF", "JPEG", "PNG", "PPM", "TIFF", "WEBP")
"""What a file may be, whatever its suffix. Pillow knows others, some of which start a program."""

_ORIENTATION, _TURNED = 0x0112, frozenset({5, 6, 7, 8})
"""EXIF tag, and its values that swap width and height."""

# What Pillow raises on files that are no images, or broken ones.
_BROKEN = (
    OSError,
    SyntaxError,
    ValueError,
    EOFError,
    ArithmeticError,
    LookupError,
    AttributeError,
    TypeError,
    NotImplementedError,
    struct.error,
    zlib.error,
)


class ImageError(DataError):
    """An image that cannot be used.

    Args:
        path: The file.
        reason: What was expected, what came, and what to do, without the path.
    """

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return f"image '{self.path}': {self.reason}"


@contextmanager
def opened(path: Path) -> Iterator[Image.Image]:
    """Return a context with the image, of which only the header is read.

    Args:
        path: The file.

    Raises:
        ImageError: The file is missing or no image, has more than `MAX_PIXELS` pixels, or what
            is done with it inside finds it broken.
    """
    if not path.is_file():
        what = "no such file" if not path.exists() else "expected a file, found something else"
        raise ImageError(path, what)
    try:
        with warnings.catch_warnings():
            # Pillow warns of damaged metadata and of many pixels: the one does not matter to the
            # pixels, the other is refused here.
            warnings.simplefilter("ignore")
            with Image.open(path, formats=FORMATS) as image:
                width, height = image.size
                if width * height > MAX_PIXELS:
                    raise _too_large(path, f"{width}x{height}")
                yield image
    except Image.DecompressionBombError as error:
        raise _too_large(path, f"over {2 * (Image.MAX_IMAGE_PIXELS or 0)}") from error
    except _BROKEN as error:
        raise ImageError(
            path,
            f"expected an image file that can be read whole, got: {_words(error, path)}; "
            f"replace or remove it",
        ) from error


def _words(error: Exception, path: Path) -> str:
    """Return what Pillow says of a file, without the path that the message has already."""
    text = f"{error}".replace(f" {str(path)!r}", "").strip()
    return text or type(error).__name__


def _too_large(path: Path, got: str) -> ImageError:
    return ImageError(
        path, f"expected at most {MAX_PIXELS} pixels, got {got}; cut or scale it down"
    )


def upright_size(path: Path) -> tuple[int, int]:
    """Return width and height in pixels of an image as detectors see it, from its header.

    Raises:
        ImageError: The file is missing, no image, or too large.
    """
    with opened(path) as image:
        return size_upright(image)


def size_upright(image: Image.Image) -> tuple[int, int]:
    """Return width and height in pixels once the orientation in the EXIF data is applied."""
    width, height = image.size
    is_turned = image.getexif().get(_ORIENTATION) in _TURNED
    return (height, width) if is_turned else (width, height)
