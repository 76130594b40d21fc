"""Examining a branch whose passes were curtailed: what is settled, and nothing else."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from scoring.branch_facts import BranchFacts
from scoring.curtailed_rows import CurtailedRows
from scoring.curtailment import Curtailment
from scoring.declarations import Declared
from scoring.equivalence import passes_are_alike
from scoring.errors import DataError
from scoring.examined import ExaminedBranch
from scoring.finite import only
from scoring.kill import least_kill
from scoring.layout import original_tag
from scoring.levels import changed_passes, pass_counts
from scoring.pass_files import count_passes
from scoring.passes import Passes
from scoring.predictions import read_passes
from scoring.rows import COLUMNS, IMAGE_COLUMNS, KINDS
from scoring.rules import DEEPLUQ, Rules
from scoring.suites import SuiteScores
from scoring.sweep import Sweep
from scoring.tracks import track_all

_COUNTS = [COLUMNS.index(f"[img_level] iskill_{kind}_count") for kind in KINDS]


@dataclass(frozen=True, slots=True)
class _Curtailed:
    """One image under one mutant: passes that were run, and changed ones by kind."""

    n_run: int
    changed: tuple[int, int, int]


def examine_curtailed(
    sweep: Sweep,
    rules: Rules,
    declared: Declared,
    curtailment: Curtailment,
    on_image: Callable[[Sweep, str], None] | None = None,
) -> ExaminedBranch:
    """Return the rows and facts of a branch whose passes were curtailed.

    A row holds the count of each kind that is settled, which is of the passes that were run, and
    nothing else: what T passes would give is not known, and a mean over the images that needed
    all of them would be one over survivors.

    Args:
        sweep: What to score.
        rules: Matching and trials of the test.
        declared: What the manifest says about the model.
        curtailment: What the manifest says about its passes.
        on_image: Called with the sweep and the stem of each image that was scored.

    Raises:
        DataError: Passes are missing: fewer than T that settle nothing. Or a file is broken.
    """
    place = {stem: i for i, stem in enumerate(sweep.stems)}
    shape = len(sweep.stems), len(sweep.tags)
    values = np.full((*shape, len(COLUMNS)), np.nan)
    n_run = np.full(shape, curtailment.passes)
    killed: Mapping[str, set[str]] = defaultdict(set)
    is_deterministic = declared.is_deterministic is not False
    for stem in _manifest_order(sweep, declared):
        try:
            original, found = _read_image(sweep, stem, rules, curtailment, killed)
        except DataError as error:
            raise DataError(f"image '{stem}': {error}") from error
        is_deterministic &= passes_are_alike(original)
        for tag, mutant in found.items():
            m = sweep.tags.index(tag)
            n_run[place[stem], m] = mutant.n_run
            settled = curtailment.settled(mutant.changed, mutant.n_run)
            for column, kind, changed in zip(_COUNTS, KINDS, mutant.changed, strict=True):
                if kind in settled and mutant.n_run:
                    values[place[stem], m, column] = changed
            if curtailment.per_mutant:
                killed[tag] |= {kind for kind, is_kill in settled.items() if is_kill}
        if on_image:
            on_image(sweep, stem)
    critical = least_kill(rules.binomial_n or curtailment.passes, rules.null_rate, rules.alpha)
    rows = CurtailedRows(
        n_run, np.full(shape, curtailment.passes), critical, curtailment.rule, curtailment.kinds
    )
    branch = sweep.branch
    scores = SuiteScores(
        branch.model,
        branch.suite,
        sweep.stems,
        tuple((branch.operator, tag) for tag in sweep.tags),
        values,
        curtailed=rows,
    )
    facts = BranchFacts(
        rules=rules.name,
        passes=curtailment.passes,
        scores=rules.scores,
        original_is_deterministic=is_deterministic,
        fewer_passes=_fewer(sweep, curtailment.passes - n_run),
        curtailed=rows.section(),
        crashed=sweep.crashed_by_tag(),
    )
    levels = np.full((*shape, len(IMAGE_COLUMNS)), np.nan)
    return ExaminedBranch(branch, scores, facts, levels, ())


def _manifest_order(sweep: Sweep, declared: Declared) -> list[str]:
    """Return the stems in the order in which the images were run, others behind."""
    listed = declared.stems.get(sweep.branch.suite, ())
    known = set(sweep.stems)
    return list(dict.fromkeys([*(stem for stem in listed if stem in known), *sweep.stems]))


def _read_image(
    sweep: Sweep,
    stem: str,
    rules: Rules,
    curtailment: Curtailment,
    killed: Mapping[str, set[str]],
) -> tuple[Passes, dict[str, _Curtailed]]:
    """Return the original's passes, and by tag what the passes of a mutant that has them show."""
    branch, suite = sweep.branch, sweep.branch.suite_folder(sweep.root)
    original = read_passes(
        branch.folder_in(suite, original_tag(branch.operator), stem),
        curtailment.passes,
        rules.nonfinite,  # type: ignore[arg-type]
    )
    found: dict[str, _Curtailed] = {}
    by_number: dict[int, dict[str, Passes]] = defaultdict(dict)
    for tag in sweep.tags:
        folder = branch.folder_in(suite, tag, stem)
        number = count_passes(folder)
        if (stem, tag) in sweep.crashed:
            continue
        if not number and curtailment.is_dropped(killed[tag]):
            found[tag] = _Curtailed(0, (0, 0, 0))
        elif number > curtailment.passes:
            raise DataError(f"{folder}: expected at most T = {curtailment.passes} passes")
        else:
            by_number[number][tag] = read_passes(folder, None, rules.nonfinite)  # type: ignore[arg-type]
    for number, mutants in by_number.items():
        first = only(original, np.arange(original.n_passes) < number)
        counts = pass_counts(track_all(first, list(mutants.values()), rules))
        for tag, of_mutant in zip(mutants, counts, strict=True):
            found[tag] = _Curtailed(number, changed_passes(of_mutant))
            if not _is_whole(found[tag], rules, curtailment, killed[tag]):
                raise DataError(
                    f"passes are missing under {branch.folder_in(suite, tag, stem)}: {number} of "
                    f"T = {curtailment.passes} are there, which do not settle "
                    f"'{curtailment.kinds}'; run 'uamt run' again to finish it"
                )
    return original, found


def _is_whole(
    mutant: _Curtailed, rules: Rules, curtailment: Curtailment, killed: Sequence[str] | set[str]
) -> bool:
    # Passes stopped by the published matches; other rules may see fewer changes in them.
    stopped_by = (rules.matching, rules.iou_threshold) == (DEEPLUQ.matching, DEEPLUQ.iou_threshold)
    return not stopped_by or curtailment.is_enough(mutant.changed, mutant.n_run, killed)


def _fewer(sweep: Sweep, lacking: npt.NDArray[np.int64]) -> dict[str, dict[str, int]]:
    """Return by how many passes an image under a mutant has fewer than T."""
    fewer = {
        tag: {
            stem: number
            for stem, number in zip(sweep.stems, column.tolist(), strict=True)
            if number
        }
        for tag, column in zip(sweep.tags, lacking.T, strict=True)
    }
    return {tag: of_tag for tag, of_tag in fewer.items() if of_tag}
