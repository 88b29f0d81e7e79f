"""A cross-encoder out of MiniLM on REASONS' sample and released sentences: `python -m tests.benchmarks.reranker`.

Fine-tuned on the training papers' sentences, at most five minutes of the processor; tested on the sentences of papers that it never saw, against the
bi-encoder's order and against BM25, paired, with intervals that resample papers. A null result is printed as one. With
`tune` it tries settings instead, on a part of the training papers set aside for that; the held-out papers are not touched.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from tests.benchmarks.__main__ import ROOT, say

SHARE, SEED = 0.3, 0
SETTINGS: dict[str, Any] = {
    "reachable": True,
    "negatives": 4,
    "epochs": 1,
    "learning_rate": 2e-4,
    "queries_per_step": 8,
}
WINDOW, CANDIDATES = 160, 40
TRIED: dict[str, dict[str, Any]] = {
    "rate 2e-4": {},
    "cited works that the bi-encoder missed, too": {"reachable": False},
    "rate 5e-5": {"learning_rate": 5e-5},
    "9 negatives, 4 sentences a step": {"negatives": 9, "queries_per_step": 4},
}


def records(released: Path | None):
    """Citing sentences of the sample and, where there, of the released files, and how many are of which."""
    import pandas as pd

    from factlab import sources

    columns = ["source_id", "domain", "sentence", "cited_title", "cited_abstract"]
    parts = [sources.read_citations()[0][columns]]
    if released is not None:
        parts.append(sources.read_reasons(released / "reasons")[columns])
    return pd.concat(parts, ignore_index=True)


def released_folder() -> Path | None:
    folder = Path(os.environ.get("FACTLAB_DATA") or ROOT.parent / "shared" / "released")
    return folder if (folder / "reasons").is_dir() else None


def trained(found, dense, part: np.ndarray, folder: Path, **changes: Any):
    """A fine-tuned reranker, and the seconds of the processor that it took."""
    from factlab.models import rerank
    from factlab.studies.reasons import retrieval as study

    settings = SETTINGS | changes
    groups = study.groups(found, dense, part, settings.pop("negatives"), SEED, settings.pop("reachable"))
    model = rerank.load("minilm", window=WINDOW, folder=folder)
    curve = model.fit(groups, seed=SEED, progress=False, **settings)
    quarter = max(1, len(curve) // 4)
    losses = curve["loss"].iloc[:quarter].mean(), curve["loss"].iloc[-quarter:].mean()
    print(
        f"     ({len(groups)} sentences, {len(curve)} steps, {model.training_seconds:.0f} s of the processor; loss "
        f"{losses[0]:.2f} in the first quarter, {losses[1]:.2f} in the last)",
        flush=True,
    )
    return model


def compare(found, rankings, part: np.ndarray, folder: Path, arms: dict[str, Any]) -> None:
    from factlab.studies.reasons import retrieval as study

    for name, model in arms.items():
        rankings[name] = study.advanced(
            found, rankings[study.DENSE], part, lambda p, m=model: m.score(p, progress=False)
        )
    scores = study.query_scores(rankings, found, part)
    table = study.by_method(scores, SEED)
    for row in table[table["score"] == "MRR"].itertuples():
        print(f"     MRR {row.ranking}: {row.text}", flush=True)
    for name in arms:
        for row in study.differences(scores, name, seed=SEED).itertuples():
            if row.against in (study.DENSE, study.BM25, study.UNTRAINED):
                print(
                    f"     {name} against {row.against}: {study.difference(row)} ({row.n} sentences, {row.clusters} papers)"
                )


def reranker(tune: bool = False) -> None:
    from factlab.models import embed, rerank
    from factlab.models.embed_store import Store
    from factlab.studies.reasons import retrieval as study

    released = released_folder()
    rows = records(released)
    found = study.corpus(rows)
    part, shared = study.split(rows, found, SHARE, SEED)
    print(
        f"     ({len(found.queries)} sentences, {len(found.works)} works{'' if released else '; no released data found'})"
    )
    print(
        "     " + "; ".join(f"{r.what}: train {r.train}, test {r.test}, shared {r.shared}" for r in shared.itertuples())
    )
    rankings = study.first_rankings(found, embed.load("local/minilm", store=Store(None)), 2, CANDIDATES)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if tune:
            inner = part.copy()
            inner[part == "test"] = "held out"
            papers = found.queries["source_id"].where(part == "train").dropna()
            aside = set(np.random.default_rng(SEED).permutation(papers.unique())[: round(0.25 * papers.nunique())])
            inner[found.queries["source_id"].isin(aside).to_numpy() & (part == "train")] = "test"
            rankings = {
                name: ranking[ranking["rank"] <= CANDIDATES // 2] for name, ranking in rankings.items()
            }  # half the time
            arms = {study.UNTRAINED: rerank.load("minilm", window=WINDOW, folder=folder)}
            for label, changes in TRIED.items():
                print(f"     {label}: {SETTINGS | changes}")
                arms[label] = trained(found, rankings[study.DENSE], inner, folder, **changes)
            compare(found, rankings, inner, folder, arms)
            return
        model = trained(found, rankings[study.DENSE], part, folder)
        say("training", model.training_seconds, "s of the processor", 300)
        began, spent = time.perf_counter(), time.process_time()
        arms = {study.UNTRAINED: rerank.load("minilm", window=WINDOW, folder=folder), study.ADVANCED: model}
        compare(found, rankings, part, folder, arms)
        seconds, spent = time.perf_counter() - began, time.process_time() - spent
        print(f"     (scored twice in {seconds:.0f} s, {spent:.0f} s of the processor)")


if __name__ == "__main__":
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    reranker("tune" in sys.argv[1:])
