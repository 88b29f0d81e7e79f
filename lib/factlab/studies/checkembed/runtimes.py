"""Run times and operation counts (50_runtimes)."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd


def measure(
    work: Mapping[str, Callable[[list[str]], Any]], texts: Sequence[str], sizes: Sequence[int], repeats: int = 3
) -> pd.DataFrame:
    """Seconds that each method takes for the first k texts.

    Parameters
    ----------
    work : method → function of a list of texts. Nothing may be remembered between calls.
    texts : at least max(sizes).
    sizes : numbers of texts k.
    repeats : the methods take turns, so that what else the machine does falls on all of them.

    Returns
    -------
    DataFrame : method, k, repeat, seconds.
    """
    import pandas as pd

    rows = []
    for repeat in range(repeats):
        for k in sizes:
            for method, function in work.items():
                began = time.perf_counter()
                function(list(texts[:k]))
                rows.append((method, k, repeat, time.perf_counter() - began))
    return pd.DataFrame(rows, columns=["method", "k", "repeat", "seconds"])


def operations(k: int, s: int, t: int) -> pd.DataFrame:
    """Operations by the paper's analysis (section 3), and by how it is done here.

    Parameters
    ----------
    k, s, t : replies, sentences a reply, tokens a sentence.

    Returns
    -------
    DataFrame : method, embeddings, comparisons (the paper's leading terms), here_embeddings (each distinct text is encoded once).
    """
    import pandas as pd

    rows = [
        ("CheckEmbed", k, k * k, k),
        ("BERTScore", 2 * k * k, k * k * s * s * t * t, k),
        ("SelfCheckGPT", k * s * s, k * s**4 * t * t, k * s),
    ]
    return pd.DataFrame(rows, columns=["method", "embeddings", "comparisons", "here_embeddings"])


def growth(times: pd.DataFrame) -> pd.DataFrame:
    """How the median time grows with k: the slope on log-log axes over the larger half of the sizes (1: linear, 2: quadratic)."""
    import pandas as pd

    rows = []
    for method, group in times.groupby("method", sort=False):
        medians = group.groupby("k")["seconds"].median()
        upper = medians[medians.index >= np.median(medians.index)]
        slope = float(np.polyfit(np.log(upper.index), np.log(upper), 1)[0]) if len(upper) > 1 else None
        largest = int(medians.index.max())
        rows.append((method, largest, float(medians[largest]), slope))
    table = pd.DataFrame(rows, columns=["method", "k", "seconds", "slope"]).astype({"slope": "Float64"})
    fastest = table["seconds"].min()
    return table.assign(times_the_fastest=table["seconds"] / fastest)


def mixed_answers(sentences: Sequence[str], k: int, words: int, seed: int = 0) -> list[str]:
    """k texts of so many words each, put together from given sentences in another order each time: different, if they are enough.

    Raises
    ------
    ValueError : there is no word to make a text of.
    """
    generator = np.random.default_rng(seed)
    pool = [s.split() for s in sentences if s.split()]
    if not pool:
        raise ValueError("mixed_answers: no sentence has a word in it")
    made = []
    for _ in range(k):
        text: list[str] = []
        while len(text) < words:
            for i in generator.permutation(len(pool)):
                text += pool[i]
                if len(text) >= words:
                    break
        made.append(" ".join(text[:words]).rstrip(".") + ".")
    return made


def workloads(
    embed: Callable[[Sequence[str]], np.ndarray], encode: Callable[[Sequence[str]], Sequence[Any]]
) -> dict[str, Any]:
    """What each method does with k answers, from texts to scores.

    Parameters
    ----------
    embed, encode : of whole texts and of tokens; neither may remember anything.

    Returns
    -------
    dict : CheckEmbed and BERTScore compare all pairs; SelfCheckGPT checks the sentences of the first answer against the others.
    """
    from factlab import stability
    from factlab.text import sentences

    def selfcheck(texts: list[str]) -> Any:
        split = [sentences(text) for text in texts]
        return stability.selfcheck_bertscore(split[0], split[1:], encode)

    return {
        "CheckEmbed": lambda texts: stability.similarity(embed(texts)),
        "BERTScore": lambda texts: stability.bertscore(texts, texts, encode),
        "SelfCheckGPT": selfcheck,
    }


def measure_lengths(
    work: Mapping[str, Callable[[list[str]], Any]],
    sentences: Sequence[str],
    k: int,
    lengths: Sequence[int],
    repeats: int = 3,
    seed: int = 0,
) -> pd.DataFrame:
    """Seconds for k answers of different lengths: method, words, repeat, seconds."""
    import pandas as pd

    frames = [
        measure(work, mixed_answers(sentences, k, words, seed), [k], repeats).assign(words=words) for words in lengths
    ]
    return pd.concat(frames, ignore_index=True)[["method", "words", "repeat", "seconds"]]


def count_encodings(
    answers: Sequence[str], sizes: Sequence[int], encode: Callable[[Sequence[str]], Sequence[Any]]
) -> pd.DataFrame:
    """How many texts each method has encoded, counted while it works: method, k, texts."""
    import pandas as pd

    encoded = 0

    def count(texts: Sequence[str]) -> Sequence[Any]:
        nonlocal encoded
        encoded += len(texts)
        return encode(texts)

    def whole(texts: Sequence[str]) -> np.ndarray:
        nonlocal encoded
        encoded += len(texts)
        return np.eye(len(texts), max(2, len(texts)), dtype=np.float32)

    rows = []
    for k in sizes:
        for method, function in workloads(whole, count).items():
            encoded = 0
            function(list(answers[:k]))
            rows.append((method, k, encoded))
    return pd.DataFrame(rows, columns=["method", "k", "texts"])


def runtime_summary(grown: pd.DataFrame) -> str:
    """The result in one line."""
    if not len(grown):
        return "nothing was measured"
    k = int(grown["k"].max())
    parts = [f"{row.method} {row.seconds:.2f} s ({row.times_the_fastest:.1f} ×)" for row in grown.itertuples()]
    return f"for {k} answers: " + ", ".join(parts)


def runtime_warnings(times: pd.DataFrame, repeats: int) -> list[str]:
    """What a reader should distrust."""
    notes = [
        "One machine and small encoders of one size for all methods. The paper used an embedder ten times the size of BERTScore's encoder, "
        "and encodes every pair anew for BERTScore; here each text is encoded once, which takes most of the difference away."
    ]
    if repeats < 3:
        notes.append(f"Measured fewer than three times: {repeats}.")
    wide = times.groupby(["method", "k"])["seconds"].agg(lambda s: s.max() / s.min())
    if len(wide) and wide.max() > 2:
        notes.append(f"Repeats differ by up to {wide.max():.1f} times: something else was running.")
    return notes
