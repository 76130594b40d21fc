"""The manifest's file: one section per model, which results that are there hold fast.

Settings may not change under results; images and mutants may be added. Reading and merging need
no model and load no torch.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from scoring.errors import ConfigError, DataError
from scoring.faults import shown
from scoring.files import remove_leftovers, write_atomic
from scoring.layout import MANIFEST_NAME
from scoring.manifest import read_manifest_file
from scoring.tags import tag_order

FORMAT = 1
SKIPPED = "skipped"
"""Key of a model's images that could not be read, by suite; absent if there is none."""

_ADVICE = "use another --out or --name, or --redo-changed to run again what this touches"


def configuration_hash(*parts: Any) -> str:
    """Return the sha256 of values, as canonical JSON."""
    return hashlib.sha256(orjson.dumps(parts, option=orjson.OPT_SORT_KEYS)).hexdigest()


_MAY_GROW = ("tags", "effective_blocks")
"""Fields of an operator that further mutants add to."""

_DECIDES_NOTHING = ("preset", *_MAY_GROW)
"""Fields of an operator that decide no mask."""


def operator_configuration(section: Mapping[str, Any], operator: str) -> str:
    """Return the hash of what decides an operator's results, images and rates apart.

    Args:
        section: The manifest's section of a model.
        operator: Name of the operator.
    """
    deciding = {
        k: v for k, v in section["operators"][operator].items() if k not in _DECIDES_NOTHING
    }
    return configuration_hash(section["settings"], deciding, section["original_is_deterministic"])


def unit_configuration(operator: str, tag: str, image: str, sha256: str) -> str:
    """Return the hash of everything that decides a unit's result, which the ledger holds.

    Args:
        operator: As `operator_configuration` returns it.
        tag: The mutant's tag.
        image: Path of the image below the suite's folder.
        sha256: Of the image's bytes; empty where it cannot be read.
    """
    return configuration_hash(operator, tag, image, sha256)


def read_manifest(root: Path) -> dict[str, Any]:
    """Return the manifest of an experiment; empty sections where there is none.

    Raises:
        DataError: It is broken or of another format.
    """
    manifest = read_manifest_file(root)
    if manifest is None:
        return {"format": FORMAT, "models": {}}
    path = root / MANIFEST_NAME
    if manifest.get("format") != FORMAT:
        raise DataError(
            f"{path}: expected a manifest of format {FORMAT}, got {shown(manifest.get('format'))}"
        )
    for model, section in manifest["models"].items():
        for key in ("operators", "suites"):
            if key not in section:
                raise DataError(
                    f"{path}: model '{model:.80}': expected '{key}', which is not there"
                )
    return manifest


def merged_manifest(
    root: Path,
    model: str,
    section: Mapping[str, Any],
    *,
    redo_changed: bool = False,
    advice: str = _ADVICE,
    listed: Mapping[str, Collection[str]] | None = None,
) -> dict[str, Any]:
    """Return the manifest with this model's section; mutants that are there stay in it.

    Args:
        root: The experiment's folder.
        model: The model's folder name.
        section: As `model_section` returns it.
        redo_changed: Accept changed settings and images: what they touch is run again.
        advice: What to do about a change, for the message.
        listed: All images that the suites have now, also those that cannot be read: others leave
            the manifest, and are scored no more. None keeps them.

    Raises:
        ConfigError: A setting or an image changed; the fields are named with both values. Or a
            change is accepted that touches results which this run leaves out.
    """
    manifest = read_manifest(root)
    before = manifest["models"].get(model)
    merged = dict(section)
    if before is not None:
        skipped = {
            suite: [path for path in paths if listed is None or path in listed.get(suite, paths)]
            for suite, paths in before.get(SKIPPED, {}).items()
        }
        if any(skipped.values()):
            merged[SKIPPED] = {suite: paths for suite, paths in skipped.items() if paths}
        changes = list(_changes(before, section))
        if changes and not redo_changed:
            subjects = list(dict.fromkeys(subject for subject, _ in changes))
            raise ConfigError(
                f"{root / MANIFEST_NAME}: results of model '{model}' are there under another "
                f"configuration ({_first(subjects, ', ')}); {advice}. Changed: "
                f"{_first([told for _, told in changes], '; ')}"
            )
        stale = list(_left_behind(before, section)) if redo_changed else []
        if stale:
            raise ConfigError(
                f"{root / MANIFEST_NAME}: the change touches results of model '{model}' that this "
                f"run leaves out: {_first(stale, ', ')}; run them too, or use another --out or "
                f"--name (images that are gone for good leave the manifest with a run without the "
                f"change)"
            )
        merged["operators"] = {**before["operators"], **section["operators"]}
        for name, operator in section["operators"].items():
            old = before["operators"].get(name, {})
            merged["operators"][name] = {
                **operator,
                "tags": sorted({*old.get("tags", ()), *operator["tags"]}, key=tag_order),
                "effective_blocks": {
                    **operator["effective_blocks"],
                    **old.get("effective_blocks", {}),
                },
            }
        gone = removed_images(before, listed or {})
        merged["suites"] = {
            suite: {
                path: image
                for path, image in {
                    **before["suites"].get(suite, {}),
                    **section["suites"].get(suite, {}),
                }.items()
                if (suite, path) not in gone
            }
            for suite in {**before["suites"], **section["suites"]}
        }
    manifest["models"][model] = merged
    return manifest


def removed_images(
    before: Mapping[str, Any], listed: Mapping[str, Collection[str]]
) -> set[tuple[str, str]]:
    """Return suite and path of the images of a section that its suites have no more.

    Args:
        before: The manifest's section of a model; empty where there is none.
        listed: The images that suites have now; a suite that is not among them keeps its own.
    """
    return {
        (suite, path)
        for suite, images in before.get("suites", {}).items()
        for path in images
        if suite in listed and path not in listed[suite]
    }


def merge_model(root: Path, model: str, section: Mapping[str, Any], **how: Any) -> None:
    """Write the manifest that `merged_manifest` returns of the same arguments.

    What killed runs left of it is removed. Call it where no other process writes it.

    Raises:
        ConfigError: A setting or an image changed; the fields are named with both values.
    """
    manifest = merged_manifest(root, model, section, **how)
    remove_leftovers(root / MANIFEST_NAME)
    _write(root, manifest)


def record_skipped(
    root: Path,
    model: str,
    tried: Collection[tuple[str, str]],
    unreadable: Collection[tuple[str, str]],
) -> None:
    """Enter the images that a run could not read, and take out those that it could.

    Args:
        root: The experiment's folder.
        model: The model's folder name.
        tried: Suite and path of every image of the run.
        unreadable: Those of them that could not be read.

    Raises:
        DataError: The manifest that the run began with is gone.
    """
    manifest = read_manifest(root)
    if model not in manifest["models"]:
        raise DataError(
            f"{root / MANIFEST_NAME}: expected the manifest that the run wrote, but it was removed "
            f"meanwhile; the same command writes it again, and what else is gone"
        )
    section = manifest["models"][model]
    before = {(suite, path) for suite, paths in section.get(SKIPPED, {}).items() for path in paths}
    now = before.difference(tried).union(unreadable)
    if now == before:
        return
    section.pop(SKIPPED, None)
    if now:
        suites = dict.fromkeys(suite for suite, _ in now)
        section[SKIPPED] = {
            suite: sorted(path for of, path in now if of == suite) for suite in suites
        }
    _write(root, manifest)


def _write(root: Path, manifest: Mapping[str, Any]) -> None:
    options = orjson.OPT_SORT_KEYS | orjson.OPT_INDENT_2
    path, content = root / MANIFEST_NAME, orjson.dumps(manifest, option=options) + b"\n"
    # A run that has nothing to add goes on where no file can be written any more.
    if not path.is_file() or path.read_bytes() != content:
        write_atomic(path, content)


_FLAGGED = ("passes", "seed", "score_threshold", "classes", "chunk", "threads", "precision")
"""Settings that are flags of `uamt run` by the same name."""


_SUBJECTS = {"model": "the model itself", "imported": "format"}
"""What settings are called where their own name does not say it."""


def _changes(before: Mapping[str, Any], section: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what a change is of, in a word, and the field with both values."""
    yield from _changed_settings(before["settings"], section["settings"])
    for name in section["operators"]:
        for told in _changes_of(before, section, name):
            yield name, told
    for suite, images in section["suites"].items():
        for path, image in images.items():
            old_image = before["suites"].get(suite, {}).get(path, image)
            where = f"image '{suite}/{path}'"
            for told in _differing(where, old_image, image):
                yield where, told


def _changed_settings(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what differs, as `_changes` does, with the flag that says it.

    Passes in a batch follow the passes where nobody gives them: then one change is told, not two.
    """
    is_other_passes = old.get("passes") != new.get("passes")
    for key in sorted({*old, *new} - ({"chunk"} if is_other_passes else set())):
        for told in _differing(f"settings.{key}", old.get(key), new.get(key)):
            flag = f" (--{key.replace('_', '-')})" if key in _FLAGGED else ""
            yield _SUBJECTS.get(key, key.replace("_", " ")), f"{told}{flag}"


def _changes_of(before: Mapping[str, Any], section: Mapping[str, Any], name: str) -> Iterator[str]:
    if name in before["operators"] and name in section["operators"]:
        own, old = (
            {k: v for k, v in manifest["operators"][name].items() if k not in _MAY_GROW}
            for manifest in (section, before)
        )
        before_sites, sites = old.get("preset"), own.get("preset")
        if before_sites != sites:
            # The sites follow from what was typed, which says more than their list.
            told = next(_differing(f"operators.{name}.sites", before_sites, sites))
            yield f"{told} (--sites)"
            own, old = (
                {k: v for k, v in d.items() if k not in ("preset", "sites")} for d in (own, old)
            )
        yield from _differing(f"operators.{name}", old, own)


def _left_behind(before: Mapping[str, Any], section: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a change touches and a run leaves out: its results would be of another kind."""
    all_changed = (
        before["settings"] != section["settings"]
        or before.get("original_is_deterministic") != section["original_is_deterministic"]
    )
    changed_operators = {
        name
        for name in before["operators"]
        if all_changed or any(_changes_of(before, section, name))
    }
    changed_images = {
        (suite, path)
        for suite, images in before["suites"].items()
        for path, image in images.items()
        if all_changed or section["suites"].get(suite, {}).get(path, image) != image
    }
    for name, operator in before["operators"].items():
        if name in changed_operators or changed_images:
            own = section["operators"].get(name, {}).get("tags", ())
            yield from (f"{name} {tag}" for tag in operator["tags"] if tag not in own)
    for suite, images in before["suites"].items():
        for path in images:
            if (changed_operators or (suite, path) in changed_images) and (
                path not in section["suites"].get(suite, {})
            ):
                yield f"image '{suite}/{path}'"


def _differing(where: str, old: Any, new: Any) -> Iterator[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted({*old, *new}):
            yield from _differing(f"{where}.{key}", old.get(key), new.get(key))
    elif old != new:
        yield f"{where} was {_shown(old)}, is {_shown(new)}"


_SHA256 = re.compile(r'"[0-9a-f]{64}"')
_SHOWN = 4
"""Changes that are listed; further ones are counted."""


def _shown(value: Any) -> str:
    text = orjson.dumps(value).decode()
    if _SHA256.fullmatch(text):
        return f"{text[1:9]}..."
    return text if len(text) <= 60 else f"{text[:57]}..."


def _first(items: Sequence[str], between: str) -> str:
    more = f" and {len(items) - _SHOWN} more" if len(items) > _SHOWN else ""
    return f"{between.join(items[:_SHOWN])}{more}"
