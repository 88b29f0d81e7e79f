"""The consistency screen (40_audit): can the passages settle an item, and do they bear out its key? MS-Exam-Gen, section III.C.

A model, as published one of the builder's own family, says whether an item can be answered, whether key and explanation agree with the
passages, and whether the key is the only right option. Passing says nothing of clinical correctness.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from factlab import places
from factlab.exam import Item
from factlab.models import prompts
from factlab.replies import Parsed, parse_json, strip_reasoning
from factlab.studies.ms_exam_gen.endpoints import is_recorded, offered, read_recorded, same_model, split_name
from factlab.studies.ms_exam_gen.topics import numbered
from factlab.studies.ms_exam_gen.writing import item_texts

if TYPE_CHECKING:
    import pandas as pd

    from factlab.models import Model
    from factlab.runs import Workspace
    from factlab.studies.ms_exam_gen.corpus import Index
    from factlab.studies.ms_exam_gen.endpoints import Endpoint


CHECKS = ("answerable", "key_agrees", "explanation_agrees", "unique")
SEVERITY = ("none", "minor", "major")
VERDICTS = ("pass", "minor", "major", "unread")
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": dict.fromkeys(CHECKS, {"type": "boolean"})
    | {"severity": {"type": "string", "enum": list(SEVERITY)}, "reason": {"type": "string"}},
    "required": [*CHECKS, "severity", "reason"],
    "additionalProperties": False,
}


def gold(
    items: Sequence[Item], texts: Mapping[str, str], index: Index | None = None, k: int = 3
) -> list[dict[str, str]]:
    """The context that each item is judged by.

    Parameters
    ----------
    items : sequence of Item
    texts : passages by id, from `passages`.
    index : where an item has no stored passage, the k nearest to its stem and key are retrieved; None: it has no context then.
    k : published: 3.

    Returns
    -------
    list of dict : context ('stored', 'fresh' or 'none'), passages (ids, '; ' between), shown (the texts, as the model sees them).
    """
    found: list[dict[str, str]] = []
    for item in items:
        named = [c.strip() for e in item.evidence for c in e.chunk.split(";")]
        ids = [c for c in dict.fromkeys(named) if c in texts]
        kind = "stored" if ids else "none"
        found.append(
            {"context": kind, "passages": "; ".join(ids), "shown": numbered([texts[c] for c in ids]) if ids else ""}
        )
    bare = [number for number, own in enumerate(found) if own["context"] == "none"]
    if index is not None and bare:
        near = index.find(item_texts([items[n] for n in bare]), k)
        for query, own in near.groupby("query"):
            ids = own["chunk_id"].tolist()
            shown = numbered([index.texts[c] for c in ids])
            found[bare[int(query)]] = {"context": "fresh", "passages": "; ".join(ids), "shown": shown}
    return found


def messages(items: Sequence[Item], contexts: Sequence[Mapping[str, str]]) -> tuple[list[str], str | None]:
    """What the screener is asked about each item, and the system message."""
    prompt = prompts.load("ms_exam_gen/consistency")
    sent = []
    for item, context in zip(items, contexts, strict=True):
        key = item.options[item.key_number] if item.key_number >= 0 else "(none)"
        shown = (
            f"Question: {item.question}\n\n{offered(item)}\n\nKey: {item.key}) {key}\nExplanation: {item.explanation}"
        )
        sent.append(prompt.fill(passages=context["shown"] or "(no passage)", item=prompts.delimited(shown, "item")))
    return sent, prompt.system


def verdicts(
    model: Model,
    items: Sequence[Item],
    contexts: Sequence[Mapping[str, str]],
    *,
    temperature: float = 0.0,
    max_tokens: int = 512,
    **settings: Any,
) -> pd.DataFrame:
    """What a model says of each item beside its passages.

    Parameters
    ----------
    model : the screener; published: the builder itself, at temperature 0.0.
    items : sequence of Item
    contexts : from `gold`. An item without context is not sent.
    temperature, max_tokens, settings : of `Model.chat`.

    Returns
    -------
    DataFrame, one row an item in order: item_id, answerable, key_agrees, explanation_agrees, unique (missing where not told), severity,
    reason, verdict (of `VERDICTS`), status ('scored', 'unparsable', 'refused', 'truncated', 'error', 'undefined' without context), context,
    passages, shown (the fresh context in full, empty for a stored one), reply, error.
    """
    import pandas as pd

    kept = [number for number, context in enumerate(contexts) if context["context"] != "none"]
    sent, system = messages([items[n] for n in kept], [contexts[n] for n in kept])
    answers = (
        model.chat(sent, system=system, temperature=temperature, max_tokens=max_tokens, schema=SCHEMA, **settings)
        if sent
        else []
    )
    replies = dict(zip(kept, answers, strict=True))
    rows = []
    for number, (item, context) in enumerate(zip(items, contexts, strict=True)):
        row: dict[str, Any] = (
            {"item_id": item.id} | dict.fromkeys(CHECKS) | {"severity": "", "reason": "", "verdict": "unread"}
        )
        row |= {"status": "undefined", "context": context["context"], "passages": context["passages"]}
        row |= {"shown": context["shown"] if context["context"] == "fresh" else "", "reply": "", "error": ""}
        reply = replies.get(number)
        if reply is None:
            row["error"] = "there is no passage to judge by"
        elif not reply.ok:
            row |= {"status": "error", "error": reply.error}
        else:
            read = read_verdict(reply.text)
            cut = read.value is None and reply.finish == "length"
            row |= {"reply": reply.text, "status": "truncated" if cut else read.status} | (read.value or {})
        rows.append(row)
    columns = [
        "item_id",
        *CHECKS,
        "severity",
        "reason",
        "verdict",
        "status",
        "context",
        "passages",
        "shown",
        "reply",
        "error",
    ]
    table = pd.DataFrame(rows, columns=columns)
    texts = [c for c in columns if c not in CHECKS]
    return table.astype(dict.fromkeys(CHECKS, "boolean") | dict.fromkeys(texts, "str"))


def read_verdict(reply: str | None) -> Parsed:
    """The verdict in a reply: a JSON object, or lines such as `answerable: yes`.

    Returns
    -------
    Parsed : dict with the four checks (True, False or None), severity ('' where not told), reason and verdict; None where not all of
    the four checks can be read.

    Notes
    -----
    The verdict is 'major' where the model says so, or where a check fails and it calls the problem none or says nothing of it; 'minor'
    where it says so; else 'pass'. A failed check is never passed over because the model forgot to name its severity.
    """
    answer = strip_reasoning(reply)
    if answer.status != "scored":
        return Parsed(None, answer.status)
    parsed = parse_json(reply)
    given = {str(k).casefold(): v for k, v in parsed.value.items()} if isinstance(parsed.value, Mapping) else {}
    if not given:
        given = dict(
            re.findall(
                r"(?im)^\W*(answerable|key_agrees|explanation_agrees|unique|severity|reason)\W+(.+)$", answer.value
            )
        )
        given = {k.casefold(): v for k, v in given.items()}
    told = {name: _boolean(given.get(name)) for name in CHECKS}
    if any(value is None for value in told.values()):
        return Parsed(None, parsed.status if parsed.status != "scored" else "unparsable")
    severity = str(given.get("severity", "")).strip(" .\"'*").casefold()
    severity = severity if severity in SEVERITY else ""
    failed = not all(told.values())
    verdict = (
        "major"
        if severity == "major" or (failed and severity != "minor")
        else "minor"
        if severity == "minor"
        else "pass"
    )
    reason = " ".join(str(given.get("reason") or "").split())
    return Parsed(told | {"severity": severity, "reason": reason, "verdict": verdict}, "scored")


def _boolean(value: Any) -> bool | None:
    if isinstance(value, bool):
        return value
    word = re.match(r"\W*(true|yes|false|no)\b", str(value).casefold()) if isinstance(value, str) else None
    return None if word is None else word[1] in ("true", "yes")


def builders(names: Iterable[str]) -> list[str]:
    """The models among some names, each once: without empty ones and 'none'."""
    return [name for name in dict.fromkeys(names) if name and name != "none"]


def overlap(panel: Iterable[str], made_by: Iterable[str], recorded: Sequence[Endpoint] = ()) -> pd.DataFrame:
    """Endpoints of a panel whose model built or screened the bank: their scores stay out of the primary results.

    Parameters
    ----------
    panel : names of models, or lines as of `endpoints`.
    made_by : names of models; the server they are on and capitals make no difference.
    recorded : the endpoints that lines of recorded ones stand for, from `recorded`.

    Returns
    -------
    DataFrame : endpoint, model, overlaps (bool).
    """
    import pandas as pd

    made = {same_model(name) for name in builders(made_by)}
    rows: list[tuple[str, str]] = []
    for line in panel:
        if is_recorded(line):
            wanted = line.strip().removeprefix("recorded").lstrip("/")
            rows += [(one.name, one.name if one.model == "recorded" else one.model) for one in recorded if wanted in ("", one.name)]  # fmt: skip
        else:
            name, spec = split_name(line)
            rows.append((name, spec.split("|")[0].strip()))
    table = pd.DataFrame(rows, columns=["endpoint", "model"], dtype="str")
    return table.assign(overlaps=[same_model(name) in made for name in table["model"]])


def recorded(run: Workspace, panel: Iterable[str], path: str, items: Sequence[Item]) -> list[Endpoint]:
    """The endpoints of a table of answers, with the models that gave them, where a panel has a line for them (as 50 reads it)."""
    if not any(map(is_recorded, panel)):
        return []
    return read_recorded(run.used(path or places.samples("ms_exam_gen", "results.csv")), items)[1]


def overlap_sentence(found: pd.DataFrame, made_by: Iterable[str]) -> str:
    """How many endpoints of a panel built or screened the bank, in words."""
    if not len(found):
        return f"no panel is named yet; left out would be: {', '.join(builders(made_by)) or 'nobody'}"
    return f"{int(found['overlaps'].sum()) or 'none'} of the {len(found)} endpoints of the panel built or screened the bank"
