"""`uamt show`: one annotated picture of original against mutant."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from scoring.errors import ConfigError
from uamt.outcome import Outcome
from uamt.presentation import paragraph

ABOUT = "one annotated picture of original against mutant, or a film strip of all passes"
EXAMPLES = (
    "uamt show plain_00 --mutant 0.1_3",
    "uamt show photos/street.jpg --mutant 0.3 --passes all --scale 2 --out street.png",
)

_MEASURES = ("vr", "ie", "mi", "var", "ps", "none")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `uamt show`."""
    parser.add_argument("image", metavar="IMAGE", help="name (stem) of an image, or its file")
    parser.add_argument(
        "--mutant",
        required=True,
        metavar="TAG",
        help="the mutant: rate 0.1 (MC-Dropout), rate and block 0.1_3 (MC-DropBlock)",
    )
    parser.add_argument(
        "--root",
        metavar="ROOT",
        help="folder of the experiment; default: the one in the current folder",
    )
    for word in ("operator", "model", "suite"):
        parser.add_argument(f"--{word}", metavar="NAME", help=f"which {word}, if several fit")
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--pass",
        dest="number",
        type=int,
        metavar="N",
        help="number of the pass, from 0; default: the one that misses most, counted by the "
        "original's scores, or has most ghosts where none misses",
    )
    which.add_argument("--passes", choices=("all",), help="a film strip of all passes")
    parser.add_argument(
        "--images",
        metavar="FOLDER",
        help="the pictures of the suite; default: where the run found them",
    )
    parser.add_argument(
        "--label-names",
        metavar="FILE",
        help="what labels are called: a text file, one name per line from label 0; default: as the "
        "detector told",
    )
    parser.add_argument(
        "--measure",
        choices=_MEASURES,
        default="ie",
        help="uncertainty beside each box: class variation (vr), entropy (ie), mutual information "
        "(mi), box variance (var), box spread (ps), or none; default: ie",
    )
    parser.add_argument(
        "--rules",
        choices=("deepluq", "strict"),
        default="deepluq",
        help="definitions of match and measures, as published or as documented; default: deepluq",
    )
    parser.add_argument(
        "--scale", type=float, default=1.0, metavar="X", help="size; default: 1, for print: 2"
    )
    parser.add_argument(
        "--out",
        metavar="FILE.png",
        help="the picture; default: <image>_<operator>_<tag>_pass<N>.png here",
    )


def run(arguments: argparse.Namespace) -> Outcome:
    """Write the picture; say its caption and where it lies."""
    from scoring.rules import rules_named
    from uamt.chosen import choose, find_root
    from uamt.label_names import read_label_names
    from uamt.showing import figure_of, write_png

    if arguments.out and Path(arguments.out).suffix.lower() != ".png":
        raise ConfigError(f"--out: expected a name that ends in .png, got '{arguments.out}'")
    root = Path(arguments.root) if arguments.root else find_root(Path())
    chosen = choose(
        root,
        arguments.image,
        arguments.mutant,
        operator=arguments.operator,
        model=arguments.model,
        suite=arguments.suite,
    )
    figure = figure_of(
        chosen,
        arguments.passes or arguments.number,
        images=Path(arguments.images) if arguments.images else None,
        measure=None if arguments.measure == "none" else arguments.measure,
        scale=arguments.scale,
        rules=rules_named(arguments.rules),
        label_names=read_label_names(Path(arguments.label_names)) if arguments.label_names else (),
    )
    number = "all" if arguments.passes else f"pass{figure.number}"
    name = f"{chosen.stem}_{chosen.branch.operator}_{chosen.tag}_{number}.png"
    out = Path(arguments.out or name)
    write_png(out, figure)
    asked = ["uamt", "show", arguments.image, "--mutant", arguments.mutant]
    for name in ("root", "operator", "model", "suite", "images", "label_names"):
        if getattr(arguments, name):
            asked += [f"--{name.replace('_', '-')}", getattr(arguments, name)]
    then = None if arguments.passes else shlex.join([*asked, "--passes", "all"])
    counts = figure.counts
    return Outcome(
        "One picture written.",
        text=paragraph(figure.caption),
        paths={"picture": out.resolve()},
        then=then,
        why="a film strip of all passes",
        facts={
            "caption": figure.caption,
            "image": chosen.stem,
            "model": chosen.branch.model,
            "suite": chosen.branch.suite,
            "operator": chosen.branch.operator,
            "mutant": chosen.tag,
            "passes": [
                dict(zip(("matches", "misses", "ghosts"), row, strict=True)) for row in counts
            ],
            "shown_pass": figure.number,
        },
    )
