"""Where things lie: the one place that knows the folders of predictions and of scores."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from scoring.errors import ConfigError, DataError

ORIGINAL_TAGS = {"mc_dropout": "0", "mc_dropblock": "0_1"}
"""Tag of the unmutated model, per operator; any other operator writes `0`."""

MANIFEST_NAME = "manifest.json"
LEDGER_NAME = "ledger.jsonl"
_RESULTS_PREFIX = "experiment_results_"
_ONLY_PUBLISHED_SUITE = "orig"


def original_tag(operator: str) -> str:
    """Return the tag under which an operator's original lies.

    Example:
        >>> original_tag("mc_dropblock")
        '0_1'
    """
    return ORIGINAL_TAGS.get(operator, "0")


@dataclass(frozen=True, slots=True, order=True)
class Branch:
    """One operator, model and suite of an experiment: a folder of mutants' outputs.

    Example:
        >>> branch = Branch("mc_dropout", "ssd300_vgg16", "orig")
        >>> branch.folder(Path("root"), "0.1", "38_Tennis").as_posix()
        'root/experiment_results_mc_dropout/ssd300_vgg16/dataset/orig/mc_dropout_0.1_38_Tennis'
    """

    operator: str
    model: str
    suite: str = _ONLY_PUBLISHED_SUITE

    def suite_folder(self, root: Path) -> Path:
        """Return the folder that holds one folder per image and mutant."""
        return root / f"{_RESULTS_PREFIX}{self.operator}" / self.model / "dataset" / self.suite

    def prefix(self, tag: str) -> str:
        """Return what the name of every folder of this mutant begins with."""
        return f"{self.operator}_{tag}_"

    def folder(self, root: Path, tag: str, stem: str) -> Path:
        """Return the folder of the T prediction files of one image under one mutant."""
        return self.folder_in(self.suite_folder(root), tag, stem)

    def folder_in(self, suite_folder: Path, tag: str, stem: str) -> Path:
        """Return the same, from what `suite_folder` returned."""
        return suite_folder / f"{self.prefix(tag)}{stem}"

    def table(self, results: Path, case_study: str, tag: str) -> Path:
        """Return the CSV file of one mutant; the published layout's suite `orig` adds no folder."""
        folder = results / case_study / self.model
        if self.suite != _ONLY_PUBLISHED_SUITE:
            folder /= self.suite
        return folder / self.operator / f"mutant_{tag}.csv"


LONGEST_NAME = 255
"""Bytes of the name of a file or folder, on every common file system."""


def refuse_long_names(mutants: Iterable[tuple[str, str]], stems: Mapping[str, str]) -> None:
    """Refuse images whose results would lie in folders of names that no file system takes.

    Args:
        mutants: Operator and tag of each.
        stems: Image -> name of its results.

    Raises:
        ConfigError: A name is too long; the message lists the images.
    """
    prefixes = [Branch(operator, "").prefix(tag) for operator, tag in mutants]
    longest = max(prefixes, key=lambda prefix: len(prefix.encode()), default="")
    room = LONGEST_NAME - len(longest.encode())
    bad = [image for image, stem in stems.items() if len(stem.encode()) > room]
    if bad:
        shown = ", ".join(repr(f"{i[:40]}...{i[-20:]}" if len(i) > 80 else i) for i in bad[:5])
        raise ConfigError(
            f"expected names of results of at most {room} bytes, for folders are called "
            f"'{longest}NAME' and no name may have more than {LONGEST_NAME}; longer: {shown}"
            f"{f' and {len(bad) - 5} more' if len(bad) > 5 else ''}; give these images shorter "
            f"names, or fewer folders where results are named by path"
        )


def experiment_of(folder: Path) -> tuple[Path, str] | None:
    """Return the experiment's folder and the model that a folder of prediction files is of.

    Args:
        folder: As `Branch.folder` returns it.

    Returns:
        None where it does not lie as in an experiment.

    Example:
        >>> folder = Branch("mc_dropout", "ssd", "day").folder(Path("root"), "0.1", "street")
        >>> root, model = experiment_of(folder)
        >>> root.as_posix(), model
        ('root', 'ssd')
    """
    parents = folder.parents
    if len(parents) < 5 or not parents[3].name.startswith(_RESULTS_PREFIX):
        return None
    return parents[4], parents[2].name


def prediction_name(t: int) -> str:
    """Return the name of the prediction file of pass t."""
    return f"prediction_{t}.json"


def prediction_path(folder: Path, t: int) -> Path:
    """Return the prediction file of pass t."""
    return folder / prediction_name(t)


def expect_folder(folder: Path) -> None:
    """Refuse what should be the folder of an experiment and is none; a near name may be meant.

    Raises:
        DataError: There is no such folder.
    """
    if folder.is_dir():
        return
    beside = [path.name for path in _folders(folder.parent)]
    near = difflib.get_close_matches(folder.name, beside, n=1)
    meant = f" (did you mean '{folder.with_name(near[0])}'?)" if near else ""
    what = "is a file and no folder" if folder.exists() else "there is no such folder"
    raise DataError(
        f"{folder}: {what}{meant}; name the folder of an experiment: --out of 'uamt run' or of "
        f"'uamt import'"
    )


def find_branches(root: Path) -> list[Branch]:
    """Return every operator, model and suite that an experiment's root holds, sorted."""
    return sorted(
        Branch(results.name.removeprefix(_RESULTS_PREFIX), model.name, suite.name)
        for results in _folders(root)
        if results.name.startswith(_RESULTS_PREFIX)
        for model in _folders(results)
        for suite in _folders(model / "dataset")
    )


def _folders(parent: Path) -> list[Path]:
    if not parent.is_dir():
        return []
    return sorted(p for p in parent.iterdir() if p.is_dir() and not p.name.startswith("."))


@dataclass(frozen=True, slots=True)
class Table:
    """A mutant's CSV file and what its place says about it."""

    path: Path
    case_study: str
    branch: Branch
    tag: str


def find_tables(results: Path) -> list[Table]:
    """Return every mutant's CSV file below a folder of results, in the order of their paths."""
    found = []
    for path in sorted(results.rglob("mutant_*.csv")):
        parts = path.relative_to(results).parts
        if len(parts) == 4:
            case_study, model, operator, name = parts
            suite = _ONLY_PUBLISHED_SUITE
        elif len(parts) == 5:
            case_study, model, suite, operator, name = parts
        else:
            continue
        tag = name.removeprefix("mutant_").removesuffix(".csv")
        found.append(Table(path, case_study, Branch(operator, model, suite), tag))
    return found
