"""torchvision's detection builders: their names, weights, arguments, and building one."""

from __future__ import annotations

import ast
import difflib
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
import torchvision
from torch import nn
from torchvision.models import WeightsEnum, get_model_builder, get_model_weights, list_models
from torchvision.models.detection.transform import GeneralizedRCNNTransform

from scoring.errors import ConfigError, DataError

ModelArgs = Mapping[str, Any]

# Set by load_detector itself: weights have an option of their own, and nothing is downloaded
# that the weights of the whole detector overwrite at once.
_RESERVED_ARGS = frozenset({"weights", "weights_backbone", "progress", "pretrained"})


def builder_names() -> list[str]:
    """Return the names of all detection builders of the installed torchvision."""
    names: list[str] = list_models(module=torchvision.models.detection)
    return names


def fitting_builders(names: Iterable[str]) -> list[str]:
    """Return the builders whose models have these parameters and buffers, whatever their shapes.

    Args:
        names: Names as in a state_dict; counters of batches, which only training reads, are not
            looked at.
    """
    wanted = {name for name in names if not name.endswith("num_batches_tracked")}
    fitting = []
    for name in builder_names():
        with torch.device("meta"):  # shapes without numbers
            model = get_model_builder(name)(weights=None, weights_backbone=None)
        own = {key for key in model.state_dict() if not key.endswith("num_batches_tracked")}
        if own == wanted:
            fitting.append(name)
    return fitting


def unknown_model(name: str, known: Sequence[str]) -> ConfigError:
    """Return the error for a model that nobody knows, with the nearest names."""
    file = Path(name)
    if file.suffix == ".py" or Path(f"{name}.py").is_file():
        module = ".".join(file.with_name(file.name.removesuffix(".py")).parts)
        return ConfigError(
            f"model {name!r}: did you mean {module}:FUNCTION? FUNCTION is the one in that file "
            f"that returns the model"
        )
    if file.is_dir():
        return ConfigError(
            f"model {name!r}: expected a detector, got a folder; images are given with --images"
        )
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.4)
    return ConfigError(
        f"model {name!r}: no such detector; "
        f"{'nearest: ' + ', '.join(near) if near else 'known: ' + ', '.join(known)}; "
        f"or name a function that returns one, as package.module:function"
    )


def parse_model_args(args: ModelArgs | Sequence[str] | None) -> dict[str, Any]:
    """Return keyword arguments of a builder from `key=value` strings, or from a mapping as it is.

    Values are read as Python literals (`3`, `0.05`, `True`, `None`, `(1, 2)`), or else as text.

    Raises:
        ConfigError: A string is not `key=value`, a key comes twice, or is not for here.

    Example:
        >>> parse_model_args(["num_classes=3", "min_size=320", "note=a b"])
        {'num_classes': 3, 'min_size': 320, 'note': 'a b'}
    """
    if args is None:
        return {}
    parsed: dict[str, Any] = {}
    pairs = args.items() if isinstance(args, Mapping) else map(_split_arg, args)
    for key, value in pairs:
        if key in _RESERVED_ARGS:
            raise ConfigError(f"--model-arg {key}: not an argument of the model; use --weights")
        if key in parsed:
            raise ConfigError(f"--model-arg {key}: expected once, got it twice")
        parsed[key] = value
    return parsed


_LONGEST_LITERAL = 10_000
"""Characters; the parser of longer nested ones could exhaust the stack."""


def _split_arg(text: str) -> tuple[str, Any]:
    key, equals, value = text.partition("=")
    key = key.strip()
    if not equals or not key.isidentifier():
        raise ConfigError(
            f"--model-arg {text!r}: expected key=value, for instance num_classes=3 or min_size=320"
        )
    value = value.strip()
    if len(value) > _LONGEST_LITERAL:
        return key, value
    try:
        return key, ast.literal_eval(value)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return key, value


@contextmanager
def drawn_from(seed: int) -> Iterator[None]:
    """Give torch's CPU generator this seed inside, and its own state back afterwards."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        yield


def build(
    name: str, model_args: ModelArgs, *, seed: int, weights: WeightsEnum | None = None
) -> nn.Module:
    """Return torchvision's detector of this name, with random weights or those of the enum.

    Args:
        name: A name of `builder_names()`.
        model_args: Keyword arguments of the builder.
        seed: Seed of random weights; the global generator is left as it was.
        weights: Published weights, downloaded once by torchvision.

    Raises:
        ConfigError: The builder does not take the arguments.
        DataError: The weights cannot be downloaded, or came broken.
    """
    builder = get_model_builder(name)
    try:
        with drawn_from(seed):
            model: nn.Module = builder(
                weights=weights, weights_backbone=None, progress=False, **model_args
            )
    except OSError as error:
        if weights is None:
            raise
        raise DataError(
            f"weights {weights}: expected to download {weights.url}, got: {error}; fetch the file "
            f"on another machine and pass it as --weights FILE"
        ) from error
    except (TypeError, ValueError, RuntimeError) as error:
        if weights is not None and "invalid hash" in str(error):
            raise DataError(
                f"weights {weights}: the download came broken ({error}); delete it from torch's "
                f"cache and run again"
            ) from error
        shown = ", ".join(f"{key}={value!r}" for key, value in model_args.items())
        raise ConfigError(f"model {name}: does not take ({shown}): {error}") from error
    # torchvision swallows what it does not know: a mistyped argument would change nothing.
    known = _argument_names(builder, model)
    for key in model_args:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=3)
            raise ConfigError(
                f"model {name}: does not take ({key}=...); "
                f"{'nearest: ' + ', '.join(near) if near else 'known: ' + ', '.join(known)}"
            )
    return model


def _argument_names(builder: Callable[..., Any], model: nn.Module) -> list[str]:
    classes = [c for c in type(model).__mro__ if issubclass(c, nn.Module) and c is not nn.Module]
    makers = [builder, GeneralizedRCNNTransform, *classes]
    names = {name for maker in makers for name in inspect.signature(maker).parameters}
    return sorted(names - _RESERVED_ARGS - {"kwargs", "backbone"})


def find_weights(name: str, weights: str) -> WeightsEnum | None:
    """Return the member of the builder's weights enum that is meant, or None if none is.

    Args:
        name: A name of `builder_names()`.
        weights: A member (`DEFAULT`, `COCO_V1`) or the dotted name of one
            (`FCOS_ResNet50_FPN_Weights.COCO_V1`).

    Raises:
        ConfigError: It is a dotted name of another builder's enum, or of no member.
    """
    enum = get_model_weights(name)
    enum_name, dot, member = weights.rpartition(".")
    if dot and enum_name.endswith("_Weights") and enum_name != enum.__name__:
        raise ConfigError(
            f"weights {weights!r}: expected weights of {name}, which are "
            f"{', '.join(map(str, enum))}"
        )
    if enum_name == enum.__name__ and member not in enum.__members__:
        raise unknown_weights(name, weights)
    return enum.__members__.get(member if enum_name == enum.__name__ else weights)


def unknown_weights(name: str, weights: str) -> ConfigError:
    """Return the error for weights that are neither a member of the enum nor a file."""
    members = get_model_weights(name).__members__
    return ConfigError(
        f"weights {weights!r}: expected one of {', '.join(members)} for {name}, or a file that "
        f"holds a state_dict; there is neither"
    )


def published_weights(name: str, sha256: str) -> WeightsEnum | None:
    """Return the enum member whose published file this is, by the hash in its file name."""
    for member in get_model_weights(name):
        if sha256.startswith(member.url.rpartition("-")[2].removesuffix(".pth")):
            return member
    return None
