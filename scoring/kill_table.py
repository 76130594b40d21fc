"""Kill tables: what every kill rule says of a mutant, and how widely a suite kills."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from scoring.aggregates import MUTANT_COLUMN, mutant_id
from scoring.curtailment import KILLED, OPEN
from scoring.intervals import UNKNOWN, interval_over_images
from scoring.kill_rules import KILL_RULES
from scoring.results import Mutant
from scoring.rows import KINDS
from scoring.rules import DEEPLUQ
from scoring.suite_kills import SuiteKills
from scoring.suites import SuiteScores
from scoring.tables import STEM_COLUMN
from scoring.tags import tag_order


def kill_table(kills: SuiteKills) -> pd.DataFrame:
    """Return a suite's table `ua_ms_kills.csv`: one row per mutant and kind.

    Columns: the outcome of `any`, `significant` and `holm`; the images, and how many of them kill
    by each rule; the smallest p value; the share of images at 0 and at T changed passes; whether
    the decision is reliable (empty where no facts stand beside the tables). Where passes were
    curtailed, an outcome that is open is empty, as are p value and shares, and more columns say
    how many images are not settled.

    Source: scoring.md, section 4, number 1.
    """
    rows = []
    for mutant, is_reliable in zip(kills.scores.mutants, kills.is_reliable, strict=True):
        for kind in KINDS:
            decision = kills.decision(mutant, kind)
            rows.append(
                {MUTANT_COLUMN: mutant_id(mutant), "kind": kind}
                | dict(zip(KILL_RULES, decision.is_killed, strict=True))
                | {"n_images": decision.n_images}
                | {
                    f"n_killing_{rule}": number
                    for rule, number in zip(KILL_RULES, decision.n_killing, strict=True)
                }
                | {
                    "smallest_p": decision.smallest_p,
                    "share_at_0": decision.share_at_none,
                    "share_at_T": decision.share_at_all,
                    "reliable": is_reliable,
                }
                | _n_open(kills.scores, mutant, kind)
            )
    return pd.DataFrame(rows)


def _n_open(scores: SuiteScores, mutant: Mutant, kind: str) -> dict[str, int]:
    """Return how many images leave a mutant open, by rule; nothing for a full campaign."""
    if scores.curtailed is None:
        return {}
    m = scores.mutants.index(mutant)
    return {
        f"n_open_{rule}": int((scores.verdicts(kind, rule)[:, m] == OPEN).sum())
        for rule in KILL_RULES
    }


def kill_shares(suites: Sequence[SuiteKills], equivalent: Collection[Mutant] = ()) -> pd.DataFrame:
    """Return a model's table `ua_ms_kill_shares.csv`: one row per suite and kind.

    Per kill rule: Img-MS, the share of image x mutant pairs that are kills with its 95 % bootstrap
    interval over images (empty where fewer than 4 are too few for one), the mildest rate that is
    killed, and the trivial mutants, which every image kills. A pair without a row is no kill;
    an image without any row is left out of the shares.
    Equivalent mutants are counted and left out. What curtailed passes leave open is empty.

    Args:
        suites: Kills of each suite, in the order of the rows.
        equivalent: Mutants that do what the original does.

    Source: scoring.md, section 4, number 1.
    """
    table = pd.DataFrame(
        [_share_row(suite, kind, equivalent) for suite in suites for kind in KINDS]
    )
    # Whole numbers stay whole beside what is open.
    return table.astype({f"n_trivial_{rule}": "Int64" for rule in KILL_RULES})


def _share_row(kills: SuiteKills, kind: str, equivalent: Collection[Mutant]) -> dict[str, Any]:
    scores = kills.scores
    counted = [m for m, mutant in enumerate(scores.mutants) if mutant not in equivalent]
    counts = scores.column(f"[img_level] iskill_{kind}_count")[:, counted]
    there = scores.has_row[:, counted]
    n_passes = kills.n_passes[:, counted]
    is_full = scores.curtailed is None
    is_known = is_full and bool((n_passes >= 0).all())
    row: dict[str, Any] = {
        STEM_COLUMN: scores.suite,
        "kind": kind,
        "n_images": len(scores.stems),
        "n_mutants": len(scores.mutants),
        "n_equivalent": len(scores.mutants) - len(counted),
        "n_without_row": int((~there).sum()),
        "share_at_0": _share(counts[there] == 0) if is_full else np.nan,
        "share_at_T": _share((counts == n_passes)[there]) if is_known else np.nan,
    }
    rates = [scores.mutants[m][1].partition("_")[0] for m in counted]
    rules = DEEPLUQ.with_(alpha=kills.alpha)
    for rule in KILL_RULES:
        found = scores.verdicts(kind, rule, rules)[:, counted]
        row |= _rule_columns(found, there, rates, rule)
    return row


def _rule_columns(
    found: npt.NDArray[np.int8], there: npt.NDArray[np.bool_], rates: Sequence[str], rule: str
) -> dict[str, Any]:
    """Return the columns of one kill rule; None or NaN where verdicts that are open could tell."""
    killing, is_open = found == KILLED, found == OPEN
    killed = killing.any(axis=0)
    is_settled, has_open = not (is_open.any(axis=0) & ~killed).any(), bool(is_open.any())
    mildest = min((rates[m] for m in np.flatnonzero(killed).tolist()), key=tag_order, default=None)
    trivial = (killing | ~there).all(axis=0) & there.any(axis=0)
    share = UNKNOWN
    if rates and not has_open:
        # An image on which every mutant crashed says nothing of the suite.
        share = interval_over_images(killing[there.any(axis=1)].mean(axis=1))
    return {
        f"ms_{rule}": _share(killed) if is_settled else np.nan,
        f"kill_share_{rule}": share.value,
        f"kill_share_{rule}_low": share.low,
        f"kill_share_{rule}_high": share.high,
        f"mildest_rate_{rule}": mildest if is_settled else None,
        f"n_trivial_{rule}": None if has_open else int(trivial.sum()),
    }


def _share(flags: npt.ArrayLike) -> float:
    array = np.asarray(flags, dtype=np.float64)
    return float(array.mean()) if array.size else float("nan")
