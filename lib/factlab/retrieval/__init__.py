"""Passages for a judge or a model to read: cut, found and ranked, and how good a ranking is.

DAHL's checker (section 3.3, Step 2) and REASONS' retrieval-augmented models (section 4.1) are shown passages. `chunks` and
`passages` cut texts; `Bm25` ranks by shared words, `dense_search` by vectors; `naive` puts what vectors found into BM25's order,
`rerank` into that of a cross-encoder. `hard_negatives` and `split` prepare its training, `rank_scores` judges the order. Texts
and arrays go in, tables come out; no model and no network is involved.
"""

from factlab.retrieval.bm25 import Bm25
from factlab.retrieval.chunking import chunks, passages
from factlab.retrieval.dense import dense_search
from factlab.retrieval.ranking import naive, rank_scores, rerank
from factlab.retrieval.training import LeakError, check_split, hard_negatives, split

__all__ = [
    "Bm25",
    "LeakError",
    "check_split",
    "chunks",
    "dense_search",
    "hard_negatives",
    "naive",
    "passages",
    "rank_scores",
    "rerank",
    "split",
]
