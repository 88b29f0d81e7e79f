"""Rankings put into another order, and how good an order is: recall, mean reciprocal rank, nDCG (REASONS, section 4.1)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from factlab.retrieval.bm25 import RANKING, Bm25

if TYPE_CHECKING:
    import pandas as pd


def naive(dense: pd.DataFrame, bm25: Bm25, queries: Sequence[str], k: int = 2) -> pd.DataFrame:
    """Naive retrieval of REASONS: the k passages nearest by their vectors, in the order of BM25.

    Parameters
    ----------
    dense : DataFrame
        From `dense_search`, over the passages of `bm25`.
    bm25 : Bm25
    queries : sequence of str
        Text of each query, by its number.
    k : int
        Passages kept for a query, at least 1; published: 2.

    Returns
    -------
    DataFrame
        query, rank, passage, score (BM25's; 0 for a passage that shares no word with the query). Passages of equal score, those of
        score 0 among them, keep their dense order.

    Notes
    -----
    The text says that BM25 ranks what the bi-encoder retrieved. So the k passages are the bi-encoder's, and only their order
    is BM25's.

    Raises
    ------
    ValueError
        If k < 1 or the table names a query or passage that is not there.
    """
    if k < 1:
        raise ValueError(f"naive: k is the number of passages for a query, at least 1, got {k}")
    _check(dense, "dense")
    kept = dense[dense["rank"] <= k]
    if len(kept) and (kept["query"].max() >= len(queries) or kept["passage"].max() >= len(bm25)):
        raise ValueError(
            f"naive: the table names query {kept['query'].max()} and passage {kept['passage'].max()}, but there are "
            f"{len(queries)} queries and {len(bm25)} passages; all three must belong together"
        )
    numbers = kept["query"].unique()
    scores = np.zeros(len(kept))
    for number, every in zip(numbers, bm25.scores([queries[i] for i in numbers]), strict=True):
        own = (kept["query"] == number).to_numpy()
        scores[own] = every[kept["passage"].to_numpy()[own]]
    return rerank(kept, scores)


def rerank(ranking: pd.DataFrame, scores: ArrayLike) -> pd.DataFrame:
    """A ranking in the order of other scores.

    Parameters
    ----------
    ranking : DataFrame
        query, rank, passage; what else it has is dropped.
    scores : (n,) array
        A score for each row of `ranking`, higher for nearer.

    Returns
    -------
    DataFrame
        query, rank, passage, score; equal scores keep the order of `ranking`.

    Raises
    ------
    ValueError
        If there is not one finite score for each row, or a query names a passage or a rank twice.
    """
    import pandas as pd

    _check(ranking, "ranking")
    scores = np.asarray(scores, dtype=float)
    if scores.shape != (len(ranking),):
        raise ValueError(f"rerank: {len(ranking)} rows need as many scores, got an array of shape {scores.shape}")
    if not np.isfinite(scores).all():
        row = ranking.iloc[int(np.argmin(np.isfinite(scores)))]
        raise ValueError(f"rerank: passage {row['passage']:g} of query {row['query']:g} has no finite score")
    found = ranking[["query", "rank", "passage"]].assign(score=scores, _worse=-scores)
    found = found.sort_values(["query", "_worse", "rank"], kind="stable").reset_index(drop=True)
    found["rank"] = found.groupby("query").cumcount() + 1
    return pd.DataFrame(found[list(RANKING)]).astype(RANKING)


def rank_scores(
    ranking: pd.DataFrame, relevant: Sequence[Collection[int]], k: Sequence[int] = (1, 2, 5, 10)
) -> pd.DataFrame:
    """How good a ranking is, query by query.

    Parameters
    ----------
    ranking : DataFrame
        query, rank, passage. What was not retrieved counts as not found.
    relevant : sequence of sets of int
        The relevant passages of each query, by its number.
    k : sequence of int
        Depths, each at least 1.

    Returns
    -------
    DataFrame
        One row a query, in their order: query, relevant (how many passages are), retrieved (how many of them the ranking has at any rank),
        first (rank of the first of them, missing where there is none), reciprocal_rank (1 / first; 0 where none was
        retrieved), recall@k, ndcg@k for each k, status ('scored', or 'undefined' for a query without a relevant passage,
        whose scores are missing), reason. All scores are in [0, 1].

    Raises
    ------
    ValueError
        If k is out of range, a query names a passage or a rank twice, or the ranking has a query that `relevant` has not.

    Notes
    -----
    recall@k: share of the relevant passages among the first k; with more than k relevant ones it cannot reach 1. nDCG@k: sum of
    1 / log2(1 + rank) over the relevant passages among the first k, over the same sum for the best order there can be (all
    relevant ones first; gains are 0 or 1; Järvelin and Kekäläinen 2002).
    """
    import pandas as pd

    if not len(k) or any(not isinstance(depth, int | np.integer) or depth < 1 for depth in k):
        raise ValueError(f"rank_scores: k are depths of at least 1, got {k!r}")
    _check(ranking, "ranking")
    if len(ranking) and not 0 <= ranking["query"].min() <= ranking["query"].max() < len(relevant):
        raise ValueError(f"rank_scores: {len(relevant)} queries have relevant passages, but the ranking has query "
                         f"{ranking['query'].max()}")  # fmt: skip
    sets = [set(own) for own in relevant]
    sizes = np.array([len(own) for own in sets], dtype=np.int64)
    table = ranking[["query", "rank", "passage"]]
    hit = [passage in sets[query] for query, passage in zip(table["query"], table["passage"], strict=True)]
    hits = table[np.array(hit, dtype=bool)]
    of, ranks = hits["query"].to_numpy(dtype=np.int64), hits["rank"].to_numpy(dtype=np.int64)
    first = np.full(len(sets), np.inf)
    np.minimum.at(first, of, ranks)
    scores = {"reciprocal_rank": 1 / first}
    most = int(max(sizes.max(initial=0), 1))
    ideal = np.concatenate([[0.0], np.cumsum(1 / np.log2(np.arange(2, most + 2)))])
    with np.errstate(invalid="ignore", divide="ignore"):
        for depth in k:
            inside = ranks <= depth
            scores[f"recall@{depth}"] = np.bincount(of[inside], minlength=len(sets)) / sizes
        for depth in k:
            inside = ranks <= depth
            gain = np.bincount(of[inside], weights=1 / np.log2(1 + ranks[inside]), minlength=len(sets))
            scores[f"ndcg@{depth}"] = gain / ideal[np.minimum(sizes, depth)]
    found = pd.DataFrame(
        {"query": np.arange(len(sets)), "relevant": sizes, "retrieved": np.bincount(of, minlength=len(sets))}
    )
    found["first"] = pd.array([None if np.isinf(rank) else int(rank) for rank in first], dtype="Int64")
    for name, values in scores.items():
        found[name] = pd.array(np.where(sizes > 0, values, 0.0), dtype="Float64")
        found.loc[sizes == 0, name] = pd.NA
    found["status"] = pd.array(np.where(sizes > 0, "scored", "undefined").tolist(), dtype="str")
    found["reason"] = pd.array(np.where(sizes > 0, "", "no relevant passage").tolist(), dtype="str")
    return found


def _check(ranking: pd.DataFrame, name: str) -> None:
    if absent := {"query", "rank", "passage"} - set(ranking.columns):
        raise ValueError(f"{name}: no column {', '.join(sorted(absent))}; a ranking has query, rank, passage")
    for column in ("passage", "rank"):
        twice = ranking.duplicated(["query", column])
        if twice.any():
            row = ranking[twice].iloc[0]
            raise ValueError(f"{name}: query {row['query']:g} has {column} {row[column]:g} twice")
    if len(ranking) and ranking["rank"].min() < 1:
        raise ValueError(f"{name}: ranks begin at 1, got {ranking['rank'].min()}")
