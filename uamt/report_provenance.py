"""Where the numbers of a report come from: models, settings, versions, times, commands."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runners.ledger import Ledger
from scoring.layout import original_tag
from scoring.tags import tag_order
from uamt.plan_command import duration
from uamt.presentation import count_of
from uamt.report_tables import ReportTables


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of one model, or of the report: names and values, in order."""

    title: str
    rows: tuple[tuple[str, str], ...]


def provenance(
    tables: ReportTables, manifest: Mapping[str, Any], experiment: Path | None
) -> list[Facts]:
    """Return what is known of every model.

    Args:
        tables: The models, and the facts beside their tables.
        manifest: Of the experiment; empty where it has none.
        experiment: Holds the ledger; None where nobody knows.
    """
    times = _times(experiment)
    found = []
    for label, model in zip(tables.labels, tables.models, strict=True):
        name = model.results.model
        section = manifest.get("models", {}).get(name, {})
        rows = [*_of_manifest(section), *_of_scores(tables, model)]
        if name in times:
            rows.append(("run time", times[name]))
        saved = experiment / f"experiment_{name}.toml" if experiment else None
        if saved is not None and saved.is_file():
            rows.append(("run again", shlex.join(["uamt", "run", str(saved)])))
        found.append(Facts(label, tuple(rows)))
    return found


def _of_manifest(section: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    settings = section.get("settings", {})
    model = settings.get("model", {})
    if "imported" in settings:
        yield "predictions", f"imported ({settings['imported']['format']})"
    elif not section:
        yield "predictions", "of another tool: no manifest says how they were made"
    if "architecture" in model:
        yield "architecture", str(model["architecture"])
        yield "weights", " ".join(f"{key} {value}" for key, value in model["weights"].items())
        yield "weights sha256", str(model["state_sha256"])
    if model.get("args"):
        yield "arguments", ", ".join(f"{key}={value}" for key, value in model["args"].items())
    if model.get("scores"):
        yield "class vectors", str(model["scores"])
    for name, operator in section.get("operators", {}).items():
        if "sites" in operator:
            preset = operator.get("preset", "")
            preset = preset if isinstance(preset, str) else ", ".join(preset)
            yield f"sites of {name}", f"{', '.join(operator['sites'])} ({preset})"
        yield f"mutants of {name}", ", ".join(sorted(operator.get("tags", ()), key=tag_order))
    for key, name in (
        ("passes", "passes (T)"),
        ("seed", "seed"),
        ("score_threshold", "score threshold"),
        ("classes", "classes kept"),
        ("device", "device"),
        ("precision", "precision"),
        ("chunk", "passes in one batch"),
    ):
        if settings.get(key) is not None:
            yield name, str(settings[key])
    if settings.get("curtail"):
        yield "curtailed", f"{settings['curtail']['kinds']}, rule {settings['curtail']['rule']}"
    if section.get("original_is_deterministic") is not None:
        alike = section["original_is_deterministic"]
        yield "original's passes", "all alike" if alike else "differ among themselves"
    if settings.get("versions"):
        yield "versions", ", ".join(f"{key} {value}" for key, value in settings["versions"].items())


def _of_scores(tables: ReportTables, model: Any) -> Iterator[tuple[str, str]]:
    rules = tables.rules
    yield "rule set", rules.name
    yield (
        "thresholds",
        f"a pair matches above IoU {rules.iou_threshold}; significant: p < {rules.alpha} against "
        f"chance, which is granted {rules.null_rate:.0%} of passes",
    )
    facts = [one for suite in model.results.suites for one in suite.facts.values()]
    if facts:
        yield "passes scored", ", ".join(sorted({str(one.passes) for one in facts}))
        dropped = sum(one.degenerate_boxes for one in facts)
        if dropped:
            yield "boxes left out", f"{count_of(dropped, 'box', 'boxes')} without area"


def _times(experiment: Path | None) -> dict[str, str]:
    """Return what the ledger says of each model's run."""
    if experiment is None:
        return {}
    seconds: dict[str, float] = {}
    mutated: dict[str, int] = {}
    originals: dict[str, int] = {}
    crashed: dict[str, int] = {}
    hosts: dict[str, set[str]] = {}
    for unit, entry in Ledger(experiment).latest().items():
        seconds[unit.model] = seconds.get(unit.model, 0.0) + entry.seconds
        counts = originals if unit.tag == original_tag(unit.operator) else mutated
        counts[unit.model] = counts.get(unit.model, 0) + 1
        crashed[unit.model] = crashed.get(unit.model, 0) + (entry.status == "runtime_error")
        hosts.setdefault(unit.model, set()).add(entry.host)
    return {
        model: f"{duration(seconds[model])} of one worker's time: "
        f"{count_of(mutated.get(model, 0), 'image')} under a mutant, "
        f"{count_of(originals.get(model, 0), 'image')} under an original, on "
        f"{count_of(len(hosts[model]), 'machine')}"
        f"{f', {crashed[model]} crashed' if crashed[model] else ''}"
        for model in seconds
    }


def label_names(manifest: Mapping[str, Any]) -> dict[str, Sequence[str]]:
    """Return the names of the label ids of each model, as its manifest has them."""
    return {
        name: section.get("settings", {}).get("model", {}).get("label_names") or ()
        for name, section in manifest.get("models", {}).items()
    }
