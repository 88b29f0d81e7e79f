"""What LExT's notebooks ask about: questions with a context, a gold answer and a gold explanation, in the forms of PubMedQA and Q-Pain.

LExT, section 4.1. The sample questions and vignettes by default, or a user's own files.
"""

from __future__ import annotations

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


def read_items(run: Workspace, data: str = "", form: str = "both", limit: int | None = None) -> pd.DataFrame:
    """The items of a run.

    Parameters
    ----------
    run : the workspace; what is read is recorded in it.
    data : PubMedQA's `ori_pqal.json` or a CSV file with question, context, label and explanation (form pubmedqa), or Q-Pain's columns
        Vignette, Question, Answer, Dosage, Explanation (form qpain); '': the samples.
    form : 'pubmedqa', 'qpain' or, of the samples, 'both' by turns; 'patients': the texts that 10_augment_vignettes wrote in this run.
    limit : at most so many items, the first ones; None or 0: all.

    Returns
    -------
    DataFrame, one row an item: `COLUMNS`, all text. label is yes, no or maybe; dose low, high or ''; vignette_id, race, gender and
    name are '' but for variants of one vignette; study is 'invented' where no such study or patient exists.

    Raises
    ------
    ValueError : no such form, or 'both' or 'patients' with a file of one's own.
    FileNotFoundError : 'patients', and 10_augment_vignettes was not run before.
    sources.SourceError : the file cannot be used.
    """
    from factlab import places

    if form not in FORMS:
        raise ValueError(f"form is {form!r}; it can be {', '.join(map(repr, FORMS))}")
    if form == "patients":
        if data:
            raise ValueError(
                "form is 'patients': the texts are those of 10_augment_vignettes in the same run, so leave `data` empty"
            )
        items = run.read("variants").reindex(columns=list(COLUMNS))
        return items.head(limit) if limit else items
    if form == "both" and data:
        raise ValueError("form is 'both', but one file has one form: say 'pubmedqa' or 'qpain' for it")
    wanted = list(SAMPLES) if form == "both" else [form]
    found = [_read(run.used(data or places.samples("lext", SAMPLES[one])), one, sample=not data) for one in wanted]
    items = found[0] if len(found) == 1 else _by_turns(found)
    return items.head(limit) if limit else items


def _by_turns(tables: list[pd.DataFrame]) -> pd.DataFrame:
    """Rows of several tables by turns, so that the first few hold some of each; the longer table goes on alone."""
    import pandas as pd

    numbered = pd.concat([table.assign(_turn=range(len(table))) for table in tables], ignore_index=True)
    return numbered.sort_values("_turn", kind="stable").drop(columns="_turn").reset_index(drop=True)


def _read(path, form: str, sample: bool) -> pd.DataFrame:
    from factlab import sources

    reader = sources.read_pubmedqa if form == "pubmedqa" else sources.read_vignettes
    return tidy(reader(path), form, sample)


def tidy(found: pd.DataFrame, form: str, sample: bool = False) -> pd.DataFrame:
    """Rows of a reader as items: all of `COLUMNS`, in order, empty text for what is not known."""
    from factlab.sources import SourceError

    named = {"vignette": "context", "answer": "label", "dosage": "dose"} if form == "qpain" else {}
    table = found.drop(columns=["form"], errors="ignore").rename(columns=named).assign(form=form)
    if form == "qpain":
        for column in ("context", "question", "explanation"):
            table[column] = table[column].map(neutral)
    if sample:
        table["study"] = "invented"
    table = table.reindex(columns=list(COLUMNS)).astype("object").fillna("").astype("str").reset_index(drop=True)
    for column in ("item_id", "question", "context", "explanation"):
        if (empty := table[column].str.strip() == "").any():
            raise SourceError(f"item {table.loc[empty.idxmax(), 'item_id'] or int(empty.idxmax())}: {column} is empty")
    if (twice := table["item_id"].duplicated()).any():
        raise SourceError(f"item_id {table.loc[twice.idxmax(), 'item_id']!r} stands in more than one row")
    return table


def neutral(text: str) -> str:
    """A vignette with its placeholders filled so that the patient has no race and no gender; a text without placeholders as it is."""
    from factlab.perturb import demographics, patients

    return demographics.fill(text, patients.NEUTRAL, patients.NEUTRAL)


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
    return read_items(run, limit=RECORDED)


RECORDED = 8  # items whose replies lie under samples/lext
