"""Draw the built-in image suites and write them as PNG files.

python scripts/draw_demo_suites.py --out runners/builtin/suites
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from runners.builtin import SUITE_NAMES, draw_suite


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("runners/builtin/suites"))
    options = parser.parse_args(arguments)
    for name in SUITE_NAMES:
        folder = options.out / name
        folder.mkdir(parents=True, exist_ok=True)
        for file_name, scene in draw_suite(name).items():
            Image.fromarray(scene.image).save(folder / file_name, optimize=True)
        size = sum(path.stat().st_size for path in folder.glob("*.png"))
        print(f"{name}: {len(list(folder.glob('*.png')))} images, {size} bytes")


if __name__ == "__main__":
    main()
