"""What a panel's misses say about items, and what they would say if everyone guessed (60_difficulty).

MS-Exam-Gen, sections III.D, V and VI. The measures are those of `factlab.exam`; here they are put into words.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from factlab import comparability, exam
from factlab.exam import Item
from factlab.stats import Estimate
from factlab.stats.resampling import FEW
from factlab.studies.ms_exam_gen.endpoints import same_model

if TYPE_CHECKING:
    import pandas as pd

CHANCE = 1 / len(exam.LETTERS)


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
    results = results.assign(parent=results["parent"].replace("", "(none)"))
    each = results.groupby(["parent", "endpoint"])["correct"].mean().groupby("parent").mean()
    counts = results.groupby("parent").agg(topics=("topic", "nunique"), items=("item_id", "nunique"))
    return counts.assign(value=each).sort_values("value", kind="stable").reset_index()


def same_groups(results: pd.DataFrame, a: str, b: str) -> bool:
    """Whether two columns (batch, topic, parent) divide the items in the same way, whatever their names for it."""
    pairs = results[[a, b]].drop_duplicates()
    return len(pairs) == pairs[a].nunique() == pairs[b].nunique()


def threshold(endpoints: int, share: float = 1 / 3) -> int:
    """How many endpoints must miss an item to flag it: the paper's 4 of 12, in proportion, at least one."""
    return max(1, min(endpoints, round(endpoints * share)))


def flagged_by_guessing(endpoints: int, t: int) -> float:
    """Share of the items (0..1) that t or more endpoints would miss if each guessed for itself."""
    from scipy.stats import binom

    return float(binom.sf(t - 1, endpoints, 1 - CHANCE))


def flag_sentence(flagged: Estimate, endpoints: int, t: int) -> str:
    """The share of items that t or more endpoints miss, beside that of guessing and the paper's."""
    printed = comparability.published("ms_exam_gen", "misses").set_index("missed")["share"]
    return (
        f"Missed by {t} or more of {endpoints} endpoint{'s' * (endpoints != 1)}: {flagged}. If all of them guessed it would be {_percent(flagged_by_guessing(endpoints, t))}. "
        f"The paper's twelve: {printed['4+']:.1f} % by 4 and more, {printed['0–1']:.1f} % by none or one."
    )


def lowest(loo: pd.DataFrame) -> dict[str, float | None]:
    """`exam.leave_one_out` in three numbers: lowest_pearson, lowest_agreement, mean_item_rest; None where undefined for every endpoint."""
    import pandas as pd

    found = {"lowest_pearson": loo["pearson"].min(), "lowest_agreement": loo["agreement"].min()}
    found["mean_item_rest"] = loo["item_rest"].mean()
    return {name: None if pd.isna(value) else float(value) for name, value in found.items()}


def misses_by_key(correct: pd.DataFrame, keys: Mapping[str, str]) -> pd.DataFrame:
    """How often items are missed by where their key stands.

    Parameters
    ----------
    correct : (n, m) DataFrame
        With the items' ids as index.
    keys : letter of the key of each item, by its id.

    Returns
    -------
    DataFrame : key, items, mean_missed (endpoints), missed_by_all (items).
    """
    import pandas as pd

    missed = pd.DataFrame({"key": [keys[i] for i in correct.index], "missed": exam.difficulty(correct).to_numpy()})
    missed["all"] = missed["missed"] == correct.shape[1]
    return missed.groupby("key").agg(items=("missed", "size"), mean_missed=("missed", "mean"), missed_by_all=("all", "sum")).reset_index()  # fmt: skip


def key_letter(correct: pd.DataFrame, keys: Mapping[str, str]) -> dict[str, Any]:
    """How much of the variance of miss counts the letter of the key accounts for.

    Returns
    -------
    dict : share (0..1), p (one-way analysis of variance), telling (p < 0.05 and a tenth of the variance or more); share and p are None
    where letters or counts do not differ, or a letter has one item.
    """
    from scipy.stats import f_oneway

    missed = exam.difficulty(correct).to_numpy(dtype=float)
    letters = np.array([keys[i] for i in correct.index], dtype=object)
    parts = [missed[letters == a] for a in sorted(set(letters))]
    if len(parts) < 2 or min(map(len, parts)) < 2 or all(part.var() == 0 for part in parts):
        return {"share": None, "p": None, "telling": False}
    within = sum(len(part) * part.var() for part in parts)
    share, p = float(1 - within / (len(missed) * missed.var())), float(f_oneway(*parts).pvalue)
    return {"share": share, "p": p, "telling": p < 0.05 and share >= 0.1}


def shared_difficulty(
    correct: pd.DataFrame, permutations: int = 2000, seed: int = 0, groups: Sequence[Hashable] | None = None
) -> dict[str, Any]:
    """Whether the panel finds the same items hard: without that, miss counts are noise.

    Parameters
    ----------
    correct : (n, m) DataFrame
        0 or 1, items by endpoints.
    permutations, seed : int
    groups : (n,) sequence, optional
        E.g. the letter of each item's key: then only items of one group are compared with each other, and what separates groups is left out.

    Returns
    -------
    dict
        variance (of the miss counts, within groups), expected (with each endpoint's answers shuffled over the items, or within groups), ratio, p (as
        large by shuffling), n, endpoints, reason (why there is nothing; the numbers are None then).

    Notes
    -----
    Endpoints that share a model miss the same items for that reason alone; the number says so of the panel, not of the items.
    """
    x = 1 - correct.to_numpy(dtype=float)
    n, m = x.shape
    none: dict[str, Any] = dict.fromkeys(("variance", "expected", "ratio", "p"))
    told = {"n": n, "endpoints": m}
    if n < 10 or m < 2:
        return none | told | {"reason": f"{n} item{'s' * (n != 1)} and {m} endpoint{'s' * (m != 1)}: too few"}
    names = np.zeros(n) if groups is None else np.array(list(groups), dtype=object)
    parts = [x[names == one] for one in sorted(set(names))]

    def within(blocks: Sequence[np.ndarray]) -> float:
        return sum(len(block) * float(block.sum(axis=1).var()) for block in blocks) / n

    observed, expected = within(parts), sum(len(part) * float(part.var(axis=0).sum()) for part in parts) / n
    if expected == 0:
        alike = "all items" if groups is None else "all items of a letter"
        return none | told | {"reason": f"every endpoint is right, or wrong, on {alike}"}
    rng = np.random.default_rng(seed)
    hits = sum(within([rng.permuted(part, axis=0) for part in parts]) >= observed - 1e-12 for _ in range(permutations))
    found = {"variance": observed, "expected": expected, "ratio": observed / expected, "p": (1 + hits) / (1 + permutations)}  # fmt: skip
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


def shared_sentence(found: Mapping[str, Any], where: str = "") -> str:
    """`shared_difficulty` in words; `where` says among which items, e.g. 'among items with the same letter as key'."""
    among = f" {where}" if where else ""
    if found["reason"]:
        return f"Whether the endpoints find the same items hard{among} cannot be said: {found['reason']}."
    said = f"Miss counts{among} vary {found['ratio']:.1f} times as much as if each endpoint missed items at random (p = {found['p']:.2g})"
    return f"{said}: {'the endpoints tend to miss the same items' if found['p'] < 0.05 else 'no sign that the endpoints find the same items hard'}."


def key_sentence(correct: pd.DataFrame, keys: Mapping[str, str]) -> str:
    """How much the letter of the key decides, in words."""
    found, table = key_letter(correct, keys), misses_by_key(correct, keys).set_index("key")["mean_missed"]
    if found["share"] is None:
        return "Whether the letter of the key decides who misses an item cannot be said."
    if not found["telling"]:
        return f"The letter of the key accounts for {100 * found['share']:.0f} % of the variance of miss counts (p = {found['p']:.2g})."
    # The letter that stands apart from the mean of the others most.
    apart = max(table.index, key=lambda a: abs(table[a] - table.drop(a).mean()))
    others = table.drop(apart)
    low, high = f"{others.min():.1f}", f"{others.max():.1f}"
    return (
        f"{100 * found['share']:.0f} % of the variance of miss counts is the letter of the key: items with key {apart} are missed by {table[apart]:.1f} of "
        f"{correct.shape[1]} endpoints on average, those with another by {low if low == high else f'{low} to {high}'}. That points to where the panel "
        "likes to answer, not to how hard the questions are."
    )


LETTER = "among items with the same letter as key"


def source_sentence(found: pd.DataFrame, items: Sequence[Item] = ()) -> str:
    """Whether items from more sources are harder, in one line (section VI: rho = 0.054).

    Parameters
    ----------
    found : from `exam.source_counts`.
    items : the bank; where the number of sources follows from the label, that is said.
    """
    rows = found[(found["coefficient"] == "spearman") & (found["label"] == "all")]
    if not len(rows) or rows["status"].iloc[0] != "scored":
        return f"Sources against accuracy: undefined ({rows['reason'].iloc[0] if len(rows) else 'no items'})."
    row = rows.iloc[0]
    interval = f" [{row['low']:.2f}, {row['high']:.2f}]" if row["low"] is not None and row["low"] == row["low"] else ""
    said = f"Sources against accuracy: rho = {row['value']:.2f}{interval}, {row['mean_sources']:.2f} sources an item on average."
    by_label: dict[str, set[int]] = {}
    for item in items:
        by_label.setdefault(item.label or "no label", set()).add(len(item.sources))
    if len(by_label) > 1 and all(len(counts) == 1 for counts in by_label.values()):
        each = ", ".join(f"{label} {min(counts)}" for label, counts in by_label.items())
        said += f" Here the label fixes the number of sources ({each}), so this compares labels and says nothing more of sources."
    return said


def difficulty_warnings(
    correct: pd.DataFrame,
    t: int,
    keys: Mapping[str, str],
    shared: Mapping[str, Any],
    loo: pd.DataFrame,
    discrimination: pd.DataFrame,
    sat: pd.DataFrame,
) -> list[str]:
    """What to distrust about empirical difficulty.

    Parameters
    ----------
    correct : (n, m) DataFrame
    t : endpoints that must miss an item to flag it.
    keys : letter of the key of each item, by its id.
    shared : from `shared_difficulty`, within letters of the key.
    loo : from `exam.leave_one_out`.
    discrimination : from `exam.discrimination`.
    sat : from `endpoints.endpoint_table`.
    """
    m = correct.shape[1]
    notes = [key_sentence(correct, keys)] if key_letter(correct, keys)["telling"] else []
    notes.append(shared_sentence(shared, LETTER))
    guessed = flagged_by_guessing(m, t)
    if guessed > 0.5 and len(correct) and float((exam.difficulty(correct) >= t).mean()) > guessed - 0.1:
        printed = comparability.published("ms_exam_gen", "table4")["accuracy"]
        notes.append(
            f"A panel that guesses would flag {_percent(guessed)} of the items: being missed by {t} or more of {m} says nothing of an item here. The paper's "
            f"flag is for endpoints that are right on {printed.min():.0f} to {printed.max():.0f} % of the items."
        )
    apart = one_voice(correct, sat)
    if apart.shape[1] < m:
        notes.append(
            f"{m} endpoints are {apart.shape[1]} models, some asked in several ways, which miss the same items for that reason alone (the "
            "Rasch model takes their answers as independent). With the first endpoint of each model alone: "
            f"{_lower(shared_sentence(shared_difficulty(apart, groups=[keys[i] for i in apart.index]), LETTER))}"
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
            f"{negative} of {known} items have a negative discrimination; by chance alone half would, and with {m} endpoints its standard error is about "
            f"{1 / math.sqrt(max(1, m - 1)):.1f}."
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
        item_id, question, topic, label, sources (how many), missed, panel, flagged (missed >= t), band (`exam.difficulty_bands`), discrimination and
        rasch (logits), both missing where undefined.
    """
    import pandas as pd

    missed = exam.difficulty(correct)
    told = exam.discrimination(correct).set_index("item_id")["discrimination"]
    fitted = exam.rasch(correct).items.set_index("item_id")["difficulty"]
    rows = [(i.id, i.question, i.topic, i.label, len(i.sources)) for i in items if i.id in correct.index]
    table = pd.DataFrame(rows, columns=["item_id", "question", "topic", "label", "sources"])
    table["missed"] = table["item_id"].map(missed).astype("int64")
    table["panel"] = correct.shape[1]
    table["flagged"] = table["missed"] >= t
    table["band"] = exam.difficulty_bands(table["missed"]).astype(str).to_numpy()
    table["discrimination"] = table["item_id"].map(told).astype("Float64")
    table["rasch"] = table["item_id"].map(fitted).astype("Float64")
    return table.sort_values("missed", ascending=False, kind="stable").reset_index(drop=True)


def hardest_sentence(table: pd.DataFrame, shown: int) -> str:
    """Which part of `item_table` is shown."""
    everyone = int((table["missed"] == table["panel"]).sum())
    return f"The first {min(shown, len(table))} of {len(table)} items, hardest first; {everyone} are missed by every endpoint."


def band_table(correct: pd.DataFrame, least: int = FEW) -> pd.DataFrame:
    """Accuracy of each endpoint by how many of the others miss an item.

    Returns
    -------
    DataFrame
        endpoint, and a column for each band ('missed by 0–1 others', …): accuracy and number of items in words, the accuracy left out below
        `least` items.
    """
    import pandas as pd

    found = exam.accuracy_by_difficulty(correct)
    said = [
        f"{f'{value:.2f} of' if items >= least else 'too few:'} {items}"
        for value, items in zip(found["value"], found["items"], strict=True)
    ]
    names = [f"missed by {band} others" for band in found["difficulty"]]
    wide = found.assign(band=pd.Categorical(names, dict.fromkeys(names)), said=said)
    table = wide.pivot(index="endpoint", columns="band", values="said").reindex(correct.columns)
    table.columns = [str(name) for name in table.columns]
    return table.rename_axis("endpoint").reset_index()


def rasch_sentence(fit: exam.Rasch) -> str:
    """Whether a Rasch model could be fitted, and holds."""
    if fit.status != "scored":
        return f"No Rasch model: {fit.reason}."
    said = f"Rasch model on {fit.n} items that divide the panel"
    if "Andersen" in fit.reason:  # the reason has the test then
        return f"{said}. {fit.reason[:1].upper()}{fit.reason[1:]}."
    p = "not tested" if fit.p is None else f"p {'< 0.001' if fit.p < 0.001 else f'= {fit.p:.3f}'}"
    more = f" {fit.reason[:1].upper()}{fit.reason[1:]}." if fit.reason else ""
    return f"{said} (Andersen's test: {p}).{more}"


def _percent(share: float) -> str:
    return "over 99.9 %" if 0.9995 <= share < 1 else f"{100 * share:.1f} %"


def guessing_summary(flagged: Estimate, endpoints: int, t: int) -> str:
    """The share of items that are flagged, in one line, with that of guessing."""
    return f"missed by {t} or more of {endpoints} endpoint{'s' * (endpoints != 1)}: {flagged}; {_percent(flagged_by_guessing(endpoints, t))} if all guessed"


def _lower(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]
