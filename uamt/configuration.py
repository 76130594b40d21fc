"""The configuration of a run: options from a file and from flags, resolved and saved."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scoring.errors import ConfigError
from scoring.files import remove_leftovers, write_atomic
from uamt.image_sources import merged_note
from uamt.options import BY_KEY, OPTIONS, read_experiment_file

if TYPE_CHECKING:
    from mutators import Operator
    from runners.campaign import Campaign
    from runners.detectors import Detector
    from runners.ray_engine import RayOptions


_NOT_SAVED = ("operators", "redo_changed", "shard", "engine", "address", "gpu_fraction")
"""What is saved otherwise, or is said of one run of an experiment and not of the experiment."""


def resolve(file: Path | None, flags: Mapping[str, Any]) -> dict[str, Any]:
    """Return every option's value: a flag wins over the file, the file over the default.

    Args:
        file: An `experiment.toml`, or None.
        flags: Values by dotted key, those that were given.

    Raises:
        ConfigError: A key or value is wrong, or model or images are not named.
        DataError: The file is missing.
    """
    from_file = read_experiment_file(file) if file else {}
    values = {option.key: option.default for option in OPTIONS} | from_file | dict(flags)
    for key, value in values.items():
        if any(0xD800 <= ord(c) < 0xE000 for c in _texts(value)):
            raise ConfigError(
                f"{BY_KEY[key].flag}: expected text in UTF-8, got {value!a}; rename what it "
                f"names, or set a locale of UTF-8 (LC_ALL=C.UTF-8)"
            )
        if key.endswith(".rates"):
            _refuse_rates(BY_KEY[key].flag, value or ())
    if not values["model.name"]:
        raise ConfigError("expected a model: --model NAME, or name in [model] of the file")
    has_named_suites = isinstance(values["suites"], Mapping)
    if has_named_suites == bool(values["images"]):
        raise ConfigError(
            "expected images: either --images SOURCE, or --suites NAME=SOURCE for each suite"
        )
    if values["kill_rule"] != BY_KEY["kill_rule"].default and not values["curtail"]:
        raise ConfigError("--kill-rule: expected --curtail, which it says how to settle")
    return values


def _refuse_rates(flag: str, rates: Sequence[float]) -> None:
    for rate in rates:
        if not 0 <= rate < 1:
            meant = f"; {rate:g} % is {rate / 100:g}" if 1 < rate < 100 else ""
            raise ConfigError(
                f"{flag}: expected shares of 0 or more and below 1, got {rate:g}{meant}"
            )


def _texts(value: Any) -> str:
    """Return all texts of an option's value as one."""
    if isinstance(value, Mapping):
        value = [*value, *value.values()]
    return "".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def load(values: Mapping[str, Any]) -> Detector:
    """Return the detector of a resolved configuration."""
    from runners.architectures import parse_model_args
    from runners.detectors import load_detector

    here = str(Path.cwd())
    if ":" in values["model.name"] and here not in sys.path:
        # A module beside the experiment is found as by `python -m`; installed ones come first.
        sys.path.append(here)

    # Text is read as the literal that it is, so that a file can say what TOML cannot, such as None.
    args = values["model.args"] or {}
    texts = parse_model_args([f"{k}={v}" for k, v in args.items() if isinstance(v, str)])
    return load_detector(
        values["model.name"],
        values["model.weights"],
        model_args={**args, **texts},
        device=values["model.device"],
        name=values["model.folder"],
        one_hot=values["model.one_hot"],
        n_classes=values["model.n_classes"],
        seed=values["seed"],
    )


def campaign(values: Mapping[str, Any], detector: Detector) -> tuple[Campaign, list[str]]:
    """Return the campaign of a resolved configuration, and notes on what may not be meant."""
    from runners.campaign import Campaign
    from runners.images import list_suites
    from runners.settings import Settings
    from runners.shards import Shard

    named = isinstance(values["suites"], Mapping)
    operators, notes = _operators(values, detector)
    built = Campaign(
        detector=detector,
        suites=list_suites(
            values["suites"] if named else values["images"],
            names=values["names"],
            suites="one" if named else values["suites"],
            image_root=values["image_root"],
        ),
        operators=operators,
        settings=Settings(
            **{name: values[name] for name in ("passes", "seed", "score_threshold", "classes")},
            **{name: values[name] for name in ("chunk", "threads", "precision")},
            **{name: values[name] for name in ("curtail", "kill_rule", "curtail_mutants")},
        ),
        root=Path(values["out"]),
        on_error=values["on_error"],
        use_memo=not values["no_memo"],
        shard=Shard.parse(values["shard"]) if values["shard"] else Shard(),
    )
    if not named and values["suites"] == "one":
        (images,) = built.suites.values()
        if note := merged_note(Path(values["images"]), images):
            notes.append(note)
    return built, notes


def ray_options(values: Mapping[str, Any]) -> RayOptions | None:
    """Return how a resolved configuration uses Ray, or None if it does not.

    Raises:
        ConfigError: Ray's options are given and Ray is not the engine, or one is out of range.
    """
    from uamt.experiments import ray_options as of_engine

    return of_engine(values["engine"], values["address"], values["gpu_fraction"])


def _operators(values: Mapping[str, Any], detector: Detector) -> tuple[list[Operator], list[str]]:
    from mutators import get_operator
    from uamt.experiments import fitting

    wanted = values["operators"]
    built = []
    for name in wanted or ("mc_dropout", "mc_dropblock"):
        prefix = f"operators.{name}."
        options = {
            key.removeprefix(prefix): values[key]
            for key in BY_KEY
            if key.startswith(prefix) and values[key] is not None
        }
        built.append(get_operator(name)(sites=values["sites"], **options))  # type: ignore[call-arg]
    return (built, []) if wanted else fitting(detector, built)


def save(values: Mapping[str, Any], campaign: Campaign) -> Path:
    """Write the resolved configuration beside the results and return its path.

    `uamt run` with this file alone, from the same folder, runs the same experiment: rates and
    blocks of earlier runs stand there too, where all of them together are one sweep.
    """
    import tomli_w

    from runners.locks import folder_locked
    from runners.manifest_file import read_manifest

    tree: dict[str, Any] = {}
    for key, value in values.items():
        if value is None or key.split(".")[0] in _NOT_SAVED:
            continue
        *above, last = key.split(".")
        place = tree
        for name in above:
            place = place.setdefault(name, {})
        place[last] = list(value) if isinstance(value, tuple) else value
    model = read_manifest(campaign.root)["models"][campaign.detector.name]
    tree["operators"] = {
        operator.name: _with_earlier(_numbers_of(operator), model["operators"][operator.name])
        for operator in campaign.operators
    }
    path = saved_path(campaign.root, campaign.detector.name)
    with folder_locked(campaign.root):
        remove_leftovers(path)
        write_atomic(path, tomli_w.dumps(tree).encode())
    return path


def _with_earlier(numbers: dict[str, Any], listed: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of an operator with the rates and blocks that its manifest lists.

    Args:
        numbers: As `_numbers_of` returns them.
        listed: What the manifest holds of the operator.

    Example:
        >>> _with_earlier({"rates": [0.2]}, {"tags": ["0.1", "0.2"]})
        {'rates': [0.1, 0.2]}
        >>> _with_earlier({"rates": [0.2], "blocks": [3]}, {"tags": ["0.1_5", "0.2_3"]})
        {'rates': [0.2], 'blocks': [3]}
    """
    parts = [tag.split("_") for tag in listed["tags"]]
    rates = sorted({float(part[0]) for part in parts})
    if "blocks" not in numbers:
        return numbers | {"rates": rates}
    blocks = sorted({int(part[1]) for part in parts})
    is_sweep = len(parts) == len(rates) * len(blocks)
    return numbers | ({"rates": rates, "blocks": blocks} if is_sweep else {})


def saved_path(root: Path, model: str) -> Path:
    """Return where the configuration of a model's last run stands."""
    return root / f"experiment_{model}.toml"


def _numbers_of(operator: Operator) -> dict[str, Any]:
    """Return the options of an operator as an experiment file writes them."""
    prefix = f"operators.{operator.name}."
    numbers = {}
    for name in (key.removeprefix(prefix) for key in BY_KEY if key.startswith(prefix)):
        value = getattr(operator, name)
        is_rates = name == "rates"
        numbers[name] = [float(rate) for rate in value] if is_rates else value
    return {k: list(v) if isinstance(v, tuple) else v for k, v in numbers.items()}
