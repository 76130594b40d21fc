"""The command line: `uamt demo`, `doctor`, `plan`, `run`, `verify`, `score`, `suites`, `study`,
`report`, `show`, `import`, `export`.
"""

from __future__ import annotations

import argparse
import io
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from scoring.errors import ConfigError, UamtError
from uamt import (
    commands,
    doctor_command,
    plan_command,
    report_command,
    show_command,
    study_command,
    suites_command,
    verify_command,
)
from uamt.exchange_commands import add_exchange
from uamt.options import OPTIONS, TOPICS, Option, parse_flag
from uamt.outcome import Outcome, harmless, json_of, json_of_error, text_of
from uamt.presentation import HELP_WIDTH, examples_text, paragraph
from uamt.system_errors import system_error_line

INTERRUPTED = 130

_DESCRIPTION = (
    "Uncertainty-aware mutation testing for object detectors: would your image suites notice a "
    "worse detector, and which images carry that power?"
)

_EXIT_CODES = (
    "exit codes: 0 done; 1 a check failed; 2 wrong usage or configuration; 3 data missing or "
    "broken; 4 done, but with skipped images, crashed mutants or old scores; 130 interrupted"
)


_RESUMES = "what is finished is kept, and the same command goes on from there"
_NOTHING_HALF_WRITTEN = "files that are there are whole, and the same command writes them all anew"
_NOTHING_WRITTEN = "nothing was written, and the same command starts anew"
_AFTER_INTERRUPT = {
    "demo": _RESUMES,
    "run": _RESUMES,
    "doctor": _NOTHING_WRITTEN,
    "plan": _NOTHING_WRITTEN,
    "verify": _NOTHING_WRITTEN,
}
"""How to go on after an interrupt, by command."""


_ORDER = """\
first look:   uamt demo
your own:     uamt doctor MODEL, uamt plan, uamt run, uamt score ROOT,
              uamt report ROOT, uamt show IMAGE
for CI:       uamt suites ROOT --fail-under kill_share=.5
other tools:  uamt import coco, uamt score ROOT
help:         uamt COMMAND --help; each ends in an example"""


def _version() -> str:
    try:
        return version("uamt-detect")
    except PackageNotFoundError:
        return "(not installed)"


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = argparse.ArgumentParser(
        prog="uamt",
        description=paragraph(_DESCRIPTION, HELP_WIDTH),
        epilog=f"{_ORDER}\n\n{paragraph(_EXIT_CODES, HELP_WIDTH)}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"uamt {_version()}")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    demo = _command(
        subparsers,
        "demo",
        commands.demo,
        "the whole job on the built-in detectors and images, ending in a page",
        "uamt demo",
    )
    demo.add_argument(
        "--out",
        default="uamt_demo",
        metavar="FOLDER",
        help="folder of everything it makes; default: uamt_demo",
    )
    demo.add_argument(
        "--workers", type=int, metavar="N", help="worker processes; default: one per core, up to 4"
    )

    doctor = _command(
        subparsers, "doctor", doctor_command.run, doctor_command.ABOUT, doctor_command.EXAMPLE
    )
    doctor.add_argument("model", metavar="MODEL", help=_help_of("model.name"))
    for key in doctor_command.OPTION_KEYS:
        _add_option(doctor, _option(key))

    plan = _command(subparsers, "plan", plan_command.run, plan_command.ABOUT, plan_command.EXAMPLE)
    run = _command(
        subparsers,
        "run",
        commands.run,
        "T passes of every mutant over every image, as prediction files; resumes",
        "uamt run --model fasterrcnn_resnet50_fpn --weights DEFAULT --images photos/ "
        "--out experiment",
    )
    for command in (plan, run):
        command.add_argument(
            "experiment",
            nargs="?",
            metavar="experiment.toml",
            help="file of options, as a run saves it (docs/experiment.md); flags win",
        )
        for topic, keys in TOPICS.items():
            group = command.add_argument_group(topic)
            for key in keys:
                _add_option(group, _option(key))

    verify_command.add_arguments(
        _command(
            subparsers,
            "verify",
            verify_command.run,
            verify_command.ABOUT,
            verify_command.EXAMPLE,
        )
    )

    score = _command(
        subparsers,
        "score",
        commands.score,
        "one CSV per mutant, and a table of suites",
        "uamt score experiment/",
    )
    score.add_argument("root", metavar="ROOT", help="folder of the experiment")
    score.add_argument("--out", metavar="FOLDER", help="of the CSVs; default: ROOT/scores")
    score.add_argument("--case-study", metavar="NAME", help="folder below it; default: ROOT's name")
    score.add_argument(
        "--passes", type=int, metavar="N", help="score the first N passes; default: all"
    )
    score.add_argument(
        "--workers",
        type=int,
        default=1,
        metavar="N",
        help="processes that share the images; default: 1",
    )
    score.add_argument(
        "--binomial-n",
        type=int,
        metavar="N",
        help="trials of the binomial test; default: the passes",
    )
    score.add_argument(
        "--rules",
        choices=("deepluq", "strict"),
        default="deepluq",
        help="rule set: the published numbers, or the definitions as documented; default: deepluq",
    )
    score.add_argument(
        "--scores",
        choices=("softmax", "sigmoid"),
        help="what the class vectors are, for --rules strict; default: as the manifest declares",
    )
    nonfinite = score.add_mutually_exclusive_group()
    nonfinite.add_argument(
        "--keep-nonfinite",
        action="store_true",
        help="compare NaN and infinity as the reference does, instead of refusing them",
    )
    nonfinite.add_argument(
        "--skip-nonfinite",
        action="store_true",
        help="leave a pass with a NaN or infinity out on both sides, instead of refusing it",
    )
    for name, module in (
        ("suites", suites_command),
        ("study", study_command),
        ("report", report_command),
        ("show", show_command),
    ):
        module.add_arguments(_command(subparsers, name, module.run, module.ABOUT, module.EXAMPLES))
    add_exchange(subparsers, _command)
    return parser


def _command(
    subparsers: Any,
    name: str,
    run: Callable[[argparse.Namespace], Outcome],
    about: str,
    example: str | Sequence[str],
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = subparsers.add_parser(
        name,
        help=about,
        description=paragraph(f"{about[0].upper()}{about[1:]}.", HELP_WIDTH),
        epilog=examples_text(example),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "--json",
        action="store_true",
        help="say what was done as one JSON object on stdout, for machines",
    )
    command = parser.prog.removeprefix("uamt ")
    parser.set_defaults(run=run, command=command, refuse=parser.error)
    return parser


def _option(key: str) -> Option:
    return next(option for option in OPTIONS if option.key == key)


def _help_of(key: str) -> str:
    return _option(key).help


_METAVARS = {
    "model.name": "MODEL",
    "model.weights": "NAME|FILE",
    "model.folder": "NAME",
    "model.args": "K=V",
    "model.device": "DEVICE",
    "images": "SOURCE",
    "image_root": "FOLDER",
    "suites": "NAME=SOURCE",
    "sites": "PRESET|PATTERN",
    "out": "FOLDER",
    "shard": "I/N",
    "address": "ADDRESS",
}
"""What the value of an option is called in the help, where its shape does not say it."""


def _add_option(parser: argparse._ActionsContainer, option: Option) -> None:
    has_default = option.default is not None and option.default is not False
    default = f"; default: {option.default}" if has_default else ""
    arguments: dict[str, Any] = {
        "dest": option.key,
        "default": argparse.SUPPRESS,
        "help": option.help.replace("%", "%%") + default,
    }
    if option.shape == "yes":
        parser.add_argument(option.flag, action="store_true", **arguments)
    else:
        metavar = _METAVARS.get(option.key) or {
            "table": "NAME=VALUE",
            "whole": "N",
            "wholes": "N,N,...",
            "number": "X",
            "numbers": "X,X,...",
            "texts": "NAME,NAME,...",
            "auto or whole": "auto|N",
        }.get(option.shape, option.shape)
        if option.bare is not None:
            arguments |= {"nargs": "?", "const": option.bare}
        parser.add_argument(option.flag, action="append", metavar=metavar, **arguments)


def given_options(arguments: argparse.Namespace) -> Mapping[str, Any]:
    """Return the options that flags gave, by dotted key.

    Raises:
        ConfigError: A flag's text does not fit.
    """
    given = vars(arguments)
    return {
        option.key: parse_flag(option, given[option.key])
        for option in OPTIONS
        if option.key in given
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command, say what it did, and return its exit code."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A name that the terminal's encoding lacks is shown escaped, rather than ending the job.
        sys.stdout.reconfigure(errors="backslashreplace")
    parser = build_parser()
    if not (sys.argv[1:] if argv is None else argv):
        parser.print_help(sys.stderr)
        return ConfigError.exit_code
    arguments, unknown = parser.parse_known_args(argv)
    if unknown:
        # argparse itself would show the usage of `uamt`, which names no flag of the command.
        arguments.refuse(
            f"unrecognized arguments: {' '.join(unknown)}; see 'uamt {arguments.command} --help'"
        )
    before = signal.signal(signal.SIGTERM, _interrupt)
    started = time.perf_counter()

    def failed(code: int, message: str, word: str = "error: ") -> int:
        print(harmless(f"uamt: {word}{message}"), file=sys.stderr)
        if arguments.json:
            seconds = time.perf_counter() - started
            print(json_of_error(arguments.command, code, message, seconds), flush=True)
        return code

    try:
        outcome: Outcome = arguments.run(arguments)
        if arguments.json:
            print(json_of(arguments.command, outcome, time.perf_counter() - started), flush=True)
        else:
            print(harmless(text_of(outcome)), flush=True)
    except UamtError as error:
        return failed(error.exit_code, str(error))
    except KeyboardInterrupt:
        go_on = _AFTER_INTERRUPT.get(arguments.command, _NOTHING_HALF_WRITTEN)
        return failed(INTERRUPTED, f"interrupted; {go_on}", "")
    except BrokenPipeError:
        # The reader of our output went away, as `head` does.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        return failed(3, system_error_line(error))
    finally:
        signal.signal(signal.SIGTERM, before)
    return outcome.code


def _interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
