"""The commands `uamt import coco`, `uamt import yolo` and `uamt export coco`."""

from __future__ import annotations

import argparse
import difflib
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scoring.errors import ConfigError
from uamt.outcome import DONE, INCOMPLETE, Notes, Outcome
from uamt.presentation import count_of, examples_text

if TYPE_CHECKING:
    from scoring.exchange import ForeignOutput
    from uamt.exchange import Target

DEFAULT_SUITE = "orig"
"""What the study's repository calls the suite of the images as they are."""

AddCommand = Callable[..., argparse.ArgumentParser]


def add_exchange(subparsers: Any, add_command: AddCommand) -> None:
    """Add the commands to the parser.

    Args:
        subparsers: Where commands are added.
        add_command: Adds one, from its name, function, description and example.
    """
    example = (
        "uamt import coco passes/run_*.json --annotations instances.json --model yolo11 "
        "--operator mc_dropout --tag 0.1 --out experiment"
    )
    group = subparsers.add_parser(
        "import",
        help="other tools' outputs as prediction files: COCO results, YOLO text",
        description="Other tools' outputs as prediction files, one mutant or original at a time.",
        epilog=examples_text(example),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    formats = group.add_subparsers(title="formats", metavar="FORMAT", required=True)
    coco = add_command(
        formats, "coco", import_coco, "COCO results as prediction files, a JSON per pass", example
    )
    coco.add_argument("passes", nargs="+", metavar="JSON", help="results, pass 0 first")
    coco.add_argument(
        "--annotations",
        required=True,
        metavar="JSON",
        help="COCO dataset with images (id, file_name) and categories (id, name)",
    )
    coco.add_argument(
        "--vectors", metavar="FIELD", help="of the class vector; default: class_probs"
    )
    _add_target(coco)
    yolo = add_command(
        formats,
        "yolo",
        import_yolo,
        "YOLO text outputs with confidences as prediction files, a folder per pass",
        "uamt import yolo runs/pass_*/labels --images photos/ --one-hot --n-classes 80 "
        "--model yolo11 --operator mc_dropout --tag original --out experiment",
    )
    yolo.add_argument("passes", nargs="+", metavar="FOLDER", help="text files, pass 0 first")
    sizes = yolo.add_mutually_exclusive_group(required=True)
    sizes.add_argument("--images", metavar="FOLDER", help="the images, for names and sizes")
    sizes.add_argument(
        "--sizes", metavar="FILE", help="CSV of name,width,height, or COCO JSON with sizes"
    )
    yolo.add_argument("--n-classes", type=int, metavar="N", help="classes, for --one-hot")
    _add_target(yolo)

    example = "uamt export coco experiment/ --out coco_results"
    group = subparsers.add_parser(
        "export",
        help="an experiment as other tools' outputs: COCO results",
        description="An experiment as other tools' outputs.",
        epilog=examples_text(example),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    formats = group.add_subparsers(title="formats", metavar="FORMAT", required=True)
    export = add_command(
        formats, "coco", export_coco, "COCO results, a JSON per mutant and pass", example
    )
    export.add_argument("root", metavar="ROOT", help="folder of the experiment")
    export.add_argument("--out", required=True, metavar="FOLDER", help="where the results go")
    export.add_argument(
        "--annotations", metavar="JSON", help="dataset whose image ids hold; default: made up"
    )
    export.add_argument("--vectors", metavar="FIELD", help="class vector; default: class_probs")
    export.add_argument("--passes", type=int, metavar="N", help="the first N passes; default: all")
    _add_names(export)


def _add_target(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", required=True, metavar="ROOT", help="folder of the experiment")
    parser.add_argument("--model", required=True, metavar="NAME", help="the model's folder name")
    parser.add_argument(
        "--operator", required=True, metavar="NAME", help="mc_dropout, mc_dropblock, or another"
    )
    parser.add_argument(
        "--tag",
        required=True,
        metavar="TAG",
        help="the mutant: rate 0.1, rate and block 0.1_3; 'original': the unmutated model",
    )
    parser.add_argument(
        "--suite",
        metavar="NAME",
        help=f"the suite's folder name; default: {DEFAULT_SUITE}",
    )
    parser.add_argument(
        "--one-hot",
        action="store_true",
        help="make up class vectors: the score at the label, zeros elsewhere",
    )
    parser.add_argument(
        "--scores", choices=("softmax", "sigmoid"), help="what the class vectors are"
    )
    parser.add_argument(
        "--repeat", type=int, default=1, metavar="N", help="a single pass stands for N"
    )
    parser.add_argument("--replace", action="store_true", help="write over other predictions there")
    _add_names(parser)


def _add_names(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--names",
        choices=("stem", "path"),
        default="stem",
        help="what results are named by: the file's name, or its whole path; default: stem",
    )


def import_coco(arguments: argparse.Namespace) -> Outcome:
    """Import COCO results; say what was written."""
    from scoring.exchange_coco import VECTOR_FIELD, CocoOutput, read_coco_images

    images = read_coco_images(Path(arguments.annotations), arguments.names)
    vectors = arguments.vectors or VECTOR_FIELD
    notes = Notes()
    passes = _ordered(arguments.passes, notes)
    output = CocoOutput(passes, images, arguments.one_hot, vectors)
    return _import(arguments, output, "coco", notes, categories=images.categories)


def import_yolo(arguments: argparse.Namespace) -> Outcome:
    """Import YOLO text outputs; say what was written."""
    from scoring.exchange_yolo import YoloOutput
    from uamt.image_sizes import sizes_of_file, sizes_of_images

    if arguments.one_hot != (arguments.n_classes is not None):
        raise ConfigError(
            "--one-hot and --n-classes: expected both or neither; a made-up class vector needs "
            "a length"
        )
    if arguments.images:
        images = sizes_of_images(Path(arguments.images), arguments.names)
    else:
        images = sizes_of_file(Path(arguments.sizes), arguments.names)
    notes = Notes()
    passes = _ordered(arguments.passes, notes)
    output = YoloOutput(passes, images.files, images.sizes, arguments.n_classes)
    return _import(arguments, output, "yolo", notes)


def _ordered(names: list[str], notes: Notes) -> list[Path]:
    """Return the passes in the order given, with a note where numbers in names say another."""
    by_number = sorted(names, key=_number_key)
    if names != by_number:
        t = next(t for t, pair in enumerate(zip(names, by_number, strict=True)) if len({*pair}) > 1)
        notes.say(
            f"passes are taken in the order given: pass {t} is {names[t]}, not {by_number[t]}"
        )
    return [Path(name) for name in names]


def _number_key(name: str) -> list[tuple[int, str]]:
    parts = re.split(r"(\d+)", name)
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]


def _import(
    arguments: argparse.Namespace, output: ForeignOutput, kind: str, notes: Notes, **names: Any
) -> Outcome:
    from uamt.exchange import Target, import_output
    from uamt.progress import step_progress

    target = Target.of(
        Path(arguments.out),
        arguments.operator,
        arguments.model,
        arguments.suite or DEFAULT_SUITE,
        arguments.tag,
    )
    if arguments.one_hot and arguments.scores:
        raise ConfigError("--scores: made-up class vectors (--one-hot) are neither")
    with step_progress(2 * output.n_passes, "importing", "pass") as on_step:
        done = import_output(
            output,
            target,
            kind=kind,
            scores=arguments.scores,
            repeat=arguments.repeat,
            replace=arguments.replace,
            on_pass=on_step,
            **names,
        )
    if note := _operator_note(target.branch.operator):
        notes.say(note)
    if note := _passes_note(target, output, arguments.repeat):
        notes.say(note)
    if arguments.one_hot:
        notes.say(
            "class vectors are made up (one-hot): vr, ie and mi say nothing of the model's own "
            "class uncertainty"
        )
    n_passes = done.n_files // done.n_images
    branch = target.branch
    by_default = ", the name where --suite gives none" if arguments.suite is None else ""
    holding = done.n_files - done.n_empty
    if done.n_empty:
        held = f"{holding:,} of {done.n_files:,} files hold detections, the others are empty"
    else:
        held = "every file holds detections"
    there = done.n_files - done.n_written
    if not done.n_written:
        held += "; all of it was there already, and nothing was written"
    elif there and not arguments.replace:
        held += f"; {there:,} of the files were there already"
    then, why = _next_import(target)
    return Outcome(
        f"{branch.operator} {target.tag} of model '{branch.model}' on suite '{branch.suite}'"
        f"{by_default}: {count_of(done.n_detections, 'detection')} on "
        f"{count_of(done.n_images, 'image')}, {count_of(n_passes, 'pass', 'passes')}; {held}.",
        paths={"predictions": branch.suite_folder(target.root).resolve()},
        then=then,
        why=why,
        counts={
            "files": done.n_files,
            "files_written": done.n_written,
            "images": done.n_images,
            "passes": n_passes,
            "detections": done.n_detections,
            "empty_files": done.n_empty,
        },
        notes=notes.all(),
    )


def _operator_note(operator: str) -> str | None:
    """Return what a person must know who named an operator that is not the study's."""
    from scoring.layout import ORIGINAL_TAGS
    from scoring.noise_floor import IDENTITY

    if operator in ORIGINAL_TAGS or operator == IDENTITY:
        return None
    near = difflib.get_close_matches(operator, ORIGINAL_TAGS, n=1)
    meant = f" (did you mean {near[0]}?)" if near else ""
    return (
        f"operator '{operator}' is none of the study's, {' and '.join(ORIGINAL_TAGS)}{meant}; its "
        f"mutants are scored the same, but tables and charts of ratios (docs/study.md) leave "
        f"them out"
    )


def _passes_note(target: Target, output: ForeignOutput, repeat: int) -> str | None:
    """Return that a mutant has fewer or more passes than its original, which is no score yet."""
    from scoring.layout import original_tag

    branch, n_passes = target.branch, output.n_passes * repeat
    originals = (
        branch.folder(target.root, original_tag(branch.operator), stem) for stem in output.files
    )
    # Counted without a look at gaps, which 'uamt score' and 'uamt verify' name.
    folder = next((folder for folder in originals if folder.is_dir()), None)
    of_original = sum(1 for _ in folder.glob("prediction_*.json")) if folder else n_passes
    if of_original == n_passes:
        return None
    return (
        f"the original has {count_of(of_original, 'pass', 'passes')} and {target.tag} has "
        f"{n_passes}: 'uamt score' compares equally many; import one of them again with as many "
        f"as the other, or score with --passes {min(of_original, n_passes)}"
    )


def _next_import(target: Target) -> tuple[str, str]:
    """Return the command that comes after an import, and what it is for."""
    from scoring.layout import original_tag

    root, branch = target.root, target.branch
    folder, original = branch.suite_folder(root), original_tag(branch.operator)
    prefix = branch.prefix(original)
    names = [path.name for path in folder.iterdir() if path.is_dir()]
    has_original = any(name.startswith(prefix) for name in names)
    if target.tag == original and all(name.startswith(prefix) for name in names):
        return "uamt import --help", "now its mutants, each with as many passes"
    if not has_original:
        return "uamt import --help", "now the original they are compared with: --tag original"
    return shlex.join(["uamt", "score", str(root)]), "how many mutants the images notice"


def export_coco(arguments: argparse.Namespace) -> Outcome:
    """Export COCO results; say what was written."""
    from scoring.exchange_coco import VECTOR_FIELD, read_coco_images
    from uamt.exchange import export_coco as export
    from uamt.progress import step_progress
    from uamt.selection import select

    if arguments.passes is not None and arguments.passes < 1:
        raise ConfigError(f"--passes: expected 1 or more, got {arguments.passes}")
    annotations = arguments.annotations
    images = read_coco_images(Path(annotations), arguments.names) if annotations else None
    root, out, notes = Path(arguments.root), Path(arguments.out), Notes()
    total = sum(1 + len(sweep.tags) for sweep in select(root).sweeps)
    with step_progress(total, "exporting", "mutant") as on_step:
        done = export(
            root,
            out,
            images=images,
            vectors=arguments.vectors or VECTOR_FIELD,
            passes=arguments.passes,
            on_mutant=on_step,
        )
    for note in done.notes:
        notes.say(note)
    if done.n_crashed:
        notes.say(f"{count_of(done.n_crashed, 'image x mutant pair')} crashed and have no entries")
    paths = {"results": out.resolve()}
    if done.datasets:
        paths["image ids and categories"] = done.datasets[0].resolve()
    return Outcome(
        f"{count_of(done.n_files, 'file')} of COCO results, one per pass of "
        f"{count_of(done.n_mutants, 'mutant')} and their originals.",
        INCOMPLETE if done.n_crashed or not done.is_complete else DONE,
        paths=paths,
        then="uamt import coco --help",
        why="any COCO tool reads them; this brings them back",
        counts={"files": done.n_files, "mutants": done.n_mutants, "crashed": done.n_crashed},
        facts={"datasets": [str(path.resolve()) for path in done.datasets]},
        notes=notes.all(),
    )
