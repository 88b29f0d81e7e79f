"""What a panel's misses say about items, and what they would say if everyone guessed (60_difficulty).

MS-Exam-Gen, sections III.D, V and VI. The measures are those of `factlab.exam`; here they are put into words.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from factlab import exam
from factlab.exam import Item
from factlab.studies.ms_exam_gen.endpoints import same_model

if TYPE_CHECKING:
    import pandas as pd


def both_intervals(results: pd.DataFrame, *, replicates: int = 4000, seed: int = 0) -> pd.DataFrame:
    """Accuracy with intervals over construction batches and over semantic parents, side by side (section III.D).

    Returns
    -------
    DataFrame : endpoint, value, low and high, batches, low_parents and high_parents, parents, widest (the wider of both intervals).
    """
    import pandas as pd

    by_batch = exam.accuracy(results, replicates=replicates, seed=seed)
    by_parent = exam.accuracy(results, groups="parent", replicates=replicates, seed=seed)
    table = pd.DataFrame(
        {
            "endpoint": by_batch["endpoint"], "value": by_batch["value"], "low": by_batch["low"], "high": by_batch["high"],
            "batches": by_batch["clusters"], "low_parents": by_parent["low"], "high_parents": by_parent["high"],
            "parents": by_parent["clusters"],
        }
    )  # fmt: skip
    widths = pd.concat([table["high"] - table["low"], table["high_parents"] - table["low_parents"]], axis=1)
    return table.assign(widest=widths.max(axis=1))


def parent_table(results: pd.DataFrame) -> pd.DataFrame:
    """Mean accuracy of the panel by semantic parent, lowest first: parent, topics, items, value (section V)."""
    each = results.groupby(["parent", "endpoint"])["correct"].mean().groupby("parent").mean()
    counts = results.groupby("parent").agg(topics=("topic", "nunique"), items=("item_id", "nunique"))
    return counts.assign(value=each).sort_values("value", kind="stable").reset_index()


def threshold(endpoints: int, share: float = 1 / 3) -> int:
    """How many endpoints must miss an item to flag it: the paper's 4 of 12, in proportion, at least one."""
    return max(1, min(endpoints, round(endpoints * share)))


def shared_difficulty(correct: pd.DataFrame, permutations: int = 2000, seed: int = 0) -> dict[str, Any]:
    """Whether the panel finds the same items hard: without that, miss counts are noise.

    Parameters
    ----------
    correct : (n, m) DataFrame
        0 or 1, items by endpoints.
    permutations, seed : int

    Returns
    -------
    dict
        variance (of the miss counts), expected (with each endpoint's answers shuffled over the items), ratio, p (as large by
        shuffling), n, endpoints, reason (why there is nothing; the numbers are None then).

    Notes
    -----
    Endpoints that share a model miss the same items for that reason alone; the number says so of the panel, not of the items.
    """
    x = 1 - correct.to_numpy(dtype=float)
    n, m = x.shape
    none: dict[str, Any] = dict.fromkeys(("variance", "expected", "ratio", "p"))
    told = {"n": n, "endpoints": m}
    if n < 10 or m < 2:
        return none | told | {"reason": f"{n} items and {m} endpoints: too few"}
    observed, expected = float(x.sum(axis=1).var()), float(x.var(axis=0).sum())
    if expected == 0:
        return none | told | {"reason": "every endpoint is right, or wrong, on all items"}
    rng = np.random.default_rng(seed)
    hits = sum(rng.permuted(x, axis=0).sum(axis=1).var() >= observed - 1e-12 for _ in range(permutations))
    found = {
        "variance": observed,
        "expected": expected,
        "ratio": observed / expected,
        "p": (1 + hits) / (1 + permutations),
    }
    return found | told | {"reason": ""}


def one_voice(correct: pd.DataFrame, sat: pd.DataFrame) -> pd.DataFrame:
    """The columns of the first endpoint of each model.

    Parameters
    ----------
    correct : (n, m) DataFrame
    sat : from `endpoints.endpoint_table`; an endpoint that it does not have, or whose model is not told, is a voice of its own.
    """
    of = {
        e: same_model(model)
        for e, model in zip(sat["endpoint"], sat["model"], strict=True)
        if model not in ("", "recorded")
    }
    first: dict[str, str] = {}
    for endpoint in correct.columns:
        first.setdefault(of.get(endpoint, f"endpoint {endpoint}"), endpoint)
    return correct[list(first.values())]


def shared_sentence(found: Mapping[str, Any]) -> str:
    """`shared_difficulty` in words."""
    if found["reason"]:
        return f"Whether the endpoints find the same items hard cannot be said: {found['reason']}."
    said = f"Miss counts vary {found['ratio']:.1f} times as much as if each endpoint missed items at random (p = {found['p']:.2g})"
    return f"{said}: {'the endpoints tend to miss the same items' if found['p'] < 0.05 else 'no sign that the endpoints find the same items hard'}."


def source_sentence(found: pd.DataFrame) -> str:
    """Whether items from more sources are harder, in one line (section VI: rho = 0.054)."""
    rows = found[(found["coefficient"] == "spearman") & (found["label"] == "all")]
    if not len(rows) or rows["status"].iloc[0] != "scored":
        return f"Sources against accuracy: undefined ({rows['reason'].iloc[0] if len(rows) else 'no items'})."
    row = rows.iloc[0]
    interval = f" [{row['low']:.2f}, {row['high']:.2f}]" if row["low"] is not None and row["low"] == row["low"] else ""
    return f"Sources against accuracy: rho = {row['value']:.2f}{interval}, {row['mean_sources']:.2f} sources an item on average."


def difficulty_warnings(
    correct: pd.DataFrame, shared: Mapping[str, Any], loo: pd.DataFrame, discrimination: pd.DataFrame, sat: pd.DataFrame
) -> list[str]:
    """What to distrust about empirical difficulty.

    Parameters
    ----------
    correct : (n, m) DataFrame
    shared : from `shared_difficulty`.
    loo : from `exam.leave_one_out`.
    discrimination : from `exam.discrimination`.
    sat : from `endpoints.endpoint_table`.
    """
    m = correct.shape[1]
    notes = [shared_sentence(shared)]
    apart = one_voice(correct, sat)
    if apart.shape[1] < m:
        notes.append(
            f"{m} endpoints are {apart.shape[1]} models, some asked in several ways, which miss the same items for that reason alone. With the "
            f"first endpoint of each model alone: {_lower(shared_sentence(shared_difficulty(apart)))}"
        )
    if m >= 2:
        notes.append(
            f"Leaving one of {m} endpoints out keeps a correlation of {math.sqrt((m - 1) / m):.3f} even where all of them guess: read item_rest, "
            "which has no part in common."
        )
    rest = loo["item_rest"].dropna()
    if len(rest) and float(rest.mean()) < 0.1:
        notes.append(f"item_rest is {float(rest.mean()):.2f} on average: endpoints hardly agree on what is hard.")
    negative = int((discrimination["discrimination"] < 0).sum())
    known = int(discrimination["discrimination"].notna().sum())
    if known:
        notes.append(
            f"{negative} of {known} items have a negative discrimination; with {m} endpoints its standard error is about {1 / math.sqrt(max(1, m - 1)):.1f}."
        )
    return notes


def item_table(items: Sequence[Item], correct: pd.DataFrame, t: int) -> pd.DataFrame:
    """Every item with what the panel made of it, the hardest first.

    Parameters
    ----------
    items : the bank.
    correct : (n, m) DataFrame
        With the items' ids as index.
    t : endpoints that must miss an item to flag it.

    Returns
    -------
    DataFrame
        item_id, topic, label, sources (how many), missed, panel, flagged (missed >= t), band (`exam.difficulty_bands`), discrimination and
        rasch (logits), both missing where undefined.
    """
    import pandas as pd

    missed = exam.difficulty(correct)
    told = exam.discrimination(correct).set_index("item_id")["discrimination"]
    fitted = exam.rasch(correct).items.set_index("item_id")["difficulty"]
    rows = [(i.id, i.topic, i.label, len(i.sources)) for i in items if i.id in correct.index]
    table = pd.DataFrame(rows, columns=["item_id", "topic", "label", "sources"])
    table["missed"] = table["item_id"].map(missed).astype("int64")
    table["panel"] = correct.shape[1]
    table["flagged"] = table["missed"] >= t
    table["band"] = exam.difficulty_bands(table["missed"]).astype(str).to_numpy()
    table["discrimination"] = table["item_id"].map(told).astype("Float64")
    table["rasch"] = table["item_id"].map(fitted).astype("Float64")
    return table.sort_values("missed", ascending=False, kind="stable").reset_index(drop=True)


def rasch_sentence(fit: exam.Rasch) -> str:
    """Whether a Rasch model could be fitted, and holds."""
    if fit.status != "scored":
        return f"No Rasch model: {fit.reason}."
    p = "not tested" if fit.p is None else f"p {'< 0.001' if fit.p < 0.001 else f'= {fit.p:.3f}'}"
    more = f" {fit.reason}." if fit.reason else ""
    return f"Rasch model on {fit.n} items that divide the panel (Andersen's test: {p}).{more}"


def _lower(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]
