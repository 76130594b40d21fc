"""Rules: the frozen value that says which definition each number follows."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Literal, Self, get_args, get_origin, get_type_hints

from scoring.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Rules:
    """Every choice behind the scores, in one place.

    The first 18 choices are where the two rule sets differ; each is one row of the table in
    docs/rules.md, published choice first. They can be mixed.

    Args:
        name: What the summaries call this rule set.
        matching: Assign by overlap alone and drop pairs of two classes afterwards, or let only
            allowed pairs compete. `"allowed_pairs"` also sorts detections and leaves out boxes
            without area.
        original_objects: An original object is its box to four decimals, or is tracked over the
            original's passes.
        ghost_objects: A ghost object is a cluster of overlapping ghosts of all passes, or is
            tracked over the passes.
        ghost_entropy: Of a ghost's detections: summed, or of their mean vector.
        ghost_ratio: Ghosts among all of match, miss and ghost, or among what the mutant found.
        overlap_loss: 1 - rate x IoU averaged over objects, or 1 - IoU averaged over pairs.
        surface: Perimeter or area of the hulls.
        box_scale: Box measures in pixels, or in units of the object's area.
        original_uncertainty: Of one vector as if repeated, or of the original's own passes.
        difference: Of matches: the mutant's side weighed by the rate, or the measures alone.
        entropy: With 1e-15 added and rounded to five decimals, or exact.
        class_vectors: Divided by their sum whatever they are, or read as the model's `scores` say.
        argmax: Of normalised vectors in single precision, or of raw ones in double.
        nothing: An average over nothing is 0, or NaN where it has no true value.
        rate_mean: Rates average over the objects that occur in the set, or over all originals.
        kill: A mutant dies by one changed pass, or by a test with Holm's correction.
        noise_floor: p0 is `null_rate`, or measured by an identity mutant if the original flickers.
        equivalence: No mutant is equivalent, or those that change nothing are.
        scores: What the class vectors are, for `class_vectors="declared"`.
        iou_threshold: A pair matches only above it (strictly), 0 to 1.
        null_rate: p0 of the binomial test: the share of passes that chance alone may change.
        alpha: A kill is significant below this level.
        binomial_n: Number of trials of the binomial test; None means the number of passes T. The
            reference implementation fixes 10 whatever T is.
        nonfinite: A NaN or infinity in a box, score or class vector is refused by name
            (`"refuse"`), kept and compared as the reference does (`"keep"`), or its pass is left
            out on both sides (`"skip"`).

    Raises:
        ConfigError: A value lies outside its range or is none of the choices.

    Source: scoring.md, section 3.
    """

    name: str = "deepluq"
    matching: Literal["overlap_then_filter", "allowed_pairs"] = "overlap_then_filter"
    original_objects: Literal["rounded_box", "tracked"] = "rounded_box"
    ghost_objects: Literal["clusters", "tracked"] = "clusters"
    ghost_entropy: Literal["sum", "mean_vector"] = "sum"
    ghost_ratio: Literal["of_all", "of_found"] = "of_all"
    overlap_loss: Literal["per_object", "per_pair"] = "per_object"
    surface: Literal["perimeter", "area"] = "perimeter"
    box_scale: Literal["pixels", "object_area"] = "pixels"
    original_uncertainty: Literal["one_vector", "own_passes"] = "one_vector"
    difference: Literal["rate_weighted", "measures"] = "rate_weighted"
    entropy: Literal["rounded", "exact"] = "rounded"
    class_vectors: Literal["divided", "declared"] = "divided"
    argmax: Literal["float32", "float64"] = "float32"
    nothing: Literal["zero", "nan"] = "zero"
    rate_mean: Literal["occurring", "all_originals"] = "occurring"
    kill: Literal["any", "holm"] = "any"
    noise_floor: Literal["fixed", "measured"] = "fixed"
    equivalence: Literal["never", "compared"] = "never"
    scores: Literal["softmax", "sigmoid"] = "softmax"
    iou_threshold: float = 0.5
    null_rate: float = 0.01
    alpha: float = 0.05
    binomial_n: int | None = None
    nonfinite: Literal["refuse", "keep", "skip"] = "refuse"

    def __post_init__(self) -> None:
        for field in ("iou_threshold", "null_rate", "alpha"):
            value = getattr(self, field)
            if not 0 <= value <= 1:
                raise ConfigError(f"rules: {field} must lie in 0..1, got {value!r}")
        if self.binomial_n is not None and self.binomial_n < 1:
            raise ConfigError(f"rules: binomial_n must be at least 1, got {self.binomial_n!r}")
        for field, choices in _CHOICES.items():
            value = getattr(self, field)
            if value not in choices:
                raise ConfigError(f"rules: {field} must be {' or '.join(choices)}, got {value!r}")

    def with_(self, **changes: object) -> Self:
        """Return the same rules with these fields changed."""
        return replace(self, **changes)  # type: ignore[arg-type]


_CHOICES: dict[str, tuple[str, ...]] = {
    name: get_args(hint)
    for name, hint in get_type_hints(Rules).items()
    if get_origin(hint) is Literal
}

DEEPLUQ = Rules()
"""The numbers that `deepluq.metrics_mut` and the UAMTERS study publish."""

DIFFERING = tuple(field.name for field in fields(Rules))[1:19]
"""The 18 fields in which the rule sets differ, in the order of the table in docs/rules.md."""

STRICT = Rules(name="strict", **{name: _CHOICES[name][1] for name in DIFFERING})  # type: ignore[arg-type]
"""The definitions as documented, with every known deviation mended."""

_BY_NAME = {rules.name: rules for rules in (DEEPLUQ, STRICT)}


def rules_named(name: str) -> Rules:
    """Return a rule set by its name.

    Raises:
        ConfigError: There is none of this name.

    Example:
        >>> rules_named("strict").entropy
        'exact'
    """
    if name not in _BY_NAME:
        raise ConfigError(f"rules: expected one of {', '.join(_BY_NAME)}, got {name!r}")
    return _BY_NAME[name]
