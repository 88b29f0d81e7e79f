"""Which items stay (40_audit): flags, the consistency screen, and what cues are left (MS-Exam-Gen, section III.C).

Items and their passages go in. The deterministic flags are those of `exam.audit`; the screen asks a model, as published one of the
builder's own family, whether an item can be answered, whether key and explanation agree with the passages, and whether the key is the
only right option. Items with a major problem are rejected. Passing says nothing of clinical correctness.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from factlab import exam
from factlab.exam import Item
from factlab.models import prompts
from factlab.replies import Parsed, parse_json, strip_reasoning
from factlab.studies.ms_exam_gen.endpoints import offered, same_model
from factlab.studies.ms_exam_gen.topics import numbered
from factlab.studies.ms_exam_gen.writing import item_texts

if TYPE_CHECKING:
    import pandas as pd

    from factlab.models import Model
    from factlab.runs import Workspace
    from factlab.studies.ms_exam_gen.corpus import Index

CHECKS = ("answerable", "key_agrees", "explanation_agrees", "unique")
SEVERITY = ("none", "minor", "major")
VERDICTS = ("pass", "minor", "major", "unread")
# Near duplicates stay, as published: their flags are kept for a person to see.
EXCLUDE = ("schema", "phrasing", "label", "contradiction", "exact_duplicate", "trivia", "cue", "evidence")
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": dict.fromkeys(CHECKS, {"type": "boolean"})
    | {"severity": {"type": "string", "enum": list(SEVERITY)}, "reason": {"type": "string"}},
    "required": [*CHECKS, "severity", "reason"],
    "additionalProperties": False,
}
STAGES = {"first": "as first written", "after": "as audited", "kept": "after exclusion"}


def bank(run: Workspace, path: str = "") -> tuple[list[Item], str]:
    """The items to audit, and where they are from: 'file', 'run' (what 30_write_items wrote) or 'sample'.

    Raises
    ------
    exam.ChangedBankError : the file has a lock and is not what was locked.
    """
    from factlab.studies.ms_exam_gen.banks import sample_bank

    if path:
        return exam.read_bank(run.used(path)), "file"
    if run.has("written"):
        return exam.from_table(run.read("written"), "the table written"), "run"
    run.banner(
        "No step before this one wrote items, so this page audits the hand-written sample bank (ms_exam_gen/bank.csv): 96 items, 16 of "
        "them with a deliberate fault. Run 10 to 30, or name a bank of your own."
    )
    return sample_bank(run), "sample"


def first_drafts(run: Workspace) -> list[Item]:
    """What could be read of the first drafts, before any repair; empty where 30_write_items has not run."""
    from factlab.studies.ms_exam_gen.writing import as_first

    return (
        as_first(exam.from_table(run.read("first_drafts"), "the table first_drafts")) if run.has("first_drafts") else []
    )


def passages(run: Workspace, sources: str, origin: str) -> dict[str, str]:
    """The texts in which evidence is looked for, by the names that items give them: passages by id, and whole documents by file.

    Parameters
    ----------
    run : Workspace
    sources : folder of documents; empty: those of the run, or the sample notes for the sample bank.
    origin : from `bank`.

    Returns
    -------
    dict : empty for a bank from a file whose sources are not named and whose run has none; then evidence is not checked.
    """
    from factlab import places
    from factlab.sources import corpus

    found: dict[str, str] = {}
    if run.has("chunks"):
        chunks = run.read("chunks")
        found |= dict(zip(chunks["chunk_id"], chunks["text"], strict=True))
    folder = sources or (str(places.samples("ms_exam_gen", "sources")) if origin == "sample" else "")
    if folder:
        documents, _ = corpus.read_corpus(run.used(folder), references="keep")
        found |= {document.file: document.text for document in documents}
    return found


def vectors(items: Sequence[Item], retriever: str, mode: str = "cache") -> Any:
    """Embeddings of the items for semantic duplicates; None where there is no embedder or no synthesis item to compare."""
    if retriever in ("", "bm25", "none") or not any(item.label == "synthesis" for item in items):
        return None
    from factlab.models import embed

    return embed.load(retriever, mode=mode).encode(item_texts(items), progress=False).vectors


# --- the consistency screen ----------------------------------------------------------------------------------------------------------


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


def consistency(
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


def overlap(panel: Iterable[str], made_by: Iterable[str]) -> pd.DataFrame:
    """Models of a panel that built or screened the bank, whose scores stay out of the primary results.

    Parameters
    ----------
    panel : names of models, or lines as of `endpoints`.
    made_by : names of models; the server they are on and capitals make no difference.

    Returns
    -------
    DataFrame : model, overlaps (bool), primary (its opposite).
    """
    import pandas as pd

    made = {same_model(name) for name in builders(made_by)}
    models = [line.split("=")[-1].split("|")[0].strip() for line in panel]
    rows = [(name, same_model(name) in made, same_model(name) not in made) for name in dict.fromkeys(models)]
    return pd.DataFrame(rows, columns=["model", "overlaps", "primary"])


# --- what stays ----------------------------------------------------------------------------------------------------------------------


def decide(
    items: Sequence[Item],
    flags: pd.DataFrame,
    exclude: Sequence[str],
    verdicts: pd.DataFrame | None = None,
    unread: str = "keep",
) -> pd.DataFrame:
    """One row an item: whether it stays, and why not.

    Parameters
    ----------
    items : sequence of Item
    flags : from `exam.audit`.
    exclude : flags or groups that put an item out.
    verdicts : from `consistency`; None: no model was asked.
    unread : what becomes of an item whose verdict could not be read, 'keep' or 'reject'.

    Returns
    -------
    DataFrame : row, item_id, label, topic, kept, reasons, flags, verdict ('' where no model was asked), and of the screen answerable,
    key_agrees, explanation_agrees, unique, reason, status, context, passages, shown.
    """
    import pandas as pd

    if unread not in ("keep", "reject"):
        raise ValueError(f"unread is {unread!r}; it can be 'keep' or 'reject'")
    table = exam.screen(items, flags, exclude)
    added = [*CHECKS, "reason", "status", "context", "passages", "shown"]
    if verdicts is None:
        table["verdict"] = pd.array([""] * len(table), dtype="str")
        for name in added:
            kind = "boolean" if name in CHECKS else "str"
            table[name] = pd.array([None if name in CHECKS else ""] * len(table), dtype=kind)
        return table
    table["verdict"] = verdicts["verdict"].to_numpy()
    table["verdict"] = table["verdict"].astype("str")
    for name in added:
        table[name] = verdicts[name].array
    out = {"major": "major inconsistency"} | ({"unread": "no verdict"} if unread == "reject" else {})
    for row, verdict in enumerate(table["verdict"]):
        if verdict in out:
            table.loc[row, "kept"] = False
            table.loc[row, "reasons"] = ", ".join(filter(None, [table.loc[row, "reasons"], out[verdict]]))
    return table


def planted(items: Sequence[Item], decided: pd.DataFrame) -> pd.DataFrame:
    """Faults that were built into a bank, and what became of them.

    Returns
    -------
    DataFrame : fault, items, flagged (by any flag), put_out, flags (which), with a last row for the items without such a fault; empty for
    a bank in which no item has a mark.
    """
    import pandas as pd

    kinds = [re.sub(r" of .*", "", item.mark) for item in items]
    rows = []
    for kind in [*dict.fromkeys(k for k in kinds if k), *([""] if any(kinds) else [])]:
        own = decided[[k == kind for k in kinds]]
        named = ", ".join(dict.fromkeys(f for cell in own["flags"] for f in cell.split(", ") if f))
        rows.append(
            (kind or "(none built in)", len(own), int((own["flags"] != "").sum()), int((~own["kept"]).sum()), named)
        )
    return pd.DataFrame(rows, columns=["fault", "items", "flagged", "put_out", "flags"])


def kept_items(items: Sequence[Item], decided: pd.DataFrame) -> list[Item]:
    """The items that stay."""
    return [item for item, kept in zip(items, decided["kept"], strict=True) if kept]


def examples(items: Sequence[Item], flags: pd.DataFrame) -> pd.DataFrame:
    """The first item of each flag: flag, item_id, question, key (its text), detail."""
    first = flags.drop_duplicates("flag")[["flag", "row", "item_id", "detail"]].reset_index(drop=True)
    own = [items[row] for row in first["row"]]
    first["question"] = [item.question for item in own]
    first["key"] = [item.options[item.key_number] if item.key_number >= 0 else "" for item in own]
    return first[["flag", "item_id", "question", "key", "detail"]]


def flag_counts(flags: pd.DataFrame) -> pd.DataFrame:
    """flag, items: for a figure."""
    return flags["flag"].value_counts(sort=False).rename_axis("flag").reset_index(name="items")


def duplicates(items: Sequence[Item], flags: pd.DataFrame, decided: pd.DataFrame) -> pd.DataFrame:
    """Pairs of items that ask nearly the same, which the rule may leave in: flag, value, item_id, kept, question, like (the other one)."""
    import pandas as pd

    own = flags[flags["group"] == "duplicate"]
    rows = [
        (flag, value, items[row].id, bool(decided.at[row, "kept"]), items[row].question, items[other].question)
        for flag, value, row, other in own[["flag", "value", "row", "other"]].itertuples(index=False)
    ]
    return pd.DataFrame(rows, columns=["flag", "value", "item_id", "kept", "question", "like"])


def stages(run: Workspace, items: Sequence[Item], kept: Sequence[Item]) -> dict[str, Sequence[Item]]:
    """The banks that the probe compares: first drafts where there are any, the items that were audited, those that stay."""
    first = first_drafts(run)
    return ({"first": first} if first else {}) | {"after": items, "kept": kept}


# --- cues that are left --------------------------------------------------------------------------------------------------------------


def cues(stages: Mapping[str, Sequence[Item]], *, permutations: int = 199, seed: int = 0) -> pd.DataFrame:
    """How often the key is found from the looks of the options, at each stage of a bank.

    Parameters
    ----------
    stages : banks by stage, of `STAGES`.
    permutations : of the keys, for the test against chance; 0: no test.
    seed : of bootstrap and permutations.

    Returns
    -------
    DataFrame : stage, cue ('structure', 'both', 'longest_key'), value, low, high, chance, p (one-sided; missing for longest_key, which
    has no test), n, status, reason. Missing with a reason where a stage has no items, or no two topics.
    """
    import pandas as pd

    rows = []
    for stage, given in stages.items():
        items = [item for item in given if item.key_number >= 0 and len(item.options) == len(exam.LETTERS)]
        groups = [item.topic for item in items]
        for cue in ("structure", "both", "longest_key"):
            row: dict[str, Any] = {
                "stage": stage,
                "cue": cue,
                "value": None,
                "low": None,
                "high": None,
                "chance": None if cue == "longest_key" else 0.25,
                "p": None,
            }
            row |= {"n": len(items), "status": "undefined", "reason": _why(items, groups)}
            # The share of longest keys needs no selector.
            if items and (cue == "longest_key" or not row["reason"]):
                found = (
                    exam.longest_key(items, groups, seed=seed)
                    if cue == "longest_key"
                    else exam.cue_probe(items, groups, cue, seed=seed)
                )
                row |= {"value": found.value, "low": found.low, "high": found.high, "status": "scored", "reason": ""}
                if permutations and cue != "longest_key":
                    row["p"] = float(
                        exam.cue_test(items, groups, cue, permutations=permutations, seed=seed)["p"].iloc[0]
                    )
            rows.append(row)
    table = pd.DataFrame(rows)
    for name in ("value", "low", "high", "chance", "p"):
        table[name] = pd.array([None if v is None or v != v else float(v) for v in table[name]], dtype="Float64")
    return table


def _why(items: Sequence[Item], groups: Sequence[str]) -> str:
    if not items:
        return "no items"
    return "" if len(set(groups)) > 1 else "all items are of one topic, so none can be left out"


def cue_table(found: pd.DataFrame) -> pd.DataFrame:
    """The same, one row a cue and columns for each stage, for `figures.cue_bars`."""
    import pandas as pd

    rows = []
    for cue, own in found.groupby("cue", sort=False):
        row: dict[str, Any] = {"cue": cue, "chance": own["chance"].iloc[0]}
        for stage in own.to_dict("records"):
            name = stage["stage"]
            row |= {
                name: stage["value"],
                f"{name}_low": stage["low"],
                f"{name}_high": stage["high"],
                f"n_{name}": stage["n"],
            }
        rows.append(row)
    table = pd.DataFrame(rows)
    return table.astype({c: "Float64" for c in table.columns if c != "cue" and not c.startswith("n_")})


def cue_sentence(found: pd.DataFrame) -> str:
    """What the probe found, in words."""
    said = []
    for stage, own in found[found["cue"] == "structure"].groupby("stage", sort=False):
        row = own.iloc[0]
        name = STAGES.get(stage, stage)
        if row["status"] != "scored":
            said.append(f"{name}: undefined ({row['reason']})")
            continue
        p = "" if _missing(row["p"]) else f", p {row['p']:.3g}"
        said.append(f"{name}: {row['value']:.0%} of {row['n']} keys{p}")
    return "from the structure of the options, with 25 % by chance: " + "; ".join(said)


def _missing(value: Any) -> bool:
    import pandas as pd

    return bool(pd.isna(value))


def sentence(items: Sequence[Item], decided: pd.DataFrame) -> str:
    """How many items stay, in words."""
    flagged = (decided["flags"] != "").sum()
    major = (decided["verdict"] == "major").sum()
    screened = f", {major} with a major inconsistency" if (decided["verdict"] != "").any() else ""
    return f"{int(decided['kept'].sum())} of {len(items)} items stay; {flagged} are flagged{screened}"


def warnings(
    items: Sequence[Item],
    decided: pd.DataFrame,
    flags: pd.DataFrame,
    found: pd.DataFrame,
    screener: str,
    builder: str,
    origin: str,
) -> list[str]:
    """What to distrust in an audit, from the numbers."""
    notes = []
    if origin == "sample":
        notes.append(
            "The bank is the sample, written by a language model and reviewed by no clinician; 16 faults were built in."
        )
    for flag, reason in list(flags.attrs.get("not_checked", {}).items())[:1]:
        more = len(flags.attrs["not_checked"]) - 1
        notes.append(f"{flag} was not looked for: {reason}{f'; nor were {more} more flags' if more else ''}.")
    if not items:
        return [*notes, "There are no items to audit."]
    if screener in ("", "none"):
        notes.append(
            "No model screened the items: two right options, or a key that the passages do not bear out, go unseen."
        )
    else:
        unread = (decided["verdict"] == "unread").sum()
        if unread:
            notes.append(
                f"{unread} of {len(items)} verdicts of the screen are missing: {decided.loc[decided['verdict'] == 'unread', 'status'].value_counts().index[0]}."
            )
        if builder and same_model(builder) == same_model(screener):
            notes.append(
                "The screener is the model that built the items, as published: it may share the builder's errors."
            )
        notes.append("Passing the screen says that one model sees no contradiction, not that an item is right.")
    missed = sum(bool(item.mark) and not flag for item, flag in zip(items, decided["flags"], strict=True))
    if missed:
        notes.append(
            f"{missed} of {sum(bool(item.mark) for item in items)} built-in faults carry no flag: rules do not see them."
        )
    for row in found[(found["cue"] != "longest_key") & (found["status"] == "scored")].to_dict("records"):
        if row["stage"] == "kept" and not _missing(row["p"]) and row["p"] <= 0.05:
            notes.append(
                f"Keys can still be told from the {'structure of the options' if row['cue'] == 'structure' else 'structure and the stem'} in {row['value']:.0%} of the items that stay (p {row['p']:.3g})."
            )
        if row["stage"] == "kept" and row["n"] < 200:
            notes.append(
                f"The probe learns from {row['n']} items: it can miss a cue, and its share is known to about {_half(row)} points either way."
            )
            break
    return notes


def _half(row: Mapping[str, Any]) -> str:
    return "an unknown number of" if _missing(row["low"]) else f"{50 * (row['high'] - row['low']):.0f}"
