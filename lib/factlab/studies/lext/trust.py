"""LExT's scores of a run and the tables that show them (LExT, section 3.3; Tables 6, 7 and 14, Figure 6). Nothing here loads a model."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from factlab import explanation
from factlab.stats import resampling
from factlab.studies.lext import components
from factlab.studies.lext.calls import STAGES

if TYPE_CHECKING:
    import pandas as pd

    from factlab.explanation import Scores

NAMES = {
    "accuracy": "weighted accuracy", "relevancy": "context relevancy", "correctness": "correctness",
    "iterative": "iterative stability", "paraphrase": "paraphrase robustness", "consistency": "consistency",
    "plausibility": "plausibility", "qag": "QAG", "counterfactual": "counterfactual stability",
    "contextual": "contextual faithfulness", "faithfulness": "faithfulness", "trust": "LExT",
}  # fmt: skip
PLAUSIBILITY = ("accuracy", "relevancy", "correctness", "iterative", "paraphrase", "consistency", "plausibility")
FAITHFULNESS = ("qag", "counterfactual", "contextual", "faithfulness")
_MARK = "[REDACTED]"  # of `perturb.redact`
FORMS = {"pubmedqa": "PubMedQA form", "qpain": "Q-Pain form"}


def plausibility_scores(
    table: pd.DataFrame, variant: str = "paper", beta: float = explanation.plausible.BETA, **settings: Any
) -> Scores:
    """The metrics of plausibility alone, before anything is known about faithfulness."""
    found = explanation.score(
        table.drop(columns=["status", "reason"]), variant, beta, clusters=_clusters(table), **settings
    )
    return _only(found, PLAUSIBILITY)


def faithfulness_scores(
    table: pd.DataFrame, items: pd.DataFrame, labels: str = "rules", variant: str = "paper", **settings: Any
) -> Scores:
    """The metrics of faithfulness alone, without plausibility."""
    clusters = components.clusters_of(items)
    bare = joined(clusters.assign(status="", reason=""), table, labels)
    return _only(explanation.score(bare, variant, clusters=_clusters(clusters), **settings), FAITHFULNESS)


def _only(scores: Scores, metrics: Sequence[str]) -> Scores:
    """Scores whose reasons speak of these metrics alone; the others were not asked for."""
    reasons = scores.items["reasons"].map(
        lambda text: "; ".join(r for r in text.split("; ") if r.split(":")[0] in metrics)
    )
    return replace(scores, items=scores.items.assign(reasons=reasons))


def score(
    plausibility: pd.DataFrame,
    faithfulness: pd.DataFrame,
    labels: str = "rules",
    variant: str = "paper",
    beta: float = explanation.plausible.BETA,
    **settings: Any,
) -> Scores:
    """Every metric of every item and of the data set (`explanation.score`).

    Parameters
    ----------
    plausibility, faithfulness : from `plausibility_parts` and `faithfulness_parts`.
    labels : whose labels of the answers to redacted contexts count, 'rules' or 'judge'.
    variant, beta, settings : of `explanation.score`; vignettes are resampled whole.
    """
    return explanation.score(
        joined(plausibility, faithfulness, labels), variant, beta, clusters=_clusters(plausibility), **settings
    )


def _clusters(parts: pd.DataFrame) -> Any:
    return "cluster" if parts["cluster"].duplicated().any() else None


def joined(plausibility: pd.DataFrame, faithfulness: pd.DataFrame, labels: str = "rules") -> pd.DataFrame:
    """Both tables of parts as `explanation.score` wants them."""
    if labels not in ("rules", "judge"):
        raise ValueError(f"labels is {labels!r}; it can be 'rules' or 'judge'")
    judged = [c for c in faithfulness if c.startswith("judged_")]
    if labels == "judge":
        if not judged:
            raise ValueError(
                "labels is 'judge', but no judge labelled the answers; name one with judge=… or use 'rules'"
            )
        faithfulness = faithfulness.drop(columns=[c.removeprefix("judged_") for c in judged])
        faithfulness = faithfulness.rename(columns=lambda c: c.removeprefix("judged_"))
    else:
        faithfulness = faithfulness.drop(columns=judged)
    faithfulness = faithfulness.drop(columns=["status", "reason"])
    return plausibility.drop(columns=["status", "reason"]).merge(faithfulness, on="item_id")


def by_form(
    plausibility: pd.DataFrame, faithfulness: pd.DataFrame, parts: Mapping[str, Any] | None = None, **settings: Any
) -> dict[str, Scores]:
    """The scores of all items ('all') and, where there are both, of each form, as Tables 6 and 7 have them.

    Parameters
    ----------
    parts : of the signatures.
    settings : of `score`.
    """
    groups = {"all": plausibility}
    if plausibility["form"].nunique() > 1:
        groups |= {FORMS.get(form, form): group for form, group in plausibility.groupby("form", sort=False)}
    return {
        name: score(group, faithfulness, parts={**(parts or {}), "data": name}, **settings)
        for name, group in groups.items()
    }


def estimates(found: Mapping[str, Scores]) -> pd.DataFrame:
    """All estimates below each other: data, name (as the paper calls it), and the columns of `Scores.table`."""
    import pandas as pd

    frames = [scores.table().assign(data=name) for name, scores in found.items()]
    table = pd.concat(frames, ignore_index=True)
    table.insert(0, "name", table["metric"].map(NAMES))
    return table[["data", *[c for c in table if c != "data"]]]


def table6(table: pd.DataFrame) -> pd.DataFrame:
    """Plausibility, faithfulness and LExT (rows) of each data set (columns), with interval and n (Table 6 in kind)."""
    return _wide(table, ("plausibility", "faithfulness", "trust"))


def table7(table: pd.DataFrame) -> pd.DataFrame:
    """The five metrics behind them (Table 7 in kind)."""
    return _wide(table, ("correctness", "consistency", "qag", "counterfactual", "contextual"))


def _wide(table: pd.DataFrame, metrics: Sequence[str]) -> pd.DataFrame:
    kept = table[table["metric"].isin(metrics)]
    kept = kept.assign(short=[_short(row) for row in kept.to_dict("records")])
    wide = kept.pivot(index="metric", columns="data", values="short")
    wide = wide.reindex(index=list(metrics), columns=list(dict.fromkeys(table["data"]))).rename(index=NAMES)
    wide.columns.name = None
    return wide.rename_axis("score").rename(columns={"all": "all items"}).reset_index()


def _short(row: Mapping[str, Any]) -> str:
    """'0.41 [0.12, 0.60], n = 6', or 'undefined'."""
    import pandas as pd

    if pd.isna(row["value"]):
        return "undefined"
    ends = "" if pd.isna(row["low"]) else f" [{float(row['low']):.2f}, {float(row['high']):.2f}]"
    return f"{float(row['value']):.2f}{ends}, n = {int(row['n'])}"


def intervals_note(table: pd.DataFrame) -> str:
    """What the intervals of `estimates` are worth, or why there are none; '' where each is of enough items."""
    made = table[table["value"].notna()]
    bare, narrow = made["low"].isna(), made["reason"].str.contains("too narrow")
    exact = made["signature"].str.contains("interval:wilson", regex=False) & (made["n"] < resampling.FEW)
    few = bare & made["reason"].str.contains("too few")
    parts = [
        f"no interval where fewer than {resampling.FEWEST} items have a score" if few.any() else "",
        "none where all scores are the same" if (bare & ~few).any() else "",
        f"those of fewer than {resampling.FEW} items are likely too narrow" if narrow.any() else "",
        "those of scores that are 0 or 1 are Wilson's, which also hold for few items" if exact.any() else "",
    ]
    said = "; ".join(part for part in parts if part)
    return f"Intervals: {said}." if said else ""


def quadrant_table(found: Mapping[str, Scores], subject: str) -> pd.DataFrame:
    """Plausibility and faithfulness of each data set with their intervals, as `figures.quadrants` draws them (Figure 6)."""
    import pandas as pd

    rows = []
    for data, scores in found.items():
        p, f, t = (scores.estimates[m] for m in ("plausibility", "faithfulness", "trust"))
        ends = {
            f"{n}{end}": v
            for n, e in (("plausibility", p), ("faithfulness", f))
            for end, v in (("", e.value), ("_low", e.low), ("_high", e.high))
        }
        name = subject if data == "all" else f"{subject}, {data}"
        rows.append(
            {"model": name}
            | ends
            | {"n": t.n, "whose": "yours" if data == "all" else "", "reason": t.reason if t.value is None else ""}
        )
    return pd.DataFrame(rows)


def outcomes(scores: Mapping[str, Scores]) -> pd.DataFrame:
    """How many items have each metric, and why the others have none: metric, scored, missing, reasons (with counts)."""
    import pandas as pd

    items = scores["all"].items
    rows = []
    for metric, name in NAMES.items():
        gone = items[items[metric].isna()]
        why = [r.split(": ", 1)[1] for text in gone["reasons"] for r in text.split("; ") if r.startswith(f"{metric}: ")]
        counts = pd.Series(why, dtype="object").value_counts()
        rows.append(
            (name, len(items) - len(gone), len(gone), "; ".join(f"{n} × {reason}" for reason, n in counts.items()))
        )
    return pd.DataFrame(rows, columns=["metric", "scored", "missing", "reasons"])


def who(calls: pd.DataFrame, role: str) -> str:
    """Who was asked in a role ('subject', 'larger' or 'judge'), as the replies name it; 'nobody' where none is there."""
    from factlab.studies.lext import report

    return report.wrote(calls[[STAGES[stage].role == role for stage in calls["stage"]]])


def worked_item(items: pd.DataFrame) -> str:
    """The item to show whole (Table 14): of those with most metrics the one with the highest trust, or else plausibility."""
    metrics = items[list(NAMES)].notna().sum(axis=1)
    order = items.assign(have=metrics).sort_values(["have", "trust", "plausibility"], ascending=False, kind="stable")
    return str(order["item_id"].iloc[0])


def worked_facts(items: pd.DataFrame, item: str) -> pd.DataFrame:
    """What is known of one item, a line each: what, text."""
    import pandas as pd

    row = items.set_index("item_id").loc[item]
    names = {"question": "question", "context": "context", "label": "gold answer", "dose": "gold dose", "explanation": "expert's explanation"}  # fmt: skip
    found = [(name, str(row[column])) for column, name in names.items() if not pd.isna(row[column]) and row[column]]
    return pd.DataFrame([("item", item), *found], columns=["what", "text"])


def worked_calls(calls: pd.DataFrame, item: str, context: str = "") -> pd.DataFrame:
    """Every prompt and reply of one item, in the order of the stages; replies to one and the same prompt share a row.

    Parameters
    ----------
    calls : of all stages.
    item : its item_id.
    context : of the item, which is shown apart: prompts say "as above" for it, and of one with words taken out only show where.

    Returns
    -------
    DataFrame : stage (and who was asked), prompt, reply and read as (both with their counts where there are several).
    """
    import pandas as pd

    order = {name: i for i, name in enumerate(STAGES)}
    mine = calls[calls["item_id"] == item].assign(number=lambda t: t["number"].astype(int))
    mine = mine.assign(order=mine["stage"].map(order)).sort_values(["order", "number"], kind="stable")
    prompts = mine["asked"].fillna("") if "asked" in mine else pd.Series("", index=mine.index)
    same = prompts.where(prompts != "", mine["number"].astype(str))  # without its prompt a call stands alone
    rows = []
    for (stage, _), own in mine.groupby(["stage", same], sort=False):
        at, first, last = STAGES[stage], own["number"].min() + 1, own["number"].max() + 1
        no = f"{at.number}.{first}" + (f" to {last}" if last > first else "")
        said = [_counted(own[column]) if column in own else "" for column in ("reply", "read")]
        rows.append((f"{no} {stage.replace('_', ' ')}, {at.role}", _without(prompts[own.index[0]], context), *said))
    return pd.DataFrame(rows, columns=["stage", "prompt", "reply", "read as"])


def _counted(column: pd.Series) -> str:
    """Different texts one after the other, those that came several times with how often."""
    found = column.fillna("").replace("", "–").value_counts(sort=False)
    return " | ".join(text if n == 1 else f"{n} × {text}" for text, n in found.items())


def _without(prompt: str, context: str, around: int = 30) -> str:
    """A prompt without the item's context: 'as above', or, where words are taken out of it, what stands around them."""
    if context and context in prompt:
        return prompt.replace(context, "as above")
    start, end = prompt.find("<context>\n"), prompt.find("\n</context>")
    if not context or start < 0 or end < start or _MARK not in prompt[start:end]:
        return prompt
    text = prompt[start + len("<context>\n") : end]
    pieces, reached = [], 0
    for found in re.finditer(re.escape(_MARK), text):
        low, high = max(reached, found.start() - around), min(len(text), found.end() + around)
        if pieces and low <= reached:
            pieces[-1] += text[reached:high]
        elif high > reached:
            pieces.append(text[low:high])
        reached = high
    return f"<context> as above, but: … {' … '.join(pieces)} … {prompt[end + 1 :]}"


def worked_scores(items: pd.DataFrame, item: str) -> pd.DataFrame:
    """The metrics of one item: metric, value, why (where missing)."""
    import pandas as pd

    row = items.set_index("item_id").loc[item]
    why = dict(r.split(": ", 1) for r in row["reasons"].split("; ") if ": " in r)
    rows = [(name, row[metric], why.get(metric, "")) for metric, name in NAMES.items()]
    return pd.DataFrame(rows, columns=["metric", "value", "why"]).astype({"value": "Float64"})
