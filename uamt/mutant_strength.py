"""Whether mutants were too strong or too mild to tell images and suites apart, and what to run."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from scoring.rules import DEEPLUQ, Rules
from scoring.suites import SuiteScores
from scoring.summary import HOW, VERDICT_KIND, verdict_rule
from scoring.tags import format_rate, tag_order
from uamt.configuration import saved_path
from uamt.options import BY_KEY

_MILDER = (Decimal("0.1"), Decimal("0.2"), Decimal("0.5"))
"""Of the mildest rate that was run."""
_STRONGER = (Decimal(2), Decimal(5))
"""Times the strongest rate that was run."""
_LARGEST_RATE = Decimal("0.9")


@dataclass(frozen=True, slots=True)
class Strength:
    """What is wrong with the strength of all mutants, and how to run others.

    Args:
        remark: A sentence.
        command: Runs other mutants beside those that are there; None where nothing tells how the
            experiment was run.
    """

    remark: str
    command: str | None


def strength(suites: Sequence[SuiteScores], root: Path, rules: Rules = DEEPLUQ) -> Strength | None:
    """Return what to run instead if every image kills every mutant, or none kills any.

    Args:
        suites: Rows of each model and suite.
        root: The experiment's folder.
        rules: Hold alpha and the kill rule.

    Returns:
        None where the mutants tell images apart, or curtailed passes leave that open.
    """
    rule = verdict_rule(rules, suites)
    shares = {suite.kill_share(VERDICT_KIND, rule, rules).value for suite in suites}
    if shares == {1.0}:
        told = (
            f"Every image kills every mutant {HOW[rule]}: these mutants are too strong to tell "
            f"images or suites apart. Run milder ones"
        )
    elif shares == {0.0}:
        told = (
            f"No image kills any mutant {HOW[rule]}: these mutants are too mild to tell images or "
            f"suites apart, or the detector finds nothing on these images ('uamt doctor MODEL "
            f"--images FOLDER' says so). Run stronger ones"
        )
    else:
        return None
    flags = list(rate_flags(suites, is_milder=shares == {1.0}))
    remark = f"{told}, for example {' '.join(flags)}." if flags else f"{told}."
    models = {suite.model for suite in suites}
    saved = saved_path(root, models.pop())
    if models or not flags or not saved.is_file():
        return Strength(remark, None)
    return Strength(remark, " ".join([shlex.join(["uamt", "run", str(saved)]), *flags]))


def rate_flags(suites: Sequence[SuiteScores], *, is_milder: bool) -> Iterator[str]:
    """Yield the flag of each operator's rates, with rates beyond those that were run.

    Args:
        suites: Rows of each model and suite.
        is_milder: Whether rates below the mildest are wanted, else above the strongest.
    """
    mutants = dict.fromkeys(mutant for suite in suites for mutant in suite.mutants)
    for operator in dict.fromkeys(name for name, _ in mutants):
        option = BY_KEY.get(f"operators.{operator}.rates")
        numbers = [tag_order(tag)[0][0] for name, tag in mutants if name == operator]
        rates = [number for number in numbers if number.is_finite() and number > 0]
        if option is None or not rates:
            continue
        if is_milder:
            others = [factor * min(rates) for factor in _MILDER]
        else:
            others = [min(factor * max(rates), _LARGEST_RATE) for factor in _STRONGER]
        new = dict.fromkeys(map(format_rate, others))
        written = [rate for rate in new if Decimal(rate) > 0 and Decimal(rate) not in rates]
        if written:
            yield f"{option.flag} {','.join(written)}"
