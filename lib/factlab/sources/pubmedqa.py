"""PubMedQA, as released or as a table: questions on abstracts, answered yes, no or maybe, with an explanation.

LExT, section 4.1, takes the long answers as the ground truth of explanations. `maybe` is kept, which the paper's prompts (yes or
no) do not offer and its text does not mention: the labelled part has 110 of it among 1,000.
"""

import json
from pathlib import Path
from typing import TYPE_CHECKING

from .files import SourceError, existing, foreign_format, read_bytes
from .released import content_ids
from .tables import read_table

if TYPE_CHECKING:
    import pandas as pd

LABELS = ("yes", "no", "maybe")
COLUMNS = ("item_id", "question", "context", "label", "explanation", "sections", "year", "problem")
# Headings of other tables, for the names here.
_ALIASES = {
    "item_id": ("pmid", "id", "question_id"),
    "context": ("contexts", "abstract"),
    "label": ("final_decision", "answer", "decision"),
    "explanation": ("long_answer", "rationale"),
}


def read_pubmedqa(path: str | Path) -> "pd.DataFrame":
    """Read PubMedQA's JSON as released (`ori_pqal.json`; also its unlabelled parts), or a table of the same kind.

    Parameters
    ----------
    path : str or Path
        .json: ``{PMID: {"QUESTION", "CONTEXTS", "LABELS", "final_decision", "LONG_ANSWER", …}}``. Anything that `read_table`
        reads: a column ``question``; ``context``, ``label``, ``explanation`` and ``item_id`` if there are any, also under
        the release's names (``final_decision``, ``LONG_ANSWER``) or as ``answer``, ``pmid``, ``id``.

    Returns
    -------
    DataFrame
        One row a question, in the order of the file; all columns text:

        * ``item_id``: the PMID in the release; made from the question where a table has none.
        * ``question``, ``context``: the parts of an abstract are joined by line breaks.
        * ``label``: "yes", "no", "maybe", or what the file says in small letters (see ``problem``); empty where there is none.
        * ``explanation``: the long answer, empty where there is none.
        * ``sections``: headings of the context's parts, with "; " between; ``year`` of the article. Empty for tables.
        * other columns of a table.
        * ``problem``: what is wrong with the row, "" if nothing.

        ``attrs`` has two lists of str: ``where``, file and row (or PMID) of each question, and ``problems``, what is odd about the file as a whole.

    Raises
    ------
    SourceError
        Missing, not JSON, not of this form (the item is named), or a table without questions or with an item_id that stands twice.
    """
    path = existing(path)
    if path.name.lower().endswith((".json", ".json.gz")) and (data := _json(path)) is not None:
        return _released(path, data)
    return _table(path)


def _json(path: Path) -> dict | None:
    """The file's object; None for a list, which is a table."""
    content = read_bytes(path)
    if foreign := foreign_format(content):
        raise SourceError(f"{path}: this is {foreign}, not JSON.")
    try:
        value = json.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise SourceError(f"{path}: not UTF-8 (byte {error.start}); download it again.") from error
    except ValueError as error:
        raise SourceError(f"{path}: not JSON ({error}); is the file complete? Download it again.") from error
    if isinstance(value, list):
        return None
    if not isinstance(value, dict) or not value:
        raise SourceError(f"{path}: no questions in it; the form must be {{PMID: {{QUESTION, CONTEXTS, …}}}}.")
    return value


def _released(path: Path, data: dict) -> "pd.DataFrame":
    import pandas as pd

    rows = []
    for pmid, item in data.items():
        if not isinstance(item, dict) or not isinstance(item.get("QUESTION"), str):
            raise SourceError(
                f"{path}: item {pmid!r} has no text under 'QUESTION'; the form must be {{PMID: {{QUESTION, CONTEXTS, "
                "final_decision, LONG_ANSWER}}. PubMedQA's questions are in ori_pqal.json; test_ground_truth.json has labels only."
            )
        contexts = item.get("CONTEXTS") or []
        if isinstance(contexts, str):
            contexts = [contexts]
        row = {
            "item_id": str(pmid),
            "question": item["QUESTION"].strip(),
            "context": "\n".join(str(part).strip() for part in contexts),
            "label": str(item.get("final_decision") or "").strip().lower(),
            "explanation": str(item.get("LONG_ANSWER") or "").strip(),
            "sections": "; ".join(map(str, item.get("LABELS") or [])),
            "year": str(item.get("YEAR") or ""),
        }
        rows.append(row | {"problem": "; ".join(_problems(row))})
    frame = pd.DataFrame(rows, columns=list(COLUMNS), dtype="str")
    frame.attrs = {"where": [f"{path.name}, item {pmid}" for pmid in data], "problems": []}
    return frame


def _table(path: Path) -> "pd.DataFrame":
    named = ["item_id", "context", "label", "explanation"]
    frame, noted = read_table(path, ["question"], [*named, "sections", "year"])
    if frame.empty:
        raise SourceError(f"{path}: no rows under the headings.")
    by_fold = {str(c).strip().casefold(): c for c in frame.columns}
    for name in named:
        alias = next((by_fold[a] for a in _ALIASES[name] if a in by_fold), None)
        if alias is not None and not frame[name].str.strip().any():
            frame[name] = frame.pop(alias)
    frame["label"] = frame["label"].str.strip().str.lower()
    missing = frame["item_id"].str.strip() == ""
    if missing.any():
        texts, ties = (frame[pair].to_numpy() for pair in (["question", "context"], ["label", "explanation"]))
        made = content_ids(map(tuple, texts), map(tuple, ties), "p")
        frame["item_id"] = [new if gap else old for old, new, gap in zip(frame["item_id"], made, missing, strict=True)]
    if (twice := frame["item_id"].duplicated()).any():
        raise SourceError(
            f"{path}: item_id {frame['item_id'][twice].iloc[0]!r} stands in more than one row; number them."
        )
    ours = ["; ".join(_problems(row)) for row in frame.to_dict("records")]
    theirs = frame["problem"]
    frame["problem"] = ["; ".join(filter(None, pair)) for pair in zip(theirs, ours, strict=True)]
    others = [c for c in frame.columns if c not in COLUMNS]
    about = zip(noted["row"], noted["problem"], strict=True)
    whole = [f"{path.name}: {said}" for row, said in about if row not in frame.index]
    frame = frame[[*COLUMNS[:-1], *others, "problem"]].astype("str")
    frame.attrs = {"where": [f"{path.name}, row {row}" for row in frame.index], "problems": whole}
    return frame


def _problems(row: dict[str, str]):
    if not row["label"]:
        yield "no label"
    elif row["label"] not in LABELS:
        yield f"the label is {row['label']!r:.40}, not one of {', '.join(LABELS)}"
    if not row["context"].strip():
        yield "no context"
    if not row["explanation"].strip():
        yield "no explanation to compare with"
