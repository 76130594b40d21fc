"""Where a report's inputs lie: scores, predictions, and the images that were run."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scoring.errors import ConfigError, DataError
from scoring.layout import Branch, expect_folder, find_branches, find_tables
from uamt.gathered import scores_folder
from uamt.image_places import ImagePlaces


@dataclass(frozen=True, slots=True)
class Place:
    """The folders of a report.

    Args:
        results: Holds the mutants' tables, as `uamt score` wrote them.
        experiment: Holds the predictions; None where nobody knows, and pictures are left out.
    """

    results: Path
    experiment: Path | None


def find_place(given: Path, experiment: Path | None = None) -> Place:
    """Return the folders that RESULTS stands for: an experiment, or the folder of its scores.

    Args:
        given: RESULTS.
        experiment: The experiment's folder, where it is neither RESULTS nor above it.

    Raises:
        DataError: There are no scores, or the experiment that was named holds no predictions.
    """
    expect_folder(given)
    results = scores_folder(given)
    if not find_tables(results):
        if find_branches(given):
            what = f"predictions only; run {shlex.join(['uamt', 'score', str(given)])!r} first"
        else:
            what = (
                "none; name the experiment's folder (--out of 'uamt run') once 'uamt score' has "
                "scored it, or the folder of its scores"
            )
        raise DataError(f"{given}: expected the scores of an experiment, found {what}")
    if experiment is not None:
        expect_folder(experiment)
        if not find_branches(experiment):
            raise DataError(
                f"{experiment}: expected folders 'experiment_results_<operator>', found none; "
                f"--experiment names the folder that 'uamt run' or 'uamt import' wrote"
            )
        return Place(results, experiment)
    near = (given, results.parent, results.resolve().parent)
    return Place(results, next((folder for folder in near if find_branches(folder)), None))


def parse_images(options: Sequence[str]) -> dict[str, Path]:
    """Return the folders of `--images FOLDER` and `--images SUITE=FOLDER`, by suite.

    The folder of all suites stands under the empty name.

    Raises:
        ConfigError: An option has an empty part, or a name stands there twice.
        DataError: There is no such folder.
    """
    folders: dict[str, Path] = {}
    for option in options:
        suite, equals, folder = option.rpartition("=")
        if Path(option).is_dir():  # a folder may have an equals sign in its name
            suite, equals, folder = "", "", option
        if not folder or (equals and not suite):
            raise ConfigError(f"--images: expected FOLDER or SUITE=FOLDER, got {option!r}")
        if suite in folders:
            raise ConfigError(f"--images: expected one folder for suite {suite!r}, got two")
        if not Path(folder).is_dir():
            raise DataError(f"--images: expected a folder at '{folder}', found none")
        folders[suite] = Path(folder)
    return folders


class ImageFiles:
    """The files of the images of an experiment, with the bytes that were run.

    Args:
        experiment: The experiment's folder.
        manifest: As `read_manifest` returns it.
        given: Folders that a person named, by suite; that of all suites under the empty name.
    """

    def __init__(
        self, experiment: Path, manifest: Mapping[str, Any], given: Mapping[str, Path]
    ) -> None:
        self._experiment, self._manifest, self._given = experiment, manifest, given
        self._places: dict[tuple[str, str], ImagePlaces] = {}

    def find(self, model: str, suite: str, stem: str) -> Path:
        """Return the file of an image.

        Raises:
            DataError: It is not there, or is another picture than was run.
        """
        key = (model, suite)
        if key not in self._places:
            folder = self._given.get(suite, self._given.get(""))
            self._places[key] = ImagePlaces(self._experiment, self._manifest, *key, folder)
        found = self._places[key].find(stem)
        if found.is_same is False:
            raise DataError(f"image '{stem}': '{found.path}' is another picture than was run")
        return found.path


def prediction_branch(experiment: Path, operator: str, model: str, suite: str) -> Branch:
    """Return where the predictions of a suite lie; suites made of lists share one folder."""
    branch = Branch(operator, model, suite)
    return branch if branch.suite_folder(experiment).is_dir() else Branch(operator, model)
