"""Who sits the exam (50_lock_and_evaluate, 70_option_order): a panel of endpoints, each a model asked in one certain way.

MS-Exam-Gen, section IV. The paper's endpoints are models under one prompt. Here an endpoint is one line, so that a model can be
asked in several ways and something without a language model can sit beside it:

    model|prompt|scoring|book            openai/gpt-4o|answer|chat|closed
    name = model|prompt|scoring|book     GPT-4o = openai/gpt-4o|answer|chat|closed

* model: as `models.load` takes it; for `similarity` as `models.embed.load` takes it.
* prompt: `answer` (as published), `answer_short` or `answer_text` of `prompts/ms_exam_gen`, or the path of a prompt file of
  your own. `-` where nothing is asked.
* scoring: one of `SCORINGS`.
* book: `closed`, or `open`: the passages that the item cites are shown (`answer_open` in place of `answer`). For `similarity`
  the options are compared with the stem (closed) or with the passages (open).

`longest` alone is the endpoint that chooses the longest option; `recorded` alone stands for every endpoint of a table of answers,
`recorded/<name>` for one of them.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from factlab import exam
from factlab.models import prompts
from factlab.models.base import ModelError
from factlab.replies import Parsed

if TYPE_CHECKING:
    import pandas as pd

    from factlab.exam import Item
    from factlab.models import Model

SCORINGS: Mapping[str, str] = {
    "chat": "a reply is written, and the letter or option in it is read, as published",
    "choose": "the letter with the highest log-likelihood as the reply (a server: its first token, or its reply)",
    "calibrated": "as choose, with what a local model says to an empty question divided out",
    "texts": "the option whose words gain most log-likelihood from the question; local models only",
    "similarity": "the option whose embedding is nearest to the stem or the passages; an embedder, no language model",
    "longest": "the option with the most characters, of several the alphabetically first",
}
BOOKS = ("closed", "open")
NOTHING = "N/A"  # what stands in the blanks of an empty question (Zhao et al. 2021)
_ASKED = ("chat", "choose", "calibrated", "texts")
COLUMNS = ("item_id", "endpoint", "order", "reply", "choice", "status", "p_choice", "finish_reason", "error", "model")


@dataclass(frozen=True)
class Endpoint:
    """One line of a panel, see the top of this module.

    Attributes
    ----------
    name : what tables and figures call it; the line itself where it was given no name.
    model, prompt, scoring, book : `prompt` is empty where nothing is asked.
    """

    name: str
    model: str
    prompt: str
    scoring: str
    book: str

    @property
    def is_model(self) -> bool:
        """Whether a language model is asked."""
        return self.scoring in _ASKED


def read_endpoint(line: str) -> Endpoint:
    """An endpoint from its line.

    Raises
    ------
    ModelError : the line is not of the form `model|prompt|scoring|book`, or a part of it is not known.
    """
    name, spec = split_name(line)
    if spec == "longest":
        return Endpoint(name, "longest", "", "longest", "closed")
    parts = [part.strip() for part in spec.split("|")]
    if len(parts) != 4 or not parts[0]:
        raise ModelError(
            f"panel: {line!r} is no endpoint; expected model|prompt|scoring|book, such as local/smollm2|answer|chat|closed, or longest, "
            "or recorded"
        )
    model, prompt, scoring, book = parts
    if scoring not in SCORINGS or scoring == "longest":
        known = ", ".join(s for s in SCORINGS if s != "longest")
        raise ModelError(f"panel: {line!r}: the scoring {scoring!r} is none of {known}")
    if book not in BOOKS:
        raise ModelError(f"panel: {line!r}: the book is {book!r}; it can be closed or open")
    prompt = "" if prompt == "-" else prompt
    if bool(prompt) != (scoring in _ASKED):
        needed = "needs a prompt, such as answer" if scoring in _ASKED else "asks nothing: write - for its prompt"
        raise ModelError(f"panel: {line!r}: {scoring} {needed}")
    endpoint = Endpoint(name, model, prompt, scoring, book)
    if prompt:
        _prompt(endpoint)
    return endpoint


def split_name(line: str) -> tuple[str, str]:
    """The name that a line of a panel gives its endpoint, and the rest; the rest is the name where it gives none."""
    name, _, spec = line.rpartition(" = ")
    # Without spaces a sign of equality may stand in an address.
    if not name and (found := re.match(r"([^=/|]*)=(.*)", line, re.DOTALL)):
        name, spec = found.groups()
    return name.strip() or spec.strip(), spec.strip()


def read_panel(lines: Iterable[str]) -> list[Endpoint]:
    """The endpoints of a panel; lines of recorded ones are passed over (`read_recorded` reads their table).

    Raises
    ------
    ModelError : a line cannot be read, or two endpoints have one name.
    """
    found = [read_endpoint(line) for line in lines if not is_recorded(line)]
    names = [endpoint.name for endpoint in found]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ModelError(f"panel: two endpoints are called {twice[0]!r}; give each a name of its own (name = model|…)")
    return found


def is_recorded(line: str) -> bool:
    """Whether a line of a panel names recorded answers: `recorded`, or `recorded/<name>`."""
    return line.strip() == "recorded" or line.strip().startswith("recorded/")


def _prompt(endpoint: Endpoint) -> prompts.Prompt:
    """The prompt of an endpoint, its blanks checked against what the scoring and the book need."""
    own = endpoint.prompt.endswith(".md") or "/" in endpoint.prompt
    name = endpoint.prompt if own else f"ms_exam_gen/{endpoint.prompt}{'_open' * (endpoint.book == 'open')}"
    prompt = prompts.load(name)
    wanted = {"question"} | ({"passage"} if endpoint.book == "open" else set())
    wanted |= {"options"} if endpoint.scoring != "texts" else set()
    if set(prompt.blanks) != wanted:
        raise ModelError(
            f"prompt {name}: an endpoint with {endpoint.scoring}, {endpoint.book} book, fills {', '.join(sorted(wanted))}; the file has "
            f"{', '.join(sorted(prompt.blanks)) or 'no blank'}"
        )
    return prompt


def offered(item: Item) -> str:
    """The options as a prompt shows them: one a line, its letter before it."""
    return "\n".join(f"{a}. {_line(option)}" for a, option in zip(item.letters, item.options, strict=True))


def _line(text: str) -> str:
    """A text on one line: it cannot look like a line of the prompt's own."""
    return " ".join(text.split())


def message(endpoint: Endpoint, item: Item, passage: str = "", options: bool = True) -> str:
    """What an endpoint is asked about an item, options in the order that the item has.

    Parameters
    ----------
    endpoint : one that asks a language model.
    item : Item
    passage : the text shown with an open book.
    options : False leaves them out: what a reply may repeat without having answered.
    """
    prompt = _prompt(endpoint)
    values = {
        "question": _line(item.question),
        "options": offered(item) if options else "",
        "passage": prompts.delimited(passage, "passage"),
    }
    return prompt.fill(**{blank: values[blank] for blank in prompt.blanks})


def empty_message(endpoint: Endpoint) -> str:
    """The same without content, for what a model says whatever it is asked."""
    prompt = _prompt(endpoint)
    options = "\n".join(f"{letter}. {NOTHING}" for letter in exam.LETTERS)
    values = {"question": NOTHING, "options": options, "passage": prompts.delimited(NOTHING, "passage")}
    return prompt.fill(**{blank: values[blank] for blank in prompt.blanks})


# --- answers -----------------------------------------------------------------------------------------------------


def ask(
    endpoint: Endpoint,
    model: Any,
    items: Sequence[Item],
    *,
    orders: Sequence[int] | None = None,
    passages: Mapping[str, str] | None = None,
    temperature: float = 0.0,
    max_tokens: int = 16,
    seed: int = 0,
) -> pd.DataFrame:
    """One answer of an endpoint to each item.

    Parameters
    ----------
    endpoint : Endpoint
    model : `Model`, or for `similarity` an embedder; None for `longest`.
    items : with their options in the order to show.
    orders : (n,) which rotation of its bank's order each item is in, 0 to 3; default 0.
    passages : item id to the text shown with an open book.
    temperature, max_tokens, seed : of `Model.chat`; the paper has temperature 0 where it is supported.

    Returns
    -------
    DataFrame
        One row an item, in order: item_id, endpoint, order, reply (`chat` only), choice (a letter as shown; missing where none was
        read), status (`scored`; else `refused`, `truncated`, `unparsable`, `error`), p_choice (0..1, probability of the choice among
        the options; missing for `chat`), finish_reason, error, model (as it names itself).

    Raises
    ------
    ModelError : the model cannot be used at all, or not for this scoring.
    """
    import pandas as pd

    passages = passages or {}
    orders = list(orders) if orders is not None else [0] * len(items)
    open_book = endpoint.book == "open"
    asked = [i for i, item in enumerate(items) if not open_book or passages.get(item.id)]
    rows: list[dict[str, Any]] = [
        {"status": "error", "error": "the passages that the item cites were not found: not asked"} for _ in items
    ]
    if endpoint.scoring == "similarity":
        found = _similar(model, [items[i] for i in asked], [passages.get(items[i].id, "") for i in asked], open_book)
    elif endpoint.scoring == "longest":
        found = [_longest(items[i]) for i in asked]
    else:
        texts = [message(endpoint, items[i], passages.get(items[i].id, "")) for i in asked]
        about = [about_of(items[i], endpoint, orders[i]) for i in asked]
        sampling = {"temperature": temperature, "max_tokens": max_tokens, "seed": seed}
        found = _asked(endpoint, model, [items[i] for i in asked], texts, about, sampling)
    for i, row in zip(asked, found, strict=True):
        rows[i] = row
    named = [
        row | {"item_id": item.id, "endpoint": endpoint.name, "order": order}
        for row, item, order in zip(rows, items, orders, strict=True)
    ]
    return typed(pd.DataFrame(named, columns=list(COLUMNS)))


def about_of(item: Item, endpoint: Endpoint, order: int) -> str:
    """The name under which a table holds the reply of an endpoint to an item in one order."""
    return f"{item.id}/{endpoint.name}/{order}"


def typed(answers: pd.DataFrame) -> pd.DataFrame:
    """Answers in the types of `ask`, wherever they were read."""
    import pandas as pd

    out = answers.copy()
    for name in ("reply", "finish_reason", "error", "model"):
        out[name] = (out[name] if name in out else pd.Series("", index=out.index)).astype(object).fillna("").astype(str)
    if "order" not in out:
        out["order"] = 0
    out["order"] = pd.to_numeric(out["order"]).fillna(0).astype("int64")
    choice = out["choice"] if "choice" in out else pd.Series(None, index=out.index)
    letters = [c.strip() if isinstance(c, str) and c.strip() else None for c in choice]
    out["choice"] = pd.Series(letters, index=out.index, dtype=object)
    p = out["p_choice"] if "p_choice" in out else pd.Series(None, index=out.index)
    out["p_choice"] = pd.to_numeric(p, errors="coerce").astype("Float64")
    return out


def _asked(
    endpoint: Endpoint,
    model: Model,
    items: Sequence[Item],
    texts: list[str],
    about: list[str],
    sampling: dict[str, Any],
) -> list[dict[str, Any]]:
    system = _prompt(endpoint).system
    if endpoint.scoring == "chat":
        replies = model.chat(texts, system=system, about=about, **sampling)
        # "B. The cortex" repeats a line of the prompt and is an answer, so an echo is looked for in the rest of it.
        rest = [message(endpoint, item, options=False) for item in items]
        return [_read(reply, item, text) for reply, item, text in zip(replies, items, rest, strict=True)]
    empty = empty_message(endpoint)
    if endpoint.scoring != "texts":
        baseline = empty if endpoint.scoring == "calibrated" else None
        many = {"system": system, "baseline": baseline, "about": about, "max_tokens": sampling["max_tokens"]}
        return [_chosen(c, c.label, model.name) for c in model.choose(texts, list(exam.LETTERS), **many)]
    if not getattr(model.backend, "scores_labels", False):
        raise ModelError(
            f"{endpoint.name}: texts needs a local model; a server does not tell how likely a given reply is"
        )
    from factlab.models.progress import bar

    rows = []
    # The options of an item are labels of its own, so each item is a call for itself.
    with bar(len(items), f"{model.name}, option texts", True) as shown:
        for item, text, one in zip(items, texts, about, strict=True):
            texts_of = {_line(option): letter for option, letter in zip(item.options, item.letters, strict=True)}
            # Sorted, so that the item in another order of options is the same question, as it is for the model.
            labels = sorted(texts_of)
            choice = model.choose([text], labels, system=system, baseline=empty, about=[one], progress=False)[0]
            letter = texts_of.get(choice.label)
            rows.append(_chosen(choice, letter, model.name))
            shown.update(1)
    return rows


def _read(reply: Any, item: Item, prompt: str) -> dict[str, Any]:
    told = {"reply": reply.text, "finish_reason": reply.finish, "error": reply.error or "", "model": reply.model}
    if not reply.ok:
        return told | {"status": "error"}
    if reply.finish == "filter" and not reply.text.strip():
        return told | {"status": "refused"}
    parsed = exam.parse_choice(reply.text, item.options, prompt=prompt, cut=reply.finish == "length")
    return told | {"status": parsed.status, "choice": parsed.value}


def _chosen(choice: Any, letter: str | None, name: str) -> dict[str, Any]:
    status = "unparsable" if choice.status == "scored" and letter is None else choice.status
    p = (choice.probabilities or {}).get(choice.label) if letter else None
    return {"choice": letter, "status": status, "p_choice": p, "error": choice.error or "", "model": name}


def _longest(item: Item) -> dict[str, Any]:
    texts = [_line(option) for option in item.options]
    # Not the first of those shown: this endpoint must not depend on their order.
    longest = min(texts, key=lambda text: (-len(text), text))
    return {"choice": item.letters[texts.index(longest)], "status": "scored", "model": "longest"}


def _similar(embedder: Any, items: Sequence[Item], passages: Sequence[str], open_book: bool) -> list[dict[str, Any]]:
    import numpy as np

    if not items:
        return []
    against = list(passages) if open_book else [item.question for item in items]
    texts = [*against, *(option for item in items for option in item.options)]
    vectors = embedder.encode(texts).vectors
    rows, at = [], len(items)
    for number, item in enumerate(items):
        k = len(item.options)
        cosines = np.full(k, np.nan) if not vectors.shape[1] else vectors[at : at + k] @ vectors[number]
        at += k
        if np.isnan(cosines).any():
            rows.append({"status": "error", "error": "a text has no embedding", "model": embedder.name})
        else:
            # Rounded, so that the last bits of a batch of another shape do not decide between equal options.
            choice = item.letters[int(np.argmax(np.round(cosines, 6)))]
            rows.append({"choice": choice, "status": "scored", "model": embedder.name})
    return rows


# --- a table of answers ------------------------------------------------------------------------------------------


def read_recorded(path: str | Path, items: Sequence[Item]) -> tuple[pd.DataFrame, list[Endpoint]]:
    """Answers that were given before, and who gave them.

    Parameters
    ----------
    path : table with item_id (or the bank's own ids), endpoint and `choice` (a letter, or words of the kind "(b)") or `reply`
        (read anew), and, where known, order (from 0, the bank's own; 0 where it is not said), status, finish_reason, model (as
        it names itself), asked (the model as it was called, else `model`), prompt, scoring and book.
    items : the bank; rows of other items are left out.

    Returns
    -------
    The rows as `ask` gives them, and the endpoints in order of appearance (`recorded` stands for a model that is not said).
    ``attrs["strangers"]`` of the rows has the ids that are no item's, one for each row left out.

    Raises
    ------
    sources.SourceError : the file cannot be read, has neither choice nor reply, or has an order that is none; the row is named.
    """
    import pandas as pd

    from factlab import sources

    table = sources.read_table(path, required=["item_id", "endpoint"])[0].drop(columns="problem")
    if not {"choice", "reply"} & set(table.columns):
        raise sources.SourceError(f"{path}: no column choice or reply; the table has {', '.join(table.columns)}")
    table = table.astype(object).assign(item_id=_ids(table["item_id"], items, path), row=table.index)
    by_id = {item.id: item for item in items}
    inside = table["item_id"].isin(list(by_id))
    strangers = table.loc[~inside, "item_id"].tolist()
    table = table[inside].reset_index(drop=True)
    given = table.reindex(columns=["row", "item_id", "order"]).astype(object).fillna("")
    for row, item_id, order in given.itertuples(index=False):
        k = max(1, len(by_id[item_id].options))
        if order.strip() and not (re.fullmatch(r"\d+(\.0)?", order.strip()) and float(order) < k):
            raise sources.SourceError(
                f"{path}, row {row}, order: {order!r} is none of 0 to {k - 1}; orders count from 0, the bank's own"
            )
    specs = table.reindex(columns=["endpoint", "asked", "prompt", "scoring", "book"]).astype(object).fillna("")
    named = table.groupby("endpoint")["model"].unique() if "model" in table else {}
    found = [
        Endpoint(s.endpoint, s.asked or _one(named.get(s.endpoint, ())) or "recorded", s.prompt, s.scoring or "recorded", s.book)
        for s in specs.drop_duplicates("endpoint").itertuples(index=False)
    ]  # fmt: skip
    answers = typed(table)
    given = answers["status"] if "status" in answers else [""] * len(answers)
    rows = []
    for row, status in zip(answers.itertuples(), given, strict=True):
        own = by_id[row.item_id]
        if not row.reply.strip():
            letter = row.choice
            if letter and letter not in own.letters:
                letter = _parsed(letter, own, int(row.order)).value
            told = "scored" if letter else "unparsable" if row.choice else "error" if status == "scored" else status
            why = f"choice {row.choice!r} names no option (row {row.row})" if row.choice and not letter else row.error
            rows.append((letter, told or "error", why))
            continue
        parsed = _parsed(row.reply, own, int(row.order), cut=row.finish_reason == "length")
        told = status if status in ("error", "refused") and not parsed.value else parsed.status
        rows.append((parsed.value, told, row.error))
    answers["choice"] = pd.Series([letter for letter, _, _ in rows], index=answers.index, dtype=object)
    answers["status"] = [status for _, status, _ in rows]
    answers["error"] = [error for _, _, error in rows]
    answers = answers.reindex(columns=list(COLUMNS))
    answers.attrs["strangers"] = strangers
    return answers, found


def _parsed(text: str, item: Item, order: int, cut: bool = False) -> Parsed:
    """The option that a text chooses, of an item with its options in another order; none of an item that offers no choice."""
    if len(item.options) < 2:
        return Parsed(None, "unparsable")
    return exam.parse_choice(text, exam.cyclic_orders(item)[order].options, cut=cut)


def _one(names: Iterable[str]) -> str:
    """The one name among some; empty where there is none, or several."""
    known = {name.strip() for name in names if isinstance(name, str)} - {""}
    return known.pop() if len(known) == 1 else ""


def _ids(given: Iterable[str], items: Sequence[Item], path: str | Path) -> list[str]:
    """Ids of items for what a table calls them: these ids, or the bank's own. What is neither stays as it is."""
    from factlab import sources

    known = {item.id for item in items}
    of: dict[str, set[str]] = {}
    for item in items:
        of.setdefault(item.own_id.strip(), set()).add(item.id)
    out = []
    for name in (str(one).strip() for one in given):
        own = {name} if name in known else of.get(name, {name}) if name else {name}
        if len(own) > 1:
            raise sources.SourceError(
                f"{path}: the bank has {len(own)} items with the own id {name!r}; name them by {', '.join(sorted(own))}"
            )
        out.append(next(iter(own)))
    return out


def endpoint_table(panel: Sequence[Endpoint], builders: Iterable[str] = ()) -> pd.DataFrame:
    """A panel as a table.

    Parameters
    ----------
    panel : endpoints.
    builders : models that built or screened the bank.

    Returns
    -------
    DataFrame : endpoint, model, prompt, scoring, book, overlap (bool: its model is one of `builders`).
    """
    import pandas as pd

    made = {same_model(name) for name in builders if name}
    rows = []
    for e in panel:
        # A table of answers may tell no scoring, and no model but in the endpoint's name.
        own = e.name if e.model == "recorded" else e.model
        overlap = e.scoring not in ("similarity", "longest") and same_model(own) in made
        rows.append((e.name, e.model, e.prompt, e.scoring, e.book, overlap))
    return pd.DataFrame(rows, columns=["endpoint", "model", "prompt", "scoring", "book", "overlap"])


def same_model(name: str) -> str:
    """A model's name without its server and in lower case: what two names of one model share."""
    kept = name.split("@")[0].casefold().strip(string.whitespace + "/")
    return kept.removeprefix("openai/")
