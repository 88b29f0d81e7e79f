"""Plausibility: does an explanation say what an expert's says, and say it every time?

LExT, section 3.1. Similarities and entity tags go in (embedders and taggers are the caller's), numbers come out:
correctness (weighted accuracy and context relevancy), consistency (over repeated answers and over paraphrased
questions), and their mean. What is undefined is NaN.
"""

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from factlab.text import fold

VARIANTS = ("paper", "released", "tables")
BETA = 0.2
_NO_TAGS = 1e-8  # the released fraction where the tagger finds nothing in the explanation


def check_variant(variant: str) -> None:
    if variant not in VARIANTS:
        raise ValueError(f"variant={variant!r} is not known; use one of {', '.join(map(repr, VARIANTS))}")


def ner_weight(
    gold_tags: Iterable[str], predicted_tags: Iterable[str], beta: float = BETA, variant: str = "paper"
) -> float:
    """How many of the entities that an explanation names are also named by the expert.

    LExT, equations 1 and 2: (|gold ∩ predicted| / |predicted|) ** beta.

    Parameters
    ----------
    gold_tags, predicted_tags : iterable of str
        Entities of the ground truth and of the explanation, each counted once. Case, white space and typographic
        variants do not matter.
    beta : float
        Exponent, above 0; the paper's 0.2 lifts small overlaps: half of the entities give 0.87, one of ten 0.63.
    variant : {"paper", "released", "tables"}
        They differ only where the explanation names no entity: 0 in the paper (Table 2); 1e-8 ** beta (0.0251 at 0.2) in
        the authors' code ("released").

    Returns
    -------
    float
        In [0, 1]. A ground truth without entities gives 0 whatever the explanation names: the weight is then about the
        tagger (see `score`, which says so).

    Raises
    ------
    ValueError
        If beta is not above 0, the variant is not known, or the tags are one string instead of several.
    """
    check_variant(variant)
    if not (math.isfinite(beta) and beta > 0):
        raise ValueError(f"beta={beta!r}: expected a number above 0; the paper's is {BETA}")
    gold, predicted = _tags(gold_tags, "gold_tags"), _tags(predicted_tags, "predicted_tags")
    if not predicted:
        return _NO_TAGS**beta if variant == "released" else 0.0
    return (len(gold & predicted) / len(predicted)) ** beta


def _tags(tags: Iterable[str], name: str) -> set[str]:
    if isinstance(tags, str):
        raise ValueError(f"{name}: expected several texts, got one: {tags!r:.60}; put it into a list")
    return {fold(tag) for tag in tags} - {""}


def weighted_accuracy(
    cosine: float,
    gold_tags: Iterable[str],
    predicted_tags: Iterable[str],
    beta: float = BETA,
    variant: str = "paper",
) -> float:
    """Similarity to the expert's explanation, weighted by the entities that both name.

    LExT, equation 3: cosine × `ner_weight`.

    Parameters
    ----------
    cosine : float
        Cosine similarity of the embeddings of the explanation and of the ground truth, in [-1, 1].
    gold_tags, predicted_tags, beta, variant
        As in `ner_weight`.

    Returns
    -------
    float
        In [-1, 1]; below 0 only where the cosine is. NaN for a missing cosine.
    """
    return _cosine(cosine) * ner_weight(gold_tags, predicted_tags, beta, variant)


def context_relevancy(question: ArrayLike, generated: ArrayLike) -> float:
    """Does the explanation answer the question that was asked?

    LExT, equation 4: cosine similarity of the original question and of the one that a larger model writes from the
    explanation alone.

    Parameters
    ----------
    question, generated : (d,) arrays
        Embeddings of the two questions. NaN for one that is missing (no explanation to write a question from).

    Returns
    -------
    float
        In [-1, 1]; NaN where an embedding is missing. A vector of zeros has similarity 0 to every other.
    """
    a, b = (np.asarray(v, dtype=float) for v in (question, generated))
    if a.ndim != 1 or a.shape != b.shape:
        raise ValueError(f"expected two vectors of one length, got shapes {a.shape} and {b.shape}")
    lengths = float(np.linalg.norm(a) * np.linalg.norm(b))
    if math.isnan(lengths):
        return math.nan
    return float(np.clip(a @ b / lengths, -1, 1)) if lengths > 0 else 0.0


def correctness(accuracy: float, relevancy: float) -> float:
    """The mean of weighted accuracy and context relevancy.

    LExT, section 3.1.1 and 3.3 ("averaging its components, individually scaled to a uniform range [0, 1]").

    Parameters
    ----------
    accuracy, relevancy : float
        In [-1, 1]. A cosine below 0 (which the paper's embedder hardly gives) counts as 0: not related.

    Returns
    -------
    float
        In [0, 1]; NaN where one is missing.
    """
    parts = [_cosine(accuracy), _cosine(relevancy)]
    return math.nan if any(map(math.isnan, parts)) else sum(max(0.0, p) for p in parts) / 2


def consistency(scores: ArrayLike) -> float:
    """How stable a model's explanations are over repeated or paraphrased prompts.

    LExT, equations 5 (five answers to one prompt) and 6 (answers to three paraphrases): one minus the variance of the
    similarity to the ground truth.

    Parameters
    ----------
    scores : (k,) array
        Similarity of each explanation to the ground truth, in [-1, 1]: its cosine (the paper's equations) or its weighted
        accuracy (the authors' code); `score` takes which by its variant.

    Returns
    -------
    float
        In [0, 1]; 1 means that every explanation scored the same, right or wrong. NaN when k < 2 or a score is missing.

    Notes
    -----
    Population variance (ddof = 0), as in the released code; the text does not say. Scores in [0, 1] have a variance of
    at most 1/4, so that this is never below 0.75 for them: it adds nearly a constant to plausibility (Table 7: 0.964 to
    0.999), and differences between models look small beside those of the other components.
    """
    scores = np.asarray(scores, dtype=float)
    if scores.ndim != 1:
        raise ValueError(f"scores: expected one row of numbers, got shape {scores.shape}")
    return float(1 - scores.var()) if scores.size > 1 else math.nan


def combined_consistency(iterative: float, paraphrase: float) -> float:
    """The mean of iterative stability and paraphrase robustness, in [0, 1]; NaN where one is missing.

    LExT, section 3.1.2; that the two weigh the same is in the released code, the text does not say.
    """
    return (share(iterative, "iterative") + share(paraphrase, "paraphrase")) / 2


def plausibility(correctness: float, consistency: float) -> float:
    """Does the explanation look right to an expert? The mean of correctness and consistency.

    LExT, section 3.3 (Table 6: within rounding in 9 of 12 cells of it from Table 7).

    Parameters
    ----------
    correctness, consistency : float
        In [0, 1].

    Returns
    -------
    float
        In [0, 1]; NaN where one is missing.
    """
    return (share(correctness, "correctness") + share(consistency, "consistency")) / 2


def _cosine(value: float | None) -> float:
    number = math.nan if value is None else float(value)
    if abs(number) > 1 + 1e-6:
        raise ValueError(f"expected a cosine similarity in [-1, 1], got {number}")
    return number if math.isnan(number) else min(1.0, max(-1.0, number))


def share(value: float | None, name: str) -> float:
    """A number in [0, 1], NaN for a missing one; anything else is an error that names it."""
    number = math.nan if value is None else float(value)
    if not (math.isnan(number) or -1e-9 <= number <= 1 + 1e-9):
        raise ValueError(f"{name}: expected a number in [0, 1], got {number}")
    return number if math.isnan(number) else min(1.0, max(0.0, number))
