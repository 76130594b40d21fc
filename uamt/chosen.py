"""Choosing: which image of an experiment, under which mutant, a few names mean."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from runners.manifest_file import read_manifest
from scoring.errors import ConfigError, DataError
from scoring.layout import Branch, expect_folder, find_branches, original_tag
from scoring.stems import output_names
from scoring.tags import plain_tag, tag_order


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
    expect_folder(root)
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
