"""Evidence for a judge: texts cut into passages, and the passages that share words with a claim.

DAHL's checker (section 3.3, Step 2) judges units from memory; with passages of the source article it can be shown what
it judges by. Texts or articles go in, passages with their offsets and sha256 come out; `Bm25` ranks them for a query.
No model and no network is involved.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from factlab import text as texts

if TYPE_CHECKING:
    import pandas as pd

    from factlab.sources import Article

_COLUMNS = ["start", "end", "text", "sha256"]


def chunks(text: str, size: int = 1200, overlap: int = 200, sentences: bool = False) -> pd.DataFrame:
    """Cut a text into overlapping pieces.

    Parameters
    ----------
    text : str
    size : int
        The most characters in a piece, at least 1.
    overlap : int
        Characters that a piece repeats of the one before; 0 <= overlap < size.
    sentences : bool
        False: pieces of exactly `size` characters, but for the last, wherever that cuts. True: whole sentences, as many
        as fit, of which the last ones that fit into `overlap` are repeated; only a sentence longer than `size` is cut.

    Returns
    -------
    DataFrame
        In order: start, end (character offsets: ``text[start:end]`` is the piece), text, sha256 (of the piece as
        UTF-8). Every character that is not white space is in a piece; pieces of white space alone are left out.

    Raises
    ------
    ValueError
        If `size` or `overlap` is out of range.
    """
    if size < 1 or not 0 <= overlap < size:
        raise ValueError(f"chunks: expected 0 <= overlap < size, got size = {size}, overlap = {overlap}")
    return _frame(text, _by_sentence(text, size, overlap) if sentences else _by_length(text, size, overlap))


def _frame(text: str, spans: Iterable[tuple[int, int]]) -> pd.DataFrame:
    import pandas as pd

    kept = [(start, end) for start, end in spans if text[start:end].strip()]
    pieces = [text[start:end] for start, end in kept]
    return pd.DataFrame(
        {
            "start": np.array([start for start, _ in kept], dtype=np.int64),
            "end": np.array([end for _, end in kept], dtype=np.int64),
            "text": pd.array(pieces, dtype="str"),
            "sha256": pd.array([_sha256(piece) for piece in pieces], dtype="str"),
        }
    )


def _sha256(piece: str) -> str:
    return hashlib.sha256(piece.encode("utf-8", "surrogatepass")).hexdigest()


def _by_length(text: str, size: int, overlap: int) -> list[tuple[int, int]]:
    last = max(len(text) - overlap, 1)  # a piece that began later would only repeat
    return [(start, min(start + size, len(text))) for start in range(0, last, size - overlap)]


def _by_sentence(text: str, size: int, overlap: int) -> list[tuple[int, int]]:
    pieces = [(cut, min(cut + size, end)) for start, end in _sentence_spans(text) for cut in range(start, end, size)]
    spans, first = [], 0
    while first < len(pieces):
        start, after = pieces[first][0], first + 1
        while after < len(pieces) and pieces[after][1] - start <= size:
            after += 1
        end = pieces[after - 1][1]
        spans.append((start, end))
        if after == len(pieces):
            break
        # The next piece begins with as many of these sentences as fit into the overlap, if a new one fits beside them.
        again = range(first + 1, after)
        fits = (i for i in again if end - pieces[i][0] <= overlap and pieces[after][1] - pieces[i][0] <= size)
        first = next(fits, after)
    return spans


def _sentence_spans(text: str) -> list[tuple[int, int]]:
    """Offsets of the sentences, without white space at their ends; a list's marker goes with the sentence after it.

    `text.sentences` folds white space and drops markers, so each sentence is looked up again, word by word; one that is
    not found whole is joined to the next.
    """
    spans, at = [], 0
    for sentence in texts.sentences(text):
        found = re.compile(r"\s*".join(map(re.escape, sentence.split()))).search(text, at)
        if found:
            spans.append((at + _margin(text[at : found.end()]), found.end()))
            at = found.end()
    if text[at:].strip():
        spans.append((at + _margin(text[at:]), len(text.rstrip())))
    return spans


def _margin(piece: str) -> int:
    return len(piece) - len(piece.lstrip())


def passages(
    articles: Article | Iterable[Article], size: int = 1200, overlap: int = 200, sentences: bool = True
) -> pd.DataFrame:
    """Cut articles into passages, none of which spans two sections.

    Parameters
    ----------
    articles : Article or iterable of Article
        As `sources.read_jats` and `sources.read_articles` return them.
    size, overlap, sentences
        As in `chunks`.

    Returns
    -------
    DataFrame
        In reading order: article (its PMC id, else its DOI, PubMed id, file name or title), title, section (headings
        from the outermost inwards, with " > " between; empty for text below no heading), start, end (offsets in that
        section's text), text, sha256.
    """
    import pandas as pd

    listed = [articles] if hasattr(articles, "sections") else list(articles)
    found = []
    for article in listed:
        for section in article.sections:
            made = chunks(section.text, size, overlap, sentences)
            made.insert(0, "section", pd.array([" > ".join(section.path)] * len(made), dtype="str"))
            made.insert(0, "title", pd.array([article.title] * len(made), dtype="str"))
            made.insert(0, "article", pd.array([article.name] * len(made), dtype="str"))
            found.append(made)
    if not found:
        empty = _frame("", [])
        return empty.assign(**{c: pd.array([], dtype="str") for c in _NAMES})[[*_NAMES, *_COLUMNS]]
    return pd.concat(found, ignore_index=True)


_NAMES = ["article", "title", "section"]


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
        for number, words in enumerate(_words(_strings([queries] if isinstance(queries, str) else queries, "queries"))):
            known = [] if self._index is None else [word for word in words if word in self._index.vocab_dict]
            if not known:
                continue
            scores = np.asarray(self._index.get_scores(known), dtype=float)
            best = np.argsort(-scores, kind="stable")[:k]
            rows += [(number, rank, i, scores[i]) for rank, i in enumerate(best, start=1) if scores[i] > 0]
        kinds = {"query": "int64", "rank": "int64", "passage": "int64", "score": "float64"}
        return pd.DataFrame(rows, columns=list(kinds)).astype(kinds)


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
