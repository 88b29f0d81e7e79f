"""Pairs of passages (30_similar_vs_different, and Figure 1 in 20_verify): how alike they are by every method, and who is right."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from factlab import stability
from factlab.studies.checkembed.replies import Embed, Encode
from factlab.text import sentences

if TYPE_CHECKING:
    import pandas as pd


def pair_scores(pairs: pd.DataFrame, embed: Embed, encode: Encode | None = None, baseline: Any = None) -> pd.DataFrame:
    """How alike the two passages of each pair are, by every method.

    Parameters
    ----------
    pairs : pair_id, setting, kind, text_1, text_2.
    embed, encode : of whole texts (CheckEmbed), of tokens (BERTScore, SelfCheckGPT); without `encode` CheckEmbed alone.
    baseline : of BERTScore.

    Returns
    -------
    DataFrame, one row a pair and method: pair_id, setting, kind, method, score (higher for more alike; SelfCheckGPT as 1 minus its
    inconsistency, with the first passage checked against the second and the other way round). NaN where a passage is empty.
    """
    import pandas as pd

    first, second = pairs["text_1"].tolist(), pairs["text_2"].tolist()
    n = len(first)
    vectors = embed(first + second) if n else np.empty((0, 1), dtype=np.float32)
    cosine = [float(stability.similarity(vectors[[i, n + i]])[0, 1]) for i in range(n)]
    frames = [pairs[["pair_id", "setting", "kind"]].assign(method="CheckEmbed", score=cosine)]
    if encode is not None:
        f = np.full(n, np.nan)
        there = [i for i in range(n) if first[i].strip() and second[i].strip()]
        scores = stability.bertscore_pairwise(
            [first[i] for i in there], [second[i] for i in there], encode, baseline=baseline
        )
        f[there] = np.where(scores.status == "scored", scores.f, np.nan)
        frames.append(pairs[["pair_id", "setting", "kind"]].assign(method="BERTScore", score=f))
        # Passages share sentences, and pairs share passages: every distinct sentence is encoded once for all of them.
        split = {text: sentences(text) for text in dict.fromkeys(first + second)}
        every = list(dict.fromkeys(sentence for found in split.values() for sentence in found))
        known = dict(zip(every, encode(every) if every else [], strict=True))

        def agreement(text: str, other: str) -> float:
            if not split[text] or not split[other]:
                return math.nan
            found = stability.selfcheck_bertscore(split[text], [split[other]], lambda asked: [known[t] for t in asked])
            return 1 - float(np.mean(found))

        both = [0.5 * (agreement(a, b) + agreement(b, a)) for a, b in zip(first, second, strict=True)]
        frames.append(pairs[["pair_id", "setting", "kind"]].assign(method="SelfCheckGPT", score=both))
    return pd.concat(frames, ignore_index=True)


def separations(scores: pd.DataFrame) -> pd.DataFrame:
    """How well each method tells similar pairs from different ones, for each kind of topic and together.

    Returns
    -------
    DataFrame : method, kind, n (pairs with a score), auroc, low, high, overlap (0 none, 1 full), shared (share of points in the common
    range), cut, text.
    """
    import pandas as pd

    rows = []
    for method in dict.fromkeys(scores["method"]):
        mine = scores[scores["method"] == method]
        for kind in ["all", *dict.fromkeys(mine["kind"])]:
            part = mine if kind == "all" else mine[mine["kind"] == kind]
            groups = [part.loc[part["setting"] == setting, "score"] for setting in ("similar", "different")]
            found = stability.separation(*groups)
            rows.append(
                {"method": method, "kind": kind, "n": found.similar + found.different, "auroc": found.auroc.value, "low": found.auroc.low,
                 "high": found.auroc.high, "overlap": found.overlap, "shared": found.shared, "cut": found.cut, "text": str(found.auroc)}
            )  # fmt: skip
    floats = ["auroc", "low", "high", "overlap", "shared", "cut"]
    return pd.DataFrame(rows, columns=["method", "kind", "n", *floats, "text"]).astype(dict.fromkeys(floats, "Float64"))


def pairs_summary(found: pd.DataFrame) -> str:
    """The result in one line."""
    rows = found[found["kind"] == "all"]
    return "AUROC " + "; ".join(f"{row.method} {row.text}" for row in rows.itertuples()) if len(rows) else "no pairs"


def violin_notes(found: pd.DataFrame, kind: str = "all") -> dict[str, str]:
    """A line for the title of each method's panel."""
    rows = found[found["kind"] == kind]
    return {
        row.method: f"AUROC {row.auroc:.2f}, overlap {row.overlap:.2f}" if not gone(row.auroc) else "AUROC undefined"
        for row in rows.itertuples()
    }


def gone(value: Any) -> bool:
    import pandas as pd

    return value is None or bool(pd.isna(value))


def figure_one(pairs: pd.DataFrame) -> pd.DataFrame:
    """One pair of each setting, as Figure 1 shows them: the first of the precise topics that has both passages, or of any."""
    whole = pairs[pairs["text_1"].str.strip().ne("") & pairs["text_2"].str.strip().ne("")]
    wanted = whole.iloc[np.argsort(whole["kind"] != "precise", kind="stable")]
    return wanted.drop_duplicates("setting").reset_index(drop=True)


def compare_methods(scores: pd.DataFrame, seed: int = 0, replicates: int = 2000) -> pd.DataFrame:
    """Difference in AUROC between the methods, on the same pairs.

    Returns
    -------
    DataFrame : a, b, auroc_a, auroc_b, difference, low, high (percentile bootstrap over pairs, similar and different ones apart), n.
    """
    import itertools

    import pandas as pd

    wide = scores.groupby(["pair_id", "setting", "method"], sort=False)["score"].mean().unstack("method").reset_index()
    generator = np.random.default_rng(seed)
    rows = []
    for a, b in itertools.combinations(list(dict.fromkeys(scores["method"])), 2):
        both = wide.dropna(subset=[a, b])
        groups = [both.loc[both["setting"] == s, [a, b]].to_numpy() for s in ("similar", "different")]
        if min(map(len, groups)) < 2:
            continue
        values = [_auroc(groups[0][:, i], groups[1][:, i]) for i in (0, 1)]
        drawn = []
        for _ in range(replicates):
            picked = [g[generator.integers(len(g), size=len(g))] for g in groups]
            drawn.append(_auroc(picked[0][:, 0], picked[1][:, 0]) - _auroc(picked[0][:, 1], picked[1][:, 1]))
        low, high = np.quantile(drawn, [0.025, 0.975])
        rows.append((a, b, *values, values[0] - values[1], low, high, len(both)))
    return pd.DataFrame(rows, columns=["a", "b", "auroc_a", "auroc_b", "difference", "low", "high", "n"])


def _auroc(high: np.ndarray, low: np.ndarray) -> float:
    """Share of comparisons in which the first is higher, ties half."""
    return float((high[:, None] > low).mean() + 0.5 * (high[:, None] == low).mean())


def misjudged(scores: pd.DataFrame, pairs: pd.DataFrame, method: str = "CheckEmbed", most: int = 3) -> pd.DataFrame:
    """The similar pairs with the lowest scores of one method, where a different pair scores higher."""
    mine = scores[scores["method"] == method]
    different = mine.loc[mine["setting"] == "different", "score"]
    low = mine[(mine["setting"] == "similar") & (mine["score"] < different.max())].nsmallest(most, "score")
    texts = pairs[["pair_id", "setting", "text_1", "text_2"]]
    return low[["pair_id", "setting", "score"]].merge(texts, on=["pair_id", "setting"]).drop(columns="setting")


def pair_warnings(told: pd.DataFrame, sample: bool, embedder: str) -> list[str]:
    """What a reader should distrust."""
    notes = []
    if sample:
        notes.append(
            "The sample pairs were written for this test by a language model, sharper than replies would be: similar ones share no phrase, "
            "different ones are built alike. A lexical method must fail on them; do not set the scores beside Figures 3 and 4."
        )
    if embedder == "local/minilm":
        notes.append("MiniLM has 22 million parameters; the paper's embedders have 7 billion or are not public.")
    small = told[told["n"] < 20]
    if len(small):
        notes.append(f"Fewer than 20 pairs stand behind {len(small)} of the {len(told)} AUROCs.")
    return notes
