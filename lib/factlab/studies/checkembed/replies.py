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


def texts_of(replies: pd.DataFrame, truth: Mapping[str, str]) -> dict[str, list[str | None]]:
    """For each question its replies in order, the ground truth last.

    Parameters
    ----------
    replies : item_id, sample, reply and, where not all are replies, status ('' or 'scored' for one).
    truth : ground truth by item_id; '' where there is none.

    Returns
    -------
    dict of item_id to list : texts; '' for an empty reply and where there is no ground truth, None for a call that failed.
    """
    table = replies.assign(status="") if "status" not in replies else replies
    table = table.sort_values("sample", kind="stable")
    texts = table["reply"].astype(object).where(table["status"].isin(["", "scored"]) & table["reply"].notna(), "")
    texts = texts.where(table["status"] != "error", None)
    found: dict[str, list[str | None]] = {item: [] for item in dict.fromkeys(replies["item_id"])}
    for item, text in zip(table["item_id"], texts, strict=True):
        found[item].append(text)
    return {item: [*group, truth.get(item, "")] for item, group in found.items()}


def matrices(texts: Mapping[str, Sequence[str | None]], embed: Embed, metric: str = "cosine") -> dict[str, np.ndarray]:
    """Similarity of every pair of replies to one question, the ground truth last: CheckEmbed's heatmaps.

    All questions are embedded together: O(k) embeddings, O(k²) products. NaN in the row and column of a text without a vector.
    """
    flat = [text for group in texts.values() for text in group]
    vectors = embed(flat)
    found, at = {}, 0
    for item, group in texts.items():
        found[item] = stability.similarity(vectors[at : at + len(group)], metric)
        at += len(group)
    return found


def bertscore_matrices(
    texts: Mapping[str, Sequence[str | None]], encode: Encode, baseline: Any = None
) -> dict[str, np.ndarray]:
    """The same by BERTScore F1; NaN in the row and column of a text that is empty or has no token that counts."""
    found = {}
    for item, group in texts.items():
        there = [i for i, text in enumerate(group) if text and text.strip()]
        matrix = np.full((len(group), len(group)), np.nan)
        if there:
            kept = [group[i] for i in there]
            scores = stability.bertscore(kept, kept, encode, baseline=baseline)
            matrix[np.ix_(there, there)] = np.where(scores.status == "scored", scores.f, np.nan)
        found[item] = matrix
    return found


def decisions(
    found: Mapping[str, np.ndarray], level: float = 0.9, spread: float = 0.05, variant: str = "paper"
) -> pd.DataFrame:
    """For each question: level and spread of its replies, whether they are accepted, and how close they come to the ground truth.

    Returns
    -------
    DataFrame : item_id, level, spread, k, missing, status, reason, accepted, truth_similarity (mean over the replies, missing without
    a ground truth), read_first (place of the reply that is least like the others, from 0), typical (of the one most like them).
    """
    import pandas as pd

    rows = []
    for item, matrix in found.items():
        summary = stability.summarise(matrix, truth=True, variant=variant)
        close = stability.truth_similarity(matrix)
        order = stability.read_first(matrix, truth=True)
        there = order[: summary.k]  # after them come those that are missing
        rows.append(
            {"item_id": item, "level": summary.level, "spread": summary.spread, "k": summary.k, "missing": summary.missing,
             "status": summary.status, "reason": summary.reason, "accepted": stability.accept(summary, level, spread),
             "truth_similarity": float(np.nanmean(close)) if not np.isnan(close).all() else None,
             "read_first": there[0] if len(there) else None, "typical": there[-1] if len(there) else None}
        )  # fmt: skip
    columns = ["item_id", "level", "spread", "k", "missing", "status", "reason", "accepted", "truth_similarity"]
    table = pd.DataFrame(rows, columns=[*columns, "read_first", "typical"])
    floats = dict.fromkeys(["level", "spread", "truth_similarity"], "Float64")
    whole = dict.fromkeys(["read_first", "typical"], "Int64")
    return table.astype(floats | whole | {"k": int, "missing": int, "accepted": bool})


def extremes(table: pd.DataFrame) -> list[str]:
    """The most and the least stable question that can be drawn (Figures 5 and 6 show one of each)."""
    scored = table[table["status"] == "scored"].sort_values("level", ascending=False)
    return list(dict.fromkeys([*scored["item_id"].head(1), *scored["item_id"].tail(1)]))


def rejected_texts(table: pd.DataFrame, replies: pd.DataFrame, most: int = 5) -> pd.DataFrame:
    """Questions whose replies were not accepted, least stable first, with the reply that a person should read first."""
    wanted = table[~table["accepted"].astype(bool)].sort_values("level", na_position="first", kind="stable").head(most)
    texts = texts_of(replies, {})
    first = wanted["read_first"].fillna(-1)  # the last of the texts, the ground truth, which is '' here
    shown = [texts[item][place] or "" for item, place in zip(wanted["item_id"], first, strict=True)]
    return wanted[["item_id", "level", "spread", "status"]].assign(reply=shown)


def acceptance(table: pd.DataFrame) -> stats.Estimate:
    """The share of questions whose replies are accepted, with Wilson's interval."""
    scored = table[table["status"] == "scored"]
    left = int((table["status"] != "scored").sum())
    values = scored["accepted"].astype(float)
    return stats.estimate(
        values, unit="questions", name="checkembed-accepted", counts={"undefined": left} if left else None
    )


def written_by(replies: pd.DataFrame) -> set[str]:
    """The models that wrote replies, by the columns model (of a run) or subject (of the sample)."""
    columns = [c for c in ("model", "subject") if c in replies]
    return {name for c in columns for name in replies[c] if isinstance(name, str) and name}


def warnings(table: pd.DataFrame, embedder: str, small: bool) -> list[str]:
    """What a reader should distrust in decisions on replies; `small`: the built-in model wrote them."""
    notes = []
    if embedder == "local/minilm":
        notes.append(
            "The paper's limits (0.9 and 0.05) were set for embedders of several billion parameters; MiniLM has 22 million and another scale. "
            "Calibrate them on answers that are known to be right or wrong (`stability.thresholds`)."
        )
    scored = table[table["status"] == "scored"]
    if len(scored) < FEW:
        have = "question has" if len(scored) == 1 else "questions have"
        notes.append(f"Only {len(scored)} {have} two or more replies to compare.")
    missing = int(table["missing"].sum())
    if missing:
        notes.append(
            f"Empty or failed replies: {missing}. They are left out of their matrices, so what is left may look stable."
        )
    if small:
        notes.append(
            "The replies are those of a model of 135 million parameters, which seldom does what the prompt asks."
        )
    return notes


def with_empty_rule(
    found: Mapping[str, np.ndarray], texts: Mapping[str, Sequence[str | None]], rule: str
) -> dict[str, np.ndarray]:
    """What becomes of empty replies: 'leave-out' (they are missing) or 'released' (two empty ones alike, one empty opposite).

    By both rules a call that failed is missing, and so is a ground truth that is not there. (In the released matrices the latter
    has −1 against every reply, as if it were known and the replies its opposite.)
    """
    if rule not in ("leave-out", "released"):
        raise ValueError(f"empty {rule!r} is neither leave-out nor released")
    if rule == "leave-out":
        return dict(found)
    blank = {item: [t is not None and not t.strip() for t in group[:-1]] + [False] for item, group in texts.items()}
    return {item: stability.with_empty(m, np.array(blank[item])) for item, m in found.items()}


def ask_until_accepted(
    decided: pd.DataFrame,
    ask: Callable[[Sequence[str], int], pd.DataFrame],
    truth: Mapping[str, str],
    embed: Embed,
    rounds: int,
    level: float = 0.9,
    spread: float = 0.05,
    variant: str = "paper",
    metric: str = "cosine",
    empty: str = "leave-out",
) -> pd.DataFrame:
    """The paper's deployment loop: questions that were not accepted are asked anew, all k replies, up to so many times.

    Parameters
    ----------
    decided : from `decisions`.
    ask : function of item_ids and the number of the round (from 1) that gives new replies, as `models.repeats.ask_again` does.
    truth, embed, level, spread, variant, metric, empty : as for the first decisions, see `texts_of`, `matrices`, `decisions` and
        `with_empty_rule`.
    rounds : most rounds.

    Returns
    -------
    DataFrame : round and the columns of `decisions`, one row a question and round in which it was asked.
    """
    import pandas as pd

    def decide(replies: pd.DataFrame) -> pd.DataFrame:
        texts = texts_of(replies, truth)
        return decisions(with_empty_rule(matrices(texts, embed, metric), texts, empty), level, spread, variant)

    waiting = decided.loc[~decided["accepted"].astype(bool), "item_id"].tolist()
    frames = []
    for number in range(1, rounds + 1):
        if not waiting:
            break
        table = decide(ask(waiting, number)).assign(round=number)
        frames.append(table)
        waiting = table.loc[~table["accepted"].astype(bool), "item_id"].tolist()
    return pd.concat(frames, ignore_index=True) if frames else decided.head(0).assign(round=pd.Series(dtype=int))
