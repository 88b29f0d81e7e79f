"""How well a score tells two classes apart: the area under the ROC curve, with its interval.

A judge's probabilities against labels, a confidence against right and wrong, the similarities of passages that mean the
same against those of passages that do not (CheckEmbed, section 4.1).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from factlab.stats import resampling
from factlab.stats.estimates import Estimate
from factlab.stats.resampling import FEW, signature

if TYPE_CHECKING:
    import pandas as pd


def auroc(
    positive: ArrayLike | pd.Series,
    scores: ArrayLike | pd.Series,
    clusters: ArrayLike | pd.Series | None = None,
    *,
    level: float = 0.95,
    unit: str = "items",
    classes: tuple[str, str] = ("positive", "negative"),
    counts: Mapping[str, int] | None = None,
) -> Estimate:
    """Probability that a positive item has a higher score than a negative one, ties counting half.

    Parameters
    ----------
    positive : (n,) array of bool
        The class of each item.
    scores : (n,) array
        Any scale; only their order counts. Items without a score (None, NaN) are left out and counted.
    clusters : (n,) array, optional
        What the items were drawn from; the variance is then that of clusters.
    level : float
        Confidence level.
    unit, classes : str, (str, str)
        What the items and the two classes are called where the result has a reason.
    counts : dict of str to int, optional
        Items that are not among the scores, by status.

    Returns
    -------
    Estimate
        In [0, 1]; 0.5: the score says nothing. Undefined unless there are items of both classes.

    Raises
    ------
    ValueError
        If the lengths differ, a class is missing or a score is no number.

    Notes
    -----
    DeLong, DeLong and Clarke-Pearson (1988, Biometrics 44:837), on the logit scale, so that the limits stay in [0, 1];
    with clusters the variance of Obuchowski (1997, Biometrics 53:567). That variance is 0 where the classes do not
    overlap (area 0 or 1). Items can then be matched into min(n₊, n₋) pairs that share none, each of which came out the
    same way, and Wilson's interval for so many trials is given: wide, but not without width. With clusters the pairs
    share no cluster: there are as many as the rarer class has clusters, at most half of all.
    """
    if not 0 < level < 1:
        raise ValueError(f"level: expected a share between 0 and 1, got {level}")
    import pandas as pd

    positive, scores = resampling.column(positive, "positive"), resampling.column(scores, "scores")
    resampling.check_pairs(positive, scores, ("positive", "scores"))
    labels = np.asarray(positive, dtype=object)
    if (absent := pd.isna(labels)).any():
        raise ValueError(f"positive, row {int(absent.argmax())}: no class; leave the item out first")
    labels, x = labels.astype(bool), resampling.numbers(scores, "scores")
    kept = ~np.isnan(x)
    codes, groups = resampling.cluster_codes(clusters, kept)
    x, labels, left = x[kept], labels[kept], dict(counts or {})
    if not kept.all():
        left["undefined"] = left.get("undefined", 0) + int((~kept).sum())
    common = {"level": level, "unit": unit, "n": len(x), "clusters": groups, "counts": left}
    m, k = int(labels.sum()), int((~labels).sum())
    made = {"positive": m, "negative": k, "clusters": groups}
    if not m or not k:
        reason = f"the {unit} are not both {classes[0]} and {classes[1]}"
        return Estimate(None, reason=reason, signature=signature("auroc", **made), **common)

    from scipy.stats import norm, rankdata

    # Share of the other class below each item (ties half): DeLong's structural components, from ranks (Sun and Xu
    # 2014).
    ranks = rankdata(x)
    above = np.empty(len(x))
    above[labels] = (ranks[labels] - rankdata(x[labels])) / k
    above[~labels] = 1 - (ranks[~labels] - rankdata(x[~labels])) / m
    value = float(above[labels].mean())
    with_positive, with_negative = len(set(codes[labels])), len(set(codes[~labels]))
    few = min(with_positive, with_negative)
    if value in (0.0, 1.0):
        pairs = min(few, (int(codes.max()) + 1) // 2)
        if pairs < 2:
            return Estimate(value, reason=f"too few {unit}", signature=signature("auroc", **made), **common)
        low, high = resampling.wilson(value * pairs, pairs, level)
        method, reason = f"Wilson, {pairs} pairs", "the two classes do not overlap"
        made = signature("auroc", **made, interval="wilson")
        return Estimate(value, low, high, method=method, reason=reason, signature=made, **common)
    variance = _variance(above - value, labels, codes, one_each=groups is None)
    if not variance > 0:  # also where it is not a number
        return Estimate(value, reason=f"too few {unit}", signature=signature("auroc", **made), **common)
    reach = norm.ppf((1 + level) / 2) * math.sqrt(variance) / (value * (1 - value))
    low, high = (1 / (1 + math.exp(-(math.log(value / (1 - value)) + s * reach))) for s in (-1, 1))
    rarer = classes[0] if with_positive <= with_negative else classes[1]
    what = unit if groups is None else f"clusters with {unit}"
    reason = f"only {few} {rarer} {what}: the interval is likely too narrow" if few < FEW else ""
    made = signature("auroc", **made, interval="delong-logit")
    return Estimate(value, low, high, method="DeLong, logit", reason=reason, signature=made, **common)


def _variance(excess: np.ndarray, positive: np.ndarray, codes: np.ndarray, one_each: bool) -> float:
    """Variance of the AUROC from the components' deviations, summed by cluster (Obuchowski 1997, equations 3 to 6)."""
    m, k = int(positive.sum()), int((~positive).sum())
    size = int(codes.max()) + 1
    true = np.bincount(codes[positive], weights=excess[positive], minlength=size)
    false = np.bincount(codes[~positive], weights=excess[~positive], minlength=size)
    with_true, with_false = len(set(codes[positive])), len(set(codes[~positive]))
    if with_true < 2 or with_false < 2:
        return math.nan
    variance = with_true / (with_true - 1) * (true**2).sum() / m**2
    variance += with_false / (with_false - 1) * (false**2).sum() / k**2
    if not one_each:
        variance += 2 * size / (size - 1) * (true * false).sum() / (m * k)
    return float(variance)
