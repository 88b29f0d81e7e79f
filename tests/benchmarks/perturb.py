"""The nearest other title and abstract against brute force with difflib, on made-up texts: `python -m tests.benchmarks.perturb`.

The texts are random but shaped like titles and abstracts of papers: a few words make up half of a text, thousands occur once
in a while, no two texts are copies. So nothing is near (the best ratios are about 0.5 and 0.3, as between real titles
and abstracts), which is the hardest case for pruning. About three minutes, nearly all of them difflib's.
"""

from __future__ import annotations

import difflib
import random
import time

from tests.benchmarks.__main__ import say

FUNCTION = "the of and in to a for we is that with on by are this as from an be can which our or it at between has"
STEMS = (
    "learn detect model graph network image speech robot cluster encod predict sampl optim transform secur trust privat align "
    "filter retriev rank parti segment generat adapt explor schedul query index compress render simulat plan control sens trac "
    "mesh token parse translat summar question answer dialog vision depth motion light protein cell neuron spike cortex gene "
    "fold bind membran quantum circuit qubit gate noise error correct cipher hash sign proof protocol attack defend"
)
ENDINGS = "ing ion ed er s al ive or ment able ity ness ant ure age ist ic ous ate ism"
OPENINGS = "re un de co sub multi hyper inter pre auto meta semi over bi trans cross"


def vocabulary(rng: random.Random) -> list[str]:
    """Words, the frequent ones first."""
    words = [stem + ending for stem in STEMS.split() for ending in ENDINGS.split()]
    words += [opening + word for opening in OPENINGS.split() for word in rng.sample(words, 120)]
    rng.shuffle(words)
    return words


class Writer:
    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.words, self.function = vocabulary(random.Random(0)), FUNCTION.split()
        self.weights = [1 / (rank + 50) for rank in range(len(self.words))]
        self.function_weights = [1 / (rank + 1) for rank in range(len(self.function))]

    def phrase(self, count: int) -> list[str]:
        content = self.rng.choices(self.words, self.weights, k=count)
        function = self.rng.choices(self.function, self.function_weights, k=count)
        return [f if self.rng.random() < 0.4 else c for c, f in zip(content, function, strict=True)]

    def title(self) -> str:
        words = self.phrase(max(3, min(16, round(self.rng.gauss(9, 2.5)))))
        return " ".join(word if word in self.function else word.capitalize() for word in words)

    def abstract(self) -> str:
        sentences = (
            " ".join(self.phrase(self.rng.randint(14, 28))).capitalize() for _ in range(self.rng.randint(5, 8))
        )
        return ". ".join(sentences) + "."


def texts(kind: str, queries: int, pool: int) -> tuple[list[str], list[str]]:
    """Queries that stand in the pool themselves, as the titles of a data set do."""
    writer = Writer(1)
    made = [getattr(writer, kind)() for _ in range(pool)]
    return made[:queries], made


def titles(queries: int = 159, pool: int = 7000) -> None:
    from factlab import perturb

    ours, others = texts("title", queries, pool)
    perturb.nearest(ours[:2], others[:50])
    times = []
    for _ in range(5):
        began = time.perf_counter()
        found = perturb.nearest(ours, others)
        times.append(time.perf_counter() - began)
    here = sorted(times)[2]
    began = time.perf_counter()
    rows = []
    for query in ours:
        best, match = -1.0, -1
        for row, other in enumerate(others):
            if other != query:
                value = difflib.SequenceMatcher(None, query, other, autojunk=False).ratio()
                if value > best:
                    best, match = value, row
        rows.append((match if best >= 0.70 else -1, best))
    brute = time.perf_counter() - began
    same = rows == list(zip(found["match"].tolist(), found["ratio"].tolist(), strict=True))
    size = sum(map(len, others)) / len(others)
    print(f"     ({queries} × {pool:,} titles of {size:.0f} characters: {here:.3f} s here, {brute:.0f} s brute force;")
    print(f"      mean of the best ratios {found['ratio'].mean():.3f}, {(found['match'] >= 0).sum()} reach 0.70)")
    say("titles: rows that differ from brute force", 0 if same else 1, "", 0)
    say("titles: times faster than brute force with difflib", brute / here, "times", 300, at_most=False)


def abstracts(queries: int = 200, pool: int = 7000, checked: int = 1) -> None:
    """Brute force would take hours here: whole rows are checked for `checked` queries, with the compiled matcher, whose
    ratios are difflib's (checked on 200 pairs)."""
    from factlab import perturb

    ours, others = texts("abstract", queries, pool)
    began, spent = time.perf_counter(), time.process_time()
    found = perturb.nearest(ours, others)
    seconds, spent = time.perf_counter() - began, time.process_time() - spent
    rng = random.Random(0)
    wrong = 0
    began = time.perf_counter()
    for _ in range(200):
        a, b = rng.choice(ours), rng.choice(others)
        wrong += perturb.ratio(a, b) != difflib.SequenceMatcher(None, a, b, autojunk=False).ratio()
    brute = (time.perf_counter() - began) / 200 * queries * pool
    for query in rng.sample(range(queries), checked):
        ratios = [-1.0 if other == ours[query] else perturb.ratio(ours[query], other) for other in others]
        best = max(ratios)
        expected = (ratios.index(best) if best >= 0.70 else -1, best)
        wrong += expected != (found["match"][query], found["ratio"][query])
    size = sum(map(len, others)) / len(others)
    print(
        f"     ({queries} × {pool:,} abstracts of {size:.0f} characters: {seconds:.1f} s, {spent:.1f} s of the processor,"
    )
    print(
        f"      brute force would take about {brute / 3600:.1f} h; mean of the best ratios {found['ratio'].mean():.3f})"
    )
    say("abstracts: differences to difflib", wrong, "", 0)
    say(f"abstracts: {queries} against {pool:,}", seconds, "s", 60)


if __name__ == "__main__":
    titles()
    abstracts()
