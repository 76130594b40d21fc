"""Reporting: one page that says which suite would notice a worse detector, and shows kills."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from runners.manifest_file import read_manifest
from scoring.errors import ConfigError, DataError
from scoring.files import write_atomic
from scoring.suite_tables import ModelAggregates, write_tables
from uamt.gathered import Gathering, gather
from uamt.label_names import read_label_names
from uamt.report_cases import Gallery, build_gallery
from uamt.report_command import PICTURES
from uamt.report_page import render
from uamt.report_place import ImageFiles, Place, find_place, parse_images
from uamt.report_provenance import label_names, provenance
from uamt.report_tables import report_tables
from uamt.report_views import Shown
from uamt.selection import select


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked of a report.

    Args:
        results: Folder of a scored experiment, or of its scores.
        out: The page; None means `report.html` there.
        images: Where the images are, each `FOLDER` or `SUITE=FOLDER`.
        experiment: Folder of the predictions, where it is neither `results` nor above it.
        pictures: Images under a mutant, at the most.
        suites: `NAME=FILE` of each suite that is known by its images.
        order: Suites in the order of rows.
        passes: T, where no facts stand beside the tables.
        label_names: File of what labels are called; None means as the detectors told.
        tables: Folder of the tables behind the page; None means that of the scores.
    """

    results: Path
    out: Path | None = None
    images: tuple[str, ...] = ()
    experiment: Path | None = None
    pictures: int = PICTURES
    suites: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    passes: int | None = None
    label_names: Path | None = None
    tables: Path | None = None

    def command(self) -> str:
        """Return what makes the same page, as it can be typed."""
        words = ["uamt", "report", str(self.results)]
        for name, values in (("suite", self.suites), ("images", self.images)):
            words += [word for value in values for word in (f"--{name}", value)]
        if self.order:
            words += ["--order", ",".join(self.order)]
        for name in ("passes", "experiment", "label_names", "tables", "out"):
            value = getattr(self, name)
            words += [] if value is None else [f"--{name.replace('_', '-')}", str(value)]
        if self.pictures != PICTURES:
            words += ["--pictures", str(self.pictures)]
        return shlex.join(words)


@dataclass(frozen=True, slots=True, eq=False)
class Written:
    """What a report wrote.

    Args:
        page: The page.
        models: What it is of.
        results: Folder of the tables.
        n_tables: CSVs behind it.
        n_cases: Pictures of an image under a mutant.
        n_images: Images with pixels on the page.
        notes: What was left out.
        show: The command that draws the first of the pictures larger; None without pictures.
    """

    page: Path
    models: tuple[ModelAggregates, ...]
    results: Path
    n_tables: int
    n_cases: int
    n_images: int
    notes: tuple[str, ...]
    show: str | None


def make_report(
    request: Request,
    on_step: Callable[[], None] | None = None,
    command: str | None = None,
) -> Written:
    """Write the page, and the tables behind its numbers to the folder of the scores.

    Args:
        request: What is asked.
        on_step: Called after each image under a mutant.
        command: What the page says that remakes it; None means `uamt report`.

    Raises:
        ConfigError: An option does not fit.
        DataError: There are no scores, or a file is missing or broken.
    """
    if request.pictures < 0:
        raise ConfigError(f"--pictures: expected 0 or more, got {request.pictures}")
    place = find_place(request.results, request.experiment)
    images = parse_images(request.images)
    names = read_label_names(request.label_names) if request.label_names else None
    models = gather(Gathering(place.results, request.suites, request.order, request.passes))
    return _write(place, models, images, names, request, on_step, command or request.command())


def _write(
    place: Place,
    models: Sequence[ModelAggregates],
    images: Mapping[str, Path],
    names: Sequence[str] | None,
    request: Request,
    on_step: Callable[[], None] | None,
    command: str,
) -> Written:
    manifest = read_manifest(place.experiment) if place.experiment else {}
    tables = report_tables(models, place.results)
    gallery = build_gallery(
        tables,
        place.experiment,
        ImageFiles(place.experiment, manifest, images) if place.experiment else None,
        {model.key[1]: names for model in models} if names else label_names(manifest),
        request.pictures,
        on_step,
    )
    gallery.notes[:0] = _notes_of(place.experiment) if manifest else []
    facts = provenance(tables, manifest, place.experiment)
    shown = Shown(place.experiment, images, request.label_names) if place.experiment else None
    page = render(tables, gallery, facts=facts, command=command, shown=shown)
    folder = request.tables or place.results
    written = write_tables(folder, {**tables.tables, **gallery.tables()})
    out = request.out or request.results / "report.html"
    write_atomic(out, page.encode())
    return Written(
        out,
        tuple(models),
        folder,
        len(written),
        len(gallery.cases),
        len(gallery.rasters),
        tuple(gallery.notes),
        _show_command(models, gallery, shown),
    )


def _notes_of(experiment: Path | None) -> list[str]:
    """Return what must be known of an experiment: images left out, weights that are random."""
    try:
        return select(experiment).notes() if experiment else []
    except DataError:
        return []  # nothing of it can be scored any more; the scores that are there can be shown


def _show_command(
    models: Sequence[ModelAggregates],
    gallery: Gallery,
    shown: Shown | None,
) -> str | None:
    """Return `uamt show` of the first picture: the mildest kill of a suite, if there is a kill."""
    if shown is None or not gallery.cases:
        return None
    case = gallery.cases[0]
    model = models[case.model].results
    scores = model.suites[case.suite].scores
    operator, tag = scores.mutants[case.mutant]
    stem = scores.stems[case.image]
    words = ["--mutant", tag, "--root", str(shown.experiment)]
    if len(models) > 1:
        words += ["--model", model.model]
    if len(model.suites) > 1:
        words += ["--suite", scores.suite]
    if sum(other == tag for _, other in scores.mutants) > 1:
        words += ["--operator", operator]
    words += shown.options(scores.suite)
    image = [stem, *words] if not stem.startswith("-") else [*words, "--", stem]
    return shlex.join(["uamt", "show", *image])


def report(
    results: str | Path,
    out: str | Path | None = None,
    *,
    images: str | Path | Mapping[str, str | Path] | None = None,
    experiment: str | Path | None = None,
    pictures: int = PICTURES,
    order: Sequence[str] = (),
    label_names: str | Path | None = None,
    tables: str | Path | None = None,
) -> Path:
    """Write one self-contained HTML page of a scored experiment, and return its path.

    Args:
        results: Folder of the experiment, or of its scores.
        out: The page; None means `report.html` there.
        images: Where the images are now: a folder, or one per suite; None means where the run
            had them.
        experiment: Folder of the predictions, where it is neither `results` nor above it.
        pictures: Images that are drawn under a mutant with all passes, at the most.
        order: Suites in the order of rows; None named means by name.
        label_names: File of what labels are called, one name per line from label 0; None means as
            the detectors told.
        tables: Folder of the tables behind the page; None means that of the scores.

    Raises:
        ConfigError: An option does not fit.
        DataError: There are no scores, or a file is missing or broken.
    """
    if isinstance(images, Mapping):
        named = tuple(f"{suite}={folder}" for suite, folder in images.items())
    else:
        named = () if images is None else (str(images),)
    request = Request(
        Path(results),
        Path(out) if out is not None else None,
        named,
        Path(experiment) if experiment is not None else None,
        pictures,
        order=tuple(order),
        label_names=Path(label_names) if label_names is not None else None,
        tables=Path(tables) if tables is not None else None,
    )
    return make_report(request).page
