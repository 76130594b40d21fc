"""A sweep: every image of a suite under every mutant of an operator, from prediction files."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from scoring.errors import DataError
from scoring.fast import expect_pairs
from scoring.layout import Branch, original_tag, prediction_path
from scoring.passes import Passes
from scoring.predictions import read_passes
from scoring.rows import COLUMNS, score_image
from scoring.rules import DEEPLUQ, Rules
from scoring.tags import tag_order

_TAGS = {
    "mc_dropout": re.compile(r"\d+(\.\d+)?"),
    "mc_dropblock": re.compile(r"\d+(\.\d+)?_\d+"),
}
_ANY_TAG = re.compile(r"[^_]+")


@dataclass(frozen=True, slots=True)
class Sweep:
    """The images and mutants that a branch of an experiment holds.

    Args:
        root: The experiment's folder.
        branch: Operator, model and suite.
        stems: Images, in the order of the rows.
        tags: Mutants without the original, mildest first.
        crashed: Pairs of stem and tag that are known to have no passes.
    """

    root: Path
    branch: Branch
    stems: tuple[str, ...]
    tags: tuple[str, ...]
    crashed: frozenset[tuple[str, str]] = frozenset()

    def crashed_by_tag(self) -> dict[str, list[str]]:
        """Return the images on which each mutant crashed, of those that crashed on any."""
        by_tag = {
            tag: [stem for stem in self.stems if (stem, tag) in self.crashed] for tag in self.tags
        }
        return {tag: stems for tag, stems in by_tag.items() if stems}


def find_sweep(
    root: Path,
    branch: Branch,
    *,
    stems: Sequence[str] | None = None,
    tags: Sequence[str] | None = None,
    crashed: Collection[tuple[str, str]] = (),
) -> Sweep:
    """Return the images and mutants of a branch.

    Stems come from the original's folders, whose prefix is known; tags from the folders whose rest
    is a known stem. A name is never split into a tag and an unknown stem, since stems may begin
    with digits.

    Args:
        root: The experiment's folder.
        branch: Operator, model and suite.
        stems: Images to score; None means all, in the order of their names.
        tags: Mutants to score; None means all that are there.
        crashed: Pairs of stem and tag that are known to have no passes, because the mutant
            crashed on the image.

    Raises:
        DataError: The folder, the original or the mutants are not there.

    Source: scoring.md, section 1.
    """
    folder = branch.suite_folder(root)
    if not folder.is_dir():
        raise DataError(f"{folder}: expected the prediction folders of {branch}, found no folder")
    names = sorted(entry.name for entry in folder.iterdir() if entry.is_dir())
    original = branch.prefix(original_tag(branch.operator))
    known = [name.removeprefix(original) for name in names if name.startswith(original)]
    if stems is None:
        stems = known
    if not known:
        raise DataError(
            f"{folder}: expected folders '{original}<image>' of the unmutated model, found none "
            f"among {len(names)} folders"
        )
    if tags is None:
        tags = _tags_of(branch, names, set(known))
    if not tags:
        raise DataError(
            f"{folder}: expected folders '{branch.operator}_<tag>_<image>' of at least one mutant "
            f"beside the original, found none"
        )
    return Sweep(root, branch, tuple(stems), tuple(tags), frozenset(crashed))


def _tags_of(branch: Branch, names: Sequence[str], stems: set[str]) -> list[str]:
    shape = _TAGS.get(branch.operator, _ANY_TAG)
    head = f"{branch.operator}_"
    endings = {f"_{stem}" for stem in stems}
    found = set()
    for name in names:
        rest = name.removeprefix(head)
        tag = shape.match(rest)
        if name.startswith(head) and tag and rest[tag.end() :] in endings:
            found.add(tag.group())
    return sorted(found - {original_tag(branch.operator)}, key=tag_order)


def score_sweep(
    sweep: Sweep, *, n_passes: int | None = None, rules: Rules = DEEPLUQ
) -> Iterator[tuple[str, npt.NDArray[np.float64]]]:
    """Yield each image's stem and its (M, 37) rows, one per tag of the sweep, NaN where it crashed.

    The original of an image is read once for all mutants.

    Args:
        sweep: What to score.
        n_passes: T, the first passes of every folder; None means all, which must be equally many.
        rules: Which definition each number follows.

    Raises:
        DataError: A pass is missing or a file broken; the message names the image.
    """
    expect_pairs(len(sweep.stems) * len(sweep.tags))
    for stem in sweep.stems:
        try:
            original, mutants = read_image(sweep, stem, n_passes=n_passes, rules=rules)
            rows = np.full((len(sweep.tags), len(COLUMNS)), np.nan)
            rows[[(stem, tag) not in sweep.crashed for tag in sweep.tags]] = score_image(
                original, mutants, rules
            )
        except DataError as error:
            raise DataError(f"image '{stem}': {error}") from error
        yield stem, rows


def read_image(
    sweep: Sweep, stem: str, *, n_passes: int | None = None, rules: Rules = DEEPLUQ
) -> tuple[Passes, list[Passes]]:
    """Return the passes of one image: the original's, and those of every mutant that has them.

    Raises:
        DataError: A pass is missing, a file is broken, or a mutant has more passes than the
            original and `n_passes` does not say how many count.
    """
    branch, suite = sweep.branch, sweep.branch.suite_folder(sweep.root)
    folder = branch.folder_in(suite, original_tag(branch.operator), stem)
    # Passes that shall be skipped must first be seen.
    nonfinite = "keep" if rules.nonfinite == "skip" else rules.nonfinite
    original = read_passes(folder, n_passes, nonfinite)
    total = original.n_passes
    mutants = []
    for tag in sweep.tags:
        if (stem, tag) in sweep.crashed:
            continue
        folder = branch.folder_in(suite, tag, stem)
        mutants.append(read_passes(folder, total, nonfinite))
        if n_passes is None and prediction_path(folder, total).exists():
            raise DataError(
                f"{folder} holds more than the {total} passes of the original; score the first "
                f"ones with --passes {total}"
            )
    return original, mutants
