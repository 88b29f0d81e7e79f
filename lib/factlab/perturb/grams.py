"""The long matching blocks of one text with every text of a pool, found together (Ratcliff and Obershelp's recursion).

An index of the pool's n-grams gives all runs of characters that a query shares with any of its texts. The recursion, which
takes the longest run of a stretch (of several the first in the query, of those the first in the text) and goes on left and
right of it, then runs for the whole pool in step, one round for each depth, until no stretch holds a run of n characters.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

_N = 6  # characters in a gram: with fewer, fewer pairs are left but many more runs are found, with more the other way round
_HITS = 6_000_000  # shared grams that are held at once
_BITS = 21  # for a position within a text; three numbers of this size must fit into 63 bits


class Blocks(NamedTuple):
    """What `Index.blocks` finds."""

    matched: np.ndarray  # (texts,) characters in blocks of n and more
    text: np.ndarray  # (gaps,) row number of the text
    a_start: (
        np.ndarray
    )  # (gaps,) a gap: a stretch of the query and one of the text, between blocks; either may be empty
    a_end: np.ndarray
    b_start: np.ndarray
    b_end: np.ndarray


class Index:
    """Where each n-gram of a pool of texts stands.

    Parameters
    ----------
    texts : list of str

    Notes
    -----
    A gram is numbered exactly, digit by digit in base (different characters + 1), so two grams never share a number; where
    the texts have too many different characters for that many digits in 62 bits, the grams are shorter.
    """

    def __init__(self, texts: list[str]) -> None:
        self.lengths = np.array([len(text) for text in texts], dtype=np.int64)
        self.offsets = np.cumsum(self.lengths) - self.lengths
        points = _code_points("".join(texts))
        self.characters = np.unique(points)
        self.base = len(self.characters) + 1
        self.n = max(1, min(_N, int(62 / np.log2(max(2, self.base)))))
        self.owner = np.repeat(np.arange(len(texts)), self.lengths)
        grams = self._grams(points)
        ends = (self.offsets + self.lengths)[self.owner[: len(grams)]]
        inside = np.flatnonzero(np.arange(len(grams)) + self.n <= ends)  # not across two texts
        self.places = inside[np.argsort(grams[inside], kind="stable")]
        self.grams = grams[self.places]

    def _grams(self, points: np.ndarray) -> np.ndarray:
        digits = np.searchsorted(self.characters, points)
        known = np.append(self.characters, 0)[digits] == points
        digits = np.where(known, digits, self.base - 1).astype(np.int64)  # the last number: in no text of the pool
        grams = np.zeros(max(0, len(digits) - self.n + 1), dtype=np.int64)
        for place in range(self.n):
            grams = grams * self.base + digits[place : place + len(grams)]
        return grams

    def blocks(self, query: str) -> Blocks | None:
        """Blocks of at least n characters, and the gaps between them.

        Returns
        -------
        Blocks or None
            None where the query shares too many grams with the pool to hold them, or a text is too long to number.
        """
        runs = self._runs(query)
        if runs is None:
            return None
        count = len(self.lengths)
        matched = np.zeros(count, dtype=np.int64)
        # Stretches that are still open, each of one text; the runs of a stretch stand together, in the order of stretches.
        text = np.arange(count)
        a_start, a_end = np.zeros(count, dtype=np.int64), np.full(count, len(query))
        b_start, b_end = np.zeros(count, dtype=np.int64), self.lengths
        closed = []
        stretch, i, j, size = runs
        while True:
            done = np.bincount(stretch, minlength=len(text)) == 0
            closed.append([values[done] for values in (text, a_start, a_end, b_start, b_end)])
            if not len(stretch):
                return Blocks(matched, *(np.concatenate(values) for values in zip(*closed, strict=True)))
            begins = np.flatnonzero(np.diff(stretch, prepend=-1))
            at, to, length = _longest(i, j, size, begins)
            here = stretch[begins]  # the stretches with a run
            matched += np.bincount(text[here], length, minlength=count).astype(np.int64)
            # What is left of each run before and after the block of its stretch.
            runs_each = np.diff(np.append(begins, len(stretch)))
            number, at_, to_, length_ = (np.repeat(v, runs_each) for v in (np.arange(len(here)), at, to, length))
            before = np.minimum(size, np.minimum(at_ - i, to_ - j))
            skipped = np.maximum(0, np.maximum(at_ + length_ - i, to_ + length_ - j))
            left, right = before >= self.n, size - skipped >= self.n
            stretch = np.concatenate([2 * number[left], 2 * number[right] + 1])
            order = np.argsort(stretch, kind="stable")
            stretch = stretch[order]
            i = np.concatenate([i[left], (i + skipped)[right]])[order]
            j = np.concatenate([j[left], (j + skipped)[right]])[order]
            size = np.concatenate([before[left], (size - skipped)[right]])[order]
            a_start, a_end = _in_turn(a_start[here], at + length), _in_turn(at, a_end[here])
            b_start, b_end = _in_turn(b_start[here], to + length), _in_turn(to, b_end[here])
            text = np.repeat(text[here], 2)

    def _runs(self, query: str) -> tuple[np.ndarray, ...] | None:
        """All maximal runs that the query shares with a text: text, start in the query, start in the text, length."""
        if max(len(query), self.lengths.max(initial=0)) >= 1 << _BITS:
            return None
        if len(query) * len(self.lengths) >= 1 << 2 * _BITS - 1:  # no room to number the diagonals
            return None
        grams = self._grams(_code_points(query))
        low, high = np.searchsorted(self.grams, grams), np.searchsorted(self.grams, grams, side="right")
        hits = high - low
        if hits.sum() > _HITS:
            return None
        i = np.repeat(np.arange(len(grams)), hits)
        place = self.places[np.arange(len(i)) + np.repeat(low - (np.cumsum(hits) - hits), hits)]
        # Hits in one diagonal of one text that follow each other are a run. The diagonals of a text are numbered from
        # offset + row number * length of the query, so that those of two texts never meet.
        width = len(query)
        order = np.sort(((place + (self.owner[place] + 1) * width - i) << _BITS) + i)
        starts = np.flatnonzero(np.diff(order, prepend=-2) != 1)
        size = np.diff(np.append(starts, len(order))) + self.n - 1
        i, diagonal = order[starts] & ((1 << _BITS) - 1), order[starts] >> _BITS
        firsts = self.offsets + np.arange(len(self.offsets)) * width
        text = np.searchsorted(firsts, diagonal, side="right") - 1
        return text, i, diagonal - firsts[text] - width + i, size


def _longest(i: np.ndarray, j: np.ndarray, size: np.ndarray, begins: np.ndarray) -> tuple[np.ndarray, ...]:
    """The longest run of each stretch, the first in the query of several, the first in the text of those."""
    last = (1 << _BITS) - 1
    key = (((size << _BITS) + (last - i)) << _BITS) + (last - j)  # one number to compare
    best = np.maximum.reduceat(key, begins)
    return last - ((best >> _BITS) & last), last - (best & last), best >> 2 * _BITS


def _in_turn(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return np.stack([left, right], axis=1).ravel()


def _code_points(text: str) -> np.ndarray:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32).astype(np.int64)
