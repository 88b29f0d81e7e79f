"""Which items are asked in four orders of their options, and what came of it in words (70_option_order).

MS-Exam-Gen, sections IV and V; the measures are those of `exam.order_effects` and `exam.order_study`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from factlab import exam, places
from factlab.exam import Item
from factlab.studies.ms_exam_gen import endpoints as panels

if TYPE_CHECKING:
    import pandas as pd

    from factlab.runs import Workspace


def answerable(run: Workspace, items: Sequence[Item], lines: Sequence[str], recorded: str = "") -> list[Item]:
    """The items that the study can draw from: all, or with recorded endpoints those that the table has in every order.

    Parameters
    ----------
    run : Workspace
    items : the bank.
    lines : of the panel, see `endpoints`.
    recorded : table of answers; empty: the sample.
    """
    if not any(panels.is_recorded(line) for line in lines):
        return list(items)
    path = run.used(recorded or places.samples("ms_exam_gen", "results.csv"))
    answers, _ = panels.read_recorded(path, items)
    seen = answers.groupby(["item_id", "endpoint"])["order"].nunique()
    whole = set(seen[seen == len(exam.LETTERS)].index.get_level_values("item_id"))
    if not whole:
        raise ValueError(
            f"{path.name}: no item has answers in all {len(exam.LETTERS)} orders; ask endpoints, or give another table"
        )
    return [item for item in items if item.id in whole]


def draw(items: Sequence[Item], count: int, seed: int = 0) -> list[Item]:
    """Items for the study of option order, by construction label as in the bank (section IV: 100 of 3,058).

    Parameters
    ----------
    items : the bank.
    count : how many; all where the bank has no more.
    seed : int
    """
    from factlab import stats

    if count < 1:
        raise ValueError(f"count: expected 1 or more items, got {count}")
    if count >= len(items):
        return list(items)
    picked = stats.stratified_sample([item.label for item in items], count / len(items), seed)
    return [items[i] for i in picked]


def order_sentence(study: Mapping[str, Any], effects: pd.DataFrame) -> str:
    """The study of option order in one line."""
    if not len(effects):
        return "no endpoint was asked in all four orders"
    rho = "rank correlation undefined" if study["spearman"] is None else f"rank correlation {study['spearman']:.3f}"
    return (
        f"{study['endpoints']} endpoint{'s' * (study['endpoints'] != 1)} in four orders of {int(effects['items'].max())} items: {rho}, mean change "
        f"{100 * study['mean_change']:.1f} points, the same option in all four for {study['stable']:.1%}, position effects in "
        f"{study['position_effects']} of {study['tested']}"
    )


def order_warnings(effects: pd.DataFrame, study: Mapping[str, Any]) -> list[str]:
    """What to distrust about the study of option order."""
    notes = []
    if not len(effects):
        return ["No endpoint answered in all four orders: nothing is said about the order of options."]
    items = int(effects["items"].max())
    if items < 100:
        notes.append(
            f"{items} items instead of the paper's 100: a share is known to within about {196 * math.sqrt(0.25 / items):.0f} points."
        )
    if study["spearman"] is None:
        notes.append(f"Undefined: {study['reason']}.")
    elif study["endpoints"] < 10:
        notes.append(f"A rank correlation over {study['endpoints']} endpoints says little.")
    if unresolved := int(effects["unresolved"].sum()):
        notes.append(f"{unresolved} answers could not be read; they count as not the same and not correct.")
    free = effects.loc[(effects["stable"] == 1).fillna(False), "endpoint"]
    if len(free):
        notes.append(f"Do not look at places at all, and so never change: {', '.join(free)}.")
    lean = effects.melt("endpoint", [f"place_{a}" for a in "abcd"]).dropna()
    if len(lean) and lean["value"].max() > 0.5:
        most = lean.loc[lean["value"].astype(float).idxmax()]
        notes.append(
            f"{most['endpoint']} chooses {most['variable'][-1].upper()} in {most['value']:.0%} of its answers."
        )
    return notes


def place_table(marked: pd.DataFrame, effects: pd.DataFrame) -> pd.DataFrame:
    """Accuracy of each endpoint by the place in which the key stands.

    Parameters
    ----------
    marked : from `exam.mark_orders`.
    effects : from `exam.order_effects`.

    Returns
    -------
    DataFrame : endpoint, key_place (from 0), value, low, high (95 %; in one place each item stands once), n, level, p_holm.
    """
    import pandas as pd

    from factlab import stats

    p = effects.set_index("endpoint")["p_holm"]
    rows = []
    for (endpoint, place), own in marked.groupby(["endpoint", "key_place"], sort=False):
        found = stats.estimate(own["correct"], unit="items", name="accuracy")
        rows.append((endpoint, int(place), found.value, found.low, found.high, found.n, found.level, p.get(endpoint)))
    table = pd.DataFrame(rows, columns=["endpoint", "key_place", "value", "low", "high", "n", "level", "p_holm"])
    return table.astype(dict.fromkeys(["value", "low", "high", "p_holm"], "Float64"))


def changed_minds(marked: pd.DataFrame, items: Sequence[Item], most: int = 5) -> pd.DataFrame:
    """Items that the most endpoints answer with other options in other orders.

    Returns
    -------
    DataFrame : item_id, question, endpoints (that answered it), changed (of these, with more than one option or an unresolved answer).
    """
    import pandas as pd

    questions = {item.id: item.question for item in items}
    kinds = marked.assign(option=marked["option"].astype("Int64").fillna(-1)).groupby(["item_id", "endpoint"])["option"]
    moved = (kinds.nunique() > 1) | (kinds.min() < 0)
    table = moved.groupby("item_id", sort=False).agg(endpoints="size", changed="sum").reset_index()
    table.insert(1, "question", table["item_id"].map(questions))
    return pd.DataFrame(table).sort_values("changed", ascending=False, kind="stable").head(most).reset_index(drop=True)
