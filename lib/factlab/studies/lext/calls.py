"""How a stage of LExT is put to a model: its prompts are filled and sent in one batch, its replies read and kept in one table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from factlab.models import prompts

if TYPE_CHECKING:
    import pandas as pd

    from factlab.models import Model
    from factlab.models.base import Reply


@dataclass(frozen=True)
class Stage:
    """One kind of question that is put to a model.

    Attributes
    ----------
    number : as the page counts the stages.
    role : who is asked: subject, larger or judge.
    prompt : file of the prompt; '' where it depends on the item's form.
    feeds : which metric it is for.
    """

    number: str
    role: str
    prompt: str
    feeds: str


STAGES = {
    "explain": Stage("1", "subject", "", "correctness, iterative stability"),
    "paraphrase": Stage("2a", "larger", "", "paraphrase robustness"),
    "explain_paraphrase": Stage("2b", "subject", "", "paraphrase robustness"),
    "question": Stage("3", "larger", "lext/question_from_explanation", "context relevancy"),
    "qag_questions": Stage("4a", "larger", "lext/qag_questions", "QAG"),
    "qag_answerable": Stage("4b", "subject", "lext/qag_answerable", "QAG"),
    "flip": Stage("5a", "larger", "lext/flip_explanation", "counterfactual stability"),
    "counterfactual": Stage("5b", "subject", "lext/counterfactual_answer", "counterfactual stability"),
    "keywords": Stage("6a", "subject", "lext/keywords", "contextual faithfulness"),
    "redacted": Stage("6b", "subject", "lext/redacted_answer", "contextual faithfulness"),
    "sequential": Stage("6c", "subject", "lext/redacted_answer", "contextual faithfulness"),
    "judge": Stage("6d", "judge", "lext/judge_label", "labels beside the rules'"),
}
_TEXTS = ("prompt", "system", "asked", "reply", "read", "status", "finish_reason", "error", "model")
_COLUMNS = ("item_id", "stage", "number", *_TEXTS, "prompt_tokens", "completion_tokens", "cached")
MATERIAL = ("context", "explanation", "answer")  # blanks that hold text under test, which is put between markers


def ask(
    model: Model,
    stage: str,
    rows: Sequence[dict[str, Any]],
    read: Callable[[str, dict[str, Any], str], tuple[str, str]],
    *,
    samples: int = 1,
    **settings: Any,
) -> pd.DataFrame:
    """One stage for all items: prompts filled, sent in one batch (equal ones once), replies read.

    Parameters
    ----------
    model : who is asked.
    stage : of `STAGES`.
    rows : for each prompt its item_id, number, the `blanks` of the prompt and, where they are not the stage's, `prompt` and `stage`.
    read : what to make of a reply: (text, row, user's message) to (what was read, status); the row says whether it was `cut`.
    samples : replies to each prompt; their `number` goes on from the row's.
    settings : of `Model.chat`.

    Returns
    -------
    DataFrame, one row a call: item_id, stage, number, prompt (its name), system, asked (the user's message), reply, read, status
    ('scored', 'refused', 'truncated', 'unparsable', 'unknown', 'error'), finish_reason, error, model, prompt_tokens,
    completion_tokens, cached.
    """
    sent, calls = [], []
    for row in rows:
        prompt = prompts.load(row.get("prompt") or STAGES[stage].prompt)
        # A prompt of the user's own may leave out a blank.
        values = {name: _shown(name, value) for name, value in row["blanks"].items() if name in prompt.blanks}
        message = prompt.fill(**values)
        head = [{"role": "system", "content": prompt.system}] if prompt.system else []
        sent.append([*head, {"role": "user", "content": message}])
        calls.append((row, prompt, message))
    numbered = samples == 1 and stage != "explain"  # replies to one and the same prompt are found by their order
    name = [f"{r['item_id']}/{r.get('stage', stage)}" + (f"/{r['number']}" if numbered else "") for r in rows]
    answers = model.chat(sent, samples=samples, about=name, **settings) if sent else []
    found = []
    for i, reply in enumerate(answers):
        row, prompt, message = calls[i // samples]
        where = {"item_id": row["item_id"], "stage": row.get("stage", stage), "number": row["number"] + i % samples}
        shown = {"prompt": prompt.name, "system": prompt.system or "", "asked": message}
        found.append(where | shown | _told(reply) | _read(reply, row, message, read))
    return calls_table(found)


def _shown(blank: str, value: str) -> str:
    return prompts.delimited(value, blank) if blank in MATERIAL else " ".join(value.split())


def _told(reply: Reply) -> dict[str, Any]:
    return {
        "reply": reply.text, "finish_reason": reply.finish, "error": _error(reply), "model": reply.model,
        "prompt_tokens": reply.prompt_tokens, "completion_tokens": reply.completion_tokens, "cached": reply.cached,
    }  # fmt: skip


def _error(reply: Reply) -> str:
    """Why there is no reply; a recorded one may only be marked as failed."""
    return reply.error or ("no reply was recorded" if reply.finish == "error" else "")


def _read(reply: Reply, row: dict[str, Any], message: str, read: Callable) -> dict[str, str]:
    if _error(reply):
        return {"read": "", "status": "error"}
    if reply.finish == "filter":
        return {"read": "", "status": "refused"}
    cut = reply.finish == "length"
    value, status = read(reply.text, row | {"cut": cut}, message)
    return {"read": value, "status": "truncated" if cut and not value and status == "unparsable" else status}


def calls_table(rows: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """Calls as a table, in the columns and types of `ask`, also where there is none."""
    import pandas as pd

    table = pd.DataFrame(list(rows)).reindex(columns=list(_COLUMNS))
    table[list(_TEXTS)] = table[list(_TEXTS)].astype("object").fillna("").astype("str")
    kinds = {"number": "int64", "prompt_tokens": "Int64", "completion_tokens": "Int64", "cached": "boolean"}
    return table.astype(kinds | {"item_id": "str", "stage": "str"})
