"""The figures that the project promises, measured: `make bench`, or `python -m tests.benchmarks NAME …` for some of them.

Each line gives the median of several runs, the promise and whether it was met on this machine. Run it when nothing else does.
"""

from __future__ import annotations

import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def median_seconds(work: Callable[[], object], runs: int = 5) -> float:
    times = []
    for _ in range(runs):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def say(name: str, value: float, unit: str, promise: float, at_most: bool = True) -> None:
    good = value <= promise if at_most else value >= promise
    sign = "≤" if at_most else "≥"
    print(f"{'ok  ' if good else 'MISS'} {name}: {value:,.3g} {unit} (promised {sign} {promise:,g})", flush=True)


def importing() -> None:
    """`import factlab`, in a process of its own, less what Python itself takes to start."""

    def start(code: str) -> float:
        return median_seconds(lambda: subprocess.run([sys.executable, "-c", code], check=True), 7)

    bare = start("pass")
    say("import factlab", start("import factlab") - bare, "s", 0.3)
    light = start("from factlab import models, runs, replies, text")
    say("import models, runs, replies, text", light - bare, "s", 0.3)


def _benchmark_sized():
    import numpy as np
    import pandas as pd

    rng = np.random.default_rng(0)
    n, units = 8573, 10
    ids = [f"q{i}" for i in range(n)]
    responses = pd.DataFrame({"response_id": ids, "n_units": units, "source": rng.integers(0, 1992, n).astype(str)})
    verdicts = pd.DataFrame(
        {
            "response_id": np.repeat(ids, units),
            "unit_no": np.tile(np.arange(1, units + 1), n),
            "verdict": rng.choice(["true", "false", "unknown"], n * units, p=[0.8, 0.19, 0.01]),
        }
    )
    return responses, verdicts


def scoring() -> None:
    """8,573 responses of 10 units: precision of each and the DAHL score with its interval."""
    from factlab import units

    responses, verdicts = _benchmark_sized()

    def work():
        precision = units.factual_precision(responses, verdicts)
        return units.dahl_score(precision, clusters=responses["source"])

    work()
    say("score 8,573 responses × 10 units", median_seconds(work), "s", 2)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    say("  peak memory of the process", peak, "GB", 1)


def bootstrap() -> None:
    """4,000 replicates over 8,573 scores, resampling 1,992 source papers; and the same without clusters."""
    import numpy as np

    from factlab import stats

    rng = np.random.default_rng(0)
    values, clusters = rng.random(8573), rng.integers(0, 1992, 8573)
    stats.estimate(values, clusters)
    say("4,000 cluster replicates", median_seconds(lambda: stats.estimate(values, clusters)), "s", 0.3)
    say("4,000 replicates without clusters", median_seconds(lambda: stats.estimate(values)), "s", 0.3)


def cache() -> None:
    """Reads from the reply cache, through the whole of `Model.chat`."""
    from factlab.models import Model, Reply
    from factlab.models.cache import Cache

    class Fixed:
        def identity(self):
            return {"model": "fixed"}

        def run(self, calls, on_reply):
            for i, _ in enumerate(calls):
                on_reply(i, Reply("x" * 600, "stop", 50, 150, "fixed"))

    with tempfile.TemporaryDirectory() as folder:
        store = Cache(Path(folder) / "replies.sqlite")
        model = Model("fixed", Fixed(), mode="cache", cache=store)
        prompts = [
            f"Question number {i} about a subject of some length, to be answered in full?" for i in range(20_000)
        ]
        began = time.perf_counter()
        model.chat(prompts, progress=False)
        print(f"     (written: {20_000 / (time.perf_counter() - began):,.0f} replies a second)")
        seconds = median_seconds(lambda: model.chat(prompts, progress=False))
        say("cached replies", 20_000 / seconds, "a second", 20_000, at_most=False)


def generation() -> None:
    """Our batches against `generate` called for one prompt after the other, on the built-in model, in one run."""
    import torch

    from factlab import models, places, sources
    from factlab.models import Model
    from factlab.models.cache import Cache

    questions = sources.read_questions(places.samples("dahl", "questions.csv"))["question"].tolist()[:24]
    backend = models.load("local/smollm2").backend
    model = Model("local/smollm2", backend, mode="live", cache=Cache(None))
    model.chat(questions[:2], max_tokens=8, progress=False)

    def batched():
        return model.chat(questions, temperature=0.6, max_tokens=96, progress=False)

    def one_by_one():
        for q in questions:
            text = backend._tokenizer.apply_chat_template(
                [{"role": "user", "content": q}], tokenize=False, add_generation_prompt=True
            )
            ids = backend._tokenizer(text, return_tensors="pt", add_special_tokens=False)
            with torch.inference_mode():
                backend._model.generate(**ids, do_sample=True, temperature=0.6, max_new_tokens=96, pad_token_id=2)

    ours, theirs = median_seconds(batched, 3), median_seconds(one_by_one, 1)
    print(f"     ({ours:.1f} s in batches, {theirs:.1f} s one by one)")
    say("local generation against one-by-one", theirs / ours, "times", 3, at_most=False)


def grid() -> None:
    """Five temperatures in one batch against one temperature after the other, on the built-in model, in one run."""
    from factlab import models, places, sources
    from factlab.models import Model
    from factlab.models.cache import Cache

    questions = sources.read_questions(places.samples("dahl", "questions.csv"))["question"].tolist()[:12]
    temperatures = [0.1, 0.3, 0.6, 0.8, 1.0]
    model = Model("local/smollm2", models.load("local/smollm2").backend, mode="live", cache=Cache(None))
    model.chat(questions[:2], max_tokens=8, progress=False)

    def together():
        spread = [t for t in temperatures for _ in questions]
        return model.chat(questions * len(temperatures), temperature=spread, max_tokens=64, progress=False)

    def in_turn():
        return [model.chat(questions, temperature=t, max_tokens=64, progress=False) for t in temperatures]

    ours, theirs = median_seconds(together, 3), median_seconds(in_turn, 3)
    print(f"     ({ours:.1f} s in one batch, {theirs:.1f} s in turn)")
    say("a grid of temperatures in one batch", theirs / ours, "times", 1.1, at_most=False)


def samples() -> None:
    """Five samples of each of eight prompts with a context, read once and read five times, on the built-in model, in one run."""
    from factlab import models, places, sources
    from factlab.models import Model, prefill
    from factlab.models.cache import Cache

    items = sources.read_pubmedqa(places.samples("lext", "questions.csv")).head(8)
    prompts = [f"{context}\n{question}" for context, question in zip(items["context"], items["question"], strict=True)]
    model = Model("local/smollm2", models.load("local/smollm2").backend, mode="live", cache=Cache(None))
    model.chat(prompts[:2], max_tokens=8, progress=False)

    def ask():
        return model.chat(prompts, samples=5, temperature=0.6, max_tokens=48, progress=False)

    ours, layout = median_seconds(ask, 3), prefill.layout
    try:
        prefill.layout = lambda rows: prefill.Layout(0, (0,) * len(rows))
        theirs = median_seconds(ask, 3)
    finally:
        prefill.layout = layout
    print(f"     ({ours:.1f} s, and {theirs:.1f} s where every sample reads its prompt)")
    say("samples of one prompt that is read once", theirs / ours, "times", 1.3, at_most=False)


def similarity() -> None:
    """All pairs of 100 embeddings of 1,024 dimensions."""
    import numpy as np

    from factlab import stability

    vectors = np.random.default_rng(0).normal(size=(100, 1024)).astype(np.float32)
    stability.similarity(vectors)
    say("similarity, k = 100 x 1,024", 1000 * median_seconds(lambda: stability.similarity(vectors), 200), "ms", 1)


def demo() -> None:
    """DAHL's demos, as in `_demo`."""
    _demo("dahl", "DAHL whole", 480, 60)


def demo_reasons() -> None:
    """REASONS' demo, as in `_demo`."""
    _demo("reasons", "REASONS", 240, 40)


def demo_lext() -> None:
    """LExT's demo, as in `_demo`."""
    _demo("lext", "LExT", 360, 40)


def live_lext() -> None:
    """LExT's demo with nothing recorded: every stage of the eight items asked of SmolLM2."""
    _demo("lext", "LExT live", 360, 40, "live.yaml")


def demo_exam() -> None:
    """MS-Exam-Gen's demo, as in `_demo`."""
    _demo("ms_exam_gen", "MS-Exam-Gen", 300, 45)


def _demo(paper: str, name: str, first: float, again: float, pattern: str = "demo*.yaml") -> None:
    """A paper's demos (the params files of this pattern) and `factlab publish` in a copy of the checkout with an empty cache, then again from the cache."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "checkout"
        for part in ("notebooks", "params"):
            shutil.copytree(ROOT / part, copy / part)
        files = sorted(f"params/{paper}/{path.name}" for path in (ROOT / "params" / paper).glob(pattern))
        commands = [["factlab.cli", "run", *files], ["factlab.cli", "publish"]]

        def work(*more: str) -> float:
            began = time.perf_counter()
            for command in commands:
                extra = more if command[1] == "run" else ()
                subprocess.run([sys.executable, "-m", *command, *extra], check=True, cwd=copy, capture_output=True)
            return time.perf_counter() - began

        say(f"{name}, first run", work(), "s", first)
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e6
        print(f"     (largest process: {peak:.2f} GB)")
        say(f"{name} from the cache, every step run again", work("--force"), "s", again)
        say(f"{name} with every step done", work(), "s", again)


if __name__ == "__main__":
    from tests.benchmarks.attribution import scoring_answers
    from tests.benchmarks.baselines import bertscore, selfcheck
    from tests.benchmarks.embedding import embedding, stored
    from tests.benchmarks.exam import exam_audit, exam_bootstrap, exam_index, exam_probe
    from tests.benchmarks.perturb import abstracts, titles
    from tests.benchmarks.reranker import reranker

    own = (
        importing,
        scoring,
        bootstrap,
        cache,
        generation,
        grid,
        samples,
        similarity,
        embedding,
        stored,
        bertscore,
        selfcheck,
        scoring_answers,
        titles,
        abstracts,
        reranker,
        exam_audit,
        exam_bootstrap,
        exam_probe,
        exam_index,
        demo,
        demo_reasons,
        demo_lext,
        live_lext,
        demo_exam,
    )
    ALL = {f.__name__: f for f in own}
    chosen = sys.argv[1:] or list(ALL)
    unknown = [name for name in chosen if name not in ALL]
    if unknown:
        sys.exit(f"no benchmark called {', '.join(unknown)}; there are {', '.join(ALL)}")
    if len(chosen) == 1:
        ALL[chosen[0]]()
    else:
        # Each in a process of its own, so that no peak of memory or warm cache carries over.
        for name in chosen:
            subprocess.run([sys.executable, "-m", "tests.benchmarks", name], check=True, cwd=ROOT)
