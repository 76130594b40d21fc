"""Reading images and listing suites, with everything that people's folders hold."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from runners import image_files
from runners.images import list_suites, read_image
from scoring.errors import DataError

RED, GREEN, BLUE, GREY = (255, 0, 0), (0, 255, 0), (0, 0, 255), (128, 128, 128)


def touch(root: Path, *names: str) -> Path:
    """Write a small picture under each name."""
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (2, 2)).save(path, format="PNG")
    return root


def pixel(path: Path, x: int = 0, y: int = 0) -> list[float]:
    return [round(v, 4) for v in read_image(path)[:, y, x].tolist()]


def saved(tmp_path: Path, image: Image.Image, name: str = "image.png", **options: object) -> Path:
    image.save(tmp_path / name, **options)
    return tmp_path / name


# Reading


def test_rgb_values_are_divided_by_255(tmp_path: Path) -> None:
    pixels = np.arange(24, dtype=np.uint8).reshape(2, 4, 3) * 10
    tensor = read_image(saved(tmp_path, Image.fromarray(pixels)))
    assert tensor.shape == (3, 2, 4)
    assert tensor.dtype == torch.float32
    expected = torch.from_numpy(pixels).permute(2, 0, 1).float().div(255)
    assert torch.equal(tensor, expected)


def test_grey_is_repeated(tmp_path: Path) -> None:
    assert pixel(saved(tmp_path, Image.new("L", (2, 2), 51))) == [0.2, 0.2, 0.2]


def test_one_bit_is_black_or_white(tmp_path: Path) -> None:
    image = Image.new("1", (2, 1), 0)
    image.putpixel((1, 0), 1)
    path = saved(tmp_path, image)
    assert (pixel(path), pixel(path, 1)) == ([0, 0, 0], [1, 1, 1])


@pytest.mark.parametrize(
    ("alpha", "expected"), [(255, [1, 0, 0]), (0, [1, 1, 1]), (51, [1, 0.8, 0.8])]
)
def test_transparency_is_composited_over_white(
    tmp_path: Path, alpha: int, expected: list[float]
) -> None:
    assert pixel(saved(tmp_path, Image.new("RGBA", (2, 2), (*RED, alpha)))) == expected


def test_transparent_grey_is_composited_over_white(tmp_path: Path) -> None:
    path = saved(tmp_path, Image.new("LA", (2, 2), (0, 51)))
    assert pixel(path) == [0.8, 0.8, 0.8]


def palette_image() -> Image.Image:
    image = Image.new("P", (2, 1))
    image.putpalette([*RED, *BLUE])
    image.putpixel((1, 0), 1)
    return image


def test_a_palette_becomes_its_colours(tmp_path: Path) -> None:
    path = saved(tmp_path, palette_image())
    assert (pixel(path), pixel(path, 1)) == ([1, 0, 0], [0, 0, 1])


@pytest.mark.parametrize("transparency", [1, b"\xff\x00"])
def test_a_transparent_palette_entry_is_white(tmp_path: Path, transparency: int | bytes) -> None:
    path = saved(tmp_path, palette_image(), transparency=transparency)
    assert (pixel(path), pixel(path, 1)) == ([1, 0, 0], [1, 1, 1])


def test_a_transparent_colour_is_white(tmp_path: Path) -> None:
    image = Image.new("RGB", (2, 1), GREEN)
    image.putpixel((1, 0), RED)
    path = saved(tmp_path, image, transparency=RED)
    assert (pixel(path), pixel(path, 1)) == ([0, 1, 0], [1, 1, 1])


def test_cmyk_becomes_rgb(tmp_path: Path) -> None:
    path = saved(tmp_path, Image.new("CMYK", (2, 2), (0, 255, 255, 0)), "image.tif")
    assert pixel(path) == [1, 0, 0]


@pytest.mark.parametrize("name", ["image.png", "image.tif", "image.pgm"])
def test_sixteen_bit_grey_keeps_its_precision(tmp_path: Path, name: str) -> None:
    values = np.array([[0, 1, 256, 65535]], dtype=np.uint16)
    tensor = read_image(saved(tmp_path, Image.fromarray(values), name))
    expected = (values.astype(np.float64) / 65535).astype(np.float32)
    np.testing.assert_array_equal(tensor.numpy(), np.repeat(expected[None], 3, axis=0))


def test_big_endian_sixteen_bits_are_read_right(tmp_path: Path) -> None:
    image = Image.frombytes("I;16B", (1, 1), b"\x01\x00")
    assert read_image(saved(tmp_path, image, "image.tif")).max() == np.float32(256 / 65535)


@pytest.mark.parametrize("value", [-1, 65536])
def test_integers_beyond_sixteen_bits_are_refused(tmp_path: Path, value: int) -> None:
    path = saved(tmp_path, Image.new("I", (2, 2), value), "image.tif")
    with pytest.raises(DataError, match=f"image.tif.*0 to 65535, got {value}"):
        read_image(path)


def test_float_images_are_refused(tmp_path: Path) -> None:
    path = saved(tmp_path, Image.new("F", (2, 2), 0.5), "image.tif")
    with pytest.raises(DataError, match=r"image.tif.*got floats"):
        read_image(path)


def test_the_first_frame_counts(tmp_path: Path) -> None:
    frames = [Image.new("RGB", (2, 2), colour) for colour in (RED, BLUE)]
    path = saved(tmp_path, frames[0], "image.gif", save_all=True, append_images=frames[1:])
    assert pixel(path) == [1, 0, 0]


# Where the stored corners (top left, top right, bottom left, bottom right) belong.
@pytest.mark.parametrize(
    ("orientation", "corners"),
    [
        (1, "abcd"),
        (2, "badc"),
        (3, "dcba"),
        (4, "cdab"),
        (5, "acbd"),
        (6, "cadb"),
        (7, "dbca"),
        (8, "bdac"),
    ],
)
def test_exif_orientation_is_applied(tmp_path: Path, orientation: int, corners: str) -> None:
    colours = {"a": RED, "b": GREEN, "c": BLUE, "d": GREY}
    image = Image.new("RGB", (2, 3))
    for corner, place in zip("abcd", [(0, 0), (1, 0), (0, 2), (1, 2)], strict=True):
        image.putpixel(place, colours[corner])
    exif = Image.Exif()
    exif[0x0112] = orientation
    tensor = read_image(saved(tmp_path, image, exif=exif))
    height, width = (2, 3) if orientation > 4 else (3, 2)
    assert tensor.shape == (3, height, width)
    shown = [tensor[:, y, x].mul(255).tolist() for y in (0, -1) for x in (0, -1)]
    assert shown == [list(map(float, colours[corner])) for corner in corners]


def test_a_truncated_image_is_refused_by_name(tmp_path: Path) -> None:
    noise = np.random.default_rng(0).integers(0, 255, (64, 64, 3), dtype=np.uint8)
    path = saved(tmp_path, Image.fromarray(noise), "cut.jpg")
    path.write_bytes(path.read_bytes()[:900])
    with pytest.raises(DataError, match=r"cut.jpg.*truncated"):
        read_image(path)


@pytest.mark.parametrize("size", [(1, 1), (1, 12_000), (12_000, 1), (12_000, 4_000)])
def test_images_of_extreme_shapes_are_read_whole(tmp_path: Path, size: tuple[int, int]) -> None:
    image = Image.new("L", size, 51)
    image.putpixel((size[0] - 1, size[1] - 1), 255)
    tensor = read_image(saved(tmp_path, image, compress_level=1))
    assert tensor.shape == (3, size[1], size[0])
    assert tensor.is_contiguous()
    assert tensor[:, -1, -1].tolist() == [1, 1, 1]
    assert float(tensor[0, 0, 0]) == (1 if size == (1, 1) else np.float32(0.2))


def test_another_format_than_the_known_ones_is_not_decoded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pillow would start Ghostscript for this one."""
    path = tmp_path / "drawing.png"
    Image.new("RGB", (9, 9)).save(path, "EPS")
    monkeypatch.setattr("subprocess.check_call", None)
    with pytest.raises(DataError, match=r"drawing\.png': expected an image file"):
        read_image(path)


@pytest.mark.parametrize("content", [b"", b"not an image", b"\x89PNG\r\n\x1a\n", b"GIF89a"])
def test_an_unreadable_image_is_refused_by_name(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "bad.png"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"bad.png.*expected an image file"):
        read_image(path)


def test_a_missing_image_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"gone.png': no such file"):
        read_image(tmp_path / "gone.png")


def test_too_many_pixels_are_refused_before_they_are_decoded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = saved(tmp_path, Image.new("RGB", (11, 10)))
    monkeypatch.setattr(image_files, "MAX_PIXELS", 109)
    monkeypatch.setattr(Image.Image, "convert", None)
    monkeypatch.setattr(Image.Image, "load", None)
    with pytest.raises(DataError, match="at most 109 pixels, got 11x10"):
        read_image(path)


def test_what_pillow_takes_for_a_bomb_is_refused_in_the_same_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = saved(tmp_path, Image.new("RGB", (10, 8)))
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 10)
    with pytest.raises(DataError, match="expected at most 50000000 pixels, got over 20; cut"):
        read_image(path)


def test_the_limit_is_ours_and_pillow_says_nothing_below_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    path = saved(tmp_path, Image.new("RGB", (10, 8)))
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 50)  # it warns from here on
    assert read_image(path).shape == (3, 8, 10)
    assert not recwarn.list


def test_a_fingerprint_is_size_and_sha256(tmp_path: Path) -> None:
    (ref,) = list_suites(touch(tmp_path / "s", "1.png"))["s"]
    content = ref.path.read_bytes()
    found = ref.fingerprint()
    assert (found.size, found.sha256) == (len(content), hashlib.sha256(content).hexdigest())
