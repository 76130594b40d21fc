"""A campaign: every image of some suites under every mutant, written as prediction files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, NamedTuple

from torch import Tensor

from mutators import Operator, dropblock_sites, resolve_sites
from runners.chunks import ChunkChoice, batch_fault, choose_chunk
from runners.detectors import Detector
from runners.failures import is_out_of_memory, shown_failure
from runners.fingerprints import FileFingerprint
from runners.going_on import going_on
from runners.images import ImageRef, read_image
from runners.ledger import Ledger
from runners.locks import folder_locked
from runners.manifest import (
    OperatorPlan,
    device_name,
    model_section,
    operator_options,
    settings_section,
)
from runners.manifest_file import (
    merge_model,
    merged_manifest,
    operator_configuration,
    read_manifest,
    removed_images,
)
from runners.memory import out_of_memory, run_heaviest, with_fitting_chunk
from runners.passes import run_mutant, run_original
from runners.prepared import Campaign, Prepared
from runners.settings import Chunk, Settings, arithmetic
from scoring.errors import ConfigError, DataError
from scoring.layout import refuse_long_names
from scoring.predictions import encode_prediction

__all__ = [
    "Campaign",
    "Prepared",
    "applicable_operators",
    "check_operators",
    "prepare",
    "preview",
]


def check_operators(detector: Detector, operators: Sequence[Operator]) -> None:
    """Refuse sweeps that cannot run on a detector, before anything does.

    Raises:
        ConfigError: No operator, two of one name, sites that do not exist, or DropBlock where
            there is no four-dimensional site.
    """
    names = [operator.name for operator in operators]
    if not names:
        raise ConfigError("operators: expected at least one, got none")
    if len(set(names)) < len(names):
        raise ConfigError(f"operators: expected each once, got {', '.join(names)}")
    for operator in operators:
        mutants = operator.mutants()
        if not mutants:
            raise ConfigError(f"operator {operator.name}: expected at least one rate above 0")
        with mutants[0].mutation.on_model(detector.model):
            pass


def applicable_operators(
    detector: Detector, operators: Sequence[Operator]
) -> tuple[list[Operator], list[Operator]]:
    """Return the operators of a default sweep that a detector can run, and those it cannot.

    DropBlock needs maps of four dimensions, which fully connected sites do not have.
    """
    runs: list[Operator] = []
    cannot: list[Operator] = []
    for operator in operators:
        needs_maps = operator.name == "mc_dropblock"
        sites = getattr(operator, "sites", ())
        has_maps = not needs_maps or bool(dropblock_sites(detector.model, sites))
        (runs if has_maps else cannot).append(operator)
    return runs, cannot


def prepare(
    campaign: Campaign, *, redo_changed: bool = False, held: ExitStack | None = None
) -> Prepared:
    """Check a campaign, measure what its manifest says, and write the manifest.

    The original runs twice on the first image where it finds anything, to find out whether it is
    deterministic, and a chunk that is left open is measured on the first image that it can run on.
    What the manifest says already is taken from it: a run that goes on elsewhere, and shards that
    start together, go by what the first one measured.

    Args:
        campaign: What is to be run.
        redo_changed: Accept a changed configuration: what it touches is run again.
        held: Keeps other runs of this model out of the folder until it is closed, which is for
            the caller to do once this one is through; None lets them in.

    Raises:
        ConfigError: The sweeps cannot run, results are there under another configuration, or a
            run of this model is going on in the folder.
        DataError: No image can be read, or the model crashes or computes NaN or infinity on the
            first ones.
    """
    start = _Start.of(campaign)
    if held is not None:
        held.enter_context(going_on(campaign.root, campaign.detector.name, campaign.shard))
    with folder_locked(campaign.root):
        prepared, section = _measured(start, redo_changed)
        merge_model(
            campaign.root,
            campaign.detector.name,
            section,
            redo_changed=redo_changed,
            listed=_listed(campaign),
        )
    return prepared


def preview(campaign: Campaign, *, redo_changed: bool = False) -> Prepared:
    """Return what `prepare` returns, and write nothing.

    Raises:
        ConfigError: As `prepare`.
        DataError: As `prepare`.
    """
    prepared, section = _measured(_Start.of(campaign), redo_changed)
    merged_manifest(
        campaign.root,
        campaign.detector.name,
        section,
        redo_changed=redo_changed,
        listed=_listed(campaign),
    )
    return prepared


def _listed(campaign: Campaign) -> dict[str, set[str]]:
    return {
        suite: {ref.relative_path for ref in images} for suite, images in campaign.suites.items()
    }


@dataclass(frozen=True, slots=True)
class _Start:
    """What is known of a campaign before anything is measured."""

    campaign: Campaign
    fingerprints: Mapping[ImageRef, FileFingerprint | None]
    key: str
    image: Tensor

    @classmethod
    def of(cls, campaign: Campaign) -> _Start:
        check_operators(campaign.detector, campaign.operators)
        refuse_long_names(
            [(mutant.operator, mutant.tag) for mutant in campaign.mutants()],
            {f"{ref.suite}/{ref.relative_path}": ref.stem for ref in campaign.images},
        )
        fingerprints = {ref: _fingerprint(ref) for ref in campaign.images}
        with arithmetic(campaign.settings.threads, campaign.settings.precision):
            key, image = next(_usable_images(campaign))
        return cls(campaign, fingerprints, key, image)


def _measured(start: _Start, redo_changed: bool) -> tuple[Prepared, dict[str, Any]]:
    """Return the campaign and its section of the manifest, measured where that says nothing."""
    detector, fingerprints = start.campaign.detector, start.fingerprints
    before = read_manifest(start.campaign.root)["models"].get(detector.name, {})
    asked = start.campaign.settings
    with arithmetic(asked.threads, asked.precision):
        fitting, tried = with_fitting_chunk(
            asked,
            lambda settings: _tried(start, settings, before, redo_changed=redo_changed),
            may_change=not _has_results(start.campaign),
            fault=lambda settings: out_of_memory(
                f"image '{start.key}'",
                replace(settings, chunk=_given(settings, before)),
                start.campaign.root,
                detector.name,
            ),
        )
    reason = tried.chunk.reason if fitting == asked else "as memory allows"
    settings, plans, is_deterministic = tried.settings, tried.plans, tried.is_deterministic
    campaign = replace(start.campaign, settings=settings)
    section = settings_section(detector, settings)
    suites = {
        suite: [(ref, known) for ref in images if (known := fingerprints[ref]) is not None]
        for suite, images in campaign.suites.items()
    }
    of_model = model_section(
        section, is_deterministic=is_deterministic, operators=plans, suites=suites
    )
    hashes = {name: operator_configuration(of_model, name) for name in plans}
    removed = [f"{s}/{path}" for s, path in sorted(removed_images(before, _listed(campaign)))]
    prepared = Prepared(campaign, is_deterministic, hashes, fingerprints, reason, tuple(removed))
    return prepared, of_model


class _Tried(NamedTuple):
    """What is measured of a campaign with one chunk."""

    chunk: ChunkChoice
    settings: Settings
    is_deterministic: bool
    plans: Mapping[str, OperatorPlan]


def _tried(
    start: _Start, settings: Settings, before: Mapping[str, Any], *, redo_changed: bool
) -> _Tried:
    campaign = replace(start.campaign, settings=settings)
    detector = campaign.detector
    chunk = _chunk(replace(start, campaign=campaign), before.get("settings", {}))
    settings = replace(settings, chunk=chunk.size)
    is_deterministic = before.get("original_is_deterministic")
    if is_deterministic is None or redo_changed:
        is_deterministic = _is_deterministic(campaign, settings)
    plans = {
        operator.name: _plan(campaign, operator, start.key, start.image)
        for operator in campaign.operators
    }
    if detector.device.type == "cuda":
        run_heaviest(detector, campaign.images, [o.mutants() for o in campaign.operators], settings)
    return _Tried(chunk, settings, is_deterministic, plans)


def _given(settings: Settings, before: Mapping[str, Any]) -> Chunk:
    """Return the chunk as the manifest has it, if that is to be taken."""
    known = before.get("settings", {}).get("chunk", "auto")
    return known if settings.chunk == "auto" else settings.chunk


def _has_results(campaign: Campaign) -> bool:
    entries = Ledger(campaign.root).latest()
    return any(unit.model == campaign.detector.name for unit in entries)


def _chunk(start: _Start, before: Mapping[str, Any]) -> ChunkChoice:
    """Return the chunk that was asked for, that of the results that are there, or what pays."""
    detector, settings = start.campaign.detector, start.campaign.settings
    is_new = not before and settings.chunk != 1 and settings.passes > 1
    fault = ""
    if is_new:
        mutant = next(mutant for mutant in start.campaign.mutants() if not mutant.is_original)
        fault = batch_fault(detector, start.image, start.key, mutant)
    if settings.chunk != "auto":
        if fault:
            raise ConfigError(
                f"chunk {settings.chunk}: the model fails on two images at once, though not on "
                f"one ({fault}); run it with --chunk 1"
            )
        return ChunkChoice(settings.chunk, "as asked for")
    if fault:
        return ChunkChoice(1, f"one by one, for the model fails on two images at once: {fault}")
    is_known = before.get("passes") == settings.passes
    if is_known and before.get("device") == device_name(detector.device):
        return ChunkChoice(before["chunk"], "as the results that are there")
    return choose_chunk(
        detector,
        start.image,
        start.key,
        start.campaign.mutants(),
        settings,
        use_memo=start.campaign.use_memo,
    )


def _fingerprint(ref: ImageRef) -> FileFingerprint | None:
    try:
        return ref.fingerprint()
    except DataError:
        return None


_TRIED = 10
"""Images on which the original may crash, or find nothing, before no further one is tried."""


def _usable_images(campaign: Campaign) -> Iterator[tuple[str, Tensor]]:
    """Yield key and tensor of each image that can be read and that the original can run on."""
    unreadable: list[DataError] = []
    crashes: list[DataError] = []
    is_any = False
    for ref in campaign.images:
        try:
            image = read_image(ref.path)
        except DataError as error:
            if campaign.on_error == "stop":
                raise
            unreadable.append(error)
            continue
        try:
            campaign.detector.detect([image])
        except ConfigError:
            raise
        except Exception as error:
            if is_out_of_memory(error):
                one = replace(campaign.settings, chunk=1)
                name = campaign.detector.name
                raise out_of_memory(
                    f"image '{ref.suite}/{ref.relative_path}'", one, campaign.root, name
                ) from error
            crash = DataError(
                f"image '{ref.suite}/{ref.relative_path}', original: {shown_failure(error)}"
            )
            if campaign.on_error == "stop":
                raise crash from error
            crashes.append(crash)
            if len(crashes) == _TRIED:
                break
        else:
            is_any = True
            yield ref.relative_path, image
    if is_any:
        return
    if crashes:
        raise DataError(
            f"the original fails on each of the first {len(crashes)} images; {crashes[0]}"
        )
    raise DataError(f"none of the {len(unreadable)} images can be read; the first: {unreadable[0]}")


def _is_deterministic(campaign: Campaign, settings: Settings) -> bool:
    """Return whether the original finds equal bytes twice, where it finds anything."""
    unfiltered = replace(settings, score_threshold=0.0, classes=None)
    for _, image in islice(_usable_images(campaign), _TRIED):
        found = [
            detections
            for _ in range(2)
            for detections in run_original(campaign.detector, image, unfiltered)
        ]
        if len({encode_prediction(detections) for detections in found}) > 1:
            return False
        if len(found[0]):
            return True
    return True


def _plan(campaign: Campaign, operator: Operator, key: str, image: Tensor) -> OperatorPlan:
    """Return the operator's plan; its block sizes are seen in one pass with the largest block."""
    detector, mutants = campaign.detector, operator.mutants()
    preset = getattr(operator, "sites", "")
    blocks = tuple(getattr(operator, "blocks", ()))
    sites = (dropblock_sites if blocks else resolve_sites)(detector.model, preset)
    effective: dict[str, dict[str, list[int]]] = {}
    if blocks:
        largest = next(m for m in mutants if m.tag.endswith(f"_{max(blocks)}"))
        once = Settings(passes=1, seed=campaign.settings.seed, chunk=1)
        _, report = run_mutant(detector, image, key, largest, once)
        effective = {
            str(block): {
                site.site: sorted({min(block, size) for size in site.blocks})
                for site in report.sites
            }
            for block in sorted(blocks)
        }
    return OperatorPlan(
        sites=tuple(site.label for site in sites),
        preset=preset,
        options=operator_options(operator),
        tags=tuple(mutant.tag for mutant in mutants),
        effective_blocks=effective,
    )
