"""The kill test and the object ratios on plain lists, by their public names."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from scoring.errors import DataError
from scoring.kill import binomial_test
from scoring.levels import changed_passes, object_ratios
from scoring.rows import KINDS
from scoring.rules import DEEPLUQ, Rules

Metrics = dict[str, Any]
Sets = Sequence[Sequence[Any]]
"""T lists: the matches, misses or ghosts of every repetition."""


def kill_count_img(miss_s: Sets, ghost_s: Sets) -> tuple[int, int, int]:
    """Return in how many repetitions there is a miss, a ghost, or either.

    Args:
        miss_s: T lists of misses.
        ghost_s: T lists of ghosts.

    Example:
        >>> kill_count_img([["a"], [], []], [["b"], ["c"], []])
        (1, 2, 2)
    """
    return changed_passes(_counts(miss_s, miss_s, ghost_s))


def iskill_img(
    miss_s: Sets, ghost_s: Sets, *, rules: Rules = DEEPLUQ
) -> tuple[Metrics, Metrics, Metrics]:
    """Return the kill test of misses, of ghosts, and of either; n is the number of repetitions.

    Args:
        miss_s: T lists of misses.
        ghost_s: T lists of ghosts.
        rules: Noise floor, level, and a fixed n where it is wanted.

    Returns:
        Three results of `check_kill_binomial_test`.

    Source: scoring.md, section 2, "Image level", and section 5.
    """
    tests = [kill_test(count, len(miss_s), rules) for count in kill_count_img(miss_s, ghost_s)]
    return tests[0], tests[1], tests[2]


def kill_test(count: int, n_passes: int, rules: Rules) -> Metrics:
    """Return the kill test of `count` changed passes by these rules."""
    return check_kill_binomial_test(
        count, rules.binomial_n or n_passes, rules.null_rate, rules.alpha
    )


def check_kill_binomial_test(success: int, n: int, p_null: float, alpha: float = 0.05) -> Metrics:
    """Return the one-sided binomial test of `success` changed repetitions out of `n`.

    Args:
        success: Repetitions that changed, at least 0.
        n: Repetitions.
        p_null: Share that noise alone may change.
        alpha: Level of the critical count.

    Returns:
        sample_size, observed_success, observed_p1, null_p0, cohens_h, p_value,
        critical_threshold (n + 1 if no count is critical), power.

    Source: scoring.md, section 2, "Image level", and section 5.

    Example:
        >>> test = check_kill_binomial_test(2, 10, 0.01)
        >>> round(test["p_value"], 6), test["critical_threshold"]
        (0.004266, 2)
    """
    test = binomial_test(operator.index(success), operator.index(n), p_null, alpha)
    return {
        "sample_size": test.n,
        "observed_success": test.count,
        "observed_p1": test.count / test.n,
        "null_p0": test.null_rate,
        "cohens_h": test.cohens_h,
        "p_value": test.p_value,
        "critical_threshold": test.critical_count,
        "power": test.power,
    }


def kill_rate_obj(
    match_s: Sets, miss_s: Sets, ghost_s: Sets, *, rules: Rules = DEEPLUQ
) -> dict[str, float]:
    """Return mean and population std over the repetitions of the three object ratios.

    Args:
        match_s: T lists of matches.
        miss_s: T lists of misses.
        ghost_s: T lists of ghosts.
        rules: What ghosts are a share of.

    Returns:
        `kill_rate_{miss,ghost,miss_ghost}_{mean,std}`; NaN where no repetition has the ratio.

    Source: scoring.md, section 2, "Object level", and section 5.

    Example:
        >>> kill_rate_obj([["a"]], [["b"]], [[]])["kill_rate_miss_mean"]
        0.5
    """
    names = [f"kill_rate_{kind}_{number}" for kind in KINDS for number in ("mean", "std")]
    ratios = object_ratios(_counts(match_s, miss_s, ghost_s), rules)
    return dict(zip(names, ratios, strict=True))


def _counts(match_s: Sets, miss_s: Sets, ghost_s: Sets) -> npt.NDArray[np.int64]:
    if not len(match_s) == len(miss_s) == len(ghost_s):
        raise DataError(
            f"expected as many repetitions of each set, got {len(match_s)}, {len(miss_s)} and "
            f"{len(ghost_s)}"
        )
    columns = [[len(each) for each in sets] for sets in (match_s, miss_s, ghost_s)]
    return np.array(columns, dtype=np.int64).T
