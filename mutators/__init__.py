"""What is perturbed: sites, masks and the operators that put masks on a detector."""

from mutators.density import block_density, effective_block, exact_density, expected_share
from mutators.dropblock import (
    DEFAULT_BLOCKS,
    DropBlockMutation,
    MCDropBlock,
    mc_dropblock,
    same_distribution,
)
from mutators.dropout import DEFAULT_RATES, DropoutMutation, MCDropout, mc_dropout
from mutators.injection import Injection
from mutators.keys import MaskKey, RowKeys
from mutators.masks import MASK_VERSION
from mutators.mutation import Identity, Mutant, Mutation, Operator
from mutators.presets import PRESETS, detector_family, family_presets
from mutators.registry import OPERATORS, get_operator, register_operator
from mutators.report import InjectionReport, SiteReport
from mutators.sites import Site, dropblock_sites, resolve_sites

__all__ = [
    "DEFAULT_BLOCKS",
    "DEFAULT_RATES",
    "MASK_VERSION",
    "OPERATORS",
    "PRESETS",
    "DropBlockMutation",
    "DropoutMutation",
    "Identity",
    "Injection",
    "InjectionReport",
    "MCDropBlock",
    "MCDropout",
    "MaskKey",
    "Mutant",
    "Mutation",
    "Operator",
    "RowKeys",
    "Site",
    "SiteReport",
    "block_density",
    "detector_family",
    "dropblock_sites",
    "effective_block",
    "exact_density",
    "expected_share",
    "family_presets",
    "get_operator",
    "mc_dropblock",
    "mc_dropout",
    "register_operator",
    "resolve_sites",
    "same_distribution",
]
