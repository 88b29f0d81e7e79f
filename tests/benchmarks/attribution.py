"""What scoring 50,000 answers costs, titles and authors: `python -m tests.benchmarks.attribution`.

The titles are all different, of ten words, a third of them right and a tenth passes; the author lists are of five names, of
which seven in ten are right. Both go through reading the reply, every measure, and intervals by 6,000 source papers.
"""

from __future__ import annotations

from tests.benchmarks.__main__ import median_seconds, say


def _replies(n: int):
    import json

    import numpy as np
    import pandas as pd

    rng = np.random.default_rng(0)
    words = [f"{a}{b}" for a in ("deep", "graph", "neural", "sparse") for b in ("", "er", "ing", "ed", "al")]
    given = [f"{a}{b}" for a in ("An", "Be", "Ca", "Do", "El") for b in ("na", "rt", "lo", "ra", "mi")]
    family = [f"{a}{b}{c}" for a in ("Sm", "Gr", "Kl", "Br") for b in ("ith", "een", "ein") for c in ("er", "son", "s")]

    def title(i: int) -> str:
        return " ".join(rng.choice(words, 9)) + f" {i}"

    def person() -> str:
        return f"{rng.choice(given)} {rng.choice(list('ABC'))}. {rng.choice(family)}"

    titles = [title(i) for i in range(n)]
    people = [[person() for _ in range(5)] for _ in range(n // 10)]  # drawing names costs more than scoring them
    gold = [people[i % len(people)] for i in range(n)]
    sure = rng.random(n)
    answers = [
        g if s < 0.33 else "pass" if s > 0.9 else f"{title(i)} {g[:20]}"
        for i, (g, s) in enumerate(zip(titles, sure, strict=True))
    ]
    named = [
        [p if rng.random() < 0.7 else people[(i + 7) % len(people)][j] for j, p in enumerate(g)]
        for i, g in enumerate(gold)
    ]
    table = pd.DataFrame({"domain": rng.choice(list("abcdefghijkl"), n), "paper": rng.integers(0, 6000, n)})
    return table.assign(reply=answers, gold=titles), table.assign(reply=[json.dumps(x) for x in named], gold=gold)


def scoring_answers(n: int = 50_000) -> None:
    """Reading and scoring n answers, each measured once, since what is compared is remembered."""
    from factlab import attribution

    def work(table, parse) -> None:
        parsed = [parse(reply) for reply in table["reply"]]
        read = table.assign(predicted=[p.value for p in parsed], status=[p.status for p in parsed])
        attribution.score(read, clusters="paper")

    titles, authors = _replies(n)
    attribution.score(titles.head(100).assign(predicted="a", status="scored"))  # imports
    scored = titles.assign(predicted=titles["reply"], status="scored")
    say(f"score {n:,} titles", median_seconds(lambda: attribution.score(scored, clusters="paper"), 1), "s", 10)
    say(f"read and score {n:,} titles", median_seconds(lambda: work(titles, attribution.parse_title), 1), "s", 20)
    import json

    listed = authors.assign(predicted=[json.loads(r) for r in authors["reply"]], status="scored")
    say(
        f"score {n:,} lists of 5 authors",
        median_seconds(lambda: attribution.score(listed, clusters="paper"), 1),
        "s",
        10,
    )
    say(
        f"read and score {n:,} lists of 5 authors",
        median_seconds(lambda: work(authors, attribution.parse_authors), 1),
        "s",
        30,
    )


if __name__ == "__main__":
    scoring_answers()
