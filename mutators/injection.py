"""Masks put on a model by forward hooks, and taken off again.

A detector of torchvision holds no dropout module, so nothing can be switched on: layers have to be
inserted. The model stays in eval mode, and only tensors that pass a site are touched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Protocol

from torch import Tensor, nn

from mutators.keys import MaskKey, RowKeys
from mutators.masks import Masked
from mutators.report import InjectionReport, SiteReport
from mutators.sites import Site
from scoring.errors import ConfigError


class Layer(Protocol):
    """What is inserted at a site: see `mutators.mutation.Mutation`."""

    @property
    def operator(self) -> str:
        """Name of the operator, as in a mask's key."""

    @property
    def tag(self) -> str:
        """Tag of the mutant, as in a mask's key."""

    @property
    def is_identity(self) -> bool:
        """Whether tensors pass unchanged, without a mask."""

    def perturb(self, x: Tensor, rows: RowKeys) -> Masked:
        """Return x under a mask."""


@contextmanager
def inject(model: nn.Module, sites: Sequence[Site], layer: Layer) -> Iterator[Injection]:
    """Return a context in which every forward of the model passes the layer at each site.

    On exit, also by an exception, the model's hooks are as they were. Classes, parameters,
    buffers and training flags are never touched.

    Args:
        model: In eval mode, every module of it.
        sites: As `resolve_sites` returns them.
        layer: What to insert.

    Raises:
        ConfigError: A module is in training mode, or a site needs a RoI pooling that the model
            does not have.
    """
    training = [name for name, module in model.named_modules() if module.training]
    if training:
        raise ConfigError(
            f"model: expected eval mode, but {len(training)} modules are in training mode "
            f"({training[0] or 'the model itself'} is one); call model.eval() first"
        )
    injection = Injection(sites, layer)
    with ExitStack() as hooks:
        for pool in dict.fromkeys(site.roi_pool for site in sites if site.roi_pool):
            counting = injection._counting_rois(pool)
            module = _submodule(model, pool)
            handle = module.register_forward_pre_hook(counting, with_kwargs=True)
            hooks.callback(handle.remove)
        for site in sites:
            module = _submodule(model, site.name)
            if site.at_input:
                handle = module.register_forward_pre_hook(injection._input_hook(site))
            else:
                handle = module.register_forward_hook(injection._output_hook(site))
            hooks.callback(handle.remove)
        yield injection


class Injection:
    """The masks on a model while a context is open.

    Args:
        sites: Where they are.
        layer: What they are.
    """

    def __init__(self, sites: Sequence[Site], layer: Layer) -> None:
        self.sites = tuple(sites)
        self._layer = layer
        self._image = ""
        self._passes: tuple[int, ...] = ()
        self._seed = 0
        self._roi_counts: dict[str, tuple[int, ...]] = {}  # of each pass, by name of the pooling
        self._calls = dict.fromkeys((site.label for site in sites), 0)
        self._tallies = {site.label: _Tally() for site in sites}

    def begin(self, image: str, passes: Sequence[int], seed: int) -> None:
        """Say what the next forward is: one call before each.

        Args:
            image: Path of the image relative to the campaign's root, with `/`.
            passes: Number of the pass that each row of the batch is.
            seed: Campaign seed.

        Raises:
            ConfigError: There is no pass.
        """
        if not passes:
            raise ConfigError("passes: expected the number of at least one pass, got none")
        self._image, self._passes, self._seed = image, tuple(passes), seed
        self._roi_counts = {}
        self._calls = dict.fromkeys(self._calls, 0)

    @property
    def calls(self) -> dict[str, int]:
        """How many tensors passed each site since the last `begin`, by site label."""
        return dict(self._calls)

    @property
    def uncalled(self) -> tuple[str, ...]:
        """Labels of the sites that no tensor has passed since the last `begin`."""
        return tuple(label for label, count in self._calls.items() if not count)

    @property
    def report(self) -> InjectionReport:
        """What the masks did since the context was opened."""
        return InjectionReport(
            tuple(tally.to_report(label) for label, tally in self._tallies.items())
        )

    def _output_hook(self, site: Site) -> Callable[[nn.Module, Any, Any], Any]:
        def hook(module: nn.Module, args: Any, output: Any) -> Any:
            return self._masked(site, output)

        return hook

    def _input_hook(self, site: Site) -> Callable[[nn.Module, Any], Any]:
        def hook(module: nn.Module, args: tuple[Any, ...]) -> Any:
            if not args:
                raise ConfigError(
                    f"site '{site.label}': the module is called with keyword arguments only; "
                    "choose the output of the module before it"
                )
            return (self._masked(site, args[0]), *args[1:])

        return hook

    def _counting_rois(
        self, pool: str
    ) -> Callable[[nn.Module, tuple[Any, ...], dict[str, Any]], None]:
        def count(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            boxes = args[1] if len(args) > 1 else kwargs["boxes"]
            self._roi_counts[pool] = tuple(len(of_pass) for of_pass in boxes)

        return count

    def _masked(self, site: Site, value: Any) -> Any:
        """Return the value with every tensor in it masked; containers are rebuilt."""
        if isinstance(value, Tensor):
            return self._masked_tensor(site, value)
        if isinstance(value, dict):
            masked = {key: self._masked(site, item) for key, item in value.items()}
            return type(value)(masked)
        if isinstance(value, list | tuple):
            items = [self._masked(site, item) for item in value]
            return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
        raise ConfigError(
            f"site '{site.label}': expected a tensor, or a list or dict of tensors, "
            f"got {type(value).__name__}"
        )

    def _masked_tensor(self, site: Site, x: Tensor) -> Tensor:
        if not self._passes:
            raise ConfigError("Injection.begin() must say which passes a forward is, before it")
        call = self._calls[site.label]
        self._calls[site.label] = call + 1
        tally = self._tallies[site.label]
        tally.calls += 1
        if self._layer.is_identity or not x.numel():
            return x
        try:
            masked = self._layer.perturb(x, self._row_keys(site, call, len(x)))
        except ConfigError as error:
            raise ConfigError(f"site '{site.label}', call {call}: {error}") from error
        tally.add(x, masked)
        return masked.output

    def _row_keys(self, site: Site, call: int, rows: int) -> RowKeys:
        halves = [
            MaskKey(
                seed=self._seed,
                image=self._image,
                operator=self._layer.operator,
                tag=self._layer.tag,
                t=t,
                site=site.label,
                call=call,
            ).halves()
            for t in self._passes
        ]
        pool = site.roi_pool
        counts = self._roi_counts.get(pool) if pool else (1,) * len(halves)
        if counts is None:
            raise ConfigError(f"its rows cannot be told apart: '{pool}' was not called before")
        if len(counts) != len(halves) or sum(counts) != rows:
            kind = "regions of interest" if pool else "images"
            raise ConfigError(
                f"expected {sum(counts)} rows ({kind}) of {len(halves)} passes, got {rows} rows; "
                "noise cannot enter here"
            )
        return RowKeys.for_rois(halves, counts)


class _Tally:
    """Running counts of one site; kept on the device, for reading them would wait for it."""

    def __init__(self) -> None:
        self.calls = 0
        self._masks = 0
        self._elements = 0
        self._dropped: Tensor | None = None
        self._empty: Tensor | None = None
        self._blocks: set[int] = set()

    def add(self, x: Tensor, masked: Masked) -> None:
        """Count one masked tensor."""
        self._masks += len(x)
        self._elements += x.numel()
        # Out of place: the counts may be inference tensors, which refuse `+=` outside that mode.
        self._dropped = masked.dropped if self._dropped is None else self._dropped + masked.dropped
        self._empty = masked.empty if self._empty is None else self._empty + masked.empty
        if masked.block is not None:
            self._blocks.add(masked.block)

    def to_report(self, label: str) -> SiteReport:
        """Return the counts as a value."""
        return SiteReport(
            site=label,
            calls=self.calls,
            masks=self._masks,
            elements=self._elements,
            dropped=0 if self._dropped is None else int(self._dropped),
            empty=0 if self._empty is None else int(self._empty),
            blocks=tuple(sorted(self._blocks)),
        )


def _submodule(model: nn.Module, name: str) -> nn.Module:
    try:
        return model.get_submodule(name)
    except AttributeError as error:
        raise ConfigError(f"sites: {type(model).__name__} has no module '{name}'") from error
