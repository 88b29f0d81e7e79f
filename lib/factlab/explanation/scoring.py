"""A data set's means of every LExT metric and its trust score, with intervals.

LExT, section 3.3 and Tables 6 and 7. The metrics of each item are made in `items`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from factlab.explanation import plausible
from factlab.explanation.harmonic import trust
from factlab.explanation.items import METRICS, score_items

if TYPE_CHECKING:
    from factlab.stats import Estimate

AGGREGATES = ("means", "items")


@dataclass(frozen=True)
class Scores:
    """What `score` found.

    Attributes
    ----------
    items : DataFrame
        As `score_items` makes it.
    estimates : dict of str to Estimate
        Every metric of `METRICS` for the data set; `trust` is the LExT score.
    """

    items: pd.DataFrame
    estimates: Mapping[str, Estimate]

    @property
    def lext(self) -> Estimate:
        """The LExT score of the data set."""
        return self.estimates["trust"]

    def table(self) -> pd.DataFrame:
        """One row a metric: metric, value, low, high (missing where undefined), n, left_out, reason, text, signature."""
        from factlab.stats.resampling import table

        rows = [
            {
                "metric": name, "value": e.value, "low": e.low, "high": e.high, "n": e.n, "left_out": e.left_out,
                "reason": e.reason, "text": str(e), "signature": e.signature,
            }
            for name, e in self.estimates.items()
        ]  # fmt: skip
        return table(rows)


def score(
    frame: pd.DataFrame,
    variant: str = "paper",
    beta: float = plausible.BETA,
    aggregate: str = "means",
    clusters: str | ArrayLike | None = None,
    *,
    level: float = 0.95,
    replicates: int = 4000,
    seed: int = 0,
    parts: Mapping[str, Any] | None = None,
) -> Scores:
    """The metrics of a data set and its LExT score, with intervals.

    LExT, section 3.3 and Tables 6 and 7.

    Parameters
    ----------
    frame, variant, beta
        As in `score_items`.
    aggregate : {"means", "items"}
        "means": the trust score of the mean plausibility and the mean faithfulness, as in all 12 cells of Table 6.
        "items": the mean of the items' trust scores, over items that have both; it is lower, the more so the more items are
        strong in one and weak in the other.
    clusters : str or (n,) array, optional
        What items were drawn from, as a column or an array: the vignette, where its demographic variants are rows.
    level, replicates, seed
        As in `stats.estimate`.
    parts : dict, optional
        More parts of the signatures, e.g. `{"subject": …, "judge": …, "embedder": …}`.

    Returns
    -------
    Scores

    Raises
    ------
    ValueError
        As in `score_items`, and for an unknown `aggregate` or `clusters`.

    Notes
    -----
    Each mean is over the items in which it is defined, so that the LExT score always follows from the P and F printed beside
    it; where these differ, its `reason` gives both numbers. Its interval resamples whole items (clusters), plausibility and
    faithfulness of one together: BCa with expanded percentiles as in `stats.estimate`.
    """
    from factlab.stats import estimate

    if aggregate not in AGGREGATES:
        raise ValueError(f"aggregate={aggregate!r} is not known; use one of {', '.join(map(repr, AGGREGATES))}")
    if isinstance(clusters, str):
        if clusters not in frame.columns:
            raise ValueError(f"no column {clusters!r}; the table has {', '.join(map(str, frame.columns))}")
        clusters = frame[clusters].to_numpy()
    items = score_items(frame, variant, beta)
    shown = {**(parts or {}), "variant": variant, "beta": beta}
    settings: dict[str, Any] = {"replicates": replicates, "seed": seed, "level": level, "unit": "items"}
    estimates = {
        name: estimate(
            items[name].to_numpy(float, na_value=np.nan), clusters, name=f"lext-{name}", parts=shown, **settings
        )
        for name in METRICS
    }
    shown["aggregate"] = aggregate
    if aggregate == "items":
        values = items["trust"].to_numpy(float, na_value=np.nan)
        estimates["trust"] = estimate(values, clusters, name="lext", parts=shown, **settings)
    else:
        estimates["trust"] = trust_of_means(
            items["plausibility"],
            items["faithfulness"],
            clusters,
            level=level,
            replicates=replicates,
            seed=seed,
            parts=shown,
        )
    return Scores(items, estimates)


def trust_of_means(
    plausibility: ArrayLike,
    faithfulness: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    level: float = 0.95,
    replicates: int = 4000,
    seed: int = 0,
    parts: Mapping[str, Any] | None = None,
) -> Estimate:
    """The trust score of a mean plausibility and a mean faithfulness, with an interval.

    LExT, section 3.3, equation 15; how Table 6 is made.

    Parameters
    ----------
    plausibility, faithfulness : (n,) arrays
        In [0, 1], paired by item; missing ones are left out of their own mean.
    clusters : (n,) array, optional
        What the items were drawn from.
    level, replicates, seed, parts
        As in `stats.estimate`.

    Returns
    -------
    Estimate
        In [0, 1]. `n` counts the items (`clusters` the clusters) behind the scarcer of both means, the others are left out as undefined;
        `reason` says of how many the other mean is. Without an interval below `resampling.FEWEST`.

    Notes
    -----
    The bootstrap draws items (clusters) with both of their values and makes both means and their harmonic mean anew; bias
    and acceleration (BCa) from the linearised score, percentiles expanded as in `stats.resampling.mean_interval`.
    Simulated coverage of the 95 % interval, in percent (600 runs): 92, 95, 95, 97 and 96 with 5, 8, 12, 24 and 100 items
    of middling faithfulness; 95, 96, 97, 97 and 95 where most items have none.
    """
    from factlab.stats import Estimate, resampling, signature

    p, f = (resampling.numbers(v, n) for v, n in ((plausibility, "plausibility"), (faithfulness, "faithfulness")))
    if len(p) != len(f):
        raise ValueError(f"{len(p)} plausibilities and {len(f)} faithfulnesses: one of each an item is needed")
    kept = ~(np.isnan(p) & np.isnan(f))
    codes, groups = resampling.cluster_codes(clusters, kept)
    values = np.column_stack([p[kept], f[kept]])
    there = ~np.isnan(values)
    counts = there.sum(axis=0)
    n = int(counts.min())
    sums = resampling.cluster_sums(np.column_stack([np.where(there, values, 0), there.astype(float)]), codes)
    independent = int((sums[:, 2:] > 0).sum(axis=0).min()) if len(sums) else 0
    groups = None if groups is None else independent
    common = {"level": level, "n": n, "clusters": groups, "counts": {"undefined": len(p) - n}}
    key = {**(parts or {}), "n": n, "clusters": groups}
    if not counts.all():
        lacking = "plausibility" if not counts[0] else "faithfulness"
        return Estimate(None, reason=f"no item has a {lacking}", signature=signature("lext", **key), **common)

    means = sums[:, :2].sum(axis=0) / counts
    value = trust(*means)
    names = ("plausibility", "faithfulness")
    reasons = [
        f"{name} over {count} {'item' if count == 1 else 'items'}"
        for name, count in zip(names, counts, strict=True)
        if count > n
    ]
    what = "items" if groups is None else "clusters"
    if independent < resampling.FEWEST:
        reasons.insert(0, f"{independent} {what}: too few for an interval, {resampling.FEWEST} needed")
        return Estimate(value, reason="; ".join(reasons), signature=signature("lext", **key), **common)
    low, high = _interval(sums, counts, means, level, replicates, seed)
    if low is None:
        reasons.insert(0, "all resamples give the same score")
    elif independent < resampling.FEW:
        reasons.insert(0, f"only {independent} {what}: the interval is likely too narrow")
    method = (
        ""
        if low is None
        else f"{'bootstrap' if groups is None else 'cluster bootstrap'}, BCa expanded, {replicates} replicates"
    )
    made = signature("lext", **key, interval=None if low is None else "bca", replicates=replicates, seed=seed)
    return Estimate(value, low, high, method=method, reason="; ".join(reasons), signature=made, **common)


def _interval(
    sums: np.ndarray, counts: np.ndarray, means: np.ndarray, level: float, replicates: int, seed: int
) -> tuple[float | None, float | None]:
    """The expanded BCa interval of the trust score from (clusters, 4) sums: P, F, and how many of each."""
    from scipy.stats import norm, t

    from factlab.stats.resampling import bootstrap_sums

    drawn = bootstrap_sums(sums, replicates, seed)
    drawn = drawn[(drawn[:, 2:] > 0).all(axis=1)]  # a resample without any P or F has no score
    p, f = (drawn[:, :2] / drawn[:, 2:]).T
    scores = np.divide(2 * p * f, p + f, out=np.zeros_like(p), where=p + f > 0)
    value, total, k = trust(*means), float(means.sum()), len(sums)
    if np.ptp(scores) <= 1e-12:
        return None, None
    slopes = 2 * means[::-1] ** 2 / total**2 if total > 0 else np.zeros(2)
    influence = ((sums[:, :2] - means * sums[:, 2:]) / counts) @ slopes
    spread = float((influence**2).sum())
    acceleration = float((influence**3).sum()) / (6 * spread**1.5) if spread > 0 else 0.0
    below, equal = (scores < value - 1e-12).mean(), (np.abs(scores - value) <= 1e-12).mean()
    bias = norm.ppf(np.clip(below + equal / 2, 1 / replicates, 1 - 1 / replicates))
    reach = t.ppf((1 + level) / 2, k - 1) * math.sqrt(k / (k - 1))
    z = bias + np.array([-reach, reach])
    low, high = np.quantile(scores, norm.cdf(bias + z / np.maximum(1 - acceleration * z, 0.05)))
    return float(low), float(high)
