"""What a reranker is trained on and tested on: hard negatives of the bi-encoder, and a split that leaks nothing (REASONS, section 4.1)."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from factlab.retrieval.ranking import _check

if TYPE_CHECKING:
    import pandas as pd


class LeakError(ValueError):
    """What a model is tested on was in what it learned from, or stands in the prompt. The message names where."""


def hard_negatives(
    dense: pd.DataFrame, relevant: Sequence[Collection[int]], n: int, seed: int = 0, among: int | None = None
) -> pd.DataFrame:
    """For each query n − 1 passages that are not relevant, sampled from what the bi-encoder found.

    Parameters
    ----------
    dense : DataFrame
        query, rank, passage, from `dense_search`.
    relevant : sequence of sets of int
        The relevant passages of each query, by its number; several are allowed, none of them is sampled.
    n : int
        Size of a group with one relevant passage, at least 2.
    seed : int
    among : int, optional
        Only the first so many results of a query; default: all in the table.

    Returns
    -------
    DataFrame
        query, passage, rank (the bi-encoder's), sorted by query and rank. A query with fewer results that are not relevant has all
        of them.

    Raises
    ------
    ValueError
        If n < 2, or the table has a query that `relevant` has not.

    Notes
    -----
    Without replacement, each result alike. A query's sample depends on the seed and its number alone, not on what else is in the table.
    """
    import pandas as pd

    if n < 2:
        raise ValueError(f"hard_negatives: a group of n = {n} has no negative; n is at least 2")
    _check(dense, "dense")
    pool = dense if among is None else dense[dense["rank"] <= among]
    found = []
    for query, own in pool.groupby("query", sort=True):
        if query >= len(relevant):
            raise ValueError(f"hard_negatives: query {query} has no entry in relevant, which has {len(relevant)}")
        own = own[~own["passage"].isin(relevant[query])].sort_values("rank")
        generator = np.random.default_rng([seed, query])
        chosen = np.sort(generator.permutation(len(own))[: n - 1])
        found.append(own.iloc[chosen][["query", "passage", "rank"]])
    if not found:
        return pd.DataFrame({name: pd.array([], dtype="int64") for name in ("query", "passage", "rank")})
    return pd.concat(found, ignore_index=True)


def split(
    groups: Sequence[Hashable],
    share: float = 0.3,
    seed: int = 0,
    apart: Mapping[str, Sequence[Hashable]] | None = None,
) -> np.ndarray:
    """Rows into training and test, so that no source paper is in both.

    Parameters
    ----------
    groups : (n,) sequence
        The source paper of each row.
    share : float
        Of the source papers that are tested on, in (0, 1).
    seed : int
    apart : dict of str to (n,) sequence, optional
        More labels that may not be in both, e.g. the sentence or the cited work. Papers that share one stay together.

    Returns
    -------
    (n,) array of str
        'train' or 'test'.

    Raises
    ------
    ValueError
        If the share is out of range, the lengths differ, or everything hangs together, so that there is nothing to separate.

    Notes
    -----
    Papers that hang together (through any chain of shared labels) are one piece. The pieces are taken in random order into the test
    until their papers are `share` of all, rounded; a piece that would go beyond that is passed over. Neither side is left empty.
    """
    if not 0 < share < 1:
        raise ValueError(f"split: the share of source papers to test on lies between 0 and 1, got {share}")
    listed = list(groups)
    for name, labels in (apart or {}).items():
        if len(labels) != len(listed):
            raise ValueError(f"split: {len(listed)} rows, but {len(labels)} labels of {name}")
    pieces = _pieces(listed, apart or {})
    if len(pieces) < 2:
        what = f", through {' or '.join(apart)}" if apart else ""
        raise ValueError(
            f"split: all {len(set(listed))} source papers hang together{what}, so no test can be kept apart"
        )
    order = np.random.default_rng(seed).permutation(len(pieces))
    wanted = min(max(1, round(share * len(set(listed)))), len(set(listed)) - 1)
    test: set[Hashable] = set()
    for i in order:
        if len(test) + len(pieces[i]) <= wanted:
            test |= pieces[i]
    if not test:
        test = min((pieces[i] for i in order), key=len)
    return np.array(["test" if group in test else "train" for group in listed])


def _pieces(groups: list[Hashable], apart: Mapping[str, Sequence[Hashable]]) -> list[set[Hashable]]:
    """Groups that hang together, in the order of their first rows."""
    parent: dict[Hashable, Hashable] = {}

    def root(one: Hashable) -> Hashable:
        parent.setdefault(one, one)
        while parent[one] != one:
            parent[one] = parent[parent[one]]
            one = parent[one]
        return one

    for row, group in enumerate(groups):
        own = root(("group", group))
        for name, labels in apart.items():
            parent[root((name, labels[row]))] = own
            own = root(own)
    pieces: dict[Hashable, set[Hashable]] = {}
    for group in groups:
        pieces.setdefault(root(("group", group)), set()).add(group)
    return list(pieces.values())


def check_split(
    part: Sequence[str],
    groups: Sequence[Hashable],
    queries: Sequence[str] | None = None,
    cited: Sequence[Hashable] | None = None,
    separate_cited: bool = False,
) -> pd.DataFrame:
    """What training and test share; an overlap that would let a model know its test is an error.

    Parameters
    ----------
    part : (n,) sequence of 'train' or 'test'
    groups : (n,) sequence
        The source paper of each row.
    queries : (n,) sequence of str, optional
        The sentences; case and white space do not make two of one. With them an identical sentence in both parts is an error.
    cited : (n,) sequence, optional
        The cited works. One in both parts is counted: its text was seen in training, though with other sentences.
    separate_cited : bool
        Whether that is an error too.

    Returns
    -------
    DataFrame
        what ('source papers', 'sentences', 'cited works'), train, test, shared: how many different ones there are; test_rows (rows of
        the test that have a shared one).

    Raises
    ------
    LeakError
        Names what is shared, how many and the first.
    ValueError
        If a part is neither.
    """
    import pandas as pd

    parts = np.asarray(part, dtype=object)
    if not set(parts) <= {"train", "test"}:
        raise ValueError(
            f"check_split: a row is 'train' or 'test', got {sorted(map(str, set(parts) - {'train', 'test'}))}"
        )
    columns = [("source papers", list(groups), True)]
    if queries is not None:
        columns.append(("sentences", [" ".join(str(q).casefold().split()) for q in queries], True))
    if cited is not None:
        columns.append(("cited works", list(cited), separate_cited))
    rows = []
    for what, labels, forbidden in columns:
        if len(labels) != len(parts):
            raise ValueError(f"check_split: {len(parts)} rows, but {len(labels)} {what}")
        sides = {
            side: {label for label, p in zip(labels, parts, strict=True) if p == side} for side in ("train", "test")
        }
        shared = sides["train"] & sides["test"]
        if shared and forbidden:
            first = next(label for label in labels if label in shared)
            raise LeakError(
                f"training and test share {len(shared)} {what}, the first is {str(first)[:80]!r}: the test would measure memory. "
                "Split by source paper, with what may not be shared in `apart`."
            )
        touched = sum(p == "test" and label in shared for label, p in zip(labels, parts, strict=True))
        rows.append((what, len(sides["train"]), len(sides["test"]), len(shared), touched))
    return pd.DataFrame(rows, columns=["what", "train", "test", "shared", "test_rows"])
