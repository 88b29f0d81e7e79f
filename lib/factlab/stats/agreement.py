"""How two columns go together: correlation of scores, agreement of labels.

DAHL section 5.3 correlates its score with human annotation; a judge audit compares verdicts with labels. A coefficient
that is undefined (constant input, too few items) has a reason instead of a number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from factlab.stats import resampling
from factlab.stats.resampling import FEW, is_constant, table

if TYPE_CHECKING:
    import pandas as pd

Level = Literal["nominal", "ordinal", "interval"]


def pearson_p(r: float, n: int) -> float:
    """Two-sided p-value of a Pearson correlation.

    Parameters
    ----------
    r : float
        In [-1, 1].
    n : int
        Pairs, at least 3.

    Returns
    -------
    float
        P(|T| >= t) with t = r sqrt((n − 2) / (1 − r²)) and n − 2 degrees of freedom. DAHL section 5.3: r = 0.5508 of 99
        responses gives 3.49e-9.
    """
    if not (-1 <= r <= 1 and n >= 3):
        raise ValueError(f"pearson_p: expected -1 <= r <= 1 and n >= 3, got r = {r}, n = {n}")
    if abs(r) == 1:
        return 0.0
    from scipy.stats import t

    return float(2 * t.sf(abs(r) * math.sqrt((n - 2) / (1 - r * r)), n - 2))


def correlation(
    a: ArrayLike | pd.Series,
    b: ArrayLike | pd.Series,
    clusters: ArrayLike | pd.Series | None = None,
    *,
    level: float = 0.95,
    replicates: int = 1000,
    seed: int = 0,
) -> pd.DataFrame:
    """Pearson's r, Spearman's rho and Kendall's tau-b of two paired columns.

    Parameters
    ----------
    a, b : (n,) arrays
        Scores of the same items in the same order; pairs with an undefined score are left out and counted.
    clusters : (n,) array, optional
        What the items were drawn from.
    level : float
    replicates, seed : int
        Of the cluster bootstrap.

    Returns
    -------
    DataFrame
        Rows `pearson`, `spearman`, `kendall`, with columns coefficient, value, low, high, p (two-sided, against 0), n,
        clusters, left_out, level, method (of interval and p), status, reason.

    Notes
    -----
    Without clusters: tanh(atanh(value) ± z · se) with se = 1 / sqrt(n − 3) for Pearson (Fisher), sqrt((1 + rho² / 2) /
    (n − 3)) for Spearman and sqrt(0.437 / (n − 4)) for Kendall (Bonett and Wright 2000, Psychometrika 65:23); p from
    scipy `pearsonr`, `spearmanr`, `kendalltau`. With clusters: the same with the standard deviation of atanh(value)
    over bootstrap replicates that draw whole clusters, and t with K − 1 degrees of freedom instead of z, for interval
    and p alike.
    """
    a, b, kept = resampling.pairs(a, b)
    codes, groups = resampling.cluster_codes(clusters, kept)
    n = len(a)
    common = {"n": n, "clusters": groups, "left_out": int((~kept).sum()), "level": level}
    reason = "n too small" if n < 4 else "constant input" if is_constant(a) or is_constant(b) else ""
    if not reason and groups == 1:
        reason = "one cluster"
    empty = {"value": None, "low": None, "high": None, "p": None}
    if reason:
        note = {**common, "method": "", "status": "undefined", "reason": reason}
        return table([{"coefficient": name, **empty, **note} for name in _COEFFICIENTS])

    from scipy.stats import norm, t

    replicated = None if groups is None else _replicated(a, b, codes, groups, replicates, seed)
    rows = []
    for number, (name, function) in enumerate(_COEFFICIENTS.items()):
        value, p = function(a, b)
        row = {"coefficient": name, **empty, "value": value, "p": p, **common, "status": "scored", "reason": ""}
        se, reach, row["method"] = _FISHER[name](value, n), norm.ppf((1 + level) / 2), "Fisher z"
        if replicated is not None:
            drawn = replicated[:, number]
            drawn = np.arctanh(np.clip(drawn[np.isfinite(drawn)], -1 + 1e-9, 1 - 1e-9))
            # A replicate that drew one cluster only may be constant; when most are, there is nothing to go by.
            se = float(drawn.std(ddof=1)) if len(drawn) > replicates / 2 else None
            reach, row["method"] = t.ppf((1 + level) / 2, groups - 1), f"Fisher z, cluster bootstrap, {replicates}"
            row["p"] = float(2 * t.sf(abs(np.arctanh(value)) / se, groups - 1)) if se and abs(value) < 1 else None
            if groups < FEW:
                row["reason"] = f"only {groups} clusters: the interval is likely too narrow"
        if abs(value) == 1 or not se:
            row["reason"] = f"no interval: {'perfect correlation' if abs(value) == 1 else 'n too small'}"
        else:
            row["low"], row["high"] = (math.tanh(math.atanh(value) + s * reach * se) for s in (-1, 1))
        rows.append(row)
    return table(rows)


def _unrounded(value: float) -> float:
    """A perfect correlation as ±1, without the rounding error."""
    return math.copysign(1.0, value) if abs(value) > 1 - 1e-12 else float(value)


def _pearson(a: np.ndarray, b: np.ndarray) -> tuple[float, float]:
    from scipy.stats import pearsonr

    value = _unrounded(pearsonr(a, b).statistic)
    return value, pearson_p(value, len(a))


def _spearman(a: np.ndarray, b: np.ndarray) -> tuple[float, float]:
    from scipy.stats import spearmanr

    found = spearmanr(a, b)
    return _unrounded(found.statistic), float(found.pvalue)


def _kendall(a: np.ndarray, b: np.ndarray) -> tuple[float, float]:
    from scipy.stats import kendalltau

    found = kendalltau(a, b)
    return _unrounded(found.statistic), float(found.pvalue)


_COEFFICIENTS: dict[str, Callable[[np.ndarray, np.ndarray], tuple[float, float]]] = {
    "pearson": _pearson,
    "spearman": _spearman,
    "kendall": _kendall,
}
_FISHER: dict[str, Callable[[float, int], float | None]] = {
    "pearson": lambda value, n: 1 / math.sqrt(n - 3),
    "spearman": lambda value, n: math.sqrt((1 + value**2 / 2) / (n - 3)),
    "kendall": lambda value, n: math.sqrt(0.437 / (n - 4)) if n > 4 else None,
}


def _replicated(a: np.ndarray, b: np.ndarray, codes: np.ndarray, groups: int, replicates: int, seed: int) -> np.ndarray:
    """Coefficients of bootstrap samples, (replicates, 3); ranks are taken anew in each, so this is a loop."""
    from scipy.stats import kendalltau, rankdata

    rng = np.random.default_rng(seed)
    out = np.empty((replicates, len(_COEFFICIENTS)))
    for i in range(replicates):
        times = np.bincount(rng.integers(0, groups, size=groups), minlength=groups)[codes]
        x, y = np.repeat(a, times), np.repeat(b, times)
        if is_constant(x) or is_constant(y):
            out[i] = math.nan
            continue
        ranks = rankdata(x), rankdata(y)
        tau = kendalltau(*ranks, method="asymptotic").statistic
        out[i] = np.corrcoef(x, y)[0, 1], np.corrcoef(*ranks)[0, 1], tau
    return out


def confusion(a: Sequence[Hashable], b: Sequence[Hashable]) -> pd.DataFrame:
    """How often each label of a meets each label of b.

    Parameters
    ----------
    a, b : (n,) sequences of labels
        Labels of the same items in the same order. Pairs with a missing label (None, NaN) are left out.

    Returns
    -------
    DataFrame
        Square: labels of both in sorted order as rows (a) and columns (b), counts as values.
    """
    import pandas as pd

    x, y, labels, _ = _labelled(a, b)
    cells = _tables(x, y, len(labels)).sum(axis=0).reshape(len(labels), -1).astype(int)
    return pd.DataFrame(cells, index=pd.Index(labels, name="a"), columns=pd.Index(labels, name="b"))


def agreement(
    a: Sequence[Hashable],
    b: Sequence[Hashable],
    clusters: ArrayLike | pd.Series | None = None,
    *,
    scale: Level = "nominal",
    labels: Sequence[Hashable] | None = None,
    level: float = 0.95,
    replicates: int = 4000,
    seed: int = 0,
) -> pd.DataFrame:
    """How far two raters agree, raw and beyond chance.

    Parameters
    ----------
    a, b : (n,) sequences of labels
        Labels of the same items in the same order (a judge's verdicts, a person's labels). Pairs with a missing label
        (None, NaN) are left out and counted.
    clusters : (n,) array, optional
        What the items were drawn from.
    scale : {"nominal", "ordinal", "interval"}
        How Krippendorff's alpha weighs disagreements.
    labels : sequence, optional
        All labels in their order, for an ordinal scale of words.
    level : float
    replicates, seed : int
        Of the bootstrap.

    Returns
    -------
    DataFrame
        Rows `raw agreement`, `cohen_kappa`, `krippendorff_alpha`, with columns measure, value, low, high, n, clusters,
        left_out, level, method, status, reason. When both raters gave one and the same label throughout, kappa and
        alpha are undefined and the reason gives the raw agreement.

    Notes
    -----
    Raw agreement p_o: share of equal pairs, with Wilson's interval. Kappa = (p_o − p_e) / (1 − p_e), p_e the agreement
    expected from the two raters' label shares (Cohen 1960), with the asymptotic interval of Fleiss, Cohen and Everitt
    (1969) from statsmodels `cohens_kappa`. Alpha: see `krippendorff_alpha`, with a percentile bootstrap over items.
    With clusters, all three intervals are percentile bootstraps over clusters. Below ten items or clusters, kappa and
    alpha have no interval.
    """
    x, y, names, kept = _labelled(a, b, labels)
    codes, groups = resampling.cluster_codes(clusters, kept)
    n, size = len(x), len(names)
    common = {"n": n, "clusters": groups, "left_out": int((~kept).sum()), "level": level}
    nothing = {"value": None, "low": None, "high": None, "method": "", "status": "undefined"}
    measures = ("raw agreement", "cohen_kappa", "krippendorff_alpha")
    if n == 0:
        return _arranged([{"measure": m, **nothing, **common, "reason": "no complete pair"} for m in measures])

    cells = resampling.cluster_sums(_tables(x, y, size), codes)
    total = cells.sum(axis=0).reshape(size, size)
    independent = n if groups is None else groups
    values = (_raw(total), _kappa(total), _alpha(total + total.T, _positions(names, scale), scale))
    drawn = None
    if independent > 1:
        drawn = resampling.bootstrap_sums(cells, replicates, seed).reshape(-1, size, size)
    shares = (1 - level) / 2, (1 + level) / 2
    rows = []
    for measure, value in zip(measures, map(float, values), strict=True):
        row = {"measure": measure, **nothing, **common, "value": value, "status": "scored", "reason": ""}
        if math.isnan(value):
            reason = f"one label only; raw agreement is {float(values[0]):.2f} of {n} pairs"
            rows.append({**row, "value": None, "status": "undefined", "reason": reason})
            continue
        if groups is None and measure == "raw agreement":
            low, high = resampling.wilson(np.trace(total), n, level)
            row |= {"low": low, "high": high, "method": "Wilson"}
        elif independent < FEW:
            row["reason"] = f"no interval: only {independent} {'pairs' if groups is None else 'clusters'}"
        elif np.trace(total) == n:
            row["reason"] = "no interval: agreement is perfect"
        elif groups is None and measure == "cohen_kappa":
            from scipy.stats import norm
            from statsmodels.stats.inter_rater import cohens_kappa

            with np.errstate(invalid="ignore", divide="ignore"):  # its test of kappa = 0, not used here
                reach = norm.ppf(shares[1]) * float(cohens_kappa(total).std_kappa)
            row |= {"low": max(-1.0, value - reach), "high": min(1.0, value + reach), "method": "Fleiss-Cohen-Everitt"}
        else:
            function = {"raw agreement": _raw, "cohen_kappa": _kappa}.get(measure)
            positions = _positions(names, scale)
            found = function(drawn) if function else _alpha(drawn + drawn.swapaxes(1, 2), positions, scale)
            low, high = np.quantile(found[np.isfinite(found)], shares)
            row |= {"low": low, "high": high, "method": f"bootstrap, percentile, {replicates} replicates"}
        if row["low"] is not None and row["high"] - row["low"] < 1e-12:
            row |= {"low": None, "high": None, "reason": "no interval: one rater gave one label only"}
        rows.append(row)
    return _arranged(rows)


def _arranged(rows: list[dict[str, Any]]) -> pd.DataFrame:
    order = ["measure", "value", "low", "high", "n", "clusters", "left_out", "level", "method", "status", "reason"]
    return table([{name: row[name] for name in order} for row in rows])


def _labelled(
    a: Sequence[Hashable], b: Sequence[Hashable], labels: Sequence[Hashable] | None = None
) -> tuple[np.ndarray, np.ndarray, list[Hashable], np.ndarray]:
    """Label numbers of the complete pairs, the labels in order, and which rows are complete."""
    import pandas as pd

    a, b = resampling.column(a, "a"), resampling.column(b, "b")
    resampling.check_pairs(a, b)
    both = [np.fromiter((_python(v) for v in column), dtype=object, count=len(column)) for column in (a, b)]
    kept = ~(pd.isna(both[0]) | pd.isna(both[1]))
    x, y = both[0][kept], both[1][kept]
    kinds = [{_kind(v) for v in column} for column in (x, y)]
    if kept.any() and not kinds[0] & kinds[1]:
        raise ValueError(f"a holds {' and '.join(kinds[0])}, b holds {' and '.join(kinds[1])}: no label can agree")
    names = list(labels) if labels is not None else sorted({*x, *y}, key=lambda v: (_kind(v), v))
    number = {name: i for i, name in enumerate(names)}
    unknown = [v for v in [*x, *y] if v not in number]
    if unknown:
        raise ValueError(f"label {unknown[0]!r} is not one of labels: {', '.join(map(repr, names))}")
    numbered = [np.array([number[v] for v in column], dtype=int) for column in (x, y)]
    return numbered[0], numbered[1], names, kept


def _python(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _kind(value: Any) -> str:
    return "number" if isinstance(value, int | float) else type(value).__name__


def _tables(x: np.ndarray, y: np.ndarray, size: int) -> np.ndarray:
    """One flattened confusion table an item, (n, size * size)."""
    out = np.zeros((len(x), size * size))
    out[np.arange(len(x)), x * size + y] = 1
    return out


def _raw(tables: np.ndarray) -> np.ndarray:
    return np.trace(tables, axis1=-2, axis2=-1) / tables.sum(axis=(-2, -1))


def _kappa(tables: np.ndarray) -> np.ndarray:
    n = tables.sum(axis=(-2, -1))
    expected = (tables.sum(axis=-1) * tables.sum(axis=-2)).sum(axis=-1) / n**2
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(np.isclose(expected, 1), math.nan, (_raw(tables) - expected) / (1 - expected))


def krippendorff_alpha(ratings: ArrayLike, level: Level = "nominal", labels: Sequence[Hashable] | None = None) -> float:
    """Krippendorff's alpha: agreement of any number of raters, beyond chance, with missing ratings.

    Parameters
    ----------
    ratings : (raters, items) array or list of lists
        Labels or numbers; None or NaN where a rater did not rate the item.
    level : {"nominal", "ordinal", "interval"}
        Level of measurement, that is what a disagreement between c and k weighs: 1; the squared number of ratings
        between them, half of those at c and k included; (c − k)².
    labels : sequence, optional
        All labels in their order, for an ordinal scale of words.

    Returns
    -------
    float
        1: perfect agreement, 0: chance, below 0: less than chance. NaN when no item has two ratings or all ratings in
        such items are equal (no disagreement was possible).

    Notes
    -----
    Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability". With n_uc raters who gave item u the value c, of
    m_u ratings: coincidences o_ck = Σ_u n_uc (n_uk − [c = k]) / (m_u − 1), n_c = Σ_k o_ck, n = Σ_c n_c,
    alpha = 1 − (n − 1) Σ o_ck δ²_ck / Σ n_c n_k δ²_ck. Items with fewer than two ratings do not count.
    """
    import pandas as pd

    ratings = ratings.to_numpy(dtype=object) if isinstance(ratings, pd.DataFrame) else ratings
    rows = [[_python(value) for value in row] for row in ratings]
    if not rows or len({len(row) for row in rows}) > 1:
        raise ValueError("ratings: each rater needs one entry an item, None where there is no rating")
    given = {value for row in rows for value in row if not pd.isna(value)}
    names = list(labels) if labels is not None else sorted(given, key=lambda v: (_kind(v), v))
    if given - set(names):
        raise ValueError(
            f"label {next(iter(given - set(names)))!r} is not one of labels: {', '.join(map(repr, names))}"
        )
    if not given:
        return math.nan
    counts = np.array([[sum(row[u] == name for row in rows) for name in names] for u in range(len(rows[0]))], float)
    counts = counts[counts.sum(axis=1) >= 2]
    if not counts.size:
        return math.nan
    weights = 1 / (counts.sum(axis=1) - 1)
    coincidences = (counts * weights[:, None]).T @ counts - np.diag((counts * weights[:, None]).sum(axis=0))
    return float(_alpha(coincidences, _positions(names, level), level))


def _positions(names: Sequence[Hashable], scale: Level) -> np.ndarray:
    """Where the labels lie on an interval scale; on the others their number in order is enough."""
    if scale not in ("nominal", "ordinal", "interval"):
        raise ValueError(f"scale: expected nominal, ordinal or interval, got {scale!r}")
    if scale != "interval":
        return np.arange(len(names), dtype=float)
    return resampling.numbers(list(names), "labels")


def _alpha(coincidences: np.ndarray, positions: np.ndarray, scale: Level) -> np.ndarray:
    """Alpha of coincidence tables (…, labels, labels)."""
    sizes = coincidences.sum(axis=-1)
    n = sizes.sum(axis=-1)
    if scale == "nominal":
        distance = 1 - np.eye(len(positions))
    else:
        # Ordinal: the ratings from c to k, half of both ends, are the distance between the mid-ranks of c and k.
        place = np.cumsum(sizes, axis=-1) - sizes / 2 if scale == "ordinal" else positions
        distance = (place[..., :, None] - place[..., None, :]) ** 2
    observed = (coincidences * distance).sum(axis=(-2, -1))
    expected = (sizes[..., :, None] * sizes[..., None, :] * distance).sum(axis=(-2, -1))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(expected > 0, 1 - (n - 1) * observed / expected, math.nan)
