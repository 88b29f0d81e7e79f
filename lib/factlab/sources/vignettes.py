"""Vignettes of patients in pain, in the form of Q-Pain: a case, a question, the answer, the dose and why.

LExT, section 4.1 and appendix A.1. Q-Pain itself is given out by PhysioNet, one file for each kind of pain; a folder of them is
read as well. The placeholders in the texts stay as they are: `perturb.variants` fills them.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from .files import SourceError, existing
from .released import content_ids
from .tables import read_table

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("item_id", "kind", "vignette", "question", "answer", "dosage", "explanation")
_ANSWERS = ("yes", "no")
_DOSES = ("low", "high")
_NO_DOSE = ("", "na", "n/a", "none", "nan", "-", "–", "null", "nil", "no dose", "not applicable")


def read_vignettes(path: str | Path) -> "pd.DataFrame":
    """Read vignettes: Q-Pain's columns ``Vignette, Question, Answer, Dosage, Explanation``, or the same and more.

    Parameters
    ----------
    path : str or Path
        A table that `read_table` reads, or a folder of .csv files (in the order of their names). Columns ``vignette`` and
        ``question``; ``answer``, ``dosage``, ``explanation``, ``kind`` and ``item_id`` if there are any.

    Returns
    -------
    DataFrame
        One row a vignette: `COLUMNS`, then the other columns, then ``problem``; all text, index 0, 1, ….

        * ``item_id``: as in the file, else made from the texts.
        * ``kind``: as in the file, else the name of the file.
        * ``answer``: "yes" or "no"; ``dosage``: "low", "high", or empty where there is none. Anything else is kept in
          small letters and told in ``problem``.

        ``attrs`` has two lists of str: ``where``, file and row of each vignette, and ``problems``, what is odd about a file as a whole.

    Raises
    ------
    SourceError
        Missing, a folder without tables, a file without vignettes or questions, or an item_id that stands twice.
    """
    import pandas as pd

    path = existing(path, folder=True)
    files = [path]
    if path.is_dir():
        files = sorted(p for p in path.iterdir() if p.name.lower().endswith(".csv"))
        if not files:
            raise SourceError(f"{path}: no .csv file in this folder; give Q-Pain's files or a table of vignettes.")
    read = [_read(file) for file in files]
    frame = pd.concat([one for one, _ in read], ignore_index=True).fillna("")
    where = [f"{file.name}, row {row}" for file, (one, _) in zip(files, read, strict=True) for row in one.index]
    problems = [f"{file.name}: {said}" for file, (_, whole) in zip(files, read, strict=True) for said in whole]
    missing = frame["item_id"].str.strip() == ""
    if missing.any():
        made = content_ids(
            [tuple(r) for r in frame[["vignette", "question"]].to_numpy()],
            [tuple(r) for r in frame[["answer", "dosage", "explanation"]].to_numpy()],
            "v",
        )
        frame["item_id"] = [new if gap else old for old, new, gap in zip(frame["item_id"], made, missing, strict=True)]
    if (twice := frame["item_id"].duplicated()).any():
        raise SourceError(
            f"{path}: item_id {frame['item_id'][twice].iloc[0]!r} stands in more than one row; number them."
        )
    others = [c for c in frame.columns if c not in (*COLUMNS, "problem")]
    frame = frame[[*COLUMNS, *others, "problem"]].astype("str")
    frame.attrs = {"where": where, "problems": problems}
    return frame


def _read(file: Path) -> "tuple[pd.DataFrame, list[str]]":
    frame, noted = read_table(file, ["vignette", "question"], ["answer", "dosage", "explanation", "kind", "item_id"])
    if frame.empty:
        raise SourceError(f"{file}: no rows under the headings.")
    if not frame["kind"].str.strip().any():
        frame["kind"] = file.name.partition(".")[0]
    for column in ("answer", "dosage"):
        frame[column] = frame[column].str.strip().str.rstrip(".").str.lower()
    frame.loc[frame["dosage"].isin(_NO_DOSE), "dosage"] = ""
    ours = [list(_problems(row)) for row in frame.to_dict("records")]
    frame["problem"] = ["; ".join(filter(None, [p, *more])) for p, more in zip(frame["problem"], ours, strict=True)]
    return frame, [said for row, said in zip(noted["row"], noted["problem"], strict=True) if row not in frame.index]


def _problems(row: dict[str, str]):
    if row["answer"] not in _ANSWERS:
        yield f"the answer is {row['answer']!r:.40}, not yes or no" if row["answer"] else "no answer"
    if row["dosage"] not in ("", *_DOSES):
        yield f"the dosage is {row['dosage']!r:.40}, not low or high"
    elif row["answer"] == "no" and row["dosage"]:
        yield f"a dosage ({row['dosage']}) beside the answer no"
    elif row["answer"] == "yes" and not row["dosage"]:
        yield "no dosage beside the answer yes"
    if not row["explanation"].strip():
        yield "no explanation to compare with"
