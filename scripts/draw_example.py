"""Write the example of docs/concepts.md: prediction files that can be scored by hand, and pictures.

Usage: python scripts/draw_example.py

One image of 100 x 80 pixels, T = 4 passes: the original finds a cat and a dog in each, the mutant
moves the cat, loses the dog twice, and has a ghost three times.
"""

from __future__ import annotations

from pathlib import Path

from PIL import Image, ImageDraw

from scoring.detections import Detections
from scoring.layout import Branch, original_tag, prediction_path
from scoring.passes import Passes
from scoring.predictions import write_prediction
from scoring.rules import DEEPLUQ
from scoring.tracks import track
from uamt.figures import pass_figure, strip_figure
from uamt.scene import Scene
from uamt.showing import write_png

DOCS = Path(__file__).resolve().parent.parent / "docs"
ROOT = DOCS / "examples" / "predictions"
PICTURES = DOCS / "examples" / "pictures"
BRANCH = Branch("mc_dropout", "my_detector", "day")
STEM, TAG = "street", "0.3"
ALSO = (Branch("mc_dropblock", "my_detector", "day"), "0.3_3")
"""The same detections under the name of a second operator, so that every table has its rows."""

Seen = tuple[list[float], int, list[float]]

CAT, DOG = 1, 2
SURE_CAT, HALF_CAT, SURE_DOG = [0.0, 1.0, 0.0], [0.0, 0.5, 0.5], [0.0, 0.0, 1.0]
UNSURE_DOG = [0.25, 0.25, 0.5]

THE_DOG: Seen = ([60, 10, 90, 40], DOG, UNSURE_DOG)
ORIGINAL: tuple[tuple[Seen, ...], ...] = ((([10, 10, 50, 50], CAT, SURE_CAT), THE_DOG),) * 4
MUTANT: tuple[tuple[Seen, ...], ...] = (
    (([10, 10, 50, 50], CAT, SURE_CAT), THE_DOG),
    (([13, 10, 50, 50], CAT, SURE_CAT), ([62, 50, 90, 74], CAT, SURE_CAT)),
    (([13, 14, 50, 50], CAT, HALF_CAT), THE_DOG, ([64, 50, 90, 74], CAT, HALF_CAT)),
    (([10, 14, 50, 50], CAT, HALF_CAT), ([66, 50, 90, 74], DOG, SURE_DOG)),
)


def detections(seen: tuple[Seen, ...]) -> Detections:
    boxes, labels, probs = (list(column) for column in zip(*seen, strict=True))
    return Detections(boxes, labels, [max(vector) for vector in probs], probs)


def write_predictions(root: Path) -> None:
    for branch, mutant in ((BRANCH, TAG), ALSO):
        for tag, passes in ((original_tag(branch.operator), ORIGINAL), (mutant, MUTANT)):
            for t, seen in enumerate(passes):
                path = prediction_path(branch.folder(root, tag, STEM), t)
                write_prediction(path, detections(seen))


def scene() -> Image.Image:
    """A cat, a dog, and a bush that may be taken for either, ten times as large as in the files."""
    picture = Image.new("RGB", (1000, 800), "#dfe7ec")
    canvas = ImageDraw.Draw(picture)
    canvas.rectangle((0, 560, 1000, 800), fill="#b9c4a8")
    for left, right, fill in ((130, 470, "#8a6f5a"), (640, 860, "#6b5b4b")):
        top, bottom = (150, 490) if left == 130 else (140, 390)
        canvas.ellipse((left, top + 60, right, bottom), fill=fill)
        for ear in (left + 20, right - 90):
            canvas.polygon([(ear, top + 120), (ear + 35, top), (ear + 70, top + 120)], fill=fill)
        for eye in (left + (right - left) // 3, left + 2 * (right - left) // 3):
            canvas.ellipse((eye - 12, top + 150, eye + 12, top + 174), fill="white")
    canvas.ellipse((660, 540, 880, 730), fill="#7f9a6b")
    return picture.resize((100, 80), Image.Resampling.LANCZOS)


def main() -> None:
    write_predictions(ROOT)
    PICTURES.mkdir(parents=True, exist_ok=True)
    scene().save(PICTURES / f"{STEM}.png")
    original, mutant = (
        Passes.from_list([detections(seen) for seen in passes]) for passes in (ORIGINAL, MUTANT)
    )
    shown = Scene(
        scene(),
        track(original, mutant),
        DEEPLUQ,
        ("background", "cat", "dog"),
        f"Image {STEM}, suite {BRANCH.suite}, model {BRANCH.model}",
        f"{BRANCH.operator} {TAG}",
        original.n_passes,
    )
    write_png(DOCS / "images" / "concepts.png", pass_figure(shown, 1))
    write_png(DOCS / "images" / "concepts_strip.png", strip_figure(shown, scale=0.8))


if __name__ == "__main__":
    main()
