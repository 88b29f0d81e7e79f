"""Models and calls of LExT's notebooks: recorded replies, and the calls that the steps of a run wrote."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from factlab.sources import SourceError
from factlab.studies.lext.calls import STAGES, calls_table
from factlab.studies.lext.report import of

if TYPE_CHECKING:
    import pandas as pd

    from factlab.models import Model

SEVERAL = ("explain", "paraphrase")  # stages that ask one prompt several times


def recorded(calls: pd.DataFrame) -> pd.DataFrame:
    """Replies of earlier calls in the form that `models.load("recorded", table=…)` reads, named as `ask` names its calls.

    Parameters
    ----------
    calls : item_id, stage (of `STAGES`), number (from 0) and reply, one row a call; where there are, finish_reason and model.

    Returns
    -------
    DataFrame : item_id (with the stage), reply, finish_reason ('error' where a number is left out before a later one, so that none takes
        the place of another), model.

    Raises
    ------
    sources.SourceError : a stage that there is not, a number that is none, or two rows for one call; the row is named.
    """
    import pandas as pd

    from factlab.sources.files import nearest

    table = calls.reindex(columns=["item_id", "stage", "number", "reply", "finish_reason", "model"])
    table = table.astype("object").fillna("")
    number = pd.to_numeric(table["number"], errors="coerce")
    wrong = number.isna() | (number < 0) | (number % 1 != 0)
    if wrong.any():
        row = wrong.idxmax()
        raise SourceError(
            f"row {row}, number: {table.at[row, 'number']!r} is none; count the replies to a prompt from 0"
        )
    if (unknown := ~table["stage"].isin(list(STAGES))).any():
        row = unknown.idxmax()
        near = nearest(str(table.at[row, "stage"]), STAGES)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise SourceError(
            f"row {row}, stage: {table.at[row, 'stage']!r} is no stage; {hint}There are {', '.join(STAGES)}"
        )
    table["number"] = number.astype(int)
    key = ["item_id", "stage", "number"]
    if (twice := table.duplicated(key)).any():
        item, stage, sample = table.loc[twice.idxmax(), key]
        same = table.index[(table[key] == [item, stage, sample]).all(axis=1)]
        raise SourceError(
            f"rows {' and '.join(map(str, same))} are both number {sample} of stage {stage}, item {item!r}; keep one of them"
        )
    rows = []
    for (item, stage), own in table.sort_values("number", kind="stable").groupby(["item_id", "stage"], sort=False):
        known = own.set_index("number")[["reply", "finish_reason", "model"]].to_dict("index")
        name = f"{item}/{stage}"
        # As in `ask`: several replies to one prompt have no number in their name and are found by their order.
        if stage in SEVERAL:
            gap = {"reply": "", "finish_reason": "error", "model": ""}
            rows += [{"item_id": name} | known.get(i, gap) for i in range(max(known) + 1)]
        if stage != "explain":
            rows += [{"item_id": f"{name}/{i}"} | reply for i, reply in known.items()]
    return pd.DataFrame(rows, columns=["item_id", "reply", "finish_reason", "model"])


def open_model(name: str, table: str = "", mode: str = "cache", run: Any = None) -> Model:
    """A model by name; `recorded` reads replies from a table with item_id, stage, number and reply.

    Parameters
    ----------
    table : path of the table; '': SmolLM2's replies to the first sample items.
    run : the workspace, in which the table is recorded as read.

    Raises
    ------
    sources.SourceError : the table cannot be used; file, row and column are named.
    """
    from factlab import models

    if name != "recorded":
        return models.load(name, mode=mode)
    path, known = replies(table, run)
    try:
        return models.load("recorded", table=recorded(known))
    except SourceError as error:
        raise SourceError(f"{path}: {error}") from None


def replies(table: str, run: Any = None) -> tuple[Any, pd.DataFrame]:
    """A table of replies, '' the sample's: its path, and its rows under the numbers that a spreadsheet shows; `run` records it as read."""
    from factlab import places, sources

    path = table or places.samples("lext", "replies.csv")
    path = run.used(path) if run is not None else places.resolve(path)
    return path, sources.read_table(path, required=["item_id", "stage", "number", "reply"])[0]


def table_notes(names: Sequence[str], table: str, items: pd.DataFrame) -> list[str]:
    """What of a user's table of replies is for none of the items; nothing where no role is `recorded`, or the sample's replies are used.

    Parameters
    ----------
    names : the models in all roles.

    Raises
    ------
    sources.SourceError : the table has no reply to any item.
    """
    if "recorded" not in names or not table:
        return []
    known = replies(table)[1]
    # A judge also labels answers that belong to no item (`stages.as_answers`).
    strange = known.loc[~known["item_id"].isin(items["item_id"]) & (known["stage"] != "judge"), "item_id"]
    if not known["item_id"].isin(items["item_id"]).any():
        raise SourceError(
            f"{table}: no reply to any of the {len(items)} items, whose item_id are {items['item_id'].iloc[0]!r} and so on; "
            f"the table has {', '.join(map(repr, known['item_id'].unique()[:3])) or 'no rows'}"
        )
    if strange.empty:
        return []
    said = of(len(strange), len(known), "recorded reply", "is", "are", "recorded replies")
    return [f"{said} to none of the items, e.g. {strange.iloc[0]!r} in row {strange.index[0]}."]


def calls_of(run: Any) -> pd.DataFrame:
    """All calls of a run's steps below each other; opened by hand with none, the recorded replies of the sample without their prompts."""
    import pandas as pd

    found = [run.read(name) for name in ("calls_explain", "calls_plausibility", "calls_faithfulness") if run.has(name)]
    if found:
        return pd.concat(found, ignore_index=True)
    known = replies("", run)[1]
    return calls_table(known.drop(columns="problem").to_dict("records"))
