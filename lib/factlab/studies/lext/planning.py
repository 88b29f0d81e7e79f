"""What LExT's stages will take, before anything is sent, and what they took."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from factlab.entities.tables import BY
from factlab.explanation import faithful, plausible, scoring
from factlab.models import prompts
from factlab.models.base import ModelError
from factlab.studies.lext.calls import MATERIAL, STAGES
from factlab.studies.lext.stages import EXPLAIN, PARAPHRASE

if TYPE_CHECKING:
    import pandas as pd

    from factlab.models import Model


# What parameters that choose between few words may say.
CHOICES = {
    "variant": plausible.VARIANTS,
    "labels": ("rules", "judge"),
    "sequential": faithful.HOW,
    "tags_by": BY,
    "paraphrase": PARAPHRASE,
    "aggregate": scoring.AGGREGATES,
}


def check(judge: str = "", **given: str) -> None:
    """Whether parameters say what they can, before anything is asked.

    Parameters
    ----------
    judge : name of a model; labels of a judge need one.
    given : of `CHOICES`.

    Raises
    ------
    ValueError : a word that is none of them; the nearest is named.
    """
    for name, value in given.items():
        if value not in CHOICES[name]:
            near = difflib.get_close_matches(value, CHOICES[name], n=1)
            hint = f"did you mean {near[0]!r}? It" if near else "it"
            raise ValueError(f"{name} is {value!r}; {hint} can be {', '.join(map(repr, CHOICES[name]))}")
    if given.get("labels") == "judge" and judge == "rules":
        raise ValueError("labels is 'judge', but `judge` names no model; name one, or take labels: rules")


def plan(
    items: pd.DataFrame,
    subject: Model,
    larger: Model,
    judge: Model | None = None,
    *,
    iterations: int = 5,
    paraphrases: int = 3,
    paraphrase: str = "question",
    qag_questions: int = 5,
    keywords: int = 5,
    max_tokens: int = 256,
    answer_tokens: int = 48,
) -> pd.DataFrame:
    """Calls, tokens and cost of every stage, before anything is sent.

    An upper estimate: every explanation is taken to be as long as `max_tokens` allows, every answer to be yes or no, and nothing to
    be in the cache or asked twice.

    Returns
    -------
    DataFrame : number, stage, role, model, for (the metric), an_item (calls), calls, tokens_in, tokens_out (at most), usd (missing
    where no price is known).
    """
    import pandas as pd

    from factlab.models import prices

    names = {"subject": subject, "larger": larger, "judge": judge}
    short, long = answer_tokens, max_tokens
    words = "word " * (long * 3 // 5)  # stands for a text of `max_tokens` tokens
    counts = {
        "explain": (iterations, long),
        "paraphrase": (0 if paraphrase == "frames" else paraphrases, long),
        "explain_paraphrase": (paraphrases, long), "question": (1, short), "qag_questions": (1, long),
        "qag_answerable": (qag_questions, short), "flip": (1, long), "counterfactual": (1, short), "keywords": (1, long),
        "redacted": (1, short), "sequential": (keywords, short), "judge": (keywords + 1 if judge is not None else 0, short),
    }  # fmt: skip
    rows = []
    for name, (each, out) in counts.items():
        stage = STAGES[name]
        model = names[stage.role]
        if not each or model is None:
            continue
        shown = {"paraphrase": f"lext/paraphrase_{paraphrase}"}.get(name, stage.prompt)
        calls = []
        for item in items.to_dict("records"):
            prompt = prompts.load(shown or EXPLAIN[item["form"]])
            stand_in = {
                b: item.get(b, words) if b in ("question", "context") else words if b in MATERIAL else "5"
                for b in prompt.blanks
            }
            text = (prompt.system or "") + prompt.fill(**stand_in)
            calls += [prices.Call(prompt=text, params={"max_tokens": out})] * each
        cost = prices.estimate_cost(calls, model.name)
        rows.append(
            (
                stage.number,
                name,
                stage.role,
                model.name,
                stage.feeds,
                each,
                cost.calls,
                cost.prompt_tokens,
                cost.max_completion_tokens,
                cost.usd,
            )
        )
    columns = ["number", "stage", "role", "model", "for", "an_item", "calls", "tokens_in", "tokens_out", "usd"]
    return pd.DataFrame(rows, columns=columns).astype({"usd": "Float64"})


def check_plan(table: pd.DataFrame, max_cost_usd: float | None = None) -> str:
    """The plan in one sentence.

    Raises
    ------
    ModelError : it may cost more than the limit, or that cannot be known. Nothing has been sent.
    """
    calls, items = int(table["calls"].sum()), int(table["an_item"].sum())
    free = table["usd"].fillna(-1).eq(0).all()
    known = table["usd"].notna().all()
    total = float(table["usd"].sum()) if known else None
    cost = (
        "all replies are recorded, so that nothing is sent"
        if set(table["model"]) == {"recorded"}
        else "nothing to pay"
        if free
        else f"at most {total:.2f} USD"
        if known
        else "no price known for " + ", ".join(sorted(set(table.loc[table["usd"].isna(), "model"])))
    )
    said = f"{calls:,} calls, {items} an item, {int(table['tokens_in'].sum()):,} tokens in and up to {int(table['tokens_out'].sum()):,} out: {cost}"
    if max_cost_usd is not None and not free and (total is None or total > max_cost_usd):
        raise ModelError(
            f"stopped before sending: {said}; the limit max_cost_usd is {max_cost_usd:g}. Raise it, or ask fewer items"
        )
    if "explain_paraphrase" in set(table["stage"]) and "paraphrase" not in set(table["stage"]):
        said += ". Stage 2a asks no model: the paraphrases are fixed sentences"
    return said + "."


# Columns of `counted` as a page heads them.
SHOWN = {
    "number": "no.", "stage": "stage", "role": "asked", "calls": "calls", "outcomes": "outcomes", "cut_off": "cut short",
    "tokens_in": "tokens in", "tokens_out": "tokens out",
}  # fmt: skip


def counted(calls: pd.DataFrame) -> pd.DataFrame:
    """What was asked: number, stage, role, calls, items, read (replies of status scored or unknown), outcomes in words, cut_off (by
    max_tokens), tokens in and out (missing where they were not recorded for every call)."""
    import pandas as pd

    rows = []
    for name, stage in STAGES.items():
        mine = calls[calls["stage"] == name]
        if not len(mine):
            continue
        usable = mine["status"].isin(["scored", "unknown"]).sum()
        said = ", ".join(f"{n} {status}" for status, n in mine["status"].value_counts().items())
        cut = int((mine["finish_reason"] == "length").sum())
        tokens = [mine[c].sum() if mine[c].notna().all() else None for c in ("prompt_tokens", "completion_tokens")]
        rows.append(
            (
                stage.number,
                name.replace("_", " "),
                stage.role,
                len(mine),
                mine["item_id"].nunique(),
                int(usable),
                said,
                cut,
                *tokens,
            )
        )
    return pd.DataFrame(
        rows,
        columns=["number", "stage", "role", "calls", "items", "read", "outcomes", "cut_off", "tokens_in", "tokens_out"],
    ).astype({"tokens_in": "Int64", "tokens_out": "Int64"})
