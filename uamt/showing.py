"""Showing: one image of an experiment under one mutant, found by name and drawn."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from runners.manifest_file import read_manifest
from scoring.errors import ConfigError, DataError
from scoring.layout import Branch, find_branches, original_tag
from scoring.objects import MEASURES
from scoring.rules import DEEPLUQ, Rules
from scoring.stems import output_names
from scoring.tags import plain_tag, tag_order

if TYPE_CHECKING:
    from PIL.Image import Image

    from uamt.figures import Figure


@dataclass(frozen=True, slots=True)
class Chosen:
    """An image under a mutant.

    Args:
        root: The experiment's folder.
        branch: Operator, model and suite.
        tag: The mutant.
        stem: The image's output name.
        path: Its file, where the caller named that.
    """

    root: Path
    branch: Branch
    tag: str
    stem: str
    path: Path | None


def find_root(start: Path) -> Path:
    """Return the experiment that a folder is or holds.

    Raises:
        ConfigError: It holds none, or several.
    """
    if find_branches(start):
        return start
    inside = [p for p in sorted(start.iterdir()) if p.is_dir() and find_branches(p)]
    if len(inside) == 1:
        return inside[0]
    found = ", ".join(f"'{path.name}'" for path in inside) or "none"
    raise ConfigError(
        f"expected one experiment in the folder '{start.resolve()}', found {found}; name it with "
        f"--root ROOT"
    )


def choose(
    root: Path,
    image: str,
    mutant: str,
    *,
    operator: str | None = None,
    model: str | None = None,
    suite: str | None = None,
) -> Chosen:
    """Return the one image and mutant that the names fit.

    Args:
        root: The experiment's folder.
        image: Output name (stem), path below the suite's folder, or path of the file.
        mutant: The mutant's tag.
        operator: Which operator's, where several have the tag.
        model: Which model's, where there are several.
        suite: Which suite's, where several have the image.

    Raises:
        ConfigError: Nothing fits, or more than one thing does; the message lists what there is.
        DataError: There are no predictions, or the mutant has none on this image.
    """
    branches = find_branches(root)
    if not branches:
        raise DataError(
            f"{root}: expected folders 'experiment_results_<operator>/<model>/dataset/<suite>', "
            f"found none; name the experiment's folder with --root"
        )
    for word, value, names in (
        ("operator", operator, {b.operator for b in branches}),
        ("model", model, {b.model for b in branches}),
        ("suite", suite, {b.suite for b in branches}),
    ):
        if value is not None and value not in names:
            raise ConfigError(f"--{word}: expected one of {_list(sorted(names))}, got {value!r}")
    fitting = [
        b
        for b in branches
        if operator in (None, b.operator) and model in (None, b.model) and suite in (None, b.suite)
    ]
    path = Path(image) if Path(image).is_file() else None
    with_image = [
        (b, stem)
        for b in fitting
        for stem in _stems(root, b, image, path)
        if _is_there(root, b, stem)
    ]
    if not with_image:
        raise ConfigError(_unknown_image(root, fitting, image))
    tag = plain_tag(mutant)
    found = [(b, s) for b, s in with_image if b.folder(root, tag, s).is_dir()]
    found = [(b, s) for b, s in found if tag != original_tag(b.operator)]
    if not found:
        raise _no_mutant(root, with_image, tag)
    for word, key in _CHOICES:
        several = list(dict.fromkeys(key(b) for b, _ in found))
        if len(several) > 1:
            raise ConfigError(
                f"image {image!r} under mutant {tag!r} is there for several {word}s: "
                f"{_list(several)}; choose one with --{word}"
            )
    branch, stem = found[0]
    if len(found) > 1:
        raise ConfigError(
            f"image: expected one of {_list([s for _, s in found])}, got {image!r}, which may be "
            f"any of them"
        )
    return Chosen(root, branch, tag, stem, path)


_CHOICES: tuple[tuple[str, Callable[[Branch], str]], ...] = (
    ("model", lambda branch: branch.model),
    ("suite", lambda branch: branch.suite),
    ("operator", lambda branch: branch.operator),
)


def _list(names: Sequence[str]) -> str:
    return ", ".join(names)


def _is_there(root: Path, branch: Branch, stem: str) -> bool:
    return branch.folder(root, original_tag(branch.operator), stem).is_dir()


def _stems(root: Path, branch: Branch, image: str, path: Path | None) -> list[str]:
    """Return the output names that a text may mean in a suite, without repeats."""
    images = read_manifest(root)["models"].get(branch.model, {}).get("suites", {})
    known = {p: entry["stem"] for p, entry in images.get(branch.suite, {}).items()}
    stems = [known[image]] if image in known else []
    if path is not None:
        parts = path.resolve().as_posix()
        stems += [stem for relative, stem in known.items() if parts.endswith(f"/{relative}")]
    if not stems:
        name = path.name if path is not None else image
        stems = [image, *output_names([name], "stem"), *output_names([name], "path")]
    return list(dict.fromkeys(stems))


def _unknown_image(root: Path, branches: Sequence[Branch], image: str) -> str:
    known: dict[str, None] = {}
    for branch in branches:
        prefix = branch.prefix(original_tag(branch.operator))
        names = sorted(p.name for p in branch.suite_folder(root).iterdir() if p.is_dir())
        known |= dict.fromkeys(n.removeprefix(prefix) for n in names if n.startswith(prefix))
    near = difflib.get_close_matches(image, known, n=3, cutoff=0.0)
    return (
        f"image: expected one of the {len(known)} images of '{root}' by name or path, got "
        f"{image!r}; the nearest are {_list(near)}"
    )


def _no_mutant(
    root: Path, with_image: Sequence[tuple[Branch, str]], tag: str
) -> ConfigError | DataError:
    """Return the error of a mutant that has no predictions: unknown, or crashed on this image."""
    from runners.ledger import Ledger
    from scoring.sweep import find_sweep
    from uamt.selection import branch_order

    if any(tag == original_tag(branch.operator) for branch, _ in with_image):
        return ConfigError(f"--mutant: {tag!r} is the original, which every mutant is shown beside")
    branches = {branch: stem for branch, stem in with_image}
    for unit, entry in Ledger(root).latest().items():
        branch = Branch(unit.operator, unit.model, unit.suite)
        if unit.tag == tag and branches.get(branch) == entry.stem and entry.status != "done":
            return DataError(
                f"image '{entry.stem}' has no predictions of {unit.operator} {tag} "
                f"({entry.status}{f': {entry.message}' if entry.message else ''}); choose another "
                f"mutant or image"
            )
    tags = {
        f"{branch.operator} {t}": t
        for branch in sorted(branches, key=branch_order)
        for t in find_sweep(root, branch).tags
    }
    near = sorted(
        difflib.get_close_matches(tag, set(tags.values()), n=4, cutoff=0.0), key=tag_order
    )
    of_near = [name for name, t in tags.items() if t in near]
    return ConfigError(
        f"--mutant: expected the tag of one of {len(tags)} mutants, got {tag!r}; the nearest are "
        f"{_list(of_near)}"
    )


def figure_of(
    chosen: Chosen,
    passes: int | Literal["all"] | None = None,
    *,
    images: Path | None = None,
    measure: str | None = "ie",
    scale: float = 1.0,
    rules: Rules = DEEPLUQ,
) -> Figure:
    """Return the annotated picture of an image under a mutant.

    Args:
        chosen: What to show.
        passes: Number of the pass; `all` for a film strip; None for the pass with the most misses
            and ghosts.
        images: Folder of the suite's pictures, where the experiment does not lead to it.
        measure: The measure that stands beside each box; None for none.
        scale: Size of the figure.
        rules: Which definition each number follows.

    Raises:
        ConfigError: There is no such pass or measure, or the scale is out of range.
        DataError: A prediction file or the picture is missing or broken.
    """
    from uamt.drawing import brightened
    from uamt.figures import Scene, pass_figure, strip_figure
    from uamt.image_places import ImagePlaces, open_upright

    if not 0.25 <= scale <= 8:
        raise ConfigError(f"--scale: expected 0.25 to 8, got {scale}")
    if measure is not None and measure not in MEASURES:
        raise ConfigError(f"--measure: expected one of {_list(MEASURES)}, got {measure!r}")
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
        model.get("label_names", ()),
        f"Image {stem}, suite {branch.suite}, model {branch.model}",
        f"{branch.operator} {chosen.tag}",
        full_passes,
        remarks,
    )
    if passes == "all":
        return strip_figure(scene, scale=scale)
    if passes is not None:
        return pass_figure(scene, passes, measure=measure, scale=scale)
    changes = tracks.counts()[:, 1:].sum(axis=1)
    why = ", the one with the most misses and ghosts" if changes.any() else ""
    return pass_figure(scene, int(changes.argmax()), measure=measure, scale=scale, why=why)


def _tracks(chosen: Chosen, rules: Rules) -> Any:
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
) -> Image:
    """Return one annotated picture of original against mutant; notebooks display it.

    Matches, misses and ghosts differ in colour and in line, and each object's uncertainty over
    the passes stands beside its box and in a table.

    Args:
        image: Output name (stem) of an image, or the path of its file.
        mutant: The mutant's tag: rate `0.1` (MC-Dropout), rate and block `0.1_3` (MC-DropBlock).
        root: The experiment's folder; None means the one in the current folder.
        passes: Number of a pass; `all` for a film strip of all T; None for the pass with the most
            misses and ghosts.
        operator: Needed where several operators have the tag.
        model: Needed where there are several models.
        suite: Needed where several suites have the image.
        images: Folder of the suite's pictures, where the experiment does not lead to it.
        out: PNG file that is written as well; the caption goes into it as its description.
        measure: The measure that stands beside each box: vr, ie, mi, var or ps; None for none.
        scale: Size of the figure; 1 for screens, 2 for print.
        rules: Which definition each number follows.

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
