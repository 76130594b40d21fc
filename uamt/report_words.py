"""Words of a report: names of scores and measures, and what each term means."""

from __future__ import annotations

from collections.abc import Mapping

from scoring.rules import DEEPLUQ
from scoring.suites import KillRule
from uamt.object_names import MEASURE_NAMES

RULE_NAMES: Mapping[KillRule, str] = {"any": "any", "significant": "significant", "holm": "Holm"}

_OBJECT_NAMES = {
    "kill_rate_miss_mean": "objects missed",
    "kill_rate_ghost_mean": "objects ghosted",
    "kill_rate_miss_ghost_mean": "objects missed or ghosted (Obj-MS)",
}
_OTHER_NAMES = {
    "iou_mean": "overlap lost (MS_iou)",
    "match_rate": "match rate",
    "miss_rate": "miss rate",
    "ghost_rate": "ghost rate",
}

TERMS: Mapping[str, tuple[str, str]] = {
    "mutant": (
        "mutant",
        "A slightly worse copy of the detector: a share of its features (the rate) is zeroed at "
        "random in every pass, single ones by MC-Dropout, squares of a block size by MC-DropBlock. "
        "A tester wants images on which such a copy is noticed.",
    ),
    "pass": (
        "pass",
        "One run of a mutant over an image. There are T of them, each with another random mask.",
    ),
    "match": ("match", "Original and mutant find the same object: same class, overlap above .5."),
    "miss": ("miss", "The original finds an object that the mutant does not find in this pass."),
    "ghost": ("ghost", "The mutant finds an object that the original does not."),
    "kill": (
        "kill",
        "An image kills a mutant if the mutant's detections on it differ from the original's by a "
        "miss or a ghost: by rule any in one pass, by rule significant in more passes than chance "
        f"explains (p < .05; chance is granted {DEEPLUQ.null_rate:.0%} of passes), by rule Holm "
        "the same after correction for the number of images. A kill says that something changed, "
        "not that it got worse.",
    ),
    "kill-share": (
        "kill share",
        "The share of all pairs of an image and a mutant that are kills, with its 95% bootstrap "
        "interval over images. It still tells suites apart where Img-MS is 1 for all of them.",
    ),
    "img-ms": ("Img-MS", "The share of mutants that at least one image of the suite kills."),
    "obj-ms": (
        "Obj-MS",
        "The share of objects missed or ghosted, over passes, images, mutants: 0 where all match.",
    ),
    "ms-iou": (
        "MS_iou",
        "How much of their boxes' overlap matched objects lose; a pass that misses one counts as "
        "losing all of it; over objects, images, mutants. 0 if none moves or is missed.",
    ),
    "ua-ms": (
        "UA-MS",
        "15 uncertainty-aware mutation scores: how much five measures of uncertainty change under "
        "a mutant, for matched, missed and ghost objects; 0 where nothing changes. The largest is "
        "shown. Rate only: nothing of it is uncertainty, it says how often objects are missed, or "
        "ghosts are seen.",
    ),
    "mildest": ("mildest kill", "The smallest rate of a mutant that some image kills."),
    "saturated": (
        "saturated",
        "Img-MS is 1: some image kills every mutant, so that this score can rank nothing.",
    ),
    "trivial": ("killed by all", "A trivial mutant: every image kills it, so it ranks none."),
    "disputed": (
        "any only",
        "Some pass changes on some image, but in no more passes than chance explains.",
    ),
    "survivor": ("survivor", "A mutant that no image kills: the suite would not notice it."),
    "equivalent": ("equivalent", "A mutant that changes nothing on any image of the model."),
    "strict": (
        "rule set strict",
        "The definitions as documented, with 18 deviations of the published numbers (rule set "
        "deepluq) mended; its kills are corrected by Holm.",
    ),
    "uncertainty": (
        "uncertainty",
        "Of an object over the passes that find it: class variation (variation ratio, vr), the "
        "share of detections of another class than most; entropy (ie) and mutual information (mi) "
        "of the class vectors; box variance (var), the variances of the four coordinates, added "
        "up; box spread (ps), the perimeters around the places of the four corners (by rule set "
        "strict the areas), added up.",
    ),
}
"""Name and meaning of each term, by the id of its entry."""


def score_name(column: str) -> str:
    """Return what the page calls a score.

    Example:
        >>> score_name("[ghost] var_diff"), score_name("[match] iou_mean")
        ('ghosts: box variance', 'overlap lost (MS_iou)')
    """
    group, _, name = column.partition("] ")
    if name in _OBJECT_NAMES:
        return _OBJECT_NAMES[name]
    if name in _OTHER_NAMES:
        return _OTHER_NAMES[name]
    plural = {"[match": "matches", "[miss": "misses", "[ghost": "ghosts"}[group]
    return f"{plural}: {MEASURE_NAMES[name.removesuffix('_diff')]}"
