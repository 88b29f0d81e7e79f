"""What LExT's scores are made from: similarities, entities and labels of every item, put together from what models wrote.

LExT, sections 3.1 and 3.2. Calls of `stages` go in, with an embedder and a tagger as functions; each is asked once for every distinct
text."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from factlab import explanation
from factlab.studies.lext.stages import first_answers
from factlab.text import fold

if TYPE_CHECKING:
    import pandas as pd

Embed = Callable[[Sequence[str]], np.ndarray]
Tag = Callable[[Sequence[str]], Sequence[Sequence[str]]]
_LISTS = (
    "gold_tags", "cosines", "tags", "paraphrase_cosines", "paraphrase_tags", "answered", "keywords", "found_keywords",
    "sequential_labels", "judged_sequential_labels",
)  # fmt: skip


# Columns of `faithfulness_parts` as a page heads them.
SHOWN = {
    "label": "answer", "answered": "QAG", "turned": "turned?", "counterfactual_label": "from the flip",
    "redacted_label": "without all", "sequential_labels": "one at a time", "keywords": "keywords",
}  # fmt: skip


def vectors(texts: Sequence[str], embed: Embed) -> dict[str, np.ndarray]:
    """Every distinct text once through the embedder: text to unit vector; a text without one (blank, failed) is not in it."""
    distinct = [text for text in dict.fromkeys(texts) if text and text.strip()]
    if not distinct:
        return {}
    found = np.asarray(embed(distinct), dtype=float)
    lengths = np.linalg.norm(found, axis=1)
    good = np.isfinite(lengths) & (lengths > 0)
    return {text: v / length for text, v, length, ok in zip(distinct, found, lengths, good, strict=True) if ok}


def cosine(known: Mapping[str, np.ndarray], a: str, b: str) -> float:
    """Similarity of two texts, in [-1, 1]; NaN where one has no vector."""
    return float(np.clip(known[a] @ known[b], -1, 1)) if a in known and b in known else math.nan


def plausibility_parts(
    items: pd.DataFrame, explained: pd.DataFrame, written: pd.DataFrame, embed: Embed, tag: Tag
) -> pd.DataFrame:
    """What plausibility is made from (section 3.1): similarities and entities of every answer, and the written question.

    Parameters
    ----------
    items : item_id, form, question, explanation (the ground truth).
    explained : from `stages.explained`.
    written : calls of stage 3.
    embed, tag : functions from texts to unit vectors, and from texts to lists of entities; each is given every distinct text once.

    Returns
    -------
    DataFrame, one row an item whatever failed: item_id, form, cluster, gold_tags, cosines, tags, paraphrase_cosines, paraphrase_tags
    (lists; an answer that failed is missing in them), written (the question, '' if none), relevancy, status ('scored', or that of the
    call that left something missing), reason.
    """
    import pandas as pd

    answers = explained.assign(explanation=explained["explanation"].fillna(""))
    question = written.set_index("item_id")[["read", "status"]].to_dict("index")
    by_item = {key: list(group["explanation"]) for key, group in answers.groupby(["item_id", "kind"], sort=False)}
    known = vectors(
        [*items["explanation"], *answers["explanation"], *items["question"], *(q["read"] for q in question.values())],
        embed,
    )
    texts = list(dict.fromkeys(text for text in [*items["explanation"], *answers["explanation"]] if text))
    tags = {text: list(found) for text, found in zip(texts, tag(texts) if texts else [], strict=True)}
    rows = []
    for item in items.to_dict("records"):
        name, gold = item["item_id"], item["explanation"]
        asked = question.get(name, {"read": "", "status": "undefined"})
        row: dict[str, Any] = {
            "item_id": name,
            "form": item["form"],
            "cluster": cluster_of(item),
            "gold_tags": tags.get(gold, []),
        }
        for kind, prefix in (("iteration", ""), ("paraphrase", "paraphrase_")):
            given = by_item.get((name, kind), [])
            row[f"{prefix}cosines"] = [_or_none(cosine(known, gold, text)) for text in given]
            row[f"{prefix}tags"] = [tags.get(text) for text in given]
        missing = [] if asked["read"] else [f"no question was written from the explanation ({asked['status']})"]
        first = by_item.get((name, "iteration"), [""])[0]
        if first and first not in known or gold not in known:
            missing.append("a text has no embedding")
        row |= {"written": asked["read"], "relevancy": _or_none(cosine(known, item["question"], asked["read"]))}
        rows.append(row | {"status": "scored" if not missing else asked["status"], "reason": "; ".join(missing)})
    return pd.DataFrame(rows).astype({"relevancy": "Float64"})


def tags_with(tagger: Callable[[Sequence[str]], Sequence[Any]], by: str = "form") -> Tag:
    """A tagger (texts to entities) as the function from texts to lists of tags that this module takes; `by` as in `entities.tags`."""
    from factlab import entities

    return lambda texts: [entities.tags(found, by) for found in tagger(texts)]


def cluster_of(item: Mapping[str, Any]) -> str:
    """What an item was drawn from: its vignette, where its demographic variants are items too; else itself."""
    return str(item.get("vignette_id") or item["item_id"])


def clusters_of(items: pd.DataFrame) -> pd.DataFrame:
    """item_id and cluster of each item."""
    return items[["item_id"]].assign(cluster=[cluster_of(item) for item in items.to_dict("records")])


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else value


def faithfulness_parts(items: pd.DataFrame, explained: pd.DataFrame, calls: pd.DataFrame) -> pd.DataFrame:
    """What faithfulness is made from (section 3.2): answers about, from and without what the explanation rests on.

    Parameters
    ----------
    items, explained : as in `plausibility_parts`, with `context`.
    calls : calls of stages 4 to 6.

    Returns
    -------
    DataFrame, one row an item whatever failed: item_id, label, answered (list of bool; a failed call is missing in it), flipped (text),
    turned (as the function of that name; None where there is no flip), counterfactual_label, keywords, found_keywords (whether each stands in
    the context), redacted_label, sequential_labels, the last two also as judged_… where a judge labelled them, status, reason.
    """
    import pandas as pd

    by = {key: group.sort_values("number").to_dict("records") for key, group in calls.groupby(["item_id", "stage"])}
    first = first_answers(explained, items).set_index("item_id")
    judged = bool((calls["stage"] == "judge").any())
    rows = []
    for item in items.to_dict("records"):
        name = item["item_id"]

        def of(stage: str, name: str = name) -> list[dict[str, Any]]:
            return by.get((name, stage), [])

        own = first.loc[name] if name in first.index else None
        words = [w for call in of("keywords") for w in call["read"].split("\n") if w]
        flipped = "".join(call["read"] for call in of("flip"))
        row = {
            "item_id": name,
            "label": (own["label"] or None) if own is not None else None,
            "answered": [
                None if c["status"] in ("error", "truncated") else c["read"] == "yes" for c in of("qag_answerable")
            ],
            "flipped": flipped,
            "turned": turned(own["explanation"], flipped, own["label"], item["question"]) if flipped else None,
            "counterfactual_label": _first([c["read"] for c in of("counterfactual")]),
            "keywords": words,
            "found_keywords": explanation.found_keywords(item["context"], words),
            "redacted_label": _first([c["read"] for c in of("redacted")]),
            "sequential_labels": [c["read"] or None for c in of("sequential")],
        }
        if judged:
            said = {c["number"]: c["read"] or None for c in of("judge")}
            row["judged_redacted_label"] = said.get(0)
            row["judged_sequential_labels"] = [said.get(i + 1) for i in range(len(of("sequential")))]
        reasons = _why_missing(own, of)
        rows.append(
            row | {"status": reasons[0][1] if reasons else "scored", "reason": "; ".join(r for r, _ in reasons)}
        )
    return pd.DataFrame(rows)


_IN_FRONT = re.compile(
    r"^\W*(?:(?:the )?answer(?: to (?:this|the) question)?(?: is)?\W+)?(?:yes|no|maybe)\b\W*", re.IGNORECASE
)


def turned(explanation_text: str, flipped: str, label: str, question: str = "") -> bool:
    """Whether an explanation was turned round at all, as counterfactual stability presupposes.

    Not where it is the old one but for the label in front, or still names the old label.
    """
    if not flipped.strip():
        return False
    old, new = (fold(_IN_FRONT.sub("", text)) for text in (explanation_text, flipped))
    named = explanation.parse_label(flipped, question).value
    if named == explanation.flip(label):
        return True  # the label alone may be turned
    return named != label and old != new


def questions(asked: pd.DataFrame, answered: pd.DataFrame) -> pd.DataFrame:
    """Stage 4 for reading, from its calls: item_id, question, reply, answers it."""
    written = asked.assign(question=asked["read"].str.split("\n")).explode("question").reset_index(drop=True)
    written = written.assign(number=written.groupby("item_id").cumcount())[["item_id", "number", "question"]]
    both = answered[["item_id", "number", "reply", "read"]].merge(written, on=["item_id", "number"])
    return both[["item_id", "question", "reply", "read"]].rename(columns={"read": "answers it"})


def flips(first: pd.DataFrame, flipped: pd.DataFrame, followed: pd.DataFrame) -> pd.DataFrame:
    """Stage 5 for reading, from `stages.first_answers` and its calls: item_id, answer, turned?, from the flip (the label that it leads to),
    explanation, turned round."""
    both = first[["item_id", "question", "label", "explanation"]].merge(flipped[["item_id", "read"]], on="item_id")
    both = both.merge(followed[["item_id", "read"]].rename(columns={"read": "from the flip"}), "left", on="item_id")
    marked = [turned(r["explanation"], r["read"], r["label"], r["question"]) for r in both.to_dict("records")]
    table = both.rename(columns={"label": "answer", "read": "turned round"}).assign(**{"turned?": marked}).fillna("")
    return table[["item_id", "answer", "turned?", "from the flip", "explanation", "turned round"]]


def _first(values: Sequence[str]) -> str | None:
    return values[0] or None if values else None


def _why_missing(first: pd.Series | None, of: Callable[[str], list[dict[str, Any]]]) -> list[tuple[str, str]]:
    """What of stages 4 to 6 is missing for an item, and the status of the call that is to blame."""
    if first is None:
        return [("no explanation to ask about", "undefined")]
    reasons = []
    label = first["label"] or "missing"
    if not of("flip"):
        reasons.append((f"the answer ({label}) has no opposite", "undefined"))
    if not of("keywords"):
        reasons.append((f"the answer ({label}) rests on no keywords", "undefined"))
    what = {
        "qag_questions": "no question for QAG",
        "flip": "the explanation was not flipped",
        "keywords": "no keywords were named",
    }
    reasons += [
        (f"{text} ({c['status']})", c["status"]) for stage, text in what.items() for c in of(stage) if not c["read"]
    ]
    return reasons


def pack(table: pd.DataFrame) -> pd.DataFrame:
    """A table of parts as a CSV file can hold it: lists as JSON."""
    return table.assign(**{name: table[name].map(_as_json) for name in _LISTS if name in table})


def _as_json(cell: Any) -> str:
    """A list as JSON; a number that is missing in it is null, and numbers have six digits."""

    def plain(value: Any) -> Any:
        if hasattr(value, "tolist"):
            value = value.tolist()
        if isinstance(value, list | tuple):
            return [plain(v) for v in value]
        return (None if math.isnan(value) else round(value, 6)) if isinstance(value, float) else value

    return json.dumps(plain(cell), ensure_ascii=False)


def unpack(table: pd.DataFrame) -> pd.DataFrame:
    """The opposite of `pack`; a table that was not packed comes back as it is."""
    import pandas as pd

    lists = [n for n in _LISTS if n in table and len(table) and isinstance(table[n].iloc[0], str)]
    texts = [n for n in ("label", "counterfactual_label", "redacted_label", "judged_redacted_label") if n in table]
    found = table.assign(**{name: table[name].map(json.loads) for name in lists})
    for name in texts:  # an empty cell of a CSV file is a missing label
        found[name] = found[name].astype(object).where(found[name].notna() & (found[name] != ""), None)
    if "turned" in found:
        found["turned"] = found["turned"].map(lambda v: {"True": True, "False": False}.get(str(v)))
    return found if not lists else pd.DataFrame(found)
