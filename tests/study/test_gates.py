"""`uamt suites --fail-under`: names, places, values, exit codes and messages."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from scoring.errors import ConfigError
from scoring.gates import SCORE_NAMES, Gate, check_gates
from scoring.results import read_results
from scoring.suite_tables import ModelAggregates, Tables, aggregate, suite_tables
from scoring.suites import UA_MS_COLUMNS
from scoring.tables import read_table
from tests.study.tables import write_results
from tests.uamt.conftest import Command

SUITES = {"day": ["a", "b", "c"], "night": ["d", "e", "f", "g"]}


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Two models on two suites."""
    for model in ("net", "other"):
        write_results(tmp_path / "scores", SUITES, model=model)
    return tmp_path / "scores"


def gathered(results: Path) -> tuple[list[ModelAggregates], Tables]:
    models = aggregate(read_results(results))
    return models, suite_tables(models)


class TestParse:
    @pytest.mark.parametrize(
        ("text", "gate"),
        [
            ("ms_iou=.5", Gate("ms_iou", 0.5)),
            ("kill_share=.5", Gate("kill_share", 0.5)),
            ("kill_share_low_holm=.5", Gate("kill_share_low_holm", 0.5)),
            ("day:img_ms_any=.5", Gate("img_ms_any", 0.5, "day")),
            ("obj_ms=.5", Gate("obj_ms", 0.5)),
            ("night:match_vr=0", Gate("match_vr", 0.0, "night")),
            ("net/a b:miss_rate=1", Gate("miss_rate", 1.0, "a b", "net")),
            ("[match] vr_diff=0.2", Gate("[match] vr_diff", 0.2)),
        ],
    )
    def test_forms(self, text: str, gate: Gate) -> None:
        assert Gate.parse(text) == gate

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("ms_iou", "expected SCORE=VALUE"),
            ("=.5", "expected SCORE=VALUE"),
            ("killshare_mg=.5", "the nearest are kill_share_mg"),
            ("ms_iou=60", "from 0 to 1"),
            ("ms_iou=nan", "from 0 to 1"),
            ("ms_iou=much", "from 0 to 1"),
        ],
    )
    def test_other_forms_are_refused(self, text: str, message: str) -> None:
        with pytest.raises(ConfigError, match=message):
            Gate.parse(text)


def test_every_score_has_the_value_of_its_table(results: Path) -> None:
    models, tables = gathered(results)
    shares = next(t for p, t in tables.items() if p.as_posix() == "case/net/ua_ms_kill_shares.csv")
    of_both = shares[shares["kind"] == "miss_ghost"].set_index("test_suite")
    table = next(t for p, t in tables.items() if p.as_posix() == "case/net/ua_ms_model.csv")
    model = table.set_index("test_suite")

    def value(score: str) -> float:
        (found,) = check_gates(models, tables, [Gate(score, 0, "night", "net")])
        return found.value

    assert value("kill_share_mg") == of_both.loc["night", "kill_share_significant"]
    for short in ("kill_share", "kill_share_low_holm", "img_ms_any", "obj_ms"):
        bare, holm_or_any, rule = short.partition("_holm" if "holm" in short else "_any")
        assert value(short) == value(f"{bare}_mg{holm_or_any}{rule}")
    assert value("kill_share_mg_any") == of_both.loc["night", "kill_share_any"]
    assert value("kill_share_low_mg_holm") == of_both.loc["night", "kill_share_holm_low"]
    assert value("img_ms_mg_any") == of_both.loc["night", "ms_any"]
    assert value("obj_ms_mg") == model.loc["night", "[obj_level] kill_rate_miss_ghost_mean"]
    assert value("[img_level] ms_miss") == model.loc["night", "[img_level] ms_miss"]
    assert [value(f"{g}_{m}") for g in ("match", "miss", "ghost") for m in MEASURES] == [
        model.loc["night", column] for column in UA_MS_COLUMNS
    ]
    assert all(np.isfinite(value(name)) for name in SCORE_NAMES)


MEASURES = ("vr", "ie", "mi", "var", "ps")


class TestCommand:
    def test_gates_that_hold(self, uamt: Command, results: Path) -> None:
        code, stdout, stderr = uamt("suites", results, "--fail-under", "img_ms_mg_any=0")
        assert (code, stderr) == (0, "")
        assert "4 gates passed (one for each suite and model)." in stdout

    def test_one_line_for_each_that_fails(self, uamt: Command, results: Path) -> None:
        code, stdout, stderr = uamt(
            *("suites", results, "--fail-under", "ms_iou=1"),
            *("--fail-under", "other/night:ms_iou=0"),
        )
        assert code == 1
        lines = stderr.splitlines()
        assert len(lines) == 4
        assert all(line.startswith("gate failed: ") for line in lines)
        table = pd.read_csv(results / "case" / "net" / "ua_ms_model.csv").set_index("test_suite")
        found = table.loc["day", "[match] iou_mean"]
        assert f"net, suite 'day': ms_iou is {found:.4g}, expected 1 or more" in lines[0]
        assert "4 of 5 gates FAILED (one for each suite and model)." in stdout

    def test_a_score_is_named_as_it_was_written(self, uamt: Command, results: Path) -> None:
        scores = ["kill_share", "kill_share_mg"]
        gates = [word for s in scores for word in ("--fail-under", f"net/night:{s}=1")]
        code, _, stderr = uamt("suites", results, *gates)
        assert code == 1
        assert [line.split()[5] for line in stderr.splitlines()] == scores

    def test_machines_read_every_gate(self, uamt: Command, results: Path) -> None:
        code, stdout, _ = uamt("suites", results, "--fail-under", "night:ms_iou=1", "--json")
        said = json.loads(stdout)
        assert (code, said["exit_code"], said["counts"]["gates_failed"]) == (1, 1, 2)
        assert [gate["model"] for gate in said["gates"]] == ["net", "other"]
        assert {gate["holds"] for gate in said["gates"]} == {False}

    def test_a_score_that_cannot_be_told_fails_with_the_reason(
        self, uamt: Command, results: Path
    ) -> None:
        for path in (results / "case" / "net" / "day").rglob("mutant_*.csv"):
            table = read_table(path)
            table["[ghost] ps_diff"] = float("nan")
            table.to_csv(path, index=False)
        code, _, stderr = uamt("suites", results, "--fail-under", "day:ghost_ps=0")
        assert code == 1
        assert "ghost_ps cannot be told, for no image has a value of it, expected 0" in stderr

    def test_few_images_cannot_pass_by_luck(self, uamt: Command, results: Path) -> None:
        """Three images have a share and no interval, so that no lower end of it can be enough."""
        gate = ("--fail-under", "net/day:kill_share_low_mg_any=0")
        code, stdout, stderr = uamt("suites", results, *gate)
        assert code == 1
        assert stderr == (
            "gate failed: net, suite 'day': kill_share_low_mg_any cannot be told, for 3 images "
            "are too few for an interval (4 are the least), expected 0 or more\n"
        )
        shares = pd.read_csv(results / "case" / "net" / "ua_ms_kill_shares.csv")
        of_day = shares[shares["test_suite"] == "day"]
        assert of_day["kill_share_any"].notna().all()
        assert of_day[["kill_share_any_low", "kill_share_any_high"]].isna().all(axis=None)
        assert f" {of_day['kill_share_any'].iloc[2]:.0%}  " in stdout
        assert uamt("suites", results, "--fail-under", "night:kill_share_low_mg_any=0")[0] == 0

    @pytest.mark.parametrize("place", ["noon:", "alien/day:"])
    def test_a_suite_that_is_not_there_is_wrong_usage(
        self, uamt: Command, results: Path, place: str
    ) -> None:
        code, _, stderr = uamt("suites", results, "--fail-under", f"{place}ms_iou=.1")
        assert code == 2
        assert "expected one of the suites net/day, net/night, other/day, other/night" in stderr
        assert not list(results.rglob("ua_ms*"))
