"""The bank that is locked, and the passages its items were written from (50_lock_and_evaluate to 80_review_queues).

MS-Exam-Gen, sections III.C and IV. Items of a run, a file or the sample go in; a bank that cannot change unnoticed comes out.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from factlab import exam, places
from factlab.exam import ChangedBankError, Item

if TYPE_CHECKING:
    import pandas as pd

    from factlab.runs import Workspace

AUDIT = "40_audit"
EVALUATE = "50_lock_and_evaluate"  # the step whose metrics name the locked bank
_SAMPLE = "ms_exam_gen"


def sample_bank(run: Workspace | None = None) -> list[Item]:
    """The 96 sample items, a fault that was built in as their mark."""
    from factlab import sources

    path = places.samples(_SAMPLE, "bank.csv")
    table = sources.read_table(run.used(path) if run else path)[0]
    return exam.from_table(table.rename(columns={"faulty": "mark"}), path.name)


def made_by(items: Sequence[Item]) -> str:
    """What is known of a bank's making: a sentence for the sample, nothing for others."""
    sample = {item.id: item for item in sample_bank()}
    inside = [sample[item.id] for item in items if item.id in sample]
    if not inside or len(inside) < len(items) / 2:
        return ""
    faulty = sum(item.mark != "" for item in inside)
    return (
        "The sample bank was written by a language model and reviewed by no clinician; it is no measure of clinical knowledge. "
        f"{faulty} of its {len(inside)} items here carry a deliberate fault."
    )


def candidates(run: Workspace, bank: str = "") -> list[Item]:
    """The items to lock: those that 40_audit kept, a file of one's own, those of 30_write_items, or the sample.

    Parameters
    ----------
    run : Workspace
    bank : path of a bank (`exam.read_bank`). Where 40_audit of this run read the same file, what it kept is taken.

    Raises
    ------
    ChangedBankError : the file has a lock and is not what was locked.
    ValueError : 40_audit of this run kept no item.
    """
    own, problems = exam.read_bank_table(run.used(bank)) if bank else ([], None)
    if audited(run) and bank in ("", run.parameters().get("bank") or ""):
        kept = exam.from_table(run.read("items"), "the table items")
        if not kept and run.has("screen"):
            from factlab.studies.ms_exam_gen.screen import reasons

            table = run.read("screen")
            raise ValueError(
                f"{AUDIT} kept none of {len(table)} items (put out by {reasons(table)}); take from its `exclude` what should put no item out"
            )
        return kept
    if bank:
        for note in reading_notes(problems):
            run.banner(note)
        return own
    if run.has("written"):
        return exam.from_table(run.read("written"), "the table written")
    run.banner(
        "No step before this one wrote items, so the exam is the sample bank (ms_exam_gen/bank.csv). Run 10 to 40, or name a bank of your own."
    )
    return sample_bank(run)


def reading_notes(problems: pd.DataFrame) -> list[str]:
    """What looked odd in the file of a bank, in a sentence; none where nothing did.

    Parameters
    ----------
    problems : from `exam.read_bank_table`.
    """
    if not len(problems):
        return []
    said = [
        f"{f'row {row}' if row else 'the file'}{f', {column}' if column else ''}: {problem.rstrip('.')}"
        for row, column, problem in problems[["row", "column", "problem"]].head(3).itertuples(index=False)
    ]
    more = len(problems) - len(said)
    return [f"The file of the bank looks odd. {'; '.join(said)}{f'; and {more} more' if more else ''}."]


def audited(run: Workspace) -> bool:
    """Whether 40_audit of this run decided which items stay."""
    return run.has("items") and bool(run.earlier(AUDIT))


def builders(run: Workspace, named: Sequence[str] = ()) -> list[str]:
    """Models that wrote or screened the bank: those named, and those that 40_audit of this run recorded."""
    told = (run.earlier(AUDIT).get("metrics") or {}).get("builders") or []
    return list(dict.fromkeys([*named, *told]))


def select(run: Workspace, items: Sequence[Item], exclude: Sequence[str] = ()) -> tuple[list[Item], pd.DataFrame]:
    """The items that are locked, and those left out with the reason.

    Parameters
    ----------
    run : Workspace
    items : candidates.
    exclude : flags or groups of flags of the audit (`exam.FLAGS`) whose items are left out. An item that cannot be answered at all
        (no four different options, no key) or that stands there twice is always left out, since such a bank cannot be locked. Where
        40_audit of this run has applied its rule nothing more is left out for a flag.

    Returns
    -------
    (items, left out: item_id, own_id, question, why)
    """
    import pandas as pd

    why: dict[int, list[str]] = {}
    if exclude and not audited(run):
        unknown = [name for name in exclude if name not in exam.FLAGS and name not in exam.GROUPS]
        if unknown:
            raise ValueError(
                f"exclude: {unknown[0]!r} is no flag and no group of flags; groups are {', '.join(exam.GROUPS)}"
            )
        for row, flag, group in exam.audit(items)[["row", "flag", "group"]].itertuples(index=False):
            if flag in exclude or group in exclude:
                why.setdefault(int(row), []).append(f"flagged: {flag}")
    seen: set[str] = set()
    for number, item in enumerate(items):
        try:
            exam.lock([item])
        except ValueError as error:
            why.setdefault(number, []).append(str(error).split(": ", 2)[-1])
        if item.id in seen:
            why.setdefault(number, []).append("the same question stands above")
        seen.add(item.id)
    kept = [item for number, item in enumerate(items) if number not in why]
    rows = [(items[n].id, items[n].own_id, items[n].question, "; ".join(dict.fromkeys(said))) for n, said in sorted(why.items())]  # fmt: skip
    if not kept:
        raise ValueError(
            "no item is left to lock; loosen `exclude`, or look at the reasons: " + "; ".join(r[-1] for r in rows[:3])
        )
    return kept, pd.DataFrame(rows, columns=["item_id", "own_id", "question", "why"])


def left_out_sentence(run: Workspace, items: Sequence[Item], left_out: pd.DataFrame) -> str:
    """How many items are left out, by 40_audit of this run and by `select`, in words."""
    told = run.earlier(AUDIT).get("metrics") or {}
    before = ""
    # The step may have audited another bank than the one that is locked.
    if audited(run) and told.get("kept") == len(items) + len(left_out):
        before = f"{AUDIT} left out {told['items'] - told['kept']} of {told['items']} items; "
    return f"{before}{len(left_out) or 'none'} {'is' if len(left_out) < 2 else 'are'} left out here"


def left_out_notes(items: Sequence[Item], left_out: pd.DataFrame) -> list[str]:
    """How many items `select` left out and why, in a sentence; none where it left out none."""
    if not len(left_out):
        return []
    why = left_out["why"].str.split("; ").explode().value_counts()
    said = "; ".join(f"{name} ({count})" for name, count in why.head(4).items())
    more = f"; and {len(why) - 4} more" if len(why) > 4 else ""
    were = "was" if len(left_out) == 1 else "were"
    of = len(items) + len(left_out)
    return [f"{len(left_out)} of {of} items {were} left out before the bank was locked: {said}{more}."]


def lock_bank(run: Workspace, items: Sequence[Item]) -> exam.Lock:
    """Lock items: a file with its lock in the run's folder, and the table `bank` for the steps that follow.

    The file's name has the first digits of the bank's hash, so that another bank is another file.

    Raises
    ------
    ChangedBankError : the file was changed since it was locked.
    """
    made = exam.lock(items)
    path = run.folder / "files" / f"bank-{made.hash[:12]}.csv"
    if path.is_file():
        exam.read_bank(path)
    else:
        with places.writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            exam.write_bank(items, path, locked=True)
    # Registered as downloads of the page; the contents are those that lie there.
    run.save(path.name, path.read_bytes().decode("utf-8"))
    run.save(f"{path.name}.lock.json", path.with_name(path.name + ".lock.json").read_bytes().decode("utf-8"))
    run.write("bank", exam.to_table(items))
    return made


def locked_bank(run: Workspace) -> list[Item]:
    """The bank that 50 locked, refused if it changed since; in a notebook opened by hand with none, the sample.

    Raises
    ------
    ChangedBankError : the table `bank` is not what 50 locked.
    FileNotFoundError : the run has no bank.
    """
    if not run.has("bank") and run.interactive:
        run.banner("There is no locked bank from an earlier step, so this page uses the sample (ms_exam_gen/bank.csv).")
        return sample_bank(run)
    items = exam.from_table(run.read("bank"), "the table bank")
    told = (run.earlier(EVALUATE).get("metrics") or {}).get("bank_hash")
    if told and exam.lock(items).hash != told:
        raise ChangedBankError(
            f"the table bank is not what {EVALUATE} locked ({told[:12]}): it was changed afterwards. Run {EVALUATE} again"
        )
    return items


def bank_table(items: Sequence[Item]) -> pd.DataFrame:
    """Items by topic and label: topic, one column a label, items."""
    import pandas as pd

    rows = pd.DataFrame({"topic": [i.topic or "(none)" for i in items], "label": [i.label or "(none)" for i in items]})
    order = [n for n in (*exam.LABELS, "(none)") if n in set(rows["label"])]
    order += sorted(set(rows["label"]) - set(order))
    wide = rows.groupby(["topic", "label"], sort=False).size().unstack(fill_value=0)[order]
    return wide.assign(items=wide.sum(axis=1)).rename_axis(columns=None).reset_index()


def chunk_table(run: Workspace, sources: str = "") -> pd.DataFrame:
    """The passages of the corpus: the table `chunks` of the run, or those of a folder of documents.

    Parameters
    ----------
    run : Workspace
    sources : folder of documents, cut as published (1,200 characters, 200 shared) where the run has no chunks; empty: the sample notes.

    Returns
    -------
    DataFrame : at least chunk_id, file, start, end, text.
    """
    if run.has("chunks"):
        return run.read("chunks")
    from factlab.sources import corpus

    documents, _ = corpus.read_corpus(run.used(sources or places.samples(_SAMPLE, "sources")))
    return corpus.chunk(documents)


def gold_passages(items: Sequence[Item], chunks: pd.DataFrame) -> dict[str, str]:
    """For each item the passages that its evidence is from, one after the other.

    Parameters
    ----------
    items : sequence of Item
    chunks : as from `chunk_table`.

    Returns
    -------
    dict of item id to text
        A quote's passage is the chunk that it names; where it names a file, the chunk of that file that holds the quote, else
        the one with most of its words. An item whose evidence leads nowhere is missing.
    """
    by_id = dict(zip(chunks["chunk_id"].astype(str), chunks["text"], strict=True))
    by_file: dict[str, list[str]] = {}
    for file, text in zip(chunks["file"].astype(str), chunks["text"], strict=True):
        by_file.setdefault(file, []).append(text)
        by_file.setdefault(Path(file).name, by_file[file])
    found = {}
    for item in items:
        texts: list[str] = []
        for evidence in item.evidence:
            named = [c.strip() for c in evidence.chunk.split(";") if c.strip()] + list(item.sources)
            own = [by_id[name] for name in named if name in by_id]
            if len(own) == 1:
                texts += own
                continue
            texts += _holder(evidence.quote, own or [t for name in named for t in by_file.get(name, [])])
        if texts:
            found[item.id] = "\n\n".join(dict.fromkeys(texts))
    return found


def _holder(quote: str, texts: Sequence[str]) -> list[str]:
    """The first text that holds a quote, or the one with most of its words; none where there is no text."""
    folded = " ".join(quote.split())
    wanted = set(folded.casefold().split())
    best, most = [], -1
    for text in texts:
        flat = " ".join(text.split())
        if folded and folded in flat:
            return [text]
        shared = len(wanted & set(flat.casefold().split()))
        if shared > most:
            best, most = [text], shared
    return best
