"""Kill counts: how many mutants each image kills, and in how many passes pairs differ."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import pandas as pd

from scoring.curtailment import KILLED, OPEN
from scoring.kill_rules import KILL_RULES
from scoring.results import Mutant
from scoring.rules import DEEPLUQ
from scoring.suite_kills import SuiteKills
from scoring.summary import VERDICT_KIND
from scoring.tables import STEM_COLUMN

IMAGES_NAME = "ua_ms_images.csv"
CHANGED_NAME = "ua_ms_changed_passes.csv"

COUNT_COLUMN = f"[img_level] iskill_{VERDICT_KIND}_count"


def image_table(kills: SuiteKills, equivalent: Collection[Mutant] = ()) -> pd.DataFrame:
    """Return a suite's table `ua_ms_images.csv`: one row per image.

    Columns: the image; the mutants that it kills by a miss or a ghost, per kill rule (empty where
    curtailed passes leave one open); the mutants with a row; the changed passes of all of them.
    Equivalent mutants are left out.

    Args:
        kills: What decides over the kills of the suite.
        equivalent: Mutants that do what the original does.

    Source: scoring.md, section 4, number 1.
    """
    scores = kills.scores
    counted = [m for m, mutant in enumerate(scores.mutants) if mutant not in equivalent]
    counts = scores.column(COUNT_COLUMN)[:, counted]
    table = pd.DataFrame({STEM_COLUMN: pd.Series(scores.stems, dtype=object)})
    rules = DEEPLUQ.with_(alpha=kills.alpha)
    for rule in KILL_RULES:
        found = scores.verdicts(VERDICT_KIND, rule, rules)[:, counted]
        number = pd.array((found == KILLED).sum(axis=1), dtype="Int64")
        number[(found == OPEN).any(axis=1)] = pd.NA
        table[f"n_killed_{rule}"] = number
    table["n_mutants"] = scores.has_row[:, counted].sum(axis=1)
    table["n_changed_passes"] = np.nansum(counts, axis=1).astype(np.int64)
    return table


def changed_passes(suites: Sequence[SuiteKills]) -> pd.DataFrame:
    """Return a model's table `ua_ms_changed_passes.csv`: one row per suite and number of passes.

    Columns: the suite; a number of changed passes, 0 to T; the pairs of image and mutant that
    have so many. Pairs whose count is not known are in no row.

    Args:
        suites: Kills of each suite, in the order of the rows.
    """
    rows = []
    for kills in suites:
        counts = kills.scores.column(COUNT_COLUMN)
        known = counts[~np.isnan(counts)].astype(np.int64)
        top = max([0, *known.tolist(), int(kills.n_passes.max(initial=0))])
        for changed, pairs in enumerate(np.bincount(known, minlength=top + 1).tolist()):
            rows.append(
                {STEM_COLUMN: kills.scores.suite, "changed_passes": changed, "n_pairs": pairs}
            )
    return pd.DataFrame(rows, columns=[STEM_COLUMN, "changed_passes", "n_pairs"])
