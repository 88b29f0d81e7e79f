"""Whether a measure of agreement deserves trust: does it tell texts apart, and does a low value warn of an error?

CheckEmbed, section 4.1 (figures 3 and 4: scores of passages that mean the same against those of passages that do not)
and its claim that agreement goes with truth. `separation` puts a number on the overlap that the paper judges by eye;
`risk_coverage` and `aurc` say what is gained by answering only when confident. Correlation with closeness to the ground
truth: `stats.correlation` on the table of `similarity.summaries`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from factlab import stats
from factlab.stats import Estimate, resampling
from factlab.stats.resampling import FEW, FEWEST

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Separation:
    """How well scores tell similar passages from different ones.

    Attributes
    ----------
    auroc : Estimate
        Probability that a similar pair scores higher than a different one, ties counting half.
    shared : float
        Share of all points that lie where both groups have points (between the larger minimum and the smaller maximum);
        0: "no overlap" in the paper's sense. Grows with n, and one outlier can make it: compare like with like.
    overlap : float
        Overlap coefficient, 1 minus the largest distance of the two distribution functions: the smallest sum of the two
        error rates that any single cut-off has. 0: a cut-off separates all; 1: same distribution. Equals the common
        area of the two densities where they cross once, and needs no bandwidth.
    cut : float
        That cut-off, halfway between the points beside it (the lowest, where several are as good).
    similar, different : int
        Scores in each group.
    missing : int
        Scores left out because they are undefined.
    """

    auroc: Estimate
    shared: float
    overlap: float
    cut: float
    similar: int
    different: int
    missing: int

    def __str__(self) -> str:
        if math.isnan(self.overlap):
            return f"undefined: {self.similar} similar and {self.different} different pairs"
        common = f"{100 * self.shared:.0f} % of the points in the common range, overlap {self.overlap:.2f}"
        return f"AUROC {self.auroc}; {common}"

    def to_dict(self) -> dict[str, Any]:
        """The fields as a dictionary that `json.dumps(…, allow_nan=False)` accepts: what is undefined is None."""
        out = {name: getattr(self, name) for name in self.__dataclass_fields__} | {"auroc": self.auroc.to_dict()}
        return {name: None if isinstance(x, float) and math.isnan(x) else x for name, x in out.items()}


def separation(
    similar: ArrayLike | pd.Series,
    different: ArrayLike | pd.Series,
    clusters: tuple[ArrayLike, ArrayLike] | None = None,
    *,
    level: float = 0.95,
) -> Separation:
    """Compare the scores of pairs that mean the same with those of pairs that do not.

    CheckEmbed, figures 3 and 4.

    Parameters
    ----------
    similar, different : (m,) and (n,) arrays
        Scores, higher for more alike; undefined ones are left out and counted. Turn a score that is low for alike texts
        (SelfCheckGPT) round first.
    clusters : pair of (m,) and (n,) arrays, optional
        What each pair was written about (the topic); a topic may be in both groups.
    level : float
        Confidence level.

    Returns
    -------
    Separation
        Its AUROC is `stats.auroc`; all numbers are undefined when a group is empty.
    """
    a, b = resampling.numbers(similar, "similar"), resampling.numbers(different, "different")
    labels = None
    if clusters is not None:
        if len(clusters) != 2 or len(clusters[0]) != len(a) or len(clusters[1]) != len(b):
            raise ValueError(f"clusters: expected {len(a)} labels of the similar and {len(b)} of the different pairs")
        labels = [*clusters[0], *clusters[1]]
    positive = np.arange(len(a) + len(b)) < len(a)
    area = stats.auroc(
        positive, np.concatenate([a, b]), labels, level=level, unit="pairs", classes=("similar", "different")
    )
    missing = int(np.isnan(a).sum() + np.isnan(b).sum())
    a, b = np.sort(a[~np.isnan(a)]), np.sort(b[~np.isnan(b)])
    if not len(a) or not len(b):
        return Separation(area, math.nan, math.nan, math.nan, len(a), len(b), missing)
    low, high = max(a[0], b[0]), min(a[-1], b[-1])
    inside = sum(int(((x >= low) & (x <= high)).sum()) for x in (a, b))
    points = np.unique(np.concatenate([a, b]))
    distance = np.searchsorted(b, points, side="right") / len(b) - np.searchsorted(a, points, side="right") / len(a)
    at = int(np.abs(distance).argmax())
    cut = float(points[at : at + 2].mean())
    return Separation(
        auroc=area,
        shared=inside / (len(a) + len(b)),
        overlap=1 - float(np.abs(distance[at])),
        cut=cut,
        similar=len(a),
        different=len(b),
        missing=missing,
    )


def risk_coverage(
    confidence: ArrayLike | pd.Series, error: ArrayLike | pd.Series, *, level: float = 0.95
) -> pd.DataFrame:
    """How often an answer is wrong when only the most confident ones are given.

    El-Yaniv and Wiener (2010, JMLR 11:1605): selective risk against coverage.

    Parameters
    ----------
    confidence : (n,) array
        E.g. the level of each summary; higher is surer. Pairs with an undefined number are left out (n falls).
    error : (n,) array
        0 right, 1 wrong, or any loss of at least 0 (e.g. 1 − closeness to the ground truth).
    level : float
        Of the interval.

    Returns
    -------
    DataFrame
        One row for each distinct confidence, from the highest: threshold (answers at least this sure are given), n
        (answers given), coverage (their share of all), risk (their mean error), low, high (Wilson's interval of the
        risk; NaN where the error is not 0 or 1), area (mean risk over all coverages up to this one; in the last row the
        area under the whole curve, see `aurc`).

    Notes
    -----
    Answers that are equally sure are given together; within such a group the area takes the mean over all orders.
    """
    import pandas as pd

    c, e = _confident(confidence, error)
    columns = ["threshold", "n", "coverage", "risk", "low", "high", "area"]
    if not len(c):
        return pd.DataFrame({name: pd.Series(dtype=int if name == "n" else float) for name in columns})
    last = np.flatnonzero(np.append(c[1:] != c[:-1], True))
    given = last + 1
    total, running = np.cumsum(e)[last], np.cumsum(_selective(c, e))[last]
    table = {"threshold": c[last], "n": given, "coverage": given / len(c), "risk": total / given}
    ends = np.full((len(given), 2), math.nan)
    if np.isin(e, (0, 1)).all():
        ends = np.array([resampling.wilson(k, n, level) for k, n in zip(total, given, strict=True)])
    return pd.DataFrame({**table, "low": ends[:, 0], "high": ends[:, 1], "area": running / given}, columns=columns)


def aurc(
    confidence: ArrayLike | pd.Series,
    error: ArrayLike | pd.Series,
    clusters: ArrayLike | pd.Series | None = None,
    *,
    level: float = 0.95,
    replicates: int = 1000,
    seed: int = 0,
) -> Estimate:
    """Area under the risk-coverage curve: the mean error over all coverages.

    Geifman, Uziel and El-Yaniv (2019, ICLR): the mean over i = 1…n of the mean error of the i surest answers.

    Parameters
    ----------
    confidence, error
        As in `risk_coverage`.
    clusters : (n,) array, optional
        What the answers were drawn from.
    level, replicates, seed
        Of the percentile bootstrap, which draws whole clusters.

    Returns
    -------
    Estimate
        Lower is better. `aurc_bounds` gives what the same errors reach in the best order and in a random one.
    """
    c, e = resampling.numbers(confidence, "confidence"), resampling.numbers(error, "error")
    resampling.check_pairs(confidence, error, ("confidence", "error"))
    kept = ~(np.isnan(c) | np.isnan(e))
    codes, groups = resampling.cluster_codes(clusters, kept)
    _check_error(e[kept])
    c, e = c[kept], e[kept]
    common = {"level": level, "n": len(c), "clusters": groups, "counts": {"undefined": int((~kept).sum())}}
    common["unit"] = "answers"
    if not len(c):
        return Estimate(None, reason="no answers", **common)
    value = _area(c, e)
    made = stats.signature("aurc", n=len(c), clusters=groups)
    size = int(codes.max()) + 1
    what = "answers" if groups is None else "clusters"
    if size < FEWEST:
        reason = f"{size} {what}: too few for an interval, {FEWEST} needed"
        return Estimate(value, reason=reason, signature=made, **common)
    if resampling.is_constant(e):
        return Estimate(value, reason="all errors equal", signature=made, **common)
    # A replicate is the sorted answers, each as often as its cluster was drawn.
    order = np.argsort(-c, kind="stable")
    c, e, codes = c[order], e[order], codes[order]
    rng = np.random.default_rng(seed)
    drawn = rng.multinomial(size, np.full(size, 1 / size), size=replicates)
    areas = [_area_sorted(np.repeat(c, times), np.repeat(e, times)) for times in drawn[:, codes]]
    low, high = np.quantile(areas, [(1 - level) / 2, (1 + level) / 2])
    reason = f"only {size} {what}: the interval is likely too narrow" if size < FEW else ""
    method = f"{'bootstrap' if groups is None else 'cluster bootstrap'}, percentile, {replicates} replicates"
    made = stats.signature("aurc", n=len(c), clusters=groups, interval="percentile", replicates=replicates, seed=seed)
    return Estimate(value, float(low), float(high), method=method, reason=reason, signature=made, **common)


def aurc_bounds(error: ArrayLike | pd.Series) -> tuple[float, float]:
    """Area under the risk-coverage curve of the best order (right answers first) and of a random one (the mean error).

    Parameters
    ----------
    error : (n,) array
        As in `risk_coverage`; undefined ones are left out.

    Returns
    -------
    best, chance : float
        NaN when there is no error left to look at. (AURC − best) is the excess AURC of Geifman, Uziel and El-Yaniv
        (2019).
    """
    e = resampling.numbers(error, "error")
    e = e[~np.isnan(e)]
    _check_error(e)
    if not len(e):
        return math.nan, math.nan
    return _area(-e, e), float(e.mean())


def _confident(confidence: Any, error: Any) -> tuple[np.ndarray, np.ndarray]:
    """Complete pairs, surest first."""
    resampling.check_pairs(confidence, error, ("confidence", "error"))
    c, e = resampling.numbers(confidence, "confidence"), resampling.numbers(error, "error")
    kept = ~(np.isnan(c) | np.isnan(e))
    c, e = c[kept], e[kept]
    _check_error(e)
    order = np.argsort(-c, kind="stable")
    return c[order], e[order]


def _check_error(error: np.ndarray) -> None:
    if (error < 0).any():
        raise ValueError(f"error: expected losses of at least 0 (1 wrong, 0 right), got {error.min():g}")


def _selective(c: np.ndarray, e: np.ndarray) -> np.ndarray:
    """Mean error of the i surest answers, i = 1…n, with answers sorted; ties share their mean error."""
    tied = np.append(0, np.cumsum(c[1:] != c[:-1]))
    mean = np.bincount(tied, weights=e) / np.bincount(tied)
    return np.cumsum(mean[tied]) / np.arange(1, len(c) + 1)


def _area_sorted(c: np.ndarray, e: np.ndarray) -> float:
    return float(_selective(c, e).mean()) if len(c) else math.nan


def _area(c: np.ndarray, e: np.ndarray) -> float:
    order = np.argsort(-c, kind="stable")
    return _area_sorted(c[order], e[order])
