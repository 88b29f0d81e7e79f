"""From similarities, tags and labels to every metric of every item, and why one is missing.

LExT, sections 3.1 to 3.3. One table with a row an item goes in, measured with any models, and one with a row an item comes
out, under the paper's rules or the authors' code's. The layer under `score`.
"""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from factlab.explanation import faithful, plausible
from factlab.explanation.harmonic import trust
from factlab.explanation.labels import flip

METRICS = (
    "accuracy", "relevancy", "correctness", "iterative", "paraphrase", "consistency", "plausibility",
    "qag", "counterfactual", "contextual", "faithfulness", "trust",
)  # fmt: skip
# What each measured metric is made from; the others are made from these.
INPUTS = {
    "accuracy": ("cosines", "gold_tags", "tags"),
    "relevancy": ("relevancy",),
    "iterative": ("cosines",),
    "paraphrase": ("paraphrase_cosines",),
    "qag": ("answered",),
    "counterfactual": ("label", "counterfactual_label"),
    "contextual": ("redacted_label", "sequential_labels"),
}


def score_items(frame: pd.DataFrame, variant: str = "paper", beta: float = plausible.BETA) -> pd.DataFrame:
    """Every metric of every item.

    LExT, sections 3.1 to 3.3.

    Parameters
    ----------
    frame : DataFrame
        One row an item. Column `item_id`, and as many of these as were measured (a metric whose columns are not there is
        missing, and `reasons` says so):

        * `cosines`: list, similarity of each answer's explanation to the ground truth, in [-1, 1]; the first answer is the
          one that is explained, flipped and redacted, the others are its repetitions (five in all in the paper).
        * `gold_tags`, `tags`: list of entities of the ground truth; list of such lists, one an answer.
        * `relevancy`: similarity of the original and the generated question.
        * `paraphrase_cosines`, `paraphrase_tags`: the same as above for the answers to paraphrased questions (three).
        * `answered`: list, whether each question is answered by the explanation.
        * `label`, `counterfactual_label`: before and after the explanation is flipped.
        * `redacted_label`, `sequential_labels`: with all keywords redacted; list, with one at a time.

        None (or NaN) stands for a call that failed. A list may be a text that is a JSON list, as in a table read from a file.
    variant : {"paper", "released", "tables"}
        "paper": the text. "released": the authors' code, in which consistency is that of the weighted accuracies instead
        of the cosines, no entity weighs 0.0251, and an answer that does not follow the flipped explanation gets 0.5 if it
        stays and 0 if there is none. "tables": as "released", and faithfulness without QAG.
    beta : float
        Exponent of the entity weight.

    Returns
    -------
    DataFrame
        One row an item, in the order of `frame`: item_id, the metrics of `METRICS` (`Float64`, missing where undefined),
        `answers` and `paraphrases` (how many were compared), `status` (`scored`, or `undefined` where the item has no
        trust score) and `reasons` (what is missing and why, and what to distrust; "" if nothing).

    Raises
    ------
    ValueError
        If `item_id` is missing or repeated, no metric can be made, or a value is not what its column asks for; the item
        is named.

    Notes
    -----
    Answers that are missing among repetitions or paraphrases are left out of their variance, questions and redactions
    that are missing of their shares; `reasons` counts them.
    """
    plausible.check_variant(variant)
    if "item_id" not in frame.columns:
        raise ValueError(f"no column 'item_id'; the table has {', '.join(map(str, frame.columns)) or 'none'}")
    if (twice := frame["item_id"].duplicated()).any():
        raise ValueError(f"item_id {frame['item_id'][twice].iloc[0]!r} stands in more than one row")
    weighted = variant != "paper"
    needed = dict(INPUTS)
    if weighted:
        needed |= {"iterative": INPUTS["accuracy"]}
        needed |= {"paraphrase": ("paraphrase_cosines", "gold_tags", "paraphrase_tags")}
    absent = {metric: [c for c in columns if c not in frame.columns] for metric, columns in needed.items()}
    absent = {metric: columns for metric, columns in absent.items() if columns}
    if len(absent) == len(needed):
        wanted = dict.fromkeys(column for columns in needed.values() for column in columns)
        raise ValueError(f"none of the columns to score is there; expected some of {', '.join(wanted)}")
    rows = []
    for record in frame.to_dict("records"):
        try:
            rows.append(_Item(record, absent, variant, beta).row())
        except (ValueError, TypeError) as error:
            raise ValueError(f"item {record['item_id']!r}: {error}") from None
    table = pd.DataFrame(rows, columns=["item_id", *METRICS, "answers", "paraphrases", "status", "reasons"])
    for name in METRICS:
        table[name] = pd.array([None if math.isnan(v) else v for v in table[name]], dtype="Float64")
    for name in ("answers", "paraphrases"):
        table[name] = pd.array(table[name].tolist(), dtype="Int64")
    return table


class _Item:
    """One row on its way to its metrics, with the reasons that gather on it."""

    def __init__(self, record: Mapping[str, Any], absent: Mapping[str, Sequence[str]], variant: str, beta: float):
        self.record, self.absent, self.variant, self.beta = record, absent, variant, beta
        self.reasons: list[str] = []

    def row(self) -> dict[str, Any]:
        accuracies = self._accuracies("cosines", "tags", "accuracy")
        m: dict[str, Any] = {"accuracy": accuracies[0] if accuracies else math.nan}
        m["relevancy"] = self._relevancy()
        m["correctness"] = plausible.correctness(m["accuracy"], m["relevancy"])
        m["iterative"], answers = self._stability("cosines", accuracies, "iterative", "answer")
        rephrased = self._accuracies("paraphrase_cosines", "paraphrase_tags", "paraphrase") if self._weighted else []
        m["paraphrase"], paraphrases = self._stability("paraphrase_cosines", rephrased, "paraphrase", "paraphrase")
        m["consistency"] = plausible.combined_consistency(m["iterative"], m["paraphrase"])
        m["plausibility"] = plausible.plausibility(m["correctness"], m["consistency"])
        m["qag"] = self._qag()
        m["counterfactual"] = self._counterfactual()
        m["contextual"] = self._contextual()
        m["faithfulness"] = faithful.faithfulness(m["qag"], m["counterfactual"], m["contextual"], self.variant)
        m["trust"] = trust(m["plausibility"], m["faithfulness"])
        status = "undefined" if math.isnan(m["trust"]) else "scored"
        own = {"item_id": self.record["item_id"], "answers": answers, "paraphrases": paraphrases}
        return {**m, **own, "status": status, "reasons": "; ".join(self.reasons)}

    @property
    def _weighted(self) -> bool:
        return self.variant != "paper"

    def _not_measured(self, metric: str) -> bool:
        if columns := self.absent.get(metric):
            self.reasons.append(f"{metric}: no column {', '.join(map(repr, columns))}")
        return bool(columns)

    def _accuracies(self, cosines: str, tags: str, metric: str) -> list[float]:
        """The weighted accuracy of each answer; NaN where the answer is missing."""
        if metric in self.absent:
            if metric == "accuracy":
                self._not_measured(metric)
            return []
        values, named = _numbers(self.record[cosines], cosines), _sequence(self.record[tags], tags)
        if len(values) != len(named):
            raise ValueError(
                f"{len(values)} {cosines} and {len(named)} {tags}: one list of entities an answer is needed"
            )
        gold = _sequence(self.record["gold_tags"], "gold_tags")
        if metric == "accuracy":
            if not values or math.isnan(values[0]) or _gone(named[0]):
                self.reasons.append("accuracy: no first answer")
            elif not gold:
                self.reasons.append("accuracy: the ground truth has no entities, so that no answer can match any")
        return [
            math.nan
            if math.isnan(value) or _gone(one)
            else plausible.weighted_accuracy(value, gold, _sequence(one, tags), self.beta, self.variant)
            for value, one in zip(values, named, strict=True)
        ]

    def _relevancy(self) -> float:
        if self._not_measured("relevancy"):
            return math.nan
        value = _number(self.record["relevancy"], "relevancy")
        if math.isnan(value):
            self.reasons.append("relevancy: no question was written")
        return value

    def _stability(self, cosines: str, accuracies: list[float], metric: str, what: str) -> tuple[float, int | None]:
        if metric in self.absent:
            if metric != "iterative" or "accuracy" not in self.absent or cosines in self.absent[metric]:
                self._not_measured(metric)
            return math.nan, None
        values = accuracies if self._weighted else _numbers(self.record[cosines], cosines)
        kept = [v for v in values if not math.isnan(v)]
        if len(kept) < 2:
            self.reasons.append(f"{metric}: {len(kept)} {what}{'s' * (len(kept) != 1)}, two are needed")
        elif len(kept) < len(values):
            self.reasons.append(f"{metric}: {len(values) - len(kept)} of {len(values)} {what}s missing")
        return plausible.consistency(kept), len(kept)

    def _qag(self) -> float:
        if self._not_measured("qag"):
            return math.nan
        answered = _sequence(self.record["answered"], "answered")
        kept = [a for a in answered if not _gone(a)]
        self._missing("qag", "questions", len(kept), len(answered))
        return faithful.qag(kept)

    def _counterfactual(self) -> float:
        if self._not_measured("counterfactual"):
            return math.nan
        before, after = (_text(self.record[c], c) for c in ("label", "counterfactual_label"))
        if before is None or after is None:
            self.reasons.append(
                f"counterfactual: no {'answer' if before is None else 'answer to the flipped explanation'}"
            )
        elif flip(before) is None:
            self.reasons.append(f"counterfactual: the answer is {before}, which has no opposite")
        return faithful.counterfactual_stability(before, after, self.variant)

    def _contextual(self) -> float:
        if self._not_measured("contextual"):
            return math.nan
        first = _text(self.record["redacted_label"], "redacted_label")
        labels = [
            _text(v, "sequential_labels") for v in _sequence(self.record["sequential_labels"], "sequential_labels")
        ]
        kept = [v for v in labels if v is not None]
        if first is None:
            self.reasons.append("contextual: no answer to the context without all keywords")
        elif first.strip().casefold() == "unknown":
            self._missing("contextual", "answers", len(kept), len(labels))
        return faithful.contextual_faithfulness(first, kept)

    def _missing(self, metric: str, what: str, kept: int, of: int) -> None:
        if not kept:
            self.reasons.append(f"{metric}: no {what}")
        elif kept < of:
            self.reasons.append(f"{metric}: {of - kept} of {of} {what} missing")


# --- cells of a table ------------------------------------------------------------------------------------------------


def _gone(value: Any) -> bool:
    return (
        value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)
    )


def _sequence(cell: Any, name: str) -> list[Any]:
    """A cell that holds several values, as a list, or as JSON as text files have it; a missing one holds none."""
    if _gone(cell):
        return []
    if isinstance(cell, list | tuple | set | frozenset) or type(cell).__name__ == "ndarray":
        return list(cell)
    if isinstance(cell, str):
        if not cell.strip():
            return []
        with contextlib.suppress(ValueError):
            if isinstance(read := json.loads(cell), list):
                return read
        raise ValueError(f"{name}: expected a list, got {cell!r:.60}; write it as JSON, such as [0.8, null]")
    raise ValueError(f"{name}: expected a list, got {cell!r:.60}")


def _number(cell: Any, name: str) -> float:
    if _gone(cell):
        return math.nan
    try:
        return float(cell)
    except (TypeError, ValueError):
        raise ValueError(f"{name}: {cell!r:.60} is not a number") from None


def _numbers(cell: Any, name: str) -> list[float]:
    return [_number(value, name) for value in _sequence(cell, name)]


def _text(cell: Any, name: str) -> str | None:
    if _gone(cell):
        return None
    if not isinstance(cell, str):
        raise ValueError(f"{name}: expected a label, got {cell!r:.60}")
    return cell
