"""DAHL's tables from one step of the notebook to the next: answers, cleaned answers, units, verdicts.

Every table keeps every answer, with a `status` that is empty as long as the answer is still on its way to a score.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from factlab.replies import strip_reasoning
from factlab.units.steps import is_noncommittal, preprocess_steps

if TYPE_CHECKING:
    import pandas as pd

    from factlab.judging import Audit
    from factlab.stats import Estimate

SMALL_SHARE = 0.8  # below this share of answers scored, the page says that the rest may differ


def prepare(answers: pd.DataFrame) -> pd.DataFrame:
    """Answers in the form the next steps want, whether asked here or read from a user's table.

    Parameters
    ----------
    answers : DataFrame with question and response; optional response_id, question_id, category, source, finish_reason, status,
        error, subject.

    Returns
    -------
    DataFrame, one row an answer: the missing ones of those columns are added. An answer whose `source` is empty has its question as
    source, or else itself. `status` is '' for an answer that can be scored, 'error' where there is none.

    Raises
    ------
    ValueError : two rows have the same response_id.
    """
    table = answers.copy().reset_index(drop=True)
    defaults = {
        "category": "(none)",
        "source": "",
        "finish_reason": "",
        "status": "",
        "error": None,
        "subject": "unknown",
    }
    if "response_id" not in table:
        table["response_id"] = [f"row-{i + 1}" for i in range(len(table))]
    for column, value in defaults.items():
        if column not in table:
            table[column] = value
        elif value is not None:
            table[column] = table[column].fillna(value).replace("", value)
    twice = table["response_id"][table["response_id"].duplicated()]
    if len(twice):
        raise ValueError(
            f"response_id {twice.iloc[0]!r} stands in more than one row; every answer needs an id of its own"
        )
    # Several answers to one question resemble each other even where the paper behind it is not known.
    alone = table["question_id"].fillna("").astype(str) if "question_id" in table else table["response_id"]
    table["source"] = table["source"].where(table["source"] != "", alone).replace("", None)
    table["source"] = table["source"].fillna(table["response_id"])
    empty = table["response"].fillna("").str.strip() == ""
    lost = empty & (table["status"] == "")
    table.loc[lost, "status"] = "error"
    table.loc[lost & table["error"].isna(), "error"] = "the answer is empty"
    return table


def clean(answers: pd.DataFrame) -> pd.DataFrame:
    """Step 0 on every answer that is there; noncommittal ones get the status `refused`.

    Returns
    -------
    DataFrame : the answers with cleaned (text), removed (characters taken out), prompt_removed, repeated and unfinished (what was
    taken out), and the status brought up to date: 'refused', or 'no_units' where cleaning leaves nothing.
    """
    table = answers.copy()
    columns: dict[str, list[Any]] = {"cleaned": [], "prompt_removed": [], "repeated": [], "unfinished": []}
    statuses = []
    for question, response, finish, status in zip(
        table["question"], table["response"], table["finish_reason"], table["status"], strict=True
    ):
        text, found = "", None
        if status == "":
            said = strip_reasoning(response)
            if said.status == "truncated":
                status = "truncated"
            elif is_noncommittal(said.value):
                status, text = "refused", said.value
            else:
                found = preprocess_steps(said.value, question, finished=True if finish == "stop" else None)
                text = found.text
                status = "" if text.strip() else "no_units"
                if is_noncommittal(text):
                    status = "refused"
        columns["cleaned"].append(text)
        columns["prompt_removed"].append(found.prompt_removed if found else 0)
        columns["repeated"].append(" ".join(found.repeated) if found else "")
        columns["unfinished"].append(found.unfinished if found else "")
        statuses.append(status)
    table = table.assign(**columns, status=statuses)
    table["removed"] = (table["response"].fillna("").str.len() - table["cleaned"].str.len()).where(
        table["cleaned"] != "", 0
    )
    return table


def cleaning_summary(cleaned: pd.DataFrame) -> pd.DataFrame:
    """In how many answers something of each kind was removed, and how many left as refused or empty."""
    import pandas as pd

    rows = [
        ("the question, echoed", int((cleaned["prompt_removed"] > 0).sum())),
        ("sentences already said", int((cleaned["repeated"] != "").sum())),
        ("an unfinished last sentence", int((cleaned["unfinished"] != "").sum())),
        ("everything: noncommittal", int((cleaned["status"] == "refused").sum())),
        ("everything: nothing finished", int((cleaned["status"] == "no_units").sum())),
    ]
    return pd.DataFrame(rows, columns=["removed", "answers"]).assign(of=len(cleaned))


def with_units(cleaned: pd.DataFrame, pieces: pd.DataFrame) -> pd.DataFrame:
    """The cleaned answers with the units that Step 1 found in them.

    Parameters
    ----------
    cleaned : from `clean`.
    pieces : from `models.roles.split`, indexed like the rows of `cleaned` that were split.

    Returns
    -------
    DataFrame : with units (list of str), n_units, and the splitter's status and error where it failed.
    """
    table = cleaned.copy()
    found = pieces["units"].to_dict()
    table["units"] = [list(found.get(i, [])) for i in table.index]
    table["n_units"] = table["units"].str.len()
    failed = pieces[pieces["status"] != "scored"]
    table.loc[failed.index, "status"] = failed["status"]
    table["error"] = table["error"].astype(object)
    table.loc[failed.index, "error"] = failed["error"]
    return table


def scored_table(answered: pd.DataFrame, precision: pd.DataFrame) -> pd.DataFrame:
    """What later steps need of every answer: who answered what, as written and as cleaned, and its factual precision.

    Parameters
    ----------
    answered : from `with_units`.
    precision : from `factual_precision`.

    Returns
    -------
    DataFrame, one row an answer: response_id, question_id, subject, category, source, question, response, cleaned, and the columns of
    `precision`.
    """
    about = answered if "question_id" in answered else answered.assign(question_id=answered["response_id"])
    columns = ["response_id", "question_id", "subject", "category", "source", "question", "response", "cleaned"]
    return about[columns].merge(precision, on="response_id")


def unit_table(answered: pd.DataFrame) -> pd.DataFrame:
    """One row a unit of an answer still to be scored: response_id, unit_no (from 1), unit."""
    import pandas as pd

    rows = [
        (response, number, unit)
        for response, found, status in zip(answered["response_id"], answered["units"], answered["status"], strict=True)
        if status == ""
        for number, unit in enumerate(found, start=1)
    ]
    return pd.DataFrame(rows, columns=["response_id", "unit_no", "unit"])


def verdict_counts(judged: pd.DataFrame, by: str = "category") -> pd.DataFrame:
    """How many units of each group were judged true, false, unknown or could not be read."""
    kind = judged["verdict"].fillna("unparsable")
    counts = judged.assign(kind=kind).groupby([by, "kind"], observed=True).size().unstack(fill_value=0)
    return counts.reindex(columns=["true", "false", "unknown", "unparsable"], fill_value=0).reset_index()


def one_or_many(values: Sequence[str]) -> str:
    """One name where all agree, else 'several', for a signature."""
    distinct = sorted(set(values))
    return distinct[0] if len(distinct) == 1 else "several" if distinct else "unknown"


def warnings(score: Estimate, by_category: pd.DataFrame, trust: Audit | None) -> list[str]:
    """What a reader should distrust in a DAHL score, built from its numbers.

    Parameters
    ----------
    score : the DAHL score.
    by_category : from `stats.estimates_by`.
    trust : the audit of the judge; None where the verdicts are reference labels.
    """
    notes = []
    if trust is not None:
        notes.append(trust.sentence())
    asked = score.n + score.left_out
    if asked and score.n / asked < SMALL_SHARE:
        notes.append(
            f"Only {score.n} of {asked} answers are in the score ({score.outcomes()}); those left out may differ from the rest."
        )
    small = int(by_category["small"].sum()) if len(by_category) else 0
    if small:
        notes.append(
            f"{small} of {len(by_category)} categories have fewer than ten scored answers: too few to tell them apart."
        )
    if score.value is None:
        notes.append(f"The score is undefined: {score.reason}.")
    elif score.reason:
        notes.append(f"The interval: {score.reason}.")
    return notes
