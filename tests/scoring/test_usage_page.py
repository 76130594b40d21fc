"""The usage page's examples as they stand there, with `deepluq` replaced by `scoring`."""

from __future__ import annotations

import pickle
from functools import cache
from pathlib import Path, PosixPath, PureWindowsPath
from typing import Any

import numpy as np
import pandas as pd
import pytest

from scoring.errors import ConfigError, DataError
from scoring.metrics_mut.helper import init_metrics, update_metrics
from scoring.metrics_mut.ms_calcu import (
    calcu_mutation_score,
    ms_calcu_exec,
    ms_per_test_case_mutant,
)
from scoring.rules import DEEPLUQ
from scoring.tables import read_table
from tests.scoring.golden_cases import HERE, decode, read_cases, write_tree

MODEL = "fasterrcnn_resnet50_fpn"

ONE_TEST_CASE = """
from deepluq.metrics_mut.ms_calcu import ms_per_test_case_mutant
from pathlib import Path

iskill_miss, iskill_ghost, iskill_miss_ghost, ms_obj_level, \\
    match_metrics, miss_metrics, ghost_metrics = ms_per_test_case_mutant(
        test_case=Path("image_0001"),
        org_model="fasterrcnn_resnet50_fpn",
        mutation_operator="mc_dropout",
        mutation_rate=0.3,
        case_study="/path/to/experiment_results_root",
        T=10,
    )
"""

TEST_SET = """
from pathlib import Path
from deepluq.metrics_mut.ms_calcu import calcu_mutation_score

test_set = [Path("image_0001"), Path("image_0002"), ...]

calcu_mutation_score(
    test_set=test_set,
    org_model="fasterrcnn_resnet50_fpn",
    mutation_operator="mc_dropout",         # or "mc_dropblock"
    case_study_p="/path/to/experiment_results_root",
    case_study_n="sticker_detection",
    save_folder="ms_results",
    # mutation_rates=[0.1, 0.15, ...],      # optional; defaults to the standard sweep
)
"""

EVERY_MODEL = """
from deepluq.metrics_mut.ms_calcu import ms_calcu_exec

case_study = {
    "sticker_detection": {
        "dataset": "/path/to/datasets",       # holds common_images_{model}_filtered.pkl
        "raw_result": "/path/to/experiment_results_root",
        "models": ["fasterrcnn_resnet50_fpn", "retinanet_resnet50_fpn"],
    },
}

ms_calcu_exec(case_study_name="sticker_detection", case_study=case_study, save_folder="ms_results")
"""

RATES = ["0.1", "0.15", "0.2", "0.25", "0.3", "0.35", "0.4", "0.45", "0.5"]
TAGS = {
    "mc_dropout": RATES,
    "mc_dropblock": [f"{rate}_{block}" for rate in RATES for block in (1, 3, 5, 7, 9)],
}


def run_page(example: str, root: Path) -> dict[str, Any]:
    """Run an example of the page with its import line changed and its paths in place."""
    script = example.replace("deepluq.", "scoring.").replace(", ...]", "]")
    script = script.replace("/path/to/experiment_results_root", root.as_posix())
    script = script.replace("/path/to/datasets", (root / "datasets").as_posix())
    names: dict[str, Any] = {}
    exec(compile(script, "usage page", "exec"), names)
    return names


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The page's experiment: two models, two images, every mutant, from two golden cases."""
    monkeypatch.chdir(tmp_path)
    for model in (MODEL, "retinanet_resnet50_fpn"):
        for stem, case in zip(("image_0001", "image_0002"), golden_cases(), strict=True):
            mutants = list(case["mutants"].values())
            for operator, tags in TAGS.items():
                of_page = {tag: mutants[i % len(mutants)] for i, tag in enumerate(tags)}
                page = {"operator": operator, "model": model, "stem": stem, "mutants": of_page}
                write_tree(tmp_path / "root", case | page)
    return tmp_path / "root"


@cache
def golden_cases() -> list[dict[str, Any]]:
    cases = {case["id"]: case for case in read_cases(HERE)}
    return [cases["normal_multi_0"], cases["label_swap_0"]]


def expected_row(image: int, tag_number: int) -> dict[str, float]:
    mutants = list(golden_cases()[image]["mutants"].values())
    return dict(decode(mutants[tag_number % len(mutants)]["expected"]["row"]))


def assert_tables(folder: Path, operator: str) -> None:
    for number, tag in enumerate(TAGS[operator]):
        table = read_table(folder / operator / f"mutant_{tag}.csv")
        assert table["test_suite"].tolist() == ["image_0001", "image_0002"]
        wanted = pd.DataFrame([expected_row(image, number) for image in (0, 1)])
        assert np.allclose(table[list(wanted)].to_numpy(float), wanted, rtol=0, atol=1e-9)
    assert len(list((folder / operator).iterdir())) == len(TAGS[operator])


def test_a_test_case_against_a_mutant(root: Path) -> None:
    found = run_page(ONE_TEST_CASE, root)
    row = expected_row(0, RATES.index("0.3"))
    assert found["iskill_miss"]["p_value"] == pytest.approx(row["[img_level] iskill_miss_p_value"])
    assert found["iskill_miss_ghost"]["observed_success"] == 8
    assert list(found["ms_obj_level"]) == [
        f"kill_rate_{kind}_{number}"
        for kind in ("miss", "ghost", "miss_ghost")
        for number in ("mean", "std")
    ]
    scores = ["vr_ms", "ie_ms", "mi_ms", "var_ms", "ps_ms"]
    assert list(found["match_metrics"]) == ["iou_ms", "match_rate", *scores]
    assert list(found["miss_metrics"]) == ["miss_rate", *scores]
    assert list(found["ghost_metrics"]) == ["ghost_rate", *scores]
    assert found["match_metrics"]["iou_ms"] == pytest.approx(row["[match] iou_mean"])
    assert found["ghost_metrics"]["ps_ms"] == pytest.approx(row["[ghost] ps_diff"])


def test_a_test_set_against_every_mutant_of_an_operator(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_page(TEST_SET, root)
    assert_tables(root.parent / "ms_results" / "sticker_detection" / MODEL, "mc_dropout")
    assert capsys.readouterr() == ("", "")


def test_every_model_of_a_case_study(root: Path) -> None:
    (root / "datasets").mkdir()
    images: dict[str, list[Any]] = {
        MODEL: [PosixPath("/data/photos/image_0001.jpg"), PosixPath("/data/photos/image_0002.png")],
        "retinanet_resnet50_fpn": [PureWindowsPath(r"C:\photos\image_0001.JPG"), "image_0002"],
    }
    for model, paths in images.items():
        pickled = root / "datasets" / f"common_images_{model}_filtered.pkl"
        pickled.write_bytes(pickle.dumps(paths))
    run_page(EVERY_MODEL, root)
    for model in images:
        for operator in TAGS:
            assert_tables(root.parent / "ms_results" / "sticker_detection" / model, operator)


def test_a_pickle_of_anything_else_is_refused(root: Path) -> None:
    (root / "datasets").mkdir()
    pickled = root / "datasets" / f"common_images_{MODEL}_filtered.pkl"
    pickled.write_bytes(pickle.dumps([pd.Timestamp(0)]))
    with pytest.raises(DataError, match=rf"common_images_{MODEL}_filtered.pkl.*pandas"):
        run_page(EVERY_MODEL, root)


def test_suite_passes_rates_and_an_absolute_folder_can_be_chosen(tmp_path: Path) -> None:
    case = golden_cases()[0] | {"operator": "mc_dropblock", "model": MODEL, "stem": "38_Tennis.v1"}
    case["mutants"] = {"0.1_3": case["mutants"]["0.1"]}
    write_tree(tmp_path / "root", case)
    suite = tmp_path / "root" / "experiment_results_mc_dropblock" / MODEL / "dataset"
    (suite / "orig").rename(suite / "night")
    written = calcu_mutation_score(
        ["photos/38_Tennis.v1.jpg"],
        MODEL,
        "mc_dropblock",
        tmp_path / "root",
        "study",
        tmp_path / "absolute",
        [(0.1, 3)],
        suite="night",
        T=4,
        rules=DEEPLUQ.with_(binomial_n=None),
    )
    folder = tmp_path / "absolute" / "study" / MODEL / "night" / "mc_dropblock"
    assert written == [folder / "mutant_0.1_3.csv"]
    table = read_table(written[0])
    assert table["test_suite"].tolist() == ["38_Tennis.v1"]
    assert table["[img_level] iskill_miss_count"].tolist() == [3]  # of the first four passes
    with pytest.raises(DataError, match=r"image '38_Tennis\.v1': pass 10 is missing"):
        calcu_mutation_score(
            ["38_Tennis.v1"],
            MODEL,
            "mc_dropblock",
            tmp_path / "root",
            "study",
            tmp_path / "out",
            [[0.1, 3]],
            suite="night",
            T=11,
        )
    assert not (tmp_path / "out").exists()


def test_passes_with_a_nan_can_be_left_out(tmp_path: Path) -> None:
    case = next(case for case in read_cases(HERE) if case["category"] == "nan_box")
    write_tree(tmp_path, case)
    tag = next(iter(case["mutants"]))
    rate, _, block = tag.partition("_")
    one = (float(rate), int(block)) if block else float(rate)
    skip = DEEPLUQ.with_(nonfinite="skip")
    where = (case["model"], case["operator"])
    with pytest.raises(DataError, match="NaN"):
        ms_per_test_case_mutant(case["stem"], *where, one, tmp_path, case["T"])
    results = ms_per_test_case_mutant(case["stem"], *where, one, tmp_path, case["T"], rules=skip)
    assert results[0]["sample_size"] == case["T"] - 1
    (path,) = calcu_mutation_score(
        [case["stem"]], *where, tmp_path, "study", tmp_path, [one], rules=skip, T=None
    )
    table = read_table(path)
    wanted = update_metrics(init_metrics(), case["stem"], *results)
    assert table.iloc[0].tolist() == [values[0] for values in wanted.values()]


def test_what_cannot_be_scored_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="mutation_operator 'blur': expected mutation_rates"):
        calcu_mutation_score(["a"], "m", "blur", tmp_path, "s", tmp_path)
    with pytest.raises(ConfigError, match="at least one image"):
        calcu_mutation_score([], "m", "mc_dropout", tmp_path, "s", tmp_path)
    with pytest.raises(ConfigError, match=r"expected a rate or \(rate, block\)"):
        calcu_mutation_score(["a"], "m", "mc_dropblock", tmp_path, "s", tmp_path, [(0.1, 3, 5)])
    with pytest.raises(ConfigError, match=r"expected 'faces', got \['stickers'\]"):
        ms_calcu_exec("faces", {"stickers": {}}, tmp_path)
    with pytest.raises(ConfigError, match="case_study 'faces': raw_result, models missing"):
        ms_calcu_exec("faces", {"faces": {"dataset": "d"}}, tmp_path)
