"""What BERTScore and SelfCheckGPT cost here, against their packages with the same encoder (MiniLM), in one run."""

from __future__ import annotations

import contextlib
import io
import time

WORDS = (
    "insulin lowers the level of glucose in blood while adrenaline raises heart rate and pressure after a meal patients with "
    "type two diabetes respond more slowly to treatment than those without it and the dose must be adjusted over weeks"
)


def _texts(n: int, words: int, seed: int) -> list[str]:
    import numpy as np

    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS.split(), int(words * rng.uniform(0.7, 1.3)))) + "." for _ in range(n)]


def _alternating(ways: dict, runs: int = 3) -> dict[str, float]:
    """Median seconds of each way; they take turns, so that whatever else the machine does falls on all of them."""
    import statistics

    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(runs):
        for name, work in ways.items():
            began = time.perf_counter()
            with contextlib.redirect_stderr(io.StringIO()):  # the package's progress bars
                work()
            times[name].append(time.perf_counter() - began)
    return {name: statistics.median(values) for name, values in times.items()}


def bertscore(k: int = 12, words: int = 90) -> None:
    """k answers against each other."""
    import bert_score
    from tests import packages
    from tests.benchmarks.__main__ import say

    from factlab import stability
    from factlab.models import tokens, weights

    answers = _texts(k, words, 0)
    left = [a for a in answers for _ in answers]
    right = answers * k
    fixed = {"model_type": str(weights.minilm()), "num_layers": 6, "device": "cpu"}
    encode = tokens.load("local/minilm", device="cpu")
    scorer = packages.bert_scorer(weights.minilm(), 6)
    took = _alternating(
        {
            "here": lambda: stability.bertscore(answers, answers, encode),
            "package, all pairs in one call, scorer kept": lambda: scorer.score(left, right),
            "package, all pairs in one call": lambda: bert_score.score(left, right, **fixed),
            "package, a call for each row, scorer kept": lambda: [scorer.score([a] * k, answers) for a in answers],
            "package, a call for each row": lambda: [bert_score.score([a] * k, answers, **fixed) for a in answers],
        }
    )
    for name, seconds in took.items():
        print(f"     ({k} × {k} answers of {words} words: {seconds:.2f} s, {name})")
    here, one_kept, one, _, rows = took.values()
    say("BERTScore against the package's one call, scorer kept", one_kept / here, "times", 1, at_most=False)
    say("BERTScore against the package's one call", one / here, "times", 1, at_most=False)
    say("BERTScore against the package's call for each row", rows / here, "times", 10, at_most=False)


def selfcheck(sentences: int = 6, samples: int = 20) -> None:
    """An answer of 6 sentences against 20 samples of as many, all different, on MiniLM and on a small random BERT.

    The package encodes the answer's sentences again for every sample, twice the texts, and loads its model each time. Where
    all sentences differ, as here, encoding them once is most of the work that is left, so how many times faster this is
    depends on the encoder: loading it and encoding with it do not grow alike.
    """
    import tempfile
    from pathlib import Path

    from tests import tiny_encoders

    from factlab.models import weights

    _selfcheck("MiniLM", weights.minilm(), 6, sentences, samples)
    with tempfile.TemporaryDirectory() as folder:
        _selfcheck("a random BERT", tiny_encoders.bert(Path(folder), positions=256), 4, sentences, samples)


def _selfcheck(name, folder, layer: int, sentences: int, samples: int) -> None:
    import bert_score
    from tests import packages
    from tests.benchmarks.__main__ import say

    from factlab import stability
    from factlab.models import tokens

    answer = _texts(sentences, 18, 0)
    others = [_texts(sentences, 18, 1 + i) for i in range(samples)]
    fixed = {"model_type": str(folder), "num_layers": layer, "device": "cpu"}
    encode = tokens.load(str(folder), layer, device="cpu")
    scorer = packages.bert_scorer(folder, layer)

    def theirs(score):
        with packages.selfcheckgpt(score) as package, contextlib.redirect_stdout(io.StringIO()):
            check = package.SelfCheckBERTScore(rescale_with_baseline=False)
            return check.predict(answer, [" ".join(s) for s in others])

    took = _alternating(
        {
            "here": lambda: stability.selfcheck_bertscore(answer, others, encode),
            "package": lambda: theirs(lambda a, b, **options: bert_score.score(a, b, **options, **fixed)),
            "package, scorer kept": lambda: theirs(lambda a, b, **options: scorer.score(a, b)),
        }
    )
    for way, seconds in took.items():
        print(f"     ({sentences} sentences × {samples} samples on {name}: {seconds:.3f} s, {way})")
    here, package, kept = took.values()
    say(f"SelfCheck-BERTScore on {name} against the package", package / here, "times", 5, at_most=False)
    say(f"SelfCheck-BERTScore on {name} against its scorer kept", kept / here, "times", 2, at_most=False)


if __name__ == "__main__":
    bertscore()
    selfcheck()
