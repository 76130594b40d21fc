"""Figures: what headline, tags, legend and table say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from PIL import Image

import uamt.figures
from scoring.detections import Detections
from scoring.object_uncertainty import object_uncertainty
from scoring.passes import Passes
from scoring.rules import DEEPLUQ, STRICT
from scoring.tracks import track
from uamt.drawing import Drawn, Mark, draw_marks
from uamt.figure_table import table_of
from uamt.figure_words import chosen_pass, headline, pass_text, tag_text, verdict_text
from uamt.figures import Figure, pass_figure, strip_figure
from uamt.scene import Scene
from uamt.sheets import Sheet

HERE, THERE, FAR = [4.0, 4, 20, 20], [30.0, 4, 44, 20], [50.0, 30, 60, 40]
NAMES = ("background", "cat", "dog")


def seen(*boxes: list[float], label: int = 1, score: float = 0.9) -> Detections:
    n = len(boxes)
    if not n:
        return Detections.empty(3)
    return Detections(list(boxes), [label] * n, [score] * n, [[0.05, 0.9, 0.05]] * n)


def scene_of(
    original: list[Detections], mutant: list[Detections], *, full: int = 0, remarks: Any = ()
) -> Scene:
    return Scene(
        Image.new("RGB", (64, 48), "grey"),
        track(Passes.from_list(original), Passes.from_list(mutant)),
        DEEPLUQ,
        NAMES,
        "Image street, suite day, model ours",
        "mc_dropout 0.3",
        full or len(original),
        remarks,
    )


@pytest.fixture
def changed() -> Scene:
    """All match; a miss; a miss and a ghost."""
    mutant = [seen(HERE, THERE, score=0.8), seen(HERE), seen(THERE, FAR, score=0.7)]
    return scene_of([seen(HERE, THERE)] * 3, mutant)


class Recorded:
    """What a figure draws and writes."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.marks: list[list[Mark]] = []
        self.texts: list[tuple[str, bool]] = []
        self.tables: list[tuple[Sequence[str], Sequence[Sequence[str]]]] = []
        self.legends: list[str] = []
        text, table, legend = Sheet.text, Sheet.table, Sheet.legend

        def drawn(image: Image.Image, marks: Sequence[Mark], *sizes: int) -> Drawn:
            self.marks.append(list(marks))
            return draw_marks(image, marks, *sizes)

        def written(sheet: Sheet, words: str, size: int, **how: Any) -> None:
            self.texts.append((words, how.get("is_bold", False)))
            text(sheet, words, size, **how)

        def listed(sheet: Sheet, heads: Any, rows: Any) -> None:
            self.tables.append((heads, rows))
            table(sheet, heads, rows)

        def explained(sheet: Sheet, words: str) -> None:
            self.legends.append(words)
            legend(sheet, words)

        patch.setattr(uamt.figures, "draw_marks", drawn)
        patch.setattr(Sheet, "text", written)
        patch.setattr(Sheet, "table", listed)
        patch.setattr(Sheet, "legend", explained)


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> Recorded:
    return Recorded(monkeypatch)


@pytest.mark.parametrize(
    ("mutant", "full", "says"),
    [
        ([seen(HERE)] * 3, 0, "Image does not kill mutant: 0 of 3 passes have a miss or a ghost"),
        (
            [seen(HERE), seen(), seen()],
            0,
            "Image kills mutant: 2 of 3 passes have a miss or a ghost (p = 0.0003, significant)",
        ),
        (
            [seen()] + [seen(HERE)] * 9,
            0,
            "Image does not kill mutant: 1 of 10 passes has a miss or a ghost "
            "(p = 0.096, not significant)",
        ),
        (
            [seen(), seen()],
            10,
            "2 of 2 passes have a miss or a ghost; the other 8 were not run (curtailed)",
        ),
    ],
    ids=["survivor", "kill", "noise", "curtailed"],
)
def test_the_headline_is_the_verdict(mutant: list[Detections], full: int, says: str) -> None:
    assert headline(scene_of([seen(HERE)] * len(mutant), mutant, full=full)) == says


@pytest.mark.parametrize("draw", [strip_figure, lambda scene: pass_figure(scene, 2)])
def test_the_verdict_comes_first_and_cautions_stand_out(
    changed: Scene, recorded: Recorded, draw: Any
) -> None:
    figure: Figure = draw(replace(changed, remarks=["A remark.", "CAUTION: other bytes."]))
    first, second, *others = recorded.texts
    assert first == (headline(changed), True)
    assert second == ("Image street, suite day, model ours; mutant mc_dropout 0.3", False)
    assert ("A remark.", False) in others
    assert ("CAUTION: other bytes.", True) in others
    # The caption is whole sentences.
    assert verdict_text(changed) in figure.caption
    assert figure.caption.endswith("A remark. CAUTION: other bytes.")


def test_the_pass_is_said_so_that_it_cannot_be_misread() -> None:
    assert pass_text(1, 10) == "Pass 1 (the 10 passes are numbered 0 to 9)"
    assert pass_text(0, 1) == "Pass 0 (the only one)"


@pytest.mark.parametrize(
    ("mutant", "t", "why"),
    [
        (
            [seen(HERE, FAR), seen(), seen(FAR)],
            1,
            "the first of those that miss most, counted by the original's scores",
        ),
        (
            [seen(HERE, FAR, THERE), seen(HERE), seen()],
            2,
            "the one that misses most, counted by the original's scores",
        ),
        (
            [seen(HERE), seen(HERE, FAR), seen(HERE, FAR)],
            1,
            "the first of those with the most ghosts",
        ),
        ([seen(HERE), seen(HERE, FAR), seen(HERE)], 1, "the one with the most ghosts"),
        ([seen(HERE)] * 3, 0, ""),
        ([seen()], 0, ""),
    ],
)
def test_why_a_pass_is_shown_is_true_where_several_tie(
    mutant: list[Detections], t: int, why: str
) -> None:
    assert chosen_pass(scene_of([seen(HERE)] * len(mutant), mutant)) == (t, why)


def test_the_loss_of_a_sure_object_comes_before_that_of_two_doubtful_ones() -> None:
    boxes, probs = [HERE, THERE, FAR], [[0.05, 0.9, 0.05]] * 3
    original = Detections(boxes, [1] * 3, [0.95, 0.3, 0.4], probs)
    mutant = [seen(HERE), seen(HERE, THERE, FAR), seen(THERE, FAR)]
    assert chosen_pass(scene_of([original] * 3, mutant))[0] == 2


@pytest.mark.parametrize("measure", ["ie", "vr", None])
def test_the_legend_says_what_tags_say(
    changed: Scene, recorded: Recorded, measure: str | None
) -> None:
    pass_figure(changed, 0, measure=measure)
    assert recorded.legends == [tag_text(measure)]
    _, mutant = recorded.marks
    beside = {"ie": " entropy 0.57", "vr": " class variation 0.00", None: ""}[measure]
    assert mutant[0].tag == f"1 cat 0.80{beside}"


def test_what_the_mutant_misses_is_on_its_side_where_the_original_has_it(
    changed: Scene, recorded: Recorded
) -> None:
    pass_figure(changed, 2)
    original, mutant = recorded.marks
    (lost,) = [mark for mark in mutant if mark.kind == "miss"]
    assert lost.tag == "1 miss"
    assert lost.box.tolist() == HERE == original[0].box.tolist()


@pytest.mark.parametrize(
    ("rules", "measure", "beside"),
    [
        (DEEPLUQ, "ie", "entropy sum 0.57"),
        (STRICT, "ie", "entropy 0.57"),
        (DEEPLUQ, "mi", "mutual information 0.00"),
    ],
)
def test_an_entropy_that_is_a_sum_says_so(
    changed: Scene, recorded: Recorded, rules: Any, measure: str, beside: str
) -> None:
    pass_figure(replace(changed, rules=rules), 2, measure=measure)
    (ghost,) = [mark for mark in recorded.marks[1] if mark.kind == "ghost"]
    assert ghost.tag == f"g1 ghost cat 0.70 {beside}"


def test_a_film_strip_gives_the_numbers_of_misses_and_ghosts(
    changed: Scene, recorded: Recorded
) -> None:
    strip_figure(changed)
    tags = [sorted(mark.tag for mark in marks if mark.tag) for marks in recorded.marks]
    assert tags == [[], [], ["miss 2"], ["ghost g1", "miss 1"]]
    assert {mark.shorter for mark in recorded.marks[3] if mark.tag} == {("1",), ("g1",)}


def test_the_table_has_the_scores_of_both_sides_in_this_pass(changed: Scene) -> None:
    tracks = object_uncertainty(changed.tracks, DEEPLUQ)
    table = table_of(changed, tracks, 2, has_short_tags=False)
    assert table.heads[:4] == ["object", "class", "score\noriginal", "score\nmutant"]
    assert [row[:4] for row in table.rows] == [
        ["1", "cat", "0.90", "-"],
        ["2", "cat", "0.90", "0.70"],
        ["g1 ghost", "cat", "-", "0.70"],
    ]
    assert all(len(row) == len(table.heads) for row in table.rows)


@pytest.mark.parametrize("rules", [DEEPLUQ, STRICT], ids=["deepluq", "strict"])
def test_the_table_has_the_entropy_of_both_sides(rules: Any) -> None:
    """What is sure for the original and is not for the mutant has become uncertain."""
    sure = Detections([HERE], [1], [0.9], [[0.0, 1.0, 0.0]])
    doubtful = Detections([HERE, FAR], [1, 2], [0.5, 0.5], [[0.0, 0.5, 0.5]] * 2)
    scene = replace(scene_of([sure] * 3, [doubtful] * 3), rules=rules)
    table = table_of(scene, object_uncertainty(scene.tracks, rules), 0, has_short_tags=False)
    entropy = table.heads.index("entropy, bits\noriginal")
    assert table.heads[entropy + 1] == "entropy, bits\nmutant"
    of_ghost = {"deepluq": "3.00", "strict": "1.00"}[rules.name]
    assert [row[entropy : entropy + 2] for row in table.rows] == [["0.00", "1.00"], ["-", of_ghost]]
    assert all(len(row) == len(table.heads) for row in table.rows)
    kind = {"deepluq": "perimeters around", "strict": "areas spanned by"}[rules.name]
    (note,) = [note for note in table.notes if "Box spread" in note]
    assert kind in note
    assert any("whose other measures are 0 if its passes are all alike" in n for n in table.notes)


def test_the_table_of_a_narrow_picture_is_whole(recorded: Recorded) -> None:
    scene = replace(
        scene_of([seen(HERE)], [seen(HERE)]),
        image=Image.new("RGB", (16, 64), "grey"),
        label_names=("", "traffic light far away"),
    )
    wide = pass_figure(scene, 0).image.width
    ((heads, rows),) = recorded.tables
    assert sum(Sheet(1).column_widths(heads, rows)) <= wide - 32


def test_two_detections_of_one_object_stand_in_its_row() -> None:
    both = Detections([FAR, FAR], [1, 2], [0.9, 0.4], [[0.0, 1, 0], [0.0, 0, 1]])
    scene = scene_of([seen(HERE)], [both])
    table = table_of(scene, object_uncertainty(scene.tracks), 0, has_short_tags=False)
    assert [row[:4] for row in table.rows] == [
        ["1", "cat", "0.90", "-"],
        ["g1 ghost", "cat, dog", "-", "0.90, 0.40"],
    ]
    assert table.rows[1][4] == "2 of 1"
    assert table.notes[-1].startswith("Where a pass holds two boxes of an object, both count")


def test_shortened_tags_end_in_an_ellipsis_and_the_table_explains_it(recorded: Recorded) -> None:
    says = "A name at a box that ends in … is shortened for room; it stands whole in the table."
    pass_figure(scene_of([seen(HERE)], [seen(HERE)]), 0)
    assert not any("…" in text for text, _ in recorded.texts)
    for marks in recorded.marks:
        for mark in marks:
            assert mark.shorter == ("1 cat …", "1 …")
    corners = [(x, y) for x in (0.0, 16, 32, 48) for y in (0.0, 16, 32)]
    crowd = seen(*([x, y, x + 16, y + 16] for x, y in corners))
    pass_figure(replace(scene_of([crowd], [crowd]), label_names=("", "traffic light far away")), 0)
    assert any(says in text for text, _ in recorded.texts)


def test_a_table_that_is_cut_promises_no_more_than_it_has() -> None:
    boxes = [[x, y, x + 5, y + 5] for x in range(0, 60, 10) for y in range(0, 40, 10)]
    crowd = seen(*(list(map(float, box)) for box in boxes))
    scene = scene_of([crowd], [crowd])
    table = table_of(scene, object_uncertainty(scene.tracks), 0, has_short_tags=True)
    assert len(table.rows) == 14
    assert table.notes[:2] == [
        "The first 14 of 24 objects.",
        "A name at a box that ends in … is shortened for room; those of these objects stand "
        "whole in the table.",
    ]
