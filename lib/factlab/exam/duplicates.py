"""Items that ask the same again: letter by letter, nearly so, or in meaning (MS-Exam-Gen, section III.C).

Near means a normalised string similarity of 0.90 and more; for synthesis items also a cosine of 0.90 and more between
their embeddings. Which similarity the paper took is not said: Ratcliff and Obershelp's is ours, others can be chosen.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from factlab.exam.items import Item
from factlab.text import fold

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike

Measure = Literal["gestalt", "indel", "levenshtein"]
_ROWS = 512  # items compared with all others at once


def normal(text: str) -> str:
    """The form in which items are compared: `text.fold`, without punctuation."""
    return " ".join(re.sub(r"[^\w\s]", " ", fold(text)).split())


def content(item: Item, what: Literal["stem", "item"] = "stem") -> str:
    """The normal form of the stem, or of the stem and the options in sorted order."""
    if what not in ("stem", "item"):
        raise ValueError(f"text: expected 'stem' or 'item', got {what!r}")
    stem = normal(item.question)
    return stem if what == "stem" else " ".join([stem, *sorted(normal(option) for option in item.options)])


def near_pairs(texts: Sequence[str], threshold: float = 0.90, measure: Measure = "gestalt") -> pd.DataFrame:
    """All pairs of texts that are alike.

    Parameters
    ----------
    texts : (n,) sequence of str
        In normal form; empty ones are like nothing.
    threshold : float
        In (0, 1]; a pair that reaches it is alike.
    measure : {"gestalt", "indel", "levenshtein"}
        Ratcliff and Obershelp's ratio (`perturb.ratio`, the greater of both directions); 2 LCS / (|a| + |b|), LCS the
        longest common subsequence; 1 − Levenshtein distance / max(|a|, |b|).

    Returns
    -------
    DataFrame
        row, other (numbers from 0, row > other), similarity, sorted by row and other.

    Notes
    -----
    Exact. The first measure is never above the second. That one, and the third, need at least as many insertions,
    deletions and replacements as the counts of letters differ, which rules out most pairs before any is measured.
    """
    import pandas as pd
    from rapidfuzz.distance import Indel, Levenshtein
    from rapidfuzz.process import cpdist
    from scipy.spatial.distance import cdist

    if not 0 < threshold <= 1:
        raise ValueError(f"near_pairs: threshold must be above 0 and at most 1, got {threshold}")
    scorers = {"gestalt": Indel, "indel": Indel, "levenshtein": Levenshtein}
    if measure not in scorers:
        raise ValueError(f"near_pairs: measure must be one of {', '.join(scorers)}, got {measure!r}")
    texts = list(texts)
    used = np.array(sorted((n for n, text in enumerate(texts) if text), key=lambda n: len(texts[n])), dtype=int)
    ordered = [texts[n] for n in used]
    lengths, letters = np.array([len(text) for text in ordered]), _letters(ordered)
    # With all matched, the similarity of lengths a <= b is 2a / (a + b), or a / b: longer ones need not be looked at.
    longest = lengths / threshold if measure == "levenshtein" else lengths * (2 / threshold - 1)
    ends = np.searchsorted(lengths, longest + 1e-9, side="right")
    found: list[tuple[int, int, float]] = []
    for start in range(0, len(ordered), _ROWS):
        stop = min(start + _ROWS, len(ordered))
        window = slice(start, int(ends[stop - 1]))
        differ = cdist(letters[start:stop], letters[window], "cityblock")
        here, there = lengths[start:stop, None], lengths[None, window]
        # An insertion changes one count, a replacement two.
        most = 2 * np.maximum(here, there) if measure == "levenshtein" else here + there
        a, b = np.nonzero(differ <= (1 - threshold) * most + 1e-9)
        a, b = a[a < b] + start, b[a < b] + start
        first, second = [ordered[i] for i in a], [ordered[j] for j in b]
        bound = cpdist(first, second, scorer=scorers[measure].normalized_similarity, dtype=np.float64) if first else []
        for n in np.flatnonzero(np.asarray(bound) >= threshold - 1e-12).tolist():
            value = _similarity(first[n], second[n], measure)
            if value >= threshold:
                pair = int(used[a[n]]), int(used[b[n]])
                found.append((max(pair), min(pair), value))
    frame = pd.DataFrame(sorted(found), columns=["row", "other", "similarity"])
    return frame.astype({"row": "int64", "other": "int64", "similarity": "float64"})


def _letters(texts: Sequence[str]) -> np.ndarray:
    """How often each character stands in each text, (n, 64); characters that share a place only make texts look alike."""
    out = np.zeros((len(texts), 64))
    for row, text in enumerate(texts):
        points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
        out[row] = np.bincount(points % 64, minlength=64)
    return out[:, out.any(axis=0)]


def _similarity(a: str, b: str, measure: Measure) -> float:
    from rapidfuzz.distance import Indel, Levenshtein

    from factlab.perturb import ratio

    if measure == "gestalt":
        return 1.0 if a == b else max(ratio(a, b), ratio(b, a))
    return (Indel if measure == "indel" else Levenshtein).normalized_similarity(a, b)


def cosine_pairs(vectors: ArrayLike, rows: ArrayLike | None = None, threshold: float = 0.90) -> pd.DataFrame:
    """All pairs of items whose embeddings are alike.

    Parameters
    ----------
    vectors : (n, d) array
        One embedding an item; a row of NaN or of zeros was not embedded and is like nothing.
    rows : (n,) array of bool, optional
        Which items are checked; each is compared with all others. All of them if left out.
    threshold : float
        In (0, 1].

    Returns
    -------
    DataFrame
        As `near_pairs`; pairs of which at least one is checked.
    """
    import pandas as pd

    if not 0 < threshold <= 1:
        raise ValueError(f"cosine_pairs: threshold must be above 0 and at most 1, got {threshold}")
    vectors = np.asarray(vectors, dtype=float)
    if vectors.ndim != 2:
        raise ValueError(f"vectors: expected one embedding a row, got an array of shape {vectors.shape}")
    checked = np.ones(len(vectors), dtype=bool) if rows is None else np.asarray(rows, dtype=bool)
    if len(checked) != len(vectors):
        raise ValueError(f"rows has {len(checked)} entries, vectors has {len(vectors)}")
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = np.divide(vectors, length, out=np.zeros_like(vectors), where=np.isfinite(length) & (length > 0))
    found = []
    wanted = np.flatnonzero(checked)
    for start in range(0, len(wanted), _ROWS):
        block = wanted[start : start + _ROWS]
        cosine = np.clip(unit[block] @ unit.T, -1, 1)
        a, b = np.nonzero(cosine >= threshold - 1e-12)
        for i, j, value in zip(block[a].tolist(), b.tolist(), cosine[a, b].tolist(), strict=True):
            if i != j and not (checked[j] and i < j):  # a pair that both sides find is taken once
                found.append((max(i, j), min(i, j), value))
    frame = pd.DataFrame(sorted(found), columns=["row", "other", "similarity"])
    return frame.astype({"row": "int64", "other": "int64", "similarity": "float64"})
