"""Asking who is cited (20_query, and what 30 and 40 ask): REASONS' queries, what their prompts give away, and their scores.

Section 4 of the paper. Records (`sources.read_citations`) and a model go in, one row a query comes out. The gold record enters a
prompt only in modes that publish it; a closed-book prompt that holds its own answer stops the run before anything is sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from factlab import attribution
from factlab.attribution.forms import words
from factlab.models import prompts
from factlab.models.base import ModelError
from factlab.retrieval import LeakError

if TYPE_CHECKING:
    import pandas as pd

    from factlab.models import Model
    from factlab.models.base import Reply
    from factlab.runs import Workspace


@dataclass(frozen=True)
class Mode:
    """How one kind of query is asked.

    Attributes
    ----------
    asks : what is asked for, 'authors' or 'title'.
    published : what of the gold record the prompt shows on purpose; '' for a closed book, whose prompt must not hold the answer.
    stands_for : where the paper has it.
    """

    asks: str
    published: str
    stands_for: str


MODES = {
    "direct": Mode("authors", "", "Table 8, Figure 3"),
    "direct_metadata": Mode("authors", "metadata", "Table 7, Figure 4"),
    "indirect": Mode("title", "", "Table 6, Figure 5"),
    "indirect_metadata": Mode("title", "metadata", "section 4"),
    "sid": Mode("title", "metadata in the second phase", "Table 9, Figure 6"),
    "direct_retrieved": Mode("authors", "retrieved documents", "Table 8, columns RM, RL, AdvRAG"),
    "indirect_retrieved": Mode("title", "retrieved documents", "Table 6, columns RM, RL"),
    "verify": Mode("title", "the record, or one put in its place", "Table 3"),
}
METADATA = ("abstract+authors", "abstract")
ESCALATE = ("pass", "oracle")


def holds(prompt: str, gold: str | Sequence[str]) -> bool:
    """Whether a prompt holds an answer: the words of a title in a row, or every name of a list.

    Parameters
    ----------
    prompt : all that the model is shown.
    gold : a title, or a list of names; capitals, accents, TeX and punctuation do not matter.
    """
    shown = (
        f" {' '.join(words.__wrapped__(prompt))} "  # a prompt is read once: not worth a place in the memory of words
    )
    wanted = [" ".join(words(part)) for part in ([gold] if isinstance(gold, str) else gold)]
    return bool(wanted) and all(part and f" {part} " in shown for part in wanted)


def messages(
    records: pd.DataFrame,
    mode: str,
    *,
    metadata: str = "abstract+authors",
    shown: pd.DataFrame | None = None,
    passages: Sequence[Sequence[str]] | None = None,
) -> tuple[list[str], str | None]:
    """What each record is asked with in a mode.

    Parameters
    ----------
    records : as `sources.read_citations` returns them.
    mode : of `MODES`, but 'sid', which asks 'indirect' and then 'indirect_metadata'.
    metadata : 'abstract+authors' (the text of section 4) or 'abstract' (the prompt printed in section 3).
    shown : (n,) rows whose cited_title, cited_abstract and cited_authors are shown instead of the records' own.
    passages : for each record the documents that a search returned, for the retrieved modes.

    Returns
    -------
    (n,) messages, and the system message that stands before each.

    Raises
    ------
    ModelError : the mode or metadata are not known, `passages` are missing, or lengths differ.
    """
    if mode not in MODES or mode == "sid":
        raise ModelError(
            f"no single prompt for the mode {mode!r}; there are {', '.join(m for m in MODES if m != 'sid')}"
        )
    if metadata not in METADATA:
        raise ModelError(f"metadata is {metadata!r}; it can be {' or '.join(map(repr, METADATA))}")
    prompt = prompts.load(f"reasons/{mode}")
    given = records if shown is None else shown
    blanks: dict[str, list[str]] = {}
    if "title" in prompt.blanks:
        blanks["title"] = [_line(title) for title in given["cited_title"]]
    if "source_title" in prompt.blanks:
        blanks |= {name: [_line(text) for text in records[name]] for name in ("source_title", "sentence")}
    if "metadata" in prompt.blanks:
        blanks["metadata"] = [_metadata(row, metadata, mode == "verify") for row in given.itertuples()]
    if "passages" in prompt.blanks:
        if passages is None:
            raise ModelError(f"the mode {mode!r} needs the passages that a search returned for each record")
        blanks["passages"] = [_documents(found) for found in passages]
    sizes = {name: len(values) for name, values in blanks.items() if len(values) != len(records)}
    if sizes:
        raise ModelError(f"{len(records)} records, but {sizes} given with them: one each is needed")
    columns = [[(blank, value) for value in values] for blank, values in blanks.items()]
    return [prompt.fill(**dict(pairs)) for pairs in zip(*columns, strict=True)], prompt.system


def _metadata(row: Any, metadata: str, whole: bool) -> str:
    lines = [f"Title: {_line(row.cited_title)}"] if whole else []
    lines.append(f"Abstract: {_line(row.cited_abstract) or '(not known)'}")
    if metadata == "abstract+authors":
        lines.append(f"Authors: {', '.join(attribution.split_authors(row.cited_authors)) or '(not known)'}")
    return "\n".join(lines)


def _documents(found: Sequence[str]) -> str:
    return "\n".join(f"Document {i}: {_line(text)}" for i, text in enumerate(found, start=1)) or "(no document found)"


def _line(text: str) -> str:
    """A text on one line: it cannot begin a line that looks like one of the prompt's own."""
    return " ".join(text.split())


def check_closed_book(records: pd.DataFrame, modes: Sequence[str]) -> None:
    """Stop before anything is sent where a closed-book prompt of one of these modes holds its own answer.

    Raises
    ------
    LeakError : the message names modes and items.
    """
    found = {}
    for mode in dict.fromkeys("indirect" if m == "sid" else m for m in modes):
        if mode in MODES and not MODES[mode].published:
            asked, system = messages(records, mode)
            held = [
                holds(f"{system or ''}\n{text}", gold) for text, gold in zip(asked, _gold(records, mode), strict=True)
            ]
            found[mode] = [item for item, bad in zip(records["item_id"], held, strict=True) if bad]
    if any(found.values()):
        raise _leak(found)


def _leak(found: dict[str, list[str]]) -> LeakError:
    def listed(items: list[str]) -> str:
        return ", ".join(map(str, items[:5])) + (f" and {len(items) - 5} more" if len(items) > 5 else "")

    said = "; ".join(f"{mode}: {listed(items)}" for mode, items in found.items() if items)
    return LeakError(
        f"{sum(map(len, found.values()))} closed-book prompts hold their own answer ({said}). Take the answer out of the sentence, or "
        "leave these records out with leaks='leave out'"
    )


def _gold(records: pd.DataFrame, mode: str) -> list[Any]:
    if MODES[mode].asks == "title":
        return list(records["cited_title"])
    return [attribution.split_authors(authors) for authors in records["cited_authors"]]


def records(run: Workspace) -> pd.DataFrame:
    """The records that 10_build_dataset wrote; in a notebook opened by hand with none, the sample, with a banner.

    Raises
    ------
    FileNotFoundError : the run has no such table; the message says what to run first.
    """
    from factlab import places, sources

    if run.has("citations") or not run.interactive:
        return run.read("citations")
    run.banner(
        "There is no table “citations” from an earlier step, so this page uses the sample sentences (reasons/citations.csv). Run "
        "10_build_dataset, or `factlab run`, to use your own."
    )
    return sources.read_citations(run.used(places.samples("reasons", "citations.csv")))[0]


def recorded(path: str | Path, check: bool = False) -> pd.DataFrame:
    """A table of recorded replies in the form that `models.load("recorded", table=…)` reads.

    Parameters
    ----------
    path : table with item_id, mode, reply and, where there are, condition (of an adversarial swap), finish_reason, model.
    check : whether every mode must be one of `MODES`.

    Returns
    -------
    DataFrame : item_id as `ask` calls each query ('reasons-01/indirect', 'reasons-01/verify/title'), mode, reply, and the rest. A reply
    of the mode 'sid' stands for both of its queries where the table has no replies to them.

    Raises
    ------
    sources.SourceError : the file cannot be read, lacks a column, or (with `check`) names a mode that is not known.
    """
    import pandas as pd

    from factlab import sources

    table = sources.read_table(path, required=["item_id", "mode", "reply"])[0].drop(columns="problem")
    unknown = sorted(set(table["mode"]) - set(MODES)) if check else []
    if unknown:
        raise sources.SourceError(f"{path}: no mode called {unknown[0]!r}; there are {', '.join(MODES)}")
    names = table["item_id"] + "/" + table["mode"]
    if "condition" in table:
        names += ("/" + table["condition"]).where(table["condition"] != "", "")
    named = table.assign(item_id=names)
    sid = table[table["mode"] == "sid"]
    stand_ins = [sid.assign(item_id=sid["item_id"] + f"/{mode}") for mode in ("indirect", "indirect_metadata")]
    return pd.concat([named, *(rows[~rows["item_id"].isin(names)] for rows in stand_ins)], ignore_index=True)


def ask(
    model: Model,
    records: pd.DataFrame,
    mode: str,
    *,
    metadata: str = "abstract+authors",
    escalate: str = "pass",
    shown: pd.DataFrame | None = None,
    passages: Sequence[Sequence[str]] | None = None,
    leaks: str = "fail",
    about: Sequence[str] | None = None,
    temperature: float = 1.0,
    top_p: float = 0.95,
    max_tokens: int = 256,
    **settings: Any,
) -> pd.DataFrame:
    """One query a record (section 4; sampling as in Table 4).

    Parameters
    ----------
    model : the subject.
    records, mode, metadata, shown, passages : as in `messages`; mode may be 'sid'.
    escalate : when SID asks a second time, with metadata: 'pass' (after a pass: what a user can do) or 'oracle' (after every answer
        that is not right, as published: it needs the gold answer).
    leaks : what to do where a closed-book prompt holds its own answer: 'fail', or 'leave out' (status 'undefined', not sent).
    about : (n,) names by which `recorded` looks replies up; default: item_id/mode.
    temperature, top_p, max_tokens, settings : of `Model.chat`.

    Returns
    -------
    DataFrame, one row a record in order: item_id, domain, source_id, mode, phase (1; 2 where SID asked again), predicted (a title, or
    names with '; ' between; '' where there is none), gold, status ('scored', 'refused' for a pass, 'truncated', 'unparsable', 'undefined'
    for a record without a gold answer or a prompt left out, 'error'), reply, finish_reason, error, model, holds_gold (does the prompt hold the gold answer), prompt_tokens,
    completion_tokens, seconds (both phases together; missing where not told; as they took when first asked, and records that share a prompt share its reply).

    Raises
    ------
    LeakError : a closed-book prompt holds its answer, before anything is sent.
    ModelError : as `messages` and `Model.chat`.

    Notes
    -----
    The phases of SID are the queries 'indirect' and 'indirect_metadata' word for word, so their replies come from the cache where those
    modes were asked before with the same settings.
    """
    kept = dict(metadata=metadata, leaks=leaks, temperature=temperature, top_p=top_p, max_tokens=max_tokens, **settings)
    if mode == "sid":
        return _sid(model, records, escalate, about, kept)
    asks = MODES[mode].asks if mode in MODES else ""
    asked, system = messages(records, mode, metadata=metadata, shown=shown, passages=passages)
    gold = list(records["cited_title" if asks == "title" else "cited_authors"])
    held = [holds(f"{system or ''}\n{text}", answer) for text, answer in zip(asked, _gold(records, mode), strict=True)]
    names = list(about) if about is not None else [f"{item}/{mode}" for item in records["item_id"]]
    barred = [h and not MODES[mode].published for h in held]
    if any(barred) and leaks == "fail":
        raise _leak({mode: [item for item, bad in zip(records["item_id"], barred, strict=True) if bad]})
    sent = [i for i, bad in enumerate(barred) if not bad]
    sampling = dict(temperature=temperature, top_p=top_p, max_tokens=max_tokens, **settings)
    replies = model.chat([asked[i] for i in sent], system=system, about=[names[i] for i in sent], **sampling)
    by_row = dict(zip(sent, replies, strict=True))
    rows = [_read(by_row.get(i), asked[i], asks) for i in range(len(asked))]
    return _table(records, mode, rows, gold, held)


def _read(reply: Reply | None, prompt: str, asks: str) -> dict[str, Any]:
    """One reply as the columns of `ask` hold it; None: the query was not sent."""
    if reply is None:
        return {"status": "undefined", "error": "the prompt holds the answer: not sent"}
    told = {
        "reply": reply.text, "finish_reason": reply.finish, "error": reply.error or "", "model": reply.model,
        "prompt_tokens": reply.prompt_tokens, "completion_tokens": reply.completion_tokens, "seconds": reply.seconds,
    }  # fmt: skip
    if not reply.ok:
        return told | {"status": "error"}
    if reply.finish == "filter":
        return told | {"status": "refused"}
    parsed = (attribution.parse_title if asks == "title" else attribution.parse_authors)(reply.text, prompt)
    cut = parsed.value is None and parsed.status != "refused" and reply.finish == "length"
    value = "; ".join(parsed.value) if isinstance(parsed.value, list) else parsed.value or ""
    return told | {"status": "truncated" if cut else parsed.status, "predicted": value}


_KINDS = {"phase": "int64", "prompt_tokens": "Int64", "completion_tokens": "Int64", "seconds": "Float64"}
_TEXTS = ("predicted", "gold", "status", "reply", "finish_reason", "error", "model")
_COLUMNS = (
    "item_id", "domain", "source_id", "mode", "phase", "predicted", "gold", "status", "reply", "finish_reason", "error", "model",
    "holds_gold", "prompt_tokens", "completion_tokens", "seconds",
)  # fmt: skip


def _table(
    records: pd.DataFrame, mode: str, rows: list[dict[str, Any]], gold: Sequence[str], held: Sequence[bool]
) -> pd.DataFrame:
    import pandas as pd

    table = pd.DataFrame(rows).reindex(columns=_COLUMNS)
    for column in ("item_id", "domain", "source_id"):
        table[column] = records[column].to_numpy()
    table = table.assign(mode=mode, phase=1, gold=list(gold), holds_gold=list(held))
    table["status"] = table["status"].where((table["gold"] != "") | (table["status"] != "scored"), "undefined")
    table[list(_TEXTS)] = table[list(_TEXTS)].astype("object").fillna("").astype("str")
    return table.astype(_KINDS | {"holds_gold": "bool"})


def _sid(
    model: Model, records: pd.DataFrame, escalate: str, about: Sequence[str] | None, kept: dict[str, Any]
) -> pd.DataFrame:
    if escalate not in ESCALATE:
        raise ModelError(f"escalate is {escalate!r}; it can be {' or '.join(map(repr, ESCALATE))}")
    if about is not None:
        raise ModelError(
            "sid asks two queries a record, whose names are item_id/indirect and item_id/indirect_metadata"
        )
    records = records.reset_index(drop=True)
    table = ask(model, records, "indirect", **kept).assign(mode="sid")
    again = table["status"] == "refused"
    if escalate == "oracle":
        right = attribution.score_items(table)["exact"].fillna(False)
        again = ~table["status"].isin(["error", "undefined"]) & ~right.astype(bool)
    if not again.any():
        return table
    second = ask(model, records[again], "indirect_metadata", **kept).assign(mode="sid", phase=2)
    second.index = table.index[again]
    for column in ("prompt_tokens", "completion_tokens", "seconds"):
        second[column] = second[column] + table.loc[again, column]
    table.loc[again, list(_COLUMNS)] = second[list(_COLUMNS)]
    return table


def score(
    answers: pd.DataFrame,
    by: str | Sequence[str] = ("mode",),
    pass_policy: str = "zero",
    variant: str = "paper",
    seed: int = 0,
    replicates: int = 1000,
) -> pd.DataFrame:
    """Hallucination rate, F1, BLEU-4 and pass percentage of each mode, and of its groups (Tables 6 to 9).

    Parameters
    ----------
    answers : as `ask` returns them, several modes below each other.
    by : columns of groups; 'mode' is always one of them. Mean and SD rows follow the groups of the last of the others.
    pass_policy, variant, seed, replicates : as in `attribution.score`; intervals resample source papers. Under "released" and
        "tables" the replies are scored as they stand, as the authors' code does.

    Returns
    -------
    DataFrame : mode, the other columns of `by`, then those of `attribution.score`.
    """
    import pandas as pd

    keys = [key for key in ([by] if isinstance(by, str) else by) if key != "mode"]
    frames = []
    for mode in dict.fromkeys(answers["mode"]):
        some = answers[answers["mode"] == mode]
        if variant != "paper":
            some = some.assign(predicted=some["reply"])
        asks_authors = MODES[mode].asks == "authors" if mode in MODES else False
        settings = dict(pass_policy=pass_policy, variant=variant, seed=seed, replicates=replicates)
        found = attribution.score(some, keys, clusters="source_id", authors=asks_authors, **settings)
        found.insert(0, "mode", mode)
        frames.append(found)
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=["mode", *keys])


def measured(answers: pd.DataFrame) -> pd.DataFrame:
    """Each answer measured by itself, for paired comparisons: what `attribution.score_items` gives, and three shares.

    Returns
    -------
    DataFrame : `answers` with f1 (0 for a pass), right, made_up (an answer that is not exactly right) and passed (0 or 1), all missing where
    there is neither an answer nor a pass.
    """
    import pandas as pd

    frames = []
    for mode in dict.fromkeys(answers["mode"]):
        some = answers[answers["mode"] == mode]
        found = attribution.score_items(some, authors=mode in MODES and MODES[mode].asks == "authors")
        passed = (found["status"] == "refused").astype("Float64")
        asked = found["status"].isin(["scored", "refused"])
        right = found["exact"].fillna(False).astype("Float64")
        shares = {
            "f1": found["f1"].where(found["status"] != "refused", 0.0), "right": right, "made_up": 1 - right - passed, "passed": passed,
        }  # fmt: skip
        frames.append(some.assign(**{name: values.where(asked) for name, values in shares.items()}))
    return pd.concat(frames, ignore_index=True) if frames else answers.assign(f1=[], right=[], made_up=[], passed=[])


def typed(answers: pd.DataFrame) -> pd.DataFrame:
    """Answers as they come from a CSV file (the recorded sample), in the types of `ask`."""
    import pandas as pd

    texts = {name: answers[name].fillna("").astype(str) for name in _TEXTS if name in answers}
    held = answers["holds_gold"].astype(str).str.casefold().isin(["true", "1", "1.0"])
    numbers = {name: pd.to_numeric(answers[name], errors="coerce").astype(kind) for name, kind in _KINDS.items()}
    return answers.assign(**texts, holds_gold=held, **numbers)
