"""Passages with forced errors (40_forced_errors): how far the score falls, and with how many errors that is noticed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from factlab import stats
from factlab.studies.checkembed.pairs import gone, pair_scores
from factlab.studies.checkembed.replies import Embed, Encode

if TYPE_CHECKING:
    import pandas as pd


def error_scores(
    passages: pd.DataFrame, embed: Embed, encode: Encode | None = None, baseline: Any = None
) -> pd.DataFrame:
    """Closeness of each passage with errors to its passage without, by every method (Figure 7).

    Parameters
    ----------
    passages : from `stability.tasks.with_errors`: passage_id, errors, version, text; each passage once with no errors.

    Returns
    -------
    DataFrame : passage_id, errors, version, method, score. The passage without errors stands with itself (score 1).
    """
    import pandas as pd

    truth = passages[passages["errors"] == 0].set_index("passage_id")["text"]
    lost = set(passages["passage_id"]) - set(truth.index)
    if lost:
        raise ValueError(f"passage {sorted(lost)[0]!r} has no version without errors to compare with")
    against = passages["passage_id"].map(truth)
    pairs = pd.DataFrame(
        {
            "pair_id": range(len(passages)),
            "setting": "",
            "kind": "",
            "text_1": passages["text"].to_numpy(),
            "text_2": against.to_numpy(),
        }
    )
    found = pair_scores(pairs, embed, encode, baseline)
    where = passages.reset_index(drop=True)[["passage_id", "errors", "version"]]
    return where.loc[found["pair_id"]].reset_index(drop=True).join(found[["method", "score"]])


def told_apart(scores: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """For each method and number of errors: how far the score falls below that of fewer errors, passage by passage.

    Returns
    -------
    DataFrame : method, errors, mean, low, high (over passages; missing without errors, where 1 is no measurement), n (passages), drop
    (of the mean against no errors), below (share of passages in which every version scores below the text without errors),
    against_one, p, p_holm (mean paired with that of one error, sign flips, Holm over a method's comparisons; missing for 0 and 1 errors
    and with fewer than ten passages).
    """
    import pandas as pd

    rows = []
    for method in dict.fromkeys(scores["method"]):
        mine = scores[scores["method"] == method]
        means = mine.groupby(["passage_id", "errors"])["score"].mean().unstack("errors")
        highest = mine.groupby(["passage_id", "errors"])["score"].max().unstack("errors")
        for errors in means.columns:
            found = stats.estimate(means[errors], seed=seed, unit="passages")
            row = {
                "method": method,
                "errors": int(errors),
                "mean": found.value,
                "low": found.low if errors else None,
                "high": found.high if errors else None,
                "n": found.n,
            }
            row["drop"] = float((means[0] - means[errors]).mean())
            row["below"] = float((highest[errors] < means[0] - 1e-6).mean()) if errors else None
            row["against_one"], row["p"] = None, None
            if errors > 1 and 1 in means:
                compared = stats.compare(means[errors], means[1], seed=seed).iloc[0]
                row["against_one"], row["p"] = compared["difference"], compared["p"]
            rows.append(row)
    columns = ["method", "errors", "mean", "low", "high", "n", "drop", "below", "against_one", "p", "p_holm"]
    floats = dict.fromkeys([c for c in columns if c not in ("method", "errors", "n")], "Float64")
    table = pd.DataFrame(rows, columns=columns).astype(floats)
    for _, group in table.groupby("method"):
        table.loc[group.index, "p_holm"] = pd.array(stats.holm(group["p"]), dtype="Float64")
    return table


def smallest(table: pd.DataFrame, threshold: float = 1.0, alpha: float = 0.05) -> pd.DataFrame:
    """The fewest errors that every method tells apart: from no errors in all passages, and from one error on average.

    Returns
    -------
    DataFrame : method, from_none (fewest errors at which every version of a share `threshold` of the passages scores below the text
    without errors; missing: never), from_one (fewest at which the mean is significantly below that of one error).
    """
    import pandas as pd

    rows = []
    for method, group in table.groupby("method", sort=False):
        none = group[(group["errors"] > 0) & (group["below"] >= threshold)]["errors"]
        one = group[(group["p_holm"] < alpha) & (group["against_one"] < 0)]["errors"]
        rows.append((method, none.min() if len(none) else None, one.min() if len(one) else None))
    return pd.DataFrame(rows, columns=["method", "from_none", "from_one"]).astype(
        {"from_none": "Int64", "from_one": "Int64"}
    )


def cost_of_an_error(table: pd.DataFrame) -> pd.DataFrame:
    """How much the mean score falls with each error: the least-squares slope over the numbers of errors.

    Returns
    -------
    DataFrame : method, per_error (fall of the score for each error), first (fall from none to one).
    """
    import pandas as pd

    rows = []
    for method, group in table.groupby("method", sort=False):
        means = group.set_index("errors")["mean"].astype(float).dropna()
        slope = -float(np.polyfit(means.index, means, 1)[0]) if len(means) > 1 else None
        first = float(means[0] - means[1]) if {0, 1} <= set(means.index) else None
        rows.append((method, slope, first))
    return pd.DataFrame(rows, columns=["method", "per_error", "first"]).astype(
        {"per_error": "Float64", "first": "Float64"}
    )


def errors_summary(fewest: pd.DataFrame, cost: pd.DataFrame) -> str:
    """The result in one line."""
    parts = []
    for row, slope in zip(fewest.itertuples(), cost["per_error"], strict=True):
        none = f"{row.from_none} told from none" if not gone(row.from_none) else "none told apart in every passage"
        one = f", {row.from_one} from one" if not gone(row.from_one) else ""
        fall = f", {round(slope, 4) + 0.0:.4f} an error" if not gone(slope) else ""
        parts.append(f"{row.method}: {none}{one}{fall}")
    return "; ".join(parts) or "nothing was compared"


def error_warnings(told: pd.DataFrame, cost: pd.DataFrame, spread: pd.DataFrame) -> list[str]:
    """What a reader should distrust."""
    notes = [
        "An error here is one fact changed in a passage that is otherwise the same, so any measure that sees the text at all falls from 1. In "
        "practice the text without errors is not known: a fall counts only against the spread of correct texts, which is not in this test."
    ]
    n = int(told["n"].min()) if len(told) else 0
    if n < 10:
        notes.append(f"Fewer than ten passages ({n}): too few to test.")
    both = cost.merge(spread, on="method")
    for row in both.itertuples():
        within = row[-1]
        if not gone(row.per_error) and not gone(within) and row.per_error < within:
            notes.append(
                f"{row.method}: one more error costs less ({row.per_error:.4f}) than passages with as many errors differ ({within:.4f})."
            )
    return notes
