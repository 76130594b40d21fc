"""Every reader takes every valid file as it is, and refuses every other one by its name.

What a target of scripts/fuzz_targets.py looks at, it looks at here too: numbers, labels and texts
equal those of another parser, and nothing but the project's own exceptions comes out.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from fuzz_targets import TARGETS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz import documents as d

steadily = settings(
    deadline=None,
    derandomize=True,
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)

VALID: dict[str, st.SearchStrategy[bytes]] = {
    "predictions": d.as_json(d.detections()),
    "manifest": d.as_json(d.manifests),
    "ledger": d.as_lines(d.as_json(d.entries)),
    "pickle": d.pickles,
    "configuration": d.as_toml,
    "coco-dataset": d.as_json(d.coco_datasets()),
    "coco-results": d.as_json(d.coco_results),
    "yolo": d.yolo_rows.map(d.as_yolo),
    "table": d.tables.map(d.as_table),
    "facts": d.as_json(d.facts),
    "image-list": st.lists(d.words, min_size=1, max_size=4).map("\n".join).map(str.encode),
    "image-list-json": d.as_json(st.lists(d.names, min_size=1, max_size=4)),
    "label-names": st.lists(d.words, min_size=1, max_size=4).map("\n".join).map(str.encode),
    "sizes": st.lists(
        st.tuples(d.words, st.integers(1, 99)), min_size=1, unique_by=lambda x: x[0].casefold()
    ).map(lambda rows: "".join(f"{name}.jpg,{side},{side}\n" for name, side in rows).encode()),
    "image-set-coco": d.image_sets.map(d.as_coco),
    "image-set-list": d.image_sets.map("\n".join).map(str.encode),
    "image-set-yolo": d.as_json(
        st.fixed_dictionaries({"train": st.just("photos"), "names": d.words})
    ),
}
SPOILT: dict[str, st.SearchStrategy[bytes]] = {
    "predictions": d.changed(d.detections()),
    "manifest": d.changed(d.manifests),
    "ledger": d.as_lines(d.changed(d.entries)),
    "pickle": d.foreign_pickles | d.spoilt(d.pickles),
    "configuration": d.changed_toml(),
    "coco-dataset": d.changed(d.coco_datasets()),
    "coco-results": d.changed(d.coco_results),
    "facts": d.changed(d.facts),
    "image-list-json": d.changed(st.lists(d.names, max_size=4)),
    "image-set-coco": d.changed(d.image_sets.map(d.as_entries)),
    **{
        name: d.spoilt(VALID[name])
        for name in (
            *("yolo", "table", "image-list", "label-names", "sizes"),
            *("image-set-list", "image-set-yolo"),
        )
    },
}


def test_every_reader_is_fed() -> None:
    assert set(VALID) == set(SPOILT) == set(TARGETS)


@pytest.mark.parametrize("name", VALID)
def test_a_valid_file_is_read_as_it_is(name: str, tmp_path: Path) -> None:
    @steadily
    @given(VALID[name])
    def check(content: bytes) -> None:
        assert TARGETS[name].feed(tmp_path, content) == ""

    check()


@pytest.mark.parametrize("name", SPOILT)
def test_a_spoilt_file_is_refused_by_its_name_or_read_right(name: str, tmp_path: Path) -> None:
    @steadily
    @given(SPOILT[name])
    def check(content: bytes) -> None:
        TARGETS[name].feed(tmp_path, content)

    check()
