"""LExT's scores of a run and the tables that show them (LExT, section 3.3; Tables 6, 7 and 14, Figure 6). Nothing here loads a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from factlab import explanation
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
FORMS = {"pubmedqa": "PubMedQA form", "qpain": "Q-Pain form"}


def plausibility_scores(
    table: pd.DataFrame, variant: str = "paper", beta: float = explanation.plausible.BETA, **settings: Any
) -> Scores:
    """The metrics of plausibility alone, before anything is known about faithfulness."""
    return explanation.score(
        table.drop(columns=["status", "reason"]), variant, beta, clusters=_clusters(table), **settings
    )


def faithfulness_scores(
    table: pd.DataFrame, items: pd.DataFrame, labels: str = "rules", variant: str = "paper", **settings: Any
) -> Scores:
    """The metrics of faithfulness alone, without plausibility."""
    clusters = components.clusters_of(items)
    bare = joined(clusters.assign(status="", reason=""), table, labels)
    return explanation.score(bare, variant, clusters=_clusters(clusters), **settings)


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


def table6(table: pd.DataFrame, subject: str) -> pd.DataFrame:
    """Plausibility, faithfulness and LExT of each data set in a row, with intervals in words (Table 6 in kind)."""
    return _wide(table, ("plausibility", "faithfulness", "trust"), subject)


def table7(table: pd.DataFrame, subject: str) -> pd.DataFrame:
    """The five metrics behind them (Table 7 in kind)."""
    return _wide(table, ("correctness", "consistency", "qag", "counterfactual", "contextual"), subject)


def _wide(table: pd.DataFrame, metrics: Sequence[str], subject: str) -> pd.DataFrame:
    wide = table[table["metric"].isin(metrics)].pivot(index="data", columns="metric", values="text")
    wide = wide.reindex(index=list(dict.fromkeys(table["data"])), columns=list(metrics)).rename(columns=NAMES)
    wide.columns.name = None
    return wide.reset_index().assign(subject=subject)[["subject", "data", *wide.columns]]


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


def worked_item(items: pd.DataFrame) -> str:
    """The item to show whole (Table 14): of those with most metrics the one with the highest trust, or else plausibility."""
    metrics = items[list(NAMES)].notna().sum(axis=1)
    order = items.assign(have=metrics).sort_values(["have", "trust", "plausibility"], ascending=False, kind="stable")
    return str(order["item_id"].iloc[0])


def worked_calls(calls: pd.DataFrame, item: str) -> pd.DataFrame:
    """Every prompt and reply of one item, in the order of the stages: number, stage, role, asked, reply, read."""
    order = {name: i for i, name in enumerate(STAGES)}
    mine = calls[calls["item_id"] == item]
    mine = mine.assign(order=mine["stage"].map(order)).sort_values(["order", "number"], kind="stable")
    shown = mine.assign(
        no=mine["stage"].map(lambda s: STAGES[s].number) + "." + (mine["number"].astype(int) + 1).astype(str),
        role=mine["stage"].map(lambda s: STAGES[s].role), stage=mine["stage"].str.replace("_", " "),
    )  # fmt: skip
    return shown[[c for c in ("no", "stage", "role", "asked", "reply", "read") if c in shown]].reset_index(drop=True)


def worked_scores(items: pd.DataFrame, item: str) -> pd.DataFrame:
    """The metrics of one item: metric, value, why (where missing)."""
    import pandas as pd

    row = items.set_index("item_id").loc[item]
    why = dict(r.split(": ", 1) for r in row["reasons"].split("; ") if ": " in r)
    rows = [(name, row[metric], why.get(metric, "")) for metric, name in NAMES.items()]
    return pd.DataFrame(rows, columns=["metric", "value", "why"]).astype({"value": "Float64"})
