"""The most similar other string by Ratcliff and Obershelp's measure, exactly and fast (REASONS, section 7).

`ratio` and `nearest` give the numbers of `difflib.SequenceMatcher(None, a, b, autojunk=False).ratio()`, to the last bit.
The measure cuts both strings at their longest common block and goes on left and right of it, so its blocks form a common
subsequence, and the longest common subsequence (LCS) bounds what they can add up to. For titles that bound, computed by
rapidfuzz for all pairs at once, leaves about one pair in a hundred to be measured. For abstracts it leaves nearly all:
two unrelated abstracts share a subsequence of two fifths of their letters. There `grams` finds the long blocks of a whole
pool at once, and only between those blocks is the LCS taken, which leaves few pairs again.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from rapidfuzz.distance import LCSseq
from rapidfuzz.process import cdist

try:
    from cydifflib import SequenceMatcher
except ImportError:  # no wheel for this Python: the same numbers, some ten times slower
    from difflib import SequenceMatcher

from factlab.perturb import grams

if TYPE_CHECKING:
    import pandas as pd

_LONG = 60_000  # characters of the query times characters of a pool text, from which blocks prune better than the LCS
_CELLS = 2_000_000  # LCS lengths held at once
_CHUNK = 1_000_000  # characters of the pool indexed at once: what a query shares with them stays in the cache
_SMALL = 10_000  # characters of one string times the other's, below which it does not pay to cut a gap first
_FIRST = 8  # pairs measured before anything is ruled out


def ratio(a: str, b: str) -> float:
    """Ratcliff–Obershelp similarity: twice the characters in matching blocks, over the characters of both strings.

    Parameters
    ----------
    a, b : str
        The order matters a little: among longest blocks the one that starts first in `a` is taken.

    Returns
    -------
    float
        In [0, 1]; 1 for equal strings, two empty ones too. The same as
        ``difflib.SequenceMatcher(None, a, b, autojunk=False).ratio()``. (With `autojunk`, difflib's default, characters
        that are frequent in strings of 200 and more are ignored, which makes abstracts look unlike.)
    """
    return SequenceMatcher(None, a, b, autojunk=False).ratio()


def nearest(
    queries: Sequence[str],
    pool: Sequence[str],
    threshold: float = 0.70,
    exclude_identical: bool = True,
    keys: tuple[Sequence, Sequence] | None = None,
) -> pd.DataFrame:
    """For each query the most similar string of the pool, by `ratio(query, other)`.

    REASONS, section 7: threshold 0.70.

    Parameters
    ----------
    queries, pool : sequence of str
        n and N of them; they may be the same list.
    threshold : float
        In [0, 1]; a match must reach it.
    exclude_identical : bool
        Leave out strings of the pool that equal the query, character for character.
    keys : (sequence, sequence), optional
        A key for each query and for each string of the pool (ids of papers, folded titles): pairs with equal keys are left
        out as well.

    Returns
    -------
    DataFrame
        One row for each query, in order: query (its row number, from 0), match (row number in the pool of the first of the
        most similar strings; -1 when the best ratio is below the threshold), ratio (of the best, whether or not it reaches
        the threshold; NaN when nothing was left to compare with).

    Raises
    ------
    TypeError, ValueError
        If something is not a string, the threshold is out of range, or keys and strings differ in number.

    Notes
    -----
    Exact: pairs are ruled out by upper bounds only. Typical cost on one core, against 7,000 of their kind: less than a
    second for 200 titles, a minute for 200 abstracts; pools in which everything repeats everything else cost more.
    """
    import pandas as pd

    if not 0 <= threshold <= 1:
        raise ValueError(f"nearest: threshold must be in [0, 1], got {threshold}")
    queries, pool = _strings(queries, "queries"), _strings(pool, "pool")
    search = _Search(queries, pool, exclude_identical, keys)
    long = np.array([search.is_long(query) for query in queries], dtype=bool)
    search.by_subsequence(np.flatnonzero(~long))
    search.by_blocks(np.flatnonzero(long))
    best = search.best
    match = np.where(best >= threshold, search.match, -1)
    return pd.DataFrame(
        {"query": np.arange(len(queries)), "match": match, "ratio": np.where(search.match < 0, np.nan, best)}
    )


def _strings(values: Sequence[str], name: str) -> list[str]:
    if isinstance(values, str):
        raise TypeError(f"nearest: {name} must be a sequence of strings, got one string")
    values = list(values)
    for row, value in enumerate(values):
        if not isinstance(value, str):
            raise TypeError(f"nearest: {name}, row {row}: expected a string, got {value!r}")
    return values


class _Search:
    """The best pair of every query so far; both searches improve it."""

    def __init__(self, queries: list[str], pool: list[str], exclude_identical: bool, keys) -> None:
        self.queries, self.pool = queries, pool
        self.best = np.full(len(queries), -1.0)
        self.match = np.full(len(queries), -1)
        self.lengths = np.array([len(text) for text in pool], dtype=np.int64)
        self.codes = [_codes(queries, pool)] if exclude_identical else []
        if keys is not None:
            if (len(keys[0]), len(keys[1])) != (len(queries), len(pool)):
                raise ValueError("nearest: keys must give one key for each query and one for each string of the pool")
            self.codes.append(_codes(*keys))

    def is_long(self, query: str) -> bool:
        return bool(len(self.pool)) and len(query) * self.lengths.mean() > _LONG

    def allowed(self, row: int) -> np.ndarray:
        """Which strings of the pool this query may be matched with."""
        allowed = np.ones(len(self.pool), dtype=bool)
        for ours, theirs in self.codes:
            allowed &= theirs != ours[row]
        return allowed

    def improve(self, row: int, other: int, value: float) -> None:
        if value > self.best[row] or value == self.best[row] and other < self.match[row]:
            self.best[row], self.match[row] = value, other

    def by_subsequence(self, rows: np.ndarray) -> None:
        """Measure pairs from the greatest LCS down, until it bounds the rest below the best ratio."""
        step = max(1, _CELLS // max(1, len(self.pool)))
        for start in range(0, len(rows) if self.pool else 0, step):
            batch = rows[start : start + step]
            texts = [self.queries[row] for row in batch]
            common = cdist(texts, self.pool, scorer=LCSseq.similarity, dtype=np.int32)
            for row, query, lcs in zip(batch.tolist(), texts, common, strict=True):
                bound = np.where(self.allowed(row), _as_ratio(lcs, len(query) + self.lengths), -1.0)
                top = np.argpartition(bound, -_FIRST)[-_FIRST:] if len(bound) > _FIRST else np.arange(len(bound))
                self._measure(row, top, bound)
                rest = bound >= self.best[row]
                rest[top] = False
                self._measure(row, np.flatnonzero(rest), bound)

    def _measure(self, row: int, others: np.ndarray, bound: np.ndarray) -> None:
        others = others[np.argsort(-bound[others], kind="stable")]
        for other, most in zip(others.tolist(), bound[others].tolist(), strict=True):
            if most < max(0.0, self.best[row]):  # the rest is bounded lower still, or not allowed
                break
            self.improve(row, other, ratio(self.queries[row], self.pool[other]))

    def by_blocks(self, rows: np.ndarray) -> None:
        """Bound each pair by its blocks of several characters and by the LCS of what lies between, then finish those left."""
        if not len(rows):
            return
        ends = np.cumsum(self.lengths)
        chunk = (ends - self.lengths) // _CHUNK
        for number in np.unique(chunk):
            members = np.flatnonzero(chunk == number)
            index = grams.Index([self.pool[other] for other in members])
            for row in rows.tolist():
                found = index.blocks(self.queries[row])
                if found is None:  # too repetitive for an index
                    self.by_subsequence(np.array([row]))
                else:
                    self._finish(row, members, found)

    def _finish(self, row: int, members: np.ndarray, found: grams.Blocks) -> None:
        query = self.queries[row]
        total = len(query) + self.lengths[members]
        gaps = np.minimum(found.a_end - found.a_start, found.b_end - found.b_start)
        order = np.lexsort([-gaps, found.text])  # the gaps of a pair together, the largest first
        order = order[gaps[order] > 0]
        text, gaps = found.text[order], gaps[order]
        first = np.searchsorted(text, np.arange(len(members) + 1)).tolist()
        most = found.matched + np.bincount(text, gaps, minlength=len(members)).astype(np.int64)
        bound = np.where(self.allowed(row)[members], _as_ratio(most, total), -1.0)
        spans = [values[order].tolist() for values in (found.a_start, found.a_end, found.b_start, found.b_end)]
        gaps = gaps.tolist()
        for pair in np.argsort(-_as_ratio(found.matched, total), kind="stable").tolist():
            if bound[pair] < max(0.0, self.best[row]):
                continue
            other, mine = int(members[pair]), slice(first[pair], first[pair + 1])
            theirs = self.pool[other]
            between = [(query[i:k], theirs[j:m]) for i, k, j, m in zip(*(v[mine] for v in spans), strict=True)]
            exact = _tighten(int(most[pair]), between, gaps[mine], int(total[pair]), float(self.best[row]))
            if exact is not None:
                self.improve(row, other, exact)


def _tighten(upper: int, gaps: list[tuple[str, str]], bounds: list[int], size: int, floor: float) -> float | None:
    """The ratio of a pair, or None as soon as it cannot reach `floor`.

    `upper` bounds the matched characters, of which `bounds` are the parts allowed for each gap. The part of a gap, which
    does not depend on what lies around it, gives way to its LCS; then, always in the gap that is allowed most, to its longest
    block and the LCS on both sides of that; in the end, to what its blocks really match.
    """
    least = floor * size / 2 - 1e-6
    open_gaps = []
    for number, (a, b) in enumerate(gaps):
        common = LCSseq.similarity(a, b)
        upper -= bounds[number] - common
        if upper < least:
            return None
        if common > 1:  # one character in common is one block
            open_gaps.append((-common, number, a, b))
    heapq.heapify(open_gaps)
    count = len(gaps)
    while open_gaps:
        negative, _, a, b = heapq.heappop(open_gaps)
        upper += negative
        if len(a) * len(b) < _SMALL:
            upper += round(ratio(a, b) * (len(a) + len(b)) / 2)
        else:
            i, j, length = SequenceMatcher(None, a, b, autojunk=False).find_longest_match(0, len(a), 0, len(b))
            upper += length
            for left, right in ((a[:i], b[:j]), (a[i + length :], b[j + length :])):
                common = LCSseq.similarity(left, right)
                upper += common
                if common > 1:
                    count += 1  # the order of gaps that are allowed the same, so that strings are not compared
                    heapq.heappush(open_gaps, (-common, count, left, right))
        if upper < least:
            return None
    return 2.0 * upper / size if size else 1.0


def _as_ratio(matched: np.ndarray, size: np.ndarray) -> np.ndarray:
    """difflib's formula, so that a bound is never below the ratio that it bounds, not by a rounding error either."""
    return np.where(size == 0, 1.0, 2.0 * matched / np.maximum(size, 1))


def _codes(ours: Sequence, theirs: Sequence) -> tuple[np.ndarray, np.ndarray]:
    """Equal numbers for equal values."""
    known: dict = {}
    return tuple(
        np.array([known.setdefault(v, len(known)) for v in values], dtype=np.int64) for values in (ours, theirs)
    )
