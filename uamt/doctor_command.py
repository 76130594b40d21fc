"""`uamt doctor`: whether a detector is fit for mutation testing, check by check."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uamt.outcome import DONE, FAILED, MISSING, Notes, Outcome, harmless
from uamt.presentation import paragraph

if TYPE_CHECKING:
    from runners.images import ImageRef
    from uamt.doctor_checks import Check

ABOUT = "prove on a detector that mutation works and leaves nothing behind"
EXAMPLE = "uamt doctor fasterrcnn_resnet50_fpn --weights DEFAULT --images photos/"
OPTION_KEYS = (
    "model.weights",
    "model.args",
    "model.one_hot",
    "model.n_classes",
    "model.device",
    "images",
    "image_root",
    "sites",
    "seed",
    "score_threshold",
)
"""Keys of the options it takes, beside the model's name."""


def run(arguments: argparse.Namespace) -> Outcome:
    """Say every check of a detector; 1 if one fails, 3 if the images prove nothing."""
    from runners.images import read_image
    from uamt.cli import given_options
    from uamt.configuration import load
    from uamt.doctor import Listener, examine, n_of_steps
    from uamt.experiments import weights_note
    from uamt.options import OPTIONS, as_flags
    from uamt.progress import say_above_bars, step_progress

    given = given_options(arguments)
    values: dict[str, Any] = {option.key: option.default for option in OPTIONS}
    values |= {"model.name": arguments.model, **given}
    listed = _doctor_images(values["images"], values["image_root"])
    some = listed[:: max(1, len(listed) // _DOCTOR_IMAGES)][:_DOCTOR_IMAGES]
    images = {image.relative_path: read_image(image.path) for image in some}
    detector, notes = load(values), Notes()
    if warning := weights_note(detector):
        notes.say(warning, "WARNING")
    total = n_of_steps(detector, values["sites"])
    notes.say(f"examining on {_count(images, listed)}; each check is said when it is done")
    examined, why_fewer = list(images), ""

    def fewer(names: Sequence[str], seconds: float) -> None:
        nonlocal examined, why_fewer
        examined, why_fewer = list(names), f", for one takes {seconds:.0f} s"
        notes.say(f"on {_count(names, listed)}{why_fewer}")

    def say(check: Check) -> None:
        if not arguments.json:
            line = paragraph(f"{check.outcome:<12}  {check.claim}: {check.detail}", hang=14)
            say_above_bars(harmless(line))

    with step_progress(total, "examining", "step", is_below_lines=True) as on_step:
        checks = examine(
            detector,
            images,
            values["sites"],
            values["score_threshold"],
            seed=values["seed"],
            listener=Listener(on_step, say, fewer),
        )
    if not arguments.json:
        print()
    outcomes = [check.outcome for check in checks]
    then = None
    if "FAILED" in outcomes:
        done = (
            f"not fit for mutation testing yet: {outcomes.count('FAILED')} of {len(checks)} checks "
            f"failed."
        )
    elif "inconclusive" in outcomes:
        done = (
            f"inconclusive; nothing failed, but {outcomes.count('inconclusive')} of {len(checks)} "
            f"checks need other images, another threshold or model."
        )
    else:
        done = f"fit for mutation testing: all {len(checks)} checks hold."
        operators = {check.claim.partition(" ")[0] for check in checks}
        few = {k: v for k, v in _FIRST_MUTANTS.items() if k.split(".")[1] in operators}
        asked = {"model.name": arguments.model, "images": "photos/", **few, **given}
        asked |= first_run(arguments.model, values["images"], listed)
        then = f"uamt run {as_flags(asked)}"
    if values["images"]:
        where = f"{_count(examined, listed)} ({', '.join(examined)}){why_fewer}"
    else:
        where = "built-in pictures, for no --images name yours"
    return Outcome(
        f"{arguments.model}, on {where}: {done}",
        FAILED if "FAILED" in outcomes else MISSING if "inconclusive" in outcomes else DONE,
        then=then,
        why="a first small run; without the rates: the study's 54 mutants",
        counts={outcome: outcomes.count(outcome) for outcome in ("ok", "FAILED", "inconclusive")},
        facts={"checks": [asdict(check) for check in checks]},
        notes=notes.all(),
    )


_FIRST_MUTANTS = {
    "operators.mc_dropout.rates": (0.02, 0.05, 0.1),
    "operators.mc_dropblock.rates": (0.1,),
    "operators.mc_dropblock.blocks": (3,),
}
"""Options of a first run: a few mutants, of which some are mild."""
_DOCTOR_IMAGES = 4


def _doctor_images(source: str | None, image_root: str | None) -> list[ImageRef]:
    from runners.builtin import suites as builtin_suites
    from runners.images import list_images

    images = Path(source) if source else builtin_suites()["plain"]
    root = Path(image_root) if image_root else None
    return list(list_images(images, "images", "path", root))


def _count(some: Collection[str], listed: Sequence[ImageRef]) -> str:
    of_all = f" of {len(listed)}" if len(some) < len(listed) else ""
    return f"{len(some)}{of_all} image{'' if len(listed) == 1 else 's'}"


def first_run(model: str, source: str | None, images: Sequence[ImageRef]) -> dict[str, str]:
    """Return further options of a first run: names, folders of suites, and where it goes."""
    # A folder of its own: results of several models in one are judged together.
    number = 1
    while Path(out := "experiment" if number == 1 else f"experiment_{number}").exists():
        number += 1
    found = {"out": out}
    module, _, function = model.partition(":")
    if function:
        # A module says more than its function, which is often called `build`.
        found["model.folder"] = module.rpartition(".")[2]
    parts = [image.relative_path.split("/") for image in images]
    if source and Path(source).is_dir() and all(len(part) == 2 for part in parts):
        found["suites"] = "folders"
    return found
