"""`Estimate`, a value that never travels without its interval, and how one is made from items, clusters or groups."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from factlab.stats import resampling
from factlab.stats.resampling import FEW, FEWEST, is_constant, signature, table

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Estimate:
    """A number with what is needed to judge it.

    Attributes
    ----------
    value : float or None
        None when undefined.
    low, high : float or None
        Limits of the interval; None when there is none, and `reason` says why.
    level : float
        Confidence level of the interval, in (0, 1).
    n : int
        Items behind the value.
    clusters : int or None
        Clusters (source papers, batches) that were resampled; None when each item was its own.
    method : str
        How the interval was made.
    status : str
        `scored`, or `undefined` when there is no value.
    reason : str
        Why the value or the interval is undefined, or what to distrust; empty when there is nothing to say.
    counts : dict of str to int
        Items left out, by status (`refused`, `unknown`, …).
    signature : str
        See `signature`.
    unit : str
        What is counted, in the plural: `answers`, `items`.

    Notes
    -----
    NaN is stored as None, so that the result can be written as JSON. An estimate without a value is `undefined`.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    level: float = 0.95
    n: int = 0
    clusters: int | None = None
    method: str = ""
    status: str = "scored"
    reason: str = ""
    counts: Mapping[str, int] = field(default_factory=dict, hash=False)
    signature: str = ""
    unit: str = "items"

    def __post_init__(self) -> None:
        for name in ("value", "low", "high"):
            number = getattr(self, name)
            undefined = number is None or not math.isfinite(number)
            object.__setattr__(self, name, None if undefined else float(number))
        kept = {str(name): int(n) for name, n in dict(self.counts).items() if n and name != "scored"}
        object.__setattr__(self, "counts", kept)
        object.__setattr__(self, "n", int(self.n))
        object.__setattr__(self, "clusters", None if self.clusters is None else int(self.clusters))
        if self.value is None and self.status == "scored":
            object.__setattr__(self, "status", "undefined")

    @property
    def left_out(self) -> int:
        """Number of items left out, for any reason."""
        return sum(self.counts.values())

    def outcomes(self) -> str:
        """What was left out, most frequent first: `6 refused, 3 unknown`."""
        ordered = sorted(self.counts.items(), key=lambda item: (-item[1], item[0]))
        return ", ".join(f"{n:,} {name}" for name, n in ordered)

    def __float__(self) -> float:
        return math.nan if self.value is None else self.value

    def __str__(self) -> str:
        unit = self.unit.removesuffix("s") if self.n == 1 else self.unit
        counted = f"{self.n:,} {unit}"
        if self.left_out:
            counted += f", {self.left_out:,} left out: {self.outcomes()}"
        if self.value is None:
            return f"undefined: {self.reason or 'no value'}, {counted}"
        if self.low is None or self.high is None:
            return f"{_decimal(self.value)} (no interval: {self.reason or 'not estimated'}), {counted}"
        digits = next((d for d in (2, 3) if self.high - self.low >= 2 * 10.0**-d), 4)
        numbers = [_decimal(number, digits) for number in (self.value, self.low, self.high)]
        note = f" ({self.reason})" if self.reason else ""
        return f"{numbers[0]} [{numbers[1]}, {numbers[2]}], {counted}{note}"

    def _repr_html_(self) -> str:
        clusters = None if self.clusters is None else f"{self.clusters:,} clusters"
        level = None if self.low is None else f"{self.level:.3g} interval"
        how = "; ".join(part for part in (level, self.method, clusters, self.signature) if part)
        return f'<span class="estimate" title="{html.escape(how)}">{html.escape(str(self))}</span>'

    def to_dict(self) -> dict[str, Any]:
        """The fields as a dictionary that `json.dumps(…, allow_nan=False)` accepts."""
        return asdict(self)

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Estimate:
        """The estimate that `to_dict` wrote.

        Raises
        ------
        ValueError
            When the record has no value or a field that an estimate does not know.
        """
        unknown = sorted(set(record) - {f.name for f in fields(cls)})
        if unknown or "value" not in record:
            raise ValueError(f"not an estimate: {'unknown field ' + ', '.join(unknown) if unknown else 'no value'}")
        return cls(**record)


def _decimal(number: float, digits: int = 2) -> str:
    return f"{round(number, digits) + 0.0:.{digits}f}"  # + 0.0: no minus before a zero


def proportion(
    k: int,
    n: int,
    *,
    level: float = 0.95,
    unit: str = "items",
    name: str = "proportion",
    parts: Mapping[str, Any] | None = None,
) -> Estimate:
    """A share k / n with Wilson's score interval.

    Parameters
    ----------
    k, n : int
        Items that have the property, and all items; 0 <= k <= n.
    level : float
    unit, name : str
        What is counted; what the score is called in the signature.
    parts : dict, optional
        More parts of the signature.

    Returns
    -------
    Estimate
        Undefined when n is 0; without an interval when n is 1.

    Notes
    -----
    Wilson (1927), JASA 22:209: the p with |k/n − p| <= z * sqrt(p (1 − p) / n). Unlike k/n ± z·se it does not
    collapse at k = 0 or k = n. From statsmodels `proportion_confint(method="wilson")`.
    """
    if not 0 <= k <= n:
        raise ValueError(f"proportion: expected 0 <= k <= n, got k = {k}, n = {n}")
    made = signature(name, **(parts or {}), n=n, interval="wilson")
    if n < 2:
        value, reason = (k / n, "one value") if n else (None, f"no {unit}")
        return Estimate(value, level=level, n=n, reason=reason, signature=made, unit=unit)
    low, high = resampling.wilson(k, n, level)
    return Estimate(k / n, low, high, level=level, n=n, method="Wilson", signature=made, unit=unit)


def estimate(
    values: ArrayLike | pd.Series,
    clusters: ArrayLike | pd.Series | None = None,
    replicates: int = 4000,
    seed: int = 0,
    *,
    level: float = 0.95,
    unit: str = "items",
    counts: Mapping[str, int] | None = None,
    name: str = "mean",
    parts: Mapping[str, Any] | None = None,
) -> Estimate:
    """The mean of scores, with an interval that resamples what was sampled.

    Parameters
    ----------
    values : (n,) array
        One score an item, usually in 0..1. An undefined one (None, NaN) is left out and counted as `undefined`.
    clusters : (n,) array, optional
        What the items were drawn from (the source paper, the batch): items of one source resemble each other, and an
        interval that treats them as independent is too narrow.
    replicates, seed : int
        Of the bootstrap.
    level : float
        Confidence level.
    unit : str
        What is counted, in the plural.
    counts : dict of str to int, optional
        Items that are not among the values, by status.
    name : str
        What the score is called in the signature, e.g. `dahl`.
    parts : dict, optional
        More parts of the signature, e.g. `{"subject": …, "checker": …}`.

    Returns
    -------
    Estimate
        The mean over items, sum(values) / n, each item weighing the same.

    Notes
    -----
    * Interval: cluster bootstrap, BCa with expanded percentiles; formulas, sources and simulated coverage are in
      `resampling.mean_interval`. With fewer than ten clusters it is still too narrow, and `reason` says so.
    * Values that are all 0 or 1, without clusters: Wilson's interval. (If a fractional score happens to give only
      zeros and ones it errs on the wide side, as no variable in 0..1 varies more than a 0/1 one of the same mean.)
    * All 0 or all 1, with clusters: a bootstrap would give an interval of no width. Wilson's interval is taken for
      n² / Σ(cluster sizes²) items, which is right when the items of a cluster all share one fate, and else too wide.
    * Any other scores of fewer than five items (clusters, where there are any): no interval, and `reason` says so. A
      bootstrap of 2, 3 or 4 covers the truth in some 60, 75 or 85 of 100 cases (see `resampling.mean_interval`).
    * Any other equal values, or a single value or cluster: no interval, and `reason` says why.
    """
    if not 0 < level < 1:
        raise ValueError(f"level: expected a share between 0 and 1, got {level}")
    values = resampling.column(values, "values")
    if clusters is not None:
        clusters = resampling.column(clusters, "clusters")
        resampling.check_pairs(values, clusters, ("values", "clusters"))
    x = resampling.numbers(values)
    kept = ~np.isnan(x)
    codes, groups = resampling.cluster_codes(clusters, kept)
    x, left = x[kept], dict(counts or {})
    if not kept.all():
        left["undefined"] = left.get("undefined", 0) + int((~kept).sum())
    common = {"level": level, "n": len(x), "clusters": groups, "counts": left, "unit": unit}
    key = {**(parts or {}), "n": len(x), "clusters": groups}

    if len(x) == 0:
        return Estimate(None, reason=f"no {unit}", signature=signature(name, **key), **common)
    mean, independent = float(x.mean()), len(x) if groups is None else groups
    sizes = np.bincount(codes).astype(float)
    binary, equal = bool(np.isin(x, (0.0, 1.0)).all()), is_constant(x)
    if binary and independent > 1 and (groups is None or equal):
        trials = len(x) ** 2 / float((sizes**2).sum())
        low, high = resampling.wilson(mean * trials, trials, level)
        method = "Wilson" if groups is None else f"Wilson, {trials:.3g} effective items"
        return Estimate(mean, low, high, method=method, signature=signature(name, **key, interval="wilson"), **common)
    if independent < 2 or equal:
        reason = "one cluster" if groups == 1 and len(x) > 1 else "one value" if len(x) == 1 else "all values equal"
        return Estimate(mean, reason=reason, signature=signature(name, **key), **common)
    what = unit if groups is None else "clusters"
    if independent < FEWEST:
        reason = f"{independent} {what}: too few for an interval, {FEWEST} needed"
        return Estimate(mean, reason=reason, signature=signature(name, **key), **common)
    low, high = resampling.mean_interval(np.bincount(codes, weights=x), sizes, level, replicates, seed)
    reason = "all cluster means equal" if low is None else ""
    if low is not None and independent < FEW:
        reason = f"only {independent} {what}: the interval is likely too narrow"
    method = f"{'bootstrap' if groups is None else 'cluster bootstrap'}, BCa expanded, {replicates} replicates"
    made = signature(name, **key, interval="bca", replicates=replicates, seed=seed)
    return Estimate(mean, low, high, method=method, reason=reason, signature=made, **common)


def estimates_by(
    frame: pd.DataFrame,
    value: str,
    by: str | Sequence[str],
    clusters: str | None = None,
    *,
    status: str = "status",
    small: int = FEW,
    replicates: int = 4000,
    seed: int = 0,
    level: float = 0.95,
    unit: str = "items",
    name: str = "mean",
    parts: Mapping[str, Any] | None = None,
) -> pd.DataFrame:
    """One estimate a group, e.g. a score by category.

    Parameters
    ----------
    frame : DataFrame
        One row an item.
    value : str
        Column of scores.
    by : str or list of str
        Columns that define the groups; rows without a label form the group `(missing)`.
    clusters : str, optional
        Column of cluster labels.
    status : str
        Column of outcomes. Where the frame has it, only rows that say `scored` are averaged and the others are counted
        by what they say; without it all rows are.
    small : int
        Groups with fewer scored items are flagged.
    replicates, seed, level, unit, name, parts
        As in `estimate`.

    Returns
    -------
    DataFrame
        The columns of `by`, then the fields of the estimate (value, low, high, level, n, clusters, method, status,
        reason, signature, unit), left_out, counts (in words), small and text (the estimate as a sentence). Sorted by
        group.
    """
    import pandas as pd

    keys = [by] if isinstance(by, str) else list(by)
    absent = [c for c in [value, *keys, *([clusters] if clusters else [])] if c not in frame.columns]
    if absent:
        raise ValueError(
            f"no column {', '.join(map(repr, absent))}; the table has {', '.join(map(str, frame.columns))}"
        )
    made = [f.name for f in fields(Estimate) if f.name != "counts"] + ["left_out"]
    columns = [*made, "counts", "small", "text"]
    taken = set(keys) & set(columns)
    if taken:
        raise ValueError(f"by: {', '.join(sorted(taken))} is also a column of the result; rename it in the table first")
    rows = []
    for labels, group in frame.groupby(keys, dropna=False, observed=True):
        counts = {}
        if status in group.columns:
            counts = group[status].fillna("error").value_counts().to_dict()
            group = group[group[status] == "scored"]
        settings = {"level": level, "unit": unit, "name": name, "parts": parts}
        labelled = None if clusters is None else group[clusters]
        e = estimate(group[value], labelled, replicates, seed, counts=counts, **settings)
        found = {column: getattr(e, column) for column in made}
        found |= {"counts": e.outcomes(), "small": e.n < small, "text": str(e)}
        labels = ["(missing)" if pd.isna(label) else label for label in labels]
        rows.append({**dict(zip(keys, labels, strict=True)), **found})
    return table(rows) if rows else pd.DataFrame(columns=[*keys, *columns])
