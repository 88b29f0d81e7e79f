"""`recorded` and `reference`: replies and labels that are read from a table instead of asked from a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from factlab.models.base import Call, ModelError, Reply
from factlab.text import normalise

_KEYS = ("unit", "claim", "question", "prompt", "text")
_VALUES = {"recorded": ("response", "reply", "answer", "output"), "reference": ("verdict", "label")}


class Table:
    """A model whose replies stand in a table.

    Parameters
    ----------
    kind : 'recorded' (texts) or 'reference' (labels).
    table : a DataFrame, or the path of a CSV, JSON-lines or parquet file. One column says what was asked (unit, claim, question,
        prompt or text; item_id names it, beside such a column or instead), one what the answer is (recorded: response, reply,
        answer or output; reference: verdict or label); for recorded replies an optional `finish_reason` says whether the model stopped by itself, and `subject` or `model` which one it
        was.
    """

    scores_labels = True
    is_chat = True

    def __init__(self, kind: str, table: Any) -> None:
        self.name = kind
        if table is None:
            raise ModelError(f"{kind!r} needs a table of replies: give its path")
        if isinstance(table, str | Path):
            from factlab import sources

            self._where = str(table)
            table = sources.read_table(table)[0]
        else:
            self._where = "the given table"
        # Some ask by the name of an item, some by its text: a table that has both answers either.
        asked = [c for c in ("item_id", next((c for c in _KEYS if c in table.columns), "")) if c in table.columns]
        answer = next((c for c in _VALUES[kind] if c in table.columns), None)
        if not asked or answer is None:
            raise ModelError(
                f"{self._where}: {kind!r} wants a column out of item_id, {', '.join(_KEYS)} and one out of "
                f"{', '.join(_VALUES[kind])}; it has {', '.join(map(str, table.columns))}"
            )
        finish = table["finish_reason"] if "finish_reason" in table.columns else [None] * len(table)
        wrote = next((table[c] for c in ("subject", "model") if c in table.columns), [None] * len(table))
        # Several rows for one question are its samples, in the order of the table.
        self._rows: dict[str, list[tuple[str, str, str]]] = {}
        named = zip(*(table[c] for c in asked), strict=True)
        for names, text, end, who in zip(named, table[answer], finish, wrote, strict=True):
            # A label may be a truth value or a number in a DataFrame; an empty cell (None, NaN) is no answer.
            if text is not None and text == text:
                end = end if isinstance(end, str) and end else "stop"
                who = who if kind == "recorded" and isinstance(who, str) and who else kind
                for name in {normalise(name) for name in names if isinstance(name, str)}:
                    self._rows.setdefault(name, []).append((str(text), end, who))

    def identity(self) -> dict[str, Any]:
        return {"table": self._where}

    def run(self, calls: Sequence[Call], on_reply: Callable[[int, Reply], None]) -> None:
        for i, call in enumerate(calls):
            asked = call.about if call.about is not None else call.prompt or call.messages[-1]["content"]
            rows = self._rows.get(normalise(asked), [])
            if call.sample >= len(rows):
                what = "no row" if not rows else f"only {len(rows)} row(s)"
                on_reply(i, Reply(finish="error", error=f"{self._where} has {what} for: {asked[:80]}"))
                continue
            text, end, who = rows[call.sample]
            logprobs = None
            if "labels" in call.params:
                # A table may say True, or cardiology, where the label is written otherwise.
                spelled = {label.casefold(): label for label in call.params["labels"]}
                text = spelled.get(text.strip().casefold(), text.strip())
                if text not in call.params["labels"]:
                    on_reply(
                        i, Reply(finish="error", error=f"{self._where}: {text!r} is none of {call.params['labels']}")
                    )
                    continue
                logprobs = {label: 0.0 if label == text else float("-inf") for label in call.params["labels"]}
            on_reply(i, Reply(text, end, model=who, logprobs=logprobs))
