"""Foreign rows: images in a suite's tables that belong to no suite, or to another one."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping

import pandas as pd

from scoring.errors import DataError
from scoring.layout import Table
from scoring.membership import Members
from scoring.tables import STEM_COLUMN

Frames = Mapping[Table, pd.DataFrame]
"""The tables of a suite, read."""


def refuse_foreign_rows(
    model: str, suite: str, frames: Mapping[str, Frames], members: Members | None
) -> None:
    """Raise if a table holds an image that belongs to another suite.

    With a list of the suite's images, every other image is foreign. Without one, an image is
    foreign if most mutants of the operator lack it while another suite of the model has it: an
    image on which a few mutants crashed is no stranger, and suites may share images.

    Args:
        model: Name of the model, for messages.
        suite: The suite to check.
        frames: Tables of all suites of the model.
        members: The suite's images, where somebody listed them.

    Raises:
        DataError: Names file, image and both suites.
    """
    if members is not None:
        _refuse_unlisted(suite, frames[suite], members)
        return
    n_tables = Counter(table.branch.operator for table in frames[suite])
    carriers: dict[tuple[str, str], list[Table]] = defaultdict(list)
    for table, frame in frames[suite].items():
        for stem in frame[STEM_COLUMN]:
            carriers[table.branch.operator, stem].append(table)
    elsewhere = {name: _images(others) for name, others in frames.items() if name != suite}
    for (operator, stem), found in carriers.items():
        if 2 * len(found) >= n_tables[operator]:
            continue
        for other, images in elsewhere.items():
            if stem in images:
                raise DataError(
                    f"{found[0].path}: row '{stem}' is an image of suite '{other}' of '{model}'; "
                    f"{len(found)} of {n_tables[operator]} {operator} tables of suite '{suite}' "
                    f"have it"
                )


def _refuse_unlisted(suite: str, frames: Frames, members: Members) -> None:
    for table, frame in frames.items():
        for stem in frame[STEM_COLUMN]:
            if stem not in members:
                raise DataError(
                    f"{table.path}: row '{stem}' is no image of suite '{suite}' as "
                    f"{members.source} lists it"
                )


def refuse_disjoint_operators(model: str, suite: str, frames: Frames) -> None:
    """Raise if the operators of a suite were run on wholly different images.

    Raises:
        DataError: Names suite, model and operators.
    """
    by_operator: dict[str, dict[Table, pd.DataFrame]] = defaultdict(dict)
    for table, frame in frames.items():
        by_operator[table.branch.operator][table] = frame
    images = [_images(tables) for tables in by_operator.values()]
    if len(images) > 1 and not set.intersection(*images):
        raise DataError(
            f"suite '{suite}' of '{model}': the operators {sorted(by_operator)} have no image in "
            f"common"
        )


def _images(frames: Frames) -> set[str]:
    return {stem for frame in frames.values() for stem in frame[STEM_COLUMN]}
