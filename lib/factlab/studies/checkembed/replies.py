"""Replies to the same questions (20_verify): matrices, decisions, what a person should read, asking again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from factlab import stability, stats
from factlab.stats.resampling import FEW

if TYPE_CHECKING:
    import pandas as pd

Embed = Callable[[Sequence[str]], np.ndarray]
Encode = Callable[[Sequence[str]], Sequence[Any]]


def texts_of(replies: pd.DataFrame, truth: Mapping[str, str]) -> dict[str, list[str]]:
    """For each question its replies in order, the ground truth last ('' where there is none, or no reply).

    Parameters
    ----------
    replies : item_id, sample, reply, status ('' or 'scored' where there is a reply).
    truth : ground truth by item_id.
    """
    usable = replies["status"].isin(["", "scored"])
    table = replies.assign(text=replies["reply"].where(usable, "").fillna("")).sort_values("sample", kind="stable")
    found = {}
    for item in dict.fromkeys(replies["item_id"]):
        found[item] = [*table.loc[table["item_id"] == item, "text"], truth.get(item, "")]
    return found


def matrices(texts: Mapping[str, Sequence[str]], embed: Embed, metric: str = "cosine") -> dict[str, np.ndarray]:
    """Similarity of every pair of replies to one question, the ground truth last: CheckEmbed's heatmaps.

    Every distinct text is embedded once, all questions together: O(k) embeddings, O(k²) products.
    """
    flat = [text for group in texts.values() for text in group]
    vectors = embed(flat)
    found, at = {}, 0
    for item, group in texts.items():
        found[item] = stability.similarity(vectors[at : at + len(group)], metric)
        at += len(group)
    return found


def bertscore_matrices(
    texts: Mapping[str, Sequence[str]], encode: Encode, baseline: Any = None
) -> dict[str, np.ndarray]:
    """The same by BERTScore F1; NaN in the row and column of an empty text."""
    found = {}
    for item, group in texts.items():
        there = [i for i, text in enumerate(group) if text.strip()]
        matrix = np.full((len(group), len(group)), np.nan)
        if there:
            kept = [group[i] for i in there]
            matrix[np.ix_(there, there)] = stability.bertscore(kept, kept, encode, baseline=baseline)[2]
        found[item] = matrix
    return found


def decisions(
    found: Mapping[str, np.ndarray], level: float = 0.9, spread: float = 0.05, variant: str = "paper"
) -> pd.DataFrame:
    """For each question: level and spread of its replies, whether they are accepted, and how close they come to the ground truth.

    Returns
    -------
    DataFrame : item_id, level, spread, k, missing, status, reason, accepted, truth_similarity (mean over the replies, missing without
    a ground truth), read_first (number of the reply that is least like the others), typical (of the one most like them).
    """
    import pandas as pd

    rows = []
    for item, matrix in found.items():
        summary = stability.summarise(matrix, truth=True, variant=variant)
        close = stability.truth_similarity(matrix)
        order = stability.read_first(matrix, truth=True)
        there = [i for i in order if not np.isnan(matrix[i, i])]
        rows.append(
            {"item_id": item, "level": summary.level, "spread": summary.spread, "k": summary.k, "missing": summary.missing,
             "status": summary.status, "reason": summary.reason, "accepted": stability.accept(summary, level, spread),
             "truth_similarity": float(np.nanmean(close)) if not np.isnan(close).all() else None,
             "read_first": there[0] if there else None, "typical": there[-1] if there else None}
        )  # fmt: skip
    table = pd.DataFrame(rows)
    return table.astype(
        {c: "Float64" for c in ("level", "spread", "truth_similarity")}
        | {c: "Int64" for c in ("read_first", "typical")}
    )


def extremes(table: pd.DataFrame) -> list[str]:
    """The most and the least stable question that can be drawn (Figures 5 and 6 show one of each)."""
    scored = table[table["status"] == "scored"].sort_values("level", ascending=False)
    return list(dict.fromkeys([*scored["item_id"].head(1), *scored["item_id"].tail(1)]))


def rejected_texts(table: pd.DataFrame, replies: pd.DataFrame, most: int = 5) -> pd.DataFrame:
    """Questions whose replies were not accepted, least stable first, with the reply that a person should read first."""
    wanted = table[~table["accepted"].astype(bool)].sort_values("level", na_position="first").head(most)
    texts = replies.set_index(["item_id", "sample"])["reply"]
    shown = [
        texts.get((item, sample), "") if sample == sample and sample is not None else ""
        for item, sample in zip(
            wanted["item_id"],
            wanted["read_first"].astype(object).where(wanted["read_first"].notna(), None),
            strict=True,
        )
    ]
    return wanted[["item_id", "level", "spread", "status"]].assign(reply=shown)


def acceptance(table: pd.DataFrame) -> stats.Estimate:
    """The share of questions whose replies are accepted, with Wilson's interval."""
    scored = table[table["status"] == "scored"]
    left = int((table["status"] != "scored").sum())
    values = scored["accepted"].astype(float)
    return stats.estimate(
        values, unit="questions", name="checkembed-accepted", counts={"undefined": left} if left else None
    )


def warnings(table: pd.DataFrame, embedder: str, recorded: bool) -> list[str]:
    """What a reader should distrust in decisions on replies."""
    notes = []
    if embedder == "local/minilm":
        notes.append(
            "The paper's limits (0.9 and 0.05) were set for embedders of several billion parameters; MiniLM has 22 million and another scale. "
            "Calibrate them on answers that are known to be right or wrong (`stability.thresholds`)."
        )
    scored = table[table["status"] == "scored"]
    if len(scored) < FEW:
        notes.append(f"Only {len(scored)} questions have two or more replies to compare.")
    missing = int(table["missing"].sum())
    if missing:
        notes.append(f"{missing} replies are empty or failed and are left out of their matrices.")
    if recorded:
        notes.append(
            "The replies are those of a model of 135 million parameters, which seldom does what the prompt asks."
        )
    return notes


def with_empty_rule(
    found: Mapping[str, np.ndarray], texts: Mapping[str, Sequence[str]], rule: str
) -> dict[str, np.ndarray]:
    """What becomes of empty replies: 'leave-out' (they are missing) or 'released' (two empty ones alike, one empty opposite)."""
    if rule not in ("leave-out", "released"):
        raise ValueError(f"empty {rule!r} is neither leave-out nor released")
    if rule == "leave-out":
        return dict(found)
    return {item: stability.with_empty(m, np.array([not t.strip() for t in texts[item]])) for item, m in found.items()}


def ask_until_accepted(
    decided: pd.DataFrame,
    ask: Callable[[Sequence[str], int], pd.DataFrame],
    truth: Mapping[str, str],
    embed: Embed,
    rounds: int,
    level: float = 0.9,
    spread: float = 0.05,
) -> pd.DataFrame:
    """The paper's deployment loop: questions that were not accepted are asked anew, all k replies, up to so many times.

    Parameters
    ----------
    decided : from `decisions`.
    ask : function of item_ids and the number of the round (from 1) that gives new replies, as `models.repeats.ask_again` does.
    truth, embed, level, spread : as above.
    rounds : most rounds.

    Returns
    -------
    DataFrame : round and the columns of `decisions`, one row a question and round in which it was asked.
    """
    import pandas as pd

    waiting = decided.loc[~decided["accepted"].astype(bool), "item_id"].tolist()
    frames = []
    for number in range(1, rounds + 1):
        if not waiting:
            break
        texts = texts_of(ask(waiting, number), truth)
        table = decisions(matrices(texts, embed), level, spread).assign(round=number)
        frames.append(table)
        waiting = table.loc[~table["accepted"].astype(bool), "item_id"].tolist()
    return pd.concat(frames, ignore_index=True) if frames else decided.head(0).assign(round=pd.Series(dtype=int))
