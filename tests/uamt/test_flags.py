"""Flags: how they are split, written back, and refused."""

from __future__ import annotations

import shlex
from typing import Any

import pytest

from tests.uamt.conftest import Command
from uamt.cli import build_parser, given_options
from uamt.options import as_flags

BRACES = "**.fpn.{inner,layer}_blocks.*"


@pytest.mark.parametrize(
    ("typed", "sites"),
    [
        ([BRACES], BRACES),
        ([f"{BRACES},head.{{a,b}}@in, conv"], (BRACES, "head.{a,b}@in", "conv")),
        ([BRACES, "conv"], (BRACES, "conv")),
        (["{a,b},"], "{a,b}"),
        (["a{b,c"], ("a{b", "c")),
    ],
)
@pytest.mark.parametrize("command", [("doctor", "m"), ("run",), ("plan",)])
def test_a_comma_within_braces_belongs_to_the_pattern(
    command: tuple[str, ...], typed: list[str], sites: Any
) -> None:
    words = [*command, *(word for text in typed for word in ("--sites", text))]
    values = given_options(build_parser().parse_args(words))
    assert values["sites"] == sites
    again = build_parser().parse_args([*command, *shlex.split(as_flags(values))])
    assert given_options(again)["sites"] == sites


def test_commas_part_everything_else() -> None:
    words = ["run", "--operators", "{a,b}", "--blocks", "3, 5,"]
    values = given_options(build_parser().parse_args(words))
    assert values == {"operators": ("{a", "b}"), "operators.mc_dropblock.blocks": (3, 5)}


@pytest.mark.parametrize(
    ("command", "usage"),
    [
        (("doctor", "demo_retinanet"), "usage: uamt doctor "),
        (("export", "coco", "tree", "--out", "o"), "usage: uamt export coco "),
    ],
)
def test_an_unknown_flag_is_answered_with_the_usage_of_its_command(
    uamt: Command, command: tuple[str, ...], usage: str
) -> None:
    code, _, said = uamt(*command, "--pazzes", "3")
    assert code == 2
    name = usage.removeprefix("usage: ").strip()
    assert said.startswith(usage)
    assert said.splitlines()[-1] == (
        f"{name}: error: unrecognized arguments: --pazzes 3; see '{name} --help'"
    )
