"""Asking the same several times: k independent replies to each prompt (CheckEmbed section 2), as one table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from factlab.models import Model, prompts, table
from factlab.models.base import ModelError

if TYPE_CHECKING:
    import pandas as pd

MATERIAL = ("text", "article", "passage")  # blanks that hold text under test, which is put between markers


def fill(prompt: str, items: pd.DataFrame) -> tuple[list[str], str | None]:
    """A prompt filled once for each row.

    Parameters
    ----------
    prompt : name ('checkembed/legal_terms') or path of a prompt file.
    items : one column for each blank of the prompt; others are passed over.

    Returns
    -------
    The user's messages, in the order of the rows, and the system message.

    Raises
    ------
    ModelError : a blank has no column.
    """
    loaded = prompts.load(prompt)
    missing = [blank for blank in loaded.blanks if blank not in items.columns]
    if missing:
        raise ModelError(
            f"prompt {prompt}: the table has no column {missing[0]!r} for its blank; it has {', '.join(map(str, items.columns))}"
        )

    def value(blank: str, cell: Any) -> str:
        return prompts.delimited(str(cell), blank) if blank in MATERIAL else str(cell)

    columns = [[(blank, value(blank, cell)) for cell in items[blank]] for blank in loaded.blanks]
    filled = [loaded.fill(**dict(pairs)) for pairs in zip(*columns, strict=True)]
    return filled or [loaded.user] * len(items), loaded.system


def ask_again(
    model: Model,
    messages: Sequence[str],
    items: Sequence[str],
    k: int = 10,
    *,
    system: str | None = None,
    temperature: float = 1.0,
    max_tokens: int = 512,
    about: Sequence[str] | None = None,
    first: int = 0,
    **settings: Any,
) -> pd.DataFrame:
    """k replies to each message, none of which knows the others.

    Parameters
    ----------
    model : who answers.
    messages, items : (n,) what is asked, and what each is called in the table.
    k : replies to each.
    system, temperature, max_tokens : as in `Model.chat`; published: temperature 1.0.
    about : by what `recorded` looks the replies up; default: the name in `items`.
    first : number of the first reply, to go on where an earlier call ended (regenerating what was rejected); the replies before it
        are not asked for.
    settings : seed, max_cost_usd and others of `Model.chat`.

    Returns
    -------
    DataFrame, one row a reply, those of one item together: item_id, sample (from `first`), reply, finish_reason, status ('' where there is
    a reply), error, model (who replied).
    """
    if k < 1 or first < 0:
        raise ModelError(f"k must be 1 or more and first 0 or more, got {k} and {first}")
    numbers = range(first, first + k)
    asked = dict(system=system, temperature=temperature, max_tokens=max_tokens, about=list(about or items))
    replies = model.chat(list(messages), samples=k, first=first, **asked, **settings)
    found = table(replies).rename(columns={"response": "reply"})
    found.insert(0, "sample", [s for _ in messages for s in numbers])
    found.insert(0, "item_id", [item for item in items for _ in numbers])
    return found[["item_id", "sample", "reply", "finish_reason", "status", "error", "model"]]


def read_items(path: str | Path) -> pd.DataFrame:
    """The texts that are asked about: item_id, text, and truth ('' where there is none).

    Raises
    ------
    sources.SourceError : no column text, a row without text, or two rows with the same item_id.
    """
    from factlab.sources import SourceError, read_table

    table, _ = read_table(path, required=["text"], optional=["item_id", "truth"])
    numbered = [f"row-{i + 1}" for i in range(len(table))]
    blank = table.index[table["text"].str.strip() == ""]
    if len(blank):
        raise SourceError(f"{path}, row {blank[0]}: text is empty; fill it in or take the row out")
    table["item_id"] = [own or number for own, number in zip(table["item_id"], numbered, strict=True)]
    twice = table.index[table["item_id"].duplicated()]
    if len(twice):
        raise SourceError(
            f"{path}, row {twice[0]}: item_id {table.loc[twice[0], 'item_id']!r} stands in an earlier row too"
        )
    return table.drop(columns="problem").reset_index(drop=True)


def ask_pairs(model: Model, topics: pd.DataFrame, **settings: Any) -> pd.DataFrame:
    """Two descriptions of every topic, and of every two neighbouring topics of one kind (CheckEmbed, Tables 1 and 2).

    Parameters
    ----------
    model : who answers.
    topics : topic_id, kind, topic.
    settings : of `Model.chat`.

    Returns
    -------
    DataFrame : pair_id, setting ('similar' or 'different'), kind, topic_1, topic_2, text_1, text_2 ('' where the reply holds no two
    passages), status, error. The last topic of a kind has the first as its neighbour; one that is alone in its kind has none.
    """
    import pandas as pd

    from factlab.stability import tasks

    frames = []
    for setting, prompt in (("similar", "checkembed/describe_same"), ("different", "checkembed/describe_two")):
        first = topics.reset_index(drop=True)
        other = first["topic"]
        if setting == "different":
            by_kind = first.groupby("kind")["topic"]
            other = by_kind.shift(-1).fillna(by_kind.transform("first"))
            first, other = (own[other != first["topic"]].reset_index(drop=True) for own in (first, other))
        asked = pd.DataFrame({"topic": first["topic"], "topic_1": first["topic"], "topic_2": other})
        messages, system = fill(prompt, asked)
        rows = []
        for reply in model.chat(messages, system=system, **settings):
            parsed = tasks.parse_pair(reply.text) if reply.ok else None
            texts = parsed.value if parsed is not None and parsed.value else ("", "")
            rows.append((*texts, parsed.status if parsed is not None else "error", reply.error))
        found = pd.DataFrame(rows, columns=["text_1", "text_2", "status", "error"])
        ids = pd.DataFrame({"pair_id": setting + "-" + first["topic_id"], "setting": setting, "kind": first["kind"]})
        frames.append(ids.join(asked[["topic_1", "topic_2"]]).join(found))
    return pd.concat(frames, ignore_index=True)


def asker(
    subject: str, prompt: str, items: pd.DataFrame, k: int = 10, mode: str = "cache", **settings: Any
) -> Callable[[Sequence[str], int], pd.DataFrame]:
    """A function that asks about some items again: the replies of round n are numbers n·k to (n + 1)·k − 1, so none is a repeat.

    Parameters
    ----------
    subject, prompt, items, k, mode, settings : as for the first replies.
    """
    from factlab import models

    model = models.load(subject, mode=mode)

    def ask(wanted: Sequence[str], number: int) -> pd.DataFrame:
        some = items.set_index("item_id").loc[list(wanted)].reset_index()
        messages, system = fill(prompt, some)
        return ask_again(model, messages, list(wanted), k, system=system, first=number * k, **settings)

    return ask
