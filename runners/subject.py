"""Subjects: one image of a campaign, run through the original and every mutant."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import NamedTuple

from torch import Tensor

from mutators import Mutant
from runners.curtailed import Settling, Standing
from runners.failures import is_out_of_memory
from runners.image_files import ImageError
from runners.images import ImageRef, read_image
from runners.ledger import Entry
from runners.memo import Memo
from runners.memory import out_of_memory
from runners.passes import run_mutant, run_original, run_original_once
from runners.prepared import Prepared
from runners.unit_files import UnitFiles
from scoring.detections import Detections
from scoring.errors import ConfigError, DataError
from scoring.layout import Branch
from scoring.predictions import encode_prediction


class Subject:
    """One image of a campaign: read, and run through the original, once and when needed.

    Args:
        prepared: The campaign.
        ref: The image.
        standing: The mutants that no earlier image of the suite has killed.
    """

    def __init__(self, prepared: Prepared, ref: ImageRef, standing: Standing) -> None:
        self.prepared = prepared
        self.ref = ref
        self.standing = standing
        self._original: _Original | None = None
        self._fault: BaseException | None = None

    @cached_property
    def image(self) -> Tensor:
        """The image, read when it is first asked for."""
        return read_image(self.ref.path)

    @cached_property
    def memo(self) -> Memo | None:
        """What all passes over the image share; None where nothing is, or it is not wanted."""
        campaign = self.prepared.campaign
        if not campaign.use_memo or not self.prepared.is_deterministic:
            return None
        return Memo(self.image.to(campaign.detector.device))

    def close(self) -> None:
        """Free what is kept of the image."""
        # Asked for by name, for reading it would make one.
        memo = self.__dict__.pop("memo", None)
        if memo:
            memo.clear()

    def folder(self, mutant: Mutant) -> Path:
        """Return the folder of the image's files under a mutant."""
        campaign = self.prepared.campaign
        branch = Branch(mutant.operator, campaign.detector.name, self.ref.suite)
        return branch.folder(campaign.root, mutant.tag, self.ref.stem)

    def run(self, mutant: Mutant) -> Callable[[], Entry]:
        """Run one unit, and return what writes its files and returns its entry.

        Raises:
            ConfigError: The mutant's sites cannot be masked.
            DataError: The image cannot be read or the mutant crashed, and `on_error` is `stop`;
                or memory ran out.
        """
        prepared, ref = self.prepared, self.ref
        unit, configuration = prepared.unit(ref, mutant), prepared.configuration(ref, mutant)
        entry = Entry(unit, "done", configuration, ref.stem)
        files = UnitFiles(self.folder(mutant))
        if self.standing.is_dropped(mutant):
            return partial(_without_passes, files, replace(entry, status="dropped"))
        is_skipping = prepared.campaign.on_error == "skip"
        try:
            self.image  # noqa: B018 - read here, to tell a bad image from a crash
        except ImageError as error:
            if not is_skipping:
                raise
            entry = replace(entry, status="unreadable_image", message=error.reason)
            return partial(_without_passes, files, entry)
        try:
            original = self.original()
            passes, killed = self._mutated(mutant, original.passes)
        except ConfigError:
            raise
        except Exception as error:  # what a user's model raises is not known
            message = f"{type(error).__name__}: {error}"
            if is_out_of_memory(error):
                raise self._out_of_memory(mutant) from error
            if not is_skipping:
                raise DataError(
                    f"{self._named(mutant)}: {message}; with --on-error skip this is recorded and "
                    f"the run goes on"
                ) from error
            entry = replace(entry, status="runtime_error", message=message)
            return partial(_without_passes, files, entry)
        entry = replace(entry, killed=killed)
        self.standing.add(entry)
        if mutant.is_original:
            return partial(_with_passes, files, entry, original.contents)
        return partial(_with_mutated_passes, files, entry, passes, original.contents)

    def _named(self, mutant: Mutant) -> str:
        place = f"{self.ref.suite}/{self.ref.relative_path}"
        return f"image '{place}', mutant {mutant.operator} {mutant.tag}"

    def _out_of_memory(self, mutant: Mutant) -> DataError:
        campaign = self.prepared.campaign
        return out_of_memory(
            self._named(mutant), campaign.settings, campaign.root, campaign.detector.name
        )

    def original(self) -> _Original:
        """Return the original's passes; a crash is remembered, not repeated."""
        if self._fault:
            raise self._fault
        if self._original is None:
            try:
                passes = self._run_original()
                contents = [encode_prediction(detections) for detections in passes]
                self._original = _Original(passes, contents)
            except Exception as error:
                self._fault = error
                raise
        return self._original

    def _run_original(self) -> list[Detections]:
        campaign = self.prepared.campaign
        if not self.prepared.is_deterministic:
            return run_original(campaign.detector, self.image, campaign.settings)
        return run_original_once(
            campaign.detector,
            self.image,
            campaign.settings,
            memo=self.memo,
            sites=campaign.site_names(),
        )

    def _mutated(
        self, mutant: Mutant, original: Sequence[Detections]
    ) -> tuple[list[Detections], tuple[str, ...]]:
        """Return a mutant's passes, and the kinds by which they kill where they are curtailed."""
        campaign = self.prepared.campaign
        if mutant.is_original:
            return list(original), ()
        curtailment = campaign.settings.curtailment
        already_killed = self.standing.killed(mutant)
        settling = Settling(curtailment, original, already_killed) if curtailment else None
        passes, _ = run_mutant(
            campaign.detector,
            self.image,
            self.ref.relative_path,
            mutant,
            campaign.settings,
            memo=self.memo,
            settling=settling,
        )
        return passes, settling.killed if settling else ()


class _Original(NamedTuple):
    """The passes of the unmutated model over an image."""

    passes: Sequence[Detections]
    contents: Sequence[bytes]


def _with_mutated_passes(
    files: UnitFiles, entry: Entry, passes: Sequence[Detections], original: Sequence[bytes]
) -> Entry:
    contents = [encode_prediction(detections) for detections in passes]
    is_same = contents == list(original[: len(contents)])
    return replace(_with_passes(files, entry, contents), equals_original=is_same)


def _with_passes(files: UnitFiles, entry: Entry, contents: Sequence[bytes]) -> Entry:
    return replace(entry, sha256=files.write(contents))


def _without_passes(files: UnitFiles, entry: Entry) -> Entry:
    files.clear()
    return entry
