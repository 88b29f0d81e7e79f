"""What a panel of endpoints answered: joined to the bank, counted, and with intervals over batches (MS-Exam-Gen, section III.D).

An answer that could not be read stays in the table with its status and counts as not correct; the score without such
answers stands beside it. Intervals draw construction batches first and then the items of each, as the bank was made.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from factlab.exam.items import Item
from factlab.stats import compare, estimate, holm, signature
from factlab.stats.resampling import FEW, FEWEST, cluster_codes, table

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike

Interval = Literal["percentile", "expanded"]


def mark(replies: pd.DataFrame, items: Sequence[Item], builders: Iterable[str] = ()) -> pd.DataFrame:
    """Answers joined to their items and marked.

    MS-Exam-Gen, section III.D.

    Parameters
    ----------
    replies : DataFrame
        One row an item and endpoint: item_id, endpoint, choice (letter, missing where none was read), status (`scored`
        where one was). Other columns are kept.
    items : sequence of Item
        The bank, as it was shown.
    builders : iterable of str
        Endpoints that also built or screened the bank: marked, and to be left out of primary results.

    Returns
    -------
    DataFrame
        In the order of items, then of endpoints as they first appear: item_id, endpoint, choice, status, key, correct (0 or
        1; 0 for whatever is not `scored`), overlap (bool: the endpoint is a builder), topic, subtopic, label, batch (the
        topic where the item has none), parent (the topic where it has none), then the other columns. An item that an
        endpoint has no row for is added with status `error`.

    Raises
    ------
    ValueError
        If a column is missing, an item is not in the bank, an endpoint answers an item twice, or a scored choice is not
        a letter of its item.
    """
    import pandas as pd

    absent = [c for c in ("item_id", "endpoint", "choice", "status") if c not in replies.columns]
    if absent:
        raise ValueError(
            f"replies: no column {', '.join(absent)}; the table has {', '.join(map(str, replies.columns))}"
        )
    by_id = {item.id: item for item in items}
    strangers = [i for i in replies["item_id"] if i not in by_id]
    if strangers:
        raise ValueError(
            f"replies: item {strangers[0]!r} is not in the bank of {len(by_id)} items ({len(strangers)} such rows)"
        )
    twice = replies.duplicated(["item_id", "endpoint"])
    if twice.any():
        row = replies[twice].iloc[0]
        raise ValueError(f"replies: {row['endpoint']} answers {row['item_id']} twice; keep one answer")
    endpoints = list(dict.fromkeys(replies["endpoint"]))
    every = pd.MultiIndex.from_product([by_id, endpoints], names=["item_id", "endpoint"])
    whole = replies.set_index(["item_id", "endpoint"]).reindex(every).reset_index()
    whole["status"] = whole["status"].fillna("error")
    scored = (whole["status"] == "scored").to_numpy()
    choice = np.array(
        [c if s and isinstance(c, str) else None for c, s in zip(whole["choice"], scored, strict=True)], dtype=object
    )
    for row in np.flatnonzero(scored):
        item = by_id[whole["item_id"].iloc[row]]
        if choice[row] is None or choice[row] not in item.letters or len(choice[row]) != 1:
            raise ValueError(
                f"replies: {whole['endpoint'].iloc[row]}, item {item.id}: choice {whole['choice'].iloc[row]!r} is not one of "
                f"{', '.join(item.letters)}, though its status is scored"
            )
    of = [by_id[i] for i in whole["item_id"]]
    marked = pd.DataFrame(
        {
            "item_id": whole["item_id"],
            "endpoint": whole["endpoint"],
            "choice": choice,
            "status": whole["status"],
            "key": [item.key for item in of],
            "correct": [int(c is not None and c == item.key) for c, item in zip(choice, of, strict=True)],
            "overlap": whole["endpoint"].isin(list(builders)),
            "topic": [item.topic for item in of],
            "subtopic": [item.subtopic for item in of],
            "label": [item.label for item in of],
            "batch": [item.batch or item.topic for item in of],
            "parent": [item.parent or item.topic for item in of],
        }
    )
    rest = [c for c in whole.columns if c not in marked.columns]
    return pd.concat([marked, whole[rest]], axis=1)


def correct_matrix(results: pd.DataFrame, overlap: bool = False) -> pd.DataFrame:
    """Right and wrong answers as a table of items by endpoints.

    Parameters
    ----------
    results : DataFrame
        From `mark`.
    overlap : bool
        Whether endpoints that also built the bank are among the columns.

    Returns
    -------
    DataFrame
        0 or 1; items as rows, endpoints as columns, both in the order of `results`.
    """
    kept = results if overlap or "overlap" not in results.columns else results[~results["overlap"].astype(bool)]
    wide = kept.pivot(index="item_id", columns="endpoint", values="correct")
    return wide.reindex(index=list(dict.fromkeys(kept["item_id"])), columns=list(dict.fromkeys(kept["endpoint"])))


def hierarchical_means(
    correct: ArrayLike, groups: Sequence[Hashable], replicates: int = 4000, seed: int = 0
) -> np.ndarray:
    """Bootstrap means of every endpoint: batches are drawn with replacement, then the items of each drawn batch.

    MS-Exam-Gen, section III.D: 4,000 replicates over 16 construction batches, or 13 semantic parents.

    Parameters
    ----------
    correct : (n, m) array
        Scores of n items by m endpoints, none missing.
    groups : (n,) sequence
        The batch of each item.
    replicates, seed : int

    Returns
    -------
    (replicates, m) array
        Mean over the drawn items. A row has the same draw for every endpoint, so that differences of columns are paired.

    Notes
    -----
    As many batches are drawn as there are, and from each as many items as it has; a batch that is drawn twice has its items
    drawn twice, apart. So a batch of size s that is drawn c times adds a sum over c·s draws among its items, and only how
    often each item is drawn is needed. The order of the rows makes no difference.
    """
    x = np.asarray(correct, dtype=float)
    if x.ndim != 2 or np.isnan(x).any():
        raise ValueError("correct: expected a table of items by endpoints without missing values")
    if replicates < 1:
        raise ValueError(f"replicates: expected at least 1, got {replicates}")
    if not len(x):
        return np.full((replicates, x.shape[1]), np.nan)
    codes, count = cluster_codes(list(groups), np.ones(len(x), dtype=bool))
    members = sorted((x[codes == g] for g in range(count)), key=lambda rows: (len(rows), *rows.mean(axis=0)))
    rng = np.random.default_rng(seed)
    times = rng.multinomial(count, np.full(count, 1 / count), size=replicates)
    sums, sizes = np.zeros((replicates, x.shape[1])), times @ np.array([len(rows) for rows in members])
    for number, rows in enumerate(members):
        rows, size = rows[np.lexsort(rows.T)], len(rows)
        start = np.repeat(np.arange(0, replicates * size, size), times[:, number] * size)
        drawn = rng.integers(0, size, size=len(start), dtype=np.int32)
        often = np.bincount(start + drawn, minlength=replicates * size).reshape(replicates, size)
        sums += often.astype(float) @ rows
    return sums / sizes[:, None]


def hierarchical(
    correct: pd.DataFrame,
    groups: Sequence[Hashable],
    *,
    replicates: int = 4000,
    seed: int = 0,
    level: float = 0.95,
    interval: Interval = "percentile",
    name: str = "accuracy",
) -> pd.DataFrame:
    """Accuracy of every endpoint with a hierarchical bootstrap interval.

    Parameters
    ----------
    correct : (n, m) DataFrame
        0 or 1, items by endpoints.
    groups : (n,) sequence
        The batch, or the semantic parent, of each item.
    replicates, seed, level
    interval : {"percentile", "expanded"}
        Percentiles of the replicates, or percentiles moved outwards for few batches: sqrt(K / (K − 1)) t(K − 1) instead of the
        normal quantile (Hesterberg 2015, The American Statistician 69:371).
    name : str
        Of the score in the signature.

    Returns
    -------
    DataFrame
        One row an endpoint, in order: endpoint, value, low, high, level, n, clusters, method, status, reason, signature.
        With fewer than five batches there is no interval, and `reason` says so.

    Notes
    -----
    Drawing items within drawn batches adds the variance within batches once more, which makes the interval a little wide where
    batches hardly differ; percentiles of few batches are narrow. Simulated coverage of the 95 % interval (600 banks of K
    batches of 20 items; batches differ with a standard deviation of 0 or 0.15 of the rate, 0.7 on average), percentile /
    expanded, in percent:

        batches         5          8          16
        no difference   99 / 100   99 / 100   99 / 100
        0.15            94 / 98    94 / 97    97 / 98
    """
    import pandas as pd

    if interval not in ("percentile", "expanded"):
        raise ValueError(f"interval: expected 'percentile' or 'expanded', got {interval!r}")
    if not isinstance(correct, pd.DataFrame):
        correct = pd.DataFrame(correct)
    if len(groups) != len(correct):
        raise ValueError(f"groups has {len(groups)} labels for {len(correct)} items: one label an item is needed")
    n, count = len(correct), len(set(groups))
    reason = "" if n else "no items"
    if n and count < FEWEST:
        reason = f"{count} batch{'es' * (count != 1)}: too few for an interval, {FEWEST} needed"
    elif n and count < FEW:
        reason = f"only {count} batches: the interval is rough"
    drawn = hierarchical_means(correct.to_numpy(dtype=float), groups, replicates, seed) if count >= FEWEST else None
    made = signature(name, n=n, clusters=count, interval=f"hierarchical-{interval}", replicates=replicates, seed=seed)
    rows = []
    for column, endpoint in enumerate(correct.columns):
        row: dict[str, Any] = {"endpoint": endpoint, "value": correct.iloc[:, column].mean() if n else None}
        row |= {"low": None, "high": None, "level": level, "n": n, "clusters": count}
        row["method"] = "" if drawn is None else f"hierarchical bootstrap, {interval}, {replicates} replicates"
        row |= {"status": "scored" if n else "undefined", "reason": reason, "signature": made}
        if drawn is not None:
            if np.ptp(drawn[:, column]) == 0:
                row |= {"reason": "no interval: all answers alike", "method": ""}
            else:
                row["low"], row["high"] = np.quantile(drawn[:, column], _shares(level, count, interval))
        rows.append(row)
    return table(rows)


def _shares(level: float, count: int, interval: Interval) -> tuple[float, float]:
    if interval == "percentile":
        return (1 - level) / 2, (1 + level) / 2
    from scipy.stats import norm, t

    reach = norm.cdf(t.ppf((1 + level) / 2, count - 1) * np.sqrt(count / (count - 1)))
    return 1 - float(reach), float(reach)


def accuracy(
    results: pd.DataFrame,
    by: str | None = None,
    groups: str = "batch",
    *,
    replicates: int = 4000,
    seed: int = 0,
    level: float = 0.95,
    interval: Interval = "percentile",
) -> pd.DataFrame:
    """Accuracy of every endpoint, overall or by topic, label or any other column, with what could not be read.

    MS-Exam-Gen, section III.D, Table IV and Figure 3.

    Parameters
    ----------
    results : DataFrame
        From `mark`.
    by : str, optional
        Column that splits the items: `topic`, `label`, or one of your own such as a band of difficulty.
    groups : str
        Column of what the bootstrap draws first: `batch`, or `parent`.
    replicates, seed, level, interval
        As in `hierarchical`. Where all items of a row are of one batch they are taken as independent, and `reason` says so.

    Returns
    -------
    DataFrame
        One row an endpoint and value of `by`: endpoint, overlap, the column `by`, value (unresolved answers count as not
        correct), low, high, n, clusters, correct, unresolved, outcomes (in words: `3 refused, 1 truncated`),
        value_resolved (without unresolved answers), n_resolved, level, method, status, reason, signature. Where nothing but
        `error` came back there is no value: a call that fails says nothing of what is known. A part without a name is `(none)`.
    """
    import pandas as pd

    parts = (
        [("", results)]
        if by is None
        else [("(none)" if k == "" else k, g) for k, g in results.groupby(by, sort=True, dropna=False, observed=True)]
    )
    rows = []
    for part, frame in parts:
        wide = correct_matrix(frame, overlap=True)
        of = frame.drop_duplicates("item_id").set_index("item_id")[groups].reindex(wide.index).tolist()
        settings = {"replicates": replicates, "seed": seed, "level": level}
        if len(set(of)) > 1:
            found = hierarchical(wide, of, **settings, interval=interval).to_dict("records")
        else:
            found = [_independent(endpoint, wide[endpoint], settings) for endpoint in wide.columns]
        for row, endpoint in zip(found, wide.columns, strict=True):
            own = frame[frame["endpoint"] == endpoint]
            read = own[own["status"] == "scored"]
            others = own.loc[own["status"] != "scored", "status"].value_counts()
            said = ", ".join(f"{count:,} {name}" for name, count in sorted(others.items(), key=lambda c: (-c[1], c[0])))
            row |= {
                "overlap": bool(own["overlap"].iloc[0]) if "overlap" in own else False,
                **({by: part} if by else {}),
            }
            row |= {"correct": int(own["correct"].sum()), "unresolved": len(own) - len(read), "outcomes": said}
            row |= {"value_resolved": read["correct"].mean() if len(read) else None, "n_resolved": len(read)}
            if len(own) and (own["status"] == "error").all():
                row |= {"value": None, "low": None, "high": None, "method": "", "status": "undefined"}
                row["reason"] = "every call failed"
            rows.append(row)
    columns = [
        "endpoint",
        "overlap",
        *([by] if by else []),
        "value",
        "low",
        "high",
        "n",
        "clusters",
        "correct",
        "unresolved",
    ]
    columns += ["outcomes", "value_resolved", "n_resolved", "level", "method", "status", "reason", "signature"]
    frame = table([{c: row[c] for c in columns} for row in rows]) if rows else pd.DataFrame(columns=columns)
    frame["value_resolved"] = pd.array(frame["value_resolved"].tolist(), dtype="Float64")
    return frame


def _independent(endpoint: Any, values: pd.Series, settings: dict[str, Any]) -> dict[str, Any]:
    e = estimate(values, unit="items", name="accuracy", **settings)
    note = "one batch: its items are taken as independent"
    row = {
        "endpoint": endpoint,
        "value": e.value,
        "low": e.low,
        "high": e.high,
        "level": e.level,
        "n": e.n,
        "clusters": 1,
    }
    reason = f"{e.reason}; {note}" if e.reason else note
    return {**row, "method": e.method, "status": e.status, "reason": reason, "signature": e.signature}


def compare_endpoints(
    correct: pd.DataFrame,
    groups: Sequence[Hashable] | None = None,
    *,
    replicates: int = 4000,
    seed: int = 0,
    alpha: float = 0.05,
) -> pd.DataFrame:
    """Every pair of endpoints on the same items, with Holm's correction over the pairs.

    Parameters
    ----------
    correct : (n, m) DataFrame
        0 or 1, items by endpoints.
    groups : (n,) sequence, optional
        The batch of each item, resampled and sign-flipped as one.
    replicates, seed : int
    alpha : float
        Level of `differs`.

    Returns
    -------
    DataFrame
        One row a pair: a, b, then the columns of `stats.compare` (a − b), p_holm, differs (missing where not tested). No row
        for fewer than two endpoints.
    """
    import pandas as pd

    rows = []
    for a, b in itertools.combinations(correct.columns, 2):
        found = compare(correct[a], correct[b], None if groups is None else list(groups), replicates, seed).iloc[0]
        rows.append({"a": a, "b": b, **found.to_dict()})
    if not rows:
        return pd.DataFrame(columns=["a", "b", *compare([], []).columns, "p_holm", "differs"])
    p = [None if pd.isna(row["p"]) else float(row["p"]) for row in rows]
    for row, corrected in zip(rows, holm(p), strict=True):
        tested = not np.isnan(corrected)
        row |= {"p_holm": corrected if tested else None, "differs": bool(corrected < alpha) if tested else None}
    return table(rows)
