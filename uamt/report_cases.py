"""Cases of a report: which images are shown under which mutants, with all their passes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import pandas as pd

from scoring.aggregates import mutant_id
from scoring.branch_facts import BranchFacts
from scoring.errors import DataError
from scoring.kill_counts import COUNT_COLUMN
from scoring.layout import original_tag
from scoring.object_uncertainty import object_uncertainty
from scoring.objects import MEASURES
from scoring.predictions import read_passes
from scoring.rules import Rules
from scoring.summary import VERDICT_KIND
from scoring.tracks import Tracks, track
from uamt.presentation import count_of
from uamt.report_choice import in_turns, room_for, shapes_of
from uamt.report_numbers import NOTHING, Number, TableFile
from uamt.report_pictures import Frame, Raster, frames, object_rows, read_raster
from uamt.report_place import ImageFiles, prediction_branch
from uamt.report_tables import ReportTables
from uamt.shown_pass import shown_pass

OBJECTS_NAME = "report_objects.csv"
PASSES_NAME = "report_passes.csv"

_CASE_SIDE_PX, _THUMB_SIDE_PX = 480, 132


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One image under one mutant.

    Args:
        id: Names it on the page.
        model: Number of the model.
        suite: Number of the suite among the model's.
        image: Number of the image among the suite's.
        mutant: Number of the mutant among the suite's.
        frames: What every pass shows.
        shown: The pass that is shown large.
        passes_row: Row of the first pass in the table of passes.
        objects: Rows of its objects in the table of objects.
    """

    id: str
    model: int
    suite: int
    image: int
    mutant: int
    frames: tuple[Frame, ...]
    shown: int
    passes_row: int
    objects: tuple[int, ...]


@dataclass(slots=True)
class Gallery:
    """Cases and pixels of a report, and the tables of what the cases show.

    Args:
        cases: In the order of the page.
        rasters: Pixels by suite and stem.
        objects: Rows of `report_objects.csv`.
        passes: Rows of `report_passes.csv`.
        notes: What could not be shown.
    """

    cases: list[Case] = field(default_factory=list)
    rasters: dict[tuple[str, str], Raster] = field(default_factory=dict)
    objects: list[dict[str, Any]] = field(default_factory=list)
    passes: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def tables(self) -> dict[PurePosixPath, pd.DataFrame]:
        """Return the tables by their names."""
        keys = ["case_study", "model", "test_suite", "mutant_id", "image"]
        counts = ["n_found", "n_missed", "n_passes"]
        columns = [*keys, "object", "is_ghost", "label", *counts, "ie_original", *MEASURES]
        return {
            PurePosixPath(OBJECTS_NAME): pd.DataFrame(self.objects, columns=columns),
            PurePosixPath(PASSES_NAME): pd.DataFrame(
                self.passes, columns=[*keys, "pass", "matches", "misses", "ghosts"]
            ),
        }

    def table(self, name: str) -> TableFile:
        """Return one of the tables."""
        path = PurePosixPath(name)
        return TableFile(path, self.tables()[path])


def build_gallery(
    tables: ReportTables,
    experiment: Path | None,
    images: ImageFiles | None,
    label_names: Mapping[str, Sequence[str]],
    most: int,
    on_step: Callable[[], None] | None = None,
) -> Gallery:
    """Return the cases of all models and suites, in turns, until there are enough of them.

    Args:
        tables: What decides over kills.
        experiment: Holds the predictions; None leaves every picture out.
        images: Where the images are.
        label_names: Names of label ids, by the model's folder name.
        most: Cases at the most; fewer where they would make the page too large.
        on_step: Called after each of them.
    """
    gallery = Gallery()
    if experiment is None or images is None:
        gallery.notes.append(
            "Pictures are left out: nothing says where the predictions lie; name their folder "
            "with --experiment."
        )
        return gallery
    missing: dict[tuple[str, str], str] = {}
    broken: list[str] = []
    room = room_for(tables)
    raster_size = shape_size = 0
    for m, s, image, mutant in in_turns(tables):
        if len(gallery.cases) >= most or shape_size > room.shapes:
            break
        scores = tables.models[m].results.suites[s].scores
        key = (scores.suite, scores.stems[image])
        if key in missing or (key not in gallery.rasters and raster_size > room.pixels):
            continue
        try:
            tracks, rules = read_case(tables, m, s, (image, mutant), experiment)
        except DataError as error:
            broken.append(str(error))
            continue
        if key not in gallery.rasters:
            try:
                path = images.find(scores.model, *key)
                gallery.rasters[key] = read_raster(path, _CASE_SIDE_PX)
            except DataError as error:
                missing[key] = str(error)
                continue
            raster_size += len(gallery.rasters[key].data)
        names = label_names.get(scores.model, ())
        _add_case(gallery, tables, (m, s, image, mutant), tracks, rules, names)
        if on_step:
            on_step()
        shown = gallery.cases[-1]
        shape_size += shapes_of(shown.frames, len(shown.objects))
    _add_thumbnails(gallery, tables, images, missing, room.thumbnails)
    if missing:
        gallery.notes.append(
            f"{count_of(len(missing), 'image')} without pixels, and no passes of them; the first: "
            f"{next(iter(missing.values()))}"
        )
    if broken:
        gallery.notes.append(
            f"{count_of(len(broken), 'pair')} of image and mutant cannot be shown; the first: "
            f"{broken[0]}"
        )
    return gallery


def read_case(
    tables: ReportTables, m: int, s: int, pair: tuple[int, int], experiment: Path
) -> tuple[Tracks, Rules]:
    """Return what became of an image's objects under a mutant, and the rules by which.

    Args:
        tables: All models.
        m: Number of the model.
        s: Number of its suite.
        pair: Numbers of image and mutant.
        experiment: Holds the predictions.

    Raises:
        DataError: A prediction file is missing or broken, or the passes behind the scores are not
            the first ones.
    """
    suite = tables.models[m].results.suites[s]
    scores = suite.scores
    image, mutant = pair
    stem, (operator, tag) = scores.stems[image], scores.mutants[mutant]
    facts = suite.facts.get(operator)
    n_passes, rules = _passes_and_rules(tables, facts, tag, stem)
    branch = prediction_branch(experiment, operator, scores.model, scores.suite)
    folders = [branch.folder(experiment, name, stem) for name in (original_tag(operator), tag)]
    mutated = read_passes(folders[1], n_passes)
    original = read_passes(folders[0], mutated.n_passes)
    return track(original, mutated, rules), rules


def _passes_and_rules(
    tables: ReportTables, facts: BranchFacts | None, tag: str, stem: str
) -> tuple[int | None, Rules]:
    if facts is None:
        return None, tables.rules
    rules = tables.rules.with_(scores=facts.scores)
    n_passes = facts.passes_of(tag, stem)
    if n_passes < facts.passes and facts.curtailed is None:
        raise DataError(f"image '{stem}': some passes of mutant {tag} were left out of the scores")
    if n_passes < 1:
        raise DataError(f"image '{stem}': no pass of mutant {tag} was run")
    return n_passes, rules


def _add_case(
    gallery: Gallery,
    tables: ReportTables,
    place: tuple[int, int, int, int],
    tracks: Tracks,
    rules: Rules,
    label_names: Sequence[str],
) -> None:
    m, s, image, mutant = place
    model = tables.models[m]
    scores = model.results.suites[s].scores
    keys = {
        "case_study": model.results.case_study,
        "model": model.results.model,
        "test_suite": scores.suite,
        "mutant_id": mutant_id(scores.mutants[mutant]),
        "image": scores.stems[image],
    }
    counts = tracks.counts()
    passes_row = len(gallery.passes)
    for t, (matches, misses, ghosts) in enumerate(counts.tolist()):
        numbers = {"pass": t, "matches": matches, "misses": misses, "ghosts": ghosts}
        gallery.passes.append(keys | numbers)
    seen = object_uncertainty(tracks, rules)
    rows = object_rows(tracks, seen, label_names)
    first = len(gallery.objects)
    gallery.objects += [keys | row for row in rows]
    gallery.cases.append(
        Case(
            id=f"case-{len(gallery.cases) + 1}",
            model=m,
            suite=s,
            image=image,
            mutant=mutant,
            frames=tuple(frames(tracks, seen, label_names)),
            shown=shown_pass(tracks).t,
            passes_row=passes_row,
            objects=tuple(range(first, first + len(rows))),
        )
    )


def _add_thumbnails(
    gallery: Gallery,
    tables: ReportTables,
    images: ImageFiles,
    missing: dict[tuple[str, str], str],
    most_characters: int,
) -> None:
    """Add small pixels of the images that have none, suite by suite in turns, while there is room.

    Images that kill most come first, then those that kill least.
    """
    wanted: dict[str, list[str]] = {}
    models: dict[str, str] = {}
    for model in tables.models:
        for kills in model.kills:
            scores = kills.scores
            power = scores.killed(VERDICT_KIND, tables.rule, tables.rules).sum(axis=1)
            order = [scores.stems[i] for i in np.argsort(-power, kind="stable")]
            ends = [stem for pair in zip(order, reversed(order), strict=True) for stem in pair]
            models.setdefault(scores.suite, scores.model)
            stems = wanted.setdefault(scores.suite, [])
            known = set(stems)
            stems += [stem for stem in dict.fromkeys(ends) if stem not in known]
    size = 0
    left_out = 0
    for turn in range(max(map(len, wanted.values()))):
        for suite, stems in wanted.items():
            if turn >= len(stems) or (suite, stems[turn]) in gallery.rasters:
                continue
            key = (suite, stems[turn])
            if size > most_characters:
                left_out += 1
                continue
            if key in missing:
                continue
            try:
                raster = read_raster(images.find(models[suite], *key), _THUMB_SIDE_PX, 65)
            except DataError as error:
                missing[key] = str(error)
                continue
            gallery.rasters[key] = raster
            size += len(raster.data)
    if left_out:
        gallery.notes.append(
            f"{len(gallery.rasters)} of {len(gallery.rasters) + left_out} images have a thumbnail: "
            f"those that kill most and least, so that the page stays small."
        )


def changed_number(tables: ReportTables, case: Case) -> Number:
    """Return in how many passes a case differs, as the mutant's own table says."""
    model = tables.models[case.model]
    scores = model.results.suites[case.suite].scores
    value = float(scores.column(COUNT_COLUMN)[case.image, case.mutant])
    path = tables.mutant_path(model, scores, scores.mutants[case.mutant])
    written = "" if np.isnan(value) else f"{value:.0f}"
    stem = scores.stems[case.image]
    return Number(written or NOTHING, written, path, stem, COUNT_COLUMN, "whole", value)
