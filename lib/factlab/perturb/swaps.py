"""Titles and abstracts that are no longer the right ones: swapped whole, in part, or salted with misleading terms.

REASONS, section 7, swaps a title or an abstract for the most similar other one; its section 8 leaves partial changes of abstracts
and misleading terms to the future. Every function returns a table with one row for each text, in order, that says how it was
changed (`kind`) and how much of it is not its own any more (`strength`), so that they can be stacked and compared.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from factlab import text as texts_
from factlab.perturb.gestalt import nearest

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike


def swap(
    texts: Sequence[str],
    pool: Sequence[str] | None = None,
    threshold: float = 0.70,
    vectors: ArrayLike | tuple[ArrayLike, ArrayLike] | None = None,
    keys: tuple[Sequence, Sequence] | None = None,
) -> pd.DataFrame:
    """Each text replaced by the nearest other one of the pool.

    REASONS, section 7.

    Parameters
    ----------
    texts : sequence of str
        n titles, or n abstracts.
    pool : sequence of str, optional
        What they are replaced with; the texts themselves if left out.
    threshold : float
        The similarity that a replacement must reach; 0.70 by Ratcliff and Obershelp is the paper's.
    vectors : (n, d) array, or ((n, d) array, (N, d) array), optional
        Embeddings of the texts, and of the pool where there is one: nearest by cosine instead of by letters.
    keys : (sequence, sequence), optional
        Keys of texts and of pool; a text is never replaced by one with the same key. Left out: the strings without case and
        layout, so that another spelling of the same title is not taken for another paper.

    Returns
    -------
    DataFrame
        query (row number), match (row number in the pool; -1: none reaches the threshold), kind ("swap", or "swap by embedding"),
        strength (1, for all of the text is replaced; 0 where nothing was), similarity (of the nearest, reached or not),
        text (the replacement; missing where there is none).
    """
    own = pool is None
    texts = list(texts)
    pool = texts if own else list(pool)
    if keys is None:
        folded = [texts_.fold(text) for text in texts]
        keys = folded, folded if own else [texts_.fold(text) for text in pool]
    if vectors is None:
        kind, found = "swap", nearest(texts, pool, threshold, keys=keys)
    else:
        pair = vectors if isinstance(vectors, tuple) else (vectors, vectors)
        if [len(v) for v in pair] != [len(texts), len(pool)]:
            raise ValueError(
                "swap: vectors must have one row for each text and, as a second array, for each of the pool"
            )
        kind, found = "swap by embedding", nearest_vector(*pair, threshold, keys=keys)
    match = found["match"].to_numpy()
    return _table(
        match,
        kind,
        (match >= 0).astype(float),
        [pool[other] if other >= 0 else None for other in match],
        found["ratio"].to_numpy(),
    )


def nearest_vector(
    queries: ArrayLike, pool: ArrayLike, threshold: float = 0.70, keys: tuple[Sequence, Sequence] | None = None
) -> pd.DataFrame:
    """`nearest` by cosine of embeddings.

    Parameters
    ----------
    queries, pool : (n, d) and (N, d) arrays
        Of any length other than zero; a zero row has no direction and is matched with nothing.
    threshold : float
        In [-1, 1].
    keys : (sequence, sequence), optional
        n and N keys; rows with equal keys are left out. Without them a text that is in both is its own nearest.

    Returns
    -------
    DataFrame
        query, match, ratio as in `nearest`, ratio being the cosine in [-1, 1]; ties go to the first row.
    """
    import pandas as pd

    if not -1 <= threshold <= 1:
        raise ValueError(f"nearest_vector: threshold must be in [-1, 1], got {threshold}")
    ours, theirs = _unit(queries), _unit(pool)
    if ours.shape[1] != theirs.shape[1]:
        raise ValueError(f"nearest_vector: vectors of {ours.shape[1]} and of {theirs.shape[1]} numbers do not compare")
    if keys is not None and [len(k) for k in keys] != [len(ours), len(theirs)]:
        raise ValueError("nearest_vector: keys must give one key for each row of queries and of pool")
    # Cosines that differ in rounding only are a tie, however the product was computed.
    cosine = np.round(np.clip(ours @ theirs.T, -1, 1), 12)
    if keys is not None:
        known: dict = {}
        mine, others = ([known.setdefault(key, len(known)) for key in side] for side in keys)
        cosine[np.equal.outer(np.array(mine, dtype=int), np.array(others, dtype=int))] = np.nan
    usable = np.where(np.isnan(cosine), -np.inf, cosine)
    match = usable.argmax(axis=1) if len(theirs) else np.zeros(len(ours), dtype=int)
    best = usable[np.arange(len(ours)), match] if len(theirs) else np.full(len(ours), -np.inf)
    return pd.DataFrame(
        {
            "query": np.arange(len(ours)),
            "match": np.where((best >= threshold) & np.isfinite(best), match, -1),
            "ratio": np.where(np.isfinite(best), best, np.nan),
        }
    )


def replace_sentences(
    texts: Sequence[str], pool: Sequence[str], match: Sequence[int], share: float = 0.5, seed: int = 0
) -> pd.DataFrame:
    """A share of each abstract's sentences replaced by those of another one: evidence that is right in part.

    Parameters
    ----------
    texts, pool : sequence of str
    match : (n,) sequence of int
        For each text the row of the pool that lends sentences, as from `nearest` with threshold 0; -1: none.
    share : float
        In [0, 1], of the sentences, rounded to whole ones (half up); at least one when it is above 0.
    seed : int
        Which sentences. A greater share with the same seed replaces the same sentences and more; what becomes of a text does
        not depend on the texts beside it.

    Returns
    -------
    DataFrame
        query, match, kind ("sentences"), strength (share that was really replaced: fewer when the other text has fewer
        sentences of its own), similarity (NaN: see `nearest`), text.

    Notes
    -----
    A sentence gives way to the one at about the same place in the other text (background for background, result for
    result), and no sentence is used twice. Sentences that both have are not used. In a text that changes, line breaks
    become spaces.
    """
    if not 0 <= share <= 1:
        raise ValueError(f"replace_sentences: share must be in [0, 1], got {share}")
    _same_length("replace_sentences", texts, match, "match")
    results = [
        _spliced(text, pool[other] if other >= 0 else "", share, seed)
        for text, other in zip(texts, np.asarray(match, dtype=int).tolist(), strict=True)
    ]
    return _table(match, "sentences", [strength for _, strength in results], [text for text, _ in results])


def _spliced(text: str, other: str, share: float, seed: int) -> tuple[str, float]:
    own = texts_.sentences(text)
    known = {texts_.fold(sentence) for sentence in own}
    lent = [sentence for sentence in texts_.sentences(other) if texts_.fold(sentence) not in known]
    wanted = min(max(1, int(share * len(own) + 0.5)), len(lent), len(own)) if share else 0
    if not wanted:
        return text, 0.0
    result, free = list(own), list(range(len(lent)))
    for place in _generator(seed, text).permutation(len(own))[:wanted].tolist():
        middle = (place + 0.5) / len(own) * len(lent) - 0.5
        taken = min(free, key=lambda number: abs(number - middle))
        free.remove(taken)
        result[place] = lent[taken]
    return " ".join(result), wanted / len(own)


def insert_terms(
    texts: Sequence[str], terms: Sequence[str] | Sequence[Sequence[str]], count: int = 1, seed: int = 0
) -> pd.DataFrame:
    """Misleading terms put into each text, before words of it, as if they qualified them.

    Parameters
    ----------
    texts : sequence of str
    terms : sequence of str, or n sequences of str
        Terms for all texts, or a list for each (names of a method, field or species that the paper is not about).
    count : int
        Terms for each text, at least 0; fewer where there are not so many that the text does not hold already.
    seed : int
        Which terms, and where; as in `replace_sentences` a greater count keeps what a smaller one inserted.

    Returns
    -------
    DataFrame
        query, match (-1), kind ("terms"), strength (share of the words that are inserted ones), similarity (NaN), text.

    Notes
    -----
    A place is before a word of five letters or more, the first word excepted, and no place is used twice while there are
    others; a text without such a word gets its terms at the end. All else is as it was.
    """
    if count < 0:
        raise ValueError(f"insert_terms: count must be at least 0, got {count}")
    texts, terms = list(texts), list(terms)
    if all(isinstance(term, str) for term in terms):
        terms = [terms] * len(texts)
    _same_length("insert_terms", texts, terms, "terms")
    results = [_salted(text, list(mine), count, seed) for text, mine in zip(texts, terms, strict=True)]
    return _table([-1] * len(texts), "terms", [strength for _, strength in results], [text for text, _ in results])


def _salted(text: str, terms: list[str], count: int, seed: int) -> tuple[str, float]:
    words = set(re.findall(r"\w+", texts_.fold(text)))
    new = [term for term in dict.fromkeys(terms) if not set(re.findall(r"\w+", texts_.fold(term))) <= words]
    generator = _generator(seed, text)
    chosen = [new[number] for number in generator.permutation(len(new))[:count]]
    if not chosen:
        return text, 0.0
    places = [match.start() for match in re.finditer(r"(?<=\s)[^\W\d_]{5,}", text)]
    places = [places[number] for number in generator.permutation(len(places))]
    inserted = [(places[number % len(places)] if places else len(text), term) for number, term in enumerate(chosen)]
    result, last = [], len(text)
    for place, term in sorted(inserted, key=lambda pair: -pair[0]):
        before = " " if place == len(text) and text and not text[-1:].isspace() else ""
        result += [text[place:last], " " if place < len(text) else "", term, before]
        last = place
    changed = text[:last] + "".join(reversed(result))
    added = sum(len(term.split()) for term in chosen)
    return changed, added / len(changed.split())


def _generator(seed: int, text: str) -> np.random.Generator:
    """Chance that depends on the seed and on the text alone."""
    digest = hashlib.sha256(f"{seed}\n{text}".encode("utf-8", "surrogatepass")).digest()
    return np.random.default_rng(int.from_bytes(digest[:8], "big"))


def _unit(vectors: ArrayLike) -> np.ndarray:
    vectors = np.asarray(vectors, dtype=float)
    if vectors.ndim != 2:
        raise ValueError(f"expected one vector a row, got an array of shape {vectors.shape}")
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(length > 0, length, np.nan)


def _same_length(name: str, texts: Sequence, others: Sequence, what: str) -> None:
    if len(texts) != len(others):
        raise ValueError(f"{name}: {len(texts)} texts, but {what} has {len(others)} entries")


def _table(match, kind: str, strength, text: list[str | None], similarity=np.nan) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(
        {
            "query": np.arange(len(text)),
            "match": np.asarray(match, dtype=int),
            "kind": pd.array([kind] * len(text), dtype="str"),
            "strength": np.asarray(strength, dtype=float),
            "similarity": similarity,
            "text": pd.array(text, dtype="str"),
        }
    )
