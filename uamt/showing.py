"""Showing: one image of an experiment under one mutant, found by name and drawn."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from runners.manifest_file import read_manifest
from scoring.errors import ConfigError
from scoring.layout import original_tag
from scoring.objects import MEASURES
from scoring.rules import DEEPLUQ, Rules
from uamt.chosen import Chosen, choose, find_root
from uamt.label_names import read_label_names

if TYPE_CHECKING:
    from PIL.Image import Image

    from scoring.tracks import Tracks
    from uamt.figures import Figure


def figure_of(
    chosen: Chosen,
    passes: int | Literal["all"] | None = None,
    *,
    images: Path | None = None,
    measure: str | None = "ie",
    scale: float = 1.0,
    rules: Rules = DEEPLUQ,
    label_names: Sequence[str] = (),
) -> Figure:
    """Return the annotated picture of an image under a mutant.

    Args:
        chosen: What to show.
        passes: Number of the pass; `all` for a film strip; None for the pass that misses
            most, counted by the original's scores, or has most ghosts where none misses.
        images: Folder of the suite's pictures, where the experiment does not lead to it.
        measure: The measure that stands beside each box; None for none.
        scale: Size of the figure.
        rules: Which definition each number follows.
        label_names: Name of each label id; empty means as the detector told.

    Raises:
        ConfigError: There is no such pass or measure, or the scale is out of range.
        DataError: A prediction file or the picture is missing or broken.
    """
    from uamt.drawing import brightened
    from uamt.figure_words import chosen_pass
    from uamt.figures import pass_figure, strip_figure
    from uamt.image_places import ImagePlaces, open_upright
    from uamt.lettering import plain
    from uamt.scene import Scene

    if not 0.25 <= scale <= 8:
        raise ConfigError(f"--scale: expected 0.25 to 8, got {scale}")
    if measure is not None and measure not in MEASURES:
        raise ConfigError(f"--measure: expected one of {', '.join(MEASURES)}, got {measure!r}")
    branch, stem = chosen.branch, chosen.stem
    manifest = read_manifest(chosen.root)
    model = manifest["models"].get(branch.model, {}).get("settings", {}).get("model", {})
    if model.get("scores") in ("softmax", "sigmoid"):
        rules = rules.with_(scores=model["scores"])
    tracks, full_passes = _tracks(chosen, rules)
    if isinstance(passes, int) and not 0 <= passes < tracks.n_passes:
        raise ConfigError(
            f"--pass: expected 0 to {tracks.n_passes - 1}, for {tracks.n_passes} passes were run, "
            f"got {passes}"
        )
    places = ImagePlaces(chosen.root, manifest, branch.model, branch.suite, images)
    file = places.check(stem, chosen.path) if chosen.path else places.find(stem)
    shown, is_brightened = brightened(open_upright(file.path))
    remarks = []
    if is_brightened:
        remarks.append("The picture is brightened for viewing.")
    if file.is_same is False:
        remarks.append("CAUTION: the picture is not the one that was run; its bytes differ.")
    scene = Scene(
        shown,
        tracks,
        rules,
        label_names or model.get("label_names", ()),
        f"Image {plain(stem, 80)}, suite {plain(branch.suite, 40)}, model "
        f"{plain(branch.model, 40)}",
        f"{branch.operator} {chosen.tag}",
        full_passes,
        remarks,
    )
    if passes == "all":
        return strip_figure(scene, scale=scale)
    if passes is not None:
        return pass_figure(scene, passes, measure=measure, scale=scale)
    t, why = chosen_pass(scene)
    return pass_figure(scene, t, measure=measure, scale=scale, why=why)


def _tracks(chosen: Chosen, rules: Rules) -> tuple[Tracks, int]:
    """Return what became of the image's objects in the passes that both sides have, and T."""
    from scoring.pass_files import count_passes
    from scoring.predictions import read_passes
    from scoring.tracks import track

    branch, root = chosen.branch, chosen.root
    original, mutant = (
        branch.folder(root, tag, chosen.stem) for tag in (original_tag(branch.operator), chosen.tag)
    )
    full_passes = count_passes(original)
    n = min(full_passes, count_passes(mutant)) or None
    return track(read_passes(original, n), read_passes(mutant, n), rules), full_passes


def show(
    image: str | Path,
    mutant: str,
    root: str | Path | None = None,
    *,
    passes: int | Literal["all"] | None = None,
    operator: str | None = None,
    model: str | None = None,
    suite: str | None = None,
    images: str | Path | None = None,
    out: str | Path | None = None,
    measure: str | None = "ie",
    scale: float = 1.0,
    rules: Rules = DEEPLUQ,
    label_names: str | Path | None = None,
) -> Image:
    """Return one annotated picture of original against mutant; notebooks display it.

    Matches, misses and ghosts differ in colour and in line, and each object's uncertainty over
    the passes stands beside its box and in a table.

    Args:
        image: Output name (stem) of an image, or the path of its file.
        mutant: The mutant's tag: rate `0.1` (MC-Dropout), rate and block `0.1_3` (MC-DropBlock).
        root: The experiment's folder; None means the one in the current folder.
        passes: Number of a pass; `all` for a film strip of all T; None for the one that
            misses most, counted by the original's scores, or has most ghosts where none misses.
        operator: Needed where several operators have the tag.
        model: Needed where there are several models.
        suite: Needed where several suites have the image.
        images: Folder of the suite's pictures, where the experiment does not lead to it.
        out: PNG file that is written as well; the caption goes into it as its description.
        measure: The measure that stands beside each box: vr, ie, mi, var or ps; None for none.
        scale: Size of the figure; 1 for screens, 2 for print.
        rules: Which definition each number follows.
        label_names: File of what labels are called, one name per line from label 0; None means as
            the detector told.

    Raises:
        ConfigError: Names fit nothing or more than one thing, or an option is out of range.
        DataError: Predictions or picture are missing or broken.
    """
    place = Path(root) if root is not None else find_root(Path())
    chosen = choose(place, str(image), mutant, operator=operator, model=model, suite=suite)
    figure = figure_of(
        chosen,
        passes,
        images=Path(images) if images is not None else None,
        measure=measure,
        scale=scale,
        rules=rules,
        label_names=read_label_names(Path(label_names)) if label_names is not None else (),
    )
    if out is not None:
        write_png(Path(out), figure)
    return figure.image


def write_png(path: Path, figure: Figure) -> None:
    """Write a figure with its caption as the picture's description.

    Raises:
        ConfigError: The name does not end in .png.
    """
    import io

    from PIL.PngImagePlugin import PngInfo

    from scoring.files import write_atomic

    if path.suffix.lower() != ".png":
        raise ConfigError(f"--out: expected a name that ends in .png, got '{path}'")
    about = PngInfo()
    about.add_itxt("Description", figure.caption)
    buffer = io.BytesIO()
    figure.image.save(buffer, "PNG", pnginfo=about)
    write_atomic(path, buffer.getvalue())
