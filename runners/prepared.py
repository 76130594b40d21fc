"""Campaigns as values: what is to be run, and what is known of it once it is measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mutators import Mutant, Operator
from runners.detectors import Detector
from runners.fingerprints import FileFingerprint
from runners.images import ImageRef
from runners.ledger import Unit
from runners.manifest_file import unit_configuration
from runners.settings import OnError, Settings
from runners.shards import Shard
from scoring.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class Campaign:
    """What is to be run, and where it goes.

    Args:
        detector: The model.
        suites: Images by suite, as `list_suites` returns them.
        operators: Sweeps, each of its own name.
        settings: What decides a result besides.
        root: The experiment's folder.
        on_error: Whether an unreadable image or a crash is recorded and passed over, or stops.
        use_memo: Share between passes what no mask reaches; the results are the same.
        shard: Which of the images this run takes; the manifest is that of all.

    Raises:
        ConfigError: A shard is to run with curtailed mutants.
    """

    detector: Detector
    suites: Mapping[str, Sequence[ImageRef]]
    operators: Sequence[Operator]
    settings: Settings
    root: Path
    on_error: OnError = "skip"
    use_memo: bool = True
    shard: Shard = field(default_factory=Shard)

    def __post_init__(self) -> None:
        if self.settings.curtail_mutants and self.shard.count > 1:
            raise ConfigError(
                f"shard {self.shard}: with curtailed mutants the images of a suite follow each "
                f"other, so that no part of them can run alone; leave --shard or "
                f"--curtail-mutants out"
            )

    @property
    def images(self) -> list[ImageRef]:
        """All images, suite by suite."""
        return [ref for images in self.suites.values() for ref in images]

    @property
    def own_images(self) -> list[ImageRef]:
        """The images of this run's shard."""
        return self.shard.of(self.images)

    def mutants(self) -> list[Mutant]:
        """Return all mutants in the order in which an image runs them, each original first."""
        return [
            mutant
            for operator in self.operators
            for mutant in (operator.original(), *operator.mutants())
        ]

    def site_names(self) -> set[str]:
        """Return the names of all modules where a mutant is masked."""
        names: set[str] = set()
        for operator in self.operators:
            with operator.original().mutation.on_model(self.detector.model) as injection:
                names.update(site.name for site in injection.sites)
        return names


@dataclass(frozen=True, slots=True)
class Prepared:
    """A campaign that is measured: what a worker needs besides.

    Args:
        campaign: What is to be run; its chunk is a number.
        is_deterministic: Whether the original gives equal bytes twice.
        operator_hashes: Per operator, the hash of settings, sites and options.
        fingerprints: Size and sha256 of each image; None where it cannot be read.
        chunk_reason: Why passes are batched as they are.
        removed: Images, as suite/path, that earlier runs had in these suites and this one has not.
    """

    campaign: Campaign
    is_deterministic: bool
    operator_hashes: Mapping[str, str]
    fingerprints: Mapping[ImageRef, FileFingerprint | None]
    chunk_reason: str = ""
    removed: tuple[str, ...] = ()

    def unit(self, ref: ImageRef, mutant: Mutant) -> Unit:
        """Return the unit of an image and a mutant."""
        name = self.campaign.detector.name
        return Unit(name, ref.suite, ref.relative_path, mutant.operator, mutant.tag)

    def configuration(self, ref: ImageRef, mutant: Mutant) -> str:
        """Return the hash of everything that decides the result of a unit."""
        fingerprint = self.fingerprints[ref]
        sha256 = fingerprint.sha256 if fingerprint else ""
        return unit_configuration(
            self.operator_hashes[mutant.operator], mutant.tag, ref.relative_path, sha256
        )

    def may_have(self, mutant: Mutant, n_passes: int) -> bool:
        """Return whether a unit of a mutant that is done may have this many passes."""
        settings = self.campaign.settings
        if settings.curtailment is None or mutant.is_original:
            return n_passes == settings.passes
        return 1 <= n_passes <= settings.passes
