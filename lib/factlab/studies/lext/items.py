"""What LExT's notebooks ask about: questions with a context, a gold answer and a gold explanation, in the forms of PubMedQA and Q-Pain.

LExT, section 4.1. The sample questions and vignettes by default, or a user's own files. Rows that cannot be asked about are left out and
counted, and what a reader found odd in a file is passed on."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

    from factlab.runs import Workspace

FORMS = ("pubmedqa", "qpain", "both", "patients")
COLUMNS = (
    "item_id", "form", "question", "context", "label", "dose", "explanation", "keywords",
    "vignette_id", "race", "gender", "name", "study",
)  # fmt: skip
SAMPLES = {"pubmedqa": "questions.csv", "qpain": "vignettes.csv"}
NEEDED = ("question", "context", "explanation")


@dataclass(frozen=True)
class Items:
    """The items of a run and what became of the others.

    Attributes
    ----------
    items : DataFrame, one row an item: `COLUMNS`, all text. label is yes, no or maybe (or what the file says); dose low, high or '';
        vignette_id, race, gender and name are '' but for variants of one vignette; study is 'invented' where no such study or patient exists.
    left_out : why each row that cannot be asked about is left out: 'explanation is empty'.
    notes : what was left out, what `limit` left out, and what is odd in the file, in sentences.
    """

    items: pd.DataFrame
    left_out: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def read(run: Workspace, data: str = "", form: str = "both", limit: int = 0) -> Items:
    """The items of a run.

    Parameters
    ----------
    run : the workspace; what is read is recorded in it.
    data : PubMedQA's `ori_pqal.json` or a CSV file with question, context, label and explanation (form pubmedqa), or Q-Pain's columns
        Vignette, Question, Answer, Dosage, Explanation (form qpain); '': the samples.
    form : 'pubmedqa', 'qpain' or, of the samples, 'both' by turns; 'patients': the texts that 10_augment_vignettes wrote in this run.
    limit : at most so many items, the first ones; 0: all.

    Raises
    ------
    ValueError : no such form, 'both' or 'patients' with a file of one's own, or a limit below 0.
    FileNotFoundError : 'patients', and 10_augment_vignettes was not run before.
    sources.SourceError : the file cannot be used.
    """
    from factlab import places

    if form not in FORMS:
        raise ValueError(f"form is {form!r}; it can be {', '.join(map(repr, FORMS))}")
    if limit < 0:
        raise ValueError(f"limit is {limit}; give how many items to ask about, or 0 for all")
    if form == "patients":
        if data:
            raise ValueError(
                "form is 'patients': the texts are those of 10_augment_vignettes in the same run, so leave `data` empty"
            )
        return _first(Items(run.read("variants").reindex(columns=list(COLUMNS))), limit)
    if form == "both" and data:
        raise ValueError("form is 'both', but one file has one form: say 'pubmedqa' or 'qpain' for it")
    wanted = list(SAMPLES) if form == "both" else [form]
    found = [_read(run.used(data or places.samples("lext", SAMPLES[one])), one, sample=not data) for one in wanted]
    return _first(found[0] if len(found) == 1 else Items(_by_turns([one.items for one in found])), limit)


def _first(found: Items, limit: int) -> Items:
    n = len(found.items)
    if not limit or n <= limit:
        return found
    said = f"Only the first {limit} of {n} items are asked about, {n - limit} {'is' if n - limit == 1 else 'are'} left out (limit: {limit}; 0 for all)."
    return Items(found.items.head(limit), found.left_out, [said, *found.notes])


def _by_turns(tables: list[pd.DataFrame]) -> pd.DataFrame:
    """Rows of several tables by turns, so that the first few hold some of each; the longer table goes on alone."""
    import pandas as pd

    numbered = pd.concat([table.assign(_turn=range(len(table))) for table in tables], ignore_index=True)
    return numbered.sort_values("_turn", kind="stable").drop(columns="_turn").reset_index(drop=True)


def _read(path, form: str, sample: bool) -> Items:
    from factlab import sources

    reader = sources.read_pubmedqa if form == "pubmedqa" else sources.read_vignettes
    return tidy(reader(path), form, sample)


def tidy(found: pd.DataFrame, form: str, sample: bool = False) -> Items:
    """Rows of a reader as items: all of `COLUMNS`, in order, empty text for what is not known.

    Raises
    ------
    sources.SourceError : a misspelt placeholder, or no row that can be asked about; file, row and column are named.
    """
    from factlab.sources import SourceError

    where = found.attrs.get("where") or [f"item {item}" for item in found["item_id"]]
    named = {"vignette": "context", "answer": "label", "dosage": "dose"} if form == "qpain" else {}
    # A file may have columns of its own under our names.
    table = found.drop(columns=["form", *named.values()], errors="ignore").rename(columns=named).assign(form=form)
    if sample:
        table["study"] = "invented"
    table = table.reindex(columns=list(COLUMNS)).astype("object").fillna("").astype("str").reset_index(drop=True)
    blank = table[list(NEEDED)].map(lambda text: not text.strip())
    heads = {column: next((own for own, ours in named.items() if ours == column), column) for column in NEEDED}
    whys = [" and ".join(heads[c] for c in NEEDED if row[c]) for row in blank.to_dict("records")]
    gone = {i: f"{why} {'are' if ' and ' in why else 'is'} empty" for i, why in enumerate(whys) if why}
    if len(gone) == len(table):
        raise SourceError(
            f"{where[0]}: {gone[0]}, and no other row can be asked about either; every item needs a question, a context and an explanation"
        )
    notes = []
    if form == "qpain":
        kept = []
        for column in NEEDED:
            for at, text in zip(where, table[column], strict=True):
                kept += [(at, heads[column], mark) for mark in _others(text, at, heads[column])]
            table[column] = table[column].map(neutral)
        if kept:
            at, column, mark = kept[0]
            what = (
                "word in square brackets is no placeholder and stands"
                if len(kept) == 1
                else "words in square brackets are no placeholders and stand"
            )
            notes.append(f"{len(kept)} {what} in the texts as written, e.g. {mark} ({at}, {column}).")
    if gone:
        at, of = next(iter(gone)), len(table)
        said = f"{len(gone)} of {of} rows {'is' if len(gone) == 1 else 'are'} left out, e.g. {where[at]}: {gone[at]}."
        notes.insert(0, said)
    # What is left out has said why; of the others every label or dose that cannot be used is told.
    told = enumerate(zip(where, found["problem"], strict=True))
    if odd := [f"{at}: {said}" for i, (at, said) in told if said and i not in gone]:
        notes.append(f"{len(odd)} of {len(table)} rows {'is' if len(odd) == 1 else 'are'} odd, e.g. {odd[0]}.")
    notes += found.attrs.get("problems", [])
    table.attrs = {}  # said above
    return Items(table.drop(index=list(gone)).reset_index(drop=True), list(gone.values()), notes)


def _others(text: str, where: str, column: str) -> list[str]:
    """Words in square brackets that are no placeholders; one that nearly is a placeholder is a slip, and an error."""
    from factlab.perturb import demographics
    from factlab.sources import SourceError

    found = demographics.unknown_placeholders(text)
    for mark in found:
        if near := difflib.get_close_matches(mark.strip("[]").lower(), demographics.PLACEHOLDERS, n=1, cutoff=0.75):
            raise SourceError(
                f"{where}, {column}: {mark} is no known placeholder; did you mean [{near[0]}]? If not, write it in round brackets"
            )
    return found


def neutral(text: str) -> str:
    """A vignette with its placeholders filled so that the patient has no race and no gender; all else, also in brackets, as it is."""
    from factlab.perturb import demographics, patients

    return demographics.fill(text, patients.NEUTRAL, patients.NEUTRAL, strict=False)


def items_of(run: Workspace) -> pd.DataFrame:
    """The items that 20_explain wrote; in a notebook opened by hand with none, those of the recorded sample.

    Raises
    ------
    FileNotFoundError : the run has no such table; the message says what to run first.
    """
    if run.has("items") or not run.interactive:
        return run.read("items")
    run.banner(
        "There is no table “items” from an earlier step, so this page uses the recorded sample: the first questions of "
        "lext/questions.csv and vignettes of lext/vignettes.csv. Run 20_explain, or `factlab run`, to use your own."
    )
    return read(run, limit=RECORDED).items


RECORDED = 8  # items whose replies lie under samples/lext
