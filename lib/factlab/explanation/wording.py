"""What older measures make of an explanation: BLEU, ROUGE-L and METEOR against the ground truth.

LExT, Figure 1, which sets them and BERTScore (`stability.bertscore`) beside the LExT score of one model. They compare
words and know nothing of plausibility or faithfulness. All are 0..1: 0 for an empty explanation, NaN for an empty ground
truth.
"""

import math
import re
from functools import lru_cache

from factlab.text import normalise, sentences

NAMES = ("BLEU", "ROUGE-L", "METEOR (exact and stem)")


def bleu(explanation: str, truth: str) -> float:
    """Sentence BLEU (Papineni et al. 2002), as sacrebleu has it.

    Parameters
    ----------
    explanation, truth : str

    Returns
    -------
    float
        In [0, 1].

    Notes
    -----
    sacrebleu's `13a` tokens with their case, `exp` smoothing, and effective order, so that a text of fewer than four words
    scores 1 against itself.
    """
    if (end := _trivial(explanation, truth)) is not None:
        return end
    return min(1.0, _sentence_bleu().sentence_score(normalise(explanation), [normalise(truth)]).score / 100)


@lru_cache(maxsize=1)
def _sentence_bleu():
    from sacrebleu.metrics import BLEU

    return BLEU(effective_order=True)


def rouge_l(explanation: str, truth: str) -> float:
    """ROUGE-L (Lin 2004): F1 of the longest common subsequence of words.

    Parameters
    ----------
    explanation, truth : str

    Returns
    -------
    float
        2 · LCS / (words of one + words of the other), in [0, 1].

    Notes
    -----
    Words are runs of ASCII letters and digits in lower case without stemming: the tokens of the rouge-score package, which
    has had no release since 2022.
    """
    if (end := _trivial(explanation, truth)) is not None:
        return end
    from rapidfuzz.distance import LCSseq

    ours, theirs = (re.findall(r"[a-z0-9]+", text.lower()) for text in (explanation, truth))
    return 2 * LCSseq.similarity(ours, theirs) / (len(ours) + len(theirs)) if ours and theirs else 0.0


class _NoSynonyms:
    """Stands in for WordNet, whose data NLTK would have to download: no word has a synonym."""

    def synsets(self, word: str) -> list:
        return []


def meteor(explanation: str, truth: str) -> float:
    """METEOR (Lavie and Agarwal 2007) with its modules for exact words and stems, without the one for synonyms.

    Parameters
    ----------
    explanation, truth : str

    Returns
    -------
    float
        In [0, 1]. With synonyms, which need WordNet, it would be higher, not lower, but for rare changes of the
        fragmentation: name it "METEOR (exact and stem)".

    Notes
    -----
    NLTK's implementation with its defaults (alpha 0.9, beta 3, gamma 0.5, Porter's stems) over NLTK's tokens. A text of n
    tokens scores 1 − 0.5 / n³ against itself.
    """
    if (end := _trivial(explanation, truth)) is not None:
        return end
    from nltk.translate.meteor_score import single_meteor_score

    return float(single_meteor_score(_tokens(truth), _tokens(explanation), wordnet=_NoSynonyms()))


def _tokens(text: str) -> list[str]:
    from nltk.tokenize import NLTKWordTokenizer

    tokenizer = NLTKWordTokenizer()
    return [token for sentence in sentences(text) for token in tokenizer.tokenize(sentence)]


def overlap(explanation: str, truth: str) -> dict[str, float]:
    """All three measures under the names that a figure should show."""
    return dict(
        zip(NAMES, (bleu(explanation, truth), rouge_l(explanation, truth), meteor(explanation, truth)), strict=True)
    )


def _trivial(explanation: str, truth: str) -> float | None:
    if not truth.strip():
        return math.nan
    return None if explanation.strip() else 0.0
