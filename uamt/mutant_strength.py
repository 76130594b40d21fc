"""Whether mutants were too strong or too mild to tell images and suites apart, and what to run."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
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
    advice = advise_rates(suites, root, is_milder=shares == {1.0})
    if not advice.texts:
        return Strength(f"{told}.", None)
    remark = f"{told}, for example {(' ' if advice.saved else ' and ').join(advice.texts)}."
    if len({suite.model for suite in suites}) > 1 or not advice.saved:
        return Strength(remark, None)
    run = shlex.join(["uamt", "run", str(advice.saved[0])])
    return Strength(remark, " ".join([run, *advice.texts]))


@dataclass(frozen=True, slots=True)
class RateAdvice:
    """Which rates to run.

    Args:
        texts: Of each operator: its flag of `uamt run`, or words where nothing tells that the
            experiment was run by it: who made the mutants in another way has no flags.
        saved: Configurations of runs that are there.
    """

    texts: tuple[str, ...]
    saved: tuple[Path, ...]


def advise_rates(
    suites: Sequence[SuiteScores], root: Path | None, *, is_milder: bool
) -> RateAdvice:
    """Return the `other_rates` of each operator as they are told.

    Args:
        suites: Rows of each model and suite.
        root: The experiment's folder; None where only its scores are there.
        is_milder: Whether rates below the mildest are wanted, else above the strongest.
    """
    models = dict.fromkeys(suite.model for suite in suites)
    paths = [] if root is None else [saved_path(root, model) for model in models]
    saved = tuple(path for path in paths if path.is_file())
    rates = other_rates(suites, is_milder=is_milder).items()
    if saved:
        texts = (
            f"{BY_KEY[f'operators.{name}.rates'].flag} {','.join(some)}" for name, some in rates
        )
    else:
        texts = (f"{name} at {', '.join(some)}" for name, some in rates)
    return RateAdvice(tuple(texts), saved)


def other_rates(suites: Sequence[SuiteScores], *, is_milder: bool) -> dict[str, list[str]]:
    """Return, for each operator of a run, rates beyond those that were run.

    Args:
        suites: Rows of each model and suite.
        is_milder: Whether rates below the mildest are wanted, else above the strongest.
    """
    mutants = dict.fromkeys(mutant for suite in suites for mutant in suite.mutants)
    found = {}
    for operator in dict.fromkeys(name for name, _ in mutants):
        numbers = [tag_order(tag)[0][0] for name, tag in mutants if name == operator]
        rates = [number for number in numbers if number.is_finite() and number > 0]
        if f"operators.{operator}.rates" not in BY_KEY or not rates:
            continue
        if is_milder:
            others = [factor * min(rates) for factor in _MILDER]
        else:
            others = [min(factor * max(rates), _LARGEST_RATE) for factor in _STRONGER]
        new = dict.fromkeys(map(format_rate, others))
        if written := [rate for rate in new if Decimal(rate) > 0 and Decimal(rate) not in rates]:
            found[operator] = written
    return found
