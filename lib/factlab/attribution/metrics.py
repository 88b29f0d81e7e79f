"""REASONS' measures of one answer against the gold one: F1 of words, BLEU-4, and the share of words that do not match.

Section 5.1 of the paper. An answer is a title (a string) or authors (a list of strings). Under `variant="paper"` all of
them agree with `same_answer`: what is the same title or the same people scores as a verbatim copy does.
"""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

from factlab.attribution import treebank
from factlab.attribution.authors import split_authors
from factlab.attribution.forms import words
from factlab.attribution.names import pair_authors, same_authors
from factlab.attribution.titles import same_title

Answer = str | Sequence[str]
VARIANTS = ("paper", "released", "tables")


def check_variant(variant: str) -> None:
    if variant not in VARIANTS:
        raise ValueError(f"variant={variant!r} is not known; use one of {', '.join(map(repr, VARIANTS))}")


def as_answer(value: Any) -> str | list[str]:
    """A cell of a table as an answer: text, or a list of names from a list, tuple or array; missing is empty text.

    Raises
    ------
    TypeError
        For anything else.
    """
    if isinstance(value, str):
        return value
    if (
        value is None
        or (isinstance(value, float) and math.isnan(value))
        or type(value).__name__ in ("NAType", "NaTType")
    ):
        return ""
    if isinstance(value, list | tuple) or type(value).__name__ == "ndarray":
        names = [v for v in value if v is not None]
        if all(isinstance(v, str) for v in names):
            return [v for v in names if v.strip()]
    raise TypeError(f"an answer is a title (text) or authors (a list of texts), not {value!r:.60}")


def alike(predicted: Any, gold: Any) -> tuple[str | list[str], str | list[str]]:
    """Both answers as text, or both as lists: where one is a list, the other is read as a list of authors."""
    predicted, gold = as_answer(predicted), as_answer(gold)
    if isinstance(predicted, list) and isinstance(gold, str):
        gold = split_authors(gold)
    elif isinstance(gold, list) and isinstance(predicted, str):
        predicted = split_authors(predicted)
    return predicted, gold


def same_answer(predicted: Answer, gold: Answer) -> bool:
    """Whether an answer is exactly right: `same_title` of two strings, the same people in any order of two lists.

    This is the equality of the first part of the paper's hallucination rate, `I[ĉ ≠ c]`.
    """
    predicted, gold = alike(predicted, gold)
    if isinstance(predicted, list):
        return same_authors(predicted, gold)
    return same_title(predicted, gold)


class Compared:
    """The tokens of an answer and of the gold one, and what is common to both: worked out once for all measures."""

    def __init__(self, predicted: Any, gold: Any, variant: str = "paper") -> None:
        predicted, gold = alike(predicted, gold)
        self.variant = variant
        if variant != "paper":
            text = [a if isinstance(a, str) else ", ".join(a) for a in (predicted, gold)]
            self.predicted, self.gold = (treebank.tokens(t) for t in text)
            self.exact = text[0] == text[1] != ""
        elif isinstance(predicted, str):
            self.predicted, self.gold = words(predicted), words(gold)
            self.exact = same_title(predicted, gold)
            if self.exact:
                self.predicted = self.gold
        else:
            # A name that is a gold author's counts as written in the gold answer: `J. Smith` for `John Smith` is right.
            pairs = dict(pair_authors(predicted, gold))
            self.exact = len(pairs) == len(predicted) == len(gold) > 0
            spelled = [gold[pairs[i]] if i in pairs else name for i, name in enumerate(predicted)]
            self.predicted = tuple(w for name in spelled for w in words(name))
            self.gold = tuple(w for name in gold for w in words(name))

    def f1(self) -> float:
        if not self.gold:
            return math.nan
        if not self.predicted:
            return 0.0
        if self.variant != "paper":
            left, right = set(self.predicted), set(self.gold)
            return 2 * len(left & right) / (len(left) + len(right))
        if self.predicted == self.gold:
            return 1.0
        common = sum((Counter(self.predicted) & Counter(self.gold)).values())
        return 2 * common / (len(self.predicted) + len(self.gold))

    def bleu(self) -> float:
        if not self.gold:
            return math.nan
        if not self.predicted:
            return 0.0
        paper = self.variant == "paper"
        if paper and self.predicted == self.gold:
            return 1.0
        return _bleu(self.predicted, self.gold, paper)

    def mismatch(self) -> float:
        if not self.gold:
            return math.nan
        left, right = set(self.predicted), set(self.gold)
        if not left:
            return 1.0
        return 1 - len(left & right) / len(left if self.variant != "paper" else left | right)


def _bleu(predicted: Sequence[str], gold: Sequence[str], smooth: bool) -> float:
    """Sentence BLEU of tokens, 0..1, with sacrebleu's formula; `smooth`: effective order and its `exp` smoothing."""
    from sacrebleu.metrics import BLEU

    common, total = [], []
    for n in range(1, 5):
        of_gold = Counter(zip(*(gold[i:] for i in range(n)), strict=False))
        of_predicted = Counter(zip(*(predicted[i:] for i in range(n)), strict=False))
        common.append(sum(min(count, of_gold[gram]) for gram, count in of_predicted.items() if gram in of_gold))
        total.append(max(0, len(predicted) - n + 1))
    if not common[0]:
        return 0.0
    method = "exp" if smooth else "none"
    score = BLEU.compute_bleu(common, total, len(predicted), len(gold), method, effective_order=smooth).score
    return min(1.0, score / 100)


def token_f1(predicted: Answer, gold: Answer, variant: str = "paper") -> float:
    """The balance of precision and recall over words.

    REASONS, section 5.1, item 2: F1 = 2 · common words / (words predicted + words of the gold answer).

    Parameters
    ----------
    predicted, gold : str or list of str
        A title, or authors. Of authors, a name that is a gold author's (`same_author`) counts as written there.
    variant : {"paper", "released", "tables"}
        "paper": words in comparison form (no case, accents, TeX or punctuation), each as often as it stands there; the
        text does not say how words are made. "released" and "tables": sets of NLTK tokens with their case.

    Returns
    -------
    float
        In 0..1; 1 for the same title or authors, 0 for an empty answer, NaN for an empty gold one.
    """
    check_variant(variant)
    return Compared(predicted, gold, variant).f1()


def bleu4(predicted: Answer, gold: Answer, variant: str = "paper") -> float:
    """Sentence BLEU of up to four words in a row.

    REASONS, section 5.1, item 1; Papineni et al. 2002: the geometric mean of the clipped precisions of 1 to 4 words in a
    row, times exp(1 − r/c) where the answer (c words) is shorter than the gold one (r words).

    Parameters
    ----------
    predicted, gold : str or list of str
        A title, or authors, whose order counts here.
    variant : {"paper", "released", "tables"}
        "paper": sacrebleu's sentence BLEU over words in comparison form: an answer of fewer than four words is judged by
        the orders it has (effective order), an order without a match counts as 1 / (2^k · n-grams) (`exp` smoothing,
        k-th such order). "released" and "tables": NLTK tokens with their case, always four orders, no smoothing, so
        that a title of three tokens scores 0 against itself.

    Returns
    -------
    float
        In 0..1; 0 for an empty answer, NaN for an empty gold one.
    """
    check_variant(variant)
    return Compared(predicted, gold, variant).bleu()


def word_mismatch(predicted: Answer, gold: Answer, variant: str = "paper") -> float:
    """The share of unique words that do not match: the second part of the hallucination rate, for one query.

    REASONS, section 5.1, item 3. The text sums over the U_w unique words "in generated citation and true citation"
    without saying whether a domain's words are pooled. Read here query by query: words in only one of the two answers
    over words in either (Jaccard distance), averaged over queries by `score`.

    Parameters
    ----------
    predicted, gold : str or list of str
    variant : {"paper", "released", "tables"}
        "released" and "tables": distinct tokens of the answer that are not in the gold one, over distinct tokens of the
        answer (1 − precision), which is all of the released hallucination rate.

    Returns
    -------
    float
        In 0..1; 1 for an empty answer, NaN for an empty gold one.
    """
    check_variant(variant)
    return Compared(predicted, gold, variant).mismatch()
