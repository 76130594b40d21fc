"""Scoring an experiment: from prediction files to one CSV per mutant and a row per suite."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from scoring.branch_facts import BranchFacts, facts_path, write_facts
from scoring.curtailment import refuse_unsuitable_rules
from scoring.declarations import Declared, Scores, guess_scores, read_declarations
from scoring.errors import DataError
from scoring.examine_curtailed import examine_curtailed
from scoring.examined import examine_branch, gather
from scoring.files import write_atomic
from scoring.folder_names import check_folder_name
from scoring.judgement import STRICT_NAME, judged, strict_table
from scoring.layout import Branch, find_tables
from scoring.rules import DEEPLUQ, STRICT, Rules
from scoring.suites import SuiteScores
from scoring.sweep import Sweep
from scoring.workers import Workers
from uamt.freshness import mark_scored, state_of
from uamt.presentation import count_of
from uamt.selection import Selection, select

if TYPE_CHECKING:
    import pandas as pd

OnImage = Callable[[Sweep, str], None]


@dataclass(frozen=True, slots=True)
class Scored:
    """The scores of an experiment.

    Args:
        suites: Each model and suite as the rules judge it.
        strict: The same as rule set `strict` judges them; empty where it would refuse the passes,
            or where some were curtailed.
        tables: The mutants' CSVs that were written.
        facts: By branch, as written beside the tables.
        guessed: Models whose class vectors nobody declared, and what they were taken for.
        selection: What was scored, and what was left out.
    """

    suites: list[SuiteScores]
    strict: list[SuiteScores]
    tables: list[Path]
    facts: dict[Branch, BranchFacts]
    guessed: dict[str, Scores]
    selection: Selection


def score(
    root: str | Path,
    out: str | Path | None = None,
    *,
    case_study: str | None = None,
    passes: int | None = None,
    rules: Rules = DEEPLUQ,
    scores: Scores | None = None,
    workers: int = 1,
) -> pd.DataFrame:
    """Score every mutant of an experiment, write one CSV each, and return a row per suite.

    Warns of what was guessed or left out.

    Args:
        root: The experiment's folder, as `uamt run` or another tool wrote it.
        out: Folder of the CSVs; None means `scores` in the experiment's folder.
        case_study: Name of the folder below `out`; None means the experiment's name.
        passes: T, the first passes of every folder; None means all.
        rules: Which definition each number follows.
        scores: What the class vectors of all models are, for rule set `strict`; None means what
            the manifest declares, else what the original's vectors tell.
        workers: Processes that share the images. They are spawned: with more than one, a script
            keeps its work below `if __name__ == "__main__":`.

    Raises:
        ConfigError: `workers` is below 1.
        DataError: There are no predictions or none of a finished image, a pass is missing, or a
            file is broken.
    """
    from scoring.summary import summarise

    scored = score_root(
        Path(root),
        Path(out) if out else None,
        case_study=case_study,
        passes=passes,
        rules=rules,
        scores=scores,
        workers=workers,
    )
    for note in score_notes(scored):
        warnings.warn(note, stacklevel=2)
    return summarise(scored.suites, rules, scored.strict)


def score_root(
    root: Path,
    out: Path | None = None,
    *,
    case_study: str | None = None,
    passes: int | None = None,
    rules: Rules = DEEPLUQ,
    scores: Scores | None = None,
    on_image: OnImage | None = None,
    workers: int = 1,
    selection: Selection | None = None,
) -> Scored:
    """Score every operator, model and suite of an experiment.

    Args:
        root: The experiment's folder.
        out: As in `score`.
        case_study: As in `score`.
        passes: As in `score`.
        rules: Which definition each number follows.
        scores: As in `score`.
        on_image: Called with the sweep and the stem of each image that was scored.
        workers: As in `score`.
        selection: What is scored; None means what `select` returns.

    Raises:
        ConfigError: As in `score`.
        DataError: As in `score`.
    """
    state = state_of(root)
    selection = selection or select(root)
    sweeps = selection.sweeps
    results = out or root / "scores"
    study = case_study_name(root, case_study)
    declared = read_declarations(root)
    guessed: dict[str, Scores] = {}
    facts: dict[Branch, BranchFacts] = {}
    tables: list[Path] = []
    suites: list[SuiteScores] = []
    strict: list[SuiteScores] = []
    has_curtailed = False
    pairs = sum(len(sweep.stems) * len(sweep.tags) for sweep in sweeps)
    with Workers(workers, pairs) as pool:
        for model in dict.fromkeys(sweep.branch.model for sweep in sweeps):
            own = [sweep for sweep in sweeps if sweep.branch.model == model]
            known = declared.get(model, Declared())
            kind = scores or known.scores
            if kind is None and rules.class_vectors == "declared":
                kind = guessed[model] = guess_scores(own, passes)
            own_rules = rules.with_(scores=kind or "softmax")
            curtailment = known.curtailment
            if curtailment is not None:
                refuse_unsuitable_rules(curtailment, own_rules, passes)
                has_curtailed = True
            examined = []
            for sweep in own:
                if curtailment is None:
                    branch = examine_branch(sweep, passes, own_rules, known, on_image, workers=pool)
                else:
                    branch = examine_curtailed(sweep, own_rules, known, curtailment, on_image)
                examined.append(branch)
                facts[sweep.branch] = branch.facts
                write_facts(facts_path(results, study, sweep.branch), branch.facts)
                tables += _write_tables(branch.scores, sweep.branch, results, study)
            own_suites = judged(gather(study, model, examined), own_rules)
            suites += own_suites
            as_strict: list[SuiteScores] = []
            if own_rules.name == STRICT.name:
                as_strict = own_suites
            elif own_rules.nonfinite != "keep" and curtailment is None:
                corrected = [branch.as_strict for branch in examined]
                as_strict = judged(gather(study, model, corrected), STRICT)
            strict += as_strict
            _write_strict(results / study / model / STRICT_NAME, as_strict, own_rules)
    selection.refuse_changes()
    if not suites:
        raise DataError(
            f"{root}: expected the predictions of mutants, found only those of controls"
        )
    mark_scored(results, state)
    # `strict` judges suites side by side, and of curtailed ones it knows nothing.
    return Scored(suites, [] if has_curtailed else strict, tables, facts, guessed, selection)


def case_study_name(root: Path, given: str | None) -> str:
    """Return the name of the folder of an experiment's tables.

    Args:
        root: The experiment's folder, whose name it is if none is given.
        given: The name, or None.

    Raises:
        ConfigError: The given one cannot be a folder's name.
    """
    if given is not None:
        return check_folder_name(given, "case study")
    return root.resolve().name or "experiment"


def _write_tables(
    scored: SuiteScores, branch: Branch, results: Path, case_study: str
) -> Sequence[Path]:
    from scoring.tables import write_table

    written = []
    for number, (_, tag) in enumerate(scored.mutants):
        values = scored.values[:, number]
        has_row = scored.has_row[:, number]
        stems = [stem for stem, there in zip(scored.stems, has_row, strict=True) if there]
        path = branch.table(results, case_study, tag)
        write_table(path, stems, values[has_row])
        written.append(path)
    return written


def _write_strict(path: Path, suites: Sequence[SuiteScores], rules: Rules) -> None:
    """Write what `strict` says of a model's mutants; without that, leave no table of before."""
    if suites:
        text = strict_table(suites, rules).to_csv(index=False, lineterminator="\n")
        write_atomic(path, text.encode())
    else:
        path.unlink(missing_ok=True)


def score_notes(scored: Scored) -> list[str]:
    """Return what a reader of the scores should know: guesses, and what was left out."""
    notes = scored.selection.notes()
    notes += [
        f"model '{model}': nothing declares its class vectors; they are taken for {kind}, as its "
        f"original's passes look; declare them with --scores"
        for model, kind in scored.guessed.items()
    ]
    fewer = sum(
        sum(of_stem.values())
        for facts in scored.facts.values()
        if facts.curtailed
        for of_stem in facts.fewer_passes.values()
    )
    if fewer:
        notes.append(
            f"{count_of(fewer, 'pass', 'passes')} that could not change a verdict were not run: "
            f"tables hold the counts of settled kinds, and nothing that needs all passes"
        )
    degenerate = sum(facts.degenerate_boxes for facts in scored.facts.values())
    if degenerate:
        notes.append(f"{count_of(degenerate, 'box', 'boxes')} without area left out")
    skipped = sum(facts.nonfinite_passes for facts in scored.facts.values())
    if skipped:
        notes.append(
            f"{count_of(skipped, 'pass', 'passes')} of an image under a mutant left out: a number "
            f"in it or in its original is not finite"
        )
    return notes


def other_names(results: Path, case_study: str) -> list[str]:
    """Return the names of other case studies that have tables in an experiment's own scores.

    Args:
        results: Folder of the scores.
        case_study: The one that was scored.
    """
    found = {table.case_study for table in find_tables(results)}
    return sorted(found - {case_study})


def few_passes_remark(scored: Scored, rules: Rules = DEEPLUQ) -> str:
    """Return that two kill rules are one, where passes are too few to tell them apart.

    Args:
        scored: Rows and facts.
        rules: Hold the noise floor, alpha, and the trials of the binomial test.
    """
    from scoring.kill import least_kill

    passes = {facts.passes for facts in scored.facts.values()}
    most = max(rules.binomial_n or n for n in passes)
    is_measured = rules.noise_floor == "measured" and not all(
        facts.original_is_deterministic for facts in scored.facts.values()
    )
    if is_measured or least_kill(most, rules.null_rate, rules.alpha) > 1:
        return ""
    enough = next(n for n in count(most) if least_kill(n, rules.null_rate, rules.alpha) > 1)
    return (
        f"With {count_of(max(passes), 'pass', 'passes')} one changed pass is significant already, "
        f"so that 'any' and 'sig.' are the same rule; they differ from {enough} passes on "
        f"(docs/choosing.md)."
    )
