"""BERTScore (Zhang et al. 2020), the token-level baseline that CheckEmbed is compared with (section 4).

Texts and a function that encodes them token by token go in; precision, recall and F1 of every pair come out. Each token is
matched with the most similar token of the other text. The numbers are those of the package `bert-score` for the same encoder
and layer; here each distinct text is encoded once and all pairs are scored as products of large matrices.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

_SIDE = 4096  # tokens on either side of a block of similarities: 64 MB, unless a single text is longer


@dataclass(frozen=True, eq=False)
class Tokens:
    """A text as its encoder sees it.

    Attributes
    ----------
    ids : (t,) int array, the tokens' numbers in the vocabulary.
    vectors : (t, d) float32 array, one contextual vector a token, of any length.
    special : (t,) bool array, True for the marks around the text ([CLS] and [SEP], or what the model has instead).
    """

    ids: np.ndarray
    vectors: np.ndarray
    special: np.ndarray


Encode = Callable[[Sequence[str]], Sequence[Tokens]]


class _Triple(NamedTuple):
    precision: np.ndarray
    recall: np.ndarray
    f: np.ndarray


class Scores(_Triple):
    """Precision, recall and F1, to be unpacked (``P, R, F = bertscore(…)``), with the `status` of each pair beside them.

    Attributes
    ----------
    precision, recall, f : arrays of one shape; raw scores are in [-1, 1], rescaled ones can be lower.
    status : array of that shape: 'scored', or 'undefined' where a text has no token that counts.
    """

    status: np.ndarray


def bertscore(
    candidates: Sequence[str],
    references: Sequence[str],
    encode: Encode,
    idf: bool | Sequence[str] = False,
    baseline: ArrayLike | None = None,
) -> Scores:
    """Score every candidate against every reference.

    Zhang et al. 2020, section 3: with w the tokens' weights and s the cosine of two tokens' vectors,
    P = sum over the candidate's tokens of w * (largest s in the reference) / sum of w; R the same with the roles exchanged;
    F = 2PR / (P + R).

    Parameters
    ----------
    candidates, references : n and m texts
    encode : function from texts to `Tokens`, e.g. `factlab.models.tokens.load(name)`; asked once, for the distinct texts.
    idf : bool or sequence of texts
        False: every token has weight 1. True: weight log((N + 1) / (number of texts with the token + 1)) over the N
        references as they are given here, repeated ones counted again; a sequence: over those texts instead.
    baseline : number or (3,) array, optional
        b, or one b each for P, R and F, as published for the encoder and layer (`factlab.models.tokens.baseline`); scores
        become (x - b) / (1 - b).

    Returns
    -------
    Scores
        P, R, F: float arrays (n, m); and `status`.

    Raises
    ------
    ValueError
        If an entry is not a text, a baseline is not below 1, or `encode` does not return what it should.

    Notes
    -----
    As in the package: special tokens can be matched but have weight 0. A text without any other token scores 0 with
    everything, itself included, before rescaling (so -b / (1 - b) after it). Where idf gives every token of a text the
    weight 0 (a single reference does that), P or R is NaN and F is 0. Both are `undefined` and a warning counts them.

    Unlike the package: it replaces a negative best similarity by 0 where a pair happens to be padded in its batch; here none
    is. Its idf of all pairs in one call counts each reference once for every pair it is in. It takes any text of two tokens
    for an empty one; that matters for encoders without a mark at each end.

    Examples
    --------
    >>> one_hot = lambda texts: [
    ...     Tokens(ids := np.array([ord(c) for c in t], int), np.eye(128, dtype="f4")[ids], np.zeros(len(t), bool))
    ...     for t in texts
    ... ]
    >>> P, R, F = bertscore(["ab"], ["abcd"], one_hot)
    >>> float(P[0, 0]), float(R[0, 0]), round(float(F[0, 0]), 4)
    (1.0, 0.5, 0.6667)
    """
    packed, rows, columns = _prepare(candidates, references, encode, idf)
    left, row_of = np.unique(rows, return_inverse=True)
    right, column_of = np.unique(columns, return_inverse=True)
    precision, recall = _all_pairs(packed, left, right)
    pairs = np.ix_(row_of, column_of)
    undefined = packed.undefined[rows][:, None] | packed.undefined[columns][None, :]
    empty = packed.empty[rows][:, None] | packed.empty[columns][None, :]
    return _finish(precision[pairs], recall[pairs], empty, undefined, baseline)


def bertscore_pairwise(
    candidates: Sequence[str],
    references: Sequence[str],
    encode: Encode,
    idf: bool | Sequence[str] = False,
    baseline: ArrayLike | None = None,
) -> Scores:
    """Score each candidate against the reference at the same place.

    Parameters, errors and notes as for `bertscore`; the two lists are of one length n, and the arrays returned are (n,).
    """
    if len(candidates) != len(references):
        raise ValueError(f"bertscore_pairwise: {len(candidates)} candidates but {len(references)} references")
    packed, rows, columns = _prepare(candidates, references, encode, idf)
    precision, recall = np.zeros(len(rows)), np.zeros(len(rows))
    empty = packed.empty[rows] | packed.empty[columns]
    for at in np.flatnonzero(~empty):
        (a, weight_a), (b, weight_b) = packed.text(rows[at]), packed.text(columns[at])
        similarity = a @ b.T
        precision[at] = weight_a @ similarity.max(axis=1)
        recall[at] = weight_b @ similarity.max(axis=0)
    return _finish(precision, recall, empty, packed.undefined[rows] | packed.undefined[columns], baseline)


class _Packed(NamedTuple):
    """Distinct texts one after the other: text i has the rows from starts[i] to starts[i + 1], none if it is empty."""

    vectors: np.ndarray  # (all tokens, d), of length 1
    weights: np.ndarray  # (all tokens,), of sum 1 in each text; NaN where all its weights were 0
    starts: np.ndarray
    empty: np.ndarray
    undefined: np.ndarray  # empty, or without weight

    def text(self, i: int) -> tuple[np.ndarray, np.ndarray]:
        return self.span(i, i + 1)

    def span(self, first: int, after: int) -> tuple[np.ndarray, np.ndarray]:
        rows = slice(self.starts[first], self.starts[after])
        return self.vectors[rows], self.weights[rows]

    def take(self, chosen: np.ndarray) -> _Packed:
        """The chosen texts, in that order, moved together; without a copy where they are all there are."""
        if np.array_equal(chosen, np.arange(len(self.empty))):
            return self
        lengths = np.diff(self.starts)[chosen]
        starts = np.concatenate([[0], np.cumsum(lengths)])
        rows = np.repeat(self.starts[chosen] - starts[:-1], lengths) + np.arange(starts[-1])
        return _Packed(self.vectors[rows], self.weights[rows], starts, self.empty[chosen], self.undefined[chosen])


def _prepare(
    candidates: Sequence[str], references: Sequence[str], encode: Encode, idf: bool | Sequence[str]
) -> tuple[_Packed, np.ndarray, np.ndarray]:
    """Distinct texts, encoded, and the number of each candidate's and each reference's text among them."""
    listed = {"candidates": list(candidates), "references": list(references)}
    if isinstance(candidates, str) or isinstance(references, str) or isinstance(idf, str):
        raise ValueError("bertscore: expected lists of texts, got one text; put it in a list")
    if not isinstance(idf, bool):
        listed["idf"] = list(idf)
    for name, texts in listed.items():
        for i, text in enumerate(texts):
            if not isinstance(text, str):
                raise ValueError(f"bertscore: {name}, entry {i}: expected a text, got {text!r}")
    distinct = list(dict.fromkeys(text for texts in listed.values() for text in texts))
    encoded = list(encode(distinct)) if distinct else []
    if len(encoded) != len(distinct):
        raise ValueError(f"bertscore: encode returned {len(encoded)} results for {len(distinct)} texts")
    for text, one in zip(distinct, encoded, strict=True):
        if not len(one.ids) == len(one.vectors) == len(one.special):
            raise ValueError(
                f"bertscore: encode returned ids, vectors and marks of different lengths for {text[:60]!r}"
            )
    number = {text: i for i, text in enumerate(distinct)}
    rows, columns = (np.array([number[t] for t in listed[k]], dtype=int) for k in ("candidates", "references"))
    counted = None
    if idf is not False:
        counted = Counter(number[t] for t in listed.get("idf", listed["references"]))
    return _pack(encoded, counted), rows, columns


def _pack(encoded: list[Tokens], counted: Counter | None) -> _Packed:
    empty = np.array([bool(np.all(one.special)) for one in encoded], dtype=bool)
    kept = [one for one, nothing in zip(encoded, empty, strict=True) if not nothing]
    lengths = np.array([0 if nothing else len(one.ids) for one, nothing in zip(encoded, empty, strict=True)], dtype=int)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    undefined = empty.copy()
    if not kept:
        return _Packed(np.zeros((0, 1), np.float32), np.zeros(0), starts, empty, undefined)
    vectors = np.concatenate([one.vectors for one in kept]).astype(np.float32, copy=False)
    norms = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))[:, None]
    vectors /= np.where(norms > 0, norms, 1)  # in place: it is a copy already
    weights = np.where(np.concatenate([one.special for one in kept]), 0.0, 1.0)
    if counted is not None:
        ids = np.concatenate([one.ids for one in kept])
        weights *= _rarity(encoded, counted, int(ids.max()) + 1)[ids]
    which = np.flatnonzero(~empty)
    sums = np.add.reduceat(weights, starts[which])
    undefined[which[sums == 0]] = True
    weights /= np.repeat(np.where(sums == 0, np.nan, sums), lengths[which])
    return _Packed(vectors, weights, starts, empty, undefined)


def _rarity(encoded: list[Tokens], counted: Counter, size: int) -> np.ndarray:
    """Inverse document frequency of every token number, over the counted texts."""
    with_token = np.zeros(max([size, *(int(one.ids.max(initial=-1)) + 1 for one in encoded)]))
    for i, times in counted.items():
        with_token[np.unique(encoded[i].ids).astype(int)] += times
    return np.log((counted.total() + 1) / (with_token + 1))


def _blocks(starts: np.ndarray, most: int) -> list[tuple[int, int]]:
    """Ranges of whole texts with at most so many tokens together, or a single longer text."""
    ranges, first, n = [], 0, len(starts) - 1
    while first < n:
        after = max(first + 1, int(np.searchsorted(starts, starts[first] + most, side="right")) - 1)
        ranges.append((first, after))
        first = after
    return ranges


def _all_pairs(packed: _Packed, left: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Precision and recall between two sets of texts; those without tokens stay 0."""
    precision, recall = np.zeros((len(left), len(right))), np.zeros((len(left), len(right)))
    rows, columns = np.flatnonzero(~packed.empty[left]), np.flatnonzero(~packed.empty[right])
    a, b = packed.take(left[rows]), packed.take(right[columns])
    same = np.array_equal(left, right)  # then the recall of a pair is the precision of the reversed pair
    for i, i_after in _blocks(a.starts, _SIDE):
        vectors, weights = a.span(i, i_after)
        bounds = a.starts[i:i_after] - a.starts[i]
        for j, j_after in _blocks(b.starts, _SIDE):
            others, other_weights = b.span(j, j_after)
            other_bounds = b.starts[j:j_after] - b.starts[j]
            similarity = vectors @ others.T
            here = np.ix_(rows[i:i_after], columns[j:j_after])
            best = np.maximum.reduceat(similarity, other_bounds, axis=1)
            precision[here] = np.add.reduceat(best * weights[:, None], bounds, axis=0)
            if not same:
                # Down the columns, reduceat is many times slower than this loop.
                ends = [*bounds[1:], len(vectors)]
                best = np.stack([similarity[s:e].max(axis=0) for s, e in zip(bounds, ends, strict=True)])
                recall[here] = np.add.reduceat(best * other_weights, other_bounds, axis=1)
    return precision, (precision.T if same else recall)


def _finish(
    precision: np.ndarray, recall: np.ndarray, empty: np.ndarray, undefined: np.ndarray, baseline: ArrayLike | None
) -> Scores:
    with np.errstate(invalid="ignore", divide="ignore"):
        f = np.nan_to_num(2 * precision * recall / (precision + recall), nan=0.0)
    values = [np.where(empty, 0.0, x) for x in (precision, recall, f)]
    if baseline is not None:
        b = np.broadcast_to(np.asarray(baseline, dtype=float), (3,))
        if not np.all(b < 1):
            raise ValueError(f"bertscore: a baseline is below 1, got {baseline!r}")
        values = [(x - base) / (1 - base) for x, base in zip(values, b, strict=True)]
    if undefined.any():
        warnings.warn(
            f"bertscore: {int(undefined.sum())} of {undefined.size} pairs are undefined, since a text has no token that "
            "counts; their F is that of score 0 (see `status`)",
            stacklevel=3,
        )
    scores = Scores(*values)
    scores.status = np.where(undefined, "undefined", "scored")
    return scores
