"""What masks did to a model: counts per site."""

from __future__ import annotations

from dataclasses import dataclass

from scoring.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteReport:
    """Counts of one site.

    Args:
        site: Its label.
        calls: Tensors that passed it.
        masks: Samples (rows of those tensors) for which a mask was drawn.
        elements: Elements of those samples.
        dropped: Elements dropped.
        empty: Samples that kept nothing.
        blocks: Effective block sizes seen, ascending; empty for an element-wise mask.
    """

    site: str
    calls: int
    masks: int
    elements: int
    dropped: int
    empty: int
    blocks: tuple[int, ...]

    def __add__(self, other: SiteReport) -> SiteReport:
        """Return the counts of both reports of this site."""
        return SiteReport(
            site=self.site,
            calls=self.calls + other.calls,
            masks=self.masks + other.masks,
            elements=self.elements + other.elements,
            dropped=self.dropped + other.dropped,
            empty=self.empty + other.empty,
            blocks=tuple(sorted({*self.blocks, *other.blocks})),
        )


@dataclass(frozen=True, slots=True)
class InjectionReport:
    """Counts of every site of one mutant.

    Args:
        sites: One report per site, in the order of the sites.
    """

    sites: tuple[SiteReport, ...]

    @property
    def masks(self) -> int:
        """Masks drawn at all sites; 0 at a rate above 0 means that nothing was mutated."""
        return sum(site.masks for site in self.sites)

    @property
    def empty(self) -> int:
        """Samples that kept nothing, at all sites."""
        return sum(site.empty for site in self.sites)

    @property
    def uncalled(self) -> tuple[str, ...]:
        """Labels of the sites that no tensor passed at all."""
        return tuple(site.site for site in self.sites if not site.calls)

    def __add__(self, other: InjectionReport) -> InjectionReport:
        """Return the counts of both reports, of one mutant on different images.

        Raises:
            ConfigError: The reports are not of the same sites.
        """
        here, there = ([site.site for site in report.sites] for report in (self, other))
        if here != there:
            raise ConfigError(f"reports: expected the sites {here}, got {there}")
        return InjectionReport(tuple(a + b for a, b in zip(self.sites, other.sites, strict=True)))
