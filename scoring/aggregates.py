"""Aggregates: from the rows of images to a mutant, from mutants to a suite."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from scoring.results import Mutant
from scoring.rows import COLUMNS, KINDS, OBJECT_COLUMNS
from scoring.rules import DEEPLUQ, Rules
from scoring.suites import KillRule, SuiteScores
from scoring.tables import STEM_COLUMN

MEAN_COLUMNS = COLUMNS[COLUMNS.index(OBJECT_COLUMNS[0]) :]
"""The 25 columns of which a mutant has a mean over its images."""

MUTANT_COLUMN = "mutant_id"
EQUIVALENT_COLUMN = "equivalent_mutant"
KILL_COLUMNS = tuple(f"iskill_{kind}" for kind in KINDS)
SCORE_COLUMNS = tuple(f"[img_level] ms_{kind}" for kind in KINDS)

_MEANS = [COLUMNS.index(column) for column in MEAN_COLUMNS]


@dataclass(frozen=True, slots=True, eq=False)
class MutantMeans:
    """What a suite says about each of its M mutants.

    Args:
        mutants: M pairs of operator and tag.
        equivalent: (M,) True where a mutant does what the original does; it counts for nothing.
        killed: (M, 3) True where some image kills, per kind.
        means: (M, 25) means over images, NaN where no image has a value.
        n_used: (M, 25) images with a value.
        is_open: (M, 3) True where curtailed passes do not tell whether some image kills; None for
            a full campaign.
    """

    mutants: tuple[Mutant, ...]
    equivalent: npt.NDArray[np.bool_]
    killed: npt.NDArray[np.bool_]
    means: npt.NDArray[np.float64]
    n_used: npt.NDArray[np.int64]
    is_open: npt.NDArray[np.bool_] | None = None

    def of_operator(self, operator: str) -> MutantMeans:
        """Return the same for one operator's mutants."""
        chosen = np.array([name == operator for name, _ in self.mutants], dtype=bool)
        return MutantMeans(
            tuple(m for m in self.mutants if m[0] == operator),
            self.equivalent[chosen],
            self.killed[chosen],
            self.means[chosen],
            self.n_used[chosen],
            None if self.is_open is None else self.is_open[chosen],
        )


def mean_of_known(
    values: npt.NDArray[np.float64], axis: int = 0
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Return the mean along an axis without NaN, NaN where nothing is left, and how many were used.

    Example:
        >>> mean, n_used = mean_of_known(np.array([[1.0, np.nan], [3.0, np.nan]]))
        >>> mean.tolist(), n_used.tolist()
        ([2.0, nan], [2, 0])
    """
    known = ~np.isnan(values)
    number = known.sum(axis=axis)
    total = np.where(known, values, 0.0).sum(axis=axis)
    return np.where(number > 0, total / np.maximum(number, 1), np.nan), number


def mutant_means(
    suite: SuiteScores,
    *,
    rule: KillRule = "any",
    equivalent: Collection[Mutant] = (),
    rules: Rules = DEEPLUQ,
) -> MutantMeans:
    """Return kill decisions and means of every mutant.

    Args:
        suite: Rows of images.
        rule: Kill rule of the decisions; `any` is what was published.
        equivalent: Mutants known to do what the original does.
        rules: Holds alpha.

    Source: scoring.md, section 4, number 1.
    """
    # Every mean adds a contiguous vector, as pandas adds a column: means that are equal in the
    # published tables stay equal to the last bit, and rank tests see the same ties.
    columns = np.ascontiguousarray(suite.values[:, :, _MEANS].transpose(1, 2, 0))
    means, n_used = mean_of_known(columns, axis=2)
    curtailed = suite.curtailed
    killed = [suite.killed(kind, rule, rules).any(axis=0) for kind in KINDS]
    is_open = [suite.is_open(kind, rule, rules) for kind in KINDS]
    return MutantMeans(
        suite.mutants,
        np.array([mutant in equivalent for mutant in suite.mutants], dtype=bool),
        np.stack(killed, axis=1),
        means,
        n_used,
        None if curtailed is None else np.stack(is_open, axis=1),
    )


def mutant_id(mutant: Mutant) -> str:
    """Return how the aggregates name a mutant.

    Example:
        >>> mutant_id(("mc_dropblock", "0.1_3"))
        'mutant_mc_dropblock_0.1_3'
    """
    return f"mutant_{mutant[0]}_{mutant[1]}"


def ua_ms(means: MutantMeans) -> pd.DataFrame:
    """Return a suite's table `ua_ms.csv`: one row per mutant, 30 columns.

    Source: scoring.md, section 4, number 1.
    """
    return pd.concat(
        [
            _keys(means),
            pd.DataFrame({EQUIVALENT_COLUMN: means.equivalent}),
            _kills(means),
            pd.DataFrame(means.means, columns=list(MEAN_COLUMNS)),
        ],
        axis=1,
    )


def ua_ms_n_used(means: MutantMeans) -> pd.DataFrame:
    """Return a suite's table `ua_ms_n_used.csv`: how many images each mean rests on.

    Source: scoring.md, section 3, row 14.
    """
    return pd.concat([_keys(means), pd.DataFrame(means.n_used, columns=list(MEAN_COLUMNS))], axis=1)


def _keys(means: MutantMeans) -> pd.DataFrame:
    names = [mutant_id(mutant) for mutant in means.mutants]
    return pd.DataFrame({MUTANT_COLUMN: pd.Series(names, dtype=object)})


def _kills(means: MutantMeans) -> pd.DataFrame:
    """Return the kill decisions, empty where they are open."""
    table = pd.DataFrame(means.killed, columns=list(KILL_COLUMNS))
    if means.is_open is None:
        return table
    return table.astype(object).where(~means.is_open, None)


def image_scores(means: MutantMeans) -> npt.NDArray[np.float64]:
    """Return (3,) Img-MS per kind: killed mutants over those that are not equivalent.

    NaN if every mutant is equivalent, or one is open.

    Source: scoring.md, section 3, row 18, and section 4, number 2.
    """
    counted = ~means.equivalent
    if not counted.any():
        return np.full(len(KINDS), np.nan)
    scores = means.killed[counted].sum(axis=0) / counted.sum()
    if means.is_open is not None:
        scores = np.where(means.is_open[counted].any(axis=0), np.nan, scores)
    return np.asarray(scores, dtype=np.float64)


def ua_ms_model(suites: Sequence[tuple[str, MutantMeans]]) -> pd.DataFrame:
    """Return a model's table `ua_ms_model.csv`: one row per suite, 29 columns.

    Args:
        suites: Names and mutants of the suites, in the order of the rows. For
            `ua_ms_model_dropout.csv` and `_dropblock.csv`, those of one operator.

    Source: scoring.md, section 4, number 2.
    """
    rows = []
    for name, means in suites:
        over_mutants, _ = mean_of_known(means.means[~means.equivalent])
        rows.append(
            {
                STEM_COLUMN: name,
                **dict(zip(SCORE_COLUMNS, image_scores(means).tolist(), strict=True)),
                **dict(zip(MEAN_COLUMNS, over_mutants.tolist(), strict=True)),
            }
        )
    return pd.DataFrame(rows, columns=[STEM_COLUMN, *SCORE_COLUMNS, *MEAN_COLUMNS])
