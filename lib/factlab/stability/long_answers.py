"""Answers longer than the embedder's window: embedded in chunks, then compared as wholes.

CheckEmbed, section 1, compares "full LLM answers, or their sizeable chunks", and does not say how chunks make one
number. Two ways: `pool` makes one vector of an answer's chunks; `chunked_similarity` compares chunk by chunk. Text that
an embedder cuts off at its window would be ignored without a word.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from factlab.stability.similarity import Metric, directions


def pool(vectors: ArrayLike, weights: ArrayLike | None = None) -> np.ndarray:
    """One vector for an answer that was embedded in chunks.

    Parameters
    ----------
    vectors : (c, d) array
        One row a chunk; a chunk without an embedding is a row of NaN and is left out.
    weights : (c,) array, optional
        What each chunk counts, at least 0, usually its tokens; without it all count the same.

    Returns
    -------
    (d,) array of float32
        The weighted mean of the chunks' directions, of length 1. NaN where no chunk is left or the mean has no
        direction.

    Raises
    ------
    ValueError
        If the vectors are no table of numbers, or the weights do not fit them.
    """
    unit = directions(vectors)
    counted = _weights(weights, len(unit), "weights")
    kept = ~np.isnan(unit[:, 0])
    mean = counted[kept] @ unit[kept]
    length = np.linalg.norm(mean)
    # Rounding leaves some 1e-7 of opposite chunks, which is no direction.
    if not length > 1e-6 * counted[kept].sum():
        return np.full(unit.shape[1], np.nan, dtype=np.float32)
    return (mean / length).astype(np.float32)


def chunked_similarity(
    answers: Sequence[ArrayLike], metric: Metric = "cosine", weights: Sequence[ArrayLike] | None = None
) -> np.ndarray:
    """Similarity of every pair of long answers, chunk by chunk.

    Parameters
    ----------
    answers : sequence of k arrays of shape (c_i, d)
        The chunks of each answer, one row a chunk; rows of NaN are left out.
    metric : {"cosine", "pearson"}
    weights : sequence of k arrays of shape (c_i,), optional
        What each chunk counts, usually its tokens.

    Returns
    -------
    (k, k) array of float32
        Of answers a and b: each chunk of a is compared with the chunk of b that it is most like, and the (weighted)
        mean taken; the same from b to a; then the mean of the two. Symmetric, in [-1, 1], 1 on the diagonal; NaN in the
        row and column of an answer without a chunk. Answers of one chunk each: the same as `similarity`.

    Notes
    -----
    The order of the chunks does not count, nor does saying a thing twice. The more chunks an answer has, the better the
    best match: similarities of answers with very different numbers of chunks compare with care.
    """
    if metric not in ("cosine", "pearson"):
        raise ValueError(f'metric: expected "cosine" or "pearson", got {metric!r}')
    if weights is not None and len(weights) != len(answers):
        raise ValueError(f"weights: {len(weights)} arrays for {len(answers)} answers")
    vectors, counted = [], []
    for i, chunks in enumerate(answers):
        try:
            unit = directions(chunks, metric) if len(chunks) else np.empty((0, 0), dtype=np.float32)
        except ValueError as error:
            raise ValueError(f"answers, entry {i}: {error}") from None
        given = _weights(None if weights is None else weights[i], len(unit), f"weights, entry {i}")
        kept = ~np.isnan(unit[:, 0]) & (given > 0) if len(unit) else np.zeros(0, dtype=bool)
        vectors.append(unit[kept])
        counted.append(given[kept])
    sizes = np.array([len(v) for v in vectors], dtype=int)
    present = np.flatnonzero(sizes)
    found = np.full((len(vectors), len(vectors)), np.nan, dtype=np.float32)
    if not len(present):
        return found
    widths = {vectors[i].shape[1] for i in present}
    if len(widths) > 1:
        raise ValueError(f"answers: the chunks have different lengths: {', '.join(map(str, sorted(widths)))}")
    stacked = np.concatenate([vectors[i] for i in present])
    starts = np.concatenate([[0], np.cumsum(sizes[present])[:-1]])
    best = np.maximum.reduceat(stacked @ stacked.T, starts, axis=1)  # of each chunk in each answer
    share = np.concatenate([counted[i] / counted[i].sum() for i in present]).astype(np.float32)
    mean = np.add.reduceat(best * share[:, None], starts, axis=0)
    mean = np.clip((mean + mean.T) / 2, -1, 1)
    np.fill_diagonal(mean, 1)
    found[np.ix_(present, present)] = mean
    return found


def _weights(weights: ArrayLike | None, n: int, name: str) -> np.ndarray:
    if weights is None:
        return np.ones(n)
    w = np.asarray(weights, dtype=float)
    if w.shape != (n,) or not np.isfinite(w).all() or (w < 0).any():
        raise ValueError(f"{name}: expected {n} numbers of at least 0, one a chunk, got shape {w.shape}")
    return w
