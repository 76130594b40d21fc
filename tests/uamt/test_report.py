"""`uamt report`: every number is a cell of a CSV, names do no harm, and gaps are said."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path

import orjson
import pandas as pd
import pytest

from scoring.layout import Branch
from scoring.rows import COLUMNS
from tests.study.tables import write_results
from tests.uamt.conftest import Command
from tests.uamt.report_reader import Cell, Page, check_cell, csv_text
from tests.uamt.report_trees import write_manifest, write_pictures, write_tree

KILL_COUNT = "[img_level] iskill_miss_ghost_count"


@pytest.fixture(autouse=True)
def few_charts(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Charts of all scores stand on one page; one score is enough elsewhere."""
    if "report" not in request.fixturenames:
        monkeypatch.setattr("uamt.report_charts.RATIO_COLUMNS", ("[match] iou_mean",))


def check_all(page: Page, results: Path) -> None:
    assert page.cells
    for cell in page.cells:
        check_cell(cell, results)


def test_every_number_is_the_cell_that_it_says(report: Page, made: Path) -> None:
    results = made / "root" / "scores"
    check_all(report, results)
    by_section = pd.Series([cell.section for cell in report.cells]).value_counts()
    assert set(by_section.index) == {"verdict", "suites", "mutants", "images", "pictures", "counts"}
    tables = {Path(cell.table).name for cell in report.cells}
    assert tables >= {
        "ua_ms_standings.csv",
        "ua_ms_state_counts.csv",
        "ua_ms_kills.csv",
        "ua_ms_images.csv",
        "ua_ms_changed_passes.csv",
        "ua_ms_kill_shares.csv",
        "report_passes.csv",
        "report_objects.csv",
        "mutant_0.1.csv",
    }


def test_numbers_outside_of_cells_are_those_of_the_text(report: Page) -> None:
    for section in ("verdict", "suites", "images", "mutants"):
        numbers = set(re.findall(r"\d[\d.]*%?", report.loose[section]))
        assert numbers <= {"95%", "1", "0"}, (section, numbers)


def test_scores_for_the_script_are_those_of_the_tables(report: Page, made: Path) -> None:
    data = report.json()
    results = made / "root" / "scores"
    assert len(data["views"]) == 4
    for view in data["views"].values():
        for m, row in enumerate(view["scores"]):
            for column, value in zip(data["scoreColumns"], row, strict=True):
                cell = Cell("", "", "three", view["table"], str(m), "", column, "")
                written = csv_text(cell, results)
                assert value == (float(written) if written else None)
        for path, levels, changed in zip(
            view["tables"], view["levels"], view["changed"], strict=True
        ):
            for stem, level, count in zip(view["images"], levels, changed, strict=True):
                cell = Cell("", "", "whole", path, "", stem, KILL_COUNT, "")
                assert count == int(csv_text(cell, results))
                p_value = csv_text(
                    Cell("", "", "", path, "", stem, KILL_COUNT.replace("count", "p_value"), ""),
                    results,
                )
                is_kill = float(p_value) < 0.05
                assert level == ("k" if is_kill else "a" if count else ".")


def test_the_verdict_is_that_of_the_score(report: Page, made: Path, uamt: Command) -> None:
    _, out, _ = uamt("score", made / "root")
    (said,) = [line for line in out.splitlines() if line.startswith("On net and other")]
    share, low, high = re.findall(r"(\d+)%", said.replace("95%", ""))[:3]
    lead = [cell for cell in report.cells if cell.section == "verdict"][:3]
    assert [cell.text for cell in lead] == [f"{number}%" for number in (share, low, high)]


def test_the_page_needs_nothing_from_elsewhere(report: Page) -> None:
    text = report.path.read_text(encoding="utf-8")
    for element in report.elements:
        for name in ("src", "href", "xlink:href", "action", "srcset", "data"):
            value = element.attributes.get(name, "#")
            assert value.startswith(("#", "data:image/jpeg;base64,")), (element.tag, value)
    outside = re.sub(r'xmlns(:\w+)?="[^"]*"', "", text)
    assert "@import" not in outside
    assert not re.findall(r"(?:https?:)?//[\w.]+\.\w+/", outside.replace("http://www.w3.org", ""))
    policy = [e.attributes["content"] for e in report.all("meta") if "content" in e.attributes]
    assert any(content.startswith("default-src 'none';") for content in policy)


def test_ids_are_unique_and_links_lead_somewhere(report: Page) -> None:
    ids = [e.attributes["id"] for e in report.elements if "id" in e.attributes]
    assert len(ids) == len(set(ids))
    wanted = {
        e.attributes[name][1:]
        for e in report.elements
        for name in ("href", "xlink:href")
        if e.attributes.get(name, "").startswith("#")
    } | {e.attributes["popovertarget"] for e in report.all("button")}
    assert wanted <= set(ids)


def test_every_picture_has_a_text(report: Page) -> None:
    drawn = report.all("svg")
    assert drawn
    for svg in drawn:
        assert svg.attributes.get("aria-hidden") == "true" or svg.attributes.get("aria-label")


def test_the_same_results_give_the_same_bytes(report: Page, uamt: Command) -> None:
    """The command on the page remakes it, byte for byte."""
    (command,) = [e.text for e in report.all("code") if e.text.startswith("uamt report")]
    before = report.path.read_bytes()
    report.path.unlink()
    code, out, err = uamt(*shlex.split(command)[1:])
    assert (code, err) == (0, "")
    assert out.splitlines()[-1] == f"Report: {report.path.resolve()}   # open it in a browser"
    assert report.path.read_bytes() == before


def test_a_kill_of_the_page_is_drawn_next(
    report: Page, made: Path, uamt: Command, tmp_path: Path
) -> None:
    """The command that comes next draws the first picture of the page."""
    _, out, _ = uamt("report", made / "root", "--images", made / "pictures")
    (following,) = [line for line in out.splitlines() if line.startswith("Next: ")]
    words = shlex.split(following.removeprefix("Next: "), comments=True)
    code, out, err = uamt(*words[1:], "--out", tmp_path / "kill.png")
    assert (code, err) == (0, "")
    assert "the image kills the mutant" in out
    assert (tmp_path / "kill.png").is_file()


def test_predictions_decide_what_frames_show(report: Page, made: Path) -> None:
    """Tags of a frame name class and score of what the prediction file of the pass holds."""
    passes = pd.read_csv(made / "root" / "scores" / "report_passes.csv")
    data = report.json()
    strips, frames = [], []
    for element in report.elements:
        if element.attributes.get("class") == "case":
            frames += data["tags"][element.attributes["id"]]
        elif "data-pass" in element.attributes:
            strips.append(element)
    assert len(strips) == len(passes)
    for item, frame in list(zip(strips, frames, strict=True))[::7]:
        row = passes.iloc[int(item.attributes["data-row"])]
        _, kind, name, tag = row["mutant_id"].split("_", 3)
        branch = Branch(f"{kind}_{name}", row["model"], row["test_suite"])
        folder = branch.folder(made / "root", tag, row["image"])
        found = orjson.loads((folder / f"prediction_{row['pass']}.json").read_bytes())
        tags = [[data["kinds"][tag[0]], tag[1], data["labels"][tag[2]], tag[3]] for tag in frame]
        drawn = sorted((t[2], t[3]) for t in tags if t[0] != "miss")
        assert drawn == sorted((str(d["label"]), round(d["score"], 2)) for d in found.values())
        kinds = [t[0] for t in tags]
        counts = [kinds.count(kind) for kind in ("match", "miss", "ghost")]
        assert counts == row[["matches", "misses", "ghosts"]].tolist()


HOSTILE_LABELS = ["<script>alert(1)</script>", "\u202ertl", "L" * 300]
HOSTILE_STEMS = ["<img src=x onerror=alert(1)>", "שלום", "🙂🙃" + "a" * 150]


def test_an_uncertainty_behind_a_name_says_which_measure_it_is(report: Page) -> None:
    """A bare number there would be read as a score of confidence."""
    drawn = re.findall(
        r'<text class="(\w+)"[^<]*<tspan class="beside">([^<]*)<', report.path.read_text()
    )
    assert {kind for kind, _ in drawn} >= {"match", "ghost"}
    for kind, beside in drawn:
        assert re.fullmatch(r" ie sum \d+\.\d\d" if kind == "ghost" else r" ie \d+\.\d\d", beside)


def test_bars_of_all_suites_have_one_scale(report: Page) -> None:
    """A bar is its share of the suite's pairs, over the share at which the scale ends."""
    text = report.path.read_text()
    (end,) = re.findall(r"on one scale for all suites, from 0 to (\d+)%", text)
    lists = re.findall(r'<div class="bars">.*?<span>(\d+)%</span>.*?<ol(.*?)</ol>', text, re.DOTALL)
    assert len(lists) == 4
    shares = []
    for own_end, bars in lists:
        assert own_end == end
        found = re.findall(r'--v:([\d.]+)".*?<data value="(\d+)"', bars)
        pairs = [int(count) for _, count in found]
        assert sum(pairs) == 24
        for (height, _), count in zip(found, pairs, strict=True):
            assert float(height) == pytest.approx(100 * count / 24 / int(end), abs=1e-4)
            shares.append(count / 24)
    assert int(end) - 10 < 100 * max(shares) <= int(end)


def test_hostile_names_stay_text(tmp_path: Path, uamt: Command) -> None:
    suites = {"\"><svg onload='alert(1)'>": HOSTILE_STEMS}
    model = "{{ 7 * 7 }}</script><b>"
    model = model.replace("/", "\u2215")  # no folder has a slash in its name
    root = write_tree(tmp_path / "<i>root", suites, models=(model,), n_classes=3)
    write_manifest(root, suites, model, HOSTILE_LABELS)
    write_pictures(tmp_path / "pictures", suites)
    assert uamt("score", root)[0] == 0
    code, _, err = uamt("report", root, "--images", tmp_path / "pictures")
    assert (code, err) == (0, "")
    page = Page(root / "report.html")
    check_all(page, root / "scores")
    text = page.path.read_text(encoding="utf-8")
    assert not page.all("img")
    assert [e.attributes.get("type") for e in page.all("script")] == ["application/json", None]
    assert not [e for e in page.elements for name in e.attributes if name.startswith("on")]
    assert "<script>alert" not in text
    assert "\u202e" not in text
    assert "49" not in page.loose[""]
    assert "L" * 30 not in text
    assert all(stem in {e.text for e in page.all("bdi")} for stem in HOSTILE_STEMS)
    named = [e for e in page.all("bdi") if e.text == model]
    assert named


def test_without_pictures_the_page_says_so(made: Path, tmp_path: Path, uamt: Command) -> None:
    root = tmp_path / "moved"
    shutil.copytree(made / "root", root)
    code, _, err = uamt("report", root)
    assert code == 0
    assert "note: 8 images without pixels, and no passes of them; the first: suite 'day'" in err
    assert "--images FOLDER" in err
    page = Page(root / "report.html")
    check_all(page, root / "scores")
    assert not page.all("image")
    (note,) = [e for e in page.all("p") if e.attributes.get("class") == "note"]
    assert "name the folder of the pictures with --images" in note.text


def test_scores_alone_are_enough(made: Path, tmp_path: Path, uamt: Command) -> None:
    scores = Path(shutil.copytree(made / "root" / "scores", tmp_path / "alone"))
    code, out, err = uamt("report", scores, "--out", tmp_path / "page.html")
    assert code == 0
    assert "note: Pictures are left out: nothing says where the predictions lie" in err
    assert f"Next: uamt suites {scores} --fail-under kill_share=.5   # for CI" in out
    check_all(Page(tmp_path / "page.html"), scores)
    code, _, err = uamt(
        *("report", scores, "--out", tmp_path / "again.html", "--images", made / "pictures"),
        *("--experiment", made / "root"),
    )
    assert (code, err) == (0, "")
    assert len(Page(tmp_path / "again.html").all("image")) == 8


def test_the_folder_of_scores_stands_for_the_experiment(made: Path, uamt: Command) -> None:
    code, _, _ = uamt("report", made / "root" / "scores", "--images", made / "pictures")
    assert code == 0
    page = Page(made / "root" / "scores" / "report.html")
    assert len(page.all("image")) == 8
    page.path.unlink()


def test_a_picture_that_was_changed_is_not_shown(experiment: Path, uamt: Command) -> None:
    assert uamt("score", experiment)[0] == 0
    pictures = experiment.parent / "changed"
    pictures.mkdir()
    manifest = orjson.loads((experiment / "manifest.json").read_bytes())
    for name in manifest["models"]["demo_retinanet"]["suites"]["photos"]:
        (pictures / name).write_bytes(b"another picture")
    code, _, err = uamt("report", experiment, "--images", f"photos={pictures}")
    assert code == 0
    assert "is another picture than was run" in err


def test_a_run_leads_to_its_own_pictures(
    finished_experiment: Path, uamt: Command, tmp_path: Path
) -> None:
    """What `uamt run` and `uamt score` leave is all that a report needs."""
    out = tmp_path / "scores"
    assert uamt("score", finished_experiment, "--out", out)[0] == 0
    code, _, err = uamt("report", out, "--experiment", finished_experiment)
    assert (code, err) == (0, "")
    page = Page(out / "report.html")
    check_all(page, out)
    assert len(page.all("image")) == 2
    words = " ".join(e.text for e in page.all("dd"))
    manifest = orjson.loads((finished_experiment / "manifest.json").read_bytes())
    settings = manifest["models"]["demo_retinanet"]["settings"]
    assert settings["model"]["state_sha256"] in words
    assert f"torch {settings['versions']['torch']}" in words
    assert "6 images under a mutant, 4 images under an original, on 1 machine" in words
    assert "uamt run " in " ".join(e.text for e in page.all("dd"))


@pytest.mark.parametrize(
    ("suites", "models", "options"),
    [
        ({"orig": ["a"]}, ["net"], []),
        ({f"s{k}": [f"{k}a", f"{k}b"] for k in range(10)}, ["m1", "m2", "m3", "m4"], []),
        ({"orig": ["a", "b"]}, ["net"], ["mc_dropout"]),
    ],
    ids=["one image", "ten suites and four models", "dropout alone"],
)
def test_results_of_any_extent(
    suites: dict[str, list[str]],
    models: list[str],
    options: Sequence[str],
    tmp_path: Path,
    uamt: Command,
) -> None:
    mutants = (("mc_dropout", "0.1"), ("mc_dropout", "0.50"))
    if "mc_dropout" not in options:
        mutants += (("mc_dropblock", "0.1_3"), ("other", "seven"))
    for model in models:
        write_results(tmp_path, suites, model=model, mutants=mutants)
    code, _, err = uamt("report", tmp_path)
    assert code == 0
    assert "note: Pictures are left out" in err
    page = Page(tmp_path / "report.html")
    check_all(page, tmp_path)
    views = [e for e in page.all("article") if "data-model" in e.attributes]
    assert len(views) == len(suites) * len(models)
    grids = [e for e in page.all("table") if e.attributes.get("class") == "grid"]
    assert len(grids) == len(views)


def test_one_pass_and_many_classes(tmp_path: Path, uamt: Command) -> None:
    suites = {"day": ["a", "b"]}
    root = write_tree(tmp_path / "root", suites, passes=1, n_classes=91)
    write_pictures(tmp_path / "pictures", suites)
    assert uamt("score", root)[0] == 0
    assert uamt("report", root, "--images", tmp_path / "pictures")[0] == 0
    page = Page(root / "report.html")
    check_all(page, root / "scores")
    strips = [e for e in page.all("ol") if e.attributes.get("class") == "strip"]
    frames = [e for e in page.all("li") if "data-pass" in e.attributes]
    assert len(frames) == len(strips) > 0
    # Two images are too few for an interval.
    assert "images: too few for an interval)" in page.loose["verdict"]
    ends = [cell for cell in page.cells if cell.column.endswith(("_low", "_high"))]
    assert not [cell for cell in ends if cell.table.endswith("standings.csv")]


def test_strict_scores_name_equivalent_mutants(tmp_path: Path, uamt: Command) -> None:
    suites = {"day": ["a", "b"]}
    root = write_tree(tmp_path / "root", suites, mutants={"mc_dropout": ("0", "0.0001", "0.4")})
    assert uamt("score", root, "--rules", "strict")[0] == 0
    assert uamt("report", root)[0] == 0
    page = Page(root / "report.html")
    check_all(page, root / "scores")
    states = pd.read_csv(root / "scores" / "root" / "net" / "ua_ms_states.csv")
    assert states["state"].iloc[0] == "equivalent"
    assert "state-equivalent" in page.path.read_text()
    (rules,) = {e.text for e in page.all("dd") if e.text in ("strict", "deepluq")}
    assert rules == "strict"


def test_what_strict_would_say_is_known_after_scoring(made: Path, uamt: Command) -> None:
    table = pd.read_csv(made / "root" / "scores" / "root" / "net" / "ua_ms_strict.csv")
    assert list(table.columns) == ["test_suite", "mutant_id", "killed", "equivalent"]
    assert len(table) == 12
    uamt("suites", made / "root" / "scores")
    kills = pd.read_csv(made / "root" / "scores" / "root" / "net" / "day" / "ua_ms_kills.csv")
    assert set(table["mutant_id"]) == set(kills["mutant_id"])


def test_more_images_than_thumbnails(tmp_path: Path, uamt: Command) -> None:
    stems = [f"image_{k:03d}" for k in range(40)]
    write_results(tmp_path, {"orig": stems}, mutants=(("mc_dropout", "0.1"), ("mc_dropout", "0.3")))
    assert uamt("report", tmp_path)[0] == 0
    page = Page(tmp_path / "report.html")
    check_all(page, tmp_path)
    listed = [e.text for e in page.all("bdi") if e.text in set(stems)]
    assert set(listed) == set(stems)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["nowhere"], 3, "nowhere: there is no such folder; name the folder of an experiment"),
        (["."], 3, "expected the scores of an experiment, found none"),
        (["ROOT", "--images", "nowhere"], 3, "--images: expected a folder at 'nowhere'"),
        (["ROOT", "--images", "=x"], 2, "--images: expected FOLDER or SUITE=FOLDER"),
        (["ROOT", "--pictures", "-1"], 2, "--pictures: expected 0 or more"),
        (["ROOT", "--experiment", "."], 3, "--experiment names the folder"),
        (["ROOT", "--experiment", "nowhere"], 3, "nowhere: there is no such folder"),
        (["ROOT", "--order", "dusk"], 2, "expected some of ['day', 'night']"),
    ],
)
def test_wrong_use_is_named(
    arguments: list[str], code: int, message: str, made: Path, uamt: Command, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    given = [str(made / "root") if word == "ROOT" else word for word in arguments]
    found, _, err = uamt("report", *given)
    assert found == code
    assert message in err


def test_an_experiment_that_was_not_scored(made: Path, tmp_path: Path, uamt: Command) -> None:
    root = write_tree(tmp_path / "root", {"day": ["a"]}, mutants={"mc_dropout": ("0.1",)})
    code, _, err = uamt("report", root)
    assert code == 3
    assert f"run 'uamt score {root}' first" in err


def test_there_are_as_many_scores_to_choose_as_the_tables_have() -> None:
    from uamt.report_views import SCORE_COLUMNS
    from uamt.report_words import score_name

    names = [score_name(column) for column in SCORE_COLUMNS]
    assert len(set(names)) == len(names) == 22
    assert set(SCORE_COLUMNS) <= set(COLUMNS)
