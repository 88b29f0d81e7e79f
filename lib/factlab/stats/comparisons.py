"""Is one arm better than another? Paired and unpaired comparisons, equivalence, multiple comparisons.

Each comparison is a table with the difference, its interval, the tests and what they assume. Fewer than ten items are
described, not tested, and a difference that is not significant is not called zero: that takes `equivalence`.
"""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from factlab.stats import resampling
from factlab.stats.resampling import FEW, is_constant, signature, table

if TYPE_CHECKING:
    import pandas as pd


def compare(
    a: ArrayLike | pd.Series,
    b: ArrayLike | pd.Series,
    clusters: ArrayLike | pd.Series | None = None,
    replicates: int = 4000,
    seed: int = 0,
    *,
    level: float = 0.95,
    bound: float | None = None,
) -> pd.DataFrame:
    """Paired difference between two arms that answered the same items.

    Parameters
    ----------
    a, b : (n,) arrays
        Scores of the same items in the same order. Pairs with an undefined score are left out and counted.
    clusters : (n,) array, optional
        What the items were drawn from; resampled and sign-flipped as one.
    replicates, seed : int
        Of the bootstrap and of the random sign flips.
    level : float
        Of the interval. With 0.90, an interval inside ±margin is an equivalence test (TOST) for clustered pairs.
    bound : float, optional
        The largest difference that two scores can have, 1 for scores in 0..1. With it, differences that are nearly all 0 have an
        interval that holds (see Notes); without it they have that of the bootstrap.

    Returns
    -------
    DataFrame
        One row: mean_a, mean_b, difference (a − b), low, high, p, p_method, p_mcnemar, only_a, only_b, cohen_dz,
        rank_biserial, n (pairs), clusters, left_out, status, reason, signature.

    Notes
    -----
    * low, high: bootstrap over pairs or clusters, see `resampling.mean_interval`. Where fewer than `FEWEST_DIFFERING` pairs (clusters)
      differ, the bootstrap has nothing to draw from: its interval can leave 0 out though p is 0.1 or more. With a `bound` it is that of
      `resampling.rare_interval` there, and `reason` says so; also where no pair differs.
    * p: sign-flip permutation test (`resampling.sign_flip`), valid for any differences symmetric about 0.
    * p_mcnemar: exact test on the pairs in which only a (`only_a`) or only b has the 1, for 0/1 scores without
      clusters (statsmodels `mcnemar`); it equals the sign-flip test then, without its random error.
    * cohen_dz = mean(d) / sd(d), ddof = 1. rank_biserial = (R⁺ − R⁻) / (R⁺ + R⁻) with the rank sums of |d| over
      d > 0 and d < 0, pairs with d = 0 left out (Kerby 2014): 1 when a is always better, −1 when b is.
    * Fewer than ten pairs or clusters are not tested. When every pair is equal, p is 1 and there is no interval.
    """
    a, b, kept = resampling.pairs(a, b)
    codes, groups = resampling.cluster_codes(clusters, kept)
    d, n = a - b, len(a)
    independent = n if groups is None else groups
    row: dict[str, Any] = {"mean_a": a.mean() if n else None, "mean_b": b.mean() if n else None}
    row |= {"difference": None, "low": None, "high": None, "p": None, "p_method": "", "p_mcnemar": None}
    row |= {
        "only_a": None,
        "only_b": None,
        "cohen_dz": None,
        "rank_biserial": None,
        "n": n,
        "clusters": groups,
        "left_out": int((~kept).sum()),
    }
    row |= {"level": level, "status": "scored", "reason": ""}
    row["signature"] = signature("compare", n=n, clusters=groups, replicates=replicates, seed=seed)
    if n:
        row["difference"] = d.mean()
    if independent < FEW:
        what = ("pair" if groups is None else "cluster") + ("" if independent == 1 else "s")
        return table([{**row, "status": "undefined", "reason": f"{independent} {what}: too few to test, {FEW} needed"}])

    sums, sizes = np.bincount(codes, weights=d), np.bincount(codes).astype(float)
    differing = int((sums != 0).sum())
    rare = bound is not None and differing < resampling.FEWEST_DIFFERING
    if rare:
        row["low"], row["high"] = resampling.rare_interval(sums, sizes, level, bound)
    else:
        row["low"], row["high"] = resampling.mean_interval(sums, sizes, level, replicates, seed)
    row["p"], row["p_method"] = resampling.sign_flip(sums, replicates, seed)
    if np.isin(a, (0.0, 1.0)).all() and np.isin(b, (0.0, 1.0)).all():
        row["only_a"], row["only_b"] = int((d > 0).sum()), int((d < 0).sum())
        if groups is None:
            row["p_mcnemar"] = _mcnemar(a, b)
    if d.any():
        from scipy.stats import rankdata

        row["cohen_dz"] = None if is_constant(d) else d.mean() / d.std(ddof=1)
        ranks = rankdata(np.abs(d[d != 0]))
        row["rank_biserial"] = float((ranks * np.sign(d[d != 0])).sum() / ranks.sum())
    if row["low"] is None:
        same = "differences" if is_constant(d) else "cluster means"
        row["reason"] = f"no interval: all {same} equal" if d.any() else "no difference in any pair"
    elif rare:
        what = "pairs" if groups is None else "clusters"
        few = f"only {differing} of {independent} {what} differ: interval from how many do"
        row["reason"] = few if d.any() else "no difference in any pair"
    return table([row])


def _mcnemar(a: np.ndarray, b: np.ndarray) -> float:
    from statsmodels.stats.contingency_tables import mcnemar

    cells = np.bincount((2 * a + b).astype(int), minlength=4).reshape(2, 2)
    return 1.0 if cells[0, 1] + cells[1, 0] == 0 else min(1.0, float(mcnemar(cells, exact=True).pvalue))


def holm(p: ArrayLike) -> np.ndarray:
    """p-values corrected for the number of comparisons (Holm 1979, Scandinavian Journal of Statistics 6:65).

    Parameters
    ----------
    p : (m,) array
        In [0, 1]. An undefined one (None, NaN) stays undefined and does not count as a comparison.

    Returns
    -------
    (m,) array of float
        In the order given: for the k-th smallest of m, max over j <= k of min(1, (m − j + 1) p_j). NaN where p was
        undefined.

    Notes
    -----
    Not taken from statsmodels `multipletests`, which collects garbage at every call (0.1 s); the tests compare both.
    """
    p = resampling.numbers(p, "p")
    tested = ~np.isnan(p)
    wrong = np.flatnonzero(tested & ((p < 0) | (p > 1)))
    if wrong.size:
        raise ValueError(f"p, row {wrong[0]}: {p[wrong[0]]:g} is not a p-value")
    out = p.copy()
    order = np.flatnonzero(tested)[np.argsort(p[tested])]
    steps = p[order] * np.arange(len(order), 0, -1)
    out[order] = np.minimum(1, np.maximum.accumulate(steps))
    return out


def equivalence(
    a: ArrayLike | pd.Series, b: ArrayLike | pd.Series, margin: float, paired: bool = True, *, alpha: float = 0.05
) -> pd.DataFrame:
    """Whether two arms differ by less than a margin: two one-sided t-tests (TOST).

    A difference that is not significant is not thereby zero; this test can show that it is small.

    Parameters
    ----------
    a, b : (n,) arrays
        Scores of the two arms; undefined ones are left out and counted.
    margin : float
        Largest difference of means that does not matter, in the unit of the scores; above 0, set before looking.
    paired : bool
        Whether row i of both arms is the same item. If not, variances may differ (Welch).
    alpha : float

    Returns
    -------
    DataFrame
        One row: difference (a − b), low, high (at level 1 − 2 alpha: the arms are equivalent when the interval lies
        inside ±margin), level, margin, p_lower, p_upper, p (the larger), equivalent, verdict, n_a, n_b, left_out,
        status, reason.

    Notes
    -----
    Schuirmann (1987), J. Pharmacokinet. Biopharm. 15:657. statsmodels `ttost_paired`, `ttost_ind`. Items are taken as
    independent; for clustered pairs see `compare(level=0.90)`. Fewer than ten items in an arm are not tested.
    """
    if not isinstance(margin, int | float | np.number) or not (margin > 0 and math.isfinite(margin)):
        raise ValueError(f"margin: expected a difference above 0, got {margin!r}")
    if paired:
        a, b, kept = resampling.pairs(a, b)
        left = int((~kept).sum())
        degenerate = is_constant(a - b)
    else:
        a, b, left = _arms(a, b)
        degenerate = is_constant(a) and is_constant(b)
    row: dict[str, Any] = {"difference": a.mean() - b.mean() if len(a) and len(b) else None}
    row |= {"low": None, "high": None, "level": 1 - 2 * alpha, "margin": margin, "p_lower": None, "p_upper": None}
    row |= {"p": None, "equivalent": None, "verdict": "not tested", "n_a": len(a), "n_b": len(b), "left_out": left}
    reason = _too_few(a, b) or ("zero variance, not testable" if degenerate else "")
    if reason:
        return table([{**row, "status": "undefined", "reason": reason}])

    from scipy.stats import ttest_ind, ttest_rel
    from statsmodels.stats.weightstats import ttost_ind, ttost_paired

    with warnings.catch_warnings():  # scipy doubts a constant arm, for which these tests are right all the same
        warnings.simplefilter("ignore", RuntimeWarning)
        if paired:
            p, lower, upper = ttost_paired(a, b, -margin, margin)
            interval = ttest_rel(a, b).confidence_interval(1 - 2 * alpha)
        else:
            p, lower, upper = ttost_ind(a, b, -margin, margin, usevar="unequal")
            interval = ttest_ind(a, b, equal_var=False).confidence_interval(1 - 2 * alpha)
    row |= {"low": interval.low, "high": interval.high, "p_lower": lower[1], "p_upper": upper[1], "p": p}
    row["equivalent"] = bool(p < alpha)
    row["verdict"] = f"{'equivalent' if p < alpha else 'not shown to be equivalent'} within ±{margin:g}"
    return table([{**row, "status": "scored", "reason": ""}])


def _arms(a: Any, b: Any) -> tuple[np.ndarray, np.ndarray, int]:
    a, b = resampling.numbers(a, "a"), resampling.numbers(b, "b")
    left = int(np.isnan(a).sum() + np.isnan(b).sum())
    return a[~np.isnan(a)], b[~np.isnan(b)], left


def _too_few(a: np.ndarray, b: np.ndarray) -> str:
    fewest = min(len(a), len(b))
    return (
        f"{fewest} {'item' if fewest == 1 else 'items'} in an arm: too few to test, {FEW} needed"
        if fewest < FEW
        else ""
    )


def two_sample(
    a: ArrayLike | pd.Series, b: ArrayLike | pd.Series, *, alpha: float = 0.05, level: float = 0.95
) -> pd.DataFrame:
    """Compare two independent samples as DAHL section 5.2 does: variances first, then means.

    Parameters
    ----------
    a, b : (n_a,), (n_b,) arrays
        Scores of different items; undefined ones are left out and counted.
    alpha : float
        Below this p of the F-test, Welch's t-test applies instead of Student's.
    level : float
        Of the interval of the difference.

    Returns
    -------
    DataFrame
        Rows `F-test`, `Levene`, `Student t`, `Welch t`, with columns test, statistic, df, df2, p (two-sided), applies
        (which t-test to read), difference (a − b), low, high, mean_a, mean_b, sd_a, sd_b (ddof = 1), n_a, n_b,
        left_out, status, reason.

    Notes
    -----
    F = s_a² / s_b², p = 2 min(P(F ≤ f), P(F ≥ f)), which assumes normal scores; Levene's test (centred on the median,
    Brown and Forsythe) does not. scipy `f`, `levene`, `ttest_ind`. Two constant samples with the same mean: p = 1, no
    difference; with different means: zero variance, not testable. A large p is no proof of equality: see `equivalence`.
    """
    a, b, left = _arms(a, b)
    sd = [x.std(ddof=1) if len(x) > 1 else None for x in (a, b)]
    means = [x.mean() if len(x) else None for x in (a, b)]
    tail: dict[str, Any] = {"mean_a": means[0], "mean_b": means[1], "sd_a": sd[0], "sd_b": sd[1]}
    tail |= {"n_a": len(a), "n_b": len(b), "left_out": left, "status": "scored", "reason": ""}
    names = ["F-test", "Levene", "Student t", "Welch t"]
    blank = dict.fromkeys(["statistic", "df", "df2", "p", "applies", "difference", "low", "high"])
    head = {name: dict(blank) for name in names}
    for name in names[2:]:
        head[name]["difference"] = means[0] - means[1] if len(a) and len(b) else None

    constant = is_constant(a), is_constant(b)
    few = _too_few(a, b)
    if few or all(constant):
        reason = few or "zero variance, not testable"
        if not few and is_constant(np.concatenate([a, b])):
            for name in names:
                head[name]["p"] = 1.0
            tail["reason"] = "no difference: every score is the same"
        else:
            tail |= {"status": "undefined", "reason": reason}
        return table([{"test": name, **head[name], **tail} for name in names])

    from scipy.stats import f, levene, ttest_ind

    rows, equal = [], False
    if any(constant):
        note = {"status": "undefined", "reason": "zero variance in one arm, not testable"}
        rows.append({"test": "F-test", **head["F-test"], **tail, **note})
    else:
        ratio, df = a.var(ddof=1) / b.var(ddof=1), (len(a) - 1, len(b) - 1)
        p = min(1.0, 2 * min(f.cdf(ratio, *df), f.sf(ratio, *df)))
        equal = p >= alpha
        rows.append({"test": "F-test", **head["F-test"], "statistic": ratio, "df": df[0], "df2": df[1], "p": p, **tail})
    with np.errstate(invalid="ignore", divide="ignore"):
        w = levene(a, b, center="median")
    spread = {"statistic": w.statistic, "df": 1, "df2": len(a) + len(b) - 2, "p": w.pvalue}
    if not math.isfinite(w.statistic):  # every score is equally far from its median, e.g. as many zeros as ones
        spread = {"status": "undefined", "reason": "deviations do not vary, not testable"}
    rows.append({"test": "Levene", **head["Levene"], **tail, **spread})
    for name, pooled in (("Student t", True), ("Welch t", False)):
        with warnings.catch_warnings():  # scipy doubts a constant arm; the F-test's row says so
            warnings.simplefilter("ignore", RuntimeWarning)
            t = ttest_ind(a, b, equal_var=pooled)
        interval = t.confidence_interval(level)
        found = {"statistic": t.statistic, "df": t.df, "p": t.pvalue, "applies": equal == pooled}
        found |= {"low": interval.low, "high": interval.high}
        rows.append({"test": name, **head[name], **found, **tail})
    return table(rows)
