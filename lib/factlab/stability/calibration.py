"""Thresholds of the decision to accept, chosen on answers that are known to be right or wrong.

CheckEmbed, section 4.2, offers 0.9 and 0.05 as examples, and shows that measures have scales of their own (section 4.1:
different passages score higher there than similar ones with the baselines). Embedders do too, so each needs its own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from factlab import stats
from factlab.stats import Estimate, resampling
from factlab.stats.resampling import FEW

if TYPE_CHECKING:
    import pandas as pd

_MOST_CUTS = 200  # limits tried for the level, and for the spread


@dataclass(frozen=True)
class Thresholds:
    """Limits for `accept`, and how well they do on answers that they were not chosen on.

    Attributes
    ----------
    level, spread : float
        Accept when the level is above and the spread below. An infinite spread: it is not used. NaN when undefined.
    level_range, spread_range : (float, float)
        Percentiles of the limits chosen on bootstrap samples, 2.5 and 97.5 at the default confidence level; a sample on
        which none reach the wanted precision accepts nothing (level infinite, spread 0).
    quality : dict of str to Estimate
        `rule_quality` of held-out answers: each was judged by limits chosen without it.
    apparent : float
        Balanced accuracy on the answers that the limits were chosen on: flattering.
    n, right, wrong : int
        Labelled answers with a summary; how many are right, how many wrong.
    left_out : int
        Answers without a label or with an undefined summary.
    objective : str
        What was made as large as possible.
    status, reason : str
        `scored` or `undefined`, and why.
    """

    level: float
    spread: float
    level_range: tuple[float, float]
    spread_range: tuple[float, float]
    quality: Mapping[str, Estimate] = field(hash=False)
    apparent: float
    n: int
    right: int
    wrong: int
    left_out: int
    objective: str
    status: str
    reason: str = ""

    def __str__(self) -> str:
        counted = f"{self.n} labelled answers, {self.right} right and {self.wrong} wrong"
        if self.status != "scored":
            return f"no thresholds: {self.reason} ({counted})"
        rule = f"level > {self.level:.3f} [{self.level_range[0]:.3f}, {self.level_range[1]:.3f}]"
        if math.isfinite(self.spread):
            rule += f" and spread < {self.spread:.3f} [{self.spread_range[0]:.3f}, {self.spread_range[1]:.3f}]"
        return f"accept if {rule}; held-out balanced accuracy {self.quality['balanced_accuracy']} ({counted})"

    def to_dict(self) -> dict[str, Any]:
        """The fields as a dictionary that `json.dumps(…, allow_nan=False)` accepts: NaN and infinity become None."""

        def plain(value: Any) -> Any:
            if isinstance(value, tuple):
                return [plain(one) for one in value]
            return None if isinstance(value, float) and not math.isfinite(value) else value

        out = {name: plain(getattr(self, name)) for name in self.__dataclass_fields__ if name != "quality"}
        return {**out, "quality": {name: found.to_dict() for name, found in self.quality.items()}}


def rule_quality(
    accepted: ArrayLike | pd.Series,
    correct: ArrayLike | pd.Series,
    clusters: ArrayLike | pd.Series | None = None,
    *,
    level: float = 0.95,
    seed: int = 0,
) -> dict[str, Estimate]:
    """How good decisions to accept are, on answers that are known to be right or wrong.

    Parameters
    ----------
    accepted : (n,) array of bool
        What the rule said, e.g. `[accept(s) for s in summaries]`.
    correct : (n,) array of bool
        Whether the answer is right; None or NaN where that is not known: left out and counted.
    clusters : (n,) array, optional
        What the answers were drawn from.
    level, seed
        Of the intervals.

    Returns
    -------
    dict of str to Estimate
        accepted: share of all answers. precision: share of right ones among the accepted. sensitivity: share of
        accepted ones among the right. specificity: share of rejected ones among the wrong. balanced_accuracy: mean of
        the last two; 0.5 is what a rule gets that does not look.

    Notes
    -----
    Intervals as in `stats.estimate`; of the balanced accuracy by the square-and-add method from those of its two parts
    (Newcombe 1998, Statistics in Medicine 17:873; there for a difference), which takes right and wrong answers as
    independent samples.
    """
    right = resampling.numbers(correct, "correct")
    said = resampling.numbers(accepted, "accepted")
    resampling.check_pairs(accepted, correct, ("accepted", "correct"))
    if not np.isin(said, (0, 1)).all() or not np.isin(right[~np.isnan(right)], (0, 1)).all():
        raise ValueError("accepted and correct: expected True or False (correct: or None where it is not known)")
    groups = None if clusters is None else np.fromiter(resampling.column(clusters, "clusters"), dtype=object)
    if groups is not None and len(groups) != len(right):
        raise ValueError(f"clusters has {len(groups)} rows for {len(right)} answers")
    known = ~np.isnan(right)

    def share(values: np.ndarray, where: np.ndarray, what: str, name: str) -> Estimate:
        within, left = (None if groups is None else groups[where]), {"unlabelled": int((~known).sum())}
        settings = {"seed": seed, "level": level, "unit": what, "counts": left, "name": f"accept-{name}"}
        return stats.estimate(values[where], within, **settings)

    out = {
        "accepted": share(said, known, "answers", "share"),
        "precision": share(right, known & (said == 1), "accepted answers", "precision"),
        "sensitivity": share(said, known & (right == 1), "right answers", "sensitivity"),
        "specificity": share(1 - said, known & (right == 0), "wrong answers", "specificity"),
    }
    return {**out, "balanced_accuracy": _balanced(out["sensitivity"], out["specificity"], out["accepted"], level)}


def _balanced(a: Estimate, b: Estimate, overall: Estimate, level: float) -> Estimate:
    common = {"level": level, "n": a.n + b.n, "clusters": overall.clusters, "counts": overall.counts, "unit": "answers"}
    if a.value is None or b.value is None:
        return Estimate(None, reason="the answers are not both right and wrong", **common)
    value = (a.value + b.value) / 2
    made = stats.signature("accept-balanced-accuracy", right=a.n, wrong=b.n, interval="square-and-add")
    if None in (a.low, b.low):
        return Estimate(value, reason=a.reason if a.low is None else b.reason, signature=made, **common)
    low = value - math.hypot(a.value - a.low, b.value - b.low) / 2
    high = value + math.hypot(a.high - a.value, b.high - b.value) / 2
    reason = a.reason or b.reason
    return Estimate(value, low, high, method="square and add", reason=reason, signature=made, **common)


def thresholds(
    levels: ArrayLike | pd.Series,
    spreads: ArrayLike | pd.Series | None,
    correct: ArrayLike | pd.Series,
    clusters: ArrayLike | pd.Series | None = None,
    *,
    precision: float | None = None,
    folds: int = 10,
    replicates: int = 200,
    level: float = 0.95,
    seed: int = 0,
) -> Thresholds:
    """Choose the limits of `accept` for one embedder on answers that are known to be right or wrong.

    Parameters
    ----------
    levels, spreads : (n,) arrays
        Of the summaries; None for `spreads`: the level alone decides.
    correct : (n,) array of bool
        Whether the answer is right; None or NaN where that is not known.
    clusters : (n,) array, optional
        What the answers were drawn from (the document); a cluster is never split between choosing and testing.
    precision : float, optional
        Wanted share of right answers among the accepted ones, 0..1. Then the rule that accepts most right answers with
        at least this precision is chosen; without it, the rule with the largest balanced accuracy.
    folds : int
        Of the cross-validation, at most as many as the rarer class has answers (or as there are clusters).
    replicates : int
        Bootstrap samples for the ranges of the limits.
    level, seed
        Of ranges and intervals; of folds and bootstrap.

    Returns
    -------
    Thresholds
        Undefined with fewer than ten right or ten wrong answers, or where no rule reaches the wanted precision.

    Notes
    -----
    Limits tried lie halfway between neighbouring values (200 quantiles of these, where there are more), and at
    infinity: not used. Among equally good rules the one with the loosest spread, then the strictest level, is taken.
    The cross-validation is one shuffle; the intervals of the held-out quality do not cover the luck of the folds.
    """
    x, correct = resampling.column(levels, "levels"), resampling.column(correct, "correct")
    resampling.check_pairs(x, correct, ("levels", "correct"))
    x, right = resampling.numbers(x, "levels"), resampling.numbers(correct, "correct")
    y = np.zeros(len(x))
    if spreads is not None:
        resampling.check_pairs(spreads, correct, ("spreads", "correct"))
        y = resampling.numbers(spreads, "spreads")
    if not np.isin(right[~np.isnan(right)], (0, 1)).all():
        raise ValueError("correct: expected True, False, or None where it is not known")
    if precision is not None and not 0 < precision <= 1:
        raise ValueError(f"precision: expected a share above 0 and at most 1, got {precision}")
    if folds < 2:
        raise ValueError(f"folds: expected at least 2, got {folds}")
    kept = ~(np.isnan(x) | np.isnan(y) | np.isnan(right))
    codes, groups = resampling.cluster_codes(clusters, kept)
    x, y, right = x[kept], y[kept], right[kept] == 1
    m, k = int(right.sum()), int((~right).sum())
    counted = {"n": len(x), "right": m, "wrong": k, "left_out": int((~kept).sum())}
    counted["objective"] = "balanced accuracy" if precision is None else f"right answers at precision {precision:g}"

    def undefined(reason: str) -> Thresholds:
        nothing = (math.nan, math.nan)
        return Thresholds(*nothing, nothing, nothing, {}, math.nan, **counted, status="undefined", reason=reason)

    if min(m, k) < FEW:
        return undefined(f"only {min(m, k)} {'right' if m < k else 'wrong'} answers, {FEW} of each are needed")
    if groups is not None and groups < 2:
        return undefined("one cluster: nothing is left to test on")
    used = spreads is not None
    chosen = _choose(*_cuts(x, y, used), x, y, right, np.ones(len(x)), precision)
    if chosen is None:
        return undefined(f"no limits reach a precision of {precision:g}")
    rng = np.random.default_rng(seed)
    accepted = np.zeros(len(x), dtype=bool)
    fold = _folds(right, codes, groups, min(folds, m, k), rng)
    for number in np.unique(fold):
        train, test = fold != number, fold == number
        found = None
        if right[train].any() and not right[train].all():
            cuts = _cuts(x[train], y[train], used)
            found = _choose(*cuts, x[train], y[train], right[train], np.ones(int(train.sum())), precision)
        if found is not None:  # without limits nothing is accepted
            accepted[test] = (x[test] > found[0]) & (y[test] < found[1])
    kept_clusters = None if groups is None else codes
    quality = rule_quality(accepted, right, kept_clusters, level=level, seed=seed)
    size = int(codes.max()) + 1
    cuts, drawn = _cuts(x, y, used), []
    for _ in range(replicates):
        weights = rng.multinomial(size, np.full(size, 1 / size))[codes].astype(float)
        if (weights @ right) and (weights @ ~right):
            drawn.append(_choose(*cuts, x, y, right, weights, precision) or (math.inf, 0.0))
    ends = (1 - level) / 2, (1 + level) / 2
    # Of the ordered values themselves: halfway between a limit and infinity there is nothing.
    low, high = np.quantile(np.array(drawn), ends, axis=0, method="nearest") if drawn else np.full((2, 2), math.nan)
    decided = (x > chosen[0]) & (y < chosen[1])
    return Thresholds(
        level=chosen[0],
        spread=chosen[1],
        level_range=(float(low[0]), float(high[0])),
        spread_range=(float(low[1]), float(high[1])),
        quality=quality,
        apparent=float((decided[right].mean() + (~decided[~right]).mean()) / 2),
        **counted,
        status="scored",
    )


def _between(values: np.ndarray) -> np.ndarray:
    """Limits halfway between neighbouring values, `_MOST_CUTS` of them at most."""
    values = np.unique(values)
    middle = (values[1:] + values[:-1]) / 2
    if len(middle) > _MOST_CUTS:
        middle = middle[np.linspace(0, len(middle) - 1, _MOST_CUTS).round().astype(int)]
    return middle


def _cuts(x: np.ndarray, y: np.ndarray, use_spread: bool) -> tuple[np.ndarray, np.ndarray]:
    spread = _between(y) if use_spread else np.array([])
    return np.concatenate([[-math.inf], _between(x)]), np.concatenate([spread, [math.inf]])


def _choose(
    level_cuts: np.ndarray,
    spread_cuts: np.ndarray,
    x: np.ndarray,
    y: np.ndarray,
    right: np.ndarray,
    weights: np.ndarray,
    precision: float | None,
) -> tuple[float, float] | None:
    """The best pair of limits, or None. All pairs are tried at once: counts in the cells of the grid, added up."""
    row = np.searchsorted(level_cuts, x, side="left")  # cuts below x: it passes the first `row`
    column = np.searchsorted(spread_cuts, y, side="right")  # cuts not above y: it passes those from `column` on
    shape = (len(level_cuts) + 1, len(spread_cuts))
    cell = row * shape[1] + column

    def passing(which: np.ndarray) -> np.ndarray:
        grid = np.bincount(cell[which], weights=weights[which], minlength=shape[0] * shape[1]).reshape(shape)
        return grid[::-1].cumsum(axis=0)[::-1].cumsum(axis=1)[1:]

    good, bad = passing(right), passing(~right)
    if precision is None:
        worth = good / weights[right].sum() - bad / weights[~right].sum()
    else:
        worth = np.where((good > 0) & (good >= (precision - 1e-12) * (good + bad)), good, -1.0)
        if worth.max() < 0:
            return None
    best = worth >= worth.max() - 1e-12
    j = int(np.flatnonzero(best.any(axis=0))[-1])
    i = int(np.flatnonzero(best[:, j])[-1])
    return float(level_cuts[i]), float(spread_cuts[j])


def _folds(
    right: np.ndarray, codes: np.ndarray, groups: int | None, folds: int, rng: np.random.Generator
) -> np.ndarray:
    """A fold number for each answer: both classes spread evenly, or whole clusters."""
    if groups is not None:
        return (rng.permutation(groups) % min(folds, groups))[codes]
    fold = np.empty(len(right), dtype=int)
    for which in (right, ~right):
        fold[rng.permutation(np.flatnonzero(which))] = np.arange(int(which.sum())) % folds
    return fold
