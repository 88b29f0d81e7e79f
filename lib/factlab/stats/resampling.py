"""What the statistics share: reading numbers and clusters, resampling, sign flips, signatures, tables of results.

Resampling draws whole clusters (source papers, batches), as many as there are, with replacement, and needs of each
cluster only a few sums. A replicate is therefore a row of counts, and all replicates are one matrix product, counts
times sums. `stats`, `comparisons` and `agreement` are built on this module; callers rarely need it themselves.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

if TYPE_CHECKING:
    import pandas as pd

FEW = 10  # fewer items, pairs or clusters than this are described, not tested
FEWEST = 5  # fewer items or clusters than this have no bootstrap interval
FEWEST_DIFFERING = 6  # fewer clusters that differ cannot give a sign-flip p below 0.05: 2 / 2**5 is 0.06
EXACT_FLIPS = 16  # up to 2**16 sign patterns are enumerated instead of sampled
_BLOCK = 2**16  # counts held at once: half a megabyte stays in the processor's cache (2**20: up to twice as slow)
_FLOATS = frozenset(
    ["value", "low", "high", "p", "level", "margin", "difference", "mean_a", "mean_b", "sd_a", "sd_b", "statistic"]
    + ["df", "df2", "p_lower", "p_upper", "p_mcnemar", "cohen_dz", "rank_biserial"]
    + ["p_f", "p_holm", "p_tost", "p_tost_holm", "sd"]
)
_COUNTS = frozenset(["n", "clusters", "left_out", "n_a", "n_b", "only_a", "only_b"])
_FLAGS = frozenset(["small", "applies", "equivalent", "differs"])


def numbers(values: ArrayLike | pd.Series, name: str = "values") -> np.ndarray:
    """Read a column of numbers; None, NaN and pandas.NA become NaN.

    Parameters
    ----------
    values : (n,) array, list or Series
    name : str
        What to call the column in an error.

    Returns
    -------
    (n,) array of float

    Raises
    ------
    ValueError
        When it is a table, or holds text, an infinite number or one beyond ±1e100; the row is named.
    """
    import pandas as pd

    array = np.asarray(column(values, name), dtype=object)
    if array.ndim != 1:
        raise ValueError(f"{name}: expected one column of numbers, got {array.ndim} dimensions {array.shape}")
    array = np.where(pd.isna(array), np.nan, array) if array.size else array
    try:
        out = array.astype(float)
    except (TypeError, ValueError, OverflowError):
        row = next(i for i, value in enumerate(array) if not _is_number(value))
        raise ValueError(
            f"{name}, row {row}: {_shown(array[row])} is not a number; convert or leave it out first"
        ) from None
    if np.isinf(out).any():
        raise ValueError(f"{name}, row {int(np.isinf(out).argmax())}: the number is infinite")
    if (large := np.abs(np.nan_to_num(out)) > 1e100).any():
        # Their squares and cubes would overflow far from here.
        raise ValueError(f"{name}, row {int(large.argmax())}: {out[large.argmax()]:g} is too large; change the unit")
    return out


def column(values: Any, name: str) -> Any:
    """Values as something with a length and an order; a generator is read into a list.

    Raises
    ------
    ValueError
        For what is no column: one number, text, a set, a dictionary, None.
    """
    if isinstance(values, Iterator):
        return list(values)
    if not isinstance(values, Iterable) or isinstance(values, str | bytes | Mapping | Set) or np.ndim(values) == 0:
        kind = "None" if values is None else f"{type(values).__name__} {str(values)[:40]!r}"
        raise ValueError(f"{name}: expected a column (a list, an array, a Series), got {kind}")
    return values if hasattr(values, "__len__") else list(values)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:60] + "…"


def _is_number(value: object) -> bool:
    try:
        float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def check_pairs(a: Any, b: Any, names: tuple[str, str] = ("a", "b")) -> None:
    """Refuse two columns that cannot be paired row by row.

    Rows are paired by position. Two Series whose labels are the same but in another order, or overlap in part, are
    refused, since pairing those by position compares different items.

    Raises
    ------
    ValueError
    """
    first, second = names
    if len(column(a, first)) != len(column(b, second)):
        raise ValueError(
            f"{first} has {len(a)} rows and {second} has {len(b)}: paired columns need one row for each item in both"
        )
    left, right = getattr(a, "index", None), getattr(b, "index", None)
    if not hasattr(left, "equals") or not hasattr(right, "equals") or left.equals(right):
        return
    if len(left.intersection(right)):
        raise ValueError(
            f"{first} and {second} have different row labels; bring them into one order first, "
            f"e.g. {first}, {second} = {first}.align({second})"
        )


def pairs(a: ArrayLike | pd.Series, b: ArrayLike | pd.Series) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Read two paired columns of numbers.

    Returns
    -------
    a, b : (n,) arrays of float
        The complete pairs.
    kept : (rows,) array of bool
        True where both numbers are there.
    """
    a, b = column(a, "a"), column(b, "b")
    check_pairs(a, b)
    a, b = numbers(a, "a"), numbers(b, "b")
    kept = ~(np.isnan(a) | np.isnan(b))
    return a[kept], b[kept], kept


def cluster_codes(clusters: ArrayLike | pd.Series | None, kept: np.ndarray) -> tuple[np.ndarray, int | None]:
    """Number the clusters of the rows that are kept.

    Parameters
    ----------
    clusters : (rows,) array or None
        One label a row (a paper, a batch); None makes every row its own cluster.
    kept : (rows,) array of bool

    Returns
    -------
    codes : (n,) array of int
        From 0.
    clusters : int or None
        How many; None when there were no labels.

    Raises
    ------
    ValueError
        When the lengths differ or a kept row has no label.
    """
    import pandas as pd

    if clusters is None:
        return np.arange(int(kept.sum())), None
    given = column(clusters, "clusters")
    if np.ndim(given) > 1 and not isinstance(given, list | tuple):
        raise ValueError(f"clusters: expected one column of labels, got a table of shape {np.shape(given)}")
    # Element by element: numpy would make a table of labels that are tuples.
    labels = pd.Series(np.fromiter(given, dtype=object, count=len(given)))
    if len(labels) != len(kept):
        raise ValueError(f"clusters has {len(labels)} rows, the values have {len(kept)}: one label a row is needed")
    missing = labels.isna().to_numpy() & kept
    if missing.any():
        raise ValueError(f"clusters, row {int(missing.argmax())}: no label; give each row its source, or leave it out")
    try:
        codes, names = pd.factorize(labels[kept])
    except TypeError:
        raise ValueError("clusters: a label must be text, a number or a tuple, not a list or a dictionary") from None
    return codes, len(names)


def cluster_sums(columns: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Add up rows by cluster: (n, m) columns to (clusters, m) sums."""
    groups = int(codes.max(initial=-1)) + 1
    return np.column_stack([np.bincount(codes, weights=one, minlength=groups) for one in columns.T])


def bootstrap_sums(sums: np.ndarray, replicates: int = 4000, seed: int = 0) -> np.ndarray:
    """Draw clusters with replacement and add up their sums.

    Parameters
    ----------
    sums : (clusters, m) array
        What each cluster adds to m totals.
    replicates : int
    seed : int

    Returns
    -------
    (replicates, m) array
        counts @ sums, with counts of shape (replicates, clusters) multinomial: `clusters` draws, all equally likely.

    Notes
    -----
    The matrix product is done in blocks of some 65,000 counts, so memory does not grow with the number of replicates.
    Clusters are sorted by their sums, which makes the result independent of the order of the rows. Those with equal
    sums are exchangeable: where few differ (0/1 values, fractions of ten units) the counts of each kind are drawn. Where
    only one column varies (each item its own cluster) the product with its counts is taken as a sum over what was drawn.
    """
    sums = np.asarray(sums, dtype=float)
    if replicates < 1 or replicates % 1:
        raise ValueError(f"replicates: expected a whole number of at least 1, got {replicates}")
    replicates = int(replicates)
    draws = len(sums)
    rng = np.random.default_rng(seed)
    rows, repeats = np.unique(sums, axis=0, return_counts=True)
    few = len(rows) * 10 < draws  # a binomial number costs as much as some ten index numbers
    varying = np.flatnonzero(np.ptp(rows, axis=0)) if draws else np.arange(0)
    if not few:
        rows = np.repeat(rows, repeats, axis=0)
    out = np.empty((replicates, rows.shape[1]))
    if draws:
        out[:] = draws * rows[0]  # right for a column that does not vary, such as the sizes of equal clusters
    block = max(1, _BLOCK // max(1, len(rows)))
    for start in range(0, replicates, block):
        size = min(block, replicates - start)
        if few:
            counts = rng.multinomial(draws, repeats / draws, size=size)
            out[start : start + size] = counts.astype(float) @ rows
            continue
        drawn = rng.integers(0, draws, size=(size, draws))
        if len(varying) <= 1:  # adding up what was drawn costs less than counting it first
            for column in varying:
                out[start : start + size, column] = rows[:, column].take(drawn).sum(axis=1)
            continue
        drawn += np.arange(size)[:, None] * draws
        counts = np.bincount(drawn.ravel(), minlength=size * draws).reshape(size, draws)
        out[start : start + size] = counts.astype(float) @ rows
    return out


def wilson(k: float, n: float, level: float) -> tuple[float, float]:
    """Wilson's score interval of a share k / n (Wilson 1927, JASA 22:209), from statsmodels."""
    from statsmodels.stats.proportion import proportion_confint

    low, high = proportion_confint(k, n, alpha=1 - level, method="wilson")
    return (0.0 if k <= 0 else float(low)), (1.0 if k >= n else float(high))


def mean_interval(
    sums: np.ndarray, sizes: np.ndarray, level: float, replicates: int, seed: int
) -> tuple[float | None, float | None]:
    """Bootstrap interval of a mean over clusters, sum(sums) / sum(sizes).

    Parameters
    ----------
    sums, sizes : (clusters,) arrays
        Sum and number of the values in each cluster.
    level : float
        Share of intervals that should hold the true mean, e.g. 0.95.
    replicates, seed : int

    Returns
    -------
    low, high : float, or None where every replicate gives the same mean

    Notes
    -----
    BCa (Efron 1987, JASA 82:171, bias-corrected and accelerated percentiles) with the percentiles moved outwards by
    sqrt(K / (K - 1)) * t(K - 1) instead of the normal quantile (Hesterberg 2015, The American Statistician 69:371,
    "expanded percentile"), K clusters. The interval never leaves the range of the data, so a rate stays in 0..1.
    Studentised intervals cover better with few clusters, but at the price of limits outside 0..1 and, with five, of
    boundless width. Simulated coverage of the 95 % interval, plain percentile / this one, in percent (1,000 runs;
    clusters of 4 values on average, each the share of 10 units; rates of clusters from a beta distribution with
    alpha + beta = 3):

        clusters      5         10        20        50        200
        mean 0.4   83 / 91   91 / 96   91 / 94   93 / 93   96 / 96
        mean 0.9   72 / 81   84 / 90   88 / 92   92 / 93   94 / 95

    With 2, 3 and 4 clusters this interval covers in 52, 76 and 86 of 100 cases at a mean of 0.4, and in 61, 73 and 82 at
    0.9: callers give none below `FEWEST`.
    """
    from scipy.stats import norm, t

    k = len(sums)
    value = sums.sum() / sizes.sum()
    replicated = bootstrap_sums(np.column_stack([sums, sizes]), replicates, seed)
    means = replicated[:, 0] / replicated[:, 1]
    tiny = 1e-12 * max(1.0, abs(value))
    if np.ptp(means) <= tiny:
        return None, None
    influence = sums - value * sizes
    acceleration = (influence**3).sum() / (6 * (influence**2).sum() ** 1.5)
    below, equal = (means < value - tiny).mean(), (np.abs(means - value) <= tiny).mean()
    bias = norm.ppf(np.clip(below + equal / 2, 1 / replicates, 1 - 1 / replicates))
    reach = t.ppf((1 + level) / 2, k - 1) * math.sqrt(k / (k - 1))
    z = bias + np.array([-reach, reach])
    shares = norm.cdf(bias + z / np.maximum(1 - acceleration * z, 0.05))
    low, high = np.quantile(means, shares)
    return float(low), float(high)


def rare_interval(sums: np.ndarray, sizes: np.ndarray, level: float, bound: float = 1.0) -> tuple[float, float]:
    """Interval of a mean over clusters of differences that are nearly all 0.

    Parameters
    ----------
    sums, sizes : (clusters,) arrays
        Sum and number of the differences in each cluster.
    level : float
        At least this share of intervals holds the true mean.
    bound : float
        The largest difference there can be, in either direction.

    Returns
    -------
    low, high : float
        Around 0 always: −bound times the upper limit of the share of clusters below 0, and bound times that of those above.

    Notes
    -----
    A mean difference lies between −bound P(d < 0) and bound P(d > 0); the limits of both shares are Clopper and Pearson's (1934), each
    at 1 − (1 − level) / 2. Where clusters are not of one size the shares are raised by the largest size over the mean. Errs on the wide
    side, since a difference is rarely as large as can be. Simulated for `compare`, which takes this interval where fewer than
    `FEWEST_DIFFERING` clusters differ, against the bootstrap alone: coverage of the 95 % interval, and how many intervals leave
    0 out though the sign flips give p above 0.05, in percent (2,000 samples in which any cluster differs, differences −1, 0, 1):

        clusters                             10                   20                   50
        1 of 20 differ, either way   100 / 100, 0 / 0      98 / 100, 2 / 0      91 / 100, 9 / 0
        1 of 20 differ, one way      100 / 100, 0 / 0     100 / 100, 2 / 0      98 / 98, 45 / 0
        1 of 5 differ, either way     99 / 100, 1 / 0      92 / 99, 7 / 1       95 / 95, 3 / 2
        1 of 5 differ, one way       100 / 100, 13 / 0    100 / 100, 40 / 0     97 / 97, 5 / 0
        1 of 2 differ, one way        98 / 98, 47 / 0      99 / 97, 2 / 0       96 / 96, 0 / 0
    """
    from scipy.stats import beta

    k = len(sums)
    uneven = float(sizes.max() / sizes.mean())
    below, above = (
        1.0 if hits == k else float(beta.ppf((1 + level) / 2, hits + 1, k - hits))
        for hits in (int((sums < 0).sum()), int((sums > 0).sum()))
    )
    return -bound * min(1.0, uneven * below), bound * min(1.0, uneven * above)


def sign_flip(sums: np.ndarray, replicates: int = 4000, seed: int = 0) -> tuple[float, str]:
    """Two-sided permutation test of paired differences: under the null each cluster's sign is a coin toss.

    Parameters
    ----------
    sums : (clusters,) array
        Sum of the differences in each cluster (each pair its own cluster: the differences).
    replicates, seed : int
        For the Monte-Carlo test.

    Returns
    -------
    p : float
        Share of sign patterns with a sum at least as far from 0 as the observed one. Exact with up to 16 sums other
        than 0; else (1 + hits) / (1 + replicates), which is never 0 (Phipson and Smyth 2010).
    method : str
    """
    sizes = np.sort(np.abs(sums[sums != 0]))
    k, total = len(sizes), sizes.sum()
    observed = abs(sums.sum()) - 1e-9 * total  # rounding must not turn a tie into a miss
    if k <= EXACT_FLIPS:
        patterns = (np.arange(2**k)[:, None] >> np.arange(k)) & 1
        return float((np.abs(2 * (patterns @ sizes) - total) >= observed).mean()), "sign flips, exact"
    replicates = int(replicates)
    rng = np.random.default_rng(seed)
    hits, block = 0, max(1, _BLOCK // k)
    for start in range(0, replicates, block):
        size = min(block, replicates - start)
        bits = np.unpackbits(np.frombuffer(rng.bytes(size * (k // 8 + 1)), np.uint8).reshape(size, -1), axis=1)[:, :k]
        hits += int((np.abs(2 * (bits.astype(float) @ sizes) - total) >= observed).sum())
    return (1 + hits) / (1 + replicates), f"sign flips, {replicates} random"


def signature(method: str, **parts: Any) -> str:
    """Write down how a number was made, in the manner of sacrebleu: `dahl|subject:local/smollm2|n:58|seed:0|v:0.1.0`.

    Parameters
    ----------
    method : str
        The score, e.g. `dahl`.
    **parts
        What another person needs to get the same number, in the order given; None is left out. The version of the
        library comes last, unless `v` is given. A bar inside a part becomes a slash, since the bar separates parts.

    Returns
    -------
    str
    """
    from factlab import __version__

    version = parts.pop("v", __version__)
    written = [f"{name}:{_part(value)}" for name, value in {**parts, "v": version}.items() if value is not None]
    return "|".join([_part(method), *written])


def _part(value: Any) -> str:
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return " ".join(text.replace("|", "/").split())


def is_constant(values: np.ndarray) -> bool:
    """Whether all values are equal, apart from rounding (one part in 10^12)."""
    return values.size > 0 and bool(np.ptp(values) <= 1e-12 * max(1.0, float(np.abs(values).max())))


def table(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """A table of results in which what is undefined is a missing value (`<NA>`), never NaN.

    Known columns of numbers are pandas `Float64`, known counts `Int64`, so that an undefined one needs no stand-in;
    `numpy.asarray(column, float)` gives NaN there, for plotting.
    """
    import pandas as pd

    columns = {}
    for name in rows[0] if rows else ():
        values = [_plain(row[name]) for row in rows]
        kinds = {"Float64": name in _FLOATS, "Int64": name in _COUNTS, "boolean": name in _FLAGS}
        kind = next((kind for kind, wanted in kinds.items() if wanted), None)
        columns[name] = pd.array(values, dtype=kind) if kind else values
    return pd.DataFrame(columns)


def _plain(value: Any) -> Any:
    return None if isinstance(value, float | np.floating) and not math.isfinite(value) else value
