"""What a person should look at first (80_review_queues): keys that most of a panel disagrees with, with the audit's flags beside.

MS-Exam-Gen, sections III.D and V. Queues are those of `exam.key_risk`. A queue says where to look, not that a key is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from factlab import exam
from factlab.exam import Item
from factlab.stats.resampling import FEW

if TYPE_CHECKING:
    import pandas as pd

    from factlab.runs import Workspace

QUEUES = {
    "majority": "more than the share of the panel chose another option than the key",
    "non_key": "more than the share chose one and the same other option",
}


def flags_of(run: Workspace, items: Sequence[Item]) -> pd.DataFrame:
    """The audit's flags of the bank's items: the table `flags` of the run, else a fresh audit without passages and embeddings.

    Returns
    -------
    DataFrame : item_id, group, flag, detail.
    """
    ids = [item.id for item in items]
    table = run.read("flags") if run.has("flags") else exam.audit(items)
    return table.loc[table["item_id"].isin(ids), ["item_id", "group", "flag", "detail"]].reset_index(drop=True)


def queue_table(
    risk: pd.DataFrame, items: Sequence[Item], flags: pd.DataFrame, discrimination: pd.DataFrame
) -> pd.DataFrame:
    """Every item with its votes, its queues, its flags and its words, what is to be looked at first on top.

    Parameters
    ----------
    risk : from `exam.key_risk`.
    items : the bank.
    flags : from `flags_of`.
    discrimination : from `exam.discrimination`.

    Returns
    -------
    DataFrame
        The columns of `risk`, then queue (`non_key`, `majority` or empty: the stricter one that the item is in), flags (in words, `; `
        between), cue_flags (those of the groups cue and phrasing alone), discrimination, question, key_text, top_wrong_text, mark, own_id.
    """
    by_id = {item.id: item for item in items}

    def listed(groups: Sequence[str] | None) -> Mapping[str, str]:
        kept = flags if groups is None else flags[flags["group"].isin(list(groups))]
        return {
            i: "; ".join(dict.fromkeys(f.replace("_", " ") for f in own)) for i, own in kept.groupby("item_id")["flag"]
        }

    def text(item_id: str, letter: Any) -> str:
        item = by_id[item_id]
        return item.options[item.letters.index(letter)] if isinstance(letter, str) and letter in item.letters else ""

    table = risk.copy()
    table["queue"] = np.where(risk["non_key"], "non_key", np.where(risk["majority"], "majority", ""))
    every, cues = listed(None), listed(["cue", "phrasing"])
    table["flags"] = [every.get(i, "") for i in risk["item_id"]]
    table["cue_flags"] = [cues.get(i, "") for i in risk["item_id"]]
    table["discrimination"] = (
        risk["item_id"].map(discrimination.set_index("item_id")["discrimination"]).astype("Float64")
    )
    table["question"] = [by_id[i].question for i in risk["item_id"]]
    table["key_text"] = [text(i, k) for i, k in zip(risk["item_id"], risk["key"], strict=True)]
    table["top_wrong_text"] = [text(i, w) for i, w in zip(risk["item_id"], risk["top_wrong"], strict=True)]
    table["mark"] = [by_id[i].mark for i in risk["item_id"]]
    table["own_id"] = [by_id[i].own_id for i in risk["item_id"]]
    order = np.lexsort(
        [np.arange(len(table)), ~table["majority"].to_numpy(dtype=bool), ~table["non_key"].to_numpy(dtype=bool)]
    )
    return table.iloc[order].reset_index(drop=True)


def queue_sizes(queues: pd.DataFrame, share: float = 0.5) -> pd.DataFrame:
    """How many items each queue has, and how many would be there if the panel guessed.

    Parameters
    ----------
    queues : from `queue_table`.
    share : of the panel, as for `exam.key_risk`.

    Returns
    -------
    DataFrame : queue, what, items, share, by_guessing (items expected if each endpoint chose at random and for itself), flagged (items
    with any flag), of.
    """
    import pandas as pd

    rows = []
    for name, what in QUEUES.items():
        own = queues[queues[name].astype(bool)]
        expected = sum(_by_guessing(name, int(m), share) for m in queues["panel"])
        portion = len(own) / len(queues) if len(queues) else None
        rows.append((name, what, len(own), portion, expected, int((own["flags"] != "").sum()), len(queues)))
    return pd.DataFrame(rows, columns=["queue", "what", "items", "share", "by_guessing", "flagged", "of"])


def _by_guessing(queue: str, panel: int, share: float) -> float:
    """How likely an item is in a queue where every endpoint guesses by itself."""
    from scipy.stats import binom

    k = len(exam.LETTERS)
    most = int(share * panel + 1e-9)  # more than these put an item into the queue
    if queue == "majority":
        return float(binom.sf(most, panel, 1 - 1 / k))
    # Exact from a half on, where one wrong option above the share excludes another; below it an upper limit.
    return min(1.0, float((k - 1) * binom.sf(most, panel, 1 / k)))


def shown_sizes(sizes: pd.DataFrame) -> pd.DataFrame:
    """`queue_sizes` for reading: queue, takes an item where, items, share, if all guessed (items), with a flag of the audit."""
    import pandas as pd

    return pd.DataFrame(
        {
            "queue": sizes["queue"].str.replace("_", "-"),
            "takes an item where": sizes["what"],
            "items": [f"{r.items} of {r.of}" for r in sizes.itertuples()],
            "if all guessed": sizes["by_guessing"].round(1),
            "with a flag of the audit": sizes["flagged"],
        }
    )


def shown_queue(queues: pd.DataFrame) -> pd.DataFrame:
    """Items of a queue for reading: question, key and other option most chosen (each with letter, text, votes), flags of cues."""
    import pandas as pd

    def said(letter: str, text: str, votes: int) -> str:
        return f"{letter}: {text} ({votes})" if isinstance(letter, str) else "–"

    rows = [
        (r.question, said(r.key, r.key_text, r.votes_key), said(r.top_wrong, r.top_wrong_text, r.votes_top_wrong), r.cue_flags)
        for r in queues.itertuples()
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=["question", "key", "other option most chosen", "flags of cues"])


def favoured(queues: pd.DataFrame, queue: str, least: int = 5) -> tuple[str, int, int, int] | None:
    """The letter that the panel names instead of the key in more than half of a queue.

    Parameters
    ----------
    queues : from `queue_table`.
    queue : 'majority' or 'non_key'.
    least : items that the queue must have.

    Returns
    -------
    tuple : letter, items of the queue with it, items of the queue, items of the queue whose key is at that letter; None where no letter is named so
    often.
    """
    own = queues[queues[queue].astype(bool)]
    counts = own["top_wrong"].value_counts()
    if len(own) < least or not len(counts) or counts.iloc[0] <= len(own) / 2:
        return None
    letter = str(counts.index[0])
    return letter, int(counts.iloc[0]), len(own), int((own["key"] == letter).sum())


def letter_sentence(queues: pd.DataFrame, queue: str) -> str:
    """What `favoured` found, in words; a queue that is one letter shows where a panel likes to answer, not which keys are wrong."""
    name = queue.replace("_", "-")
    if (found := favoured(queues, queue)) is None:
        return f"No letter is the wrong option most named in more than half of the {name} queue."
    letter, named, size, keyed = found
    return (
        f"In {named} of the {size} items of the {name} queue the wrong option most named is {letter} (a quarter by chance); the key is {letter} in "
        f"{keyed or 'none'}. The queue shows that this panel favours {letter}, not that these keys are wrong."
    )


def flag_table(queues: pd.DataFrame) -> pd.DataFrame:
    """Whether flagged items are in the queues more often: flagged (yes, no), items, majority, non_key, missed (mean)."""
    kept = queues.assign(flagged=np.where(queues["flags"] != "", "yes", "no"))
    table = kept.groupby("flagged").agg(
        items=("item_id", "size"), majority=("majority", "sum"), non_key=("non_key", "sum"), missed=("missed", "mean")
    )
    return table.reset_index()


def sheet(queues: pd.DataFrame) -> str:
    """The queued items as a CSV file for a reviewer, with two empty columns to fill in: verdict and comment."""
    kept = queues[queues["majority"].astype(bool)]
    columns = [
        "item_id",
        "own_id",
        "queue",
        "topic",
        "label",
        "question",
        "key",
        "key_text",
        "top_wrong",
        "top_wrong_text",
        "votes_key",
    ]
    columns += ["votes_top_wrong", "panel", "flags"]
    return kept[columns].assign(verdict="", comment="").to_csv(index=False, lineterminator="\n")


def by_subset(without: pd.DataFrame) -> pd.DataFrame:
    """`exam.scores_without` for a figure: items_of becomes subset, in words."""
    return without.assign(subset=without["items_of"].str.replace("non_key", "non-key")).drop(columns="items_of")


def rank_change(without: pd.DataFrame) -> pd.DataFrame:
    """What leaving a queue out does to the order of endpoints.

    Parameters
    ----------
    without : from `exam.scores_without`.

    Returns
    -------
    DataFrame : items_of, n, lowest and highest (accuracy), range, spearman (of the scores with those on all items; missing where
    undefined), reason.
    """
    import pandas as pd

    from factlab import stats

    whole = without[without["items_of"] == "all"].set_index("endpoint")["value"]
    rows = []
    for name, own in without.groupby("items_of", sort=False):
        values = own.set_index("endpoint")["value"]
        n = int(own["n"].max()) if len(own) else 0
        if n == 0 or values.isna().all():
            rows.append((name, n, None, None, None, None, "no item is left"))
            continue
        if n < FEW:
            rows.append(
                (name, n, float(values.min()), float(values.max()), float(values.max() - values.min()), None, f"{n} item{'s' * (n != 1)} left: too few")
            )  # fmt: skip
            continue
        found = stats.correlation(whole, values.reindex(whole.index)).set_index("coefficient").loc["spearman"]
        rho = float(found["value"]) if found["status"] == "scored" else None
        reason = "" if rho is not None else str(found["reason"])
        rows.append(
            (name, n, float(values.min()), float(values.max()), float(values.max() - values.min()), rho, reason)
        )
    table = pd.DataFrame(rows, columns=["items_of", "n", "lowest", "highest", "range", "spearman", "reason"])
    return table.astype(dict.fromkeys(["lowest", "highest", "range", "spearman"], "Float64"))


def sentence(sizes: pd.DataFrame, queues: pd.DataFrame) -> str:
    """The queues in one line, and the letter that the stricter one is made of, if it is."""
    said = [f"{int(r.items)} of {int(r.of)} items ({r.by_guessing:.0f} if all guessed)" for r in sizes.itertuples()]
    if len(said) != 2:
        return "no queues"
    found = favoured(queues, "non_key")
    more = f"; in {found[1]} of these {found[2]} the panel names {found[0]}" if found else ""
    return f"majority queue {said[0]}, non-key queue {said[1]}{more}"


def warnings(sizes: pd.DataFrame, queues: pd.DataFrame, sat: pd.DataFrame, changes: pd.DataFrame) -> list[str]:
    """What to distrust about the queues.

    Parameters
    ----------
    sizes, queues : of `queue_sizes`, `queue_table`.
    sat : the table of endpoints.
    changes : from `rank_change`.
    """
    from factlab.studies.ms_exam_gen.endpoints import same_model

    notes = []
    letters = [letter_sentence(queues, queue) for queue in ("non_key", "majority") if favoured(queues, queue)][:1]
    majority = sizes.iloc[0]
    if majority["items"] <= majority["by_guessing"]:
        notes.append(
            f"A panel that guesses would put {majority['by_guessing']:.0f} of {int(majority['of'])} items into the majority queue; it holds "
            f"{int(majority['items'])}. It says little about keys here{'' if letters else '; the stricter queue and the flags say more'}."
        )
    notes += letters
    told = ~sat["scoring"].isin(["similarity", "longest"]) & ~sat["model"].isin(["", "recorded"])
    models = sat.loc[told, "model"].map(same_model)
    if len(models) and models.value_counts().iloc[0] > len(sat) / 2:
        notes.append(
            f"More than half of the panel is one model ({models.value_counts().index[0]}), so its habits alone can fill a queue."
        )
    for row in changes.dropna(subset="spearman").itertuples():
        if row.spearman < 0.8:
            notes.append(
                f"{row.items_of.replace('_', '-').capitalize()} ({row.n} items left) the endpoints stand in another order (rank correlation "
                f"{row.spearman:.2f}): the queue is made of what most of this panel misses, which favours whoever answers like most of it."
            )
    marked = queues[queues["mark"] != ""]
    if len(marked):
        rest = queues.loc[queues["mark"] == "", "majority"]
        easy = len(rest) and marked["majority"].mean() < rest.mean()
        notes.append(
            f"{int(marked['majority'].sum())} of the {len(marked)} items with a marked fault are in the majority queue, and {int(rest.sum())} of the "
            f"{len(rest)} others{': a fault that gives the key away makes an item easy, and no queue of misses finds it' if easy else ''}."
        )
    notes.append("The paper does not say what puts an item into its queues; the rules here are a reading.")
    return notes
