"""Models and calls of LExT's notebooks: recorded replies, and the calls that the steps of a run wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from factlab.studies.lext.calls import calls_table

if TYPE_CHECKING:
    import pandas as pd

    from factlab.models import Model


def recorded(calls: pd.DataFrame) -> pd.DataFrame:
    """Replies of earlier calls in the form that `models.load("recorded", table=…)` reads, named as `ask` names its calls.

    Parameters
    ----------
    calls : item_id, stage, number, reply and, where there are, finish_reason and model.
    """
    number = calls["number"].astype(float).astype(int)
    # As in `ask`: several replies to one prompt (explanations, paraphrases of a context) have no number in their name.
    last = number.groupby([calls["item_id"], calls["stage"]]).transform("max")
    several = (calls["stage"] == "explain") | ((calls["stage"] == "paraphrase") & (last > 0))
    tail = ("/" + number.astype(str)).where(~several, "")
    table = calls.assign(item_id=calls["item_id"] + "/" + calls["stage"] + tail, number=number)
    # Replies to one and the same prompt are found by their order.
    kept = [c for c in ("item_id", "number", "reply", "finish_reason", "model") if c in table]
    return table.sort_values("number", kind="stable")[kept].reset_index(drop=True)


def open_model(name: str, table: str = "", mode: str = "cache", run: Any = None) -> Model:
    """A model by name; `recorded` reads replies from a table with item_id, stage, number and reply.

    Parameters
    ----------
    table : path of the table; '': SmolLM2's replies to the first sample items.
    run : the workspace, in which the table is recorded as read.
    """
    from factlab import models, places, sources

    if name != "recorded":
        return models.load(name, mode=mode)
    path = table or places.samples("lext", "replies.csv")
    known = sources.read_table(
        run.used(path) if run is not None else path, required=["item_id", "stage", "number", "reply"]
    )[0]
    return models.load("recorded", table=recorded(known))


def calls_of(run: Any) -> pd.DataFrame:
    """All calls of a run's steps below each other; opened by hand with none, the recorded replies of the sample without their prompts."""
    import pandas as pd

    from factlab import places, sources

    found = [run.read(name) for name in ("calls_explain", "calls_plausibility", "calls_faithfulness") if run.has(name)]
    if found:
        return pd.concat(found, ignore_index=True)
    known = sources.read_table(
        run.used(places.samples("lext", "replies.csv")), required=["item_id", "stage", "number", "reply"]
    )[0]
    return calls_table(known.drop(columns="problem").to_dict("records"))
