"""What BLEU, ROUGE, METEOR and BERTScore say of the same explanations (LExT, Figure 1), and whether they notice a wrong reason."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from factlab import explanation, stats
from factlab.studies.lext import components, trust
from factlab.studies.lext.report import many

if TYPE_CHECKING:
    import pandas as pd

    from factlab.explanation import Scores

MEASURES = ("BLEU", "ROUGE-L", "METEOR (exact and stem)", "BERTScore")


def overlaps(items: pd.DataFrame, explained: pd.DataFrame, encode: Any = None) -> pd.DataFrame:
    """BLEU, ROUGE-L, METEOR and BERTScore of each explanation against the ground truth (Figure 1).

    Parameters
    ----------
    items : item_id, explanation.
    explained : from `stages.explained`; the first answers count.
    encode : token encoder for BERTScore (`models.tokens.load`); None: without it.

    Returns
    -------
    DataFrame, one row an item: item_id and the measures, missing where there is no explanation.
    """
    import pandas as pd

    first = explained[(explained["kind"] == "iteration") & (explained["sample"].astype(int) == 0)]
    given = first.set_index("item_id")["explanation"].fillna("").to_dict()
    pairs = [(given.get(item, ""), truth) for item, truth in zip(items["item_id"], items["explanation"], strict=True)]
    return pd.DataFrame({"item_id": list(items["item_id"])}).join(_measures(pairs, encode))


def _measures(pairs: Sequence[tuple[str, str]], encode: Any) -> pd.DataFrame:
    import pandas as pd

    from factlab import stability

    nothing = dict.fromkeys(MEASURES[:3])
    table = pd.DataFrame(
        [explanation.overlap(a, b) if a.strip() and b.strip() else nothing for a, b in pairs],
        columns=list(MEASURES[:3]),
    )
    if encode is not None:
        there = [i for i, (a, b) in enumerate(pairs) if a.strip() and b.strip()]
        found = np.full(len(pairs), np.nan)
        if there:
            scores = stability.bertscore_pairwise([pairs[i][0] for i in there], [pairs[i][1] for i in there], encode)
            found[there] = np.where(scores.status == "scored", scores.f, np.nan)
        table[MEASURES[3]] = found
    return pd.DataFrame(
        {c: pd.array([None if v is None or math.isnan(v) else v for v in table[c]], dtype="Float64") for c in table},
        index=table.index,
    )


def overlap_means(measured: pd.DataFrame, scores: Scores, seed: int = 0, clusters: Any = None) -> pd.DataFrame:
    """The mean of each measure beside those of the metrics (Figure 1 in kind): name, value, low, high, n, text."""
    import pandas as pd

    rows = []
    for name in (m for m in MEASURES if m in measured):
        found = stats.estimate(measured[name], clusters, seed=seed, name=f"lext-{name}")
        rows.append((name, "overlap", found.value, found.low, found.high, found.n, str(found)))
    for metric in ("correctness", "consistency", "qag", "counterfactual", "contextual", "trust"):
        found = scores.estimates[metric]
        rows.append((trust.NAMES[metric], "LExT", found.value, found.low, found.high, found.n, str(found)))
    table = pd.DataFrame(rows, columns=["name", "kind", "value", "low", "high", "n", "text"])
    return table.astype(dict.fromkeys(["value", "low", "high"], "Float64"))


def correlations(measured: pd.DataFrame, items: pd.DataFrame, clusters: Any = None, seed: int = 0) -> pd.DataFrame:
    """Would a plainer measure have said the same? Spearman's rho of each with plausibility, faithfulness and trust over items.

    Returns
    -------
    DataFrame : measure, against, value, low, high, p, p_holm (over all rows), n, reason (why there is none, or what to distrust). Below
    ten items rho is described and not tested.
    """
    import pandas as pd

    both = measured.merge(items[["item_id", "plausibility", "faithfulness", "trust"]], on="item_id")
    rows = []
    for name in (m for m in MEASURES if m in measured):
        for against in ("plausibility", "faithfulness", "trust"):
            found = (
                stats.correlation(both[name], both[against], clusters, seed=seed)
                .set_index("coefficient")
                .loc["spearman"]
            )
            few = found["n"] < 10
            reason = found["reason"] or (f"only {many(found['n'], 'item')}: not tested" if few else "")
            p = None if few else found["p"]
            rows.append(
                (name, trust.NAMES[against], found["value"], found["low"], found["high"], p, found["n"], reason)
            )
    table = pd.DataFrame(rows, columns=["measure", "against", "value", "low", "high", "p", "n", "reason"])
    table = table.astype(dict.fromkeys(["value", "low", "high", "p"], "Float64"))
    table.insert(6, "p_holm", pd.array(stats.holm(table["p"]), dtype="Float64"))
    return table


def known_quality(
    examples: pd.DataFrame,
    items: pd.DataFrame,
    embed: components.Embed,
    tag: components.Tag,
    encode: Any = None,
    beta: float = explanation.plausible.BETA,
) -> pd.DataFrame:
    """Do the measures tell a good explanation from one with a wrong reason and from a poor one?

    Parameters
    ----------
    examples : item_id, quality, explanation: written for this test, not by the subject.
    items : item_id, explanation (ground truths).
    embed, tag, encode, beta : as elsewhere.

    Returns
    -------
    DataFrame : measure, then the mean for each quality, n (of each), and wrong_below_good: how many wrong reasons score below the good one
    of the same item, of how many ('6 of 8').
    """
    import pandas as pd

    truth = items.set_index("item_id")["explanation"]
    known = examples[examples["item_id"].isin(truth.index)].reset_index(drop=True)
    pairs = list(zip(known["explanation"], known["item_id"].map(truth), strict=True))
    table = _measures(pairs, encode)
    vector = components.vectors([text for pair in pairs for text in pair], embed)
    texts = list(dict.fromkeys(text for pair in pairs for text in pair))
    tags = dict(zip(texts, tag(texts) if texts else [], strict=True))
    table["cosine"] = [components.cosine(vector, a, b) for a, b in pairs]
    table["weighted accuracy"] = [
        explanation.weighted_accuracy(c, tags[b], tags[a], beta)
        for c, (a, b) in zip(table["cosine"], pairs, strict=True)
    ]
    rows = []
    qualities = list(dict.fromkeys(known["quality"]))
    for name in table:
        wide = known.assign(score=table[name].astype(float)).pivot_table(
            index="item_id", columns="quality", values="score"
        )
        told = (wide["wrong_reason"] < wide["good"]).sum() if {"good", "wrong_reason"} <= set(wide) else 0
        rows.append(
            {"measure": name}
            | {q: wide[q].mean() for q in qualities}
            | {"n": len(wide), "wrong_below_good": f"{told} of {len(wide)}"}
        )
    return pd.DataFrame(rows)


def known_sentence(quality: pd.DataFrame) -> str:
    """Which measures put a wrong reason below a good one (from `known_quality`), in words."""
    from scipy.stats import binom

    told = {row["measure"]: [int(k) for k in row["wrong_below_good"].split(" of ")] for row in quality.to_dict("records")}  # fmt: skip
    pairs = max((n for _, n in told.values()), default=0)
    if not pairs:
        return "There is no pair of a good explanation and one with a wrong reason."
    own = "weighted accuracy"
    others = ", ".join(f"{name} {k}" for name, (k, _) in sorted(told.items(), key=lambda one: -one[1][0]) if name != own)  # fmt: skip
    k = told[own][0]
    chance = float(binom.sf(k - 1, pairs, 0.5))
    return (
        f"Of {pairs} pairs LExT's weighted accuracy puts the wrong reason below the good one in {k} (a coin would in as many or more with a "
        f"probability of {chance:.2f}); {others}. So few pairs rank no measures."
    )


def correlations_note(table: pd.DataFrame) -> str:
    """What to know of `correlations`, once for all rows that it holds for; '' where there is nothing."""
    counts = table.loc[table["reason"] != "", "reason"].value_counts(sort=False)
    return "; ".join(f"{n} of {len(table)} correlations: {reason}" for reason, n in counts.items())
