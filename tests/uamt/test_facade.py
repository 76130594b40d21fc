"""The Python facade: the three lines of the README, and its refusal of strangers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import uamt
from scoring.errors import ConfigError
from scoring.layout import find_branches

ROOT = Path(__file__).parents[2]


def test_run_and_score_in_python(photos: Path, tmp_path: Path) -> None:
    detector = uamt.load_detector("demo_retinanet")
    out = tmp_path / "experiment"
    sweeps = [uamt.MCDropout(rates=(0.1,)), uamt.MCDropBlock(rates=(0.2,), blocks=(3,))]
    summary = uamt.run(detector, photos, sweeps, passes=2, out=out, score_threshold=0.3)
    assert (summary.n_run, summary.is_clean) == (8, True)
    assert uamt.run(detector, photos, sweeps, passes=2, out=out, score_threshold=0.3).n_skipped == 8
    table = uamt.score(out)
    assert table["mutants"].tolist() == [2]


@pytest.mark.parametrize("form", ["folder", "folders", "suites", "list"])
def test_pictures_of_a_run_in_python_are_found(photos: Path, tmp_path: Path, form: str) -> None:
    """No matter how the images were given; `verify` knows the file that says where they lie."""
    listed = tmp_path / "list.txt"
    listed.write_text("".join(f"{path.name}\n" for path in sorted(photos.iterdir())))
    images, options = {
        "folder": (photos, {}),
        "folders": (photos.parent, {"suites": "folders"}),
        "suites": ({"day": photos}, {}),
        "list": (listed, {"image_root": photos}),
    }[form]
    out = tmp_path / "experiment"
    mutants = [uamt.MCDropout(rates=(0.5,))]
    uamt.run(uamt.load_detector("demo_retinanet"), images, mutants, passes=2, out=out, **options)
    stem = min(photos.iterdir()).stem
    assert uamt.show(stem, "0.5", out).width > 0
    assert uamt.verify(out).problems == []


def test_the_default_sweep_is_the_study_s(photos: Path, tmp_path: Path) -> None:
    from runners.campaign import Campaign

    mutants: list[int] = []

    def count(campaign: Campaign, **_: object) -> object:
        mutants.append(len(campaign.mutants()))
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("runners.campaign.prepare", count)
        with pytest.raises(KeyboardInterrupt):
            uamt.run(uamt.load_detector("demo_retinanet"), photos, out=tmp_path / "out")
    assert mutants == [54 + 2]


def test_an_unknown_setting_is_refused(photos: Path, tmp_path: Path) -> None:
    detector = uamt.load_detector("demo_retinanet")
    with pytest.raises(TypeError, match="pases"):
        uamt.run(detector, photos, out=tmp_path / "out", pases=3)
    with pytest.raises(ConfigError, match="passes"):
        uamt.run(detector, photos, out=tmp_path / "out", passes=0)
    assert find_branches(tmp_path / "out") == []


def test_suites_in_python_are_those_of_the_command(tmp_path: Path) -> None:
    from tests.study.tables import write_results

    results = write_results(tmp_path / "scores", {"day": ["a", "b"], "night": ["c"]})
    shares = uamt.suites(results, order=["night"], out=tmp_path / "tables")
    assert shares["test_suite"].unique().tolist() == ["night", "day"]
    assert set(shares["kind"]) == {"miss", "ghost", "miss_ghost"}
    written = tmp_path / "tables" / "case" / "net" / "ua_ms_kill_shares.csv"
    assert pd.read_csv(written)["ms_any"].tolist() == shares["ms_any"].tolist()
    with pytest.raises(ConfigError, match="--passes"):
        uamt.suites(results, passes=0)


def test_ray_is_an_engine_in_python_too(
    photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from runners import ray_engine
    from runners.execution import Summary

    asked: list[object] = []

    def run_on_ray(campaigns: object, workers: int, options: object, on_unit: object) -> object:
        asked.extend([workers, options])
        return [Summary()]

    monkeypatch.setattr(ray_engine, "import_ray", lambda: None)
    monkeypatch.setattr(ray_engine, "run_on_ray", run_on_ray)
    detector = uamt.load_detector("demo_retinanet")
    out = tmp_path / "out"
    sweep = [uamt.MCDropout(rates=(0.1,))]
    uamt.run(detector, photos, sweep, out=out, engine="ray", address="here", workers=3)
    assert asked == [3, ray_engine.RayOptions("here", 0)]
    with pytest.raises(ConfigError, match="--address: expected --engine ray"):
        uamt.run(detector, photos, sweep, out=out, address="here")
    with pytest.raises(ConfigError, match="--engine: expected local or ray, got 'cluster'"):
        uamt.run(detector, photos, sweep, out=out, engine="cluster")  # type: ignore[arg-type]


def test_random_weights_are_warned_of(photos: Path, tmp_path: Path) -> None:
    detector = uamt.load_detector("ssdlite320_mobilenet_v3_large")
    sweep = [uamt.MCDropout(rates=(0.5,))]
    with pytest.warns(UserWarning, match="ssdlite320_mobilenet_v3_large has RANDOM weights"):
        uamt.run(detector, photos, sweep, out=tmp_path / "out", passes=1)


def test_all_names_can_be_had() -> None:
    for name in uamt.__all__:
        assert getattr(uamt, name) is not None
    assert set(uamt.__all__) <= set(dir(uamt))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = uamt.nothing


def test_importing_it_loads_no_torch() -> None:
    script = "import sys, uamt; uamt.score; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True)


def test_a_strange_scoring_package_is_refused_with_both_paths(tmp_path: Path) -> None:
    stranger = tmp_path / "scoring"
    stranger.mkdir()
    (stranger / "__init__.py").write_text("")
    paths = f"sys.path.insert(0, {str(tmp_path)!r}); sys.path.append({str(ROOT)!r})"
    script = f"import sys; {paths}; import uamt"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert str(stranger / "__init__.py") in done.stderr
    assert str(ROOT / "uamt" / "__init__.py") in done.stderr
    assert "ImportError" in done.stderr
