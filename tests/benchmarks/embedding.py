"""Embedding mixed-length texts with the built-in MiniLM against the two usual ways, in one run: `python -m tests.benchmarks.embedding`.

The texts are like what CheckEmbed compares: many short answers, some of a paragraph, a few of a page, in no order, none longer
than the model's window, so that all three ways read every token. The ways take turns, on one thread and in processor time, so that
the ratios hold beside other work too (threads that wait for each other on a busy machine make wall time a lottery).
"""

from __future__ import annotations

import os
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

from tests.benchmarks.__main__ import say

WORDS = [
    "the",
    "of",
    "patients",
    "study",
    "with",
    "treatment",
    "and",
    "protein",
    "expression",
    "was",
    "in",
    "cells",
    "we",
    "observed",
    "a",
    "significant",
    "increase",
    "dose",
    "tumor",
    "risk",
    "hypertension",
    "after",
    "months",
    "compared",
    "therapy",
    "gene",
    "mutation",
    "clinical",
    "outcome",
]


def mixed_texts(n: int = 240, seed: int = 0) -> list[str]:
    """Texts of 4 to 200 words, log-normal: the median has 22, one in seven more than 60."""
    rng = random.Random(seed)
    sizes = [max(4, min(200, round(rng.lognormvariate(3.1, 0.95)))) for _ in range(n)]
    return [f"{i} " + " ".join(rng.choices(WORDS, k=k)) + "." for i, k in enumerate(sizes)]


def embedding() -> None:
    """Ours, `SentenceTransformer.encode`, and a plain loop over unsorted batches of 32 padded to their longest."""
    import numpy as np
    import torch
    from sentence_transformers import SentenceTransformer

    from factlab.models import embed, weights
    from factlab.models.embed_store import Store

    torch.set_num_threads(1)
    texts = mixed_texts()
    ours = embed.load("local/minilm", mode="live", store=Store(None))
    theirs = SentenceTransformer(str(weights.minilm()))
    model, tokenizer = theirs[0].auto_model, theirs.tokenizer

    def unsorted_loop():
        found = []
        with torch.inference_mode():
            for start in range(0, len(texts), 32):
                batch = tokenizer(texts[start : start + 32], padding=True, truncation=True, return_tensors="pt")
                hidden = model(**batch).last_hidden_state
                mask = batch["attention_mask"][..., None]
                found.append(torch.nn.functional.normalize((hidden * mask).sum(1) / mask.sum(1)).numpy())
        return np.concatenate(found)

    ways = {
        "ours": lambda: ours(texts),
        "SentenceTransformer.encode": lambda: theirs.encode(texts, normalize_embeddings=True, show_progress_bar=False),
        "unsorted loop": unsorted_loop,
    }
    vectors = {name: work() for name, work in ways.items()}  # also the warm-up
    worst = max(float(np.abs(vectors["ours"] - v).max()) for v in vectors.values())
    say("largest difference to the other two", worst, "", 1e-5)
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(5):
        for name, work in ways.items():
            began = time.process_time()
            work()
            seconds[name].append(time.process_time() - began)
    median = {name: statistics.median(s) for name, s in seconds.items()}
    tokens = int(ours.encode(texts, progress=False).tokens.sum())
    shown = ", ".join(f"{name} {s:.2f} s" for name, s in median.items())
    print(f"     ({len(texts)} texts, {tokens:,} tokens: {shown})")
    loop, encode = (median[name] / median["ours"] for name in ("unsorted loop", "SentenceTransformer.encode"))
    say("embedding against an unsorted loop", loop, "times", 3, at_most=False)
    say("embedding against SentenceTransformer.encode", encode, "times", 1.2, at_most=False)


def stored() -> None:
    """Vectors read back from the store, through the whole of `Embedder.encode`; torch stays out."""
    import numpy as np

    from factlab.models import embed
    from factlab.models.embed_store import Store

    class Random:
        def identity(self):
            return {"model": "random"}

        def room(self):
            return None

        def count(self, texts):
            return [len(t.split()) for t in texts]

        def embed(self, texts, done):
            vectors = np.random.default_rng(0).normal(size=(len(texts), 384)).astype(np.float32)
            done(embed.Batch(range(len(texts)), vectors))

    with tempfile.TemporaryDirectory() as folder:
        embedder = embed.Embedder("random", Random(), store=Store(Path(folder) / "embeddings.sqlite"))
        texts = [f"text number {i}" for i in range(20_000)]
        embedder(texts)
        began = time.perf_counter()
        embedder(texts)
        say("stored embeddings", len(texts) / (time.perf_counter() - began), "a second", 20_000, at_most=False)
    assert "torch" not in sys.modules


if __name__ == "__main__":
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    stored()
    embedding()
