"""Which items stay (40_audit): MS-Exam-Gen, section III.C.

Items and their passages go in. The deterministic flags are those of `exam.audit`, the verdicts those of `consistency`: an item is out
that has a flag named in `exclude` or a major problem.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from factlab import exam
from factlab.exam import Item
from factlab.studies.ms_exam_gen.consistency import CHECKS
from factlab.studies.ms_exam_gen.cue_stages import CUES, FEWEST
from factlab.studies.ms_exam_gen.endpoints import same_model
from factlab.studies.ms_exam_gen.writing import item_texts

if TYPE_CHECKING:
    import pandas as pd

    from factlab.runs import Workspace
    from factlab.studies.ms_exam_gen.corpus import Index

# Near duplicates stay, as published: their flags are kept for a person to see.
EXCLUDE = ("schema", "phrasing", "label", "contradiction", "exact_duplicate", "trivia", "cue", "evidence")


# What a bank of one's own may hold nowhere, because nobody asked for it.
_OPTIONAL = ("no_metadata", "no_explanation", "no_evidence")


def bank(run: Workspace, path: str = "") -> tuple[list[Item], str, pd.DataFrame]:
    """The items to audit, where they are from ('file', 'run': what 30_write_items wrote, or 'sample'), and what looked odd in the file.

    Raises
    ------
    exam.ChangedBankError : the file has a lock and is not what was locked.
    """
    import pandas as pd

    from factlab.studies.ms_exam_gen.banks import sample_bank

    if path:
        items, problems = exam.read_bank_table(run.used(path))
        return items, "file", problems
    none = pd.DataFrame(columns=["row", "column", "problem"])
    if run.has("written"):
        return exam.from_table(run.read("written"), "the table written"), "run", none
    run.banner(
        "No step before this one wrote items, so this page audits the sample bank (ms_exam_gen/bank.csv), written by a language model: 96 items, 16 of "
        "them with a deliberate fault. Run 10 to 30, or name a bank of your own."
    )
    return sample_bank(run), "sample", none


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


def index(
    run: Workspace, sources: str, origin: str, retriever: str, store: str, mode: str, max_cost_usd: float | None
) -> Index | None:
    """The passages in which those for an item without a stored one are looked for: those of the run, of a folder, or the sample notes.

    Parameters
    ----------
    sources, origin : as for `passages`.
    retriever, store, mode, max_cost_usd : of `corpus.make`.

    Returns
    -------
    Index : None for a bank from a file whose sources are not named and whose run has none.
    """
    from factlab.studies.ms_exam_gen import banks, corpus

    if not (run.has("chunks") or sources or origin == "sample"):
        return None
    return corpus.make(run, banks.chunk_table(run, sources), retriever, store, mode, max_cost_usd)[0]


def vectors(items: Sequence[Item], retriever: str, mode: str = "cache") -> Any:
    """Embeddings of the items for semantic duplicates; None where there is no embedder or no synthesis item to compare."""
    if retriever in ("", "bm25", "none") or not any(item.label == "synthesis" for item in items):
        return None
    from factlab.models import embed

    return embed.load(retriever, mode=mode).encode(item_texts(items), progress=False).vectors


# --- what stays ----------------------------------------------------------------------------------------------------------------------


def decide(
    items: Sequence[Item],
    flags: pd.DataFrame,
    exclude: Sequence[str],
    verdicts: pd.DataFrame | None = None,
    unread: str = "keep",
    origin: str = "run",
) -> pd.DataFrame:
    """One row an item: whether it stays, and why not.

    Parameters
    ----------
    items : sequence of Item
    flags : from `exam.audit`.
    exclude : flags or groups that put an item out.
    verdicts : from `consistency`; None: no model was asked.
    unread : what becomes of an item whose verdict could not be read, 'keep' or 'reject'.
    origin : from `bank`; of a file see `spared`.

    Returns
    -------
    DataFrame : row, item_id, label, topic, kept, reasons, flags, own_id, verdict ('' where no model was asked), and of the screen answerable,
    key_agrees, explanation_agrees, unique, reason, status, context, passages, shown.
    """
    import pandas as pd

    if unread not in ("keep", "reject"):
        raise ValueError(f"unread is {unread!r}; it can be 'keep' or 'reject'")
    left = spared(items, flags, exclude, origin)
    table = exam.screen(items, flags, exclude)
    if left:
        rule = [flag for flag, (group, _) in exam.FLAGS.items() if {flag, group} & set(exclude) and flag not in left]
        table = exam.screen(items, flags, rule)
    table["own_id"] = [item.own_id for item in items]
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


def spared(items: Sequence[Item], flags: pd.DataFrame, exclude: Sequence[str], origin: str) -> list[str]:
    """Flags that put no item of a file out although their group is excluded: what the whole bank lacks is no fault of an item.

    A flag that `exclude` names itself counts all the same.
    """
    if origin != "file":
        return []
    rows = flags.groupby("flag")["row"].nunique()
    grouped = [flag for flag in _OPTIONAL if exam.FLAGS[flag][0] in exclude and flag not in exclude]
    return [flag for flag in grouped if rows.get(flag, 0) == len(items) > 0]


def reasons(decided: pd.DataFrame) -> str:
    """What put items out, most frequent first, each with how many items; an item may have several."""
    why = decided.loc[~decided["kept"].astype(bool), "reasons"].str.split(", ").explode().value_counts()
    return ", ".join(f"{name} {count}" for name, count in why.items())


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


def left_out(items: Sequence[Item], decided: pd.DataFrame) -> pd.DataFrame:
    """The items that do not stay: own_id, label, topic, question, reasons."""
    out = decided[~decided["kept"]]
    return out.assign(question=[items[row].question for row in out["row"]])[
        ["own_id", "label", "topic", "question", "reasons"]
    ]


def examples(items: Sequence[Item], flags: pd.DataFrame) -> pd.DataFrame:
    """The first item of each flag: flag, detail, question, key (its text)."""
    first = flags.drop_duplicates("flag")[["flag", "row", "item_id", "detail"]].reset_index(drop=True)
    own = [items[row] for row in first["row"]]
    first["question"] = [item.question for item in own]
    first["key"] = [item.options[item.key_number] if item.key_number >= 0 else "" for item in own]
    return first[["flag", "detail", "question", "key"]]


def flag_counts(flags: pd.DataFrame) -> pd.DataFrame:
    """flag (what it means), items: for a figure."""
    counts = flags["flag"].map(lambda flag: exam.FLAGS[flag][1]).value_counts(sort=False)
    return counts.rename_axis("flag").reset_index(name="items")


def duplicates(items: Sequence[Item], flags: pd.DataFrame, decided: pd.DataFrame) -> pd.DataFrame:
    """Pairs of items that ask nearly the same, which the rule may leave in: flag, value, item_id, kept, question, like (the other one)."""
    import pandas as pd

    own = flags[flags["group"] == "duplicate"]
    rows = [
        (flag, value, items[row].id, bool(decided.at[row, "kept"]), items[row].question, items[other].question)
        for flag, value, row, other in own[["flag", "value", "row", "other"]].itertuples(index=False)
    ]
    return pd.DataFrame(rows, columns=["flag", "value", "item_id", "kept", "question", "like"])


# --- what the page says --------------------------------------------------------------------------------------------------------------


def sentence(items: Sequence[Item], decided: pd.DataFrame) -> str:
    """How many items stay, in words."""
    flagged = (decided["flags"] != "").sum()
    major = (decided["verdict"] == "major").sum()
    screened = f", {major} with a major inconsistency" if (decided["verdict"] != "").any() else ""
    none = "" if decided["kept"].any() or not len(items) else f" (put out by {reasons(decided)})"
    return f"{int(decided['kept'].sum())} of {len(items)} items stay{none}; {flagged} are flagged{screened}"


def warnings(
    items: Sequence[Item],
    decided: pd.DataFrame,
    flags: pd.DataFrame,
    found: pd.DataFrame,
    screener: str,
    builder: str,
    origin: str,
    exclude: Sequence[str] = (),
) -> list[str]:
    """What to distrust in an audit, from the numbers."""
    import pandas as pd

    notes = []
    if left := spared(items, flags, exclude, origin):
        notes.append(
            f"Every item of this bank is flagged {', '.join(left)}: what a whole bank lacks was no reason to leave items out. Name the flag itself "
            "in `exclude` to leave them out all the same."
        )
    if origin == "sample":
        notes.append(
            "The bank is the sample, written by a language model and reviewed by no clinician; 16 faults were built in."
        )
    for flag, reason in list(flags.attrs.get("not_checked", {}).items())[:1]:
        more = len(flags.attrs["not_checked"]) - 1
        notes.append(f"{flag} was not looked for: {reason}{f'; nor were {more} more flags' if more else ''}.")
    if not items:
        return [*notes, "There are no items to audit."]
    if not decided["kept"].any():
        notes.insert(
            0, f"No item stays ({reasons(decided)}): there is nothing to lock, and no exam to sit. Take from `exclude` what should put no item out."
        )  # fmt: skip
    if screener in ("", "none"):
        notes.append(
            "No model screened the items: two right options, or a key that the passages do not bear out, go unseen."
        )
    else:
        unread = decided.loc[decided["verdict"] == "unread", "status"].value_counts()
        if len(unread):
            words = {"undefined": "without a passage to judge by"}
            why = ", ".join(f"{n} {words.get(status, status)}" for status, n in unread.items())
            notes.append(f"{unread.sum()} of {len(items)} verdicts of the screen are missing: {why}.")
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
    probe = found[(found["cue"] != "longest_key") & (found["status"] == "scored")]
    for row in probe[probe["stage"] == "kept"].to_dict("records"):
        if not pd.isna(row["p"]) and row["p"] <= 0.05:
            notes.append(
                f"Keys can still be told from the {CUES[row['cue']]} in {100 * row['value']:.0f} % of the items that stay (p {row['p']:.3g})."
            )
    if not len(probe):
        notes.append(f"The probe for cues was not made: it needs {FEWEST} items and two topics.")
    elif (last := probe[probe["stage"] == probe["stage"].iloc[-1]].iloc[0])["n"] < 200:
        known = (
            ""
            if pd.isna(last["low"])
            else f", and its share is known to about {50 * (last['high'] - last['low']):.0f} points either way"
        )
        notes.append(f"The probe learns from {last['n']} items: it can miss a cue{known}.")
    return notes
