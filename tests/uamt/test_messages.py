"""What commands say: to a person in lines that fit, to a machine as one JSON object."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.study.tables import write_results
from tests.uamt.conftest import Command
from uamt.cli import build_parser, main
from uamt.options import OPTIONS, TOPICS
from uamt.outcome import Notes, Outcome, json_of, plain_value, text_of
from uamt.presentation import aligned, console_table, paragraph, share_meaning
from uamt.progress import step_progress

ROOT = Path(__file__).parents[2]
SUITES = {"orig": ["a", "b", "c"], "dalle": ["d", "e"]}


def commands() -> dict[str, argparse.ArgumentParser]:
    """Every command's parser, by its words."""

    def below(parser: argparse.ArgumentParser, name: str) -> dict[str, argparse.ArgumentParser]:
        found = {}
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                for word, child in action.choices.items():
                    found |= below(child, f"{name} {word}".strip())
        return found or {name: parser}

    return below(build_parser(), "")


COMMANDS = commands()


def test_without_a_command_all_of_them_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    said = capsys.readouterr().err
    assert all(f"    {name.split()[0]} " in said for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
class TestHelp:
    def test_it_ends_in_an_example_that_can_be_typed(self, name: str) -> None:
        text = COMMANDS[name].format_help()
        examples = text.rpartition("\nexample")[2].partition(":\n")[2]
        assert examples.strip().startswith(f"uamt {name}")
        for example in examples.replace("\\\n", " ").strip().splitlines():
            words = example.split()
            assert words[0] == "uamt"
            build_parser().parse_args(words[1:])

    def test_every_option_is_explained_and_lines_fit(
        self, name: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("COLUMNS", "80")
        parser = COMMANDS[name]
        assert all(action.help for action in parser._actions)
        assert max(map(len, parser.format_help().splitlines())) <= 80

    def test_machines_can_ask_for_json(self, name: str) -> None:
        assert "--json" in COMMANDS[name].format_help()


def test_every_option_of_a_run_stands_under_one_topic() -> None:
    keys = [key for topic in TOPICS.values() for key in topic]
    assert sorted(keys) == sorted(option.key for option in OPTIONS)


class TestText:
    def test_done_where_next_and_the_page_last(self) -> None:
        outcome = Outcome(
            "All done.",
            text="a table\n",
            paths={"report": Path("/o/report.html"), "tables": Path("/o/t")},
            then="uamt next",
            why="why not",
            also=[("uamt other", "for CI")],
        )
        assert text_of(outcome).splitlines() == [
            "a table",
            "",
            "All done.",
            "Tables: /o/t",
            "Next: uamt next   # why not",
            "      uamt other   # for CI",
            "Report: /o/report.html   # open it in a browser",
        ]

    def test_a_wide_table_is_blocks_with_its_keys(self) -> None:
        table = pd.DataFrame(
            {"model": ["m" * 20, "n"], **{f"score {i}": ["0.123", "0.4"] for i in range(12)}}
        )
        text = aligned(table, ["model"], 80)
        assert max(map(len, text.splitlines())) <= 80
        blocks = text.split("\n\n")
        assert len(blocks) > 1
        heads = [block.splitlines()[:2] for block in blocks]
        assert all(upper.split() == ["score"] * (len(lower.split()) - 1) for upper, lower in heads)
        assert {lower.split()[0] for _, lower in heads} == {"model"}
        shown = [int(word) for _, lower in heads for word in lower.split()[1:]]
        assert shown == list(range(12))
        rows = [block.splitlines()[2].split() for block in blocks]
        assert all(row == ["m" * 20, *["0.123"] * (len(row) - 1)] for row in rows)

    def test_the_summary_and_its_legend_fit_100_letters(self) -> None:
        from scoring.rows import COLUMNS
        from scoring.suites import SuiteScores
        from scoring.summary import summarise
        from uamt.presentation import LEGEND

        values = pd.DataFrame([[0.5] * len(COLUMNS)]).to_numpy()[None]
        suite = SuiteScores("demo_fasterrcnn", "crowded", ("a",), (("mc_dropout", "0.1"),), values)
        text = f"{console_table(summarise([suite]), 100)}\n{paragraph(LEGEND, 100)}"
        assert max(map(len, text.splitlines())) <= 100

    def test_a_score_that_is_a_rate_is_called_so(self) -> None:
        from scoring.rows import COLUMNS
        from scoring.suites import SuiteScores
        from scoring.summary import summarise

        def said(entropy: float) -> str:
            values = np.zeros((1, 1, len(COLUMNS)))
            values[0, 0, COLUMNS.index("[ghost] ghost_rate")] = 0.75
            values[0, 0, COLUMNS.index("[ghost] ie_diff")] = 0.75 / (1 + entropy)
            suite = SuiteScores("net", "day", ("a",), (("mc_dropout", "0.1"),), values)
            return console_table(summarise([suite]), 200)

        assert "ghosts: entropy 0.750 (rate only)" in said(0)
        assert "rate only: nothing of this score is uncertainty" in said(0)
        assert said(1).endswith("ghosts: entropy 0.375")

    def test_one_suite_alone_is_told_to_have_a_second_one(self) -> None:
        assert "score a second suite beside it" in share_meaning(1)
        assert "second suite" not in share_meaning(2)

    def test_a_name_in_an_error_or_a_note_moves_no_cursor(
        self, uamt: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        code, _, stderr = uamt("score", tmp_path / "\x1b[2Jgone")
        assert code == 3
        assert "\\x1b[2Jgone" in stderr
        assert "\x1b" not in stderr
        Notes().say("image '\r\u202e'")
        assert capsys.readouterr().err == "note: image '\\r\\u202e'\n"


class TestJson:
    def test_tables_paths_and_counts(self) -> None:
        table = pd.DataFrame({"a": [1, 2], "b": [0.5, float("nan")], "c": ["x", None]})
        table["d"] = pd.array([3, None], dtype="Int64")
        outcome = Outcome(
            "Done.",
            4,
            paths={"out": Path("/o")},
            counts={"n": 3},
            tables={"t": table},
            facts={"inf": float("inf")},
            notes=("note: x",),
        )
        assert json.loads(json_of("score", outcome, 1.23456)) == {
            "command": "score",
            "exit_code": 4,
            "done": "Done.",
            "paths": {"out": "/o"},
            "next": None,
            "also": [],
            "counts": {"n": 3},
            "tables": {
                "t": [
                    {"a": 1, "b": 0.5, "c": "x", "d": 3},
                    {"a": 2, "b": None, "c": None, "d": None},
                ]
            },
            "inf": None,
            "notes": ["note: x"],
            "seconds": 1.235,
        }

    def test_what_json_has_no_word_for_is_null(self) -> None:
        assert plain_value([pd.NA, float("-inf"), object()]) == [None, None, None]

    def test_a_command_says_one_object_and_nothing_else(
        self, uamt: Command, tmp_path: Path
    ) -> None:
        results = write_results(tmp_path / "scores", SUITES)
        code, stdout, stderr = uamt("suites", results, "--json")
        assert (code, stderr, stdout.count("\n")) == (0, "", 1)
        said = json.loads(stdout)
        assert (said["command"], said["exit_code"]) == ("suites", 0)
        assert said["paths"] == {"tables": str(results.resolve())}
        assert (said["next"], said["also"]) == (f"uamt report {results}", [])
        written = pd.read_csv(results / "case" / "net" / "ua_ms_kill_shares.csv")
        shares = pd.DataFrame(said["tables"]["kill_shares"]).drop(columns=["case_study", "model"])
        assert shares["kill_share_any"].tolist() == written["kill_share_any"].tolist()
        assert shares["kind"].tolist() == written["kind"].tolist()

    def test_an_error_is_an_object_too(self, uamt: Command, tmp_path: Path) -> None:
        code, stdout, stderr = uamt("score", tmp_path / "none", "--json")
        said = json.loads(stdout)
        assert (code, said["exit_code"], said["command"]) == (3, 3, "score")
        assert f"uamt: error: {said['error']}\n" == stderr

    def test_a_run_and_its_scores(self, uamt: Command, experiment: Path) -> None:
        saved = experiment / "experiment_demo_retinanet.toml"
        code, stdout, _ = uamt("run", saved, "--out", experiment, "--json")
        said = json.loads(stdout)
        assert code == 0
        assert said["counts"]["units_done_before"] == 10
        assert said["next"] == f"uamt score {experiment}"
        code, stdout, _ = uamt("score", experiment, "--json")
        said = json.loads(stdout)
        assert (code, len(said["tables"]["summary"])) == (0, 1)
        summary = pd.read_csv(experiment / "scores" / "summary.csv")
        assert said["tables"]["summary"][0]["obj_ms"] == summary["obj_ms"][0]
        assert said["verdict"].startswith("On demo_retinanet, ")
        assert said["next"] == f"uamt report {experiment}"
        assert said["also"] == [f"uamt suites {experiment} --fail-under kill_share=.5"]


@pytest.mark.parametrize(
    "words",
    [
        ["score", "ROOT"],
        ["suites", "ROOT"],
        ["study", "ROOT"],
        ["report", "ROOT"],
        ["verify", "ROOT"],
        ["show", "a", "--mutant", "0.1", "--root", "ROOT"],
        ["export", "coco", "ROOT", "--out", "coco"],
    ],
)
def test_a_folder_that_is_not_there_is_said_in_one_wording(
    words: list[str], uamt: Command, tmp_path: Path
) -> None:
    (tmp_path / "experiment").mkdir()
    root = tmp_path / "experimnt"
    code, stdout, stderr = uamt(*(root if word == "ROOT" else word for word in words))
    assert (code, stdout) == (3, "")
    assert f"{root}: there is no such folder (did you mean '{tmp_path / 'experiment'}'?);" in stderr
    root.write_text("")
    _, _, stderr = uamt(*(root if word == "ROOT" else word for word in words))
    assert f"{root}: is a file and no folder" in stderr


def test_a_bar_shows_on_a_terminal_alone() -> None:
    script = (
        "import os, pty, sys\n"
        "pid, fd = pty.fork()\n"
        "if not pid:\n"
        "    from uamt.progress import step_progress\n"
        "    import fcntl, struct, termios, time\n"
        "    fcntl.ioctl(2, termios.TIOCSWINSZ, struct.pack('HHHH', 24, 100, 0, 0))\n"
        "    with step_progress(3, 'reading', 'table') as step:\n"
        "        for _ in range(3):\n"
        "            time.sleep(0.5); step()\n"
        "    os._exit(0)\n"
        "text = b''\n"
        "try:\n"
        "    while chunk := os.read(fd, 1024): text += chunk\n"
        "except OSError: pass\n"
        "sys.stdout.buffer.write(text)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, check=True, text=True
    )
    assert "reading: 100%" in done.stdout
    assert "3/3" in done.stdout
    assert "table/s" in done.stdout


def test_no_bar_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with step_progress(1, "reading", "table") as step:
        step()
    assert capsys.readouterr().err == ""


def test_a_command_in_an_environment_that_is_not_active_begins_with_activating_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from uamt.commands import _in_this_shell

    activate = tmp_path / "an environment" / "bin" / "activate"
    monkeypatch.setattr("sys.prefix", str(activate.parents[1]))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert _in_this_shell("uamt doctor --help") == "uamt doctor --help"
    activate.parent.mkdir(parents=True)
    activate.touch()
    there = "source 'an environment/bin/activate' && uamt doctor --help"
    assert _in_this_shell("uamt doctor --help") == there
    (tmp_path / "uamt").touch(mode=0o755)
    assert _in_this_shell("uamt doctor --help") == "uamt doctor --help"
