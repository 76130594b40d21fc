"""Running an experiment: from a detector and images to prediction files."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from scoring.errors import ConfigError
from uamt.presentation import count_of

if TYPE_CHECKING:
    from mutators import Operator
    from runners.campaign import Campaign, Prepared
    from runners.detectors import Detector
    from runners.execution import Summary
    from runners.ledger import Entry
    from runners.ray_engine import RayOptions

OnUnit = Callable[["Entry", bool], None]


def run(
    detector: Detector,
    images: str | Path | Mapping[str, str | Path],
    operators: Sequence[Operator] | None = None,
    *,
    out: str | Path,
    names: Literal["stem", "path"] = "stem",
    suites: Literal["one", "folders"] = "one",
    image_root: str | Path | None = None,
    workers: int = 1,
    shard: str | None = None,
    on_error: Literal["skip", "stop"] = "skip",
    redo_changed: bool = False,
    memo: bool = True,
    engine: Literal["local", "ray"] = "local",
    address: str | None = None,
    gpu_fraction: float = 0,
    **settings: Any,
) -> Summary:
    """Run every mutant on every image, T passes each, and write a prediction file per pass.

    Runs resume: what is done under the same configuration is not run again. Warns of random
    weights, and of images that results are there of and that are no more among these.

    Args:
        detector: As `load_detector` returns it.
        images: A folder, a COCO file, a YOLO or VOC data set or a list (docs/images.md), or suite
            names with such a source each.
        operators: Sweeps; None means MC-Dropout and MC-DropBlock with the study's rates and
            blocks, DropBlock only where the sites are maps.
        out: The experiment's folder.
        names: Results are named by the file's stem, or by its path below the suite's folder.
        suites: The folder is one suite, or each folder in it is one.
        image_root: Folder of the images that a file lists; None means the file's own.
        workers: Processes; with more than one, a script needs the usual
            `if __name__ == "__main__"`.
        shard: `I/N`: take part I of N of the images.
        on_error: Record an unreadable image or a crash and go on, or stop.
        redo_changed: Run again what a changed configuration touches, instead of refusing it.
        memo: Compute once an image what lies before the sites; without it every pass is computed
            as a whole, with the same results.
        engine: Where workers run: processes of this machine, or actors on Ray (extra `ray`).
        address: Ray cluster to join; None means one on this machine.
        gpu_fraction: GPUs that each Ray worker takes.
        **settings: Fields of `runners.settings.Settings`: passes, seed, score_threshold, classes,
            chunk, threads, precision, curtail, kill_rule, curtail_mutants.

    Returns:
        What was run, skipped, unreadable and crashed.

    Raises:
        ConfigError: The images, sweeps or settings cannot be run as asked, or a run of this model
            is going on in the folder.
        DataError: Images are missing, or results cannot be computed.
    """
    from mutators import MCDropBlock, MCDropout
    from runners.campaign import Campaign, prepare
    from runners.images import list_suites
    from runners.settings import Settings
    from runners.shards import Shard
    from uamt.image_sources import save_sources

    ray = ray_options(engine, address, gpu_fraction)
    if ray:
        from runners.ray_engine import import_ray

        import_ray()  # asked for before anything is written
    if note := weights_note(detector):
        warnings.warn(note, stacklevel=2)
    if operators is None:
        operators, _ = fitting(detector, [MCDropout(), MCDropBlock()])
    campaign = Campaign(
        detector=detector,
        suites=list_suites(images, names=names, suites=suites, image_root=image_root),
        operators=operators,
        settings=Settings(**settings),
        root=Path(out),
        on_error=on_error,
        use_memo=memo,
        shard=Shard.parse(shard) if shard else Shard(),
    )
    with ExitStack() as held:
        prepared = prepare(campaign, redo_changed=redo_changed, held=held)
        save_sources(campaign.root, detector.name, images, suites, image_root)
        if prepared.removed:
            warnings.warn(removal_note(prepared), stacklevel=2)
        return run_prepared([prepared], workers, ray=ray)[0]


def units_text(number: int, passes: str) -> str:
    """Return a number of units, what a unit is, and its passes.

    Example:
        >>> units_text(2, "10 passes")
        '2 units (one image under one mutant or original, 10 passes)'
    """
    return f"{count_of(number, 'unit')} (one image under one mutant or original, {passes})"


def work_text(campaign: Campaign) -> str:
    """Return of which images and mutants the units of a run are.

    Each operator has an original of its own, which runs over every image as a mutant does.
    """
    names = [operator.name for operator in campaign.operators]
    originals = count_of(len(names), "original")
    if len(names) > 1:
        originals += f" (one for each kind of noise: {', '.join(names)})"
    return (
        f"{count_of(len(campaign.own_images), 'image')} under "
        f"{count_of(len(campaign.mutants()) - len(names), 'mutant')} and {originals}"
    )


def removal_note(prepared: Prepared) -> str:
    """Return a sentence on the images that the suites have no more."""
    removed = prepared.removed
    more = f" and {len(removed) - 5} more" if len(removed) > 5 else ""
    return (
        f"{count_of(len(removed), 'image')} of earlier runs left the manifest, for the suites have "
        f"them no more: {', '.join(removed[:5])}{more}; their results stay, and are scored again "
        f"once the images are back and run"
    )


def ray_options(
    engine: str, address: str | None = None, gpu_fraction: float = 0
) -> RayOptions | None:
    """Return how Ray is used, or None if it is not.

    Raises:
        ConfigError: There is no such engine, Ray's options are given and Ray is not the engine,
            or one is out of range.
    """
    if engine == "ray":
        from runners.ray_engine import RayOptions

        return RayOptions(address, gpu_fraction)
    if engine != "local":
        raise ConfigError(f"--engine: expected local or ray, got {engine!r}")
    for flag, value in (("--address", address), ("--gpu-fraction", gpu_fraction)):
        if value:
            raise ConfigError(f"{flag}: expected --engine ray with it")
    return None


def weights_note(detector: Detector) -> str | None:
    """Return what a person must know who named no weights for a builder; None if all is well."""
    if detector.weights.get("kind") != "random":
        return None
    return (
        f"{detector.architecture} has RANDOM weights, for none were named: what it finds means "
        f"nothing, and neither does any score; pass --weights DEFAULT for the published ones (a "
        f"download), or --weights FILE for a state_dict of your own"
    )


def fitting(detector: Detector, operators: Sequence[Operator]) -> tuple[list[Operator], list[str]]:
    """Return the sweeps that a detector can run, and a note on each that was left out.

    DropBlock needs maps, which fully connected sites are not.
    """
    from runners.campaign import applicable_operators

    runs, cannot = applicable_operators(detector, operators)
    notes = [
        f"{operator.name} is left out: the sites {getattr(operator, 'sites', '')!r} of "
        f"{detector.name} are fully connected"
        for operator in cannot
    ]
    return runs, notes


def run_prepared(
    campaigns: Sequence[Prepared],
    workers: int = 1,
    on_unit: OnUnit | None = None,
    ray: RayOptions | None = None,
) -> list[Summary]:
    """Run prepared campaigns, in this process, in a pool or on Ray; return what was done in each.

    The manifests name the images that could not be read.

    Args:
        campaigns: As `prepare` returns them.
        workers: Number of processes, or of Ray actors.
        on_unit: Called with each unit's entry, and whether it was run now.
        ray: How to use Ray; None leaves it out.
    """
    from runners.execution import run_serially
    from runners.locks import folder_locked
    from runners.manifest_file import record_skipped
    from runners.pool import run_in_pool
    from runners.ray_engine import run_on_ray

    if ray:
        summaries = run_on_ray(campaigns, workers, ray, on_unit)
    elif workers == 1:
        summaries = [run_serially(prepared, on_unit) for prepared in campaigns]
    else:
        summaries = run_in_pool(campaigns, workers, on_unit)
    for prepared, summary in zip(campaigns, summaries, strict=True):
        campaign = prepared.campaign
        tried = [(ref.suite, ref.relative_path) for ref in campaign.own_images]
        with folder_locked(campaign.root):
            record_skipped(campaign.root, campaign.detector.name, tried, summary.unreadable)
    return summaries
