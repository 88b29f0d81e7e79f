"""A generator trained on citations (35_generator): REASONS, section 4.1, where the model of the advanced retrieval learns by cross-entropy
to give the cited paper for a sentence and what a search found for it.

Records go in. Pairs of prompt and title from some source papers train the model; sentences from other source papers, of which it has seen
none, are asked before and after, and the two are compared pair by pair.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from factlab import attribution, stats
from factlab.attribution.forms import squeezed
from factlab.retrieval import dense_search
from factlab.stats import resampling
from factlab.studies.reasons import query, retrieval

if TYPE_CHECKING:
    import pandas as pd

    from factlab.models import Model
    from factlab.models.finetune import Finetuned

Embed = Callable[[Sequence[str]], np.ndarray]
METRICS = {"hr": "hallucination rate", "f1": "F1", "bleu": "BLEU-4", "pp": "pass percentage", "exact": "exactly right"}
_MUCH = 0.95  # share of replicates that must have a value for an interval


# -- what is trained on and what is asked -----------------------------------------------------------------------------


def held_out_papers(records: pd.DataFrame, share: float = 0.3, seed: int = 0) -> list[str]:
    """Source papers kept for testing: those that `retrieval.split` keeps, so that one split serves the search and the generator.

    Raises
    ------
    ValueError : the share is out of range, or there are too few source papers to split.
    """
    found = retrieval.corpus(records)
    part, _ = retrieval.split(records, found, share, seed)
    return sorted(set(records.loc[retrieval.held_out(found, part), "source_id"]))


def retrieve(records: pd.DataFrame, encode: Embed, k: int = 2) -> tuple[list[list[str]], list[int]]:
    """The works nearest to each sentence, by the dot product of their vectors (section 4.1; two in the naive setting of Table 4).

    Parameters
    ----------
    encode : texts to (n, d) vectors of length 1.
    k : works for a sentence.

    Returns
    -------
    (passages, ranks) : for each record the texts from the nearest on; the rank of its cited work, from 1, 0 where it is not found.
    """
    found = retrieval.corpus(records)
    asked, texts = found.queries["sentence"].tolist(), found.works["text"].tolist()
    vectors = encode(asked + texts)
    dense = dense_search(vectors[: len(asked)], vectors[len(asked) :], k)
    rank = dict(zip(zip(dense["query"], dense["passage"], strict=True), dense["rank"], strict=True))
    ranks = [int(rank.get(pair, 0)) for pair in zip(found.query_of, found.passage_of, strict=True)]
    return retrieval.shown(dense, found, k), ranks


def pairs(
    records: pd.DataFrame, mode: str, passages: Sequence[Sequence[str]] | None = None
) -> tuple[list[str], list[str], str | None]:
    """What a generator is shown and should say: the messages of `query.messages`, the cited titles, the system message."""
    asked, system = query.messages(records, mode, passages=passages if mode.endswith("_retrieved") else None)
    return asked, records["cited_title"].tolist(), system


def train(
    name: str,
    records: pd.DataFrame,
    held_out: Iterable[str],
    mode: str,
    passages: Sequence[Sequence[str]] | None = None,
    **settings: Any,
) -> Finetuned:
    """Train a model on the records of all source papers but those held out.

    Parameters
    ----------
    name : local/smollm2 or hf/<id or folder>.
    records : all of them; passages : for each what a search found, for the mode 'indirect_retrieved'.
    settings : of `models.finetune.finetune`, which checks once more that nothing held out is trained on.

    Raises
    ------
    ModelError : nothing is left to train on, or a setting cannot be used.
    """
    from factlab.models import finetune

    kept = set(held_out)
    rows = [i for i, source in enumerate(records["source_id"]) if source not in kept]
    shown = None if passages is None else [passages[i] for i in rows]
    prompts, targets, system = pairs(records.iloc[rows], mode, shown)
    groups = records["source_id"].iloc[rows].tolist()
    return finetune.finetune(name, prompts, targets, system=system, groups=groups, held_out=kept, **settings)


def tested(
    records: pd.DataFrame, held_out: Iterable[str], passages: Sequence[Sequence[str]] | None = None
) -> tuple[pd.DataFrame, list[Sequence[str]] | None]:
    """The records of held-out papers with what was found for them.

    Returns
    -------
    (records, passages) : the records with a column `work_seen`: 'yes' where another source paper, trained on, cites the same work.
    """
    kept = records["source_id"].isin(set(held_out))
    seen = set(records.loc[~kept, "cited_title"].map(squeezed))
    test = records[kept].assign(
        work_seen=["yes" if squeezed(t) in seen else "no" for t in records.loc[kept, "cited_title"]]
    )
    rows = np.flatnonzero(kept.to_numpy())
    return test.reset_index(drop=True), None if passages is None else [passages[i] for i in rows]


# -- before and after -------------------------------------------------------------------------------------------------


def ask_arms(
    arms: Mapping[str, Mapping[str, Model]],
    records: pd.DataFrame,
    held_out: Iterable[str],
    passages: Sequence[Sequence[str]] | None = None,
    **settings: Any,
) -> pd.DataFrame:
    """Ask the sentences of the held-out papers.

    Parameters
    ----------
    arms : {arm: {mode: model}}, e.g. before and after training.
    settings : of `query.ask`.

    Returns
    -------
    DataFrame : what `query.ask` returns, arms below each other, with the column `arm` in front.
    """
    import pandas as pd

    test, found = tested(records, held_out, passages)
    asked = []
    for arm, by_mode in arms.items():
        for mode, model in by_mode.items():
            shown = found if mode.endswith("_retrieved") else None
            asked.append(query.ask(model, test, mode, passages=shown, **settings))
            asked[-1].insert(0, "arm", arm)
    return pd.concat(asked, ignore_index=True)


def score_arms(answers: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """`query.score` of each mode and arm, one row each: `arm` ('indirect, before'), mode, then its measures."""
    import pandas as pd

    frames = []
    for (mode, arm), some in answers.groupby(["mode", "arm"], sort=False):
        frames.append(query.score(some, seed=seed))
        frames[-1].insert(0, "arm", f"{mode.replace('_', ' ')}, {arm}")
    return pd.concat(frames, ignore_index=True).sort_values("mode", kind="stable").reset_index(drop=True)


def compare_arms(answers: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """`paired` for each mode of what `ask_arms` returns, with the column `mode` in front."""
    import pandas as pd

    frames = []
    for mode, some in answers.groupby("mode", sort=False):
        frames.append(paired(*(some[some["arm"] == arm] for arm in ("before", "after")), seed=seed))
        frames[-1].insert(0, "mode", mode)
    return pd.concat(frames, ignore_index=True)


def paired(before: pd.DataFrame, after: pd.DataFrame, seed: int = 0, replicates: int = 2000) -> pd.DataFrame:
    """Each measure before and after training, and the difference with a paired interval.

    Parameters
    ----------
    before, after : as `query.ask` returns them, for the same records in the same order.
    seed, replicates : of the bootstrap over source papers.

    Returns
    -------
    DataFrame : measure, before, after, difference (after − before), low, high (95 %), n (sentences with an answer or a pass in both),
        left_out, papers, note. Shares in 0..1. A pass counts as in `attribution.score` with the policy "zero".

    Notes
    -----
    Percentile intervals with their percentiles moved outwards for few papers, as in `stats.resampling.mean_interval`; both parts
    of the hallucination rate are computed anew in each replicate, since their denominators differ.
    """
    import pandas as pd

    if before["item_id"].tolist() != after["item_id"].tolist():
        raise ValueError("before and after: not the same records in the same order")
    arms = [attribution.score_items(frame).reset_index(drop=True) for frame in (before, after)]
    kept = np.logical_and(*(arm["status"].isin(["scored", "refused"]).to_numpy() for arm in arms))
    columns = np.hstack([_additions(arm[kept]) for arm in arms]) if kept.any() else np.zeros((0, 12))
    codes, papers = resampling.cluster_codes(before["source_id"], kept)
    sums = resampling.cluster_sums(columns, codes)
    drawn = resampling.bootstrap_sums(sums, replicates, seed) if len(sums) else np.zeros((0, 12))
    now, then = (_measures(sums.sum(0, keepdims=True)[:, part]) for part in (slice(6), slice(6, 12)))
    spread_now, spread_then = (_measures(drawn[:, part]) for part in (slice(6), slice(6, 12)))
    rows = []
    for name, label in METRICS.items():
        row = {"measure": label, "before": now[name][0], "after": then[name][0]}
        row["difference"] = row["after"] - row["before"]
        low, high, note = _interval(spread_then[name] - spread_now[name], papers or 0)
        if math.isnan(row["difference"]):
            low, high, note = math.nan, math.nan, "no answer in one of the two" if kept.any() else "nothing to compare"
        rows.append(
            row
            | {
                "low": low,
                "high": high,
                "n": int(kept.sum()),
                "left_out": int((~kept).sum()),
                "papers": papers or 0,
                "note": note,
            }
        )
    table = pd.DataFrame(rows)
    numbers = ["before", "after", "difference", "low", "high"]
    for column in numbers:  # undefined is missing, not NaN
        table[column] = pd.array([None if math.isnan(v) else float(v) for v in table[column]], dtype="Float64")
    return table


def _additions(items: pd.DataFrame) -> np.ndarray:
    """(n, 6) what each query adds: to the wrong, the answers, their mismatch, F1, BLEU-4, and 1 for itself."""
    answered = (items["status"] == "scored").to_numpy(float)
    exact = items["exact"].fillna(False).to_numpy(float)
    parts = [items[name].fillna(0.0).to_numpy(float) for name in ("mismatch", "f1", "bleu")]
    return np.column_stack([1 - exact, answered, *parts, np.ones(len(items))])


def _measures(sums: np.ndarray) -> dict[str, np.ndarray]:
    wrong, answered, mismatch, f1, bleu, n = sums.T
    with np.errstate(divide="ignore", invalid="ignore"):
        return {
            "hr": (wrong / n + mismatch / answered) / 2,
            "f1": f1 / n,
            "bleu": bleu / n,
            "pp": 1 - answered / n,
            "exact": 1 - wrong / n,
        }


def _interval(differences: np.ndarray, papers: int) -> tuple[float, float, str]:
    from scipy.stats import norm, t

    if papers < resampling.FEWEST:
        return math.nan, math.nan, f"no interval: {papers} source papers, {resampling.FEWEST} needed"
    defined = differences[np.isfinite(differences)]
    if len(defined) < _MUCH * len(differences):
        return math.nan, math.nan, "no interval: too few answers"
    if np.ptp(defined) <= 1e-12:
        return math.nan, math.nan, "no interval: the same difference whichever papers are drawn"
    reach = t.ppf(0.975, papers - 1) * math.sqrt(papers / (papers - 1))
    low, high = np.quantile(defined, norm.cdf([-reach, reach]))
    return float(low), float(high), ""


def title_losses(
    name: str,
    trained: Mapping[str, Finetuned],
    records: pd.DataFrame,
    held_out: Iterable[str],
    passages: Sequence[Sequence[str]] | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """How unlikely the right titles of held-out sentences are to the model, after and before each training.

    Parameters
    ----------
    name : of the model before; trained : {mode: what `train` returned}.

    Returns
    -------
    DataFrame : mode, then what `stats.compare` gives for the mean cross-entropy of a token of the title, in nats, clustered by source
        paper: mean_a after, mean_b before; a difference below 0 is nearer to the right title.
    """
    import pandas as pd

    from factlab.models import finetune

    test, found = tested(records, held_out, passages)
    frames = []
    for mode, result in trained.items():
        prompts, targets, system = pairs(test, mode, found)
        both = [finetune.target_losses(model, prompts, targets, system=system) for model in (result.name, name)]
        after, before = (np.array([math.nan if v is None else v for v in losses]) for losses in both)
        frames.append(stats.compare(after, before, clusters=test["source_id"].tolist(), seed=seed))
        frames[-1].insert(0, "mode", mode)
    return pd.concat(frames, ignore_index=True)


def examples(test: pd.DataFrame, answers: pd.DataFrame, mode: str, count: int = 5) -> pd.DataFrame:
    """Held-out sentences with the right title and the replies before and after, those first in which the F1 changed most.

    Parameters
    ----------
    test : from `tested`; answers : from `ask_arms`.
    """
    import pandas as pd

    before, after = (answers[(answers["mode"] == mode) & (answers["arm"] == arm)] for arm in ("before", "after"))
    f1 = [attribution.score_items(frame)["f1"].fillna(0.0).to_numpy(float) for frame in (before, after)]
    order = np.argsort(-np.abs(f1[1] - f1[0]), kind="stable")[:count]
    shown = {
        "sentence": test["sentence"],
        "cited title": test["cited_title"],
        "before": before["reply"],
        "after": after["reply"],
    }
    return pd.DataFrame({name: list(values) for name, values in shown.items()}).iloc[order].reset_index(drop=True)


# -- tables and words -------------------------------------------------------------------------------------------------


def split_table(records: pd.DataFrame, held_out: Iterable[str]) -> pd.DataFrame:
    """Source papers, sentences and cited works on each side of the split, and how many works of one side the other cites too."""
    import pandas as pd

    kept = records["source_id"].isin(set(held_out))
    works = records["cited_title"].map(squeezed)
    shared = set(works[kept]) & set(works[~kept])
    sides = {"trained on": ~kept, "held out": kept}
    return pd.DataFrame(
        [
            {
                "side": side,
                "source papers": records.loc[rows, "source_id"].nunique(),
                "sentences": int(rows.sum()),
                "cited works": works[rows].nunique(),
                "sentences citing a work that both sides cite": int(works[rows].isin(shared).sum()),
            }
            for side, rows in sides.items()
        ]
    )


def found_table(records: pd.DataFrame, held_out: Iterable[str], ranks: Sequence[int], k: int) -> pd.DataFrame:
    """For how many sentences of each side the cited work is first, or among the k works found."""
    import pandas as pd

    kept, ranked = records["source_id"].isin(set(held_out)).to_numpy(), np.asarray(ranks)
    rows = [
        {
            "side": side,
            "sentences": int(own.sum()),
            "cited work first": int((ranked[own] == 1).sum()),
            f"among {k}": int((ranked[own] > 0).sum()),
        }
        for side, own in (("trained on", ~kept), ("held out", kept))
    ]
    return pd.DataFrame(rows)


def loss_table(trained: Mapping[str, Finetuned]) -> pd.DataFrame:
    """The loss of every step of every training: mode, step, epoch, loss, tokens."""
    import pandas as pd

    return pd.concat([result.losses.assign(mode=mode) for mode, result in trained.items()], ignore_index=True)[
        ["mode", "step", "epoch", "loss", "tokens"]
    ]


def summary(compared: pd.DataFrame, measure: str = "F1") -> str:
    """What became of one measure in each mode, in words that follow from its interval."""
    import pandas as pd

    said = []
    for row in compared[compared["measure"] == measure].to_dict("records"):
        mode = row["mode"].replace("_", " ")
        if pd.isna(row["difference"]):
            said.append(f"{mode}: {row['note']}")
            continue
        numbers = f"{row['before']:.2f} before, {row['after']:.2f} after"
        if pd.isna(row["low"]):
            said.append(f"{mode}: {numbers} ({row['note']})")
            continue
        way = "higher" if row["low"] > 0 else "lower" if row["high"] < 0 else "no change beyond chance"
        said.append(
            f"{mode}: {numbers}, {way} (difference {row['difference']:+.2f} [{row['low']:+.2f}, {row['high']:+.2f}])"
        )
    return f"{measure} on held-out sentences. " + "; ".join(said)


def generator_warnings(
    test: pd.DataFrame,
    compared: pd.DataFrame,
    trained: Mapping[str, Finetuned],
    records: pd.DataFrame,
    ranks: Sequence[int],
    subject: str,
) -> list[str]:
    """What to distrust, from the numbers.

    Parameters
    ----------
    test : from `tested`; compared : from `compare_arms`; ranks : from `retrieve`, for all records.
    """
    pairs_each = max(result.pairs for result in trained.values())
    notes = [
        f"{pairs_each} pairs were trained on and {len(test)} sentences of {test['source_id'].nunique()} source papers asked: one "
        "training with one seed, whose luck the intervals do not hold."
    ]
    seen = int((test["work_seen"] == "yes").sum())
    if seen:
        notes.append(f"Held-out sentences that cite a work whose title was trained on: {seen} of {len(test)}.")
    too_long = {mode: result.too_long for mode, result in trained.items() if result.too_long}
    notes += [
        f"{n} pairs do not fit the model's window and were not trained on ({mode})." for mode, n in too_long.items()
    ]
    for mode, some in compared.groupby("mode", sort=False):
        left = int(some["left_out"].iloc[0])
        if left:
            notes.append(f"{mode}: {left} sentences have no readable answer before or after, and are not compared.")
        passes = some[some["measure"] == METRICS["pp"]].iloc[0]
        if passes["before"] > passes["after"]:
            notes.append(f"{mode}: the model passes less than before. No training pair shows it a pass.")
    if any(mode.endswith("_retrieved") for mode in trained):
        own = set(test["item_id"])
        ranked = [rank for rank, item in zip(ranks, records["item_id"], strict=True) if item in own]
        notes.append(
            f"Whoever named the first document found, and read nothing, would be right for {ranked.count(1)} of {len(test)} held-out "
            "sentences: what training gives beyond copying a title, these scores do not show."
        )
        notes.append(
            f"The cited work is not among what was found for {ranked.count(0)} of {len(test)} held-out sentences. In training the right "
            "title is wanted in such cases too, which teaches a model to name what it was not shown. The search looks through the "
            "works that these records cite, which is easier than a library."
        )
    if subject == "local/smollm2":
        notes.append(
            "SmolLM2 has 135 million parameters, the published generators 7 and 8 billion: this shows the method."
        )
    return notes
