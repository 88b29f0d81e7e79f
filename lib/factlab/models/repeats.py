"""Asking the same several times: k independent replies to each prompt (CheckEmbed section 2), as one table."""

from __future__ import annotations

from collections.abc import Sequence
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
    about : by what `recorded` looks the replies up; default: the message.
    first : number of the first reply, to go on where an earlier call ended (regenerating what was rejected).
    settings : seed and others of `Model.chat`.

    Returns
    -------
    DataFrame, one row a reply, those of one item together: item_id, sample (from `first`), reply, finish_reason, status ('' where there is
    a reply), error.
    """
    import pandas as pd

    asked = dict(system=system, temperature=temperature, max_tokens=max_tokens, about=about or list(messages))
    replies = model.chat(list(messages), samples=first + k, **asked, **settings)
    found = table(replies)
    found.insert(0, "sample", [s for _ in messages for s in range(first + k)])
    found.insert(0, "item_id", [item for item in items for _ in range(first + k)])
    found = found[found["sample"] >= first].rename(columns={"response": "reply"}).reset_index(drop=True)
    wanted = ["item_id", "sample", "reply", "finish_reason", "status", "error", "model"]
    return pd.DataFrame(found[[c for c in wanted if c in found.columns]])
