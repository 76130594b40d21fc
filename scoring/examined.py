"""Examined branches: a sweep's rows and facts, by the rules and as `strict` sees them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from scoring.branch_facts import BranchFacts
from scoring.declarations import Declared
from scoring.findings import Findings, examine_sweep
from scoring.layout import Branch
from scoring.noise_floor import IDENTITY
from scoring.results import ModelResults, SuiteResults
from scoring.rows import COLUMNS, IMAGE_COLUMNS
from scoring.rules import STRICT, Rules
from scoring.suites import SuiteScores, collect
from scoring.sweep import Sweep
from scoring.workers import Workers


@dataclass(frozen=True, slots=True, eq=False)
class ExaminedBranch:
    """One operator, model and suite.

    Args:
        branch: Where its predictions lie.
        scores: Its rows.
        facts: What stands beside them.
        strict_levels: (I, M, 12) image-level columns under rule set `strict`.
        same: Tags of the mutants that equal the original on every image.
    """

    branch: Branch
    scores: SuiteScores
    facts: BranchFacts
    strict_levels: npt.NDArray[np.float64]
    same: tuple[str, ...]

    @property
    def as_strict(self) -> ExaminedBranch:
        """The same with what decides kills under `strict`; all other columns are NaN."""
        values = np.full_like(self.scores.values, np.nan)
        values[:, :, : len(IMAGE_COLUMNS)] = self.strict_levels
        return replace(
            self,
            scores=replace(self.scores, values=values),
            facts=replace(self.facts, rules=STRICT.name, equivalent=self.same),
        )


def examine_branch(
    sweep: Sweep,
    passes: int | None,
    rules: Rules,
    declared: Declared,
    on_image: Callable[[Sweep, str], None] | None = None,
    *,
    workers: Workers | None = None,
) -> ExaminedBranch:
    """Return the rows and facts of a branch.

    Args:
        sweep: What to score.
        passes: T, the first passes of every folder; None means all.
        rules: Which definition each number follows.
        declared: What the manifest says about the model.
        on_image: Called with the sweep and the stem of each image that was scored.
        workers: Processes that share the images; None means this one alone.

    Raises:
        DataError: A pass is missing or a file broken; the message names the image.
    """
    found: list[Findings] = []
    examine = workers.examine if workers else examine_sweep
    for stem, findings in examine(sweep, n_passes=passes, rules=rules):
        found.append(findings)
        if on_image:
            on_image(sweep, stem)
    branch = sweep.branch
    same = tuple(
        tag for m, tag in enumerate(sweep.tags) if all(image.is_same[m] for image in found)
    )
    alike = all(image.original_is_deterministic for image in found)
    most_passes = max(image.n_passes for image in found)
    facts = BranchFacts(
        rules=rules.name,
        passes=most_passes,
        scores=rules.scores,
        original_is_deterministic=alike and declared.is_deterministic is not False,
        equivalent=same if rules.equivalence == "compared" else (),
        degenerate_boxes=sum(image.n_degenerate for image in found),
        fewer_passes=_fewer(sweep, found, most_passes),
        nonfinite_passes=sum(int(image.n_skipped.sum()) for image in found),
        crashed=sweep.crashed_by_tag(),
    )
    scores = SuiteScores(
        branch.model,
        branch.suite,
        sweep.stems,
        tuple((branch.operator, tag) for tag in sweep.tags),
        np.stack([image.rows for image in found]),
    )
    levels = np.stack([image.strict_levels for image in found])
    return ExaminedBranch(branch, scores, facts, levels, same)


def _fewer(sweep: Sweep, found: Sequence[Findings], most_passes: int) -> dict[str, dict[str, int]]:
    """Return by how many passes an image under a mutant has fewer than most."""
    fewer: dict[str, dict[str, int]] = defaultdict(dict)
    for stem, image in zip(sweep.stems, found, strict=True):
        for tag, number in zip(sweep.tags, image.n_skipped.tolist(), strict=True):
            lacking = number + most_passes - image.n_passes
            if lacking:
                fewer[tag][stem] = lacking
    return dict(fewer)


def gather(case_study: str, model: str, examined: Sequence[ExaminedBranch]) -> ModelResults:
    """Return the suites of one model, operators side by side and the identity mutant apart.

    Raises:
        DataError: The operators were run on different images.
    """
    suites = []
    for name in dict.fromkeys(one.branch.suite for one in examined):
        parts = [one for one in examined if one.branch.suite == name]
        mutated = [one for one in parts if one.branch.operator != IDENTITY]
        if not mutated:
            continue
        scores = collect(model, name, [one.scores for one in mutated])
        identity = next((one for one in parts if one.branch.operator == IDENTITY), None)
        suites.append(
            SuiteResults(
                scores,
                {one.branch.operator: one.facts for one in mutated},
                None if identity is None else _aligned(identity.scores, scores.stems),
            )
        )
    return ModelResults(case_study, model, tuple(suites))


def _aligned(identity: SuiteScores, stems: Sequence[str]) -> npt.NDArray[np.float64]:
    """Return (I, 37) rows of the identity mutant for these images, NaN where it has none."""
    place = {stem: i for i, stem in enumerate(identity.stems)}
    rows = np.full((len(stems), len(COLUMNS)), np.nan)
    for i, stem in enumerate(stems):
        if stem in place:
            rows[i] = identity.values[place[stem], 0]
    return rows
