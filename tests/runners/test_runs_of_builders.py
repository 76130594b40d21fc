"""Every builder under every preset: the memo changes no bit, and noise depends on its key alone."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pytest
import torch

from mutators import (
    InjectionReport,
    MCDropBlock,
    MCDropout,
    Mutant,
    Operator,
    dropblock_sites,
    family_presets,
    resolve_sites,
)
from runners.detectors import Detector
from runners.memo import Memo
from runners.passes import run_mutant, run_original, run_original_once
from runners.settings import Settings
from scoring.detections import Detections
from scoring.predictions import encode_prediction
from tests.builders import BUILDERS, image, small_model
from tests.mutators.snapshot import snapshot

QUICK = Settings(passes=2, score_threshold=0.0, seed=3, chunk=1)
ONE_PASS = dataclasses.replace(QUICK, passes=1)


def detector_of(builder: str) -> Detector:
    model = small_model(builder)
    return Detector(
        model=model,
        name=builder,
        architecture=builder,
        weights={"kind": "random"},
        args={},
        label_names=tuple(f"class_{i}" for i in range(7)),
        scores="sigmoid" if builder.startswith(("retinanet", "fcos")) else "softmax",
        device=torch.device("cpu"),
    )


def files(passes: Sequence[Detections]) -> list[bytes]:
    return [encode_prediction(detections) for detections in passes]


def operators_at(detector: Detector, preset: str) -> list[Operator]:
    operators: list[Operator] = [MCDropout(rates=(0.2,), sites=preset)]
    if dropblock_sites(detector.model, preset):
        operators.append(MCDropBlock(rates=(0.3,), blocks=(3,), sites=preset))
    return operators


@dataclass(frozen=True, slots=True)
class Run:
    """What a mutant finds on an image, through the memo and as a whole."""

    where: tuple[str, Mutant]
    replayed: list[bytes]
    plain: list[bytes]
    reports: tuple[InjectionReport, InjectionReport]
    renamed: list[bytes]
    reseeded: list[bytes]
    again: list[bytes]


@dataclass(frozen=True, slots=True)
class Runs:
    """All of a builder's mutants, and the original before and after them."""

    originals: tuple[list[bytes], list[bytes]]
    n_found: int
    n_labels: int
    is_as_before: bool
    mutants: list[Run]


@pytest.fixture(scope="module", params=BUILDERS)
def runs(request: pytest.FixtureRequest) -> Iterator[Runs]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield run_all(detector_of(request.param))
    torch.set_num_threads(before)


def run_all(detector: Detector) -> Runs:
    """Run each preset and operator in the order of a campaign: the original fills the memo."""
    picture, model_before = image(1), snapshot(detector.model)
    original = run_original(detector, picture, ONE_PASS)
    found = []
    for preset in family_presets(detector.model):
        names = [site.name for site in resolve_sites(detector.model, preset)]
        memo = Memo(picture)
        filling = run_original_once(detector, picture, ONE_PASS, memo=memo, sites=names)
        assert files(filling) == files(original)
        assert memo.kept_bytes > 0
        for operator in operators_at(detector, preset):
            mutant = operator.mutants()[0]

            def run(
                name: str, settings: Settings, mutant: Mutant = mutant, memo: Memo | None = memo
            ) -> tuple[list[bytes], InjectionReport]:
                passes, report = run_mutant(detector, picture, name, mutant, settings, memo=memo)
                return files(passes), report

            replayed, report = run("a.png", QUICK)
            renamed, _ = run("b.png", ONE_PASS)
            reseeded, _ = run("a.png", dataclasses.replace(ONE_PASS, seed=4))
            plain, plain_report = run("a.png", QUICK, memo=None)
            # Another name, another seed and whole passes came between.
            again, _ = run("a.png", ONE_PASS)
            found.append(
                Run(
                    (preset, mutant),
                    replayed,
                    plain,
                    (report, plain_report),
                    renamed,
                    reseeded,
                    again,
                )
            )
    return Runs(
        originals=(files(original), files(run_original(detector, picture, ONE_PASS))),
        n_found=len(original[0]),
        n_labels=len(set(original[0].labels.tolist())),
        is_as_before=snapshot(detector.model) == model_before,
        mutants=found,
    )


def test_every_preset_and_operator_gives_the_bits_of_a_plain_run(runs: Runs) -> None:
    assert {run.where[0] for run in runs.mutants} >= {"uamters"}
    for run in runs.mutants:
        assert run.replayed == run.plain, run.where
        assert run.reports[0] == run.reports[1], run.where
    assert runs.is_as_before


def test_noise_depends_on_its_key_alone_at_every_preset(runs: Runs) -> None:
    assert runs.n_found >= 20
    assert runs.n_labels >= 2
    original, afterwards = runs.originals
    assert original == afterwards
    for run in runs.mutants:
        first, second = run.replayed
        assert original[0] not in run.replayed, run.where
        assert first != second, run.where
        assert run.renamed != [first], run.where
        assert run.reseeded != [first], run.where
        assert run.again == [first], run.where
