"""What became of the answers when metadata were swapped (40_adversarial_swaps): kept, followed, passed; Table 3 of REASONS in kind.

Section 7 of the paper reports four averages for each model. They do not tell a model that keeps its answer from one that follows the
swap, so each answer is sorted first, and every change is measured against the same sentence with its true record.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from factlab import attribution, stats
from factlab.studies.reasons import query

if TYPE_CHECKING:
    import pandas as pd

OUTCOMES = ("right", "keeps", "follows", "passes", "other", "unreadable", "error")
MEASURES = ("right", "passes", "names the other work")


def outcome(answers: pd.DataFrame, base: pd.DataFrame, conditions: pd.DataFrame) -> pd.DataFrame:
    """Each answer as one thing: did the model see through the swap, stand by its answer, or take what it was shown?

    Parameters
    ----------
    answers : from `adversarial.ask`; of the condition `none` too, if it shall stand beside the others.
    base : those of the condition `none`, one an item; an item without one cannot keep its answer.
    conditions : from `adversarial.conditions`.

    Returns
    -------
    DataFrame, one row an answer in order: item_id, domain, source_id, condition, field, kind, strength, similarity, holds_gold, predicted,
    gold, other_title, base_predicted, base_status ('missing' where there is no base), outcome, and kept, followed, followed_before (below).

    outcome is the first of these that applies:

    error
        The call failed.
    unreadable
        Cut off, several titles, no title at all, or no gold title to compare with.
    passes
        The model names nothing.
    right
        The cited work (`attribution.same_title`), also where it was right without the swap: the swap did no harm.
    keeps
        Not right, and the same title as without the swap: the swap changed nothing.
    follows
        The work whose metadata, sentences or words were put in. An answer that named this work without the swap already is `keeps`.
    other
        A third work. Under `none` every wrong answer is one, since there is nothing to keep or follow.

    kept
        Whether the answer is the same as without the swap, right or wrong; two passes are the same. Missing under `none` and where one
        of the two is unreadable or missing.
    followed, followed_before
        Whether the answer names the other work with the swap and without it (what chance and the sentence alone do). Missing under
        `none`, where unreadable, and where the base is.

    Raises
    ------
    ValueError : an answer to a condition that is not in `conditions`, or two bases of one item.
    """
    import pandas as pd

    if base["item_id"].duplicated().any():
        raise ValueError(
            f"item {base['item_id'][base['item_id'].duplicated()].iloc[0]!r} has several answers without a swap"
        )
    given = conditions[["item_id", "condition", "field", "kind", "strength", "similarity", "other_title"]]
    kept = ["item_id", "domain", "source_id", "condition", "holds_gold", "predicted", "gold", "status"]
    table = (
        answers[kept]
        .reset_index(drop=True)
        .merge(given, on=["item_id", "condition"], how="left", validate="many_to_one")
    )
    if (lost := table["kind"].isna()).any():
        row = table[lost].iloc[0]
        raise ValueError(
            f"an answer of {row['item_id']!r} under {row['condition']!r}, which is not among the conditions"
        )
    before = base.set_index("item_id")
    table["base_predicted"] = (
        table["item_id"].map(before["predicted"].to_dict().get).astype(object).fillna("").astype("str")
    )
    table["base_status"] = (
        table["item_id"].map(before["status"].to_dict().get).astype(object).fillna("missing").astype("str")
    )
    judged = pd.DataFrame(
        [_judge(row) for row in table.itertuples()],
        columns=["outcome", "kept", "followed", "followed_before"],
        index=table.index,
    ).astype({"outcome": "str", "kept": "boolean", "followed": "boolean", "followed_before": "boolean"})
    first = ["item_id", "domain", "source_id", "condition", "field", "kind", "strength", "similarity", "holds_gold"]
    texts = ["predicted", "gold", "other_title", "base_predicted", "base_status"]
    return table[[*first, *texts]].join(judged)


def _judge(row) -> tuple[str, bool | None, bool | None, bool | None]:
    named, told = row.status == "scored", row.status in ("scored", "refused")
    named_before, told_before = row.base_status == "scored", row.base_status in ("scored", "refused")
    swapped = row.kind != "none"
    same = (
        attribution.same_title(row.predicted, row.base_predicted) if named and named_before else named == named_before
    )
    followed = named and attribution.same_title(row.predicted, row.other_title)
    if row.status == "error":
        what = "error"
    elif not told:
        what = "unreadable"
    elif not named:
        what = "passes"
    elif attribution.same_title(row.predicted, row.gold):
        what = "right"
    elif swapped and named_before and same:
        what = "keeps"
    elif swapped and followed:
        what = "follows"
    else:
        what = "other"
    before = named_before and attribution.same_title(row.base_predicted, row.other_title)
    return (
        what,
        same if swapped and told and told_before else None,
        followed if swapped and told else None,
        before if swapped and told_before else None,
    )


def shares(outcomes: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """How often each outcome came under each condition, as `figures.outcomes_by_swap` draws it.

    Returns
    -------
    DataFrame : condition, the counts of `OUTCOMES` by name, n (answers: all but failed calls), kept (share of the answers that are the same
    as without the swap, of those that can be compared; missing for `none`), follows_low, follows_high (95 % interval of follows / n, source
    papers resampled; missing for `none` and where there is none).
    """
    import pandas as pd

    order = list(dict.fromkeys(outcomes["condition"]))
    counted = pd.crosstab(outcomes["condition"], outcomes["outcome"])
    counted = counted.reindex(index=order, columns=list(OUTCOMES), fill_value=0).astype(int)
    counted = counted.rename_axis(index="condition", columns=None)
    counted["n"] = counted.drop(columns="error").sum(axis=1)
    counted["kept"] = outcomes.groupby("condition")["kept"].mean().astype("Float64")
    found = [follow_share(outcomes, condition, seed) for condition in order]
    for end in ("low", "high"):
        counted[f"follows_{end}"] = pd.array([getattr(one, end) if one else None for one in found], dtype="Float64")
    return counted.reset_index()


def follow_share(outcomes: pd.DataFrame, condition: str, seed: int = 0) -> stats.Estimate | None:
    """Share of the answers under a condition that follow the swap; None for `none` and where nothing was asked."""
    group = outcomes[(outcomes["condition"] == condition) & (outcomes["outcome"] != "error")]
    if condition == "none" or not len(group):
        return None
    failed = int(((outcomes["condition"] == condition) & (outcomes["outcome"] == "error")).sum())
    values = group["outcome"].eq("follows").astype(float).tolist()
    return stats.estimate(
        values,
        group["source_id"].tolist(),
        seed=seed,
        unit="answers",
        counts={"error": failed},
        name="follows",
        parts={"swap": condition},
    )


def headline(outcomes: pd.DataFrame, seed: int = 0) -> stats.Estimate | None:
    """The share that follows a swapped title: by the published rule where ten could be made, else by the nearest; None for neither."""
    sizes = outcomes["condition"].value_counts()
    names = [c for c in ("title", "title_nearest", "title_embedding") if sizes.get(c, 0) >= 10]
    return follow_share(outcomes, names[0], seed) if names else None


def reading(outcomes: pd.DataFrame, conditions: pd.DataFrame, records: pd.DataFrame) -> pd.DataFrame:
    """One answer of each outcome to read, where a title or an abstract was swapped whole if there is one.

    Returns
    -------
    DataFrame : outcome, condition, sentence, shown (the text that stands in for the true one), cited (the work's title), before and answer (the
    answers without the swap and with it; 'pass', or '' where unreadable).
    """
    import pandas as pd

    shown = {}
    for row in conditions[conditions["field"] != ""].to_dict("records"):
        shown[row["item_id"], row["condition"]] = row[f"shown_{row['field']}"]
    sentences = records.set_index("item_id")["sentence"]
    swapped = outcomes[outcomes["kind"] != "none"].sort_values("strength", ascending=False, kind="stable")
    rows = []
    for name in OUTCOMES:
        for row in swapped[swapped["outcome"] == name].head(1).itertuples():
            before = "pass" if row.base_status == "refused" else row.base_predicted
            answer = "pass" if name == "passes" else row.predicted
            text = shown[row.item_id, row.condition]
            rows.append((name, row.condition, sentences[row.item_id], text, row.gold, before, answer))
    return pd.DataFrame(rows, columns=["outcome", "condition", "sentence", "shown", "cited", "before", "answer"])


def table3(answers: pd.DataFrame, variant: str = "released", seed: int = 0, replicates: int = 1000) -> pd.DataFrame:
    """Pass percentage, BLEU-4, F1 and hallucination rate under each condition: the columns of Table 3, with intervals.

    Parameters
    ----------
    answers : from `adversarial.ask`.
    variant : 'released' (raw replies, passes left out of all but pp: what the printed numbers fit) or 'paper' (the formulas of section
        5.1, a pass scores 0).
    seed, replicates : of the bootstrap over source papers.

    Returns
    -------
    DataFrame, one row a condition in order: condition, variant, pp, bleu, f1, hr (each in [0, 1], missing where undefined) with `_low`
    and `_high`, n, answered, passed, left_out, outcomes, clusters, note, signature. The gold answer is the work that is really cited.
    """
    scored = query.score(answers, by=["condition"], variant=variant, seed=seed, replicates=replicates)
    order = list(dict.fromkeys(answers["condition"]))
    scored = scored[scored["condition"].isin(order)].drop_duplicates("condition")  # without Mean and SD over conditions
    scored = scored.set_index("condition").loc[order].reset_index().assign(variant=variant)
    measures = [f"{m}{end}" for m in ("pp", "bleu", "f1", "hr") for end in ("", "_low", "_high")]
    counts = ["n", "answered", "passed", "left_out", "outcomes", "clusters", "note", "signature"]
    return scored[["condition", "variant", *measures, *counts]]


def both_variants(answers: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """`table3` as released and, below it, by the formulas of the text."""
    import pandas as pd

    return pd.concat([table3(answers, variant, seed) for variant in ("released", "paper")], ignore_index=True)


def answered_by(answers: pd.DataFrame, subject: str) -> str:
    """The model that answered: `subject`, or, where replies were recorded, who wrote them ('recorded local/smollm2')."""
    if subject != "recorded":
        return subject
    wrote = sorted(
        {m for m, status in zip(answers["model"], answers["status"], strict=True) if m and status != "error"}
    )
    return f"recorded {', '.join(m for m in wrote if m != 'recorded')}".strip()


def by_gold(answers: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """Scores of the swapped prompts split by whether the prompt still holds the cited title (text variant of `query.score`).

    Returns
    -------
    DataFrame : prompt ('holds the title' or 'does not'), right (share of answers and passes), pp, f1, hr, n. Without `none`, whose
    prompts all hold it.
    """
    import pandas as pd

    swapped = answers[answers["condition"] != "none"]
    if not len(swapped):
        return pd.DataFrame(columns=["prompt", "right", "pp", "f1", "hr", "n"])
    swapped = swapped.assign(prompt=np.where(swapped["holds_gold"], "holds the title", "does not"))
    found = query.score(swapped, by=["prompt"], seed=seed)
    found = found[found["prompt"].isin(["holds the title", "does not"])]
    return found.assign(right=1 - found["not_exact"])[["prompt", "right", "pp", "f1", "hr", "n"]].reset_index(drop=True)


def changes(outcomes: pd.DataFrame, seed: int = 0, replicates: int = 4000) -> pd.DataFrame:
    """What each swap changes, sentence by sentence, against the true record.

    Parameters
    ----------
    outcomes : from `outcome`, the condition `none` among them.

    Returns
    -------
    DataFrame, one row a measure and condition: measure ('right': share that names the cited work; 'passes'; 'names the other work'), condition,
    with_swap, without (means over the same items), difference, low, high (95 %, source papers resampled), p (sign flips of source papers),
    p_holm (over the conditions of a measure), n, clusters, left_out (an answer unreadable, or without its counterpart), reason (why not
    tested). No rows without `none`.
    """
    import pandas as pd

    values = _values(outcomes)
    none = values[values["condition"] == "none"].set_index("item_id")
    rows = []
    for measure in MEASURES if len(none) else ():
        for condition, group in values[values["condition"] != "none"].groupby("condition", sort=False):
            known = group["item_id"].map(none[measure])
            without = group["followed_before"] if measure == "names the other work" else known
            found = stats.compare(
                group[measure].tolist(), without.tolist(), group["source_id"].tolist(), replicates, seed
            ).iloc[0]
            row = {"measure": measure, "condition": condition, "with_swap": found["mean_a"], "without": found["mean_b"]}
            rows.append(
                row | {c: found[c] for c in ("difference", "low", "high", "p", "n", "clusters", "left_out", "reason")}
            )
    columns = ["measure", "condition", "with_swap", "without", "difference", "low", "high", "p", "p_holm"]
    columns += ["n", "clusters", "left_out", "reason"]
    table = pd.DataFrame(rows, columns=columns)
    for _, group in table.groupby("measure"):
        table.loc[group.index, "p_holm"] = stats.holm(group["p"])
    floats = dict.fromkeys(["with_swap", "without", "difference", "low", "high", "p", "p_holm"], "Float64")
    return table.astype(floats | dict.fromkeys(["n", "clusters", "left_out"], "Int64"))


def _values(outcomes: pd.DataFrame) -> pd.DataFrame:
    """Outcomes as 0 and 1, missing where there is neither an answer nor a pass."""
    told = ~outcomes["outcome"].isin(["unreadable", "error"])
    return outcomes.assign(
        right=outcomes["outcome"].eq("right").astype("Float64").where(told),
        passes=outcomes["outcome"].eq("passes").astype("Float64").where(told),
        followed_before=outcomes["followed_before"].astype("Float64"),
        **{"names the other work": outcomes["followed"].astype("Float64")},
    )


def beside(table: pd.DataFrame, printed: pd.DataFrame, subject: str) -> pd.DataFrame:
    """Table 3 as printed, and the conditions of a run that are of its kind, in its units.

    Parameters
    ----------
    table : from `table3` or `both_variants`, of which the rows 'released' stand beside the printed ones.
    printed : `published/reasons/table3.csv`: changed ('title' or 'abstract'), model, pp and hr in %, bleu and f1 in [0, 1].
    subject : the run's model.

    Returns
    -------
    DataFrame : changed, condition ('as printed' or the run's), model, pp (%), bleu, f1, hr (%), n (missing where printed).
    """
    import pandas as pd

    whole = ["title", "title_nearest", "title_embedding", "abstract", "abstract_nearest", "abstract_embedding"]
    mine = table[table["condition"].isin(whole) & (table["variant"] == "released")]
    mine = mine.assign(
        changed=mine["condition"].str.split("_").str[0], model=subject, pp=100 * mine["pp"], hr=100 * mine["hr"]
    )
    columns = ["changed", "condition", "model", "pp", "bleu", "f1", "hr", "n"]
    both = pd.concat([printed.assign(condition="as printed", n=pd.NA).reindex(columns=columns), mine[columns]])
    floats = dict.fromkeys(["pp", "bleu", "f1", "hr"], "Float64")
    return (
        both.astype(floats | {"n": "Int64"})
        .sort_values("changed", ascending=False, kind="stable")
        .reset_index(drop=True)
    )


def comparability(counts: pd.DataFrame, subject: str, threshold: float) -> str:
    """In words, what keeps a run's numbers from standing beside the printed ones.

    Parameters
    ----------
    counts : from `adversarial.could_be_made`.
    """
    made = counts.set_index("condition")["made"]
    asked = int(counts["records"].max()) if len(counts) else 0
    swapped = " and ".join(f"{made[c]} of {asked} {c}s" for c in ("title", "abstract") if c in made)
    reached = (
        f"Here {swapped} have another one at {threshold:.2f} or above"
        if swapped
        else "Here nothing was swapped by the threshold"
    )
    return (
        f"Not comparable with the printed numbers, only of their kind: here {asked} sentences and {subject}; there 200 sentences in the text, "
        "while every printed pass percentage is a count out of 159. The paper prints no prompt for this experiment, so the wording is ours. "
        f"{reached}; in the file that the authors released 4 of 159 titles and no abstract do, so the printed swaps cannot have been made from "
        "that file by that rule alone."
    )


def warnings(counts: pd.DataFrame, outcomes: pd.DataFrame, subject: str = "") -> list[str]:
    """What a reader should distrust, from the numbers of the run.

    Parameters
    ----------
    counts : from `adversarial.could_be_made`; outcomes : from `outcome`; subject : the model's name.
    """
    notes = []
    table = shares(outcomes).set_index("condition")
    made = counts.set_index("condition")
    none = [c for c in made.index if made.loc[c, "made"] == 0]
    if none:
        notes.append(
            "Could not be made at all: "
            + "; ".join(f"{c} ({made.loc[c, 'why_not'] or 'no records'})" for c in none)
            + "."
        )
    held = outcomes.groupby("condition")["holds_gold"].mean()
    open_book = [c for c in held.index if held[c] == 1 and c != "none"]
    if open_book:
        notes.append(
            f"Under {', '.join(c for c in table.index if c in open_book)}, as without a swap, every prompt holds the cited title: a model that copies the title it is shown "
            "is right there without knowing anything, and a pass is the only sign that it noticed something."
        )
    if "none" in table.index:
        right, passed, other = table.loc["none", ["right", "passes", "other"]].astype(int)
        told = right + passed + other
        if told and right / told < 0.5:
            notes.append(
                f"With the true record before it the model is right in {right} of {told} cases only: what a swap takes away from so "
                "little says little about what swaps do."
            )
    lost = int(table[["unreadable", "error"]].sum().sum())
    if lost:
        notes.append(
            f"{lost} of {len(outcomes)} answers could not be read or failed; they are in no score but Table 3's, which takes replies as they stand under the released variant."
        )
    small = [c for c in table.index if 0 < table.loc[c, "n"] < 10]
    if small:
        notes.append(f"Fewer than ten answers under {', '.join(small)}: described, not tested.")
    near = made["similarity"].get("title_nearest")
    if near is not None and near == near and near < 0.7:
        notes.append(
            f"The nearest titles are not near: {near:.2f} on average, where the paper asks for 0.70. A swap that far off is easier to see through."
        )
    if "local/smollm2" in subject:
        notes.append(
            "The built-in model of 135 million parameters shows that the method runs; it knows hardly any paper."
        )
    return notes


def summary(outcomes: pd.DataFrame) -> str:
    """The result in one line: what became of the answers under the swaps of whole titles and abstracts."""
    table = shares(outcomes)
    parts = []
    for field in ("title", "abstract"):
        for row in table[table["condition"].isin([field, f"{field}_nearest"]) & (table["n"] > 0)].to_dict("records"):
            said = ", ".join(f"{row[name]} {_VERBS[name]}" for name in OUTCOMES if row[name])
            parts.append(f"{row['condition'].replace('_', ' ')} (n = {row['n']}): {said}")
    return "; ".join(parts) or "no swap could be made"


_VERBS = {
    "right": "right", "keeps": "kept", "follows": "followed", "passes": "passed", "other": "named a third work",
    "unreadable": "unreadable", "error": "failed",
}  # fmt: skip
