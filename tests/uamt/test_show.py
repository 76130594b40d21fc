"""`uamt show`: the right image, mutant and pass, what is drawn, and what cannot be shown."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import uamt as facade
from scoring.detections import Detections
from scoring.errors import ConfigError, DataError
from scoring.layout import Branch, original_tag, prediction_path
from scoring.predictions import write_prediction
from uamt.drawing import STYLES
from uamt.lettering import font_of, plain, wrapped

Command = Callable[..., tuple[int, str, str]]

HERE, THERE, FAR = [4.0, 4, 20, 20], [30.0, 4, 44, 20], [50.0, 30, 60, 40]


def seen(*boxes: list[float]) -> Detections:
    n = len(boxes)
    if not n:
        return Detections.empty(2)
    return Detections(list(boxes), [1] * n, [0.9] * n, [[0.1, 0.9]] * n)


def write(root: Path, branch: Branch, stem: str, tag: str, passes: list[Detections]) -> None:
    for t, detections in enumerate(passes):
        write_prediction(prediction_path(branch.folder(root, tag, stem), t), detections)


ORIGINAL = [seen(HERE, THERE)] * 3
MUTANT = [seen(HERE, THERE), seen(HERE), seen(THERE, FAR)]
"""All match; a miss; a miss and a ghost."""


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """Predictions of one image in two suites under three operators, without a manifest."""
    root = tmp_path / "small"
    for suite in ("day", "night"):
        for operator, tag in (("mc_dropout", "0.1"), ("mc_dropblock", "0.1_3")):
            branch = Branch(operator, "ours", suite)
            write(root, branch, "a", original_tag(operator), ORIGINAL)
            write(root, branch, "a", tag, MUTANT)
    branch = Branch("noise", "ours", "day")
    write(root, branch, "b", "0", ORIGINAL)
    write(root, branch, "b", "0.1", MUTANT)
    for name in ("day/a.png", "night/a.png", "day/b.png"):
        path = tmp_path / "photos" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (64, 48), "grey").save(path)
    return root


def drawn_kinds(picture: Image.Image) -> dict[str, int]:
    """How many pixels of each kind's colour there are."""
    found = picture.convert("RGB").getcolors(picture.width * picture.height) or []
    by_colour = {"#{:02x}{:02x}{:02x}".format(*colour): number for number, colour in found}
    return {kind: by_colour.get(style.colour, 0) for kind, style in STYLES.items()}


class TestCommand:
    def test_the_first_pass_that_misses_most_is_shown_and_told(
        self, uamt: Command, small: Path, tmp_path: Path
    ) -> None:
        out = tmp_path / "picture.png"
        code, told, _ = uamt(
            *("show", "a", "--mutant", ".10", "--suite", "day", "--root", small),
            *("--images", tmp_path / "photos", "--out", out),
        )
        assert code == 0
        assert "pass 1: 1 match, 1 miss, 0 ghosts." in told
        assert "2 of 3 passes have a miss or a ghost" in told
        assert f"Picture: {out}" in told
        with Image.open(out) as picture:
            assert picture.text["Description"] in told  # type: ignore[attr-defined]

    def test_dashes_of_a_tag_tell_the_operator(
        self, uamt: Command, small: Path, tmp_path: Path
    ) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(small.parent)
            code, told, _ = uamt(
                *("show", "a", "--mutant", "0.1_3", "--suite", "night", "--pass", "1"),
                *("--images", "photos"),
            )
        assert code == 0
        assert "mutant mc_dropblock 0.1_3, pass 1: 1 match, 1 miss, 0 ghosts." in told
        assert (small.parent / "a_mc_dropblock_0.1_3_pass1.png").is_file()

    def test_a_film_strip_has_every_pass(self, uamt: Command, small: Path, tmp_path: Path) -> None:
        code, told, _ = uamt(
            *("show", "b", "--mutant", "0.1", "--root", small, "--passes", "all"),
            *("--images", tmp_path / "photos", "--out", tmp_path / "strip.png"),
        )
        assert code == 0
        assert "pass 0: all match; pass 1: 1 miss; pass 2: 1 miss, 1 ghost." in told

    @pytest.mark.parametrize(
        ("arguments", "says"),
        [
            (["a", "--mutant", "0.1"], "several suites: day, night; choose one with --suite"),
            (["c", "--mutant", "0.1"], "the nearest are"),
            (["a", "--mutant", "0.2"], "the nearest are mc_dropout 0.1"),
            (["a", "--mutant", "0"], "'0' is the original"),
            (["a", "--mutant", "0.1", "--suite", "dusk"], "--suite: expected one of day, night"),
            (["b", "--mutant", "0.1", "--pass", "3"], "--pass: expected 0 to 2"),
            (["b", "--mutant", "0.1", "--scale", "0"], "--scale: expected 0.25 to 8"),
            (["b", "--mutant", "0.1", "--out", "x.jpg"], "ends in .png"),
        ],
    )
    def test_what_fits_nothing_or_too_much_is_refused(
        self, uamt: Command, small: Path, tmp_path: Path, arguments: list[str], says: str
    ) -> None:
        code, _, told = uamt("show", *arguments, "--root", small, "--images", tmp_path / "photos")
        assert code == 2
        assert says in told

    def test_several_experiments_here_are_refused(
        self, uamt: Command, small: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        shutil.copytree(small, small.parent / "other")
        monkeypatch.chdir(small.parent)
        code, _, told = uamt("show", "b", "--mutant", "0.1")
        assert code == 2
        assert "found 'other', 'small'; name it with --root" in told

    def test_a_picture_that_is_nowhere_is_asked_for(self, uamt: Command, small: Path) -> None:
        code, _, told = uamt("show", "b", "--mutant", "0.1", "--root", small)
        assert code == 3
        assert "nothing says where the images of this suite lie" in told
        assert "name the folder of the pictures with --images FOLDER" in told

    def test_the_folders_that_were_looked_in_are_named(
        self, uamt: Command, small: Path, tmp_path: Path
    ) -> None:
        (tmp_path / "empty").mkdir()
        asked = ("show", "b", "--mutant", "0.1", "--root", small, "--images")
        _, _, told = uamt(*asked, tmp_path / "empty")
        assert f"'b' is not in '{tmp_path / 'empty'}'; name the folder" in told
        _, _, told = uamt(*asked, tmp_path / "gone")
        assert f"nothing lies at '{tmp_path / 'gone'}'; name the folder" in told


class TestFacade:
    def test_it_returns_the_picture(self, small: Path, tmp_path: Path) -> None:
        photo = tmp_path / "photos" / "day" / "b.png"
        picture = facade.show(photo, "0.1", small, passes=0)
        assert {kind for kind, n in drawn_kinds(picture).items() if n > 2000} == {"match"}
        changed = facade.show(photo, "0.1", small, passes=2)
        assert all(n > 700 for n in drawn_kinds(changed).values())

    def test_print_is_twice_as_large(self, small: Path, tmp_path: Path) -> None:
        photo = tmp_path / "photos" / "day" / "b.png"
        once, twice = (facade.show(photo, "0.1", small, scale=s) for s in (1, 2))
        assert abs(twice.width - 2 * once.width) <= 20
        assert abs(twice.height - 2 * once.height) <= 20

    def test_an_unknown_measure_is_refused(self, small: Path, tmp_path: Path) -> None:
        photo = tmp_path / "photos" / "day" / "b.png"
        with pytest.raises(ConfigError, match="--measure: expected one of vr, ie, mi, var, ps"):
            facade.show(photo, "0.1", small, measure="entropy")

    def test_a_hostile_name_stays_on_the_sheet_and_off_the_terminal(
        self, uamt: Command, tmp_path: Path
    ) -> None:
        stem = "\x1b[2J\u202e<b>" + "x" * 180
        root, branch = tmp_path / "hostile", Branch("mc_dropout", "ours", "day")
        write(root, branch, stem, "0", ORIGINAL)
        write(root, branch, stem, "0.1", MUTANT)
        photo = tmp_path / "photo.png"
        Image.new("RGB", (64, 48), "grey").save(photo)
        shutil.copy(photo, tmp_path / f"{stem}.png")
        code, told, _ = uamt(
            *("show", stem, "--mutant", "0.1", "--root", root, "--images", tmp_path),
            *("--out", tmp_path / "drawn.png"),
        )
        assert code == 0
        assert "\x1b" not in told
        assert "\u202e" not in told
        assert "Image [2J<b>xxx" in told
        with Image.open(tmp_path / "drawn.png") as picture:
            assert picture.width < 1400


class TestRunExperiment:
    def test_the_run_s_own_configuration_leads_to_its_pictures(
        self, uamt: Command, experiment: Path, tmp_path: Path
    ) -> None:
        code, told, _ = uamt(
            *("show", "plain_00", "--mutant", "0.3", "--root", experiment),
            *("--out", tmp_path / "one.png"),
        )
        assert code == 0
        assert "CAUTION" not in told

    def test_another_picture_under_the_same_name_is_said(
        self, uamt: Command, experiment: Path, tmp_path: Path
    ) -> None:
        folder = tmp_path / "changed"
        folder.mkdir()
        Image.new("RGB", (32, 32), "red").save(folder / "plain_00.png")
        code, told, _ = uamt(
            *("show", "plain_00", "--mutant", "0.3", "--root", experiment),
            *("--images", folder, "--out", tmp_path / "one.png"),
        )
        assert code == 0
        assert "CAUTION: the picture is not the one that was run" in told

    def test_a_mutant_that_crashed_on_the_image_is_said(self, experiment: Path) -> None:
        from runners.ledger import Entry, Ledger, Unit

        unit = Unit("demo_retinanet", "photos", "plain_00.png", "mc_dropout", "0.3")
        ledger = Ledger(experiment)
        ledger.append(Entry(unit, "runtime_error", "x", "plain_00", message="out of luck"))
        branch = Branch("mc_dropout", "demo_retinanet", "photos")
        shutil.rmtree(branch.folder(experiment, "0.3", "plain_00"))
        with pytest.raises(DataError, match=r"runtime_error: out of luck"):
            facade.show("plain_00", "0.3", experiment)

    def test_images_of_a_coco_file_are_found(
        self, uamt: Command, photos: Path, tmp_path: Path
    ) -> None:
        (tmp_path / "notes").mkdir()
        coco = tmp_path / "notes" / "instances.json"
        names = [{"id": i, "file_name": p.name} for i, p in enumerate(sorted(photos.iterdir()))]
        coco.write_text(json.dumps({"images": names}))
        out = tmp_path / "of_coco"
        assert (
            uamt(
                *("run", "--model", "demo_retinanet", "--images", coco, "--image-root", photos),
                *("--dropout-rates", "0.3", "--operators", "mc_dropout", "--passes", "1"),
                *("--out", out),
            )[0]
            == 0
        )
        code, told, _ = uamt(
            *("show", "plain_01", "--mutant", "0.3", "--root", out, "--out", tmp_path / "a.png")
        )
        assert code == 0
        assert "CAUTION" not in told


class TestText:
    def test_hostile_text_stays_on_one_line_without_controls(self) -> None:
        assert plain("<b>\u202e\n\tx</b>", 50) == "<b>  x</b>"
        assert len(plain("x" * 300, 24)) == 24

    @pytest.mark.parametrize("text", ["", "one", "x" * 500, "a few short words " * 9])
    def test_wrapped_lines_hold_all_letters_and_fit(self, text: str) -> None:
        font = font_of(13)
        lines = wrapped(text, font, 120)
        assert "".join(lines).replace(" ", "") == text.replace(" ", "")
        assert all(font.getlength(line) <= 120 for line in lines)

    def test_letters_of_other_scripts_are_drawn(self) -> None:
        mask = font_of(20).getmask("\uffff").getbbox()
        for letter in "ñшשع":
            assert np.asarray(font_of(20).getmask(letter)).any()
            assert font_of(20).getmask(letter).getbbox() != mask
