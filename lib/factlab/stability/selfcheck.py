"""SelfCheckGPT (Manakul et al. 2023), the sampling-based baseline that CheckEmbed is compared with (section 4).

The sentences of one answer and further answers to the same question (samples) go in; a score for each sentence comes out, 0
where the samples support it, 1 where they do not. The variants with BERTScore, with an NLI model and with a prompt are here, with
the numbers of the package `selfcheckgpt` for the same models and the same sentences.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from factlab import replies
from factlab.stability.bertscore import Encode, bertscore

Nli = Callable[[Sequence[str], Sequence[str]], Mapping[str, ArrayLike] | ArrayLike]

_LABELS = ("yes", "no", "unknown")
_SYNONYMS = {
    "yes": ("supported",),
    "no": ("unsupported", "contradicted"),
    "unknown": ("not enough information", "insufficient information", "cannot be determined"),
}
_VALUES = {"yes": 0.0, "no": 1.0}


def selfcheck_bertscore(
    sentences: Sequence[str],
    samples: Sequence[Sequence[str]],
    encode: Encode,
    baseline: ArrayLike | None = None,
) -> np.ndarray:
    """How little of each sentence is found again in other answers, by BERTScore.

    Manakul et al. 2023, section 5.1: one minus the mean over the samples of the best BERTScore F1 that the sentence reaches with
    any sentence of that sample.

    Parameters
    ----------
    sentences : n sentences of the answer that is checked
    samples : the other answers, each as the list of its sentences (`text.sentences`)
    encode : as for `bertscore`
    baseline : as for `bertscore`; the package rescales unless told otherwise.

    Returns
    -------
    (n,) array
        In [0, 1]; higher is less supported. NaN where there is no sample with a sentence in it.

    Raises
    ------
    ValueError
        If a sample is one text instead of a list of sentences, or an entry is not a text.

    Notes
    -----
    A sample without sentences supports and contradicts nothing; it is left out of the mean (the package ends with an error).
    A rescaled F1 may be below 0; a mean that makes the score larger than 1 is cut to 1, which the package does not do.
    The package drops a sample's sentences of three spaCy tokens or fewer; here the caller decides what a sentence is.
    """
    _check_sentences(sentences)
    for i, sample in enumerate(samples):
        if isinstance(sample, str):
            raise ValueError(f"selfcheck_bertscore: sample {i} is one text; give the list of its sentences")
    filled = [list(sample) for sample in samples if len(sample)]
    if not filled or not len(sentences):
        return np.full(len(sentences), math.nan)
    every = bertscore([s for sample in filled for s in sample], sentences, encode, baseline=baseline).f
    starts = np.cumsum([0, *(len(sample) for sample in filled[:-1])])
    best = np.maximum.reduceat(every, starts, axis=0)  # (samples, sentences)
    return np.clip(1 - best.mean(axis=0), 0.0, 1.0)


def selfcheck_nli(
    sentences: Sequence[str],
    samples: Sequence[str | Sequence[str]],
    nli: Nli,
    variant: str = "released",
) -> np.ndarray:
    """How much other answers contradict each sentence, by a model of natural language inference.

    Manakul et al. 2023, section 5.4: the mean over the samples of p(contradiction) / (p(entailment) + p(contradiction)); what
    the model gives to "neutral" is left out.

    Parameters
    ----------
    sentences : n sentences of the answer that is checked
    samples : the other answers, whole; of a list of sentences, the sentences are joined with spaces.
    nli : function from premises and hypotheses (two lists of texts of one length) to probabilities: a mapping with the keys
        "entailment" and "contradiction" (as `factlab.models.nli.load` returns), an array with the columns (entailment,
        contradiction) or (entailment, neutral, contradiction), or the probability of contradiction alone, shape (pairs,).
        Asked once, for the distinct pairs.
    variant : "released" or "paper"
        "released": the sentence is the premise and the sample the hypothesis, as in the package and so in every number
        computed with it. "paper": the sample is the premise, as the text says.

    Returns
    -------
    (n,) array
        In [0, 1]; higher is more contradicted. NaN where every sample is empty, or there is none.

    Raises
    ------
    ValueError
        If `variant` is neither, an entry is not a text, or `nli` returns something else.

    Notes
    -----
    An empty sample is left out of the mean, as in `selfcheck_bertscore`; the package asks the model about it.
    """
    if variant not in ("released", "paper"):
        raise ValueError(f"selfcheck_nli: variant is 'released' or 'paper', got {variant!r}")
    _check_sentences(sentences)
    whole = [sample if isinstance(sample, str) else " ".join(sample) for sample in samples]
    whole = [sample for sample in whole if sample.strip()]
    if not whole or not len(sentences):
        return np.full(len(sentences), math.nan)
    pairs = [(sentence, sample) for sentence in sentences for sample in whole]
    distinct = list(dict.fromkeys(pairs))
    first, second = [p[0] for p in distinct], [p[1] for p in distinct]
    answer = nli(first, second) if variant == "released" else nli(second, first)
    number = {pair: i for i, pair in enumerate(distinct)}
    contradiction = _contradiction(answer, len(distinct))[[number[pair] for pair in pairs]]
    return contradiction.reshape(len(sentences), len(whole)).mean(axis=1)


def _contradiction(answer: Mapping[str, ArrayLike] | ArrayLike, pairs: int) -> np.ndarray:
    if isinstance(answer, Mapping):
        missing = {"entailment", "contradiction"} - set(answer)
        if missing:
            raise ValueError(f"selfcheck_nli: the NLI model gives no probability of {' and '.join(sorted(missing))}")
        answer = np.stack([np.asarray(answer[k], dtype=float) for k in ("entailment", "contradiction")], axis=-1)
    values = np.asarray(answer, dtype=float)
    if values.shape == (pairs,):
        return values
    if values.ndim != 2 or values.shape[0] != pairs or values.shape[1] not in (2, 3):
        raise ValueError(f"selfcheck_nli: expected 2 or 3 probabilities for each of {pairs} pairs, got {values.shape}")
    entailment, contradiction = values[:, 0], values[:, -1]
    return contradiction / (entailment + contradiction)


def selfcheck_prompt(verdicts: Sequence[Sequence[str | None] | str | None]) -> np.ndarray:
    """What a language model said when asked whether each sample supports each sentence.

    Manakul et al. 2023, section 5.5: a yes (supported) counts 0, a no counts 1, anything else 0.5; the score is the mean over
    the samples.

    Parameters
    ----------
    verdicts : for each of n sentences the replies, one a sample; a single reply in place of a list is the only sample's.
        None is a failed call.

    Returns
    -------
    (n,) array
        In [0, 1]; higher is less supported. Failed calls are left out of the mean; NaN where nothing else is there.

    Notes
    -----
    A reply is read whole (`replies.label`): "No." is a no, but "Not enough information", "None of the context …" and
    "Norepinephrine is …" are not. The package takes every reply that begins with the letters n, o for a no.

    Examples
    --------
    >>> selfcheck_prompt([["Yes", "No."], ["Not enough information", "yes"]]).tolist()
    [0.5, 0.25]
    """
    if isinstance(verdicts, str):
        raise ValueError("selfcheck_prompt: expected a list of replies for each sentence, got one text")
    scores = []
    for i, row in enumerate(verdicts):
        row = [row] if row is None or isinstance(row, str) else list(row)
        for reply in row:
            if not (reply is None or isinstance(reply, str)):
                raise ValueError(f"selfcheck_prompt: sentence {i}: expected a text or None, got {reply!r}")
        values = [_value(reply) for reply in row if reply is not None]
        scores.append(sum(values) / len(values) if values else math.nan)
    return np.array(scores, dtype=float)


def _value(reply: str) -> float:
    return _VALUES.get(replies.label(reply, _LABELS, _SYNONYMS).value or "unknown", 0.5)


def passage_score(scores: ArrayLike) -> float:
    """The score of a whole answer: the mean of its sentences' scores (Manakul et al. 2023, section 7.2).

    Parameters
    ----------
    scores : (n,) array, as the functions of this module return it

    Returns
    -------
    float
        In [0, 1]. Sentences without a score (NaN) are left out; NaN where no sentence has one.
    """
    scores = np.asarray(scores, dtype=float)
    scores = scores[~np.isnan(scores)]
    return float(scores.mean()) if scores.size else math.nan


def _check_sentences(sentences: Sequence[str]) -> None:
    if isinstance(sentences, str):
        raise ValueError("sentences: expected a list of sentences, got one text; see text.sentences")
    for i, sentence in enumerate(sentences):
        if not isinstance(sentence, str):
            raise ValueError(f"sentences, entry {i}: expected a text, got {sentence!r}")
