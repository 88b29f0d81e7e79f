"""Estimates with intervals, comparisons, and tests that say when they cannot be made.

Every score of the library is an `Estimate`: a value with its 95 % interval, the number of items and clusters behind it,
what was left out and why, and a signature in the manner of sacrebleu (Post 2018). Comparisons come as tables. Rates are
0..1. What is undefined carries a reason, and fewer than ten items are described, not tested.
"""

from factlab.stats.agreement import agreement, confusion, correlation, krippendorff_alpha, pearson_p
from factlab.stats.auroc import auroc
from factlab.stats.bland_altman import bland_altman
from factlab.stats.comparisons import compare, equivalence, holm, two_sample
from factlab.stats.estimates import Estimate, estimate, estimates_by, proportion
from factlab.stats.pairwise import against, all_pairs
from factlab.stats.resampling import signature
from factlab.stats.sampling import stratified_sample

__all__ = [
    "Estimate",
    "against",
    "agreement",
    "all_pairs",
    "auroc",
    "bland_altman",
    "compare",
    "confusion",
    "correlation",
    "equivalence",
    "estimate",
    "estimates_by",
    "holm",
    "krippendorff_alpha",
    "pearson_p",
    "proportion",
    "signature",
    "stratified_sample",
    "two_sample",
]
