"""Import and export: other people's outputs as an experiment, and an experiment as theirs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from runners.locks import folder_locked
from runners.manifest_file import configuration_hash, merge_model, read_manifest
from scoring.errors import ConfigError, DataError
from scoring.exchange import ForeignOutput, check_output, refuse_other, write_output
from scoring.exchange_coco import CocoImages
from scoring.exchange_coco_results import CocoIds, dataset, export_sweep, ids_of
from scoring.files import write_atomic
from scoring.folder_names import check_folder_name
from scoring.layout import ORIGINAL_TAGS, Branch, original_tag, refuse_long_names
from scoring.tags import dropblock_tag, dropout_tag
from uamt.selection import select


@dataclass(frozen=True, slots=True)
class Target:
    """Where an import goes, and as what.

    Args:
        root: The experiment's folder.
        branch: Operator, model and suite.
        tag: The mutant; `original` is the unmutated model.
    """

    root: Path
    branch: Branch
    tag: str

    @classmethod
    def of(cls, root: Path, operator: str, model: str, suite: str, tag: str) -> Target:
        """Return the target with all names checked and the tag in its one spelling.

        Raises:
            ConfigError: A name cannot be a folder's, or the tag is none of this operator.
        """
        branch = Branch(
            check_folder_name(operator, "operator"),
            check_folder_name(model, "model"),
            check_folder_name(suite, "suite"),
        )
        return cls(root, branch, mutant_tag_of(branch.operator, tag))


def mutant_tag_of(operator: str, text: str) -> str:
    """Return a tag in its one spelling.

    Args:
        operator: The operator.
        text: `original`, a rate (mc_dropout), rate and block (mc_dropblock), or any name without
            an underscore (other operators).

    Raises:
        ConfigError: The text is no tag of this operator.

    Example:
        >>> mutant_tag_of("mc_dropblock", ".10_3"), mutant_tag_of("mc_dropout", "original")
        ('0.1_3', '0')
    """
    if text == "original":
        return original_tag(operator)
    if operator == "mc_dropblock":
        rate, _, block = text.partition("_")
        if not block.isascii() or not block.isdigit():
            raise ConfigError(f"--tag: expected rate and block such as 0.1_3, got {text!r}")
        return dropblock_tag(rate, int(block))
    if operator in ORIGINAL_TAGS:
        return dropout_tag(text)
    if "_" in text:
        raise ConfigError(f"--tag: expected a name without underscore, got {text!r}")
    return check_folder_name(text, "tag")


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import holds: files that were written, and files that were there before."""

    n_written: int
    n_files: int
    n_images: int
    n_detections: int
    n_empty: int


def import_output(
    output: ForeignOutput,
    target: Target,
    *,
    kind: str,
    scores: Literal["softmax", "sigmoid"] | None = None,
    categories: Mapping[int, str] | None = None,
    repeat: int = 1,
    replace: bool = False,
    on_pass: Callable[[], None] = lambda: None,
) -> Imported:
    """Check an output whole, enter it in the manifest, and write its prediction files.

    Args:
        output: T passes, as a reader of a format returns them.
        target: Where they go.
        kind: The format, for the manifest.
        scores: What the class vectors are, where that is known.
        categories: Names of the labels.
        repeat: How often a single pass stands for one; only where there is one.
        replace: Write over predictions that are there and are others.
        on_pass: Called for each pass that was checked, and again when it was written.

    Raises:
        ConfigError: Other predictions are there, some were made under other settings, or an
            image's name is too long.
        DataError: A file is missing or broken; nothing was written.
    """
    if repeat < 1 or (repeat > 1 and output.n_passes > 1):
        raise ConfigError(
            f"--repeat: expected 1 or more, and a single pass to repeat; got {repeat} for "
            f"{output.n_passes} passes"
        )
    names = {name: stem for stem, name in output.files.items()}
    refuse_long_names([(target.branch.operator, target.tag)], names)
    checked = check_output(output, on_pass)
    if not replace:
        refuse_other(output, target.root, target.branch, target.tag, repeat=repeat)
    branch = target.branch
    settings = {
        "imported": {"format": kind},
        "model": {
            "scores": "one_hot" if output.n_made_up is not None else scores,
            "label_names": _dense(categories or {}),
        },
    }
    is_mutant = target.tag != original_tag(branch.operator)
    operator = {"tags": [target.tag] if is_mutant else [], "effective_blocks": {}}
    section = {
        "settings": settings,
        "settings_sha256": configuration_hash(settings),
        "operators": {branch.operator: operator},
        "suites": {branch.suite: {name: {"stem": s} for s, name in output.files.items()}},
    }
    with folder_locked(target.root):
        merge_model(target.root, branch.model, section, advice="choose another --out or --model")
    written = write_output(output, target.root, branch, target.tag, repeat=repeat, on_pass=on_pass)
    n_images = len(output.files)
    return Imported(
        written,
        n_images * output.n_passes * repeat,
        n_images,
        checked.n_detections,
        checked.n_empty * repeat,
    )


_MOST_NAMES = 10_000


def _dense(categories: Mapping[int, str]) -> list[str]:
    """Return the names by label id, with gaps as the COCO weights of torchvision name them."""
    if not categories or min(categories) < 0 or max(categories) >= _MOST_NAMES:
        return []
    return [categories.get(number, "N/A") for number in range(max(categories) + 1)]


@dataclass(frozen=True, slots=True)
class ExportSummary:
    """What an export wrote, and what it left out."""

    n_files: int
    n_mutants: int
    n_crashed: int
    datasets: tuple[Path, ...]
    notes: tuple[str, ...]
    is_complete: bool


def export_coco(
    root: Path,
    out: Path,
    *,
    images: CocoImages | None = None,
    vectors: str,
    passes: int | None = None,
    on_mutant: Callable[[], None] = lambda: None,
) -> ExportSummary:
    """Write an experiment as COCO results: `{model}/{suite}/{operator}_{tag}/pass_{t}.json`.

    Args:
        root: The experiment's folder.
        out: Where the results go.
        images: Ids to use; None makes ids up and writes them to `{model}/{suite}/images.json`.
        vectors: Field of the class vector.
        passes: T, the first passes; None means all.
        on_mutant: Called for each mutant that was written, and for each original.

    Raises:
        DataError: There are no predictions, a file is missing or broken, or the given ids lack
            an image or a label.
    """
    n_files = n_mutants = n_crashed = 0
    labels: dict[Path, set[int]] = {}
    stems: dict[Path, dict[str, None]] = {}
    selection = select(root)
    sweeps = selection.sweeps
    for sweep in sweeps:
        folder = out / sweep.branch.model / sweep.branch.suite
        stems.setdefault(folder, {}).update(dict.fromkeys(sweep.stems))
    models = read_manifest(root)["models"]
    for sweep in sweeps:
        branch = sweep.branch
        folder = out / branch.model / branch.suite
        ids = _ids(images, list(stems[folder]))
        written = export_sweep(sweep, folder, ids, vectors, passes, on_mutant=on_mutant)
        labels.setdefault(folder, set()).update(written.labels)
        n_files += written.n_files
        n_mutants += len(sweep.tags)
        n_crashed += len(written.crashed)
    datasets = []
    for folder, found in labels.items() if images is None else ():
        model, suite = folder.parts[-2:]
        section = models.get(model, {})
        content = dataset(
            ids_of(list(stems[folder])), _file_names(section, suite), _names_of(section, found)
        )
        write_atomic(folder / "images.json", content)
        datasets.append(folder / "images.json")
    selection.refuse_changes()
    return ExportSummary(
        n_files,
        n_mutants,
        n_crashed,
        tuple(datasets),
        tuple(selection.notes()),
        selection.is_complete,
    )


def _ids(images: CocoImages | None, stems: list[str]) -> CocoIds:
    if images is None:
        return CocoIds(ids_of(stems))
    ids = {stem: number for number, stem in images.stems.items()}
    missing = [stem for stem in stems if stem not in ids]
    if missing:
        raise DataError(f"image '{missing[0]}': expected it among the annotations' images")
    return CocoIds(ids, frozenset(images.categories))


def _file_names(section: Mapping[str, Any], suite: str) -> dict[str, str]:
    images = section.get("suites", {}).get(suite, {})
    return {image["stem"]: path for path, image in images.items()}


def _names_of(section: Mapping[str, Any], labels: set[int]) -> dict[int, str]:
    """Return a name for every label that occurs and for all that the manifest names."""
    known = section.get("settings", {}).get("model", {}).get("label_names", [])
    named = {number: name for number, name in enumerate(known) if name != "N/A"}
    return dict(sorted({**{label: f"class {label}" for label in labels}, **named}.items()))
