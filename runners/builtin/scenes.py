"""Draw the scenes on which the built-in detectors are trained and tested.

A scene is a square RGB picture of stickers (circle, square, triangle, star) on a cluttered,
textured ground. It is a pure function of an integer seed and a style. Every edge comes from a
distance field and every random number from uniform draws of one PCG64 stream, so the pixels
depend neither on the imaging library nor on the samplers of a numpy release.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from scoring.errors import ConfigError

SIZE_PX = 192
SHAPE_NAMES = ("circle", "square", "triangle", "star")

_MIN_CONTRAST = 70.0
_PLACEMENT_TRIES = 40

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Style:
    """The numbers that make one family of scenes; every range is (low, high), uniform.

    Args:
        stream: number that separates the random stream of this style from the others.
        objects: fewest and most stickers, both included.
        radius_px: outer radius of a sticker.
        min_visible: least share of each sticker that later ones leave in sight.
        light: factor on all pixel values after drawing.
        noise: standard deviation of the noise of each channel, in grey levels.
        blur_px: standard deviation of the blur.
        clutter: fewest and most bars and blobs in the ground.
    """

    stream: int
    objects: tuple[int, int]
    radius_px: tuple[float, float]
    min_visible: float
    light: tuple[float, float]
    noise: tuple[float, float]
    blur_px: tuple[float, float]
    clutter: tuple[int, int]


# `dusk` and `busy` are the mild forms of `dim` and `crowded` that training mixes in.
STYLES: Mapping[str, Style] = MappingProxyType(
    {
        "plain": Style(0, (1, 6), (14, 30), 0.90, (0.85, 1.0), (1, 4), (0.3, 0.9), (4, 12)),
        "dim": Style(1, (1, 6), (14, 30), 0.90, (0.14, 0.36), (6, 11), (0.5, 1.2), (4, 12)),
        "crowded": Style(2, (7, 12), (8, 15), 0.50, (0.80, 1.0), (1, 4), (0.3, 0.9), (8, 18)),
        "dusk": Style(3, (1, 6), (12, 30), 0.80, (0.30, 0.85), (2, 7), (0.3, 1.2), (4, 14)),
        "busy": Style(4, (4, 9), (10, 22), 0.60, (0.80, 1.0), (1, 5), (0.3, 1.0), (6, 16)),
    }
)


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """A drawn picture and what is to be seen in it.

    Args:
        image: (192, 192, 3) uint8, RGB.
        boxes: (N, 4) float64 xyxy pixels, tight around the visible part of each sticker; the
            pixel in column c spans [c, c + 1].
        labels: (N,) int64, 1 + the index in `SHAPE_NAMES`.
    """

    image: npt.NDArray[np.uint8]
    boxes: Array
    labels: npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Sticker:
    label: int
    distance: Array  # (H, W) pixels to the outline, negative inside
    rim_px: float
    fill: Array
    rim: Array


def draw_scene(seed: int, style: str = "plain") -> Scene:
    """Return the scene of a seed in a style; equal arguments give equal pixels.

    Args:
        seed: non-negative integer.
        style: a key of `STYLES`.

    Returns:
        The scene; at least one sticker is in it.

    Raises:
        ConfigError: the style is unknown or the seed is negative.
    """
    if style not in STYLES:
        raise ConfigError(f"expected a style of {sorted(STYLES)}, got {style!r}")
    if seed < 0:
        raise ConfigError(f"expected a seed >= 0, got {seed}")
    numbers = STYLES[style]
    rng = np.random.Generator(np.random.PCG64([seed, numbers.stream]))
    canvas = _draw_ground(rng, numbers)
    owner, stickers = _place_stickers(rng, numbers, canvas)
    for sticker in stickers:
        _paste(canvas, sticker)
    boxes = np.array([_extent(owner == i) for i in range(len(stickers))], dtype=np.float64)
    labels = np.array([sticker.label for sticker in stickers], dtype=np.int64)
    return Scene(_photograph(rng, canvas, numbers), boxes, labels)


def distance_field(shape: str, radius_px: float, dx: Array, dy: Array) -> Array:
    """Return the signed distance of points to the outline of a shape centred at the origin.

    Args:
        shape: a name of `SHAPE_NAMES`.
        radius_px: distance from the centre to the farthest point of the outline.
        dx: horizontal offsets, pixels, any shape.
        dy: vertical offsets, pixels, the same shape.

    Returns:
        Pixels, negative inside; beyond a corner the distance to the nearer edge line.
    """
    if shape == "circle":
        return np.sqrt(dx * dx + dy * dy) - radius_px
    # A pentagram is where at most one of its five lines is crossed, a convex polygon where none.
    sides, step, crossed = {"square": (4, 1, 1), "triangle": (3, 1, 1), "star": (5, 2, 2)}[shape]
    apothem = radius_px * math.cos(math.pi * step / sides)
    turns = [2.0 * math.pi * k / sides for k in range(sides)]
    lines = np.stack([math.cos(a) * dx + math.sin(a) * dy - apothem for a in turns])
    lines.sort(axis=0)
    return np.asarray(lines[-crossed], dtype=np.float64)


def _uniform(rng: np.random.Generator, bounds: tuple[float, float]) -> float:
    return bounds[0] + (bounds[1] - bounds[0]) * rng.random()


def _integer(rng: np.random.Generator, bounds: tuple[int, int]) -> int:
    return bounds[0] + int((bounds[1] - bounds[0] + 1) * rng.random())


def _grid() -> tuple[Array, Array]:
    centres = np.arange(SIZE_PX, dtype=np.float64) + 0.5
    return np.meshgrid(centres, centres)


def _blend(canvas: Array, coverage: Array, colour: Array) -> None:
    canvas += coverage[..., None] * (colour - canvas)


def _cover(distance: Array) -> Array:
    """Return the share of each pixel that lies inside, from distances at pixel centres."""
    return np.clip(0.5 - distance, 0.0, 1.0)


def _smooth_noise(rng: np.random.Generator, cells: int) -> Array:
    """Return a (H, W) bilinear field in [0, 1) over cells x cells random knots."""
    knots = rng.random((cells + 1, cells + 1))
    at = (np.arange(SIZE_PX) + 0.5) * cells / SIZE_PX
    low = at.astype(np.int64)
    part = at - low
    rows = knots[low] * (1.0 - part)[:, None] + knots[low + 1] * part[:, None]
    return rows[:, low] * (1.0 - part) + rows[:, low + 1] * part


def _draw_ground(rng: np.random.Generator, style: Style) -> Array:
    canvas = np.empty((SIZE_PX, SIZE_PX, 3), dtype=np.float64)
    canvas[:] = 50.0 + 150.0 * rng.random(3)
    for cells, strength in ((3, 0.9), (12, 0.35), (48, 0.25)):
        _blend(canvas, strength * _smooth_noise(rng, cells), 255.0 * rng.random(3))
    x, y = _grid()
    for _ in range(_integer(rng, style.clutter)):
        turn = math.pi * rng.random()
        cx, cy = SIZE_PX * rng.random(), SIZE_PX * rng.random()
        along = (x - cx) * math.cos(turn) + (y - cy) * math.sin(turn)
        across = (y - cy) * math.cos(turn) - (x - cx) * math.sin(turn)
        half_length, half_width = _uniform(rng, (10, 70)), _uniform(rng, (0.7, 5))
        bend = _uniform(rng, (-0.01, 0.01))
        bar = np.maximum(np.abs(along) - half_length, np.abs(across - bend * along**2) - half_width)
        _blend(canvas, _uniform(rng, (0.3, 0.8)) * _cover(bar), 255.0 * rng.random(3))
    return canvas


def _make_sticker(rng: np.random.Generator, style: Style, canvas: Array) -> _Sticker:
    label = _integer(rng, (1, len(SHAPE_NAMES)))
    radius = _uniform(rng, style.radius_px)
    cx, cy = (_uniform(rng, (radius, SIZE_PX - radius)) for _ in range(2))
    turn = 2.0 * math.pi * rng.random()
    x, y = _grid()
    dx = (x - cx) * math.cos(turn) + (y - cy) * math.sin(turn)
    dy = (y - cy) * math.cos(turn) - (x - cx) * math.sin(turn)
    rim_px = _uniform(rng, (0.06, 0.14)) * radius
    under = canvas[int(cy), int(cx)]
    fill = _contrasting(rng, under)
    distance = distance_field(SHAPE_NAMES[label - 1], radius, dx, dy)
    return _Sticker(label, distance, rim_px, fill, _contrasting(rng, fill))


def _contrasting(rng: np.random.Generator, other: Array) -> Array:
    colour = 255.0 * rng.random(3)
    while np.abs(colour - other).max() < _MIN_CONTRAST:
        colour = 255.0 * rng.random(3)
    return colour


def _place_stickers(
    rng: np.random.Generator, style: Style, canvas: Array
) -> tuple[npt.NDArray[np.int64], list[_Sticker]]:
    """Return the index of the topmost sticker per pixel (-1: ground) and the stickers."""
    owner = np.full((SIZE_PX, SIZE_PX), -1, dtype=np.int64)
    stickers: list[_Sticker] = []
    areas: list[int] = []
    wanted = _integer(rng, style.objects)
    for _ in range(wanted * _PLACEMENT_TRIES):
        if len(stickers) == wanted:
            break
        sticker = _make_sticker(rng, style, canvas)
        inside = sticker.distance < 0.0
        covered = np.where(inside, len(stickers), owner)
        left = np.bincount(covered.ravel() + 1, minlength=len(stickers) + 2)[1:-1]
        if all(left[i] >= style.min_visible * area for i, area in enumerate(areas)):
            owner = covered
            stickers.append(sticker)
            areas.append(int(inside.sum()))
    return owner, stickers


def _paste(canvas: Array, sticker: _Sticker) -> None:
    _blend(canvas, _cover(sticker.distance), sticker.rim)
    _blend(canvas, _cover(sticker.distance + sticker.rim_px), sticker.fill)


def _extent(mask: npt.NDArray[np.bool_]) -> tuple[int, int, int, int]:
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    return int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1


def _blur(canvas: Array, sigma_px: float) -> Array:
    """Return the canvas under a separable three-tap kernel of the given variance, in passes."""
    passes = max(1, math.ceil(sigma_px**2 / 0.5))
    side = sigma_px**2 / passes / 2.0
    for _ in range(passes):
        for axis in (0, 1):
            padded = np.pad(canvas, [(1, 1) if a == axis else (0, 0) for a in range(3)], "edge")
            before, after = np.split(padded, [SIZE_PX], axis)[0], np.split(padded, [2], axis)[1]
            canvas = canvas * (1.0 - 2.0 * side) + side * (before + after)
    return canvas


def _photograph(rng: np.random.Generator, canvas: Array, style: Style) -> npt.NDArray[np.uint8]:
    """Return the canvas as a camera would see it: blurred, under the style's light, with noise."""
    seen = _blur(canvas, _uniform(rng, style.blur_px)) * _uniform(rng, style.light)
    # The sum of three uniforms, scaled to variance one, is near enough to a normal and needs no
    # sampler whose stream a numpy release may change.
    noise = 2.0 * (rng.random((3, *seen.shape)).sum(axis=0) - 1.5)
    seen = seen + _uniform(rng, style.noise) * noise
    return np.asarray(np.clip(np.rint(seen), 0, 255), dtype=np.uint8)
