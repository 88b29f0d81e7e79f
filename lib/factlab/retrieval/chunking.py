"""Texts and articles cut into passages, with their offsets and sha256, for a judge to read or a search to find (DAHL, section 3.3)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
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
