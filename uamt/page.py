"""The page: verdict, table and a few annotated pictures, in one file that needs no network."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image, ImageOps

from scoring.files import write_atomic
from scoring.layout import Branch, original_tag
from scoring.predictions import read_passes
from scoring.suites import SuiteScores
from scoring.tracks import Tracks, track
from uamt.drawing import STYLES, brightened, draw_pass
from uamt.presentation import LEGEND, count_of, summary_table


@dataclass(frozen=True, slots=True)
class Picture:
    """One annotated picture of the page.

    Args:
        data: JPEG as base64.
        width: In pixels.
        height: In pixels.
        caption: What is to be seen.
        alt: The same for who cannot see it.
    """

    data: str
    width: int
    height: int
    caption: str
    alt: str


@dataclass(frozen=True, slots=True)
class Source:
    """Where the pictures of a model come from.

    Args:
        root: The experiment's folder.
        images: Path of each image, by suite and stem.
        label_names: Name of each label id, by model.
    """

    root: Path
    images: Mapping[tuple[str, str], Path]
    label_names: Mapping[str, Sequence[str]]


def write_page(
    path: Path,
    *,
    title: str,
    subtitle: str,
    verdict: str,
    summary: pd.DataFrame,
    pictures: Sequence[Picture],
    provenance: Sequence[str],
) -> None:
    """Write the page; every text that comes from elsewhere is escaped."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
    )
    table = summary_table(summary)
    html = environment.get_template("page.html").render(
        title=title,
        subtitle=subtitle,
        verdict=verdict,
        table={"columns": list(table.columns), "rows": table.to_numpy().tolist()},
        crashed=int(summary["crashed"].sum()),
        legend=LEGEND,
        styles=list(STYLES.values()),
        pictures=pictures,
        provenance=provenance,
    )
    write_atomic(path, html.encode())


def kill_pictures(suites: Sequence[SuiteScores], source: Source) -> list[Picture]:
    """Return one picture per model and suite: the mildest significant kill, on its best image."""
    pictures = []
    for suite in suites:
        chosen = _mildest_kill(suite)
        if chosen is not None:
            pictures.append(_picture(suite, *chosen, source))
    return pictures


def _mildest_kill(suite: SuiteScores) -> tuple[int, int] | None:
    """Return image and mutant: the mildest mutant killed, the image that kills most of all."""
    killed = suite.killed("miss_ghost", "significant")
    if not killed.any():
        return None
    rates = [float(tag.split("_")[0]) for _, tag in suite.mutants]
    hit = np.flatnonzero(killed.any(axis=0))
    mutant = int(min(hit, key=lambda m: rates[m]))
    power = np.where(killed[:, mutant], killed.sum(axis=1), -1)
    return int(np.argmax(power)), mutant


def _picture(suite: SuiteScores, image: int, mutant: int, source: Source) -> Picture:
    operator, tag = suite.mutants[mutant]
    stem = suite.stems[image]
    tracks = read_tracks(source.root, Branch(operator, suite.model, suite.suite), tag, stem)
    counts = tracks.counts()
    t = int(np.argmax(counts[:, 1] + counts[:, 2]))
    with Image.open(source.images[suite.suite, stem]) as opened:
        upright = ImageOps.exif_transpose(opened).convert("RGB")
    shown, is_brightened = brightened(upright)
    drawn = draw_pass(shown, tracks, t, source.label_names.get(suite.model, ()))
    buffer = io.BytesIO()
    drawn.save(buffer, "JPEG", quality=85)
    matches, misses, ghosts = counts[t].tolist()
    changed = int(((counts[:, 1] > 0) | (counts[:, 2] > 0)).sum())
    kills = int(suite.killed("miss_ghost", "significant")[image].sum())
    caption = (
        f"{suite.model}, suite {suite.suite}, image {stem}, mutant {operator} {tag}, pass {t}: "
        f"{count_of(matches, 'match', 'matches')}, {count_of(misses, 'miss', 'misses')}, "
        f"{count_of(ghosts, 'ghost')}. {changed} of {tracks.n_passes} passes differ from the "
        f"original; this image kills {kills} of {len(suite.mutants)} mutants."
        f"{' Brightened for viewing.' if is_brightened else ''}"
    )
    return Picture(
        data=base64.b64encode(buffer.getvalue()).decode(),
        width=drawn.width,
        height=drawn.height,
        caption=caption,
        alt=f"Detections of original and mutant side by side: {caption}",
    )


def read_tracks(root: Path, branch: Branch, tag: str, stem: str) -> Tracks:
    """Return what became of an image's objects under one mutant, from the prediction files."""
    original = read_passes(branch.folder(root, original_tag(branch.operator), stem))
    return track(original, read_passes(branch.folder(root, tag, stem), original.n_passes))
