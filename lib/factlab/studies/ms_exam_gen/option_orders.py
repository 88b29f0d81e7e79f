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


def drawn_sentence(drawn: Sequence[Item], wanted: int) -> str:
    """How many items are asked, and why not as many as wanted."""
    if len(drawn) >= wanted:
        return f"{len(drawn)} items, drawn by construction label."
    return f"{len(drawn)} of the {wanted} items asked for: all that are in the bank and, for recorded endpoints, recorded in all four orders."


def with_scoring(effects: pd.DataFrame, sat: Sequence[panels.Endpoint]) -> pd.DataFrame:
    """`exam.order_effects` with a column order_free: endpoints that choose by a similarity or by length, and so cannot see places."""
    free = {e.name for e in sat if e.scoring in ("similarity", "longest")}
    return effects.assign(order_free=effects["endpoint"].isin(free))


def movable(effects: pd.DataFrame) -> pd.DataFrame:
    """The endpoints that an order can change at all and of which any answer could be read: what a study of the panel is about."""
    free = effects["order_free"].astype(bool) if "order_free" in effects.columns else False
    return effects[~(free | _unread(effects))]


def _unread(effects: pd.DataFrame) -> pd.Series:
    return effects["unresolved"] >= len(exam.LETTERS) * effects["items"]


def order_sentence(study: Mapping[str, Any], effects: pd.DataFrame) -> str:
    """The study of option order in one line.

    Parameters
    ----------
    study : from `exam.order_study` of `movable` endpoints.
    effects : from `with_scoring`.
    """
    if not len(effects):
        return "no endpoint was asked in all four orders"
    mute = int(_unread(effects).sum())
    if not study["endpoints"]:
        return f"no endpoint {'with an answer ' * bool(mute)}sees the order of the options"
    rho = "rank correlation undefined" if study["spearman"] is None else f"rank correlation {study['spearman']:.3f}"
    left = len(effects) - study["endpoints"] - mute
    more = f"; {left} that cannot see places not counted" if left else ""
    more += f"; {mute} of which no answer could be read not counted" if mute else ""
    return (
        f"{study['endpoints']} endpoint{'s' * (study['endpoints'] != 1)} in four orders of {int(effects['items'].max())} items: {rho}, mean change "
        f"{100 * study['mean_change']:.1f} points, the same option in all four for {100 * study['stable']:.1f} %, position effects in "
        f"{study['position_effects']} of {study['tested']}{more}"
    )


def order_warnings(effects: pd.DataFrame, study: Mapping[str, Any]) -> list[str]:
    """What to distrust about the study of option order; parameters as for `order_sentence`."""
    notes = []
    if not len(effects):
        return ["No endpoint answered in all four orders: nothing is said about the order of options."]
    items, moved = int(effects["items"].max()), movable(effects)
    if items < 100:
        notes.append(
            f"{items} items instead of the paper's 100: a share is known to within about {196 * math.sqrt(0.25 / items):.0f} points."
        )
    if study["spearman"] is None:
        notes.append(f"Undefined: {study['reason']}.")
    elif study["endpoints"] < 10:
        notes.append(f"A rank correlation over {study['endpoints']} endpoints says little.")
    if len(mute := effects.loc[_unread(effects), "endpoint"]):
        notes.append(f"Not counted, because not one answer of theirs could be read: {', '.join(mute)}.")
    if unresolved := int(effects.loc[~_unread(effects), "unresolved"].sum()):
        notes.append(
            f"{unresolved} answer{'s' * (unresolved != 1)} could not be read: not the same in all orders, and not correct."
        )
    free = effects.loc[~effects["endpoint"].isin([*moved["endpoint"], *mute]), "endpoint"]
    if len(free):
        notes.append(
            f"Not counted, because they choose by similarity or length and cannot see places: {', '.join(free)}."
        )
    lean = moved.melt("endpoint", [f"place_{a}" for a in "abcd"]).dropna()
    most = lean[lean["value"] > 0.5].sort_values("value", ascending=False, kind="stable")
    if len(most):
        each = ", ".join(f"{r.endpoint} {r.variable[-1].upper()} in {100 * r.value:.0f} %" for r in most.itertuples())
        notes.append(
            f"{len(most)} of {len(moved)} choose{'s' * (len(most) == 1)} one letter in more than half of their answers: {each}."
        )
    return notes


def in_letters(marked: pd.DataFrame) -> pd.DataFrame:
    """`exam.mark_orders` for reading: endpoint, order, chosen and key (letters in this order), in the bank's order (letter of the option chosen),
    correct."""
    import pandas as pd

    def letters(numbers: pd.Series) -> list[str]:
        return [exam.LETTERS[int(n)] if pd.notna(n) else "–" for n in numbers]

    table = {
        "endpoint": marked["endpoint"],
        "order": marked["rotation"],
        "chosen": letters(marked["place"]),
        "key": letters(marked["key_place"]),
        "chosen, in the bank's order": letters(marked["option"]),
        "correct": marked["correct"].astype(bool),
    }
    return pd.DataFrame(table)


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


def changed_minds(marked: pd.DataFrame, items: Sequence[Item], effects: pd.DataFrame) -> pd.DataFrame:
    """Every item with how many endpoints answer it with other options in other orders, the most changed first.

    Parameters
    ----------
    marked : from `exam.mark_orders`.
    items : those asked.
    effects : from `with_scoring`; endpoints that cannot see places are left out.

    Returns
    -------
    DataFrame : item_id, question, endpoints (that answered it), changed (of these, with more than one option or an unresolved answer), options
    (different ones an endpoint chose, on average).
    """
    import pandas as pd

    questions = {item.id: item.question for item in items}
    kept = marked[marked["endpoint"].isin(movable(effects)["endpoint"])]
    kinds = kept.assign(read=kept["option"], option=kept["option"].astype("Int64").fillna(-1)).groupby(["item_id", "endpoint"])  # fmt: skip
    each = pd.DataFrame({"changed": (kinds["option"].nunique() > 1) | (kinds["option"].min() < 0), "options": kinds["read"].nunique()})  # fmt: skip
    table = each.groupby("item_id", sort=False).agg(endpoints=("changed", "size"), changed=("changed", "sum"), options=("options", "mean")).reset_index()  # fmt: skip
    table.insert(1, "question", table["item_id"].map(questions))
    return pd.DataFrame(table).sort_values(["changed", "options"], ascending=False, kind="stable").reset_index(drop=True)  # fmt: skip


def minds_sentence(table: pd.DataFrame, shown: int) -> str:
    """How many items change, from `changed_minds`, and how many stand level with the first."""
    if not len(table):
        return "No endpoint sees the order of the options."
    first = table.iloc[0]
    changed, all_ = int((table["changed"] > 0).sum()), int((table["changed"] == table["endpoints"]).sum())
    said = f"Another order changes the answer of some endpoint in {changed} of {len(table)} items, of all {first['endpoints']} endpoints in {all_}."
    level = int(((table["changed"] == first["changed"]) & (table["options"] == first["options"])).sum())
    more = f" {level} items change as much as the first: those shown are the first of them." if level > shown else ""
    return (
        f"{said} Shown are {min(shown, len(table))}, by how many different options an endpoint chose on average.{more}"
    )
