"""The passages whose vectors are nearest to a query's: REASONS' bi-encoder retrieval (section 4.1), exact, without an index."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from factlab.retrieval.bm25 import RANKING

if TYPE_CHECKING:
    import pandas as pd

_CELLS = 4_000_000  # scores held at once: 32 MB


def dense_search(queries: ArrayLike, passages: ArrayLike, k: int = 3, similarity: str = "dot") -> pd.DataFrame:
    """The k passages nearest to each query by their vectors.

    Parameters
    ----------
    queries : (m, d) array
    passages : (n, d) array
        A row with a number that is not finite stands for a text without a vector: such a passage is never found, such a query
        finds none.
    k : int
        The most passages for a query, at least 1.
    similarity : str
        'dot' (the paper's: it ranks by exp(q·p), which has the same order) or 'cosine'. For vectors of length 1 they are the same.

    Returns
    -------
    DataFrame
        As `Bm25.search` returns it: query, rank (from 1), passage, score. Every passage is compared; equal scores keep the order
        of the passages.

    Raises
    ------
    ValueError
        If k < 1, the vectors have different lengths, or a cosine is asked of a vector of zeros.

    Notes
    -----
    Computed in double precision and rounded to 12 digits of the largest possible score, so that copies of a passage tie wherever
    they stand, however a processor orders its sums.
    """
    import pandas as pd

    if k < 1:
        raise ValueError(f"dense_search: k is the number of passages for a query, at least 1, got {k}")
    if similarity not in ("dot", "cosine"):
        raise ValueError(f"dense_search: similarity is 'dot' or 'cosine', got {similarity!r}")
    asked, known = _vectors(queries, "queries"), _vectors(passages, "passages")
    if len(asked) and len(known) and asked.shape[1] != known.shape[1]:
        raise ValueError(
            f"dense_search: the queries' vectors have {asked.shape[1]} numbers, the passages' {known.shape[1]}; "
            "both must come from one embedder"
        )
    with_query, with_passage = (np.flatnonzero(np.isfinite(a).all(axis=1)) for a in (asked, known))
    asked, known = asked[with_query], known[with_passage]
    if similarity == "cosine":
        asked, known = _unit(asked, with_query, "query"), _unit(known, with_passage, "passage")
    found = []
    if len(asked) and len(known):
        longest = np.linalg.norm(known, axis=1).max()
        block = max(1, _CELLS // len(known))
        for start in range(0, len(asked), block):
            part = asked[start : start + block]
            unit = np.linalg.norm(part, axis=1, keepdims=True) * longest
            unit[unit == 0] = 1
            scores = np.round((part @ known.T) / unit, 12) * unit
            for row, own in enumerate(scores, start=start):
                best = _best(own, k)
                found.append(
                    (np.full(len(best), with_query[row]), np.arange(1, len(best) + 1), with_passage[best], own[best])
                )
    columns = [np.concatenate(parts) for parts in zip(*found, strict=True)] or [[]] * len(RANKING)
    return pd.DataFrame(dict(zip(RANKING, columns, strict=True))).astype(RANKING)


def _best(scores: np.ndarray, k: int) -> np.ndarray:
    """Numbers of the k highest scores, highest first, equal ones in their order."""
    if k < len(scores):
        least = np.partition(scores, len(scores) - k)[len(scores) - k]
        candidates = np.flatnonzero(scores >= least)
    else:
        candidates = np.arange(len(scores))
    return candidates[np.argsort(-scores[candidates], kind="stable")][:k]


def _vectors(values: ArrayLike, name: str) -> np.ndarray:
    array = np.asarray(values, dtype=float)
    if array.ndim == 1 and not array.size:
        return array.reshape(0, 0)
    if array.ndim != 2:
        raise ValueError(f"dense_search, {name}: expected one vector a row, got an array of shape {array.shape}")
    return array


def _unit(vectors: np.ndarray, numbers: np.ndarray, name: str) -> np.ndarray:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if (lengths == 0).any():
        raise ValueError(f"dense_search, {name} {numbers[int(np.argmin(lengths))]}: a vector of zeros has no cosine")
    return vectors / lengths
