"""The built-in demo: two small detectors, and three suites of images that tell them apart."""

from __future__ import annotations

from pathlib import Path

from runners.builtin.scenes import Scene, draw_scene
from scoring.errors import DataError

SUITE_NAMES = ("plain", "dim", "crowded")
SUITE_IMAGES = 12
# Far from the seeds of the training scenes (0 ..) and of the model card's scenes (100000 ..).
SUITE_SEED = 200_000


def suite_root() -> Path:
    """Return the folder that holds one folder of PNG files per built-in suite."""
    return Path(__file__).parent / "suites"


def suites() -> dict[str, Path]:
    """Return the folder of each built-in suite by name: `plain`, `dim`, `crowded`.

    Raises:
        DataError: a suite is missing from the installation.
    """
    folders = {name: suite_root() / name for name in SUITE_NAMES}
    for name, folder in folders.items():
        if not any(folder.glob("*.png")):
            raise DataError(
                f"expected the PNG files of the built-in suite {name!r} in {folder}, found none; "
                "reinstall the package or run scripts/draw_demo_suites.py"
            )
    return folders


def draw_suite(name: str) -> dict[str, Scene]:
    """Return the scenes of a built-in suite by file name, drawn anew, with their ground truth.

    Args:
        name: one of `SUITE_NAMES`.

    Raises:
        ConfigError: there is no style of this name.
    """
    return {f"{name}_{i:02d}.png": draw_scene(SUITE_SEED + i, name) for i in range(SUITE_IMAGES)}
