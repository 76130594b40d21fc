"""Where noise enters: named modules of a detector, chosen by preset or by pattern.

`docs/sites.md` describes presets and patterns for readers.
"""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from torch import nn

from mutators.presets import PRESETS, detectors_within, family_presets, preset_patterns
from scoring.errors import ConfigError

_ROI_HEADS = re.compile(r"((?:.+\.)?roi_heads)\..+")
_ROI_POOL = "box_roi_pool"

_INPUT = "@in"


@dataclass(frozen=True, slots=True)
class Site:
    """A tensor that a mutation masks: a module's output, or its input.

    Args:
        name: Name of the module.
        at_input: Whether the module's first positional argument is meant, not its output.
        dims: Dimensions of its tensors where a preset tells; None for a pattern's site.
    """

    name: str
    at_input: bool = False
    dims: int | None = None

    @property
    def label(self) -> str:
        """The site as masks, reports and manifests write it: `NAME` or `NAME@in`."""
        return self.name + _INPUT if self.at_input else self.name

    @property
    def roi_pool(self) -> str | None:
        """Name of the module that pools its rows, which are regions of interest.

        None where a row is one image of the batch.
        """
        heads = _ROI_HEADS.fullmatch(self.name)
        pool = f"{heads[1]}.{_ROI_POOL}" if heads else None
        return None if self.at_input and self.name == pool else pool


def freeze_sites(sites: str | Sequence[str]) -> str | tuple[str, ...]:
    """Return the sites that were asked for as a hashable value."""
    return sites if isinstance(sites, str) else tuple(sites)


def resolve_sites(model: nn.Module, sites: str | Sequence[str]) -> list[Site]:
    """Return the sites that a preset or patterns mean in a model, in the model's own order.

    Args:
        model: Any model; a preset needs one that is, or holds just one, detector of torchvision's
            families.
        sites: Name of a preset, or one pattern, or a sequence of patterns. In a pattern `*`
            stands within one name segment, `**` for any number of segments, `{a,b}` for either
            text, and a final `@in` for the module's input.

    Raises:
        ConfigError: The model has no such detector or several, the family lacks the preset, a
            pattern matches no module, or a site lies inside another one.

    Source:
        docs/sites.md.
    """
    if isinstance(sites, str) and sites in PRESETS:
        name, detector = _detector_of(model, sites)
        found = _resolve(detector, preset_patterns(detector, sites))
        return [replace(site, name=f"{name}.{site.name}") for site in found] if name else found
    patterns = [sites] if isinstance(sites, str) else sites
    if not patterns:
        raise ConfigError(f"sites: expected a preset or a pattern, got none; {_advice(model, '')}")
    return _resolve(model, [(pattern, None) for pattern in patterns])


def _resolve(model: nn.Module, wanted: Sequence[tuple[str, int | None]]) -> list[Site]:
    """Return the sites of patterns, each with the dimensions that are known of its tensors."""
    found: dict[Site, None] = {}
    for pattern, dims in wanted:
        matches = list(_match(model, pattern, dims))
        if not matches:
            alone = " (a preset is given alone, not in a list)" if pattern in PRESETS else ""
            raise ConfigError(
                f"sites: '{pattern}' matches no module of {type(model).__name__}{alone}; "
                f"{_advice(model, pattern)}"
            )
        found.update(dict.fromkeys(matches))
    place = {name: i for i, name in enumerate(_module_names(model))}
    ordered = sorted(found, key=lambda site: (place[site.name], not site.at_input))
    _refuse_nested(ordered)
    return ordered


def dropblock_sites(model: nn.Module, sites: str | Sequence[str]) -> list[Site]:
    """Return the sites that DropBlock masks: those that are not known to be two-dimensional.

    An empty list means that the preset has fully connected sites only, so that a sweep of all
    operators leaves DropBlock out. A pattern's sites are kept: what leaves them is seen when
    the model runs.

    Args:
        model: As for `resolve_sites`.
        sites: As for `resolve_sites`.

    Raises:
        ConfigError: As for `resolve_sites`.
    """
    return [site for site in resolve_sites(model, sites) if site.dims in (None, 4)]


def _module_names(model: nn.Module) -> list[str]:
    """Return the names of the modules that can be called; a list of modules has no forward."""
    return [
        name
        for name, module in model.named_modules()
        if name and type(module).forward is not nn.Module.forward
    ]


def _match(model: nn.Module, pattern: str, dims: int | None) -> Iterator[Site]:
    module_pattern = pattern.removesuffix(_INPUT)
    if module_pattern.endswith(".<last>"):
        parent = module_pattern.removesuffix(".<last>")
        children = [n for n in _module_names(model) if n.rpartition(".")[0] == parent]
        matches = children[-1:]
    else:
        expression = re.compile(_regular_expression(module_pattern))
        matches = [name for name in _module_names(model) if expression.fullmatch(name)]
    for name in matches:
        yield Site(name, pattern.endswith(_INPUT), dims)


def _regular_expression(pattern: str) -> str:
    """Return the regular expression of a pattern."""
    parts = []
    for token in re.split(r"(\*\*\.|\.\*\*$|\*\*|\*|\{[^{}]*\})", pattern):
        if token == "**.":
            parts.append(r"(?:[^.]+\.)*")
        elif token == ".**":
            parts.append(r"(?:\.[^.]+)+")
        elif token == "**":
            parts.append(r".+")
        elif token == "*":
            parts.append(r"[^.]*")
        elif token.startswith("{"):
            parts.append("(?:" + "|".join(map(re.escape, token[1:-1].split(","))) + ")")
        else:
            parts.append(re.escape(token))
    return "".join(parts)


def _refuse_nested(sites: Sequence[Site]) -> None:
    for outer in sites:
        for inner in sites:
            if inner.name.startswith(outer.name + "."):
                raise ConfigError(
                    f"sites: '{inner.label}' lies inside '{outer.label}'; "
                    "a pass may mask only one of them"
                )


def _detector_of(model: nn.Module, preset: str) -> tuple[str, nn.Module]:
    """Return the one torchvision detector that a model is or holds, and its name in the model."""
    within = detectors_within(model)
    if len(within) == 1:
        return next(iter(within.items()))
    has = f"holds {len(within)} of them ({', '.join(within)})" if within else "holds none"
    served = _weighted(model)
    maps = [name for name in served if isinstance(model.get_submodule(name), nn.Conv2d)]
    example = f"such as --sites {shlex.quote((maps or served)[-1])} " if served else ""
    raise ConfigError(
        f"sites: preset '{preset}' needs one FasterRCNN, RetinaNet, FCOS or SSD of torchvision, as "
        f"the model or within it; {type(model).__name__} {has}; name modules with --sites instead, "
        f"{example}(docs/sites.md); {_advice(model, '')}"
    )


def _weighted(model: nn.Module) -> list[str]:
    return [
        name
        for name, module in model.named_modules()
        if name and next(module.parameters(recurse=False), None) is not None
    ]


def _advice(model: nn.Module, pattern: str) -> str:
    """Return what could be written instead: the family's presets and modules that could serve."""
    weighted = _weighted(model)
    near = difflib.get_close_matches(pattern, weighted, n=8, cutoff=0.3) or weighted[-8:]
    presets = family_presets(model)
    return (
        f"presets: {', '.join(presets) or 'none for this class'}; "
        f"modules that could serve: {', '.join(near) or 'none, it has no layer'}"
    )
