"""What an exam of the published size costs: `python -m tests.benchmarks.exam`.

A bank of 3,058 items in the published shares of labels, of made-up English of the published lengths, a twentieth of the items
reworded copies of earlier ones; 12 endpoints between 47 % and 90 %; embeddings apart.
"""

from __future__ import annotations

from tests.benchmarks.__main__ import median_seconds, say

LABELS = {"easy": 646, "medium": 646, "hard": 883, "synthesis": 883}


def _bank():
    import numpy as np

    from factlab.exam import Evidence, Item

    rng = np.random.default_rng(0)
    start, middle, end = (
        ["le", "si", "me", "va", "cor", "mi", "ax", "ta", "ne", "ro"],
        ["sio", "tri", "na", "li", "gu", "be", "do"],
        ["", "n", "l", "tic", "s"],
    )
    known = [a + b + c for a in start for b in middle for c in end] + (
        ["the", "of", "in", "and", "on", "a", "with", "is", "to", "by"] * 8
    )

    def text(low: int, high: int) -> str:
        return " ".join(rng.choice(known, int(rng.integers(low, high))))

    passages = {f"c{n}": text(150, 170) for n in range(600)}
    sizes = {"easy": (10, 20, 3, 10), "medium": (12, 25, 4, 12), "hard": (17, 40, 8, 25), "synthesis": (34, 60, 14, 30)}
    items: list[Item] = []
    for label, count in LABELS.items():
        a, b, c, d = sizes[label]
        for n in range(count):
            stem = text(a, b) + "?"
            if items and rng.random() < 0.05:
                earlier = items[int(rng.integers(len(items)))].question.split()
                stem = " ".join([*earlier[:-1], "so", earlier[-1]])
            chunk = f"c{rng.integers(len(passages))}"
            quote = " ".join(passages[chunk].split()[20:35])
            options = [text(c, d) for _ in range(4)]
            kinds = {"label": label, "topic": f"t{n % 16}", "subtopic": f"s{n % 53}", "question_type": "best answer"}
            evidence = (Evidence(chunk, quote, source=f"d{n % 66}"),)
            items.append(Item(stem, options, "ABCD"[n % 4], explanation=text(20, 40), evidence=evidence, **kinds))
    return items, passages


def exam_index() -> None:
    """4,289 passages of 1,200 characters of the sample notes' sentences in random order, cut, embedded and stored; then again, unchanged."""
    import random
    import re
    import subprocess
    import sys
    import tempfile
    from pathlib import Path

    from factlab import places

    notes = "\n".join(
        p.read_text(encoding="utf-8") for p in sorted(places.samples("ms_exam_gen", "sources").glob("*.md"))
    )
    sentences = [s.strip() for s in re.split(r"(?<=[.?!])\s+", notes) if 20 < len(s) < 400]
    rng = random.Random(0)
    script = (
        "import time, sys; from pathlib import Path; t = time.perf_counter();"
        "from factlab.sources import corpus as c; from factlab.studies.ms_exam_gen import corpus;"
        "chunks = c.chunk(c.read_corpus(Path('sources'))[0]);"
        "told = corpus.index(chunks, folder=Path('index'), progress=False)[1];"
        "print(time.perf_counter() - t, told['passages'], told['embedded'])"
    )
    with tempfile.TemporaryDirectory() as folder:
        for part in ("notebooks", "params", "sources"):  # a checkout of its own, with an empty cache
            (Path(folder) / part).mkdir()
        for n in range(66):
            text = ""
            while len(text) < 65 * 1000:
                text += rng.choice(sentences) + " "
            (Path(folder) / "sources" / f"s{n:02}.md").write_text(f"# Source {n}\n\n{text}\n", encoding="utf-8")

        def work() -> list[float]:
            done = subprocess.run(
                [sys.executable, "-c", script], cwd=folder, check=True, capture_output=True, text=True
            )
            return [float(x) for x in done.stdout.split()]

        seconds, passages, embedded = work()
        print(f"     ({passages:,.0f} passages, {embedded:,.0f} embedded)")
        say("index of about 4,289 passages", seconds, "s", 300)
        again = [work() for _ in range(3)]
        assert all(embedded == 0 for _, _, embedded in again)
        say("the same corpus unchanged", sorted(a[0] for a in again)[1], "s", 2)


def exam_audit() -> None:
    """All deterministic flags of 3,058 items, near-duplicates and evidence with them."""
    from factlab import exam

    items, passages = _bank()
    exam.audit(items[:20], chunks=passages)  # imports
    flags = exam.audit(items, chunks=passages)
    near = (flags["flag"] == "near_duplicate").sum()
    print(f"     ({len(flags):,} flags, {near} near-duplicates)")
    say(f"audit {len(items):,} items", median_seconds(lambda: exam.audit(items, chunks=passages), 3), "s", 5)


def exam_bootstrap(replicates: int = 4000, endpoints: int = 12, items: int = 3058) -> None:
    """Accuracy of every endpoint with its hierarchical interval, and the rest of what a panel gives."""
    import numpy as np
    import pandas as pd

    from factlab import exam

    rng = np.random.default_rng(0)
    shares = np.linspace(0.469, 0.897, endpoints)
    hard = rng.normal(0, 1, (items, 1))
    right = pd.DataFrame((hard + rng.normal(0, 1, (items, endpoints)) < np.sqrt(2) * _quantiles(shares)).astype(int))
    batches = np.arange(items) % 16
    exam.hierarchical(right.head(100), batches[:100], replicates=10)
    name = f"hierarchical bootstrap {replicates:,} × {endpoints} × {items:,}"
    say(name, median_seconds(lambda: exam.hierarchical(right, batches, replicates=replicates)), "s", 1)
    say("compare all pairs of endpoints", median_seconds(lambda: exam.compare_endpoints(right, batches), 1), "s", 10)
    say(
        "leave-one-out, discrimination",
        median_seconds(lambda: (exam.leave_one_out(right), exam.discrimination(right)), 3),
        "s",
        2,
    )
    say("Rasch model", median_seconds(lambda: exam.rasch(right), 3), "s", 2)


def _quantiles(shares):
    from scipy.stats import norm

    return norm.ppf(shares)


def exam_probe() -> None:
    """The leave-one-topic-out selector on the whole bank."""
    from factlab import exam

    items, _ = _bank()
    topics = [item.topic for item in items]
    exam.cue_picks(items[:64], topics[:64], "both")  # imports
    for features in ("structure", "both"):
        say(
            f"cue probe, {features}, {len(items):,} items",
            median_seconds(lambda f=features: exam.cue_probe(items, topics, f), 1),
            "s",
            10,
        )


if __name__ == "__main__":
    exam_audit()
    exam_bootstrap()
    exam_probe()
