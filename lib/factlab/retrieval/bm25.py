"""Passages by the words they share with a query (BM25), the order of REASONS' naive retrieval (section 4.1)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from factlab import text as texts

if TYPE_CHECKING:
    import pandas as pd

# What every ranking is: the query's and the passage's numbers, from 0, the rank, from 1, and a score, higher for nearer.
RANKING = {"query": "int64", "rank": "int64", "passage": "int64", "score": "float64"}


class Bm25:
    """Rank passages by the words they share with a query, rare words counting more.

    Robertson's BM25 in the variant of Lucene (k1 = 1.5, b = 0.75), from the package bm25s. Words are compared in the
    form of `text.fold`, without English stop words and without stemming; single letters and digits count ("vitamin C").

    Parameters
    ----------
    passages : DataFrame or sequence of str
        A DataFrame needs a column `text`.

    Raises
    ------
    ValueError
        If there is no column `text`, or an entry is not a string.

    Examples
    --------
    >>> index = Bm25(["Insulin lowers blood glucose.", "Aspirin thins the blood."])
    >>> index.search(["What does insulin do?"])["passage"].tolist()
    [0]
    """

    def __init__(self, passages: pd.DataFrame | Sequence[str]) -> None:
        if hasattr(passages, "columns"):
            if "text" not in passages.columns:
                raise ValueError(f"passages: no column 'text'; the table has {', '.join(map(str, passages.columns))}")
            passages = passages["text"]
        listed = _strings(passages, "passages")
        self.n = len(listed)
        self.texts = listed
        tokens = _words(listed)
        self._index = None
        if any(tokens):
            import bm25s

            # backend: "auto" would compile with numba where that happens to be installed, and warn
            self._index = bm25s.BM25(backend="numpy")
            self._index.index(tokens, show_progress=False)

    def __len__(self) -> int:
        return self.n

    def search(self, queries: str | Sequence[str], k: int = 3) -> pd.DataFrame:
        """The passages nearest to each query.

        Parameters
        ----------
        queries : str or sequence of str
        k : int
            The most passages for a query, at least 1.

        Returns
        -------
        DataFrame
            query (its number in `queries`, from 0), rank (from 1), passage (its row number in the passages, from 0),
            score (> 0, higher is nearer; comparable within a query only). Equal scores keep the order of the passages.
            A passage that shares no word with the query is not returned, so a query may have fewer than k rows, or
            none.

        Raises
        ------
        ValueError
            If k < 1 or a query is not a string.
        """
        import pandas as pd

        if k < 1:
            raise ValueError(f"search: k is the number of passages for a query, at least 1, got {k}")
        rows = []
        for number, scores in enumerate(self._each(queries)):
            if scores is None:
                continue
            best = np.argsort(-scores, kind="stable")[:k]
            rows += [(number, rank, i, scores[i]) for rank, i in enumerate(best, start=1) if scores[i] > 0]
        return pd.DataFrame(rows, columns=list(RANKING)).astype(RANKING)

    def scores(self, queries: str | Sequence[str]) -> Iterator[np.ndarray]:
        """The score of every passage, query by query: (n,) arrays, 0 for a passage that shares no word with the query.

        Raises
        ------
        ValueError
            If a query is not a string.
        """
        for scores in self._each(queries):
            yield np.zeros(self.n) if scores is None else scores

    def _each(self, queries: str | Sequence[str]) -> Iterator[np.ndarray | None]:
        """Scores of every passage for each query; None for a query without a word that any passage has."""
        for words in _words(_strings([queries] if isinstance(queries, str) else queries, "queries")):
            known = [] if self._index is None else [word for word in words if word in self._index.vocab_dict]
            yield np.asarray(self._index.get_scores(known), dtype=float) if known else None


def _strings(values: Sequence[str], name: str) -> list[str]:
    if isinstance(values, str):
        raise ValueError(f"{name}: expected a list of texts, got one text; put it in a list")
    listed = list(values)
    for i, value in enumerate(listed):
        if not isinstance(value, str):
            raise ValueError(f"{name}, entry {i}: expected a text, got {value!r}")
    return listed


def _words(listed: list[str]) -> list[list[str]]:
    if not listed:
        return []
    import bm25s

    folded = [texts.fold(one) for one in listed]
    settings = {"token_pattern": r"\w+", "stopwords": "en", "return_ids": False, "show_progress": False}
    return bm25s.tokenize(folded, lower=False, **settings)
