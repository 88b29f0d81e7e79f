"""What LExT's numbers rest on: the embedder's floor (Table 1), what the tagger finds (Table 2), how stable answers are (Table 4), and whether
the rules or a judge label answers right (appendix B.5)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from factlab import explanation, stats
from factlab.studies.lext import components
from factlab.text import fold

if TYPE_CHECKING:
    import pandas as pd

# What a reader would call no explanation at all: nothing, and three things that chat models say about anything.
BOILERPLATE = (
    "",
    "Here is what I found about your question:",
    "Hello! How can I help you today?",
    "Please consult a medical professional about your symptoms.",
)


SHOWN = {"labelled_by": "labelled by", "known": "known label", "read": "label given"}  # heads of `label_errors`


def embedder_floor(items: pd.DataFrame, embed: components.Embed) -> pd.DataFrame:
    """How similar to the ground truths texts are that explain nothing (Table 1), and ground truths of other questions.

    Returns
    -------
    DataFrame : text, kind ('boilerplate', 'another question'), mean, low, high (range over the ground truths), n, status ('scored', or
    'undefined' for a text without an embedding).
    """
    import pandas as pd

    gold = list(dict.fromkeys(items["explanation"]))
    known = components.vectors([*gold, *BOILERPLATE], embed)
    rows = []
    for text in BOILERPLATE:
        rows.append(
            (text or "(blank)", "boilerplate", *_spread([components.cosine(known, text, truth) for truth in gold]))
        )
    others = [components.cosine(known, a, b) for i, a in enumerate(gold) for b in gold[i + 1 :]]
    rows.append(("ground truths of two different questions", "another question", *_spread(others)))
    columns = ["text", "kind", "mean", "low", "high", "n", "status"]
    return pd.DataFrame(rows, columns=columns).astype(dict.fromkeys(["mean", "low", "high"], "Float64"))


def _spread(values: Sequence[float]) -> tuple[Any, ...]:
    kept = [v for v in values if not math.isnan(v)]
    if not kept:
        return None, None, None, 0, "undefined"
    return float(np.mean(kept)), min(kept), max(kept), len(kept), "scored"


def entity_coverage(parts: pd.DataFrame) -> pd.DataFrame:
    """What the tagger finds: of, n, without (texts without an entity), share_without, entities (mean a text)."""
    import pandas as pd

    groups = {
        "ground truths": list(parts["gold_tags"]),
        "first explanations": [t[0] for t in parts["tags"] if len(t) and t[0] is not None],
    }
    rows = []
    for name, lists in groups.items():
        n, empty = len(lists), sum(not len(t) for t in lists)
        rows.append((name, n, empty, empty / n if n else None, float(np.mean([len(t) for t in lists])) if n else None))
    return pd.DataFrame(rows, columns=["of", "n", "without", "share_without", "entities"]).astype(
        {"share_without": "Float64", "entities": "Float64"}
    )


def entity_overlap(parts: pd.DataFrame) -> pd.DataFrame:
    """The entities of each ground truth and first explanation, and which they share: item_id, gold, explanation, shared, weight."""
    import pandas as pd

    rows = []
    for row in parts.to_dict("records"):
        gold, own = (
            list(row["gold_tags"]),
            list(row["tags"][0]) if len(row["tags"]) and row["tags"][0] is not None else [],
        )
        both = [tag for tag in own if fold(tag) in {fold(g) for g in gold}]
        rows.append(
            (row["item_id"], ", ".join(gold), ", ".join(own), ", ".join(both), explanation.ner_weight(gold, own))
        )
    return pd.DataFrame(rows, columns=["item_id", "gold", "explanation", "shared", "weight"])


def least_stable(parts: pd.DataFrame, explained: pd.DataFrame) -> pd.DataFrame:
    """The answers nearest to and farthest from the expert's, of the item whose repetitions differ most (Table 4).

    Returns
    -------
    DataFrame : item_id, which ('nearest' or 'farthest'), answer (its number, from 1), similarity, explanation; empty where no item has
    two answers.
    """
    import pandas as pd

    given = explained[explained["kind"] == "iteration"].set_index("item_id")
    rows = {}
    for row in parts.to_dict("records"):
        known = [(float(c), i) for i, c in enumerate(row["cosines"]) if not _gone(c)]
        if len(known) > 1:
            rows[row["item_id"]] = (max(known)[0] - min(known)[0], max(known), min(known))
    columns = ["item_id", "which", "answer", "similarity", "explanation"]
    if not rows:
        return pd.DataFrame(columns=columns)
    item = max(rows, key=lambda name: rows[name][0])
    texts = given.loc[[item]].set_index("sample")["explanation"]
    ends = zip(("nearest", "farthest"), rows[item][1:], strict=True)
    shown = [(item, which, i + 1, similarity, texts.iloc[i]) for which, (similarity, i) in ends]
    return pd.DataFrame(shown, columns=columns)


def label_audit(labelled: pd.DataFrame, judged: pd.DataFrame | None, judge: str = "judge") -> dict[str, stats.Estimate]:
    """How many of the labelled answers the rules, and the judge, label right.

    Parameters
    ----------
    labelled : item_id, question, answer, label.
    judged : calls of stage 6d about these answers; None: no judge.
    judge : its name.

    Returns
    -------
    Name to the share that is right. A judge that names no label is wrong.
    """
    return {name: _right(labelled["label"], said) for name, said in _labels(labelled, judged, judge).items()}


def _labels(labelled: pd.DataFrame, judged: pd.DataFrame | None, judge: str) -> dict[str, list[str | None]]:
    """What the rules, and the judge, say of the labelled answers; None where the judge names no label."""
    asked = zip(labelled["answer"], labelled["question"], strict=True)
    found: dict[str, list[str | None]] = {"rules": [explanation.parse_label(a, q).value for a, q in asked]}
    if judged is not None:
        said = judged.set_index("item_id")["read"].to_dict()
        found[judge] = [said.get(item) or None for item in labelled["item_id"]]
    return found


def label_errors(labelled: pd.DataFrame, judged: pd.DataFrame | None, judge: str = "judge") -> pd.DataFrame:
    """Which labels were taken for which, parameters as in `label_audit`.

    Returns
    -------
    DataFrame : labelled_by ('rules' or the judge), known (the label that the answer deserves), read ('no label' where the judge names
    none), answers (how many). Right ones are not in it.
    """
    import pandas as pd

    rows = [
        (name, known, read or "no label")
        for name, said in _labels(labelled, judged, judge).items()
        for known, read in zip(labelled["label"], said, strict=True)
        if read != known
    ]
    table = pd.DataFrame(rows, columns=["labelled_by", "known", "read"])
    return table.value_counts(sort=False).rename("answers").reset_index()


def _right(gold: Sequence[str], said: Sequence[str | None]) -> stats.Estimate:
    right = sum(a == b for a, b in zip(gold, said, strict=True))
    return stats.proportion(right, len(list(gold)), unit="answers", name="lext-labels")


def audit_sentence(audit: Mapping[str, stats.Estimate], judged: pd.DataFrame | None, judge: str, labels: str) -> str:
    """The audit of the labels in words, to stand beside the score."""
    said = []
    for name, e in audit.items():
        right = (
            f"{round(e.value * e.n)} of {e.n} answers of known label right ({e.value:.2f} [{e.low:.2f}, {e.high:.2f}])"
        )
        if name == "rules" or judged is None:
            said.append(f"the rules label {right}" if name == "rules" else f"{name} labels {right}")
            continue
        named = int((judged["read"] != "").sum())
        said.append(
            f"{name} names a label in {named} of {e.n}, {round(e.value * e.n)} of them right, and none in {e.n - named}"
        )
    text = "; ".join(said)
    if judged is not None and named:
        top = judged.loc[judged["read"] != "", "read"].value_counts()
        if top.iloc[0] >= 0.9 * len(judged):
            text += f"; it says “{top.index[0]}” to {top.iloc[0]} of {len(judged)}"
    return f"{text[0].upper()}{text[1:]}. The score uses the labels of the {labels}."


def disagreements(calls: pd.DataFrame) -> pd.DataFrame:
    """The answers to redacted contexts with both labels.

    Returns
    -------
    DataFrame : item_id, stage, number, reply, rules, judge ('none' where no label was read), same ('yes', 'no', or 'no label' where the
    judge named none: it has not judged, so it does not disagree). Empty without a judge.
    """
    import pandas as pd

    answers = calls[calls["stage"].isin(["redacted", "sequential"])]
    key = answers["number"] + (answers["stage"] == "sequential")
    judged = calls[calls["stage"] == "judge"].rename(columns={"read": "judge", "number": "key"})[
        ["item_id", "key", "judge"]
    ]
    both = answers.assign(key=key, rules=answers["read"]).merge(judged, on=["item_id", "key"])
    table = both[["item_id", "stage", "number", "reply", "rules", "judge"]]
    table = table.assign(judge=table["judge"].replace("", "none"), rules=table["rules"].replace("", "none"))
    same = (table["rules"] == table["judge"]).map({True: "yes", False: "no"})
    return pd.DataFrame(table.assign(same=same.where(table["judge"] != "none", "no label")))


def disagreement_sentence(both: pd.DataFrame, judge: str) -> str:
    """How far the rules and the judge label alike, in words: over the answers to which the judge gave a label."""
    if not len(both):
        return "No judge labelled the answers; the rules did."
    given = both[both["same"] != "no label"]
    silent = len(both) - len(given)
    said = f"{judge} names no label for {silent} of {len(both)} answers to redacted contexts" if silent else ""
    if not len(given):
        return f"{said}: nothing can be compared with the rules."
    found = stats.agreement(given["rules"], given["judge"]).set_index("measure")
    kappa = found.loc["cohen_kappa", "value"]
    kept = "" if _gone(kappa) else f" (kappa {kappa:.2f})"
    same = int((given["same"] == "yes").sum())
    alike = (
        f"the same label as the rules to {same} of the other {len(given)}"
        if silent
        else f"{judge} gives the same label as the rules to {same} of {len(given)} answers to redacted contexts"
    )
    return f"{said}{', and ' if silent else ''}{alike}{kept}."


def _gone(value: Any) -> bool:
    import pandas as pd

    return value is None or bool(pd.isna(value))
