"""Tables that people bring: CSV, TSV, JSON lines, parquet, Excel. Read as written, with every oddity on record.

Cells are text, exactly as in the file: "007", "1E5", "1,5", "SEPT2", "NA" and "None" stay what they are, and only a cell
with nothing in it is empty. A file that cannot be used raises `SourceError`; a row that looks wrong is kept, says so in its
column ``problem``, and is listed, with the row number that a spreadsheet shows, in a second table.
"""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .files import SourceError, existing, nearest, write_atomically
from .formats import SEPARATORS, RawTable, read_raw

if TYPE_CHECKING:
    import pandas as pd

# Other headings under which people keep the same thing, most telling first.
SYNONYMS: dict[str, tuple[str, ...]] = {
    "question": ("prompt", "input", "query", "instruction"),
    "response": ("answer", "output", "completion", "reply", "model_response", "model_answer", "generated_text"),
    "category": ("topic", "domain"),
    "question_id": ("id", "qid", "item_id"),
    "source": ("context_index", "source_paper", "paper", "paper_id", "pmcid", "pmid"),
    "finish_reason": ("stop_reason", "finish"),
}


def read_table(
    path: str | Path,
    required: Sequence[str] = (),
    optional: Sequence[str] = (),
    unique: str | None = None,
) -> "tuple[pd.DataFrame, pd.DataFrame]":
    """Read a user's table; nothing is guessed about the cells, nothing is dropped in silence.

    Parameters
    ----------
    path : str or Path
        .csv, .tsv or .txt (separator found by trying; Excel's ``sep=;`` line is obeyed), .jsonl or .ndjson, .json (a
        list of objects), .parquet, .xlsx (where openpyxl is installed); all but the last two also gzipped.
        Encodings: UTF-8 with or without byte-order mark, UTF-16 with one, else Windows-1252, which is noted.
    required, optional : sequences of str
        Names of columns, in lower case with underscores. A heading counts as one in any case, with spaces or hyphens
        for underscores, or under a name in `SYNONYMS`. Other columns are kept under their own headings.
    unique : str, optional
        A column, among those named, whose values must differ.

    Returns
    -------
    frame : DataFrame
        All columns of dtype ``str``. First `required`, then `optional` (empty where the file has none), then the
        others, then ``problem`` ("" for a row with nothing wrong). The index, ``row``, is the number of the row as a
        spreadsheet shows it: the heading is row 1 (for JSON and parquet the first record is row 1).
    problems : DataFrame
        Columns ``row`` (int; 0 for the file as a whole), ``column``, ``problem``. Rows are kept whatever is wrong
        with them; only blank lines, and empty rows at the very end, are left out, and are listed here.

    Raises
    ------
    SourceError
        The file is missing, a folder, empty, of another kind than its name says, undecodable, or lacks a required
        column; the message names file, row or column, and the remedy.
    """
    import pandas as pd

    path = existing(path)
    raw = read_raw(path, lambda header: _count_found(header, [*required, *optional]))
    names = _match_headings(path, raw, list(required), list(optional))
    problems = list(raw.problems)
    cells = {name: [row[i] for row in raw.rows] for i, name in enumerate(names)}
    for name in optional:
        cells.setdefault(name, [""] * len(raw.rows))
    for name in required:
        for number, value in zip(raw.numbers, cells[name], strict=True):
            if not value.strip():
                problems.append((number, name, f"{name} holds only white space" if value else f"{name} is empty"))
    problems += _repeated(raw, cells, unique)
    by_row: dict[int, list[str]] = {}
    for number, _, problem in problems:
        by_row.setdefault(number, []).append(problem)
    order = [*required, *optional, *(n for n in names if n not in required and n not in optional)]
    frame = pd.DataFrame({name: pd.Series(cells[name], dtype="str") for name in order})
    frame["problem"] = pd.Series(["; ".join(by_row.get(n, [])) for n in raw.numbers], dtype="str")
    frame.index = pd.Index(raw.numbers, name="row", dtype="int64")
    problems.sort(key=lambda item: item[0])
    table = pd.DataFrame(problems, columns=["row", "column", "problem"])
    return frame, table.astype({"row": "int64", "column": "str", "problem": "str"})


def write_table(frame: "pd.DataFrame", path: str | Path) -> Path:
    """Write a table for people: CSV or TSV in UTF-8 that Excel opens with its accents right.

    The file is there whole or not at all. `read_table` gives back the same cells, as text (missing values as empty
    cells; rows at the end that are wholly empty are lost).

    Parameters
    ----------
    frame : DataFrame
        The index is not written.
    path : str or Path
        .csv or .tsv.

    Raises
    ------
    SourceError
        Another suffix, or a folder that cannot be written.

    Notes
    -----
    Cells that begin with ``=``, ``+``, ``-`` or ``@`` are written as they are, and a spreadsheet may take them for
    formulas. The usual guard, an apostrophe before them, would change the data for every other reader ("-5", "- one
    point"). Open files with text from a model by importing the columns as text, not by a double click.
    """
    path = Path(path)
    separator = {".csv": ",", ".tsv": "\t"}.get(path.suffix.lower())
    if separator is None:
        raise SourceError(f"{path}: tables are written as .csv or .tsv; change the suffix {path.suffix!r}.")
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, delimiter=separator, lineterminator="\r\n")
    writer.writerow(map(str, frame.columns))
    missing = frame.isna().to_numpy()
    for row, gaps in zip(frame.itertuples(index=False, name=None), missing, strict=True):
        writer.writerow(["" if gap else str(value) for value, gap in zip(row, gaps, strict=True)])
    return write_atomically(path, buffer.getvalue().encode("utf-8-sig"))


# --- columns ----------------------------------------------------------------------------------------------------------


def _fold(heading: str) -> str:
    return re.sub(r"[\s_\-]+", "_", heading.strip().casefold()).strip("_")


def _find(name: str, folded: list[str]) -> list[int]:
    """Columns that may hold what `name` names: those of that very name, else those of the best synonyms."""
    exact = [i for i, heading in enumerate(folded) if heading == _fold(name)]
    order = SYNONYMS.get(name, ())
    return exact or sorted(
        (i for i, heading in enumerate(folded) if heading in order), key=lambda i: order.index(folded[i])
    )


def _count_found(header: list[str], wanted: list[str]) -> int:
    folded = [_fold(heading) for heading in header]
    return sum(bool(_find(name, folded)) for name in wanted)


def _match_headings(path: Path, raw: RawTable, required: list[str], optional: list[str]) -> list[str]:
    """A name for every column of the file, or an error that says what is missing and what looks like it."""
    folded = [_fold(heading) for heading in raw.header]
    names: dict[int, str] = {}
    missing = []
    for name in [*required, *optional]:
        found = [i for i in _find(name, folded) if i not in names]
        if len(found) > 1 and name in optional:
            others = ", ".join(repr(raw.header[i]) for i in found[1:])
            raw.problems.append((1, name, f"{raw.header[found[0]]!r} is taken for {name!r}, and not {others}"))
        elif len(found) > 1:
            listed = " and ".join(repr(raw.header[i]) for i in found)
            raise SourceError(
                f"{path}: columns {listed} could each be {name!r}; rename the one that is meant to {name!r}."
            )
        if found:
            names[found[0]] = name
        elif name in required:
            missing.append(name)
    if missing:
        raise SourceError(_missing_columns(path, raw, missing))
    taken = {*names.values(), *optional, "problem"}
    for i, heading in enumerate(raw.header):
        if i in names:
            continue
        name = wanted = heading.strip() or f"column {i + 1}"
        count = 1
        while name in taken:
            count += 1
            name = f"{wanted}.{count}"
        if name != heading.strip():
            raw.problems.append((1, name, f"heading {i + 1} is {heading.strip()!r}; it is called {name!r} here"))
        names[i] = name
        taken.add(name)
    return [names[i] for i in range(len(raw.header))]


def _missing_columns(path: Path, raw: RawTable, missing: list[str]) -> str:
    found = ", ".join(repr(h) for h in raw.header[:20]) + (" …" if len(raw.header) > 20 else "")
    lines = [f"{path}: no column {' and none '.join(repr(name) for name in missing)}; the columns are {found}."]
    for name in missing:
        accepted = (name, *SYNONYMS.get(name, ()))
        near = [hit for choice in accepted for hit in nearest(_fold(choice), [_fold(h) for h in raw.header if h])]
        hint = f"{near[0]!r} looks like it; rename it to {name!r}" if near else f"name a column {name!r}"
        others = f" (or {', '.join(accepted[1:])})" if accepted[1:] else ""
        lines.append(f"For {name!r}: {hint}{others}.")
    if len(raw.header) == 1:
        lines.append(f"Only one column was found: is the separator one of {', '.join(SEPARATORS.values())}?")
    lines.append("The first row must hold the headings.")
    return " ".join(lines)


def _repeated(raw: RawTable, cells: dict[str, list[str]], unique: str | None) -> Iterator[tuple[int, str, str]]:
    seen: dict[tuple[str, ...], int] = {}
    for number, row in zip(raw.numbers, raw.rows, strict=True):
        if any(row) and seen.setdefault(tuple(row), number) != number:
            yield number, "", f"the same as row {seen[tuple(row)]}"
    if unique is not None:
        first: dict[str, int] = {}
        for number, value in zip(raw.numbers, cells.get(unique, []), strict=False):
            key = value.strip()
            if not key:
                yield number, unique, f"{unique} is empty"
            elif first.setdefault(key, number) != number:
                yield number, unique, f"{unique} {key!r} is already in row {first[key]}"
