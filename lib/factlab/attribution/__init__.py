"""REASONS: did the model name the paper that is cited, or its authors, or did it make them up?

Sections 4 and 5.1 of the paper. `parse_title` and `parse_authors` read replies, `same_title` and `same_author` say when
two spellings mean one thing, `token_f1`, `bleu4` and `word_mismatch` compare an answer with the gold one, and `score`
makes the hallucination rate, F1, BLEU-4 and pass percentage by domain.
"""

from factlab.attribution.authors import parse_authors, split_authors
from factlab.attribution.metrics import bleu4, same_answer, token_f1, word_mismatch
from factlab.attribution.names import pair_authors, same_author, same_authors
from factlab.attribution.passes import is_pass
from factlab.attribution.scoring import score, score_items
from factlab.attribution.titles import parse_title, same_title

__all__ = [
    "bleu4",
    "is_pass",
    "pair_authors",
    "parse_authors",
    "parse_title",
    "same_answer",
    "same_author",
    "same_authors",
    "same_title",
    "score",
    "score_items",
    "split_authors",
    "token_f1",
    "word_mismatch",
]
