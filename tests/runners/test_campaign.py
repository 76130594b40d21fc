"""Campaigns: what is written, what is run again, and that nothing else matters."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from mutators import MCDropBlock, MCDropout, Operator
from runners.campaign import Campaign, prepare
from runners.detectors import load_detector
from runners.execution import run_serially
from runners.images import list_suites
from runners.ledger import Entry, Ledger
from runners.manifest_file import read_manifest
from runners.pool import run_in_pool
from runners.settings import Settings
from scoring.errors import ConfigError
from scoring.layout import Branch, find_branches
from scoring.predictions import read_passes
from tests.runners.small_campaign import SWEEPS, changed, run, tree, written


def test_every_unit_is_written_where_the_reader_finds_it(campaign: Campaign) -> None:
    summary = run(campaign)
    assert (summary.n_run, summary.n_skipped, summary.is_clean) == (10, 0, True)
    assert {branch.operator for branch in find_branches(campaign.root)} == {
        "mc_dropout",
        "mc_dropblock",
    }
    branch = Branch("mc_dropblock", "demo_fasterrcnn", "photos")
    for ref in campaign.images:
        original = read_passes(branch.folder(campaign.root, "0_1", ref.stem))
        mutant = read_passes(branch.folder(campaign.root, "0.2_3", ref.stem))
        assert original.n_passes == mutant.n_passes == 3
        assert len(original[0]) > 0
        assert original.detections.n_classes == 5
        assert np.array_equal(original[0].boxes, original[2].boxes)
        assert original[0].scores.min() >= 0.5


def test_prediction_folders_hold_nothing_but_the_passes(campaign: Campaign) -> None:
    run(campaign)
    folders = [p.parent for p in campaign.root.rglob("prediction_0.json")]
    assert len(folders) == 10
    for folder in folders:
        assert sorted(p.name for p in folder.iterdir()) == [
            f"prediction_{t}.json" for t in range(3)
        ]


def test_a_second_run_does_nothing_and_changes_nothing(campaign: Campaign) -> None:
    run(campaign)
    before, files = tree(campaign.root), written(campaign.root)
    summary = run(campaign)
    assert (summary.n_run, summary.n_skipped) == (0, 10)
    assert tree(campaign.root) == before
    assert written(campaign.root) == files


def test_an_interrupted_run_ends_in_the_same_bytes(campaign: Campaign, tmp_path: Path) -> None:
    whole = changed(campaign, root=tmp_path / "whole")
    run(whole)

    def interrupt(entry: Entry, is_new: bool) -> None:
        if entry.unit.tag == "0.3":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(campaign, interrupt)
    summary = run(campaign)
    assert 0 < summary.n_skipped < 10
    assert summary.n_run + summary.n_skipped == 10
    assert tree(campaign.root) == tree(whole.root)


def test_a_torn_ledger_line_and_a_leftover_temporary_file_are_mended(campaign: Campaign) -> None:
    run(campaign)
    before = tree(campaign.root)
    ledger = Ledger(campaign.root)
    lines = ledger.path.read_bytes().splitlines(keepends=True)
    ledger.path.write_bytes(b"".join(lines[:-1]) + lines[-1][:40])
    last = Branch("mc_dropblock", "demo_fasterrcnn", "photos").folder(
        campaign.root, "0.2_3", campaign.images[1].stem
    )
    (last / ".half.tmp").write_bytes(b"{")
    summary = run(campaign)
    assert summary.n_run == 1
    assert tree(campaign.root) == before
    assert run(campaign).n_run == 0


@pytest.mark.parametrize("damage", ["missing", "changed"])
def test_a_unit_whose_files_are_not_whole_is_run_again(campaign: Campaign, damage: str) -> None:
    run(campaign)
    before = tree(campaign.root)
    victim = next(campaign.root.rglob("prediction_1.json"))
    if damage == "missing":
        victim.unlink()
    else:
        victim.write_bytes(b"{}")
    assert run(campaign).n_run == 1
    assert tree(campaign.root) == before


def test_the_order_of_images_and_mutants_does_not_matter(
    campaign: Campaign, tmp_path: Path
) -> None:
    run(campaign)
    suites = {name: tuple(reversed(refs)) for name, refs in campaign.suites.items()}
    other = changed(
        campaign,
        suites=suites,
        operators=tuple(reversed(SWEEPS)),
        root=tmp_path / "reversed",
    )
    run(other)
    assert tree(other.root) == tree(campaign.root)


def test_a_pool_shared_by_two_models_writes_the_same_bytes(
    campaign: Campaign, tmp_path: Path
) -> None:
    second = changed(campaign, detector=load_detector("demo_retinanet"))
    for one in (campaign, second):
        run(one)
    pooled = [changed(one, root=tmp_path / "pool") for one in (campaign, second)]
    summaries = run_in_pool([prepare(one) for one in pooled], 2)
    assert [(summary.n_run, summary.is_clean) for summary in summaries] == [(10, True)] * 2
    assert tree(tmp_path / "pool") == tree(campaign.root)
    again = run_in_pool([prepare(one) for one in pooled], 2)
    assert [summary.n_skipped for summary in again] == [10, 10]


def test_mutants_and_images_may_be_added(campaign: Campaign) -> None:
    run(changed(campaign, operators=(MCDropout(rates=(0.1,)),)))
    summary = run(campaign)
    assert (summary.n_run, summary.n_skipped) == (6, 4)
    tags = read_manifest(campaign.root)["models"]["demo_fasterrcnn"]["operators"]
    assert tags["mc_dropout"]["tags"] == ["0.1", "0.3"]


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        (Settings(passes=3, chunk=3, seed=1), "settings.seed was 0, is 1"),
        (
            Settings(passes=2, chunk=2),
            r"configuration \(passes\); use .*Changed: settings.passes was 3, is 2 \(--passes\)$",
        ),
        (Settings(passes=3, chunk=1), r"settings.chunk was 3, is 1 \(--chunk\)"),
        (
            Settings(passes=3, chunk=3, score_threshold=0.25),
            "settings.score_threshold was 0.5, is 0.25",
        ),
        (Settings(passes=3, chunk=3, classes=(1,)), r"settings.classes was null, is \[1\]"),
    ],
)
def test_a_changed_setting_is_refused_by_name_and_redone_on_request(
    campaign: Campaign, settings: Settings, field: str
) -> None:
    run(campaign)
    before = tree(campaign.root)
    other = changed(campaign, settings=settings)
    with pytest.raises(ConfigError, match=field):
        prepare(other)
    assert tree(campaign.root) == before
    summary = run_serially(prepare(other, redo_changed=True))
    assert summary.n_run == 10
    assert run(other).n_run == 0
    assert len(list(campaign.root.rglob("prediction_*.json"))) == 10 * settings.passes


def test_a_changed_image_is_refused_by_name_and_only_it_is_redone(
    campaign: Campaign, pictures: Path
) -> None:
    run(campaign)
    name = campaign.images[0].relative_path
    Image.new("RGB", (192, 192), "grey").save(pictures / name)
    with pytest.raises(ConfigError, match=f"image 'photos/{name}'.sha256 was"):
        prepare(campaign)
    assert run_serially(prepare(campaign, redo_changed=True)).n_run == 5


def test_other_sites_are_refused_by_name(campaign: Campaign) -> None:
    run(changed(campaign, operators=(MCDropout(rates=(0.1,)),)))
    with pytest.raises(ConfigError, match=r"operators.mc_dropout.sites was .*\(--sites\)"):
        prepare(changed(campaign, operators=(MCDropout(rates=(0.1,), sites="head"),)))


def test_two_models_share_a_folder(campaign: Campaign) -> None:
    run(campaign)
    run(changed(campaign, detector=load_detector("demo_retinanet")))
    assert sorted(read_manifest(campaign.root)["models"]) == ["demo_fasterrcnn", "demo_retinanet"]
    assert run(campaign).n_run == 0


@pytest.mark.parametrize(("passes", "chunk"), [(4, 3), (5, 2)])
def test_a_chunk_that_does_not_divide_the_passes_is_of_one_size_too(
    campaign: Campaign, tmp_path: Path, passes: int, chunk: int
) -> None:
    uneven = changed(campaign, settings=Settings(passes=passes, chunk=chunk))
    assert prepare(uneven).is_deterministic
    assert run(uneven).n_run == 10
    whole = Settings(passes=2 * chunk if passes == 4 else 3 * chunk, chunk=chunk)
    run(changed(campaign, settings=whole, root=tmp_path / "whole"))
    files = tree(campaign.root)
    longer = tree(tmp_path / "whole")
    predictions = [name for name in files if "prediction_" in name]
    assert len(predictions) == 10 * passes
    assert all(files[name] == longer[name] for name in predictions)


@pytest.mark.parametrize("left_out", ["operator", "rate", "image"])
def test_a_change_is_not_redone_on_a_part_of_what_it_touches(
    campaign: Campaign, left_out: str
) -> None:
    run(campaign)
    before = tree(campaign.root)
    settings = Settings(passes=3, seed=1)
    part = changed(campaign, settings=settings)
    if left_out == "operator":
        part, named = changed(part, operators=SWEEPS[:1]), "mc_dropblock 0.2_3"
    elif left_out == "rate":
        part = changed(part, operators=(MCDropout(rates=(0.1,)), SWEEPS[1]))
        named = "mc_dropout 0.3"
    else:
        suites = {name: refs[:1] for name, refs in campaign.suites.items()}
        part, named = changed(part, suites=suites), "image 'photos/plain_01.png'"
    with pytest.raises(ConfigError, match=f"that this run leaves out: {named};.*--out"):
        prepare(part, redo_changed=True)
    assert tree(campaign.root) == before
    assert run_serially(prepare(changed(campaign, settings=settings), redo_changed=True)).n_run


def test_a_mutant_that_changes_nothing_is_reported(campaign: Campaign, pictures: Path) -> None:
    for path in pictures.iterdir():
        path.unlink()
    Image.new("RGB", (64, 64), "black").save(pictures / "black.png")
    summary = run(changed(campaign, suites=list_suites({"photos": pictures})))
    assert summary.unchanged() == ["mc_dropout 0.1", "mc_dropout 0.3", "mc_dropblock 0.2_3"]


def test_chunks_of_one_give_the_same_detections(campaign: Campaign, tmp_path: Path) -> None:
    run(campaign)
    other = changed(campaign, settings=Settings(passes=3, chunk=1), root=tmp_path / "one_by_one")
    run(other)
    branch = Branch("mc_dropout", "demo_fasterrcnn", "photos")
    for ref in campaign.images:
        a, b = (
            read_passes(branch.folder(root, "0.1", ref.stem)).detections
            for root in (campaign.root, other.root)
        )
        assert a.labels.tolist() == b.labels.tolist()
        assert np.abs(a.boxes - b.boxes).max() < 1e-3
        assert np.abs(a.scores - b.scores).max() < 1e-4


def test_threads_are_restored(campaign: Campaign) -> None:
    before = torch.get_num_threads()
    run(changed(campaign, settings=Settings(passes=3, chunk=3, threads=2)))
    assert torch.get_num_threads() == before


def test_effective_blocks_stand_in_the_manifest(campaign: Campaign) -> None:
    wide = MCDropBlock(rates=(0.1,), blocks=(1, 99))
    prepare(changed(campaign, operators=(wide,)))
    section = read_manifest(campaign.root)["models"]["demo_fasterrcnn"]
    blocks = section["operators"]["mc_dropblock"]["effective_blocks"]
    assert set(blocks) == {"1", "99"}
    assert {size for sizes in blocks["1"].values() for size in sizes} == {1}
    # 192 px at strides 4, 8, 16, 32: maps of 48, 24, 12 and 6 cells.
    assert sorted({size for sizes in blocks["99"].values() for size in sizes}) == [5, 11, 23, 47]


@pytest.mark.parametrize(
    ("operators", "message"),
    [
        ((), "at least one"),
        ((MCDropout(), MCDropout()), "each once"),
        ((MCDropout(rates=(0,)),), "above 0"),
        ((MCDropBlock(sites="last"),), "no map of four"),
        ((MCDropout(sites="no.such.module"),), "matches no module"),
    ],
)
def test_sweeps_that_cannot_run_are_refused_before_anything_is_written(
    campaign: Campaign, operators: tuple[Operator, ...], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        prepare(changed(campaign, operators=operators))
    assert not campaign.root.exists()


def test_manifest_holds_no_time_host_or_worker(campaign: Campaign) -> None:
    run(campaign)
    text = (campaign.root / "manifest.json").read_text()
    for word in ("seconds", "host", "workers", "time", str(campaign.root)):
        assert f'"{word}"' not in text
