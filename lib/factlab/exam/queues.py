"""Which keys a person should look at first (MS-Exam-Gen, sections III.D and V: key-risk queues).

Where most of a panel disagrees with a key, the key may be wrong, the item ambiguous, or the panel. Two queues, the second
inside the first, and what the scores are without the items in them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

QUEUES = ("majority", "non_key")


def key_risk(results: pd.DataFrame, share: float = 0.5, overlap: bool = False) -> pd.DataFrame:
    """Every item with how the panel voted, and the queues that it is in.

    Parameters
    ----------
    results : DataFrame
        From `panel.mark`.
    share : float
        In [0, 1): a queue takes items above this share of the panel.
    overlap : bool
        Whether endpoints that also built the bank vote.

    Returns
    -------
    DataFrame
        One row an item, the riskiest first (by votes for one wrong option, then by misses): item_id, topic, label, key, panel
        (endpoints), votes_key, missed (answers that are not the key, unresolved ones too), unresolved, top_wrong (the wrong option
        with the most votes; the first of several; missing where there is none), votes_top_wrong, majority (more than `share` of the
        panel chose something else than the key), non_key (more than `share` chose one and the same wrong option).

    Notes
    -----
    The paper names a majority queue and a stricter non-key queue without their rules; these are our reading. For `majority` an
    unresolved answer is no vote against a key, so only answers that name a wrong option count; whoever is in `non_key` is in
    `majority`.
    """
    import pandas as pd

    if not 0 <= share < 1:
        raise ValueError(f"share: expected a share from 0 to below 1, got {share}")
    kept = results if overlap or "overlap" not in results.columns else results[~results["overlap"].astype(bool)]
    rows: list[dict[str, Any]] = []
    for item_id, answers in kept.groupby("item_id", sort=False):
        first, panel = answers.iloc[0], len(answers)
        named = answers.loc[answers["status"] == "scored", "choice"]
        wrong = named[named != first["key"]].value_counts()
        top = min(wrong.index[wrong == wrong.max()]) if len(wrong) else None
        row = {
            "item_id": item_id,
            "topic": first["topic"],
            "label": first["label"],
            "key": first["key"],
            "panel": panel,
        }
        row |= {"votes_key": int((named == first["key"]).sum()), "missed": panel - int(answers["correct"].sum())}
        row |= {
            "unresolved": panel - len(named),
            "top_wrong": top,
            "votes_top_wrong": int(wrong.max()) if len(wrong) else 0,
        }
        # A hair above the product, so that rounding does not put half of the panel above a half.
        least = share * panel + 1e-9
        row |= {"majority": bool(wrong.sum() > least), "non_key": bool(row["votes_top_wrong"] > least)}
        rows.append(row)
    columns = ["item_id", "topic", "label", "key", "panel", "votes_key", "missed", "unresolved", "top_wrong"]
    columns += ["votes_top_wrong", *QUEUES]
    frame = pd.DataFrame(rows, columns=columns)
    order = np.lexsort([-frame["missed"].to_numpy(dtype=int), -frame["votes_top_wrong"].to_numpy(dtype=int)])
    return frame.iloc[order].reset_index(drop=True)


def scores_without(results: pd.DataFrame, risk: pd.DataFrame) -> pd.DataFrame:
    """Accuracy of every endpoint on all items and without each queue.

    MS-Exam-Gen, section V.

    Parameters
    ----------
    results : DataFrame
        From `panel.mark`.
    risk : DataFrame
        From `key_risk`.

    Returns
    -------
    DataFrame
        One row an endpoint and set of items: endpoint, items_of (`all`, `without majority`, `without non_key`), n, value (missing
        without items), rank (1 for the best, ties shared), change (from `all`).

    Notes
    -----
    The items were chosen by what this panel answers, so the mean over endpoints tends to rise for that reason alone, though not every
    endpoint's accuracy does; what the table shows is whether the order of the endpoints stays.
    """
    import pandas as pd

    queued = risk.set_index("item_id")
    rows = []
    for name in ("all", *QUEUES):
        left_out = set() if name == "all" else set(queued.index[queued[name].astype(bool)])
        kept = results[~results["item_id"].isin(left_out)]
        groups = kept.groupby("endpoint")["correct"]
        means, sizes = groups.mean(), groups.size()
        ranks = means.rank(ascending=False)
        for endpoint in dict.fromkeys(results["endpoint"]):
            some = endpoint in means.index
            rows.append(
                {
                    "endpoint": endpoint,
                    "items_of": name if name == "all" else f"without {name}",
                    "n": int(sizes.get(endpoint, 0)),
                    "value": float(means[endpoint]) if some else None,
                    "rank": float(ranks[endpoint]) if some else None,
                }
            )
    frame = pd.DataFrame(rows, columns=["endpoint", "items_of", "n", "value", "rank"])
    whole = frame[frame["items_of"] == "all"].set_index("endpoint")["value"]
    frame["change"] = frame["value"].astype(float) - frame["endpoint"].map(whole).astype(float)
    for name in ("value", "rank", "change"):
        frame[name] = pd.array([None if v is None or v != v else float(v) for v in frame[name]], dtype="Float64")
    return frame
